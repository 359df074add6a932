"""Rules that decide how old blocks are sent, and plans that combine them."""
