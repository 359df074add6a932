"""Reports on sessions, as text, JSON and pages."""
