"""Copies of memory, and what they connect."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.instructions import Freeze, GetElementPtr, Load, Phi, Select
from ferrodiff.adcore.ir.types import IntType
from ferrodiff.adcore.ir.values import Value

LONG = 512
"""Bytes of a copy that are looked at one by one."""


@dataclass(frozen=True)
class Copy:
    """Bytes that are copied: ``size`` of them, or an unknown multiple of ``period``.

    ``typed`` copies move whole values of one type, or pieces of one array.
    """

    to: Value
    to_align: int | None
    source: Value
    source_align: int | None
    size: int | None
    period: int
    typed: bool

    def reversed(self) -> Copy:
        """The same copy with its ends exchanged."""
        return replace(
            self,
            to=self.source,
            to_align=self.source_align,
            source=self.to,
            source_align=self.to_align,
        )

    def stripped(self) -> Copy:
        """The same without a last step that both ends make together, as loops over words do."""
        a, b = self.to, self.source
        if not isinstance(a, GetElementPtr) or not isinstance(b, GetElementPtr):
            return self
        steps, others = a.operands[1:], b.operands[1:]
        same = len(steps) == len(others) and all(x is y for x, y in zip(steps, others, strict=False))
        if not same or a.source_type is not b.source_type or all(isinstance(x, ConstInt) for x in steps):
            return self
        return replace(self, to=a.base, source=b.base, size=LONG + 1)


class Groups:
    """Roots between whose memory something is copied or that one cell points to, directly or not."""

    def __init__(self) -> None:
        self._members: dict[Value, list[Value]] = {}

    def join(self, a: Value, b: Value) -> None:
        """Put the groups of two roots together."""
        one, other = self._members.setdefault(a, [a]), self._members.setdefault(b, [b])
        if one is other:
            return
        if len(one) < len(other):
            one, other = other, one
        one.extend(other)
        for member in other:
            self._members[member] = one

    def members(self, root: Value) -> list[Value]:
        """All roots of a root's group."""
        return self._members.get(root, [root])


def copied_from(value: Value) -> list[Load] | None:
    """The loads of which an integer is a mere copy, or ``None`` if it is computed."""
    if not isinstance(value.type, IntType) or value.type.bits < 16:
        return None
    found: list[Load] = []
    seen: set[Value] = set()
    work = [value]
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(at, Load):
            found.append(at)
        elif isinstance(at, (Phi, Freeze)):
            work.extend(at.operands)
        elif isinstance(at, Select):
            work.extend(at.operands[1:])
        else:
            return None
    return found
