"""Save a report on the session on the screen: choose a form and a file, and write it."""

from __future__ import annotations

import os
from asyncio import sleep
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from inspector.atomic_files import APPLICATION, write_user_file
from inspector.errors import InspectorError
from inspector.safe_text import cell_width, one_line
from inspector.session.files import expand_user, is_file, is_folder
from inspector.session.registry import problem_with_target
from inspector.strategies.presets import display_name
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import REPORT
from inspector.ui.dialogs import SaveChoice, SaveDialog
from inspector.ui.saved_page import open_in_browser, why_not_shown
from inspector.ui.served import deliver_in_browser, display_path, file_stem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual.app import App
    from textual.binding import BindingType

    from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
    from inspector.replay.assumptions import RunsPerDay
    from inspector.replay.sessions import SubagentCosts
    from inspector.strategies.plan import Plan
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.outcome import Outcome


class ReportForm(NamedTuple):
    """A file format for reports.

    Attributes:
        name: Name in `inspector.report.forms`.
        word: Display name.
        help: Purpose, in one sentence.
        suffix: File suffix.
        mime_type: MIME type.
    """

    name: str
    word: str
    help: str
    suffix: str
    mime_type: str


PAGE = "html"
KEYS_TO_OPEN = "w b"
"""Keys that open a saved page."""

REPORT_FORMS = (
    ReportForm(PAGE, "page", "An HTML page with charts. It loads nothing from the network.", ".html", "text/html"),
    ReportForm("md", "Markdown", "For pull requests and wikis.", ".md", "text/markdown"),
    ReportForm("text", "text", "The output of inspector report.", ".txt", "text/plain"),
    ReportForm("csv", "CSV", "For spreadsheets, one row per call.", ".csv", "text/csv"),
    ReportForm("json", "JSON", "Every figure, as input for programs.", ".json", "application/json"),
)
GROUP = "report"
"""Worker group: one report is computed at a time."""
SHARE_OF_SEARCH, SHARE_OF_REPLAYS = 0.3, 0.6
"""Progress of a page once the best plan is found, and once every plan is replayed. Drawing the charts takes the rest.
"""
SECONDS_BETWEEN_LOOKS = 0.05
"""Polling interval until all tokens are counted."""
SECONDS_OF_PATH = 15.0
"""Long enough to copy the path of the report."""
SHARE_OF_NOTICE, CELLS_AROUND_NOTICE = 0.9, 6
"""Maximum share of the screen width for a notice, and the cells its frame takes."""
NO_TEXTS = "Contains figures, tool names, and the session's id and path, but no session text."


@dataclass(frozen=True, eq=False, repr=False)
class ReportProgress:
    """Progress of a report.

    Attributes:
        fraction: Progress from 0 to 1.
    """

    fraction: float

    only_newest_counts: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, repr=False)
class ReportWritten:
    """Finished report.

    Attributes:
        text: Content of the report.
        problem: Reason there is no report; empty if there is one.
    """

    text: str
    problem: str = ""


def reports_folder() -> Path:
    """Return the default folder for reports: downloads, never the folder of a session."""
    from platformdirs import user_data_path, user_downloads_path

    downloads = user_downloads_path()
    return downloads if is_folder(downloads) else user_data_path(APPLICATION) / "reports"


def suggested_report(session: Path, form: ReportForm, now: datetime, folder: Path | None = None) -> Path:
    """Suggest a file for a report, named after the session and the time.

    Args:
        session: The session's file; its name may hold any character.
        form: Format of the report.
        now: Time in the file name.
        folder: Target folder; by default `reports_folder`.
    """
    return (folder or reports_folder()) / f"{file_stem(session)}-report-{now:%Y%m%d-%H%M}{form.suffix}"


