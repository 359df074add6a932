"""How the sessions in `sample_sessions/` are made: real tools on small inputs, a fixed clock and fixed seeds."""
