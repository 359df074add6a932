"""Everything keys do, in one table. Bindings, status line, help, command palette, documents and keymaps come from it.

A row is an `Action`. The rows of the main screen are in `main_screen`, those of its parts in `parts`, those of the
screens over it in `screens`; each screen and widget makes its `BINDINGS` of its own rows.
"""
