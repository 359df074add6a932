"""An assistant reads mail and job sites; whole HTML pages fill its context: one Anthropic message a line, with usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import write_anthropic
from .conversation import Conversation, ToolResult, at, call
from .html_pages import Posting, detail, digest_mail, listing, mail, personal_mail

if TYPE_CHECKING:
    from pathlib import Path

OVERHEAD = 2_310
"""System prompt and tools of this agent, in tokens; neither is in the file."""

POSTINGS = [
    Posting(
        3_920_114_001,
        "Backend Engineer, Routing",
        "Norwind Logistics",
        "Rotterdam (hybrid)",
        "€68,000 - €82,000",
        "2 days ago",
        41,
        (
            "We plan 30,000 deliveries a day with a routing service written in Python and Rust. You will own the part that re-plans when something goes wrong, which it does about 400 times a day.",
            "The team is six people. We deploy several times a day, we are on call one week in six, and whoever is on call does nothing else that week but repair and improve what woke them.",
            "The service reads events from Kafka, keeps its state in PostgreSQL and answers in 40 milliseconds at the 99th percentile. Half of the code is older than the team; you will read more than you write in the first months.",
            "We meet in Rotterdam on Tuesdays and Wednesdays. The other days are yours to choose.",
        ),
        (
            "Several years of Python in production",
            "SQL beyond what a mapper writes for you",
            "You have been on call and can tell what you changed afterwards",
            "Rust is welcome and not required",
            "English; Dutch is not needed",
        ),
    ),
    Posting(
        3_920_114_118,
        "Senior Python Developer (Data Platform)",
        "Halden Energy",
        "Remote, EU time zones",
        "€75,000 - €95,000",
        "5 hours ago",
        12,
        (
            "Halden balances small batteries against the grid. Our platform takes in 90 million meter values a day and has to be right to the minute, because every quarter of an hour is settled in money.",
            "You will rebuild the settlement: today it is a nightly job of nine hours. We want it to run every fifteen minutes and to explain each figure it puts out.",
            "You will work with two data engineers, an energy trader who writes passable Python, and an auditor who reads everything.",
            "Remote within European time zones, two weeks a year together in Trondheim, in June and in the dark.",
        ),
        (
            "Deep knowledge of Python and of one columnar format",
            "Experience with money, meters or something else that is audited",
            "Clear written English: most of our work is text",
            "You like to delete code",
        ),
    ),
    Posting(
        3_920_113_877,
        "Software Engineer, Developer Tools",
        "Corvid Systems",
        "Berlin or remote in Germany",
        "€70,000 - €88,000",
        "1 week ago",
        164,
        (
            "Corvid builds a debugger for long-running workflows. It records everything and lets you walk back. Our users are engineers, so the tone of our error messages is a product decision.",
            "You will work on the command line program and the terminal interface: Python, some C, a lot of attention to detail. We have eleven thousand tests and a bug tracker with fewer than fifty open bugs, and we would like to keep both numbers.",
            "Every engineer answers support mail one day in two weeks.",
        ),
        (
            "You have shipped a tool that other programmers used",
            "Terminals, encodings and time zones do not frighten you",
            "German or English",
        ),
    ),
    Posting(
        3_920_112_460,
        "Platform Engineer",
        "Lumen Health Records",
        "Utrecht (on site)",
        "€62,000 - €74,000",
        "3 weeks ago",
        230,
        (
            "We host records for 140 clinics. Availability is measured and published every month. You will look after the machines, the backups and the restore drills.",
            "On site in Utrecht, because parts of the network cannot be reached from elsewhere, on purpose.",
        ),
        ("Linux, networks, PostgreSQL", "Dutch at level B2", "A certificate of good conduct"),
    ),
    Posting(
        3_920_114_302,
        "Data Engineer",
        "Petrel Insurance",
        "Amsterdam (hybrid)",
        "€66,000 - €80,000",
        "1 day ago",
        77,
        (
            "Petrel insures ships. We combine positions, weather and claims to price a voyage in seconds. You will build the pipelines that feed the pricing model and the reports that explain it to the underwriters.",
            "The stack is Python, Airflow, Snowflake and a fair amount of patience with maritime data, in which a ship may be in two places at once.",
            "Three days a week in the office at the harbour.",
        ),
        ("Python and SQL every day", "You test your pipelines", "Interest in ships is learned quickly"),
    ),
    Posting(
        3_920_114_455,
        "Backend Engineer (Payments)",
        "Tallow & Finch",
        "Remote, Netherlands",
        "€72,000 - €90,000",
        "6 hours ago",
        19,
        (
            "We collect small recurring payments for clubs and schools: 2.4 million direct debits a month. You will own retries, refunds and the ledger behind them.",
            "The ledger is double entry, append only, in PostgreSQL, with Python around it. It has never been wrong by a cent, and you will be the third person to say that.",
            "Remote in the Netherlands. We see each other once a month in Zwolle, with cake.",
        ),
        ("Python, PostgreSQL, and respect for both", "Experience with payments or accounting", "Dutch or English"),
    ),
]


def make(folder: Path) -> str:
    """Create the session's file. Nothing is written to the folder."""
    del folder
    desk = Desk()
    talk = Conversation(desk.by_name(), seed=53, now=at(2026, 10, 20, 7, 10))
    morning(talk)
    shortlist(talk)
    applications(talk)
    return write_anthropic.log(talk, "claude-haiku-4-5", OVERHEAD)


