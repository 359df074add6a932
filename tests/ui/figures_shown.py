"""All figures that screens and reports show for one session and one plan: label, value and place."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.replay.analysis.breakdown import part_label
from inspector.replay.analysis.plan_outcome import CacheEffects
from inspector.replay.quantity import quantities
from inspector.report.catalogue import CostParts, FigureSet, PlanFacts, ProjectionFacts, Saving
from inspector.report.forms import calls_csv
from inspector.report.json_document import to_json
from inspector.report.numbers import MINUS
from inspector.report.pages.opening import page_content
from inspector.report.pages.writers import markdown
from inspector.report.text import report_text
from inspector.report.why import why_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inspector.report.document import Report

SESSION, PLAN = "the session", "the plan"

MISSES, EXTRA, COMPACTIONS = "cache misses", "extra cost of cache misses", "compactions"

_NUMBER = re.compile(
    rf"(?P<least>≥ )?~?(?P<sign>-|{MINUS})?\$?(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<scale>[kMG])?(?P<percent> ?%)?"
)
_SCALES = {None: 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class Shown:
    low: float
    high: float
    text: str
    place: str

    @classmethod
    def number(cls, value: float, place: str) -> Shown:
        slack = 1e-6 + 1e-9 * abs(value)
        return cls(value - slack, value + slack, f"{value:,.6g}", place)

    @classmethod
    def written(cls, text: str, place: str) -> Shown | None:
        """One as people read it; None where it is no number."""
        found = _NUMBER.fullmatch(text.strip())
        if found is None:
            return None
        digits = found["digits"].replace(",", "")
        scale = _SCALES[found["scale"]] / (100 if found["percent"] else 1)
        value = float(digits) * scale * (-1 if found["sign"] else 1)
        # A shortened number may be rounded twice, and halves either way.
        half = 0.500001 * 10.0 ** -len(digits.partition(".")[2]) * scale
        return cls(value - half, float("inf") if found["least"] else value + half, text.strip(), place)


NET_AT_LEAST = "saved after re-fetches, at least"
NET_AT_MOST = "saved after re-fetches, at most"


@dataclass
class Figures:
    found: dict[tuple[str, str], list[Shown]] = field(default_factory=lambda: defaultdict(list))
    unread: list[str] = field(default_factory=list)

    def add(self, of: str, name: str, value: float | str | None, place: str) -> None:
        """Note one."""
        if value is None or value == "":
            return
        if (of, name) == (PLAN, "cost"):
            self._add_cost_of_plan(value, place)
            return
        shown = Shown.written(value, place) if isinstance(value, str) else Shown.number(float(value), place)
        if shown is None:
            self.unread.append(f"{name} at {place}: {value!r}")
        else:
            self.found[of, name].append(shown)

    def _add_cost_of_plan(self, value: float | str, place: str) -> None:
        """It adds up with the saving to the cost without the plan, and takes the cent that rounding leaves over."""
        if isinstance(value, str):
            self.add_part(PLAN, "cost", value, place)
            return
        slack = 0.01 if place == "explain" else 0.0
        shown = Shown.number(float(value), place)
        self.found[PLAN, "cost"].append(replace(shown, low=shown.low - slack, high=shown.high + slack))

    def add_part(self, of: str, name: str, text: str, place: str) -> None:
        """Note one that is written so that it adds up with others, and may be a cent off: the same cent everywhere."""
        shown = Shown.written(text, place)
        if shown is None:
            self.unread.append(f"{name} at {place}: {text!r}")
            return
        cent = shown.high - shown.low if shown.high < float("inf") else 0.01
        self.found[of, name].append(replace(shown, low=shown.low - cent, high=shown.high + cent))
        digits = text.strip().lstrip("~≥ ")
        printed = replace(Shown.number(float(digits.replace("$", "").replace(",", "")), place), text=digits)
        self.found[of, f"{name}, as printed"].append(printed)

    def disagreements(self) -> list[str]:
        """One line for every name that has more than one value."""
        lines = []
        for (of, name), shown in sorted(self.found.items()):
            if max(each.low for each in shown) > min(each.high for each in shown):
                places: dict[str, list[str]] = defaultdict(list)
                for each in shown:
                    places[each.text].append(each.place)
                said = "; ".join(f"{text} ({', '.join(dict.fromkeys(where))})" for text, where in places.items())
                lines.append(f"{name} of {of}: {said}")
        return lines

    def places(self, of: str, name: str) -> set[str]:
        return {each.place for each in self.found[of, name]}


def sum_as_printed(cells: Iterable[str]) -> float:
    """The sum of numbers as they are written."""
    return sum(
        (found.low + found.high) / 2 for found in (Shown.written(cell, "") for cell in cells) if found is not None
    )


_LABELS = {
    name: entry.label
    for kind in (FigureSet, CostParts, Saving, CacheEffects, PlanFacts, ProjectionFacts)
    for name, entry in (
        *((entry.explained, entry) for entry in quantities(kind).values()),
        *quantities(kind).items(),
    )
}


def label(name: str) -> str:
    found = _LABELS[name]
    return f"{found}, of the cost" if name in quantities(CostParts) and name != "overhead" else found


def from_report(figures: Figures, report: Report) -> None:
    _from_json(figures, json.loads(to_json(msgspec.to_builtins(report))))
    _from_tables(figures, "markdown", _markdown_tables(markdown(page_content(report)).replace("\\", "")))
    _from_text(figures, report_text(report))
    _from_page(figures, report)
    _from_csv(figures, calls_csv(report))
    _from_why(figures, report)


def _from_json(figures: Figures, report: Mapping[str, Any]) -> None:
    place = "json"
    plan, misses = report["plans"][0], report["cache_misses"]
    if misses is not None:
        figures.add(SESSION, MISSES, misses["calls"], place)
        figures.add(SESSION, EXTRA, misses["extra_usd"], place)
    figures.add(SESSION, COMPACTIONS, report["session"]["compactions"], place)
    if plan["needed_later"] is not None:
        figures.add(PLAN, NET_AT_LEAST, plan["needed_later"]["saved_at_least_usd"], place)
        figures.add(PLAN, NET_AT_MOST, plan["needed_later"]["saved_at_most_usd"], place)
    least = set(report["recorded"]["at_least"]) if report["recorded"] else set()
    recorded = {name: value for name, value in (report["recorded"] or {}).items() if name not in least}
    for of, kind, values in (
        (SESSION, FigureSet, recorded),
        (SESSION, FigureSet, report["baseline"]),
        (PLAN, FigureSet, plan["figures"]),
        (PLAN, Saving, plan["saved"]),
        (PLAN, CacheEffects, plan["outcome"]),
        (PLAN, PlanFacts, plan),
        (PLAN, ProjectionFacts, plan["projection"] or {}),
    ):
        for name, entry in quantities(kind).items():
            value = values.get(name)
            if isinstance(value, int | float):
                figures.add(of, entry.label, value / 100 if name == "percent" else value, place)
    for of, explained in ((SESSION, report["explain"]), (PLAN, plan["explain"])):
        for name, each in explained.items():
            figures.add(of, label(name), each["value"], f"{place}, explain")
    for of, rows in ((SESSION, report["carried"]), (PLAN, plan["carried"])):
        for row in rows:
            kind = part_label(row["kind"], row["tool"])
            figures.add(of, f"cost to resend {kind}", row["usd"], place)
            figures.add(of, f"token-calls of {kind}", row["sent_tokens"], place)
            figures.add(of, f"{kind}, in the newest prompt", row["carried_tokens"], place)


def _markdown_tables(text: str) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("| "):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            yield rows
            rows = []


def _from_tables(figures: Figures, place: str, tables: Iterable[list[list[str]]]) -> None:
    for head, *rows in tables:
        if head == ["", "dollars", "of the cost"]:
            for name, cell, _ in rows[1:]:  # the first is the line below the head
                figures.add_part(SESSION, f"{name}, of the cost", cell, place)
        if head[0] == "figure" and "baseline" in head:
            for name, *cells in rows:
                for column, cell in zip(head[1:], cells, strict=True):
                    if cell not in ("", "-", "never", "unknown", "---", "---:"):
                        figures.add(PLAN if "plan" in column else SESSION, _total(name), cell, place)


def _total(name: str) -> str:
    return {"saved, of the cost": "of the total", "saved, of the prompt": "of the total"}.get(name, name)


def _from_text(figures: Figures, text: str) -> None:
    place = "text"
    lines = text.splitlines()
    compactions = re.search(r"([\d,]+)\s+compactions?\n", text)
    assert compactions is not None
    figures.add(SESSION, COMPACTIONS, compactions[1], place)
    head = next(at for at, line in enumerate(lines) if "baseline" in line and "plan A" in line)
    columns = lines[head].replace("plan A", "plan_A").split()
    above = ""
    for line in lines[head + 1 :]:
        if not line.strip():
            break
        name, *cells = re.split(r" {2,}", line.strip().replace("≥ ", "≥"))
        part = line.startswith("    ")
        if part:
            name = {"of the cost": "of the total", "tokens": "saved tokens"}.get(name, name)
            name = {("cache reads", "of the prompt"): "cache reads, share of prompts"}.get((above, name), name)
        else:
            above = name
        for column, cell in zip(columns[-len(cells) :], cells, strict=True):
            if cell not in ("-", "never", "unknown"):
                figures.add(PLAN if column == "plan_A" else SESSION, name, cell.replace("≥", "≥ "), place)


def _from_why(figures: Figures, report: Report) -> None:
    place = "why"
    text = why_text(report, width=400)
    cost = re.search(r"^Why .* cost (\S+)$", text.partition("\n")[0].replace("≥ ", "≥"))
    if report.baseline.cost_usd is None:
        return
    assert cost is not None
    figures.add(SESSION, "cost", cost[1].replace("≥", "≥ "), place)
    for name, entry in quantities(CostParts).items():
        if entry.part_of == "cost_usd" and getattr(report.cost, name) is not None:
            found = re.search(rf"^  {entry.label} +((?:≥ )?\S+)  ", text, re.MULTILINE)
            assert found is not None, entry.label
            figures.add_part(SESSION, f"{entry.label}, of the cost", found[1], place)
    missed = re.search(r"^  cache misses +(\S+) .* ([\d,]+) calls?[:,;]", text, re.MULTILINE)
    if missed is not None:
        figures.add(SESSION, EXTRA, missed[1], place)
        figures.add(SESSION, MISSES, missed[2], place)


def _from_page(figures: Figures, report: Report) -> None:
    named = {
        "/baseline/cost_usd": (SESSION, "cost"),
        "/baseline/peak_prompt_tokens": (SESSION, "largest prompt"),
        "/plans/0/figures/peak_prompt_tokens": (PLAN, "largest prompt"),
        "/plans/0/saved/usd": (PLAN, "saved"),
        "/plans/0/saved/tokens": (PLAN, "saved tokens"),
        "/plans/0/saved/percent": (PLAN, "of the total"),
        "/plans/0/needed_later/saved_at_least_usd": (PLAN, NET_AT_LEAST),
        "/plans/0/needed_later/saved_at_most_usd": (PLAN, NET_AT_MOST),
        "/baseline/prompt_tokens": (SESSION, "prompt tokens"),
        "/plans/0/figures/prompt_tokens": (PLAN, "prompt tokens"),
    }
    for tile in page_content(report).tiles:
        for cell in (tile.cell, *tile.note):
            if cell.pointer:
                of, name = named[cell.pointer]
                # A loss is written in words: "costs more with plan A: $0.66".
                is_loss = tile.title.startswith("costs more") and name in ("saved", "of the total")
                figures.add(of, name, f"{MINUS}{cell.shown}" if is_loss else cell.shown, "html, large")


def _from_csv(figures: Figures, text: str) -> None:
    rows = list(csv.DictReader(StringIO(text)))
    for of, prefix in ((SESSION, "baseline"), (PLAN, "plan_1")):
        for name in ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd"):
            cells = [row[f"{prefix}_{name}"] for row in rows]
            if all(cells):
                total = sum(map(float, cells))
                # Each row is rounded to a millionth of a dollar.
                slack = 1e-6 * len(cells)
                figures.found[of, label(name)].append(Shown(total - slack, total + slack, f"{total:,.6g}", "csv"))
