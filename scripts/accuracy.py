"""Write docs/development/accuracy.md from the results of `inspector check` on a folder of sessions.

Run it by hand, because the sessions are not redistributable. The page lists the kind of each session, and figures:

    python scripts/accuracy.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.cache_misses import CacheMiss

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "development" / "accuracy.md"
BEGIN, END = "<!-- begin results -->", "<!-- end results -->"
MOST_NAMED = 3

Session = dict[str, Any]


def main() -> None:
    """Check the sessions and write the page's generated part."""
    run = [sys.executable, "-m", "inspector", "check", "--format", "json", *sys.argv[1:]]
    found = json.loads(subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False).stdout)
    sessions = [each for each in found["sessions"] if each["verdict"] != "no usage"]
    sessions.sort(key=lambda each: (each["format"], each["models"], each["calls"]))
    for number, each in enumerate(sessions, start=1):
        each["number"] = number
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{results(sessions, found['providers'])}\n{END}{after}", encoding="utf-8")


def results(sessions: list[Session], providers: list[dict[str, Any]]) -> str:
    """All tables."""
    fitted = [each for each in sessions if each["prompt_median"] is not None]
    within = sum(each["verdict"] == "within" for each in fitted)
    parts = [
        (
            f"{len(sessions)} sessions that report usage, {sum(each['calls'] for each in sessions):,} calls.\n"
            f"Of the {len(fitted)} with enough calls to fit, {within} are within the promise."
        ),
        *_by_provider(providers),
        "### Sizes of prompts",
        table(
            ("#", "session", "calls", "half within", "nine of ten", "held out: half", "nine of ten", "responses by"),
            [_prompts(each) for each in sessions],
        ),
        _misses(sessions),
        "### Sizes of single results",
        (
            "Where a prompt grew by a response and one tool result, two reports tell the size of that result.\n"
            "One ratio serves all texts of a session; how far single ones are from it:"
        ),
        table(
            ("#", "results", "half within", "nine of ten"),
            [
                (
                    each["number"],
                    each["results"]["results"],
                    percent(each["results"]["median"]),
                    percent(each["results"]["p90"]),
                )
                for each in sessions
                if each["results"]
            ],
        ),
        "### Prompt caches, as if nothing had been reported",
        table(
            ("#", "cache", "calls met", "read, recorded", "predicted", "", "written, recorded", "predicted"),
            [_cache(each) for each in sessions],
        ),
        "### Prompt caches, by the other half of the session",
        (
            "Each half of the reported calls is predicted by what the caches of the other half did, both ways: what\n"
            "was read, written and paid, and between which dollars nine of ten such sessions are said to lie."
        ),
        table(
            ("#", "read", "written", "cost, recorded", "predicted", "", "between", "recorded lies"),
            [_learned(each) for each in sessions if each["learned"]],
        ),
        "### Why caches missed",
        *_causes(sessions),
        "### Cost",
        table(
            ("#", "recorded", "the baseline", "as if nothing had been reported", ""),
            [_cost(each) for each in sessions],
        ),
        "### What agents cut themselves",
        table(
            ("#", "at call", "what is compared", "recorded", "replayed", ""),
            [row for each in sessions for row in _cuts(each)],
        ),
    ]
    return "\n\n".join(parts)


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(share: float | None, digits: int = 2) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"  # noqa: RUF001  a dash for nothing


def _off(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f} %"


def _prompts(each: Session) -> tuple[Any, ...]:
    few = each["prompt_median"] is None
    return (
        each["number"],
        f"{each['format']}, {', '.join(each['models'])}",
        each["calls"],
        "too few calls" if few else percent(each["prompt_median"]) + (" **!**" if each["verdict"] == "beyond" else ""),
        percent(each["prompt_p90"]),
        percent(each["held_out_median"]),
        percent(each["held_out_p90"]),
        "" if few else "; ".join(dict.fromkeys(each["readings"].values())),
    )


def _by_provider(providers: list[dict[str, Any]]) -> list[str]:
    """Return a row per format and provider: prompt and cost errors by rules alone and with calibration."""
    return [
        "### By format and provider",
        (
            "Prompts: of the middle session, what nine of ten calls are met within. Costs are predicted without the\n"
            "recorded reads and writes: *before*, by the rules of the provider's cache alone; *after*, each half of a\n"
            "session's calls by what the other half shows; *later*, the same without the first call of every\n"
            "conversation. How far single sessions are off (half of them, nine of ten), and all of them together; and\n"
            "of how many the recorded cost lies between those that nine of ten such sessions are said to have."
        ),
        table(
            (
                "format",
                "provider",
                "sessions",
                "prompts, nine of ten",
                *("before: half", "nine of ten", "together"),
                *("after: half", "nine of ten", "together"),
                *("later: half", "nine of ten", "together"),
                "in the band",
            ),
            [
                (
                    each["format"],
                    each["provider"],
                    each["sessions"],
                    percent(each["prompt_p90"]),
                    *_errors(each["by_rules"]),
                    *_errors(each["learned"]),
                    *_errors(each["later"]),
                    f"{each['in_band']} of {each['learned']['sessions']}" if each["learned"] else "",
                )
                for each in providers
            ],
        ),
    ]


def _errors(errors: dict[str, float] | None) -> tuple[str, str, str]:
    """Return the error of predicted costs: median, p90, and error of the sum."""
    if errors is None:
        return "", "", ""
    return percent(errors["median"], 1), percent(errors["p90"], 1), _off(errors["together"])


