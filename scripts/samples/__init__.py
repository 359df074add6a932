"""Generators of the sessions in `sample_sessions/`: real tools on small inputs, a fixed clock and fixed seeds."""
