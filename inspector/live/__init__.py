"""Running sessions of all agents on this machine: fill, rates, cache, forecast, state.

Reads the newest records of each session only: a bounded part of the file at first, then appended bytes. `LiveWatch`
finds sessions and yields frozen `LiveSession` rows whenever one changes. No screen, no Textual.
"""
