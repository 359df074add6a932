"""A bill as text."""


def euros(cents):
    """Cents as euros with two digits."""
    return f"{cents / 100:,.2f}"


def summary(bill):
    """A bill in six lines."""
    rows = [f"meter {bill.meter}  {bill.year}-{bill.month:02d}  tariff {bill.tariff.name}"]
    for name in ("day", "night"):
        rows.append(f"  {name:<6}{bill.energy(name):>12.3f} kWh{euros(bill.energy_cents(name)):>12} EUR")
    rows.append(f"  fee   {'':>16}{euros(bill.tariff.fee_cents):>12} EUR")
    rows.append(f"  total {bill.energy():>12.3f} kWh{euros(bill.total_cents()):>12} EUR")
    return "\n".join(rows)


def explain(bill):
    """Every hour of a bill on a line of its own."""
    rows = [f"meter {bill.meter}  {bill.year}-{bill.month:02d}"]
    for line in bill.lines:
        rows.append(f"{line.local:%a %d %H:%M}  {line.band:<6}{line.kilowatt_hours:>8.3f} kWh{line.cents:>10.3f} ct")
    return "\n".join(rows)
