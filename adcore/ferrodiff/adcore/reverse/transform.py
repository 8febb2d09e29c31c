"""The door to reverse mode."""

from __future__ import annotations

from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.request import Request
from ferrodiff.adcore.reverse.derive import Deriver
from ferrodiff.adcore.reverse.report import Report
from ferrodiff.adcore.session import Session


def differentiate_reverse(
    session: Session, thunk: Function, request: Request, guard: bool = False
) -> Function:
    """The VJP of a thunk `void (args, result)`: `void (args, args shadow, result, result shadow)`.

    Lane k of a shadow lies `k * size` bytes behind lane 0. Reports of what is kept are put in
    `session.facts` (see `kept`). Raises `CannotDifferentiate`, and `NeedsGuard` where it must be asked with
    `guard`.
    """
    deriver = Deriver(session, request.width, "simd", guard)
    made = deriver.derive_thunk(thunk, request)
    made.forward.attributes = f"{made.forward.attributes} alwaysinline".strip()
    session.facts[("kept", request)] = tuple(deriver.reports)
    return made.forward


def kept(session: Session, request: Request) -> tuple[Report, ...]:
    """What the derivative of a request keeps on its tapes; empty if it was not made."""
    found = session.facts.get(("kept", request), ())
    assert isinstance(found, tuple)
    return found
