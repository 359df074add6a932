"""The screen in a browser: a server for this machine only, and the page that shows the screen."""
