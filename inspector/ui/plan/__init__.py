"""A plan as the screen edits it: its choices, its history, what it is called, and what it is about."""
