"""An agent with two tools and a scripted model: `python agent.py FOLDER [PLAN]`.

It searches the logs of a build and writes each call to its session file as request and response.
"""

import json
import re
import sys
from pathlib import Path

from inspector import Plan
from inspector.adapters.gate import PlanGate

MODEL, SESSIONS, ROUNDS = "claude-sonnet-4-5", 6, 22


def read_log(path):
    return Path(path).read_text()


def search(path, pattern):
    lines = Path(path).read_text().splitlines()
    return "\n".join(line for line in lines if re.search(pattern, line)) or "nothing found"


TOOLS = {"read_log": read_log, "search": search}


class Model:
    """Scripted model: it reads a log, then searches for the symbol in its error. A token is four characters."""

    def __init__(self, logs):
        self.logs, self.calls, self.before = logs, 0, ""

    def respond(self, messages):
        prompt = json.dumps(messages)
        cached = next(
            (at for at, (one, two) in enumerate(zip(prompt, self.before, strict=False)) if one != two), len(self.before)
        )
        self.calls, self.before = self.calls + 1, prompt
        log = str(self.logs[self.calls // 2 % len(self.logs)])
        seen = re.search(r"symbol_\w+", json.dumps(messages[-1]["content"]))
        looks_for = seen.group() if seen else "ERROR"
        name, given = ("read_log", {"path": log}) if self.calls % 2 else ("search", {"path": log, "pattern": looks_for})
        call = {
            "type": "tool_use",
            "id": f"toolu_{self.logs[0].parent.name}_{self.calls:03}",
            "name": name,
            "input": given,
        }
        content = [{"type": "text", "text": "That is all."}] if self.calls > ROUNDS else [call]
        usage = {
            "input_tokens": 1,
            "cache_read_input_tokens": cached // 4,
            "cache_creation_input_tokens": (len(prompt) - cached) // 4,
            "output_tokens": len(json.dumps(content)) // 4,
        }
        return {"role": "assistant", "model": MODEL, "content": content, "usage": usage}


def run(session, logs, gate):
    model, messages = Model(logs), [{"role": "user", "content": "Which steps of the build fail, and why?"}]
    with session.open("w") as record:
        while True:
            sent = gate.to_send(messages) if gate else messages
            response = model.respond(sent)
            at = f"2026-11-{2 if gate else 1:02}T10:{model.calls:02}:00Z"
            record.write(
                json.dumps({"timestamp": at, "request": {"model": MODEL, "messages": sent}, "response": response})
                + "\n"
            )
            messages.append({"role": "assistant", "content": response["content"]})
            calls = [part for part in response["content"] if part["type"] == "tool_use"]
            if not calls:
                return
            results = []
            for call in calls:
                tool = TOOLS[call["name"]]
                results.append({"type": "tool_result", "tool_use_id": call["id"], "content": tool(**call["input"])})
            messages.append({"role": "user", "content": results})


def write_logs(folder, number):
    folder.mkdir(parents=True, exist_ok=True)
    for step in range(4):
        lines = [
            f"{n:05} step {step} of build {number}: compiled unit_{n * 7919 % 1009}.c in {n % 97} ms"
            for n in range(300 + 40 * number)
        ]
        lines[-3] = f"ERROR step {step}: undefined reference to symbol_{number}_{step}"
        (folder / f"step_{step}.log").write_text("\n".join(lines))
    return sorted(folder.glob("*.log"))


folder = Path(sys.argv[1])
folder.mkdir()
for number in range(SESSIONS):
    gate = PlanGate(Plan.from_toml(Path(sys.argv[2]).read_text()), diagnostics=True) if len(sys.argv) > 2 else None
    run(folder / f"build-{number}.jsonl", write_logs(Path("logs") / f"b{number}", number), gate)
