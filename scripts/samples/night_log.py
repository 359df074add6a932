"""The logs of one night: a queue server and the workers that write invoices."""

from __future__ import annotations

import random

LEASE = 300


def logs(batches: int = 132) -> dict[str, str]:
    """Return the logs of the server and the workers, by file name."""
    generator = random.Random(214)  # noqa: S311 - the same night on every run
    server: list[tuple[float, str]] = [
        (5_400.0, "INFO  relayd 4.1.0 started, 2 queues, data directory /var/lib/relayd")
    ]
    workers: list[tuple[float, str]] = []
    free = [5_460.0 + 3 * worker for worker in range(6)]
    for number in range(1, batches + 1):
        worker = min(range(6), key=lambda index: free[index])
        start = free[worker]
        invoices = 50 if number < batches else 17
        seconds = round(38 + 190 * generator.random() ** 2 + (generator.random() > 0.9) * 260)
        end = start + seconds
        free[worker] = end + 2
        server.append(
            (start, f"INFO  queue=invoices batch={number} delivered to=worker-{worker} delivery=1 lease={LEASE}s")
        )
        workers.append((start + 0.2, f"INFO  worker-{worker} batch {number} received, {invoices} invoices"))
        for part in range(1, 4):
            written = invoices * part // 4
            spent = seconds * part / 4
            workers.append(
                (
                    start + spent,
                    f"DEBUG worker-{worker} batch {number} rendered {written} of {invoices}, {spent / written:.2f} s each",
                )
            )
        workers.append((end, f"INFO  worker-{worker} batch {number} done, {invoices} invoices in {seconds} s"))
        if seconds <= LEASE:
            server.append(
                (end, f"INFO  queue=invoices batch={number} acknowledged by=worker-{worker} after={seconds}s")
            )
            continue
        other = (worker + 1) % 6
        free[other] = max(free[other], end)
        server.append(
            (start + LEASE, f"WARN  queue=invoices batch={number} lease expired holder=worker-{worker} age={LEASE}s")
        )
        server.append(
            (
                start + LEASE + 1,
                f"INFO  queue=invoices batch={number} delivered to=worker-{other} delivery=2 lease={LEASE}s",
            )
        )
        server.append((end, f"WARN  queue=invoices batch={number} late acknowledgement from=worker-{worker} ignored"))
        first = 70_000 + number * 50
        workers.append(
            (
                start + LEASE + 40,
                f"ERROR worker-{other} batch {number} invoice {first} exists: UNIQUE constraint failed: invoices.number",
            )
        )
        workers.append((start + LEASE + 41, f"ERROR worker-{other} batch {number} rolled back, returned to the queue"))
    return {"logs/relayd.log": text(server), "logs/workers.log": text(workers)}


def text(lines: list[tuple[float, str]]) -> str:
    """Lines in order of their time."""
    rows = []
    for at, line in sorted(lines):
        hour, rest = divmod(round(at * 1000), 3_600_000)
        minute, milliseconds = divmod(rest, 60_000)
        rows.append(f"2026-10-28T{hour:02d}:{minute:02d}:{milliseconds // 1000:02d}.{milliseconds % 1000:03d}Z {line}")
    return "\n".join(rows) + "\n"
