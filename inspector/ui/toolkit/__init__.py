"""Shared building blocks of the screens: lines, frames, bars, header and status bar."""
