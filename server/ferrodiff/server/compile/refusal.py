"""The core's refusals (`CannotDifferentiate`) at the user's source lines, in rustc's shape."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from ferrodiff.analysis.text import SourceText
from ferrodiff.server.compile.sources import SourceFile, word_at
from ferrodiff.server.errors import Failure, Reported
from ferrodiff.server.paths import read_source
from ferrodiff.server.render import Message, Place, render

_MOST_OF_INSTRUCTION = 120


class Location(Protocol):
    """A place from debug information: 1-based, 0 for unknown."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def inlined_at(self) -> Location | None: ...


class Refusal(Protocol):
    """What the core says about one derivative it will not produce."""

    reason: str
    instruction: str | None
    help: str | None
    derivative: str | None

    @property
    def location(self) -> Location | None: ...


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal with its place in the user's files; `place` is None when debug information names none."""

    derivative: str | None
    reason: str
    place: Place | None
    notes: tuple[str, ...]
    helps: tuple[str, ...]

    def message(self) -> Message:
        """The refusal as an error."""
        name = f" for `{self.derivative}`" if self.derivative else ""
        return Message(
            "error",
            f"cannot differentiate{name}: {self.reason}",
            self.place,
            notes=self.notes,
            helps=self.helps,
        )


class CannotBuild(Reported):
    """A build that ended because derivatives were refused."""

    def __init__(self, refusals: list[Refused]) -> None:
        super().__init__("\n\n".join(render(item.message()) for item in refusals))
        self.refusals = refusals


class Sources(Protocol):
    """Where the text is that debug information speaks of; a `Crate` is one."""

    @property
    def files(self) -> Sequence[SourceFile]: ...
    def place(self, name: str, line: int, column: int) -> Place | None: ...


class FilesOnDisk:
    """Source files of any language, read when they are asked for."""

    files: Sequence[SourceFile] = ()

    def place(self, name: str, line: int, column: int) -> Place | None:
        """The text at a 1-based line and byte column, to the end of the word; None for files that are not there."""
        try:
            source = SourceText(read_source(name))
        except Failure:
            return None
        if not 1 <= line <= len(source.line_starts):
            return None
        shown = os.path.relpath(name)
        span = source.line_span(line - 1)
        start = min(span.start + max(column - 1, 0), span.end)
        return Place(name if shown.startswith("..") else shown, source, word_at(source.data, start, span.end))


def refuse(errors: Iterable[Refusal], crate: Sources) -> NoReturn:
    """Raises `CannotBuild` with every distinct refusal."""
    found: list[Refused] = []
    for error in errors:
        refused = locate(error, crate)
        if refused not in found:
            found.append(refused)
    raise CannotBuild(found)


def locate(error: Refusal, crate: Sources) -> Refused:
    """Finds the innermost place of a refusal that is in the user's files.

    Code of the standard library that was inlined is shown at the user's call of it.
    """
    notes: list[str] = []
    place: Place | None = None
    here = error.location
    while here is not None and place is None:
        place = crate.place(here.file, here.line, here.column)
        if place is None and here.line:
            notes.append(f"inside {_short(here.file)}:{here.line}:{here.column}")
        here = here.inlined_at
    if place is None:
        place = _annotation(error.derivative, crate)
    if error.instruction:
        notes.append(f"the instruction is `{_on_one_line(error.instruction)}`")
    helps = (error.help,) if error.help else ()
    return Refused(error.derivative, error.reason, place, tuple(notes[:3] + notes[3:][-1:]), helps)


def _on_one_line(instruction: str) -> str:
    """An instruction as far as a message has room for it; what it does stands at its start."""
    text = " ".join(instruction.split())
    return (
        text if len(text) <= _MOST_OF_INSTRUCTION else f"{text[:_MOST_OF_INSTRUCTION].rsplit(' ', 1)[0]} ..."
    )


def _annotation(derivative: str | None, crate: Sources) -> Place | None:
    for file in crate.files:
        for function in file.analysis.functions:
            for annotation in function.annotations:
                if annotation.name == derivative:
                    return Place(file.name, file.source, annotation.span)
    return None


def _short(file: str) -> str:
    """A standard library path without the compiler's build folder."""
    marker = "/library/"
    return "std " + file.split(marker, 1)[1] if marker in file else file
