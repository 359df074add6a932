"""A terminal agent finds out why a nightly job writes invoices twice: logs, a manual on the web, a configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import manual, night_log, write_openai
from .conversation import Conversation, ToolResult, at, call
from .projects_on_disk import sources
from .workspace import HOME, Workspace

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = f"""You are an assistant with a terminal on this machine, in {HOME}. You can run commands, read and search files, and take
the text out of web pages. Say what you found before you change something, and change one thing at a time."""


OVERHEAD = 684
"""Tokens of this agent's tool definitions, which are not in the file."""


class Terminal:
    """A shell, files and the web."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.pages = manual.pages()

    def by_name(self) -> dict[str, object]:
        return {
            name: getattr(self, name)
            for name in ("terminal", "read_file", "write_file", "patch", "search_files", "web_extract")
        }

    def terminal(self, command: str) -> ToolResult:
        """Run a command; output and errors together."""
        finished = self.workspace.run(f"({command}) 2>&1")
        return ToolResult(
            json.dumps({"output": finished.output, "exit_code": finished.exit_code, "error": None}, ensure_ascii=False)
        )

    def read_file(self, path: str, offset: int = 1, limit: int = 500) -> str:
        """Numbered lines of a file."""
        lines = self.workspace.read(path).splitlines()
        shown = lines[offset - 1 : offset - 1 + limit]
        content = "\n".join(f"{number:>6}|{line}" for number, line in enumerate(shown, offset))
        return json.dumps(
            {"content": content, "total_lines": len(lines), "truncated": len(lines) > offset - 1 + limit},
            ensure_ascii=False,
        )

    def write_file(self, path: str, content: str) -> str:
        """Create a file."""
        self.workspace.write(path, content)
        return json.dumps({"bytes_written": len(content.encode()), "path": path})

    def patch(self, path: str, old_string: str, new_string: str) -> str:
        """Replace one passage."""
        self.workspace.edit(path, old_string, new_string)
        return json.dumps({"success": True, "path": path})

    def search_files(self, pattern: str, path: str) -> str:
        """Lines that match."""
        matches = [
            {"path": name, "line": number, "content": line}
            for name, number, line in self.workspace.search(pattern, path)
        ]
        return json.dumps({"total_count": len(matches), "matches": matches}, ensure_ascii=False)

    def web_extract(self, urls: list[str]) -> str:
        """Return the text of web pages."""
        results = [
            {"url": url, "title": url.rsplit("/", 1)[1], "content": manual.extract(self.pages[url]), "error": None}
            if url in self.pages
            else {"url": url, "title": "", "content": "", "error": "404 Not Found"}
            for url in urls
        ]
        return json.dumps({"success": True, "results": results}, ensure_ascii=False)


DOCS = "https://relayd.example/docs/4"


def make(folder: Path) -> str:
    """Create the session's file in an empty temporary folder."""
    desk = Terminal(Workspace(folder, {**sources("nightshift"), **night_log.logs()}))
    talk = Conversation(desk.by_name(), seed=415, now=at(2026, 10, 28, 7, 40), prefix="call_")
    look_at_the_night(talk)
    read_the_manual(talk)
    change(talk)
    watch(talk)
    return write_openai.log(talk, SYSTEM, "gpt-6.1-sol", OVERHEAD)