def write_report(
    outcome: Outcome,
    plans: Sequence[Plan],
    search: BestPlanSearch,
    form: ReportForm,
    runs_per_day: RunsPerDay,
    subagents: SubagentCosts | None,
    post: Post[ReportProgress | ReportWritten],
    is_cancelled: IsCancelled,
) -> None:
    """Compute a report on the session on the screen and post it.

    Args:
        outcome: The newest replay, which supplies session, tokens, prices and terms.
        plans: Plans to report on; if empty, the best plan found.
        search: Search for the best plan.
        form: Format of the report.
        runs_per_day: Number of such sessions per day.
        subagents: Costs of the sessions that this one started; None if not read yet.
        post: Receives progress and the report.
        is_cancelled: True if the result is no longer needed.
    """
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.renderer import ReplayCancelledError
    from inspector.report.document import ReportOptions
    from inspector.report.forms import written
    from inspector.report.session_report import report_of

    def progress(begins: float, ends: float, done: int, total: int) -> None:
        if is_cancelled():
            raise ReplayCancelledError
        post(ReportProgress(begins + (ends - begins) * done / total))

    options = ReportOptions(
        runs_per_day,
        ledger=form.name in ("csv", "html"),
        comparison=form.name == "html",
        breakpoint_prices=form.name == "json",
        days_per_month=(outcome.terms or Assumptions()).days_per_month,
    )

    def searched(seconds: float) -> None:
        del seconds
        progress(0, SHARE_OF_SEARCH, search.tried, search.count)

    try:
        best = None
        if options.comparison or not plans:
            best = search.run(is_cancelled, searched)
            if best is None:
                return
        if not plans:
            plans, options = _recommended(best), replace(options, suggests=True)
        replaying = partial(progress, SHARE_OF_SEARCH, SHARE_OF_REPLAYS)
        report = report_of(outcome.inputs, plans, options, replaying, best, subagents)
        post(ReportWritten(written(report, form.name, progress=partial(progress, SHARE_OF_REPLAYS, 1))))
    except ReplayCancelledError:
        return
    except InspectorError as error:
        post(ReportWritten("", str(error)))


def _recommended(found: BestPlan | None) -> list[Plan]:
    if found is None or found.best is None:
        return []
    # Readers of the page have to know that the user did not choose this plan.
    name = display_name(found.best.plan.name)
    return [replace(found.best.plan, name=f"{name}, suggested as the best plan".removeprefix(", "))]


