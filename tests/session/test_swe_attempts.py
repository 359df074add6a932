"""Runs of SWE-agent with several attempts: every attempt is a separate session, with its model."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli import main
from inspector.errors import SessionError
from inspector.session.discovery import list_sessions
from inspector.session.follow import Follower
from inspector.session.formats.swe_agent import SweAgentFormat, text_of_scalar
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session import run_files
from tests.session.mutations import mutated
from tests.session.soundness import assert_reads, assert_sound


def configured(*models: str, **more: Any) -> str:
    agents = [{"name": "main", "model": {"name": model}, "templates": more} for model in models]
    document = json.dumps({"agent": {"type": "retry", "agent_configs": agents}}, ensure_ascii=False)
    return "'" + document.replace("'", "''").replace(": ", ":\n  ") + "'\n"


def written(folder: Path, turns: tuple[int, ...], best: int | None, configuration: str = "config.yaml") -> Path:
    path = folder / "issue-1" / "issue-1.traj"
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / configuration).write_text(configured("gpt-5.2", "claude-sonnet-4-5"))
    path.write_text(json.dumps(run_files.swe_attempts(turns, best=best)))
    return path


def listed(folder: Path) -> list[str]:
    return sorted(one.path.name for batch in list_sessions([(folder, None)]) for one in batch)


@pytest.mark.parametrize("configuration", ["config.yaml", "issue-1.config.yaml"])
@pytest.mark.parametrize("best", [None, 1])
def test_every_attempt_is_a_session_with_its_model(tmp_path: Path, best: int | None, configuration: str) -> None:
    path = written(tmp_path, (1, 3, 2), best, configuration)
    assert detect(path).format.name == "swe-agent"
    found = [open_session(one.path) for one in SweAgentFormat().contained_sessions(path)]
    for each in found:
        assert_sound(each)
    assert [each.models for each in found] == [("gpt-5.2",), ("claude-sonnet-4-5",), ("gpt-5.2",)]
    assert [len(each.calls) for each in found] == [1, 3, 2]
    assert [each.title for each in found] == [f"repo__issue-1, attempt_{number}" for number in range(3)]
    assert [each.identifier for each in found] == [f"issue-1#attempt_{number}" for number in range(3)]
    assert "ISSUE, attempt 1" in [found[1].text(block) for block in found[1].blocks]


@pytest.mark.parametrize(("best", "calls"), [(None, 2), (0, 1), (1, 3), (7, 2), ("1", 2), (True, 2)])
def test_the_file_itself_is_the_chosen_attempt_or_the_newest(tmp_path: Path, best: Any, calls: int) -> None:
    path = written(tmp_path, (1, 3, 2), 0)
    document = json.loads(path.read_text())
    document["info"]["best_attempt_idx"] = best
    path.write_text(json.dumps(document))
    assert len(open_session(path).calls) == calls


def test_a_run_of_one_attempt_is_one_session(tmp_path: Path) -> None:
    path = written(tmp_path, (2,), 0)
    assert SweAgentFormat().contained_sessions(path) == []
    found = open_session(path)
    assert (found.title, found.models, len(found.calls)) == ("repo__issue-1", ("gpt-5.2",), 2)


def test_an_attempt_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, (1, 1), None)
    for name in ("attempt_2", "attempt_x", "x"):
        with pytest.raises(SessionError, match="no such attempt"):
            open_session(path.with_name(f"{path.name}#{name}"))


def test_what_attempts_wrote_themselves_is_counted_with_the_run(tmp_path: Path) -> None:
    path = written(tmp_path, (1, 3), 1)
    for number, attempt in enumerate(json.loads(path.read_text())["attempts"]):
        own = path.parent / f"attempt_{number}" / path.name
        own.parent.mkdir()
        own.write_text(json.dumps(attempt))
        assert open_session(own).models == (("gpt-5.2", "claude-sonnet-4-5")[number],)
    assert listed(tmp_path) == ["issue-1.traj#attempt_0", "issue-1.traj#attempt_1"]
    target = tmp_path / "folder.json"
    assert main(["report", str(path.parent), "--format", "json", "-o", str(target)]) == 0
    assert json.loads(target.read_bytes())["baseline"]["calls"] == 4
    path.unlink()
    assert listed(tmp_path) == ["issue-1.traj", "issue-1.traj"]


def test_a_configuration_that_comes_later_names_the_models(tmp_path: Path) -> None:
    path = written(tmp_path, (1, 1), None)
    beside = path.parent / "config.yaml"
    text = beside.read_text()
    beside.write_text("'{")
    follower = Follower(path)
    assert follower.session.models == ()
    beside.write_text(text)
    follower.poll()
    assert follower.session.models == ("claude-sonnet-4-5",)
    assert follower.session == open_session(path)


def test_an_attempt_is_followed_while_others_are_added(tmp_path: Path) -> None:
    path = written(tmp_path, (2, 1), None)
    follower = Follower(path.with_name(f"{path.name}#attempt_0"))
    newest = Follower(path)
    path.write_text(json.dumps(run_files.swe_attempts((2, 1, 4))))
    follower.poll()
    newest.poll()
    assert len(follower.session.calls) == 2
    assert newest.session == open_session(path)
    assert len(newest.session.calls) == 4


def test_a_run_says_its_own_model_before_the_file_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / "r.traj"
    own = json.dumps({"agent": {"model": {"name": "gpt-5.2-mini"}}})
    path.write_text(json.dumps({**run_files.swe_run(1), "replay_config": own}))
    (tmp_path / "config.yaml").write_text(configured("claude-sonnet-4-5"))
    assert open_session(path).models == ("gpt-5.2-mini",)


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=200), width=st.integers(10, 90))
def test_scalars_are_read_as_they_were_dumped(text: str, width: int) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML, with which SWE-agent writes configurations")
    document = json.dumps({"agent": text, "more": [text] * 3}, ensure_ascii=False)
    dumped = yaml.dump(document, indent=2, width=width)
    assert text_of_scalar(dumped.encode()) == document


@pytest.mark.parametrize("data", [b"", b"'", b"a: b", b'"', b"- 'a'\n- b", b"\xff'"])
def test_what_is_no_quoted_scalar_is_no_configuration(data: bytes) -> None:
    assert text_of_scalar(data) is None


@given(data=st.data())
def test_no_content_of_attempts_makes_the_reader_fail(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    attempts = [json.dumps(one).encode() for one in run_files.swe_attempts((2, 1, 1))["attempts"]]
    made = data.draw(mutated(attempts))
    path = tmp_path_factory.mktemp("changed") / "run.traj"
    path.write_bytes(
        b'{"info":{"best_attempt_idx":1},"attempts":[' + b",".join(one for one in made.split(b"\n") if one) + b"]}"
    )
    format_ = SweAgentFormat()
    assert_reads(format_, path)
    for contained in format_.contained_sessions(path):
        assert_reads(format_, contained.path)
