"""The manual of a queue server that exists only here, as web pages, and how a program takes the text out of a page."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

OPTIONS = [
    (
        "server.listen",
        "address",
        "127.0.0.1:7411",
        "Where the server accepts connections. A server that listens on more than the local machine refuses to start without server.tls_certificate unless server.allow_plain is set.",
    ),
    (
        "server.data_directory",
        "path",
        "/var/lib/relayd",
        "Where queues are kept. The directory belongs to one server; a second one that opens it exits with status 3 and names the process that holds the lock.",
    ),
    (
        "server.log_level",
        "word",
        "info",
        "How much is written: error, warn, info, debug. Deliveries and acknowledgements are info, lease events are warn. At debug every frame is written, which slows the server by about a third.",
    ),
    (
        "server.max_connections",
        "integer",
        "1024",
        "Connections beyond this are accepted and closed at once with status busy, so that a client can tell a full server from a dead one.",
    ),
    (
        "server.tls_certificate",
        "path",
        "none",
        "Certificate chain and key in one file. The file is read again on SIGHUP; a broken file is reported and the old certificate stays in use.",
    ),
    ("server.allow_plain", "boolean", "false", "Permit connections without TLS from other machines. Meant for tests."),
    (
        "server.fsync",
        "word",
        "batch",
        "When data reaches the disk: always, batch or never. With batch, messages of the last 5 ms can be lost when the machine loses power; the server itself may crash without loss.",
    ),
    (
        "server.compact_at",
        "percent",
        "60",
        "A segment file is rewritten when less than this share of it is live. Lower values write less and use more space.",
    ),
    (
        "server.metrics",
        "address",
        "none",
        "Serve counters in text form. Every queue has depth, oldest_age, deliveries, redeliveries, acknowledgements and expired_leases.",
    ),
    (
        "server.shutdown_seconds",
        "integer",
        "20",
        "How long a stopping server waits for acknowledgements before it closes its connections. Batches that were not acknowledged are delivered again after the start.",
    ),
    (
        "queue.*.lease_seconds",
        "integer",
        "300",
        "How long a consumer may hold a batch before it is delivered to another one. The lease begins when the batch is sent, not when the consumer starts to work on it. Before version 4 the default was 900. See Leases.",
    ),
    (
        "queue.*.heartbeat_seconds",
        "integer",
        "0",
        "With a value above 0, a consumer extends its lease by sending a heartbeat, and a lease expires only when no heartbeat has arrived for this long. 0 turns heartbeats off. Before version 4 heartbeats were always on, every 60 seconds, whether a consumer asked for them or not.",
    ),
    (
        "queue.*.max_deliveries",
        "integer",
        "5",
        "How often a batch is delivered before it goes to the dead letter queue. A delivery that was returned by the consumer counts, an expired lease counts as well.",
    ),
    (
        "queue.*.dead_letter_queue",
        "word",
        "none",
        "Where batches go that were delivered too often. Without one they are dropped, and a warning is written for each.",
    ),
    (
        "queue.*.prefetch",
        "integer",
        "1",
        "How many batches are sent to a consumer before it acknowledges the first. The leases of all of them run at the same time: with prefetch 4 the fourth batch has waited for three others before work on it starts.",
    ),
    (
        "queue.*.order",
        "word",
        "none",
        "none or key. With key, batches with the same key are delivered one after another, and an expired lease blocks its key until it is resolved.",
    ),
    (
        "queue.*.max_depth",
        "integer",
        "0",
        "Refuse new batches beyond this number; 0 is unlimited. A refused producer gets status full and the current depth.",
    ),
    ("queue.*.max_batch_bytes", "integer", "4194304", "Larger batches are refused when they are sent."),
    (
        "queue.*.retention_hours",
        "integer",
        "72",
        "Batches older than this are dropped whether they were delivered or not. A dropped batch is a warning, unless it was acknowledged.",
    ),
    ("queue.*.delay_seconds", "integer", "0", "How long a new batch waits before its first delivery."),
    (
        "queue.*.return_delay_seconds",
        "integer",
        "10",
        "How long a batch that a consumer returned waits before it is delivered again. Doubles with every return, up to ten minutes.",
    ),
    (
        "queue.*.priority",
        "integer",
        "0",
        "Batches of queues with a higher number are delivered first to consumers that read from several queues.",
    ),
    (
        "queue.*.deduplicate_minutes",
        "integer",
        "0",
        "Drop a batch whose identifier was seen within this time. This concerns producers that send twice; it does not concern redelivery, which is always the same batch.",
    ),
    (
        "consumer.acknowledge",
        "word",
        "after",
        "after: a batch is acknowledged when the consumer says so. before: when it is sent, at most once.",
    ),
    (
        "consumer.idle_seconds",
        "integer",
        "120",
        "A connection without traffic for this long is closed. Heartbeats are traffic.",
    ),
    ("consumer.name", "word", "host and number", "Shown in logs and in relayctl holders."),
    (
        "cluster.peers",
        "list",
        "none",
        "Other servers of the cluster. An odd number of servers is recommended, counting this one.",
    ),
    (
        "cluster.elect_seconds",
        "integer",
        "4",
        "How long followers wait for the leader before they elect another one. Leases survive an election; their clock stands still meanwhile.",
    ),
    (
        "cluster.read_from",
        "word",
        "leader",
        "leader or any. Reading from any server may show a depth that is one second old.",
    ),
    (
        "limits.open_files",
        "integer",
        "4096",
        "Raised at the start when the system allows it. Each connection needs one, each queue three.",
    ),
]

LEASES = (
    (
        "What a lease is",
        "When a batch is sent to a consumer, the server lends it: for the length of the lease nobody else gets it. If the consumer acknowledges in time, the batch is done. If not, the server assumes that the consumer is gone and lends the batch to the next one. Nothing tells the first consumer; it may well be alive and busy.",
    ),
    (
        "Why a batch is processed twice",
        "A consumer that needs longer than the lease will finish its work, acknowledge too late, and see the acknowledgement ignored. Meanwhile a second consumer has received the batch. Whatever the work does must then be done once only by other means, for example by a unique key, and the loser must treat that as success. Most applications are not written that way, and should use a lease they cannot outlive.",
    ),
    (
        "Choosing a length",
        "Take the slowest batch of a month, not the average, and double it. With prefetch above 1, multiply by the prefetch. A lease that is too long costs little: after a crash of a consumer, its batches wait for that long. A lease that is too short costs duplicates every day.",
    ),
    (
        "Heartbeats",
        "With heartbeat_seconds set, the lease ends when the heartbeats end. A consumer must send them from a thread of its own: a consumer that renders for four minutes without returning to the client library sends none. relayd's own client libraries do this from 2.3 on when heartbeat is switched on in the consumer as well; both sides have to agree.",
    ),
    (
        "Finding out",
        "relayctl holders lists batches by age. The counter expired_leases of a queue should be zero on an ordinary day. In the log, search for lease expired; the line names the holder and the age.",
    ),
)

UPGRADE = (
    (
        "Leases are shorter",
        "The default of lease_seconds is 300 instead of 900. Most consumers finish within seconds, and 900 made crashes expensive. If your batches take longer than a minute, set the value yourself before you upgrade.",
    ),
    (
        "Heartbeats are off by default",
        "Version 3 sent heartbeats for every consumer. It hid consumers that hung: their batches were held forever. In version 4 heartbeats are asked for, on both sides. A consumer that relied on them without knowing will see expired leases after the upgrade.",
    ),
    (
        "Deliveries are counted differently",
        "An expired lease counts as a delivery. With max_deliveries = 5 a batch that is too slow reaches the dead letter queue in the fifth attempt, about 25 minutes after the first with the new default.",
    ),
    (
        "Segment files",
        "The format of segment files has changed. They are converted at the first start, at about 80 MB a second, and the server answers only afterwards. There is no way back; copy the data directory first.",
    ),
    (
        "Removed",
        "The option queue.*.visibility, a synonym of lease_seconds since 2.0, is gone. The server refuses to start when it finds it. The command relayctl purge asks for the name of the queue twice.",
    ),
    (
        "Clients",
        "Libraries of version 2 can talk to a server of version 4, without heartbeats. Libraries of version 1 cannot.",
    ),
)


def pages() -> dict[str, str]:
    """Every page by its address."""
    base = "https://relayd.example/docs/4"
    options = "".join(
        f'<h3 id="{name}"><code>{escape(name)}</code></h3>\n<dl><dt>Type</dt><dd>{kind}</dd><dt>Default</dt><dd><code>{escape(default)}</code></dd></dl>\n'
        f"<p>{escape(text)}</p>\n<p>{note(name, kind)}</p>\n"
        for name, kind, default, text in OPTIONS
    )
    return {
        f"{base}/configuration": page(
            "Configuration reference",
            f"<p>All options of relayd 4.1, by section. Options of a queue can be given for every queue as queue.*.</p>\n{options}",
        ),
        f"{base}/leases": page("Leases", sections(LEASES)),
        f"{base}/upgrade": page("Upgrading from 3 to 4", sections(UPGRADE)),
    }


def note(name: str, kind: str) -> str:
    """Return the sentence below every option."""
    section = name.split(".", maxsplit=1)[0]
    when = {
        "queue": "Takes effect for batches that are sent from then on",
        "consumer": "Takes effect for new connections",
    }.get(section, "Takes effect at the next start")
    variable = "RELAYD_" + name.replace("queue.*", "QUEUE").replace(".", "_").upper()
    return f"{when}. Can also be given as the environment variable <code>{variable}</code>; a {kind} there is written as in the file. Shown by <code>relayctl config {escape(name)}</code>."


def sections(parts: tuple[tuple[str, str], ...]) -> str:
    """Headings and paragraphs."""
    return "".join(f"<h2>{escape(title)}</h2>\n<p>{escape(text)}</p>\n" for title, text in parts)


def page(title: str, body: str) -> str:
    """Return a page with the boilerplate of a real site."""
    menu = "".join(
        f'<li class="nav-item"><a href="/docs/4/{name}">{name}</a></li>'
        for name in ("install", "configuration", "leases", "cluster", "upgrade", "relayctl")
    )
    return (
        f'<!doctype html><html lang="en"><head><title>{title} - relayd 4</title><style>body{{margin:0}}</style><script>window.stats={{page:1}}</script></head>'
        f"<body><nav><ul>{menu}</ul></nav><main><h1>{title}</h1>\n{body}</main><footer>relayd 4.1, documentation of 2 September 2026</footer></body></html>"
    )


LEFT_OUT = frozenset({"nav", "script", "style", "footer", "head"})

MARKS = {
    "h1": "\n\n# ",
    "h2": "\n\n## ",
    "h3": "\n\n### ",
    "p": "\n\n",
    "li": "\n- ",
    "dt": "\n",
    "dd": ": ",
    "code": "`",
}


class Extractor(HTMLParser):
    """Takes the text out of a page, as Markdown; navigation, scripts and styles are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a heading, a paragraph or something to leave out."""
        del attrs
        if tag in LEFT_OUT:
            self.inside.append(tag)
        elif not self.inside:
            self.parts.append(MARKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        """End something to leave out."""
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()
        elif tag == "code" and not self.inside:
            self.parts.append("`")

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if not self.inside:
            self.parts.append(data.strip("\n"))


def extract(html: str) -> str:
    extractor = Extractor()
    extractor.feed(html)
    extractor.close()
    return "".join(extractor.parts).strip()
