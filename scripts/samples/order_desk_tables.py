"""The tables of the order desk: a module each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One table of the order desk, and the module that maintains it.

    Attributes:
        name: Name of the table and the module, in the plural.
        one: Singular of the name.
        about: Description of the rows, for the module's first line.
        text: Its columns of text, the name-like one first.
        amount: Its column of whole numbers.
        day: Its column of days.
        states: States of a row.
        parent: The column that names another table's row; empty for none.
        slip: Further place where apostrophes are doubled by hand: in `_clean`, or while rows are imported.
    """

    name: str
    one: str
    about: str
    text: tuple[str, ...]
    amount: str
    day: str
    states: tuple[str, ...]
    parent: str = ""
    slip: str = "clean"

    @property
    def path(self) -> str:
        """The module."""
        return f"orderdesk/{self.name}.py"

    @property
    def test_path(self) -> str:
        """Its tests."""
        return f"tests/test_{self.name}.py"

    @property
    def store(self) -> str:
        """The class that keeps it."""
        return "".join(part.title() for part in self.one.split("_")) + "Store"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns but the number."""
        return (*self.text, self.amount, self.day, "state", *((self.parent,) if self.parent else ()))


TABLES = (
    Table(
        "customers",
        "customer",
        "who buys, and on what terms",
        ("name", "email", "city"),
        "credit_cents",
        "customer_since",
        ("active", "blocked", "closed"),
    ),
    Table(
        "addresses",
        "address",
        "where things are sent to",
        ("street", "postcode", "country"),
        "floor",
        "valid_from",
        ("current", "former"),
        "customer_id",
    ),
    Table(
        "suppliers",
        "supplier",
        "who delivers to us",
        ("company", "contact_person"),
        "lead_days",
        "contract_until",
        ("approved", "on_trial", "dropped"),
        slip="import",
    ),
    Table(
        "articles",
        "article",
        "what is sold",
        ("title", "article_code", "shelf"),
        "price_cents",
        "listed_on",
        ("on_sale", "announced", "withdrawn"),
        "supplier_id",
    ),
    Table(
        "orders",
        "order",
        "what customers asked for",
        ("reference", "placed_by"),
        "total_cents",
        "placed_on",
        ("open", "packed", "sent", "cancelled"),
        "customer_id",
    ),
    Table(
        "order_lines",
        "order_line",
        "the articles of an order, one a row",
        ("article_code", "remark"),
        "quantity",
        "promised_for",
        ("open", "reserved", "missing"),
        "order_id",
        slip="import",
    ),
    Table(
        "invoices",
        "invoice",
        "what is owed for an order",
        ("invoice_number", "billed_to"),
        "amount_cents",
        "due_on",
        ("draft", "sent", "paid", "written_off"),
        "order_id",
    ),
    Table(
        "payments",
        "payment",
        "money that came in",
        ("payer", "bank_reference"),
        "paid_cents",
        "received_on",
        ("unmatched", "matched", "returned"),
        "invoice_id",
    ),
    Table(
        "reminders",
        "reminder",
        "letters about invoices that are late",
        ("letter_code", "sent_to"),
        "fee_cents",
        "reminded_on",
        ("queued", "posted", "answered"),
        "invoice_id",
        slip="import",
    ),
    Table(
        "refunds",
        "refund",
        "money that goes back",
        ("grounds", "approved_by"),
        "refund_cents",
        "refunded_on",
        ("asked", "granted", "refused"),
        "payment_id",
    ),
    Table(
        "shipments",
        "shipment",
        "parcels on their way",
        ("tracking_code", "carrier_name"),
        "weight_grams",
        "shipped_on",
        ("waiting", "under_way", "delivered", "lost"),
        "order_id",
    ),
    Table(
        "carriers",
        "carrier",
        "who takes parcels",
        ("carrier_name", "hotline", "depot_city"),
        "pickup_minutes",
        "contract_from",
        ("in_use", "paused"),
    ),
    Table(
        "returns",
        "return_case",
        "parcels that come back",
        ("return_label", "condition_note"),
        "item_count",
        "announced_on",
        ("announced", "arrived", "inspected"),
        "shipment_id",
        slip="import",
    ),
    Table(
        "stock_moves",
        "stock_move",
        "what enters and leaves the shelves",
        ("article_code", "moved_by"),
        "moved_quantity",
        "moved_on",
        ("booked", "reversed"),
        "article_id",
    ),
    Table(
        "stock_counts",
        "stock_count",
        "what was counted on a shelf",
        ("shelf", "counted_by"),
        "counted_quantity",
        "counted_on",
        ("open", "confirmed", "disputed"),
        "article_id",
    ),
    Table(
        "purchases",
        "purchase",
        "what we order from suppliers",
        ("purchase_number", "requested_by"),
        "purchase_cents",
        "expected_on",
        ("draft", "ordered", "partly_in", "complete"),
        "supplier_id",
    ),
    Table(
        "complaints",
        "complaint",
        "what customers are not happy with",
        ("subject", "complained_by"),
        "days_open",
        "complained_on",
        ("new", "in_progress", "settled"),
        "order_id",
        slip="import",
    ),
    Table(
        "vouchers",
        "voucher",
        "codes that are worth something",
        ("voucher_code", "campaign_name"),
        "worth_cents",
        "expires_on",
        ("unused", "used", "expired"),
        "customer_id",
    ),
    Table(
        "price_lists",
        "price_list",
        "prices that hold for a while",
        ("list_name", "currency_code"),
        "discount_permille",
        "valid_until",
        ("planned", "in_force", "superseded"),
    ),
    Table(
        "employees",
        "employee",
        "who works at the desk",
        ("full_name", "login_name", "department"),
        "desk_number",
        "employed_since",
        ("present", "away", "left"),
    ),
    Table(
        "visits",
        "visit",
        "when a customer was called on",
        ("visited_by", "visit_note"),
        "minutes_spent",
        "visited_on",
        ("planned", "done", "missed"),
        "customer_id",
        slip="import",
    ),
    Table(
        "contracts",
        "contract",
        "standing agreements",
        ("contract_number", "signed_by"),
        "minimum_cents",
        "signed_on",
        ("offered", "running", "terminated"),
        "customer_id",
    ),
    Table(
        "quotes",
        "quote",
        "offers that were made",
        ("quote_number", "quoted_to"),
        "quoted_cents",
        "open_until",
        ("open", "accepted", "declined"),
        "customer_id",
    ),
    Table(
        "audit_entries",
        "audit_entry",
        "who changed what, and when",
        ("changed_table", "changed_by"),
        "changed_row",
        "changed_on",
        ("written", "archived"),
        "employee_id",
    ),
)
