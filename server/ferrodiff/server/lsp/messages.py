"""Reads messages in rustc's printed shape, which rustc and this project's commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp.results import Finding

_HEAD = re.compile(r"^(error|warning|note|help)(?:\[([A-Za-z0-9_:]+)\])?: (.+)$")
_ARROW = re.compile(r"^\s*--> (.+?):(\d+):(\d+)\s*$")
_REMARK = re.compile(r"^\s*= (note|help): (.+)$")
_NOISE = ("aborting due to", "could not compile", "Some errors have detailed", "For more information about")


@dataclass(frozen=True, slots=True)
class Printed:
    """One message; `line` and `column` are 1-based, and absent where it has no place."""

    severity: str
    code: str | None
    text: str
    file: str | None
    line: int | None
    column: int | None
    remarks: tuple[str, ...]

    @property
    def full(self) -> str:
        return "\n".join([self.text, *self.remarks])


def printed_messages(output: str) -> list[Printed]:
    """The messages in a command's output, in order."""
    found: list[Printed] = []
    for head, lines in _blocks(output.splitlines()):
        severity, code, text = head
        if text.startswith(_NOISE):
            continue
        arrow = next((match for line in lines if (match := _ARROW.match(line))), None)
        remarks = tuple(f"{match[1]}: {match[2]}" for line in lines if (match := _REMARK.match(line)))
        file, line, column = (arrow[1], int(arrow[2]), int(arrow[3])) if arrow else (None, None, None)
        found.append(Printed(severity, code, text, file, line, column, remarks))
    return found


def _blocks(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str | None, str], list[str]]]:
    head: tuple[str, str | None, str] | None = None
    rest: list[str] = []
    for line in lines:
        match = _HEAD.match(line)
        if match is not None:
            if head is not None:
                yield head, rest
            head, rest = (match[1], match[2], match[3]), []
        else:
            rest.append(line)
    if head is not None:
        yield head, rest


def findings_of(
    messages: Iterable[Printed], source: SourceText, names: frozenset[str], fallback: int
) -> list[Finding]:
    """Errors as findings in a file.

    `names` are what the file may be called in them. An error without a place, or in another file, is
    shown on line `fallback` (0-based) with its place in words.
    """
    found: list[Finding] = []
    for message in messages:
        if message.severity != "error":
            continue
        line, column, text = fallback, None, message.full
        if message.file is not None and message.line is not None:
            if message.file in names or PurePath(message.file).name in names:
                line = message.line - 1
                column = _byte_column(source, line, message.column or 1)
            else:
                text = f"{message.file}:{message.line}: {text}"
        if line >= len(source.line_starts):
            line, column = fallback, None
        found.append(
            Finding(line, column, message.severity, message.code, text, source.slice(source.line_span(line)))
        )
    return found


def _byte_column(source: SourceText, line: int, column: int) -> int:
    """rustc's columns count characters from 1."""
    text = source.slice(source.line_span(line))
    return len(text[: max(column - 1, 0)].encode("utf-8", "surrogatepass"))
