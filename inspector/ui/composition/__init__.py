"""What fills the window at a call, and what of it costs most: the composition screen."""
