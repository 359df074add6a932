"""The plan: editing, undo, saved plans, its risks, and the panel with a control for every limit."""
