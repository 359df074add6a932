"""Plan pane: editing, undo, saved plans, risks, and a control for every parameter."""
