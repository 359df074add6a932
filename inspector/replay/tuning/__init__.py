"""Plans tried on many sessions, and what to make of them: what to set, what it saves, how sure that is."""
