"""Analyses of a session and its replays: savings, hazards, context usage, forecasts."""
