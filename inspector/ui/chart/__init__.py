"""The context chart: tokens in the prompt of every call, as text and as a widget."""
