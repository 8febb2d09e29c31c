"""Layouts of memory, put together from typed accesses: which offset holds which scalar.

Accesses repeat with strides. Where all of an object repeats alike, its layout is one period of the greatest
common divisor of the strides (`settle`). An object that holds several arrays side by side has no such period;
there a scalar belongs to the array that begins last before it (`Typing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import gcd

from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Call, GetElementPtr, Instruction
from ferrodiff.adcore.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType
from ferrodiff.adcore.ir.values import Value

ANYWHERE = -(1 << 60)
"""The offset of an access of which no offset is known."""

MARGIN = 8
"""Elements before the likely beginning of an array that may be its own."""

Cells = list[tuple[int, Type]]
"""Scalars by offset."""


@dataclass(frozen=True)
class Place:
    """A constant number of bytes plus multiples of ``step``; ``up``: only such that are not negative."""

    offset: int
    step: int = 0
    up: bool = True

    def shifted(self, other: Place) -> Place:
        """The sum of two places."""
        return Place(self.offset + other.offset, gcd(self.step, other.step), self.up and other.up)


@dataclass(frozen=True)
class Access:
    """A scalar of ``type`` at ``offset`` plus multiples of ``stride``; ``ANYWHERE`` if that is not known.

    ``up`` says that the multiples are not negative, so that an array begins at ``offset``.
    """

    offset: int
    stride: int
    type: Type
    up: bool = True

    def seen_from(self, place: Place) -> Access:
        """The same access of what lies at a place of something larger."""
        if self.offset == ANYWHERE:
            return self
        sum = place.shifted(Place(self.offset, self.stride, self.up))
        return Access(sum.offset, sum.step, self.type, sum.up)


NOWHERE = Access(ANYWHERE, 0, StructType(()))


@dataclass
class Layout:
    """Scalars by offset, repeating every ``stride`` bytes (0: not repeating). ``conflict`` spoils it."""

    stride: int = 0
    cells: dict[int, Type] = field(default_factory=dict)
    conflict: bool = False

    def kind_at(self, offset: int) -> Type | None:
        """The scalar that starts at an offset, if known."""
        return self.cells.get(offset % self.stride if self.stride else offset)

    def read(self, start: int, size: int, layout: DataLayout, smallest: int = 1) -> Cells | None:
        """The floats and pointers in a range, offsets counted from its start; ``None`` where bytes are unknown.

        Gaps of less than ``smallest`` bytes have no room for a float: they are padding.
        """
        found: Cells = []
        offset = gap = 0
        while offset < size:
            kind = self.kind_at(start + offset)
            if kind is None:
                gap += 1
                if gap >= smallest:
                    return None
                offset += 1
                continue
            gap = 0
            width = layout.store_size(kind)
            if offset + width > size:
                return None
            if is_strong(kind):
                found.append((offset, kind))
            offset += width
        return found

    def read_any_phase(self, place: Place, size: int, layout: DataLayout) -> Cells | None:
        """The same where the place in the period is not known: only if every phase looks the same."""
        stride = gcd(self.stride, place.step)
        kinds = {self.cells.get(o) for o in range(place.offset % stride, self.stride, stride)}
        width = layout.store_size(next(iter(self.cells.values())))
        if len(kinds) != 1 or None in kinds or width != stride:
            return None
        return self.read(place.offset, size, layout)


def settle(accesses: Iterable[Access], layout: DataLayout) -> Layout:
    """The layout of an object that repeats alike everywhere."""
    accesses = list(accesses)
    result = Layout()
    for access in accesses:
        result.stride = gcd(result.stride, access.stride)
    kinds = {a.type for a in accesses}
    # A lone integer says nothing of the bytes around it: it may be the flag before an array of floats.
    if len(kinds) == 1 and (result.stride or is_strong(accesses[0].type)):
        only = next(iter(kinds))
        width = layout.store_size(only)
        steps = (s for a in accesses for s in (a.offset, a.stride))
        if all(a.offset != ANYWHERE for a in accesses) and all(s % width == 0 for s in steps):
            return Layout(width, {0: only})
    for access in accesses:
        if access.offset == ANYWHERE or (access.offset < 0 and not result.stride):
            result.conflict = True
        offset = access.offset % result.stride if result.stride else access.offset
        before = result.cells.setdefault(offset, access.type)
        if before is not access.type:
            result.cells[offset] = stronger(before, access.type)
            result.conflict = result.conflict or result.cells[offset] is CLASH
    return result


class Typing:
    """What stands at a place of an object in which several arrays may lie side by side."""

    def __init__(self, accesses: Iterable[Access], layout: DataLayout, smallest: int = 1) -> None:
        self.layout = layout
        self.smallest = smallest
        accesses = list(accesses)
        begins = {(a.offset, a.type) for a in accesses if a.up}
        # Where some array of a type begins, others that are reached from there begin too: likely, not certain.
        self.likely = {replace(a, up=True) for a in accesses if not a.up and (a.offset, a.type) in begins}
        self.accesses = list(
            dict.fromkeys(a if a.up else replace(a, up=(a.offset, a.type) in begins) for a in accesses)
        )

    def cells(self, place: Place, size: int, *, one_array: bool, complete: bool) -> Cells | None:
        """The floats and pointers in ``size`` bytes at a place, offsets counted from it.

        ``one_array`` says that whatever lies at the place is a piece of one array: then the arrays' beginnings
        tell it apart. Otherwise all that may be there must be of one type. ``complete`` says that all accesses
        ever made are known, and that integers have no shadows: then bytes that no access touches are nothing,
        and it does no harm to take integers for floats. Else there is no answer (``None``) in such cases.
        """
        if any(a.offset == ANYWHERE and is_strong(a.type) for a in self.accesses):
            return None
        return _Reading(self, place, size, one_array, complete).run()

    def known(self, place: Place, size: int) -> Cells:
        """The scalars in ``size`` bytes at a place of which there is no doubt, integers among them."""
        return _Reading(self, place, size, False, False).certain()

    def clashes(self, place: Place, size: int) -> Cells:
        """The scalars in ``size`` bytes at a place that stand where others may stand as well."""
        return _Reading(self, place, size, False, False).clashes()


class _Reading:
    """One question to a `Typing`: which accesses may begin at which offset of a range."""

    def __init__(self, typing: Typing, place: Place, size: int, one_array: bool, complete: bool) -> None:
        self.layout = typing.layout
        self.smallest = typing.smallest
        self.likely = typing.likely
        self.place = place
        self.size = size
        self.complete = complete
        self.strong: dict[int, list[Access]] = {}
        self.weak: dict[int, list[Access]] = {}
        for access in typing.accesses:
            if access.offset != ANYWHERE:
                self._enter(access)
        everything = [a for found in self.strong.values() for a in found]
        self.ordered = one_array and place.up and all(a.up for a in everything)

    def _enter(self, access: Access) -> None:
        place = self.place
        distance = access.offset - place.offset
        common = gcd(place.step, access.stride)
        width = self.layout.store_size(access.type)
        first = distance % common if common else distance
        table = self.strong if is_strong(access.type) else self.weak
        lead = 0 if is_strong(access.type) else -(width - 1)
        start = first - -(-(first - lead) // common) * common if common else first
        for offset in range(start, self.size, common) if common else [first]:
            if lead <= offset < self.size and self._may_begin(access, offset):
                for byte in [offset] if is_strong(access.type) else range(offset, offset + width):
                    table.setdefault(byte, []).append(access)

    def _may_begin(self, access: Access, offset: int) -> bool:
        at = self.place.offset + offset
        if not access.stride and self.place.up and access.offset < at:
            return False
        return bool(self.place.step) or not access.up or access.offset <= at

    def run(self) -> Cells | None:
        found: Cells = []
        offset = gap = 0
        while offset < self.size:
            owner = self._owner(offset)
            if owner is NOWHERE:
                return None
            if owner is not None and self._fits(owner, offset):
                if not self.complete and self._is_integer(owner, offset):
                    return None
                found.append((offset, owner.type))
                offset += self.layout.store_size(owner.type)
                gap = 0
                continue
            if owner is not None and not self._is_integer(owner, offset):
                return None
            gap = gap + 1 if owner is None and offset not in self.weak else 0
            if gap >= self.smallest and not self.complete:
                return None
            offset += 1
        return found

    def clashes(self) -> Cells:
        """Scalars of several kinds that may begin at one offset: variants of an enum, for instance."""
        found: Cells = []
        for offset in range(self.size):
            strong = self._nearby(self.strong.get(offset, ()), self.place.offset + offset)
            if strong is not None and len(strong[1]) > 1:
                found += [(offset, kind) for kind in sorted(strong[1], key=str)]
        return found

    def certain(self) -> Cells:
        """The scalars of which there is no doubt: those that begin at, or next to, an access of their type."""
        found: Cells = []
        offset = 0
        while offset < self.size:
            kind = self._near(offset)
            if kind is None:
                offset += 1
                continue
            found.append((offset, kind))
            offset += self.layout.store_size(kind)
        return found

    def _near(self, offset: int) -> Type | None:
        at = self.place.offset + offset
        strong = self._nearby(self.strong.get(offset, ()), at)
        begun = [a for a in self.weak.get(offset, ()) if not self._reaches_back(a, offset)]
        weak = self._nearby(begun, at)
        if strong and not (weak and weak[0] < strong[0]):
            kinds = strong[1]
        elif weak and not self.strong.get(offset):
            kinds = weak[1]
        else:
            return None
        if len(kinds) != 1:
            return None
        (kind,) = kinds
        return kind if offset + self.layout.store_size(kind) <= self.size else None

    def _nearby(self, accesses: Iterable[Access], at: int) -> tuple[int, set[Type]] | None:
        """The distance and the types of the nearest accesses, if they are within two steps."""
        vague = self.place.step and not self.place.up
        near = [
            (abs(a.offset - at), a.type)
            for a in accesses
            if abs(a.offset - at) <= 2 * a.stride and (a.stride or not vague)
        ]
        if not near:
            return None
        distance = min(d for d, _ in near)
        return distance, {kind for d, kind in near if d == distance}

    def _reaches_back(self, access: Access, offset: int) -> bool:
        """Whether an access covers an offset without beginning there."""
        common = gcd(self.place.step, access.stride)
        distance = access.offset - self.place.offset - offset
        return bool(distance % common if common else distance)

    def _begun(self, offset: int) -> list[Access]:
        at = self.place.offset + offset
        return [a for a in self.strong.get(offset, ()) if not self.ordered or a.offset <= at]

    def _owner(self, offset: int) -> Access | None:
        """Of what may begin at an offset that which begins last; ``NOWHERE`` if that is not decided."""
        begun = self._begun(offset)
        if self.ordered and self._is_near_likely(offset):
            return NOWHERE
        if self.ordered and begun:
            last = max(a.offset for a in begun)
            begun = [a for a in begun if a.offset == last]
        if not begun:
            return None
        return begun[0] if len({a.type for a in begun}) == 1 else NOWHERE

    def _is_near_likely(self, offset: int) -> bool:
        """Whether an array begins a little behind that perhaps begins here already."""
        at = self.place.offset + offset
        return any(
            0 < a.offset - at <= MARGIN * a.stride for a in self.strong.get(offset, ()) if a in self.likely
        )

    def _fits(self, owner: Access, offset: int) -> bool:
        """Whether the scalar lies in the range, and no other one begins inside it."""
        end = offset + self.layout.store_size(owner.type)
        inside = [a for o in range(offset + 1, end) for a in self._begun(o)]
        return end <= self.size and not any(not self.ordered or a.offset > owner.offset for a in inside)

    def _is_integer(self, owner: Access, offset: int) -> bool:
        """Whether an array of integers begins between the beginning of the scalar's array and here."""
        at = self.place.offset + offset
        return self.ordered and any(a.up and owner.offset < a.offset <= at for a in self.weak.get(offset, ()))


