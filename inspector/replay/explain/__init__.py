"""How every figure came about: formula, inputs and source, with the session's own numbers."""
