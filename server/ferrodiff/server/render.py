"""Messages about source text in rustc's shape: header, arrow, source line, carets, notes.

Columns in the `-->` line count characters from 1, as rustc's do; carets are placed by display
width, with tabs shown as four spaces and wide characters as two columns.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from ferrodiff.analysis.text import SourceText, Span

TAB = "    "
MULTILINE_HEAD = 4

_COLOURS = {"error": "\x1b[1;91m", "warning": "\x1b[1;93m", "note": "\x1b[1;92m", "help": "\x1b[1;96m"}
_BOLD, _BLUE, _RESET = "\x1b[1m", "\x1b[1;94m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Place:
    """A span of one source file. `name` is the file as the user calls it."""

    name: str
    source: SourceText
    span: Span
    label: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One diagnostic ready to be shown. `related` are secondary places, each with its own sentence."""

    severity: str
    text: str
    place: Place | None
    code: str | None = None
    related: Sequence[tuple[str, Place]] = ()
    notes: Sequence[str] = ()
    helps: Sequence[str] = field(default=())


def use_colour(stream: TextIO, choice: str = "auto") -> bool:
    """Whether to colour: `always`, `never`, or by terminal and the `NO_COLOR` convention."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def render(message: Message, colour: bool = False) -> str:
    """The message as several lines, without a trailing newline."""
    paint = _Paint(colour)
    tag = f"[{message.code}]" if message.code else ""
    lines = [f"{paint.severity(message.severity, message.severity + tag)}{paint.bold(': ' + message.text)}"]
    gutter = max((_gutter(place) for place in _places(message)), default=1)
    if message.place is not None:
        lines += _snippet(message.place, gutter, paint, message.severity)
        if message.notes or message.helps:
            lines.append(f"{' ' * gutter} {paint.blue('|')}")
    for kind, texts in (("note", message.notes), ("help", message.helps)):
        for text in texts:
            lines += _remark(kind, text, gutter, paint)
    for text, place in message.related:
        lines.append(f"{paint.severity('note', 'note')}{paint.bold(': ' + text)}")
        lines += _snippet(place, gutter, paint, "note")
    return "\n".join(lines)


def column(place: Place) -> tuple[int, int]:
    """1-based line and 1-based character column of a place's start."""
    line, byte_column = place.source.line_col(place.span.start)
    return line + 1, len(_before(place.source, line, byte_column)) + 1


class _Paint:
    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def _wrap(self, start: str, text: str) -> str:
        return f"{start}{text}{_RESET}" if self.enabled and text else text

    def severity(self, severity: str, text: str) -> str:
        return self._wrap(_COLOURS.get(severity, _COLOURS["note"]), text)

    def bold(self, text: str) -> str:
        return self._wrap(_BOLD, text)

    def blue(self, text: str) -> str:
        return self._wrap(_BLUE, text)


def _places(message: Message) -> list[Place]:
    own = [message.place] if message.place is not None else []
    return own + [place for _, place in message.related]


def _gutter(place: Place) -> int:
    last, _ = place.source.line_col(place.span.end)
    return len(str(last + 1))


def _remark(kind: str, text: str, gutter: int, paint: _Paint) -> list[str]:
    first, *rest = text.splitlines() or [""]
    indent = " " * (gutter + 1)
    lines = [f"{indent}{paint.blue('=')} {paint.bold(kind)}: {first}"]
    return lines + [f"{indent}  {' ' * len(kind)}  {line}" for line in rest]


def _snippet(place: Place, gutter: int, paint: _Paint, severity: str) -> list[str]:
    line, char = column(place)
    bar = f"{' ' * gutter} {paint.blue('|')}"
    lines = [f"{' ' * gutter}{paint.blue('-->')} {place.name}:{line}:{char}", bar]
    first, start = place.source.line_col(place.span.start)
    last, end = place.source.line_col(max(place.span.start, place.span.end))
    if last > first and end == 0:
        last, end = last - 1, len(line_text(place.source, last - 1).encode("utf-8", "surrogatepass"))
    if first == last:
        lines += _one_line(place, first, start, end, gutter, paint, severity)
    else:
        lines += _many_lines(place, (first, start), (last, end), gutter, paint, severity)
    return lines


def _one_line(
    place: Place, line: int, start: int, end: int, gutter: int, paint: _Paint, severity: str
) -> list[str]:
    before = _display(_before(place.source, line, start))
    marked = _display(_before(place.source, line, end))[len(before) :]
    carets = "^" * max(1, _width(marked))
    label = f" {place.label}" if place.label else ""
    return [
        _numbered(line, _display(line_text(place.source, line)), gutter, paint),
        f"{' ' * gutter} {paint.blue('|')} {' ' * _width(before)}{paint.severity(severity, carets + label)}",
    ]


def _many_lines(
    place: Place,
    start: tuple[int, int],
    end: tuple[int, int],
    gutter: int,
    paint: _Paint,
    severity: str,
) -> list[str]:
    (first, first_column), (last, last_column) = start, end
    lead = _display(_before(place.source, first, first_column))
    lines: list[str] = []
    if lead.strip():
        lines.append(_numbered(first, "  " + _display(line_text(place.source, first)), gutter, paint))
        mark = paint.severity(severity, " " + "_" * (_width(lead) + 1) + "^")
        lines.append(f"{' ' * gutter} {paint.blue('|')} {mark}")
        body = range(first + 1, last + 1)
    else:
        text = _display(line_text(place.source, first))
        lines.append(_numbered(first, f"{paint.severity(severity, '/')} {text}", gutter, paint))
        body = range(first + 1, last + 1)
    elide = len(body) > MULTILINE_HEAD + 1
    for number in body:
        if elide and body.start + MULTILINE_HEAD - 1 <= number < last:
            if number == body.start + MULTILINE_HEAD - 1:
                lines.append(paint.blue("..."))
            continue
        text = _display(line_text(place.source, number))
        lines.append(_numbered(number, f"{paint.severity(severity, '|')} {text}".rstrip(), gutter, paint))
    tail = max(1, _width(_display(_before(place.source, last, last_column))))
    label = f" {place.label}" if place.label else ""
    mark = paint.severity(severity, "|" + "_" * tail + "^" + label)
    lines.append(f"{' ' * gutter} {paint.blue('|')} {mark}")
    return lines


def _numbered(line: int, text: str, gutter: int, paint: _Paint) -> str:
    return f"{paint.blue(str(line + 1).rjust(gutter))} {paint.blue('|')} {text}".rstrip()


def line_text(source: SourceText, line: int) -> str:
    """A 0-based line's text without its line ending."""
    return source.slice(source.line_span(line))


def _before(source: SourceText, line: int, byte_column: int) -> str:
    span = source.line_span(line)
    stop = min(span.start + byte_column, span.end)
    return source.data[span.start : stop].decode("utf-8", "ignore")


def _display(text: str) -> str:
    shown = text.replace("\t", TAB)
    return "".join(char if char.isprintable() else "�" for char in shown)


def _width(text: str) -> int:
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
