"""The pictures of a report, described in Vega-Lite and drawn by vl-convert, which carries Vega and needs no network."""
