"""The terminal application. The only room that imports Textual."""
