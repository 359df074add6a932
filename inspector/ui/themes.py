"""The colours: a dark, a light and a terminal's-own theme. Hues are told apart by colour-blind eyes too.

Roles and states use the blue, orange, bluish green and vermillion of Okabe and Ito's palette (https://jfly.uni-koeln.de/color/),
never red against green; every state has a glyph or a word besides.
"""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

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
    variables={
        "border": "#5AAEE6",
        "border-blurred": "#39424F",
        "block-cursor-text-style": "none",
        "footer-key-foreground": "#E8A33D",
        "scrollbar": "#39424F",
        "scrollbar-hover": "#4C5868",
        "scrollbar-active": "#5AAEE6",
        "scrollbar-background": "#181C23",
        "scrollbar-background-hover": "#181C23",
        "scrollbar-background-active": "#181C23",
        "scrollbar-corner-color": "#181C23",
    },
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
    variables={
        "border": "#005F9E",
        "border-blurred": "#BFC3C0",
        "block-cursor-text-style": "none",
        "footer-key-foreground": "#9A5700",
        "scrollbar": "#C6CAC6",
        "scrollbar-hover": "#A9AFAB",
        "scrollbar-active": "#005F9E",
        "scrollbar-background": "#F4F4EF",
        "scrollbar-background-hover": "#F4F4EF",
        "scrollbar-background-active": "#F4F4EF",
        "scrollbar-corner-color": "#F4F4EF",
    },
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

THEMES: Final = {"dark": DARK, "light": LIGHT, "ansi": ANSI}
"""What settings call them."""