CLASH = StructType(())
"""The type of what is accessed as two kinds of floats, or as a float and a pointer."""


def is_strong(type: Type) -> bool:
    """Whether an access of this type tells what stands there; integers also serve to move other things."""
    return isinstance(type, (FloatType, PointerType))


def stronger(a: Type, b: Type) -> Type:
    """Of an integer-typed and a float- or pointer-typed access of one cell, the latter tells the type."""
    if a is b:
        return a
    for one, other in ((a, b), (b, a)):
        if is_strong(one) and not is_strong(other):
            return one
    if is_strong(a) or not isinstance(a, IntType) or not isinstance(b, IntType):
        return CLASH
    return a if a.bits > b.bits else b


def coverage(accesses: Iterable[Access], layout: DataLayout) -> float:
    """The part of an array's period that its accesses tell of: 0 without a float, 1 where nothing is unknown."""
    arrays = [a for a in accesses if a.stride and a.offset != ANYWHERE]
    if not any(isinstance(a.type, FloatType) for a in arrays):
        return 0
    period = gcd(*(a.stride for a in arrays))
    told = {(a.offset + k) % period for a in arrays for k in range(min(layout.store_size(a.type), period))}
    return len(told) / period


def step_of(gep: GetElementPtr, layout: DataLayout) -> Place:
    """How far a ``getelementptr`` moves."""
    total, step = 0, 0
    at = gep.source_type
    for k, index in enumerate(gep.operands[1:]):
        if k == 0:
            size = layout.size_of(at)
        elif isinstance(index, ConstInt) and isinstance(layout.resolve(at), StructType):
            offset, at = layout.field_at(at, index.value)
            total += offset
            continue
        else:
            _, at = layout.field_at(at, 0)
            size = layout.size_of(at)
        if isinstance(index, ConstInt):
            total += index.value * size
        else:
            step = gcd(step, size * factor(index))
    return Place(total, step, total >= 0 and (step == 0 or "nuw" in gep.flags))


