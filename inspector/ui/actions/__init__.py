"""Tables of key actions, used for bindings, status line, help, command palette, documentation and keymaps.

A row is a `UserAction`. `parts` has the rows of widgets, `screens` those of analysis screens and dialogs; the main
screen has its own in `inspector.ui.main`. Screens and widgets build their `BINDINGS` from these rows.
A key has the same label in every pane, except for keys that move a cursor.
"""