class Desk:
    """A mailbox and a job site."""

    def __init__(self) -> None:
        self.mails = {name: mail(*parts) for name, parts in mailbox().items()}
        self.drafts: dict[str, str] = {}

    def by_name(self) -> dict[str, object]:
        names = ("gmail_search", "gmail_read", "gmail_draft", "linkedin_jobs", "linkedin_job_detail")
        return {name: getattr(self, name) for name in names}

    def gmail_search(self, query: str, maxResults: int = 10) -> str:  # noqa: N803 - the tool's own argument name
        """Mails with any word of the query in their head."""
        words = query.lower().split()
        rows = []
        for name, text in self.mails.items():
            head = text.split("\n\n", 1)[0]
            if any(word in head.lower() for word in words):
                fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
                rows.append(
                    f"ID: {name}\n  Date: {fields['Date']}\n  From: {fields['From']}\n  Subject: {fields['Subject']}"
                )
        return "\n\n".join(rows[:maxResults]) or "No mails found."

    def gmail_read(self, messageId: str) -> ToolResult | str:  # noqa: N803 - the tool's own argument name
        """Return a whole mail, unprocessed."""
        if messageId not in self.mails:
            return ToolResult(f"Error: no message {messageId}", is_error=True)
        return self.mails[messageId]

    def gmail_draft(self, to: str, subject: str, body: str) -> str:
        """Save a draft; nothing is sent."""
        name = f"draft-{len(self.drafts) + 1}"
        self.drafts[name] = body
        return f"Draft saved (ID: {name}, to {to}, {len(body.split())} words, subject {subject!r})"

    def linkedin_jobs(self, keyword: str, location: str) -> str:
        """Return the page with the search results."""
        words = keyword.lower().split()
        found = [p for p in POSTINGS if any(word in (p.title + " ".join(p.text)).lower() for word in words)]
        return listing(f"{keyword} jobs in {location}", found * 2 if len(found) < 4 else found)

    def linkedin_job_detail(self, jobId: int) -> str:  # noqa: N803 - the tool's own argument name
        chosen = next(posting for posting in POSTINGS if posting.number == jobId)
        return detail(chosen, [posting for posting in POSTINGS if posting is not chosen][:4])


