"""Techniques that keep the screen responsive during heavy work; `docs/` lists the effect of each."""
