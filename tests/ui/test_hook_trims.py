"""Results trimmed by the hook in a live agent: shown above the result and below the totals."""

import json
import shutil
from pathlib import Path

import pytest

from inspector import open_session
from inspector.hook.records import record_trim, trims
from inspector.hook.run import HookArguments, respond
from inspector.recall.originals import FOLDER, state_folder
from inspector.session.model import BlockKind
from inspector.tokens.counter import estimated_tokens
from tests.hook.events import PLAN, bash_event, sent_output
from tests.program import run_program
from tests.ui.facade import Running
from tests.ui.studies import Costs

SESSION = "s-1"
OUTPUTS = {"toolu_1": "one line of many\n" * 2_000, "toolu_2": "short", "toolu_3": "and another one\n" * 1_000}


def line(kind: str, number: int, *content: dict) -> str:
    usage = {"input_tokens": 1000 * number, "output_tokens": 10}
    named = {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "usage": usage} if kind == "assistant" else {}
    said = {"type": kind, "sessionId": SESSION, "message": {"role": kind, **named, "content": list(content)}}
    return f"{json.dumps(said)}\n"


def lines_of(outputs: dict[str, str]) -> str:
    """A session of Claude Code with one command for each output."""
    lines = [line("user", 0, {"type": "text", "text": "Run it."})]
    for number, (identifier, output) in enumerate(outputs.items(), 1):
        call = {"type": "tool_use", "id": identifier, "name": "Bash", "input": {"command": "make"}}
        lines.append(line("assistant", number, call))
        lines.append(line("user", number, {"type": "tool_result", "tool_use_id": identifier, "content": output}))
    lines.append(line("assistant", len(outputs) + 1, {"type": "text", "text": "Done."}))
    return "".join(lines)


def as_hooked(tmp_path: Path, outputs: dict[str, str]) -> dict[str, str]:
    plan = tmp_path / "tuned.toml"
    plan.write_text(PLAN, encoding="utf-8")
    sent = {}
    for identifier, output in outputs.items():
        event = bash_event(output, session_id=SESSION, tool_use_id=identifier)
        answer = respond(json.dumps(event).encode(), HookArguments(plan=str(plan)), state_folder())
        sent[identifier] = sent_output(answer)["stdout"] if answer else output
    return sent


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / f"{SESSION}.jsonl"
    path.parent.mkdir()
    path.write_text(lines_of(as_hooked(tmp_path, OUTPUTS)))
    return path


def result_of(path: Path, identifier: str) -> int:
    """The block of a tool call's result."""
    return next(
        index
        for index, block in enumerate(open_session(path).all_blocks)
        if block.kind is BlockKind.TOOL_RESULT and block.tool_call_id == identifier
    )


async def to_block(run: Running, block: int) -> None:
    await run.press("home")
    while run.timeline.cursor_block < block:
        await run.press("down")
    assert run.timeline.cursor_block == block


async def test_above_a_trimmed_result_is_how_much_of_it_is_left_and_what_prints_the_whole(
    running, recorded: Path
) -> None:
    async with running(recorded, size=(140, 40)) as run:
        await run.press("enter", "shift+tab")
        for trim in trims(state_folder()):
            await to_block(run, result_of(recorded, trim.identifier))
            before, after = (f"{estimated_tokens(each):,}" for each in (trim.original, trim.trimmed))
            command = f"inspector recall {trim.identifier}"
            told = f"trimmed by the hook: {before} → {after} tokens (est.), original: {command}"
            await run.until_shown(told)
            assert run.detail.content.lead == (told,)
            assert "trimmed by the hook" not in run.detail.recorded
        await to_block(run, result_of(recorded, "toolu_2"))
        assert run.detail.content.lead == ()
    assert run_program("recall", "toolu_1", recorded).out.startswith("one line of many\n")


