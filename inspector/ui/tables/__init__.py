"""Tables of figures: values, rows for screens, and drawing them."""
