"""The timeline: its rows, their arrangement, search, and the widget that draws them."""
