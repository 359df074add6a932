"""The detail pane's content: one block as text, in several views."""
