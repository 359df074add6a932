"""Everything keys do, in one table. Bindings, status line, help, command palette, documents and keymaps come from it.

A row is a `UserAction`. The rows of the main screen are in `main_screen`, those its menus hold in `menus`, those of its
parts in `parts`, those of the screens over it in `screens`; screens and widgets make their `BINDINGS` of their rows. A
key has one label, whatever has the focus, but for those that move a cursor.
"""
