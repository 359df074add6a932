"""Rules: what is opened, closed, watered and lit."""
