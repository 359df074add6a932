"""Base of all dialogs, and dialogs for a value or a choice."""