async def test_below_the_totals_is_what_the_trims_of_the_session_saved_as_stats_adds_it_up(
    running, recorded: Path
) -> None:
    record_trim(state_folder(), agent="claude-code", session="other", tool="Bash", id="x", original=9_000, trimmed=10)
    async with running(recorded, size=(120, 40)) as run:
        study = await Costs.opened(run)
        await run.until_shown("trimmed by the hook: 2 results")
        stats = json.loads(run_program("hook", "stats", "--json").out)["trims"]
        saved = [trim["cumulative_tokens"] for trim in stats if trim["session_id"] == SESSION][-1]
        assert f"trimmed by the hook: 2 results, ~{saved:,} tokens saved  " in run.line_with("trimmed by the hook")
        await run.press("end")
        await run.until_shown("counted once. It is not")
        await run.press("E", "escape", "tab")
        assert "trimmed by the hook" not in run.text()
        assert study.is_on_top


async def test_a_session_resumed_under_another_id_has_the_trims_of_the_results_it_holds_copies_of(
    running, recorded: Path
) -> None:
    *copies, _, _, _, _, own = recorded.read_text().replace(SESSION, "s-2").splitlines()
    origin = {"forkedFrom": {"sessionId": SESSION, "messageUuid": "u"}}
    lines = [*(json.dumps({**json.loads(copy), **origin}) for copy in copies), own]
    resumed = recorded.with_name("s-2.jsonl")
    resumed.write_text("".join(f"{each}\n" for each in lines))
    async with running(resumed, size=(140, 40)) as run:
        await to_block(run, result_of(resumed, "toolu_1"))
        await run.press("enter")
        await run.until_shown("original: inspector recall toolu_1")
        await run.press("escape")
        await Costs.opened(run)
        await run.until_shown("trimmed by the hook: 1 result,")


async def test_where_the_hook_has_no_store_or_trimmed_others_nothing_is_stated_of_it(running, recorded: Path) -> None:
    store = Path(state_folder())
    shutil.rmtree(store)
    for is_of_other in (False, True):
        if is_of_other:
            record_trim(
                str(store), agent="hermes", session="other", tool="Bash", id="toolu_1", original=9_000, trimmed=10
            )
        async with running(recorded) as run:
            await to_block(run, result_of(recorded, "toolu_1"))
            assert run.detail.content.lead == ()
            await Costs.opened(run)
            assert "trimmed by the hook" not in run.text()
    assert [entry.name for entry in store.iterdir()] == ["trims.jsonl"]


async def test_an_original_that_made_place_for_newer_ones_is_not_promised(running, recorded: Path) -> None:
    shutil.rmtree(Path(state_folder()) / FOLDER)
    async with running(recorded, size=(140, 40)) as run:
        await to_block(run, result_of(recorded, "toolu_1"))
        await run.until(lambda: run.detail.content.lead)
        assert run.detail.content.lead[0].endswith("tokens (est.), its original is no longer stored")


async def test_a_trim_while_the_session_is_looked_at_is_reported_once_its_result_is_recorded(
    running, recorded: Path, tmp_path: Path
) -> None:
    text = recorded.read_text()
    first, rest = text[: text.index("toolu_3")].rpartition("\n")[0] + "\n", text
    third = next(line for line in (Path(state_folder()) / "trims.jsonl").read_text().splitlines() if "toolu_3" in line)
    kept = (Path(state_folder()) / "trims.jsonl").read_text().replace(f"{third}\n", "")
    (Path(state_folder()) / "trims.jsonl").write_text(kept)
    recorded.write_text(first)
    async with running(recorded, size=(140, 40)) as run:
        with (Path(state_folder()) / "trims.jsonl").open("a") as store:
            store.write(f"{third}\n")
        with recorded.open("a") as session:
            session.write(rest.removeprefix(first))
        block = len(open_session(recorded).all_blocks) - 2
        await run.until(lambda: run.timeline.count > block)
        await to_block(run, result_of(recorded, "toolu_3"))
        await run.until(lambda: "original: inspector recall toolu_3" in "".join(run.detail.content.lead))
