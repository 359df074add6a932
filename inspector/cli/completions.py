"""`inspector completions`: scripts that let a shell complete commands, options, plans, strategies, limits and files.

The scripts are static, made by shtab from the commands' own parsers: a press of Tab starts no Python, but where a plan
or strategy is asked for, whose names and parameters the program itself says.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.commands import COMMANDS, screen_parser
from inspector.cli.exit_codes import ExitCode
from inspector.cli.output import write
from inspector.cli.own_files import CACHES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

PLAN, STRATEGY, NAME = "plan", "strategy", "name"
"""What can be asked for with `--values`: plans and files, strategies with parameters, names of strategies and plans."""

BASH = """
_inspector_values() {
  compgen -W "$(inspector completions --values "$1" --begun="$2" 2>/dev/null)" -- "$2"
}
_inspector_plan() { _inspector_values plan "$1"; compgen -f -- "$1"; }
_inspector_strategy() { _inspector_values strategy "$1"; }
_inspector_name() { _inspector_values name "$1"; }
# Bash ends words at colons and equals signs, which stand within a strategy: the words are put together again, and what
# stands before the last of these signs is taken off what is offered.
_inspector_joined() {
  local line="${COMP_LINE:0:COMP_POINT}" words=() cut
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$(( ${#words[@]} - 1 ))
  _shtab_inspector
  local current="${words[COMP_CWORD]}"
  if [[ $current == *[:=]* && $COMP_WORDBREAKS == *:* ]]; then
    cut="${current%"${current##*[:=]}"}"
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
  fi
  # After a colon or an equals sign the next thing is typed, not the next word.
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null
}
"""

ZSH = """
_inspector_values() {
  local -a found
  found=(${(f)"$(inspector completions --values $1 --begun="${PREFIX}" 2>/dev/null)"})
  compadd -Q -S '' -a found
}
_inspector_plan() { _inspector_values plan; _files }
_inspector_strategy() { _inspector_values strategy }
_inspector_name() { _inspector_values name }
"""

IN_FISH = "(inspector completions --values {} --begun=(commandline -ct) 2>/dev/null)"


def add_arguments(parser: ArgumentParser) -> None:
    """Which shell; the scripts ask for values."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="the shell to print the script for")
    parser.add_argument("--values", choices=(PLAN, STRATEGY, NAME), help=argparse.SUPPRESS)
    parser.add_argument("--begun", default="", help=argparse.SUPPRESS)


def run(options: Namespace) -> int:
    """Print the script of a shell, or what can stand where a shell asks."""
    if options.values is not None:
        write("".join(f"{value}\n" for value in values(options.values, options.begun)))
        return ExitCode.FINE
    if options.shell is None:
        write(HOW)
        return ExitCode.FINE
    write(script(options.shell))
    return ExitCode.FINE


HOW = """\
bash, in ~/.bashrc:                eval "$(inspector completions bash)"
zsh, in ~/.zshrc after compinit:   eval "$(inspector completions zsh)"
fish, once:                        inspector completions fish > ~/.config/fish/completions/inspector.fish
"""


def values(kind: str, begun: str) -> list[str]:
    """What can stand where a plan or strategy is asked for.

    Args:
        kind: `PLAN`, `STRATEGY` or `NAME`.
        begun: What of it is typed: after a strategy's name and a colon come its parameters.
    """
    return [value for value in _candidates(kind, begun) if value.startswith(begun) and value != begun]


def _candidates(kind: str, begun: str) -> Iterator[str]:
    from inspector.strategies.presets import PRESETS
    from inspector.strategies.registry import STRATEGIES

    if kind == PLAN:
        from inspector.ui.plan.saved_plans import saved_plans

        saved = (plan.name for plan in saved_plans() if not plan.problem and " " not in plan.name)
        yield from sorted({*PRESETS, *saved})
        return
    if kind == NAME:
        yield from [*STRATEGIES, *PRESETS]
        return
    name, colon, given = begun.partition(":")
    if not colon or name not in STRATEGIES:
        yield from STRATEGIES
        yield from (f"{each.name}:" for each in STRATEGIES.values() if each.parameters and each.name == begun)
        return
    before, comma, last = given.rpartition(",")
    taken = {part.partition("=")[0] for part in before.split(",")}
    head = f"{name}:{before}{comma}"
    parameter, equals, _ = last.partition("=")
    for each in STRATEGIES[name].parameters:
        if equals and each.name == parameter:
            choices = getattr(each, "choices", None) or (("true", "false") if isinstance(each.default, bool) else ())
            yield from (f"{head}{parameter}={choice}" for choice in choices)
        elif not equals and each.name not in taken:
            yield f"{head}{each.name}="


def script(shell: str) -> str:
    """The script of a shell: one of `SHELLS`."""
    import shtab

    parser = whole_parser()
    preamble = {"bash": BASH, "zsh": ZSH}.get(shell, "")
    text: str = shtab.complete(parser, shell=shell, root_prefix="inspector", preamble=preamble)
    if shell == "zsh":
        text = text.replace("': :_shtab_inspector_commands'", "': :{_shtab_inspector_commands; _files}'")
    if shell == "bash":
        text = text.rstrip() + "\ncomplete -o bashdefault -F _inspector_joined inspector\n"
    return text


def whole_parser() -> ArgumentParser:
    """One parser of all commands, each argument with how it is completed."""
    parser = screen_parser()
    # A command stands first; where none fits, shells complete files by themselves.
    parser._actions = [action for action in parser._actions if action.option_strings]  # noqa: SLF001
    below = parser.add_subparsers(title="commands")
    for command in COMMANDS.values():
        each = below.add_parser(command.name, help=command.summary, description=command.summary)
        command.load().add_arguments(each)
        _describe(each)
    _describe(parser)
    return parser


def _describe(parser: ArgumentParser) -> None:
    """Say of every argument of a parser how it is completed."""
    import shtab

    for action in parser._actions:  # noqa: SLF001  argparse has no other way to its arguments
        kind = _kind(action)
        if action.dest == "caches":
            action.choices = [cache.name for cache in CACHES]
        elif "--to" in action.option_strings and action.choices is None:
            from inspector.report.export import TITLES

            action.choices = list(TITLES)
        elif action.dest == "topic":
            from inspector.cli.help import INDEX, pages

            action.choices = [*COMMANDS, INDEX, *(page.name for page in pages())]
        elif kind == "file":
            vars(action)["complete"] = shtab.FILE  # where shtab looks for it
        elif kind:
            function = f"_inspector_{kind}"
            vars(action)["complete"] = {"bash": function, "zsh": function, "fish": IN_FISH.format(kind)}
        if isinstance(action.help, str):
            action.help = action.help.replace("`", "'")


def _kind(action: argparse.Action) -> str:
    if "--plan" in action.option_strings:
        return PLAN
    if "--strategy" in action.option_strings:
        return STRATEGY
    if action.metavar == "NAME" and not action.option_strings:
        return NAME
    return "file" if action.type is Path or action.metavar in ("PATH", "FILE") else ""
