"""Pictures of the screen as SVG, and the dialog that saves them."""
