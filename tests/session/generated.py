"""Session files with random steps: realistic records in unrealistic orders."""

from hypothesis import strategies as st

from tests.session.claude_lines import Script


class Author:
    """Writes a file step by step; every method is one kind of step, and `choice` decides within it."""

    def __init__(self) -> None:
        self.script = Script()
        self.data: list[bytes] = []
        self.spoken: list[str] = []
        self.responses = 0

    @property
    def written(self) -> int:
        return len(self.script.lines)

    def prompt(self, choice: int) -> None:
        self.spoken.append(self.script.prompt(f"prompt {self.written} {choice}"))

    def text(self, choice: int) -> None:
        self.responses += 1
        usage = {"input_tokens": 1, "output_tokens": choice}
        self.spoken.append(self.script.text(f"m{self.responses}", "words " * (choice % 9), usage=usage))

    def call(self, choice: int) -> None:
        self.responses += 1
        self.spoken.append(self.script.call(f"m{self.responses}", f"t{self.written}", f"Tool{choice % 3}"))

    def same_response(self, choice: int) -> None:
        self.script.call(f"m{max(self.responses - choice % 2, 0)}", f"t{self.written}")

    def result(self, choice: int) -> None:
        call = f"t{max(self.written - choice % 3, 0)}"
        self.spoken.append(self.script.result(call, f"result {self.written}"))

    def attachment(self, choice: int) -> None:
        self.script.attachment("date_change", newDate=str(choice))

    def synthetic(self, choice: int) -> None:
        part = {"type": "text", "text": f"API Error {choice}"}
        self.script.add(type="assistant", message={"id": "x", "model": "<synthetic>", "content": [part]})

    def notice(self, choice: int) -> None:
        self.script.add(type="system", subtype="api_error", error=f"overloaded {choice}")

    def progress(self, choice: int) -> None:
        self.script.add(type="progress", data={"type": "bash_progress", "choice": choice})

    def boundary(self, choice: int) -> None:
        self.script.boundary(preTokens=choice)

    def boundary_that_keeps(self, choice: int) -> None:
        kept = self.spoken[-(choice % 4 + 1) :]
        self.script.boundary(preservedMessages={"anchorUuid": "x", "uuids": kept, "allUuids": kept})

    def summary(self, choice: int) -> None:
        self.script.summary(f"summary {choice}")

    def microcompaction(self, choice: int) -> None:
        details = {"compactedToolIds": [f"t{choice}"], "tokensSaved": 5}
        self.script.add(type="system", subtype="microcompact_boundary", microcompactMetadata=details)

    def rewind(self, choice: int) -> None:
        self.script.parent = self.spoken[choice % len(self.spoken)] if self.spoken else None
        self.prompt(choice)

    def side_prompt(self, choice: int) -> None:
        main, self.script.parent = self.script.parent, None
        self.script.prompt("side", isSidechain=True, agentId=f"agent{choice % 3}")
        self.script.parent = main

    def side_answer(self, choice: int) -> None:
        main = self.script.parent
        self.script.text(f"s{choice % 4}", isSidechain=True, agentId=f"agent{choice % 3}")
        self.script.parent = main

    def title(self, choice: int) -> None:
        self.script.add(type="ai-title", aiTitle=f"title {choice}")

    def repetition(self, choice: int) -> None:
        self.data.append(self.data[choice % len(self.data)])

    def garbage(self, choice: int) -> None:
        self.data.append(b'{"type": "user", "mess' + bytes([choice + 200]) + b"\n")

    def blank(self, choice: int) -> None:
        self.data.append(b" \r\n\n"[choice % 3 :])

    def lone_surrogate(self, choice: int) -> None:
        self.prompt(choice)
        self.data.append(self.script.encoded()[-1].replace(b"prompt", b"p\\ud800ompt"))


STEPS = sorted(name for name, member in vars(Author).items() if callable(member) and not name.startswith("_"))


@st.composite
def files(draw: st.DrawFn) -> list[bytes]:
    """The lines of a file, the first of them always a sound prompt."""
    author = Author()
    author.prompt(0)
    author.data.append(author.script.encoded()[-1])
    for step, choice in draw(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), min_size=1, max_size=45)):
        lines, pieces = author.written, len(author.data)
        getattr(author, step)(choice)
        if author.written > lines and len(author.data) == pieces:
            author.data.append(author.script.encoded()[-1])
    return author.data
