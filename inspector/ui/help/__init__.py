"""What the keys do, by what names, and the screen that says so."""
