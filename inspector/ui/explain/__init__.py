"""How a figure is calculated: which figures the cursor is on, and their explanation as text and as a dialog."""
