"""The rules that decide how old blocks are sent, and the plans they are combined in."""
