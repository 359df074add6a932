"""A plan over every call of a session: what is sent, what the prompt cache does, what it costs."""
