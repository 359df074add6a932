"""Replay a plan over every call of a session: prompts, cache behavior, cost.

`engine` computes a replay using `cache` and `pricing`, `analysis` derives figures from replays, and `explain` shows the
calculation of each. `message_lists` does the same for an agent's own messages.
"""