def _learned(each: Session) -> tuple[Any, ...]:
    learned = each["learned"]
    read, write, cost = learned["cache_read"], learned["cache_write"], learned["cost"]
    counted = _off(read["off"]), _off(write["off"]) if write["recorded"] else ""
    if cost["recorded"] is None:
        return each["number"], *counted, "no price", "", "", "", ""
    recorded, predicted, low, high = (
        f"${value:,.4f}" if abs(value) < 1 else f"${value:,.2f}"
        for value in (cost["recorded"], cost["predicted"], learned["low"], learned["high"])
    )
    return each["number"], *counted, recorded, predicted, _off(cost["off"]), f"{low} to {high}", _inside(learned)


def _inside(learned: dict[str, Any]) -> str:
    if learned["within"]:
        return "within"
    return "below" if learned["cost"]["recorded"] < learned["low"] else "above"


def _misses(sessions: list[Session]) -> str:
    beyond = [each for each in sessions if each["verdict"] == "beyond"]
    if not beyond:
        return "Every session with enough calls is within the promise."
    lines = ["Beyond the promise, and what stands in the way:", ""]
    for each in beyond:
        calls = "; ".join(
            f"call {miss['call']} {_off(miss['off'])} ({miss['brought'] or 'its first prompt'})"
            for miss in each["outliers"][:MOST_NAMED]
        )
        shifts = ", ".join(f"{shift['tokens']:+,} at call {shift['call']}" for shift in each["shifts"][:MOST_NAMED])
        unseen = f" What the file does not show came and went: {shifts} (tokens)." if shifts else ""
        lines.append(f"- {each['number']}: {each['beyond']} prompts are off by more than 1 %: {calls}.{unseen}")
    return "\n".join(lines)


def _cache(each: Session) -> tuple[Any, ...]:
    read, write = each["cache_read"], each["cache_write"]
    written = bool(write["recorded"] or write["predicted"])
    return (
        each["number"],
        "; ".join(each["caches"]),
        percent(each["reads_met"], 0),
        f"{read['recorded']:,.0f}",
        f"{read['predicted']:,.0f}",
        _off(read["off"]),
        f"{write['recorded']:,.0f}" if written else "",
        f"{write['predicted']:,.0f}" if written else "",
    )


def _causes(sessions: list[Session]) -> list[str]:
    """List the explained and unexplained cache misses, and the agreement with the providers' own reasons."""
    found = {each["number"]: cache_misses(replay_session(open_session(each["path"]), Plan())) for each in sessions}
    misses = [miss for each in found.values() for miss in each.misses]
    said = Counter((miss.reported.reason, str(miss.derived)) for miss in misses if miss.reported is not None)
    return [
        (
            "Of a miss a file shows the cause, or nothing in it does. Then caches that keep what they choose most\n"
            "likely dropped it; of others the cause is unknown. First requests, compactions and clearing are\n"
            "expected, and no misses."
        ),
        table(
            ("#", "misses", "tokens re-cached", "the file shows it", "provider's side", "unknown", "causes"),
            [
                *(_causes_of(number, each.misses) for number, each in found.items() if each.misses),
                (*_causes_of("all", misses)[:-1], ""),
            ],
        ),
        (
            "What the provider said, where a file holds that, and what is derived without it. `unavailable` says\n"
            "that it could not compare the two prompts: then what is derived counts."
        ),
        table(
            ("said", "derived", "misses"),
            [(f"`{reason}`", f"`{derived}`", count) for (reason, derived), count in sorted(said.items())],
        ),
    ]


def _causes_of(name: int | str, misses: Sequence[CacheMiss]) -> tuple[Any, ...]:
    by_cause = Counter(str(miss.cause) for miss in misses)
    tokens = sum(miss.tokens for miss in misses)

    def share(*causes: MissCause) -> str:
        mine = [miss for miss in misses if miss.cause in causes]
        return f"{len(mine)} ({percent(sum(miss.tokens for miss in mine) / tokens, 0)} of the tokens)" if mine else ""

    shown = set(MissCause) - {MissCause.LIKELY_SERVER_SIDE, MissCause.UNKNOWN}
    return (
        name,
        len(misses),
        f"{tokens:,}",
        share(*shown),
        share(MissCause.LIKELY_SERVER_SIDE),
        share(MissCause.UNKNOWN),
        ", ".join(f"{count} `{cause}`" for cause, count in by_cause.most_common()),
    )


def _cost(each: Session) -> tuple[Any, ...]:
    cost, baseline = each["cost"], each["baseline_cost"]
    if cost["recorded"] is None:
        return each["number"], "no price", "", "", ""
    money = (
        f"${value:,.4f}" if value < 1 else f"${value:,.2f}"
        for value in (cost["recorded"], baseline["predicted"], cost["predicted"])
    )
    return each["number"], *money, _off(cost["off"])


_WORDS = {
    "context before": "tokens that set the compaction off",
    "context after": "tokens it left",
    "tokens saved": "tokens saved by blanking results, as the agent estimates",
    "results blanked": "which results were blanked",
}


def _cuts(each: Session) -> list[tuple[Any, ...]]:
    return [
        (
            each["number"],
            cut["call"],
            _WORDS[cut["what"]],
            f"{cut['recorded']:,}",
            f"{cut['replayed']:,}",
            f"the same {cut['alike']}" if cut["alike"] is not None else _off(cut["off"]),
        )
        for cut in each["cuts"]
    ]


if __name__ == "__main__":
    main()
