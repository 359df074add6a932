"""Screen of all running sessions."""
