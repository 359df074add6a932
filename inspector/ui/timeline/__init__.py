"""The timeline's rows: which there are, what is shown of them, and finding them."""