def factor(value: Value, depth: int = 6) -> int:
    """A number that divides an integer value, as far as its computation shows."""
    if isinstance(value, ConstInt):
        return abs(value.value)
    if not isinstance(value, Instruction) or depth == 0:
        return 1
    rule = _FACTORS.get(value.opcode)
    return 1 if rule is None else rule(value, depth - 1)


def _of_both(value: Instruction, depth: int) -> int:
    return gcd(factor(value.operands[-2], depth), factor(value.operands[-1], depth))


def _of_shift(value: Instruction, depth: int) -> int:
    by = value.operands[1]
    return factor(value.operands[0], depth) << by.value if isinstance(by, ConstInt) else 1


def _of_mask(value: Instruction, depth: int) -> int:
    mask = value.operands[1]
    inner = factor(value.operands[0], depth)
    return max(inner, mask.value & -mask.value) if isinstance(mask, ConstInt) else inner


def _of_call(value: Instruction, depth: int) -> int:
    name = getattr(value, "callee_name", None) or ""
    return gcd(*(factor(v, depth) for v in value.operands[:2])) if name.startswith(_SELECTING) else 1


_SELECTING = ("llvm.umin.", "llvm.umax.", "llvm.smin.", "llvm.smax.")

_FACTORS: dict[str, Callable[[Instruction, int], int]] = {
    "mul": lambda v, d: factor(v.operands[0], d) * factor(v.operands[1], d),
    "shl": _of_shift,
    "add": _of_both,
    "sub": _of_both,
    "select": _of_both,
    "sext": lambda v, d: factor(v.operands[0], d),
    "zext": lambda v, d: factor(v.operands[0], d),
    "freeze": lambda v, d: factor(v.operands[0], d),
    "and": _of_mask,
    "call": _of_call,
}


def alignment(call: Call, position: int) -> int | None:
    """The alignment that a call states of a pointer argument."""
    for word in call.arg_attributes[position]:
        if word.startswith("align "):
            return int(word.removeprefix("align "))
    return None


def flatten(type: Type, layout: DataLayout) -> Cells:
    """The scalars of a type and their byte offsets."""
    resolved = layout.resolve(type)
    if isinstance(resolved, StructType):
        parts = zip(layout.offsets(resolved), resolved.fields, strict=True)
        return [(o + inner, s) for o, f in parts for inner, s in flatten(f, layout)]
    if isinstance(resolved, (ArrayType, VectorType)):
        size = layout.size_of(resolved.element)
        inner_cells = flatten(resolved.element, layout)
        return [(k * size + o, s) for k in range(resolved.count) for o, s in inner_cells]
    return [(0, resolved)]
