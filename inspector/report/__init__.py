"""What was found, as text, JSON and pages."""
