"""Recorded sessions: the model, formats, readers by container, following and discovery."""