class ReportDialog(SaveDialog):  # its bindings have their own names in keymaps
    """Dialog for the format and the path of a report."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(REPORT)

    def __init__(self, session: Path, about: str, now: datetime) -> None:
        """Create the dialog.

        Args:
            session: The session's file.
            about: Sentence about the reported plan; safe text.
            now: Time in the suggested file name.
        """
        forms = [
            SaveChoice(form.word, f"{form.help}\n{about}\n{NO_TEXTS}", suggested_report(session, form, now))
            for form in REPORT_FORMS
        ]
        problem = partial(problem_with_report, session=session)
        super().__init__("Save a report", "as", forms, problem, turns="tab changes the format")


def problem_with_report(text: str, session: Path) -> str:
    """Return why the report cannot be saved at this path, or an empty string."""
    return problem_with_target(expand_user(text), session) if text.strip() else "is not a valid file name"


class ReportWriter:
    """Saves reports on a session, one at a time, and opens the last saved page.

    Attributes:
        is_writing: True while a report is computed.
        page: The last saved page; None if there is none.
    """

    def __init__(self, app: App[None], controller: SessionController) -> None:
        """Create the writer.

        Args:
            app: App that shows the dialog.
            controller: The session.
        """
        self._app = app
        self._controller = controller
        self.is_writing = False
        self.page: Path | None = None

    async def save(self) -> None:
        """Let the user choose a format and a file, then compute and save the report.

        It covers the active plan, or the best plan found if no strategy is on.
        """
        controller, outcome = self._controller, self._controller.outcome
        if outcome is None:
            controller.host.show_notice("nothing to report yet")
            return
        plans, about = _reported_plans(outcome)
        dialog = ReportDialog(controller.path, about, datetime.now().astimezone())
        answer = await self._app.push_screen_wait(dialog)
        if answer is None:
            return
        form, path = REPORT_FORMS[answer[0]], answer[1]
        self._show_progress(0.0)
        counted = await self._counted()
        if counted is None:
            return
        search, subagents = controller.answers.search_on(counted), controller.subagent_costs.costs
        controller.host.run(
            partial(write_report, counted, plans, search, form, controller.runs_per_day, subagents),
            partial(self._take, form, path),
            group=GROUP,
            description="write the report",
            failed=partial(self._show_progress, None),
        )

    async def _counted(self) -> Outcome | None:
        """Wait until all tokens are counted, so that reports are reproducible. Returns None if stopped."""
        while self._waits():
            await sleep(SECONDS_BETWEEN_LOOKS)
        return self._controller.outcome if self.is_writing else None

    def _waits(self) -> bool:
        return self.is_writing and (self._controller.counting.is_under_way or self._controller.replays.is_under_way)

    def stop(self) -> None:
        """Cancel the running report."""
        self._controller.host.stop(GROUP)
        self._show_progress(None)

    def _show_progress(self, fraction: float | None) -> None:
        self.is_writing = fraction is not None
        self._controller.report_progress("writing the report", fraction, "esc stops")

    def _take(self, form: ReportForm, path: Path, found: ReportProgress | ReportWritten) -> None:
        if isinstance(found, ReportProgress):
            self._show_progress(found.fraction)
            return
        self._show_progress(None)
        show = self._controller.host.show_notice
        if found.problem:
            show(found.problem, is_problem=True)
        elif deliver_in_browser(self._app, found.text, path, form.mime_type):
            show("report sent to the browser")
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_user_file(path, found.text.encode())
            except OSError as error:
                show(f"cannot write {display_path(path)}: {error.strerror}", is_problem=True)
            else:
                hint = ""
                if form.name == PAGE:
                    self.page = path
                    hint = f"{KEYS_TO_OPEN} {'copies the path' if why_not_shown(os.environ) else 'opens it'}"
                show(f"report saved{f', {hint},' if hint else ''} in {display_path(path.parent)}: {path.name}")
                # The path may not fit in one line, and the user may want to copy it.
                where = "\n".join(filter(None, (_in_lines(display_path(path), self._app.size.width), hint)))
                self._app.notify(where, title="Report saved", timeout=SECONDS_OF_PATH, markup=False)

    def open_page(self) -> None:
        """Open the last saved page in the browser, or copy its path if there is no browser."""
        page, host = self.page, self._controller.host
        if page is None:
            host.show_notice("no saved page yet: w w saves one")
        elif not is_file(page):
            host.show_notice(f"{display_path(page)} no longer exists: w w saves it again", is_problem=True)
        else:

            def work(post: Post[str], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
                post(open_in_browser(page))

            host.run(work, partial(self._take_opened, page), group="open page", description="open the page")

    def _take_opened(self, page: Path, reason: str) -> None:
        show = self._controller.host.show_notice
        if not reason:
            show(f"opened in the browser: {page.name}")
        else:
            self._app.copy_to_clipboard(one_line(str(page.absolute())))
            show(f"{reason}; copied, if the terminal allows it: {display_path(page)}")


def _in_lines(path: str, width: int) -> str:
    """Put a path on its own line, or split folder and name over two lines if it does not fit."""
    folder, slash, name = one_line(path).rpartition("/")
    is_short = cell_width(path) <= width * SHARE_OF_NOTICE - CELLS_AROUND_NOTICE
    return f"{folder}{slash}{name}" if is_short else f"{folder}{slash}\n{name}"


def _reported_plans(outcome: Outcome) -> tuple[list[Plan], str]:
    """Return the plans to report on (empty for the best plan) and a sentence about them."""
    if outcome.plan.strategies:
        return [outcome.plan], "It compares the session with and without your plan."
    return [], "No strategy is on. It reports the cost of the session and suggests the best plan."
