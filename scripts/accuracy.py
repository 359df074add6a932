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
HALF_A_CENT = 0.005

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
    """Format all tables."""
    fitted = [each for each in sessions if each["prompt_median"] is not None]
    within = sum(each["verdict"] == "within" for each in fitted)
    learned = [each for each in sessions if each["learned"]]
    parts = [
        (
            f"{len(sessions)} sessions that report usage, {sum(each['calls'] for each in sessions):,} calls. Of the "
            f"{len(fitted)} with enough calls to fit, {within} meet the promise.\n"
            "Errors are in percent; `+` means that the prediction is higher."
        ),
        *_by_provider(providers),
        "### Prompt sizes",
        (
            "If a prompt grew by one response and one tool result, two reports give the size of that result. The\n"
            "columns on results compare it with the count; one ratio serves all texts of a session."
        ),
        table(
            (
                *("#", "session", "calls", "prompts: median", "p90", "held out: median", "p90"),
                *("results", "median", "p90", "responses matched by"),
            ),
            [_prompts(each) for each in sessions],
        ),
        _misses(sessions),
        "### Prompt caches and cost by rules",
        (
            "Predicted as if nothing had been reported. The cost of the baseline equals the recorded cost to the cent"
            f" {_equal_baselines(sessions)}."
        ),
        table(
            (
                *("#", "cache", "reads met", "read, recorded", "predicted", "error"),
                *("written, recorded", "predicted", "cost, recorded", "predicted", "error"),
            ),
            [_by_rules(each) for each in sessions],
        ),
        "### Prompt caches and cost by the other half",
        (
            "Each half of the reported calls is predicted by the caches of the other half. The band should hold\n"
            f"nine of ten sessions; it holds {sum(each['learned']['within'] for each in learned)} of {len(learned)}."
        ),
        table(
            ("#", "read, error", "written, error", "cost, predicted", "error", "band"),
            [_learned(each) for each in learned],
        ),
        "### Causes of cache misses",
        *_causes(sessions),
        "### Agents' own compactions",
        *_cuts(sessions),
    ]
    return "\n\n".join(parts)


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Format a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(share: float | None, digits: int = 2) -> str:
    """Format a share in percent, without the sign."""
    return "–" if share is None else f"{100 * share:.{digits}f}"  # noqa: RUF001  a dash for nothing


def _off(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f}"


def _dollars(value: float | None) -> str:
    if value is None:
        return "no price"
    return f"${value:,.4f}" if abs(value) < 1 else f"${value:,.2f}"


def _prompts(each: Session) -> tuple[Any, ...]:
    few = each["prompt_median"] is None
    single = each["results"]
    return (
        each["number"],
        f"{each['format']}, {', '.join(each['models'])}",
        each["calls"],
        "too few" if few else percent(each["prompt_median"]) + (" **!**" if each["verdict"] == "beyond" else ""),
        percent(each["prompt_p90"]),
        percent(each["held_out_median"]),
        percent(each["held_out_p90"]),
        *((single["results"], percent(single["median"]), percent(single["p90"])) if single else ("", "", "")),
        "" if few else "; ".join(dict.fromkeys(each["readings"].values())),
    )


def _by_provider(providers: list[dict[str, Any]]) -> list[str]:
    """Return a row per format and provider: prompt and cost errors by rules alone and with calibration."""
    return [
        "### By format and provider",
        (
            "Prompts: p90 of the median session. Costs are predicted without the recorded reads and writes:\n"
            "*rules* by the provider's cache rules alone, *half* each half of the calls by the caches of the\n"
            "other half, *later* the same without the first call of every conversation. Each has the median and\n"
            "p90 of the sessions, and their sum. In band: sessions with a recorded cost inside the predicted\n"
            "band."
        ),
        table(
            (
                *("format", "provider", "sessions", "prompts, p90"),
                *("rules: median", "p90", "sum", "half: median", "p90", "sum", "later: median", "p90", "sum"),
                "in band",
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
                if each["format"] != "all" or sum(other["provider"] == each["provider"] for other in providers) > 2
            ],
        ),
    ]


def _errors(errors: dict[str, float] | None) -> tuple[str, str, str]:
    """Return the error of predicted costs: median, p90, and error of the sum."""
    if errors is None:
        return "", "", ""
    return percent(errors["median"], 1), percent(errors["p90"], 1), _off(errors["together"])


def _equal_baselines(sessions: list[Session]) -> str:
    priced = [each for each in sessions if each["cost"]["recorded"] is not None]
    equal = sum(abs(each["baseline_cost"]["predicted"] - each["cost"]["recorded"]) < HALF_A_CENT for each in priced)
    return "in every session" if equal == len(priced) else f"in {equal} of {len(priced)} sessions"


