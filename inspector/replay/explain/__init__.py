"""Explain the calculation of every figure: formula, inputs and source, with the session's own numbers."""
