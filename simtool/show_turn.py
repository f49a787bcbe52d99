"""Prints one turn's output: coloured by class on a terminal, with bracketed markers elsewhere."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

from scenarios.tags.tagshow import ShownAttempt, ShownHidden, ShownText, ShownTurn
from simtool.console import stdout_console
from simtool.show_tag import CLASS_NAMES, SUBCLASS_NAMES
from tokenclass.classes import PositionClass, SubClass
from traces.safetext import safe, safe_line

STYLES = {
    SubClass.D: "bold blue",
    SubClass.N: "bold underline green",
    SubClass.K: "cyan",
    SubClass.V: "bold yellow",
    SubClass.T: "green",
    SubClass.P: "blue",
    SubClass.R: "italic magenta",
    SubClass.F: "",
}
_MARKS = {sub: f"S:{sub.name}" for sub in SUBCLASS_NAMES} | {SubClass.R: "R", SubClass.F: "F"}
_LEGEND = SUBCLASS_NAMES | {SubClass.R: CLASS_NAMES[PositionClass.R], SubClass.F: CLASS_NAMES[PositionClass.F]}
_LIKE_A_MARK = re.compile(r"\[(?=(?:S:[DNKVTP]|R|F)[ :\]])")


def print_turn(turn: ShownTurn, *, quiet: bool = False) -> None:
    """Print *turn* to standard output, all its attempts, with a legend; *quiet*: the text only."""
    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    if not quiet:
        console.print(
            f"session {safe_line(turn.session_id)} ({turn.session_number}), turn {safe_line(turn.turn_id)} "
            f"({turn.turn_number})",
            markup=False,
        )
        _legend(console, coloured=coloured)
    for number, attempt in enumerate(turn.attempts, start=1):
        if not quiet:
            console.print()
            console.print(_heading(attempt, number, len(turn.attempts)), markup=False, style="bold")
        text = _coloured(attempt) if coloured else Text(_marked(attempt))
        console.print(text, soft_wrap=not console.is_terminal)
    if not quiet:
        _notes(console, turn)


def _heading(attempt: ShownAttempt, number: int, attempts: int) -> str:
    counts = ", ".join(f"{label.name} {count:,}" for label, count in attempt.class_tokens.items())
    fate = ", rejected" if attempt.rejected else ""
    return f"attempt {number} of {attempts}{fate}: {sum(attempt.class_tokens.values()):,} tokens ({counts})"


def _legend(console: Console, *, coloured: bool) -> None:
    legend = Text("legend: ")
    for at, (sub, name) in enumerate(_LEGEND.items()):
        legend.append(", " if at else "")
        if coloured:
            legend.append(f"{_MARKS[sub]} {name}", STYLES[sub])
        else:
            legend.append(f"[{_MARKS[sub]} {name}]")
    console.print(legend)


def _coloured(attempt: ShownAttempt) -> Text:
    text = Text()
    for part in attempt.parts:
        if isinstance(part, ShownText):
            text.append(safe(part.text), STYLES[part.label])
        else:
            text.append(_hidden(part), STYLES[SubClass.R] + " reverse")
    return text


def _marked(attempt: ShownAttempt) -> str:
    return "".join(_hidden(part) if isinstance(part, ShownHidden) else _bracketed(part) for part in attempt.parts)


def _bracketed(part: ShownText) -> str:
    """The text in its marker; a bracket in the text that looks like a marker's is led by a backslash."""
    text = _LIKE_A_MARK.sub(r"\\[", safe(part.text))
    return f"[{_MARKS[part.label]} {text}]"


def _hidden(part: ShownHidden) -> str:
    classes = "+".join(label.name for label in part.tokens)
    return f"[{classes}: {sum(part.tokens.values()):,} hidden tokens]"


def _notes(console: Console, turn: ShownTurn) -> None:
    for title, counts in (("Assumed", turn.assumptions), ("Left out", turn.omissions)):
        if counts:
            console.print(f"\n{title}:", markup=False)
            for text, count in counts.items():
                console.print(f"  {safe_line(text)} ({count:,})", markup=False)
