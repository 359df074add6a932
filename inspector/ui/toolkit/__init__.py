"""What several parts of the screen are made of: lines, frames, bars, the first line and the last."""
