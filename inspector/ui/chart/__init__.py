"""The context chart: prompt tokens of every call, as text and as a widget."""
