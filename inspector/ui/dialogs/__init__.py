"""What dialogs have in common, and those that ask for a value or a choice."""
