"""What fills the window as of a call, and what of it costs most: the composition screen."""