def _learned(each: Session) -> tuple[Any, ...]:
    learned = each["learned"]
    read, write, cost = learned["cache_read"], learned["cache_write"], learned["cost"]
    counted = _off(read["off"]), _off(write["off"]) if write["recorded"] else ""
    if cost["recorded"] is None:
        return each["number"], *counted, "no price", "", ""
    band = f"{_dollars(learned['low'])} to {_dollars(learned['high'])}"
    return each["number"], *counted, _dollars(cost["predicted"]), _off(cost["off"]), f"{band}{_outside(learned)}"


def _outside(learned: dict[str, Any]) -> str:
    if learned["within"]:
        return ""
    return ", recorded is below" if learned["cost"]["recorded"] < learned["low"] else ", recorded is above"


def _misses(sessions: list[Session]) -> str:
    beyond = [each for each in sessions if each["verdict"] == "beyond"]
    if not beyond:
        return "Every session with enough calls meets the promise."
    lines = ["Sessions that miss the promise:", ""]
    for each in beyond:
        calls = "; ".join(
            f"call {miss['call']} {_off(miss['off'])} ({miss['brought'] or 'its first prompt'})"
            for miss in each["outliers"][:MOST_NAMED]
        )
        shifts = ", ".join(f"{shift['tokens']:+,} at call {shift['call']}" for shift in each["shifts"][:MOST_NAMED])
        unseen = f" Unrecorded tokens came and went: {shifts}." if shifts else ""
        lines.append(f"- {each['number']}: {each['beyond']} prompts are off by more than 1 %: {calls}.{unseen}")
    return "\n".join(lines)


def _by_rules(each: Session) -> tuple[Any, ...]:
    read, write, cost = each["cache_read"], each["cache_write"], each["cost"]
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
        _dollars(cost["recorded"]),
        "" if cost["recorded"] is None else _dollars(cost["predicted"]),
        _off(cost["off"]),
    )


def _causes(sessions: list[Session]) -> list[str]:
    """List the explained and unexplained cache misses, and the agreement with the providers' own reasons."""
    found = {each["number"]: cache_misses(replay_session(open_session(each["path"]), Plan())) for each in sessions}
    misses = [miss for each in found.values() for miss in each.misses]
    reported = Counter((miss.reported.reason, str(miss.derived)) for miss in misses if miss.reported is not None)
    return [
        (
            "Misses, and their share of the tokens in percent. If the file shows no cause, a cache that evicts\n"
            "at its own discretion is the likely one (*provider*); for other caches the cause is unknown. First\n"
            "requests, compactions and clearing are expected and do not count."
        ),
        table(
            ("#", "misses", "tokens", "shown", "provider", "unknown", "causes"),
            [
                *(_causes_of(number, each.misses) for number, each in found.items() if each.misses),
                (*_causes_of("all", misses)[:-1], ""),
            ],
        ),
        (
            "Some files hold the provider's reason. `unavailable` means that it could not compare the two\n"
            "prompts; then the derived reason counts."
        ),
        table(
            ("reported", "derived", "misses"),
            [(f"`{reason}`", f"`{derived}`", count) for (reason, derived), count in sorted(reported.items())],
        ),
    ]


def _causes_of(name: int | str, misses: Sequence[CacheMiss]) -> tuple[Any, ...]:
    by_cause = Counter(str(miss.cause) for miss in misses)
    tokens = sum(miss.tokens for miss in misses)

    def share(*causes: MissCause) -> str:
        mine = [miss for miss in misses if miss.cause in causes]
        return f"{len(mine)} ({percent(sum(miss.tokens for miss in mine) / tokens, 0)})" if mine else ""

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


def _cuts(sessions: list[Session]) -> list[str]:
    """List context sizes around compactions, then tool results that the agent blanked."""
    sizes, blanked = [], []
    for each in sessions:
        by_call: dict[int, dict[str, dict[str, Any]]] = {}
        for cut in each["cuts"]:
            by_call.setdefault(cut["call"], {})[cut["what"]] = cut
        for call, cuts in by_call.items():
            if "context before" in cuts or "context after" in cuts:
                sizes.append(
                    (each["number"], call, *_size(cuts.get("context before")), *_size(cuts.get("context after")))
                )
            if "tokens saved" in cuts or "results blanked" in cuts:
                which = cuts.get("results blanked")
                same = f"the same {which['alike']}" if which and which["alike"] is not None else ""
                blanked.append((each["number"], call, *_size(cuts.get("tokens saved")), *_size(which)[:2], same))
    return [
        "Tokens in the context before and after a compaction.",
        table(("#", "call", "before, recorded", "replayed", "error", "after, recorded", "replayed", "error"), sizes),
        "Tool results that the agent blanked, and the tokens saved by its own estimate.",
        table(("#", "call", "saved, recorded", "replayed", "error", "results, recorded", "replayed", "which"), blanked),
    ]


def _size(cut: dict[str, Any] | None) -> tuple[str, str, str]:
    return ("", "", "") if cut is None else (f"{cut['recorded']:,}", f"{cut['replayed']:,}", _off(cut["off"]))


if __name__ == "__main__":
    main()
