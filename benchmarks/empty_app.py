"""The smallest Textual program that draws something and answers a key: the baseline of every program on it."""

from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import Static


class EmptyApp(App[None]):
    """One line of text; every key changes it."""

    presses = 0

    def compose(self) -> ComposeResult:
        yield Static("drawn 0")

    def on_key(self, event: Key) -> None:
        """Redraw, or exit."""
        if event.key == "q":
            self.exit()
        self.presses += 1
        self.query_one(Static).update(f"drawn {self.presses}")


if __name__ == "__main__":
    EmptyApp().run()
