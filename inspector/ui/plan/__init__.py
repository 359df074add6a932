"""The plan: editing, undo, saved plans, what may go wrong with it, and the panel with a control for every limit."""
