"""Explanations of figures: the figures under the cursor, and their explanation as text and as a dialog."""
