"""Tables of figures: values, rows and cells, their drawing, and the widget that sorts them."""
