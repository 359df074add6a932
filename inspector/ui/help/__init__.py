"""Keys, names of commands, and the help screen that lists them."""
