"""Checks of the data: agents' sessions, vocabulary, prices, settings, variables."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from inspector.cli.checkup.finding import Finding
from inspector.cli.variables import VARIABLES

if TYPE_CHECKING:
    from pathlib import Path


def session_findings() -> tuple[list[Finding], list[Path]]:
    """Count the sessions of each agent, and return their folders."""
    from inspector.cli.output import ProgressLine
    from inspector.session.discovery import list_sessions, search_places
    from inspector.session.registry import all_formats

    where = search_places()
    own: Counter[str] = Counter()
    subagents: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    with ProgressLine("looking for sessions") as progress:
        for batch in list_sessions(where):
            for header in batch:
                kind = unreadable if header.problem else own if header.parent is None else subagents
                kind[header.format] += 1
            progress(0, 1)
    findings = []
    for known in all_formats():
        homes = [home for home, format_ in where if format_ is known]
        count = own[known.name]
        if not count and not homes:
            continue
        text = f"{count:,} session{'' if count == 1 else 's'}"
        text += f", {subagents[known.name]:,} of them subagents" if subagents[known.name] else ""
        text += f", in {', '.join(map(str, homes))}" if homes else ""
        findings.append(Finding(known.title, text))
    if count := unreadable.total():
        text = f"{count:,} are unreadable"
        problem = "some files named like sessions are not sessions"
        findings.append(Finding("damaged", text, problem, "run inspector formats FILE for the reason"))
    if not own:
        text = "no sessions found; inspector formats lists the searched folders, inspector demo opens samples"
        findings.append(Finding("agents", text))
    return findings, [home for home, _ in where]


def counting_finding() -> Finding:
    """Check that tokens can be counted exactly."""
    from inspector.tokens.vocabulary import ENCODINGS, VocabularyError, find_vocabulary, refusal_notice

    parts = []
    for encoding in ENCODINGS:
        try:
            vocabulary = find_vocabulary(encoding)
        except VocabularyError as error:
            problem = f"{error.message}: tokens are estimated from text lengths"
            return Finding("vocabulary", f"{encoding} missing", problem, error.advice)
        notice = refusal_notice(vocabulary)
        if notice:
            advice = "remove the rejected file, or unset the variable with its folder"
            return Finding("vocabulary", encoding, notice, advice)
        parts.append(f"{encoding} from {vocabulary.source}")
    return Finding("vocabulary", ", ".join(parts))


def price_finding() -> Finding:
    """Check the age of the prices, and the user's price file."""
    from inspector.replay.pricing.price_file import PriceFileError, default_price_file
    from inspector.replay.pricing.prices import Pricing

    try:
        return Finding("prices", Pricing.load().source)
    except PriceFileError as error:
        advice = "correct that line; inspector help figures describes the format"
        return Finding("prices", str(default_price_file()), error.message, advice)


def settings_finding() -> Finding:
    """Check that the settings can be parsed."""
    from inspector.settings import load_settings, settings_path

    path = settings_path()
    if not os.path.lexists(path):
        return Finding("settings", f"none: {path} does not exist, so all settings have their defaults")
    problems = load_settings(path).problems
    if problems:
        return Finding("settings", str(path), "; ".join(problems), "see: inspector help settings")
    return Finding("settings", f"{path}, valid")


def plug_in_finding() -> Finding:
    """List the formats and strategies of other packages, and those that are not usable."""
    from inspector.session.registry import PLUG_INS as OTHER_FORMATS
    from inspector.strategies.registry import PLUG_INS as OTHER_STRATEGIES

    problems = [*OTHER_FORMATS.problems(), *OTHER_STRATEGIES.problems()]
    usable = [each.plug_in(name) for each in (OTHER_FORMATS, OTHER_STRATEGIES) for name in each.names()]
    text = ", ".join(each.named for each in usable if each is not None) or ("none usable" if problems else "none")
    if problems:
        return Finding("plug-ins", text, "; ".join(problems), "update or uninstall these packages")
    return Finding("plug-ins", text)


def variable_finding() -> Finding:
    """List the environment variables of the program that are set."""
    parts = [f"{each.name}={os.environ[each.name]}" for each in VARIABLES if os.environ.get(each.name)]
    return Finding("variables", ", ".join(parts) or "none of the variables that the program reads")
