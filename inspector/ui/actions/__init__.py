"""One table of all key actions, used for bindings, status line, help, command palette, documentation and keymaps.

A row is a `UserAction`. `main_screen` has the rows of the main screen, `menus` of its menus, `parts` of its panes, and
`screens` of all other screens. Screens and widgets build their `BINDINGS` from these rows.
A key has the same label in every pane, except for keys that move a cursor.
"""
