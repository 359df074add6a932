"""Plugin files for Hermes and OpenCode that pass tool results to `inspector hook` and use its answers.

Hermes: `transform_tool_result` of a plugin folder (`plugin.yaml`, `__init__.py`) receives the result as text and
replaces it with the first text returned (NousResearch/hermes-agent#12972). OpenCode: `tool.execute.after` of a plugin
module changes `output.output` (anomalyco/opencode#3384). Both leave a result unchanged if the hook returns nothing,
fails, or takes longer than five seconds.
"""

from __future__ import annotations

import json

MARK = "written by `inspector hook install`; `inspector hook uninstall` removes it"

_HERMES = '''"""Trims tool results with an inspector plan: {mark}."""

import json
import subprocess

COMMAND = {command}


def transform(tool_name="", args=None, result=None, session_id="", tool_call_id="", **_):
    if not isinstance(result, str):
        return None
    command = args.get("command") if isinstance(args, dict) else None
    event = {{"tool": tool_name, "id": tool_call_id or "", "session": session_id or "", "text": result}}
    event["command"] = command if isinstance(command, str) else ""
    try:
        done = subprocess.run(COMMAND, input=json.dumps(event).encode(), capture_output=True, timeout=5)
        return json.loads(done.stdout)["text"] if done.stdout else None
    except Exception:
        return None


def register(ctx):
    ctx.register_hook("transform_tool_result", transform)
'''

_HERMES_MANIFEST = """# {mark}
name: inspector
version: 1.0.0
description: Trims tool results with an inspector plan.
hooks:
  - transform_tool_result
"""

_OPENCODE = """// Trims tool results with an inspector plan: {mark}.
import {{ spawnSync }} from "node:child_process"

const [program, ...words] = {command}

export const Inspector = async () => ({{
  "tool.execute.after": async (input, output) => {{
    if (typeof output?.output !== "string") return
    const event = {{
      tool: input.tool, id: input.callID ?? "", session: input.sessionID ?? "", text: output.output,
      command: input.args?.command ?? "",
    }}
    try {{
      const done = spawnSync(program, words, {{
        input: JSON.stringify(event), encoding: "utf8", timeout: 5000, maxBuffer: 1 << 28,
      }})
      if (done.status === 0 && done.stdout) output.output = JSON.parse(done.stdout).text
    }} catch {{}}
  }},
}})
"""


def plugin_files(agent: str, command: list[str]) -> dict[str, str]:
    """Return the files of an agent's plugin, by path below the agent's folder.

    Args:
        agent: `hermes` or `opencode`.
        command: The hook's command.
    """
    written = json.dumps(command)
    if agent == "hermes":
        return {
            "plugins/inspector/plugin.yaml": _HERMES_MANIFEST.format(mark=MARK),
            "plugins/inspector/__init__.py": _HERMES.format(mark=MARK, command=written),
        }
    return {"plugin/inspector.js": _OPENCODE.format(mark=MARK, command=written)}
