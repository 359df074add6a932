"""Partially known file contents: runs of lines, and gaps between them.

A read of lines 40 to 80 reveals only these; an edit of a file that was never read reveals the new text but not its
position. Content is therefore a list of runs of lines. Placed runs have the number of their first line; loose ones are
at an unknown position. Only content without gaps is the whole file.

Lines exclude their newlines; a separate attribute shows if the last line ends with one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class LineRun(NamedTuple):
    """Consecutive lines, the outer ones possibly partial, and the number of the first from 1; None if unknown."""

    first: int | None
    lines: tuple[str, ...]

    @property
    def end(self) -> int:
        """Number of the line after it; 0 if its position is unknown."""
        return 0 if self.first is None else self.first + len(self.lines)


class Gap(NamedTuple):
    """Unknown lines. `size`: number of lines; None if unknown, possibly zero."""

    first: int
    size: int | None


class ContradictionError(InspectorError):
    """The known content does not contain the replaced text: the file was changed by something else."""

    advice = "read the file again"


@dataclass(frozen=True)
class FileContent:
    """Known content of a file.

    Attributes:
        runs: Placed runs in order, not adjacent to each other, followed by loose ones.
        total: Number of lines in the file, or None if unknown.
        ends_with_newline: True if its last line does; None if unknown.
    """

    runs: tuple[LineRun, ...] = ()
    total: int | None = None
    ends_with_newline: bool | None = None
    is_deleted: bool = False

    @classmethod
    def of_text(cls, text: str) -> FileContent:
        """Return the content of a complete text."""
        if not text:
            return cls((), 0, False)
        lines = text.split("\n")
        if lines[-1]:
            return cls((LineRun(1, tuple(lines)),), len(lines), False)
        return cls((LineRun(1, tuple(lines[:-1])),), len(lines) - 1, True)

    @property
    def is_whole(self) -> bool:
        """True if there are no unknown lines."""
        if self.total is None or self.is_deleted:
            return False
        return sum(len(run.lines) for run in self.placed) == self.total and len(self.placed) == len(self.runs)

    @property
    def is_unknown(self) -> bool:
        """True if all content is unknown, including the file's existence."""
        return not self.runs and self.total is None and not self.is_deleted

    @property
    def placed(self) -> tuple[LineRun, ...]:
        return tuple(run for run in self.runs if run.first is not None)

    @property
    def loose(self) -> tuple[LineRun, ...]:
        return tuple(run for run in self.runs if run.first is None)

    @property
    def known_lines(self) -> int:
        return sum(len(run.lines) for run in self.runs)

    def pieces(self) -> Iterator[LineRun | Gap]:
        """Yield placed runs and gaps in file order, followed by loose runs."""
        if self.is_deleted:
            return
        at = 1
        for run in self.placed:
            first = run.first or 1
            if first > at:
                yield Gap(at, first - at)
            yield run
            at = run.end
        if self.total is None:
            yield Gap(at, None)
        elif self.total >= at:
            yield Gap(at, self.total - at + 1)
        yield from self.loose

    def text(self, of_gap: Callable[[Gap], str] | None = None) -> str:
        """Return the text of the file; byte-exact if it is whole.

        Args:
            of_gap: Returns a line for a gap; by default gaps are omitted. Loose runs follow the last placed one.

        If it is unknown whether the file ends with a newline, one is added.
        """
        lines: list[str] = []
        for piece in self.pieces():
            if isinstance(piece, LineRun):
                lines += piece.lines
            elif of_gap is not None:
                lines.append(of_gap(piece))
        if not lines:
            return ""
        return "\n".join(lines) + ("" if self.is_whole and self.ends_with_newline is False else "\n")

    def seen(
        self,
        lines: Sequence[str],
        first: int = 1,
        *,
        total: int | None = None,
        ends_with_newline: bool | None = None,
    ) -> FileContent:
        """Return the content after lines were shown; if they differ, all other lines become unknown."""
        shown = LineRun(first, tuple(lines))
        if total is not None and first == 1 and len(lines) >= total:
            known = (
                self.ends_with_newline
                if ends_with_newline is None and self._agrees(shown, total)
                else ends_with_newline
            )
            return FileContent((shown,) if lines else (), total, known)
        if self.is_deleted or not self._agrees(shown, total):
            return FileContent((shown,) if lines else (), total, ends_with_newline)
        text = "\n".join(lines)
        loose = tuple(run for run in self.loose if "\n".join(run.lines) not in text)
        newline = self.ends_with_newline if ends_with_newline is None else ends_with_newline
        placed = _joined((*self.placed, shown)) if lines else self.placed
        return FileContent((*placed, *loose), self.total if total is None else total, newline)

    def differs(self, lines: Sequence[str], first: int = 1, *, total: int | None = None) -> bool:
        """Return True if shown lines contradict the known content: something else changed the file."""
        return self.is_deleted or not self._agrees(LineRun(first, tuple(lines)), total)

    def _agrees(self, shown: LineRun, total: int | None) -> bool:
        if total is not None and self.total is not None and total != self.total:
            return False
        if self.total is not None and shown.end - 1 > self.total:
            return False
        for run in self.placed:
            begin, end = max(run.first or 1, shown.first or 1), min(run.end, shown.end)
            if begin < end:
                mine = run.lines[begin - (run.first or 1) : end - (run.first or 1)]
                if mine != shown.lines[begin - (shown.first or 1) : end - (shown.first or 1)]:
                    return False
        return True

    def replaced(self, old: str, new: str, *, everywhere: bool = False) -> FileContent:
        """Return the content after a tool replaced a text, which it does only if it finds it.

        Args:
            old: The text; not empty.
            everywhere: Every occurrence was replaced; otherwise there was exactly one.

        Raises:
            ContradictionError: The text is not in the completely known file, or several times.
        """
        counts = [self._text_of(run).count(old) for run in self.runs]
        found = sum(counts)
        if self.is_whole and found == 0:
            return self._replaced_alike(old, new)
        if self.is_whole and found > 1 and not everywhere:
            raise ContradictionError
        delta = new.count("\n") - old.count("\n")
        if found == 0:
            return _in_gap(self, old.split("\n"), new, delta)
        if found > 1 and not everywhere:
            doubtful = [run for run, count in zip(self.runs, counts, strict=True) if count]
            rest = replace(self, runs=tuple(run for run in self.runs if run not in doubtful))
            return _in_gap(rest, old.split("\n"), new, delta)
        changed = _without_doubtful(
            self, old.split("\n"), [run for run, count in zip(self.runs, counts, strict=True) if count]
        )
        for index, run in reversed(list(enumerate(changed.runs))):
            if old in self._text_of(run):
                changed = _with_run_text(changed, index, self._text_of(run).replace(old, new))
        if everywhere and delta and not self.is_whole:
            changed = _without_places_behind_gap(changed)
        return changed

    def replaced_lines(self, old: Sequence[str], new: Sequence[str], at: int) -> FileContent:
        """Return the content after `old` lines were replaced from number `at`; none to insert before it."""
        delta = len(new) - len(old)
        runs: list[LineRun] = []
        for run in self.placed:
            first = run.first or 1
            if run.end < at or (run.end == at and (old or not new)):
                runs.append(run)
            elif first >= at + len(old) and not (first == at and not old):
                runs.append(LineRun(first + delta, run.lines))
            else:
                head, tail = run.lines[: max(0, at - first)], run.lines[max(0, at + len(old) - first) :]
                if head:
                    runs.append(LineRun(first, head))
                if tail:
                    runs.append(LineRun(max(first, at + len(old)) + delta, tail))
        if new:
            runs.append(LineRun(at, tuple(new)))
        total = None if self.total is None else self.total + delta
        newline = self.ends_with_newline if total is None or at + len(new) <= total else self.ends_with_newline or None
        return FileContent((*_joined(runs), *self.loose), total, newline)

    def somewhere(self, old: Sequence[str], new: Sequence[str]) -> FileContent:
        """Return the content after whole lines were replaced at an unknown position."""
        return _in_gap(self, list(old), "\n".join(new), len(new) - len(old))

    def appended(self, text: str) -> FileContent:
        if self.is_whole:
            return FileContent.of_text((self.text() if self.total else "") + text)
        return _in_gap(self, [], text.removesuffix("\n"), text.count("\n"), at_end=True)

    def _text_of(self, run: LineRun) -> str:
        text = "\n".join(run.lines)
        if run.first is None or (self.ends_with_newline is False and run.end - 1 == self.total):
            return text
        return f"{text}\n"

    def _replaced_alike(self, old: str, new: str) -> FileContent:
        """Replace like OpenCode if the exact text is missing: find lines equal except for surrounding white space.

        If there are none, replace the lines between the only two that match its first and last line.
        """
        lines = self.placed[0].lines if self.placed else ()
        wanted = [line.strip() for line in old.removesuffix("\n").split("\n")]
        bare = [line.strip() for line in lines]
        size = len(wanted)
        places = [at for at in range(len(bare) - size + 1) if bare[at : at + size] == wanted]
        if not places and size > 2:
            ends = [at for at in range(len(bare) - size + 1) if bare[at + size - 1] == wanted[-1]]
            places = [at for at in ends if bare[at] == wanted[0]]
        if len(places) != 1 or not any(wanted):
            raise ContradictionError
        return self.replaced_lines(lines[places[0] : places[0] + size], new.split("\n"), places[0] + 1)