def mailbox() -> dict[str, tuple[str, str, str, str]]:
    """Return the mails since yesterday: sender, subject, date, HTML."""
    recruiter = personal_mail(
        [
            "Hi Sam,",
            "Thank you for your time on Friday. The team liked the way you took the routing exercise apart, and we would like to invite you to a second conversation, this time with Ilse who leads the re-planning team and with one of the dispatchers.",
            "Would Thursday the 22nd at 14:00 or Friday the 23rd at 10:30 work? It takes ninety minutes; you will be asked to read a piece of our code and say what worries you.",
            "If you could send me the two references by Wednesday, we can decide in the same week.",
        ],
        ["Marit de Boer", "People team, Norwind Logistics", "+31 10 555 0143"],
        "On Fri, 16 Oct 2026 at 16:20, Sam Ortega wrote: Thank you for the conversation. I attach the exercise with the two variants we spoke about; the second re-plans only the stops behind the failed one.",
    )
    landlord = personal_mail(
        [
            "Dear Mr Ortega,",
            "The heating engineer comes on Wednesday between 9 and 12. Somebody has to be at home, the meter is in your kitchen.",
            "The yearly statement will follow in November.",
        ],
        ["J. Verhoeven", "Verhoeven Property Management"],
        "Reference 2026-1184, apartment 3 left.",
    )
    return {
        "18f3a0": (
            "Job Alerts <alerts@jobs.example>",
            "6 new jobs for Python in the Netherlands",
            "Tue, 20 Oct 2026 06:02:11 +0000",
            digest_mail(
                "6 new jobs for you",
                "Good morning Sam, these jobs match your alert Python, Netherlands.",
                POSTINGS,
                "click.jobs.example",
            ),
        ),
        "18f39c": (
            "Marit de Boer <marit.deboer@norwind.example>",
            "Second conversation",
            "Mon, 19 Oct 2026 15:44:52 +0000",
            recruiter,
        ),
        "18f377": (
            "Weekly Tech Jobs <hello@weekly.example>",
            "This week: 4 remote jobs and an essay on on-call",
            "Mon, 19 Oct 2026 05:30:00 +0000",
            digest_mail(
                "Four remote jobs, one essay",
                "On call is a design question: the essay is at the end.",
                [POSTINGS[1], POSTINGS[5], POSTINGS[2], POSTINGS[0]],
                "go.weekly.example",
            ),
        ),
        "18f361": (
            "Verhoeven Property Management <office@verhoeven.example>",
            "Heating engineer on Wednesday",
            "Mon, 19 Oct 2026 09:12:40 +0000",
            landlord,
        ),
        "18f340": (
            "Data Careers Europe <news@datacareers.example>",
            "New data jobs: Petrel, Halden, Lumen",
            "Sun, 18 Oct 2026 18:00:00 +0000",
            digest_mail(
                "Data jobs of the week",
                "Three companies that answer applications within five days.",
                [POSTINGS[4], POSTINGS[1], POSTINGS[3]],
                "click.datacareers.example",
            ),
        ),
    }


def morning(talk: Conversation) -> None:
    """Add the part that reads the new mails."""
    talk.user(
        "Good morning. What is in my mail that needs me today? I am looking for a Python job in the Netherlands or remote, above 70k.",
        after=0,
    )
    talk.assistant(
        "I'll look at what arrived since yesterday.",
        call("gmail_search", query="jobs conversation heating alerts weekly", maxResults=10),
    )
    talk.assistant(
        "Two of these are from people. I read them first.",
        call("gmail_read", messageId="18f39c"),
        call("gmail_read", messageId="18f361"),
    )
    talk.assistant("Now the job alerts.", call("gmail_read", messageId="18f3a0"))
    talk.assistant("", call("gmail_read", messageId="18f377"))
    talk.assistant(
        "Two things need you:\n\n1. **Norwind** invites you to a second conversation: Thursday 22 October 14:00 or Friday 23 October 10:30, ninety "
        "minutes, with code to read. Marit wants two references by Wednesday.\n2. **Heating engineer** on Wednesday between 9 and 12; somebody has "
        "to be at home.\n\nThe two job mails list six openings between them. Above 70k at the lower end: Halden Energy (75 to 95, remote), Tallow & "
        "Finch (72 to 90, remote in the Netherlands), Corvid (70 to 88, Germany)."
    )


