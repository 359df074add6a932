"""Charts of reports, described in Vega-Lite and drawn by vl-convert, which bundles Vega and needs no network."""
