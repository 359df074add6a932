"""Play a night again: which batches outlive their lease?

    python tools/replay.py LOG CONFIG

Reads how long every batch took from the log of the workers and the lease from the configuration. A batch that takes
longer than its lease is delivered again while the first worker still has it, and both of them write the same invoices.
"""

import re
import sys
import tomllib

DONE = re.compile(r"worker-(\d) batch (\d+) done, (\d+) invoices in (\d+) s")
DEFAULT_LEASE = 300
DEFAULT_HEARTBEAT = 0


def main(log, configuration):
    with open(configuration, "rb") as file:
        queue = tomllib.load(file)["queue"]["invoices"]
    lease = queue.get("lease_seconds", DEFAULT_LEASE)
    heartbeat = queue.get("heartbeat_seconds", DEFAULT_HEARTBEAT)
    batches = {}
    with open(log, encoding="utf-8") as file:
        for line in file:
            if found := DONE.search(line):
                worker, batch, invoices, seconds = map(int, found.groups())
                batches.setdefault(batch, (worker, invoices, seconds))
    late = {batch: row for batch, row in batches.items() if row[2] > lease and not heartbeat}
    print(f"lease {lease} s, heartbeat {heartbeat or 'off'}")
    print(f"{len(batches)} batches, {sum(row[1] for row in batches.values()):,} invoices")
    print(f"{len(late)} batches outlive their lease, {sum(row[1] for row in late.values()):,} invoices written twice")
    for batch, (worker, invoices, seconds) in sorted(late.items()):
        print(f"  batch {batch:>4}  worker-{worker}  {invoices:>3} invoices  {seconds:>4} s")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
