"""Tables of figures: values, rows and cells, drawing them, and the widget that sorts them."""
