"""A plan over every call of a session: what is sent, what the prompt cache does, what it costs.

`engine` works out a replay with the help of `cache` and `pricing`, `analysis` makes figures of replays, `explain` says
how each is calculated; `message_lists` does the same for an agent's own messages.
"""