def look_at_the_night(talk: Conversation) -> None:
    """Add the part on the logs."""
    talk.user(
        "Since we upgraded the queue server last week, the nightly invoice run ends with errors and some customers say they got two mails. Logs are in logs/, configuration in config/. What is going on?",
        after=0,
    )
    talk.assistant(
        "I look at the files first.", call("terminal", command="ls -1 logs config tools && wc -l logs/*.log")
    )
    talk.assistant("", call("search_files", pattern="ERROR", path="logs/*.log"))
    talk.assistant(
        "Invoices that exist already, and a rollback each time. So two workers had the same batch. What did the workers do around that?",
        call("read_file", path="logs/workers.log", offset=1, limit=220),
    )
    talk.assistant(
        "The workers look healthy. The queue server decides who gets a batch, so its log is the next.",
        call("terminal", command="cat logs/relayd.log"),
    )
    talk.assistant(
        "Every error has the same beginning: `lease expired`, and one second later the batch is delivered to another worker. How long do batches take?",
        call(
            "terminal",
            command="grep -c 'lease expired' logs/relayd.log; grep 'delivery=2' logs/relayd.log | wc -l; grep -o 'in [0-9]* s' logs/workers.log | awk '{print $2}' | sort -n | awk '{a[NR]=$1} END {print \"median\", a[int(NR/2)], \"p90\", a[int(NR*0.9)], \"max\", a[NR]}'",
        ),
        call("search_files", pattern=r"lease|heartbeat", path="config/*.toml"),
    )
    talk.assistant(
        "The slowest batches take longer than 300 seconds, the lease is 300, and neither configuration file says a word about leases: 300 must be the server's default. The manual should tell whether that is new."
    )


def read_the_manual(talk: Conversation) -> None:
    """Web pages."""
    talk.user("We never set it, in three years. Please look it up.", after=44)
    talk.assistant("", call("web_extract", urls=[f"{DOCS}/configuration"]))
    talk.assistant(
        "`queue.*.lease_seconds`: 300, before version 4 it was 900. And heartbeats used to be on for everybody. I read the two pages it points to.",
        call("web_extract", urls=[f"{DOCS}/leases", f"{DOCS}/upgrade"]),
    )
    talk.assistant(
        "",
        call("read_file", path="config/relayd.toml"),
        call("read_file", path="config/workers.toml"),
        call("read_file", path="tools/replay.py"),
    )
    talk.assistant(
        "There is a tool that plays a night again against a configuration. That gives the number for last night.",
        call("terminal", command="python tools/replay.py logs/workers.log config/relayd.toml"),
    )
    talk.assistant(
        "So this is what happens:\n\n1. Version 3 held a batch for 900 seconds and extended that by heartbeats every 60 seconds, without being asked.\n2. Version 4 holds it for 300 seconds, and heartbeats are "
        "off unless both sides ask for them. `workers.toml` has `heartbeat = false`, `relayd.toml` does not mention them.\n3. Batches that take longer than 300 seconds are delivered a second time while the "
        "first worker is still writing. The second one fails at the unique key and rolls back, but mails it had already sent are sent.\n\nThe manual's advice: the slowest batch of a month, doubled, times the "
        "prefetch. Prefetch is 4 here, so the lease of the fourth batch runs while three others are worked on."
    )


def change(talk: Conversation) -> None:
    """One setting at a time."""
    talk.user("Understood. What do you suggest?", after=120)
    talk.assistant(
        "Before I suggest numbers I want the slowest batches, and which of them waited behind others.",
        call(
            "terminal",
            command="grep ' done, ' logs/workers.log | sort -t' ' -k10 | awk '{print $(NF-1), $0}' | sort -rn | head -25 | cut -d' ' -f2-",
        ),
        call("search_files", pattern="delivered to=", path="logs/relayd.log"),
    )
    talk.assistant(
        "Two changes, both in `config/relayd.toml`:\n\n- `lease_seconds = 1800` for `invoices`: the slowest batch is below 500 seconds, doubled and with room. A crashed worker's batches then wait half an hour at most, at night that is "
        "fine.\n- `prefetch = 1` for `invoices`: batches take minutes, so there is nothing to gain from fetching four ahead.\n\nI would not turn on heartbeats now: the workers render for minutes without returning to the client library, so they would "
        "need a change too."
    )
    talk.user("Do that, one after the other, and show me the replay each time.", after=60)
    talk.assistant(
        "",
        call(
            "patch",
            path="config/relayd.toml",
            old_string='dead_letter_queue = "invoices-dead"\nprefetch = 4',
            new_string='dead_letter_queue = "invoices-dead"\nlease_seconds = 1800\nprefetch = 4',
        ),
    )
    talk.assistant("", call("terminal", command="python tools/replay.py logs/workers.log config/relayd.toml"))
    talk.assistant(
        "No batch outlives its lease any more. Now the prefetch.",
        call(
            "patch",
            path="config/relayd.toml",
            old_string="lease_seconds = 1800\nprefetch = 4",
            new_string="lease_seconds = 1800\nprefetch = 1",
        ),
    )
    talk.assistant(
        "",
        call(
            "terminal", command="python tools/replay.py logs/workers.log config/relayd.toml && cat config/relayd.toml"
        ),
    )
    talk.assistant(
        "Both are in. The server reads them for batches that are sent from then on, says the manual; no restart is needed for queue options."
    )


