"""The live path: a plan's strategies of insertion, applied to a tool result at the moment it is born.

An agent runs `inspector hook` after every tool call; see `docs/hook.md`. Nothing here may keep a result from the agent:
whatever goes wrong, the original passes.
"""
