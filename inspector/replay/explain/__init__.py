"""How every figure is calculated: formula, inputs and source, with the session's own numbers."""
