"""`inspector tune --compaction`: the best compaction threshold for many sessions."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fleet import executor_of, missing
from inspector.cli.output import narrate
from inspector.cli.session_tasks import SessionTerms
from inspector.cli.tuning_pool import TuningPool, left_out_warnings, retry_without_lost
from inspector.replay.tuning.compaction_choice import (
    choose_threshold,
    compaction_terms,
    has_enough_data,
    thresholds_to_try,
)
from inspector.replay.tuning.compaction_costs import AS_RECORDED
from inspector.replay.tuning.fleet import grouped
from inspector.report.compaction_tuning import CompactionGroup, compaction_group
from inspector.report.folder import UnreadSession
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.tuning import TuneReport, TuningTerms, agent_name, group_name, tune_report

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from inspector.cli.result_cache import ResultCache
    from inspector.replay.tuning.fleet import FleetGroup


def compaction_report(sizes: dict[Path, int], options: Namespace, results: ResultCache) -> tuple[TuneReport, bool]:
    """Try thresholds on sessions.

    Args:
        sizes: The sessions with their file sizes in bytes.
        options: Parsed options.
        results: Cache of results.

    Returns:
        The report, and True if the work ended before thresholds were tried on all sessions.

    Raises:
        CommandError: No session can be read, or the work ended without a result.
    """
    asked = TuningTerms(
        max_needed=None,
        max_risk=None,
        budget_calls=None,
        keep=[],
        may_forget=False,
        model_uncertainty=options.model_uncertainty,
    )
    found: list[CompactionGroup] = []
    unseen = len(sizes)
    with executor_of(options, len(sizes)) as executor:
        pool = TuningPool(sizes, SessionTerms.of(options), executor, results)
        sessions, problems = pool.read()
        if not sessions and problems:
            raise CommandError(next(iter(problems.values())))
        useful = [session for session in sessions if session.calls and not math.isnan(session.cost)]
        unseen -= len(sessions) + len(problems)
        for group in grouped(useful):
            reported = retry_without_lost(group, problems, partial(_group, pool, options))
            if reported is not None:
                found.append(reported)
            elif executor.ended:
                unseen += sum(session.path not in problems for session in group.sessions)
        ended = executor.ended if unseen else ""
    warnings = left_out_warnings(sessions)
    if ended:
        warnings.insert(0, missing(unseen, len(sizes), ended))
        if not found:
            raise CommandError(warnings[0], ExitCode.INTERRUPTED)
        narrate(warnings[0])
    unread = [UnreadSession(path=shown_path(path), problem=shown_name(why)) for path, why in problems.items()]
    paths = [shown_path(path) for path in options.paths]
    return tune_report(paths, asked, [], unread, warnings, compaction=found), bool(ended)


def _group(pool: TuningPool, options: Namespace, group: FleetGroup) -> CompactionGroup | None:
    """Report on one group; None if the work ended before that."""
    paths, calls = [session.path for session in group.sessions], [session.calls for session in group.sessions]
    sessions = pool.compacted(paths)
    if not sessions:
        return None
    terms = compaction_terms(sessions)
    thresholds = thresholds_to_try(sessions, terms) if terms is not None and has_enough_data(sessions, calls) else ()
    costs = pool.threshold_costs(paths, (AS_RECORDED, *thresholds), terms) if terms is not None and thresholds else ()
    if thresholds and not costs:
        return None
    return compaction_group(
        group,
        group_name(group.agent, group.models, len(group.sessions)),
        agent_name(group.agent),
        sessions,
        choose_threshold(sessions, calls, thresholds, costs),
        configured=options.configured,
        target=options.export or "",
        model_uncertainty=options.model_uncertainty,
    )
