"""The timeline: which rows there are, what is shown of them, finding them, and the widget that draws them."""
