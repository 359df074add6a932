"""Color themes (dark, light, high contrast, color-blind, terminal colors) and the meanings of colors.

Style sheets use meanings (`$cut`, `$recorded`, `$miss`). `MEANINGS` maps each to a theme color; a theme may override it
in its variables. To color something new, add its meaning there.

Roles and states use blue, orange, bluish green and vermillion from Okabe and Ito's palette
(https://jfly.uni-koeln.de/color/), never red against green. Every state also has a glyph or a word. The color-blind
theme has no green either, because some people see it as grey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

MEANINGS: Final[Mapping[str, str]] = {
    "system": "text-secondary",
    "user": "foreground",
    "assistant": "text-primary",
    "thinking": "text-secondary",
    "result": "text-success",
    "failed": "text-error",
    "sent": "text-success",
    "recorded": "text-warning",
    "cut": "text-warning",
    "grown": "text-error",
    "outside": "text-muted",
    "inserted": "warning-muted",
    "added": "text-success",
    "removed": "text-error",
    "compaction": "text-accent",
    "limit": "text-accent",
    "acts": "text-success",
    "miss": "text-error",
    "cost": "text-accent",
    "saved": "text-success",
    "lost": "text-error",
    "least": "text-success",
    "knee": "text-warning",
    "found": "text-warning",
    "found-here": "text-accent",
    "waiting": "text-disabled",
}
"""Meanings of colors, with the theme variable of each."""


class ThemedApp(App[None]):
    """App with the project's themes. Its style sheets may use meanings in any Textual theme."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for theme in THEMES.values():
            self.register_theme(theme)

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme by name. The project's themes are available before the app has registered any."""
        return _BY_NAME.get(theme_name) or super().get_theme(theme_name)

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, with a default for each meaning the theme does not define."""
        variables = super().get_css_variables()
        return {meaning: variables[colour] for meaning, colour in MEANINGS.items()} | variables


def _variables(
    border: str, blurred: str, key: str, bar: tuple[str, str, str], background: str, **more: str
) -> dict[str, str]:
    """Build the variables that Textual would derive otherwise: borders, keys and scrollbars.

    Args:
        border: Border of the focused widget.
        blurred: Border of all other widgets.
        key: Keys in the status line.
        bar: Scrollbar colors: at rest, hovered, dragged.
        background: Background of the scrollbar.
        more: Other variables, with underscores for hyphens.
    """
    return {
        "border": border,
        "border-blurred": blurred,
        "block-cursor-text-style": "none",
        "footer-key-foreground": key,
        "scrollbar": bar[0],
        "scrollbar-hover": bar[1],
        "scrollbar-active": bar[2],
        "scrollbar-background": background,
        "scrollbar-background-hover": background,
        "scrollbar-background-active": background,
        "scrollbar-corner-color": background,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


DARK: Final = Theme(
    name="inspector-dark",
    primary="#5AAEE6",
    secondary="#7C8BA5",
    accent="#E8A33D",
    success="#36B892",
    warning="#E8C15A",
    error="#E8734A",
    foreground="#D9DDE4",
    background="#12151A",
    surface="#181C23",
    panel="#222833",
    dark=True,
    variables=_variables(
        "#5AAEE6",
        "#39424F",
        "#E8A33D",
        ("#39424F", "#4C5868", "#5AAEE6"),
        "#181C23",
        text_muted="#AEB3BB",
        text_disabled="#989EA7",
    ),
)

LIGHT: Final = Theme(
    name="inspector-light",
    primary="#005F9E",
    secondary="#5B6678",
    accent="#9A5700",
    success="#00704D",
    warning="#7D5A00",
    error="#B03A00",
    foreground="#20252C",
    background="#FBFBF8",
    surface="#F4F4EF",
    panel="#E8E8E1",
    dark=False,
    variables=_variables(
        "#005F9E",
        "#BFC3C0",
        "#9A5700",
        ("#C6CAC6", "#A9AFAB", "#005F9E"),
        "#F4F4EF",
        text_muted="#44494F",
        text_disabled="#585E64",
    ),
)

CONTRAST: Final = Theme(
    name="inspector-contrast",
    primary="#6CC4FF",
    secondary="#D0D0D0",
    accent="#FFC33A",
    success="#3DF0B8",
    warning="#FFE45C",
    error="#FF9A76",
    foreground="#FFFFFF",
    background="#000000",
    surface="#000000",
    panel="#1C1C1C",
    dark=True,
    variables=_variables(
        "#FFFFFF",
        "#8C8C8C",
        "#FFC33A",
        ("#8C8C8C", "#B4B4B4", "#FFFFFF"),
        "#000000",
        text_muted="#E0E0E0",
        text_disabled="#B4B4B4",
    ),
)

COLOUR_BLIND: Final = Theme(
    name="inspector-colour-blind",
    primary="#56B4E9",
    secondary="#CC79A7",
    accent="#E69F00",
    success="#56B4E9",
    warning="#F0E442",
    error="#D55E00",
    foreground="#E8E8E8",
    background="#101010",
    surface="#161616",
    panel="#242424",
    dark=True,
    variables=_variables(
        "#56B4E9",
        "#4A4A4A",
        "#E69F00",
        ("#4A4A4A", "#606060", "#56B4E9"),
        "#161616",
        text_muted="#B4B4B4",
        text_disabled="#9E9E9E",
    ),
)

ANSI: Final = Theme(
    name="inspector-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_yellow",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_white",
        "footer-key-foreground": "ansi_yellow",
        "input-cursor-text-style": "reverse",
    },
)

THEMES: Final = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "colour-blind": COLOUR_BLIND, "ansi": ANSI}
"""Themes by their name in the settings."""

_BY_NAME: Final = {theme.name: theme for theme in THEMES.values()}
"""Themes by their name in Textual."""

THEME_WORDS: Final = {
    "dark": "dark background",
    "light": "light background",
    "contrast": "black background, all text at full brightness",
    "colour-blind": "blue for good values, orange and yellow for the rest",
    "ansi": "the terminal's colors",
}
"""Descriptions of the themes."""
