"""The core's refusals (`CannotDifferentiate`) at the user's source lines, in rustc's shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ferrodiff.server.compile.crate import Crate
from ferrodiff.server.errors import Reported
from ferrodiff.server.render import Message, Place, render


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


def refuse(errors: Iterable[Refusal], crate: Crate) -> None:
    """Raises `CannotBuild` with every distinct refusal."""
    found: list[Refused] = []
    for error in errors:
        refused = locate(error, crate)
        if refused not in found:
            found.append(refused)
    raise CannotBuild(found)


def locate(error: Refusal, crate: Crate) -> Refused:
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
        notes.append(f"the instruction is `{error.instruction.strip()}`")
    helps = (error.help,) if error.help else ()
    return Refused(error.derivative, error.reason, place, tuple(notes[:3] + notes[3:][-1:]), helps)


def _annotation(derivative: str | None, crate: Crate) -> Place | None:
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
