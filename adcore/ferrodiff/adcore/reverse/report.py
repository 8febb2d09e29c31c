"""What a derivative keeps, per source line, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.reverse.tape import Tape
from ferrodiff.adcore.session import Session


@dataclass(frozen=True, slots=True)
class KeptValue:
    """One value on the tape.

    ``value`` is the IR that computes it, ``bytes`` its size per iteration of the loop at depth ``depth``,
    ``reason`` why it is not computed or loaded again, ``place`` one of ``heap`` and ``stack``.
    """

    value: str
    bytes: int
    depth: int
    reason: str
    place: str
    location: SourceLocation | None


@dataclass(frozen=True, slots=True)
class Report:
    """All that the derivative of ``function`` keeps on its tape."""

    function: str
    kept: tuple[KeptValue, ...]


def describe(session: Session, primal: Function, tape: Tape) -> Report:
    """The report of a finished tape."""
    found = []
    for each in tape.tapes.values():
        for kept in each.kept:
            value = kept.value
            location = session.module.location(value) if isinstance(value, Instruction) else None
            found.append(
                KeptValue(
                    str(value).split(", !", 1)[0],
                    session.module.datalayout.size_of(kept.stored),
                    each.plan.loop.depth,
                    kept.reason,
                    "stack" if kept.on_stack else "heap",
                    tape.locations.get(value, location) if isinstance(value, Instruction) else None,
                )
            )
    return Report(primal.name, tuple(found))
