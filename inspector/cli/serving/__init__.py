"""The screen in a browser: a server for this machine alone, and the page it shows the screen in."""
