"""`inspector tune --compaction`: at which size the agents of many sessions had best compact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError
from inspector.cli.tuning_pool import TuningPool, left_out_warnings
from inspector.replay.tuning.compaction_choice import (
    choose_threshold,
    compaction_terms,
    is_told,
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

    from inspector.replay.tuning.fleet import FleetGroup


def compaction_report(sizes: dict[Path, int], options: Namespace) -> TuneReport:
    """Try thresholds on sessions.

    Args:
        sizes: The sessions, and how large their files are in bytes.
        options: What was asked for.

    Raises:
        CommandError: None of them can be read.
    """
    asked = TuningTerms(
        max_needed=None,
        max_risk=None,
        budget_calls=None,
        keep=[],
        may_forget=False,
        model_uncertainty=options.model_uncertainty,
    )
    with TuningPool(list(sizes), options, list(sizes.values())) as pool:
        sessions, problems = pool.read()
        if not sessions:
            raise CommandError(next(iter(problems.values())))
        groups = grouped(session for session in sessions if session.calls and not math.isnan(session.cost))
        found = [_group(pool, group, options) for group in groups]
    unread = [UnreadSession(path=shown_path(path), problem=shown_name(why)) for path, why in problems.items()]
    paths = [shown_path(path) for path in options.paths]
    return tune_report(paths, asked, [], unread, left_out_warnings(sessions), compaction=found)


def _group(pool: TuningPool, group: FleetGroup, options: Namespace) -> CompactionGroup:
    paths, calls = [session.path for session in group.sessions], [session.calls for session in group.sessions]
    sessions = pool.compacted(paths)
    terms = compaction_terms(sessions)
    thresholds = thresholds_to_try(sessions, terms) if terms is not None and is_told(sessions, calls) else ()
    costs = pool.threshold_costs(paths, (AS_RECORDED, *thresholds), terms) if terms is not None and thresholds else ()
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
