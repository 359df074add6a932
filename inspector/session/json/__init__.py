"""JSON in sessions: lines, values with file offsets, fields of any type, damaged text."""