def shortlist(talk: Conversation) -> None:
    """Look at the job site itself."""
    talk.user(
        "Friday suits me for Norwind. Before I answer I want to know what else is out there. Search the site for Python and for data jobs.",
        after=212,
    )
    talk.assistant(
        "",
        call("linkedin_jobs", keyword="python", location="Netherlands"),
        call("linkedin_jobs", keyword="data", location="Netherlands"),
    )
    talk.assistant(
        "Mostly the same six. I open the three that pay enough, and Norwind's, so that you can compare.",
        call("linkedin_job_detail", jobId=3_920_114_118),
        call("linkedin_job_detail", jobId=3_920_114_455),
    )
    talk.assistant(
        "", call("linkedin_job_detail", jobId=3_920_113_877), call("linkedin_job_detail", jobId=3_920_114_001)
    )
    talk.assistant(
        "One more mail lists data jobs; I check whether it names something the site does not.",
        call("gmail_read", messageId="18f340"),
    )
    talk.assistant(
        "Nothing new in it. Side by side:\n\n| | pay | where | applicants | what it is |\n|---|---|---|---|---|\n| Norwind | 68-82k | Rotterdam, 2 days | 41 | "
        "routing that re-plans, on call one week in six |\n| Halden | 75-95k | remote EU | 12 | settlement of meter values, audited |\n| Tallow & Finch | 72-90k | "
        "remote NL | 19 | payments ledger, double entry |\n| Corvid | 70-88k | Berlin or remote in Germany | 164 | debugger, terminal interface |\n\nHalden was posted five hours ago "
        "and has twelve applicants, Tallow & Finch six hours ago with nineteen. Corvid asks for Germany, which you did not."
    )


def applications(talk: Conversation) -> None:
    """Write drafts."""
    talk.user(
        "Halden and Tallow & Finch, then. Draft an answer to Marit for Friday and two short applications. Use what they themselves write, nothing about passion please.",
        after=388,
    )
    talk.assistant(
        "",
        call(
            "gmail_draft",
            to="marit.deboer@norwind.example",
            subject="Re: Second conversation",
            body="Hi Marit,\n\nthank you, I would like to come. Friday the 23rd at 10:30 suits me. The two references reach you by Wednesday noon.\n\nI am curious about the code, and about the dispatcher.\n\nSam",
        ),
    )
    talk.assistant(
        "For the other two I read once more what they ask for.",
        call("linkedin_job_detail", jobId=3_920_114_118),
        call("linkedin_job_detail", jobId=3_920_114_455),
    )
    talk.assistant(
        "",
        call(
            "gmail_draft",
            to="jobs@halden.example",
            subject="Senior Python Developer (Data Platform)",
            body="Hello,\n\nyou want a settlement that runs every fifteen minutes instead of nine hours a night, and that explains its figures. I have done half of that: at my last employer I took a nightly price calculation apart until it ran on arrival of each file, and every price could name the rows it came from. The other half, your batteries, I would learn.\n\nI like to delete code; the change above removed eleven thousand lines.\n\nSam Ortega",
        ),
        call(
            "gmail_draft",
            to="work@tallowfinch.example",
            subject="Backend Engineer (Payments)",
            body="Hello,\n\na ledger that has never been wrong by a cent is a reason to read code very slowly. I have worked with PostgreSQL for nine years, four of them on invoices with partial refunds, in Python. I live an hour from Zwolle.\n\nI would be glad to be the third person who can say it.\n\nSam Ortega",
        ),
    )
    talk.assistant(
        "Three drafts are saved: the answer to Marit (Friday 10:30, references by Wednesday noon), and one application each for Halden and Tallow & Finch. Please check the sentence about eleven thousand lines; I took it from your earlier letter."
    )
    talk.user(
        "Good. One last thing: is there anything with trains or ships? I'd rather not move money around forever.",
        after=140,
    )
    talk.assistant(
        "",
        call("linkedin_jobs", keyword="ships voyage", location="Netherlands"),
        call("linkedin_jobs", keyword="rail deliveries", location="Netherlands"),
    )
    talk.assistant("", call("linkedin_job_detail", jobId=3_920_114_302))
    talk.assistant(
        "Petrel Insurance prices voyages of ships: data engineer, Amsterdam, three days in the office, 66 to 80k, 77 applicants, posted yesterday. Its lower end is below your 70k, the upper is not. No trains; Norwind's deliveries are the nearest thing."
    )
    talk.user("Then draft one for Petrel too and leave the number open. Thank you.", after=65)
    talk.assistant(
        "",
        call(
            "gmail_draft",
            to="people@petrel.example",
            subject="Data Engineer",
            body="Hello,\n\na ship that is in two places at once is a join that went wrong, and I would like to find out which. I build and test pipelines in Python and SQL; the last one priced orders in seconds and explained itself to people who do not read code.\n\nCould you tell me where in your range you would place nine years of that?\n\nSam Ortega",
        ),
    )
    talk.assistant("Saved as the fourth draft. All four are drafts only; nothing was sent.")
