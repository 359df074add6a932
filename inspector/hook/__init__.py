"""Live trimming: apply a plan's insertion strategies to each tool result on arrival.

An agent runs `inspector hook` after every tool call; see `docs/apply.md`. A failure must never lose a result: on any
error, the original passes unchanged.
"""
