"""Copies of memory, and what they connect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.instructions import Freeze, GetElementPtr, Instruction, Load, Phi, Select
from ferrodiff.adcore.ir.types import FloatType, IntType
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


def floats_in(value: Value) -> list[tuple[int, FloatType]]:
    """The floats whose bits an integer is put together from, with their byte offsets in it."""
    found: dict[tuple[int, FloatType], None] = {}
    seen: set[tuple[Value, int]] = set()
    work = [(value, 0)]
    while work:
        at, shift = work.pop()
        if (at, shift) in seen or not isinstance(at, Instruction):
            continue
        seen.add((at, shift))
        source = at.operands[0] if at.operands else None
        if at.opcode == "bitcast" and source is not None and isinstance(source.type, FloatType):
            if shift % 8 == 0:
                found[shift // 8, source.type] = None
        elif at.opcode in ("zext", "or", "phi", "freeze"):
            work.extend((v, shift) for v in at.operands)
        elif at.opcode == "select":
            work.extend((v, shift) for v in at.operands[1:])
        elif at.opcode == "shl" and isinstance(at.operands[1], ConstInt):
            work.append((at.operands[0], shift + at.operands[1].value))
    return list(found)


def floats_from(load: Load, users: Callable[[Value], list[Instruction]]) -> list[tuple[int, FloatType]]:
    """The floats that pieces of a loaded integer become, with their byte offsets in it."""
    found: dict[tuple[int, FloatType], None] = {}
    seen: set[tuple[Value, int]] = set()
    work: list[tuple[Value, int]] = [(load, 0)]
    while work:
        at, shift = work.pop()
        if (at, shift) in seen:
            continue
        seen.add((at, shift))
        for user in users(at):
            if user.opcode == "bitcast" and isinstance(user.type, FloatType) and shift % 8 == 0:
                found[shift // 8, user.type] = None
            elif user.opcode in ("trunc", "phi", "freeze"):
                work.append((user, shift))
            elif user.opcode == "lshr" and isinstance(user.operands[1], ConstInt):
                work.append((user, shift + user.operands[1].value))
    return list(found)
