"""Compaction details: removed, retained and repeated content."""

import re
from pathlib import Path

from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from inspector.ui.timeline.boundaries import boundaries_of, effect_lines
from tests.conftest import ROOT


def test_what_is_kept_says_how_much_was_recorded_once_more_and_that_a_summary_is_not_in_the_file(corpus: Path) -> None:
    (path,) = (corpus / "codex").glob("rollout-2026-06-18T*.jsonl")
    history = History.of(open_session(path))
    table = TokenTable.estimated(history.session)
    first = next(each for each in boundaries_of(history) if each.is_compaction)
    heading = effect_lines(first, table)[0]

    assert first.effect is not None
    assert not len(first.effect.added)
    assert heading.endswith("kept 10 blocks, 9 of them recorded again · the summary is not in the file")
    assert re.search(r", ~[\d,]+ tokens · ", heading)


def _numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", line)]


def test_what_is_removed_and_new_leads_from_the_one_reported_prompt_to_the_other() -> None:
    baseline = replay_session(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"), Plan(), precise=False)
    (boundary,) = boundaries_of(baseline.history)
    heading, stayed, line, why, *parts = effect_lines(boundary, baseline.inputs.table, baseline)

    assert re.fullmatch(r"prompt 76,938 \+ \S+ last answer − \S+ removed \+ \S+ new − \S+ other = 19,880", line)  # noqa: RUF001
    before, answer, removed, new, other, after = _numbers(line)
    assert before + answer - removed + new - other == after
    assert why == "Other: message framing, and content that is not in the file."
    assert _numbers(heading)[1] == removed == sum(_numbers(part)[1] for part in parts[: parts.index("")])
    assert "(calibrated)" in heading
    assert heading.endswith(f" · prompt \N{MINUS SIGN}{before - after:,} (reported)")
    assert stayed == "kept 0 blocks · new 3 blocks"
    assert " · ".join((heading, stayed)).count(" tokens") == 1


def test_the_row_of_a_compaction_says_that_its_two_sizes_are_of_prompts_in_tokens() -> None:
    (boundary,) = boundaries_of(History.of(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")))

    assert boundary.label.startswith("compaction, prompt 76,938 → 19,880 tokens, removed 132 blocks, kept ")


def test_a_size_that_the_agent_noted_is_shown_as_its_own() -> None:
    history = History.of(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"))
    (boundary,) = boundaries_of(history)

    lines = effect_lines(boundary, TokenTable.estimated(history.session))

    said = "The agent recorded 77,010 tokens when it compacted; the previous prompt was reported as 76,938."
    assert said in lines