def _with_run_text(content: FileContent, index: int, text: str) -> FileContent:
    run = content.runs[index]
    lines = text.split("\n")
    newline = content.ends_with_newline
    if run.first is None:
        changed = LineRun(None, tuple(lines))
    else:
        is_last = run.end - 1 == content.total
        if lines[-1] == "":
            lines.pop()
            newline = True if is_last and newline is not None else newline
        elif is_last:
            newline = False
        changed = LineRun(run.first, tuple(lines))
    delta = len(changed.lines) - len(run.lines) if run.first is not None else 0
    runs = [*content.runs[:index], *((changed,) if changed.lines else ())]
    runs += [
        LineRun(each.first + delta, each.lines) if each.first is not None and run.first is not None else each
        for each in content.runs[index + 1 :]
    ]
    if run.first is None:
        shift = len(changed.lines) - len(run.lines)
        moved = replace(content, runs=tuple(runs))
        moved = _without_places_behind_gap(moved) if shift else moved
        return replace(moved, total=None if content.total is None else content.total + shift)
    return FileContent(tuple(runs), None if content.total is None else content.total + delta, newline)


def _in_gap(content: FileContent, old: list[str], new: str, delta: int, *, at_end: bool = False) -> FileContent:
    """Return the content after a replacement in a gap or across the edge of a known run."""
    placed = [run for run in (_without_edges(run, old) for run in content.placed) if run.lines]
    loose = [run for run in content.loose if not any(_touches(line, old) for line in run.lines)]
    fragment = (LineRun(None, tuple(new.split("\n"))),) if new.strip() else ()
    changed = FileContent((*placed, *loose), content.total, content.ends_with_newline)
    if delta and not at_end:
        changed = _shifted_behind_gap(changed, delta)
    total = None if content.total is None else content.total + delta
    newline = content.ends_with_newline or None
    return FileContent((*changed.runs, *fragment), total, newline)


