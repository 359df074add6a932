"""Terminal application. Only this package imports Textual."""
