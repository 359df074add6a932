"""The command in a notice of the plans of ours, run as it is written, prints the original byte for byte."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from inspector import Conversation, Plan
from inspector.errors import SessionError
from inspector.recall.find import find
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import sessions_in
from inspector.session.files import Locator
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_session
from inspector.strategies.core.operations import recall_command
from inspector.strategies.core.parameters import ParameterError
from inspector.strategies.history.history import History
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import strategy
from inspector.tokens.token_table import TokenTable
from tests.conftest import ROOT
from tests.program import run_program
from tests.replay.synthetic import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Session

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
SAID = re.compile(r"all of it: (inspector recall .+?)(?: \.\.\.\]\n|\]$)", re.DOTALL)
OURS = ("careful", "aggressive")
MOST_BYTES = 4_000_000


def commands_of(session: Session, name: str, specs: tuple[str, ...] = ()) -> Iterator[tuple[str, int]]:
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
    plan = Plan.from_specs(specs, session=session) if specs else PRESETS[name].plan(session)
    planned = replay(inputs, plan)
    last = inputs.history.call_count - 1
    for block in planned.changed_renditions(last):
        for command in SAID.findall(planned.text(block, last)):
            if command not in session.text(session.blocks[block]):
                yield command, block


@pytest.mark.parametrize("name", OURS)
def test_the_command_run_as_written_prints_the_original(name: str, private_home: Path) -> None:
    folder = private_home / ".claude" / "projects" / "-home-sam-project"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder)
    session = open_session(SAMPLE)
    command, block = max(commands_of(session, name), key=lambda said: session.blocks[said[1]].characters)
    program, *arguments = shlex.split(command)
    assert program == "inspector"
    outcome = run_program(*arguments, env={"HOME": str(private_home)})
    assert outcome.code == 0, outcome.err
    assert outcome.raw == session.text(session.blocks[block]).encode()


@pytest.mark.long
def test_every_command_in_every_notice_of_ours_leads_to_the_original_in_real_sessions(corpus: Path) -> None:
    seen: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for found in sessions_in(corpus):
        if found.path.is_file() and found.path.stat().st_size > MOST_BYTES:
            continue
        try:
            session = open_session(found.path)
        except SessionError:
            continue
        if formats[session.format] >= 3 or not session.calls:
            continue
        formats[session.format] += 1
        for name in OURS:
            for command, block in list(commands_of(session, name))[:6]:
                _, verb, asked = shlex.split(command.replace(" -- ", " "))
                assert verb == "recall"
                file = Locator.of(session.path).file
                search = find(asked, [file])
                texts = [place.session.text(place.session.blocks[place.block]) for place in search.found]
                assert session.text(session.blocks[block]) in texts, (command, session.path)
                # A file of several sessions that number their events alike has several results of that name.
                assert search.is_clear or file != session.path, (command, session.path)
                seen[name] += 1
    assert min(seen[name] for name in OURS) > 10, seen


def test_a_result_without_an_id_of_its_own_is_named_by_its_place() -> None:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    for identifier in ("a-1", "a-1", "", "-dash", "it's; rm"):
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", tool="Bash", identifier=identifier))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "x", tool="Bash", identifier=identifier))
    session = builder.session()
    results = [index for index, block in enumerate(session.blocks) if block.kind is BlockKind.TOOL_RESULT]
    assert [recall_command(session, index) for index in results] == [
        "inspector recall test:3",
        "inspector recall test:5",
        "inspector recall test:7",
        "inspector recall -- -dash",
        "inspector recall 'it'\"'\"'s; rm'",
    ]


def test_an_id_that_begins_like_an_option_is_taken_for_an_id() -> None:
    outcome = run_program("recall", "--", "-dash", SAMPLE)
    assert "no tool result has the id -dash" in outcome.complaint


def test_the_markers_of_described_systems_say_nothing_more_than_they_did() -> None:
    described = [preset for name, preset in PRESETS.items() if name not in OURS]
    assert not any("recall" in spec for preset in described for spec in preset.plan().to_specs())


def test_a_marker_of_one_s_own_says_the_command_and_keeps_its_braces() -> None:
    conversation = Conversation(Plan.of(strategy("tiered-stale", marker="{cut} {recall} {0}", default=10)))
    call = {"type": "tool_use", "id": "toolu_7", "name": "frob", "input": {}}
    conversation.add({"role": "user", "content": "go"}, {"role": "assistant", "content": [call]})
    result = {"type": "tool_result", "tool_use_id": "toolu_7", "content": "x" * 500}
    conversation.add({"role": "user", "content": [result]}, {"role": "assistant", "content": "ok"})
    conversation.add({"role": "user", "content": "more"})
    sent = conversation.to_send()[2]["content"][0]["content"]
    assert sent == "x" * 10 + "{cut} inspector recall toolu_7 {0}"


@pytest.mark.parametrize(
    "marker", ["{", "{0}", "{nobody}", "{tool.__class__}", "{recall!r}", "{length:>99999999}", "}"]
)
def test_a_marker_that_is_no_template_is_refused_by_name(marker: str) -> None:
    with pytest.raises(ParameterError, match="marker: "):
        strategy("trim-at-insertion", marker=marker)


def test_columns_and_blocks_say_the_same_of_what_never_gets_longer() -> None:
    """With limits just around where a command as long as theirs stops paying off."""
    session = open_session(SAMPLE)
    history, table = History.of(session), TokenTable.estimated(session)
    spec = 'tiered-stale:default=60,data=60,search=60,action=60,never-longer=true,marker="[{recall}]"'
    plan = Plan.from_specs([spec], session=session)
    quick = replay(ReplayInputs.of(history, table, pricing=Pricing()), plan)
    slow = replay(ReplayInputs.of(history, table, pricing=Pricing(), precise=True), plan)
    last = history.call_count - 1
    assert quick.changed_renditions(last) == slow.changed_renditions(last)