def _gaps(content: FileContent) -> list[int]:
    """Return the index of the placed run after each gap; the number of placed runs for a gap at the end."""
    found, at = [], 1
    for index, run in enumerate(content.placed):
        if (run.first or 1) > at:
            found.append(index)
        at = run.end
    if content.total is None or content.total >= at:
        found.append(len(content.placed))
    return found


def _shifted_behind_gap(content: FileContent, delta: int) -> FileContent:
    """Shift line numbers after lines were added or removed in one of the gaps."""
    gaps = _gaps(content)
    if not gaps:
        return content
    placed, loose = [], list(content.loose)
    for index, run in enumerate(content.placed):
        if index < gaps[0]:
            placed.append(run)
        elif index >= gaps[-1]:
            placed.append(LineRun((run.first or 1) + delta, run.lines))
        else:
            loose.append(LineRun(None, run.lines))
    return replace(content, runs=(*placed, *loose))


def _without_places_behind_gap(content: FileContent) -> FileContent:
    gaps = _gaps(content)
    if not gaps:
        return content
    placed = content.placed[: gaps[0]]
    loose = (*(LineRun(None, run.lines) for run in content.placed[gaps[0] :]), *content.loose)
    return replace(content, runs=(*placed, *loose), total=None)


def _touches(line: str, old: Sequence[str]) -> bool:
    """Return True if a line may be one of the replaced lines, the first and last of which may be partial."""
    bare = line.strip()
    if not bare:
        return any(not each.strip() for each in old)
    return any(each.strip() and (each.strip() in bare or bare in each) for each in old)


def _without_edges(run: LineRun, old: Sequence[str]) -> LineRun:
    """Remove lines at the edges of a run that the replacement may have affected."""
    lines = run.lines
    end = len(lines)
    while end and _touches(lines[end - 1], old):
        end -= 1
    start = 0
    while start < end and _touches(lines[start], old):
        start += 1
    return LineRun(None if run.first is None else run.first + start, lines[start:end])


def _without_doubtful(content: FileContent, old: Sequence[str], found_in: Sequence[LineRun]) -> FileContent:
    """Remove other runs that may contain the replaced text, since loose runs may overlap."""
    if not content.loose:
        return content
    is_placed = any(run.first is not None for run in found_in)
    kept = tuple(
        run
        for run in content.runs
        if run in found_in
        or (is_placed and run.first is not None)
        or not any(_touches(line, old) for line in run.lines)
    )
    return replace(content, runs=kept)


def _joined(runs: Sequence[LineRun]) -> tuple[LineRun, ...]:
    """Merge adjacent and overlapping runs; later runs take precedence."""
    known: dict[int, str] = {}
    for run in runs:
        known.update(enumerate(run.lines, start=run.first or 1))
    joined: list[tuple[int, list[str]]] = []
    for number in sorted(known):
        if joined and joined[-1][0] + len(joined[-1][1]) == number:
            joined[-1][1].append(known[number])
        else:
            joined.append((number, [known[number]]))
    return tuple(LineRun(first, tuple(lines)) for first, lines in joined)