def watch(talk: Conversation) -> None:
    """Add the part on a check that would have found it."""
    talk.user(
        "And how would we have noticed without angry customers? Also, which customers got two mails last night? I need the batch numbers and the first invoice of each.",
        after=210,
    )
    talk.assistant(
        "The server counts expired leases. I look up how to see the counter, and collect the batches.",
        call("web_extract", urls=[f"{DOCS}/metrics", f"{DOCS}/configuration"]),
        call("search_files", pattern="exists: UNIQUE", path="logs/workers.log"),
    )
    text = '''"""Leases that expired in a log: prints them, and exits with 1 if there are any.

    python tools/expired.py logs/relayd.log
"""

import re
import sys

EXPIRED = re.compile(r"queue=(\\S+) batch=(\\d+) lease expired holder=(\\S+)")

found = [match.groups() for line in open(sys.argv[1], encoding="utf-8") if (match := EXPIRED.search(line))]
for queue, batch, holder in found:
    print(f"{queue} batch {batch} held by {holder}")
print(f"{len(found)} expired leases")
sys.exit(1 if found else 0)
'''
    talk.assistant(
        "There is no page about metrics, but the configuration page describes `server.metrics`: every queue has a counter `expired_leases`, which should be zero. Until that is set up, a check of the log after each night:",
        call("write_file", path="tools/expired.py", content=text),
    )
    talk.assistant(
        "",
        call("terminal", command="python tools/expired.py logs/relayd.log"),
        call(
            "terminal",
            command="grep 'exists: UNIQUE' logs/workers.log | sed 's/.*batch \\([0-9]*\\) invoice \\([0-9]*\\).*/batch \\1 from invoice \\2/'",
        ),
    )
    talk.assistant(
        "The list above has every batch that was delivered twice, with its first invoice; each holds fifty. `tools/expired.py` prints the same from the server's log and exits with 1 when there is any, so cron will mail it. The better way is `server.metrics` with an alarm on `expired_leases` above zero."
    )
    talk.user(
        "Perfect. Write down what we changed and why in config/CHANGES, five lines, for whoever upgrades next.",
        after=90,
    )
    talk.assistant(
        "",
        call(
            "write_file",
            path="config/CHANGES",
            content="2026-10-28 relayd 4.1, queue invoices\n- lease_seconds = 1800: version 4 lowered the default from 900 to 300; our slowest batch takes almost 500 s.\n- prefetch = 1: leases of prefetched batches run while they wait.\n- heartbeats stay off: workers cannot send them while they render.\n- Check after every upgrade: python tools/expired.py logs/relayd.log, expected 0.\n",
        ),
    )
    talk.assistant(
        "",
        call(
            "terminal",
            command="cat config/CHANGES; python tools/replay.py logs/workers.log config/relayd.toml | sed -n '1,3p'",
        ),
    )
    talk.assistant("Written. Tonight's run should show 0 expired leases; if it does not, the log names the batch.")
