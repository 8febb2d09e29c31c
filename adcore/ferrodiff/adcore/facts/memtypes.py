"""Which bytes of an object hold floats, pointers or integers, found from every typed access to it.

An object's layout repeats with a *stride*: the greatest common divisor of all the steps that its accesses
are indexed by. Objects that are copied into each other share their evidence. What no access tells is
unknown, and whoever asks must refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.ir.constants import Constant, ConstInt, GlobalRef
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    Call,
    Freeze,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)
from ferrodiff.adcore.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    ptr,
)
from ferrodiff.adcore.ir.values import Function, Value


@dataclass
class Layout:
    """Scalars by offset, repeating every ``stride`` bytes (0: not repeating). ``conflict`` spoils it."""

    stride: int = 0
    cells: dict[int, Type] = field(default_factory=dict)
    conflict: bool = False

    def kind_at(self, offset: int) -> Type | None:
        """The scalar that starts at an offset, if known."""
        return self.cells.get(offset % self.stride if self.stride else offset)


ANYWHERE = -(1 << 60)
"""The offset of an access of which no offset is known."""


@dataclass(frozen=True)
class Access:
    """A scalar of ``type`` at ``offset`` plus multiples of ``stride``; ``ANYWHERE`` if that is not known."""

    offset: int
    stride: int
    type: Type


class MemoryTypes:
    """Layouts of the objects of one function, a snapshot.

    ``callee`` gives, for a call of a function with a body, what that function's accesses tell of each
    argument's memory.
    """

    def __init__(
        self,
        function: Function,
        alias: Alias,
        layout: DataLayout,
        callee: Callable[[Call], list[list[Access]]] | None = None,
    ) -> None:
        self.callee = callee
        self.alias = alias
        self.layout = layout
        self._accesses: dict[Value, list[Access]] = {}
        self._link: dict[Value, Value] = {}
        self._layouts: dict[Value, Layout] = {}
        self._pointees: dict[Value, dict[int, Value]] = {}
        for block in alias.cfg.order:
            for insn in block.instructions:
                self._collect(insn)

    # -- queries -------------------------------------------------------------------------------------------

    def layout_of(self, pointer: Value) -> Layout | None:
        """The layout of the objects a pointer may point into, offsets counted from the object's start."""
        found: Layout | None = None
        for root in self.alias.roots(pointer):
            if _is_nowhere(root):
                continue
            each = self._layout_of_class(self._find(root))
            if found is not None and (each.cells != found.cells or each.stride != found.stride):
                return None
            found = each
        return None if found is None or found.conflict else found

    def scalars(self, pointer: Value, size: int, align: int | None = None) -> list[tuple[int, Type]] | None:
        """Offsets (from ``pointer``) and types of the floats and pointers in ``size`` bytes.

        Integers are left out. ``None`` if any byte that is neither is not known to be an integer's. ``align`` is
        what is known of the pointer's alignment.
        """
        place = _aligned(self._place(pointer), align)
        found = self.layout_of(pointer)
        if place is None or found is None or not found.cells:
            return None
        start, step = place
        if found.stride == 0 and step:
            return None
        if found.stride and step % found.stride:
            return self._uniform(found, start, step, size)
        return self._read(found, start, size)

    def pattern(self, pointer: Value, align: int | None = None) -> tuple[int, list[tuple[int, Type]]] | None:
        """``(stride, scalars)`` of an array that starts at ``pointer``, for copies of unknown length."""
        found = self.layout_of(pointer)
        place = _aligned(self._place(pointer), align)
        if found is None or not found.cells or place is None or found.stride == 0:
            return None
        if place[1] % found.stride:
            cells = self._uniform(found, place[0], place[1], found.stride)
        else:
            cells = self._read(found, place[0], found.stride)
        return None if cells is None else (found.stride, cells)

    def _uniform(self, found: Layout, start: int, step: int, size: int) -> list[tuple[int, Type]] | None:
        """The scalars where the phase is unknown: only if every phase looks the same."""
        stride = gcd(found.stride, step)
        kinds = {found.cells.get(o) for o in range(start % stride, found.stride, stride)}
        width = self.layout.store_size(next(iter(found.cells.values())))
        if len(kinds) != 1 or None in kinds or width != stride:
            return None
        return self._read(found, start, size)

    def _read(self, found: Layout, start: int, size: int) -> list[tuple[int, Type]] | None:
        cells: list[tuple[int, Type]] = []
        offset = 0
        while offset < size:
            kind = found.kind_at(start + offset)
            if kind is None:
                if self._is_padding(found, start + offset):
                    offset += 1
                    continue
                return None
            width = self.layout.store_size(kind)
            if offset + width > size:
                return None
            if isinstance(kind, (FloatType, PointerType)):
                cells.append((offset, kind))
            offset += width
        return cells

    def _is_padding(self, found: Layout, offset: int) -> bool:
        """Bytes nobody ever reads or writes as a scalar, in an object whose every access is seen."""
        return False

    def only_integers(self, pointer: Value) -> bool:
        """Whether nothing but integers was ever seen in the objects behind a pointer (or nothing at all)."""
        found = self.layout_of(pointer)
        return found is None or all(isinstance(t, IntType) for t in found.cells.values())

    # -- evidence ------------------------------------------------------------------------------------------

    def _collect(self, insn: Instruction) -> None:
        if isinstance(insn, Load):
            evidence = self._evidence(insn)
            if evidence is not None:
                self._add(insn.pointer, evidence, insn.align)
            if isinstance(insn.type, PointerType):
                self._point(insn.pointer, insn)
        elif isinstance(insn, Store):
            origins = copied_from(insn.value)
            if origins is None:
                self._add(insn.pointer, insn.value.type, insn.align)
            else:
                for origin in origins:
                    self._join_copy(insn.pointer, origin.pointer)
            if isinstance(insn.value.type, PointerType):
                self._point(insn.pointer, insn.value)
        elif isinstance(insn, Call) and (insn.callee_name or "").startswith(
            ("llvm.memcpy.", "llvm.memmove.")
        ):
            self._join_copy(insn.args[0], insn.args[1])
        elif isinstance(insn, Call) and self.callee is not None:
            for argument, accesses in zip(insn.args, self.callee(insn), strict=False):
                for access in accesses:
                    self._add_access(argument, access)
        elif isinstance(insn, (Phi, Select)) and isinstance(insn.type, PointerType):
            roots = list(self.alias.roots(insn))
            for other in roots[1:]:
                self._union(roots[0], other)

    def _add(self, pointer: Value, type: Type, align: int | None) -> None:
        for offset, scalar in flatten(type, self.layout):
            self._add_access(pointer, Access(offset, 0, scalar), align)

    def _add_access(self, pointer: Value, access: Access, align: int | None = None) -> None:
        place = _aligned(self._place(pointer), align)
        for root in self.alias.roots(pointer):
            if _is_nowhere(root):
                continue
            known = self._accesses.setdefault(root, [])
            if place is None or access.offset == ANYWHERE:
                known.append(Access(ANYWHERE, 0, access.type))
            else:
                known.append(Access(place[0] + access.offset, gcd(place[1], access.stride), access.type))

    def accesses_of(self, root: Value) -> list[Access]:
        """All typed accesses to the objects that a root's memory shares its layout with."""
        leader = self._find(root)
        return [a for r, found in self._accesses.items() if self._find(r) is leader for a in found]

    def _evidence(self, load: Load) -> Type | None:
        """What a load tells of its memory.

        Integers that are only stored elsewhere tell nothing; those that become a float somewhere are that float.
        """
        if not isinstance(load.type, IntType) or load.type.bits < 16:
            return load.type
        only_copied = True
        seen: set[Value] = {load}
        work: list[Value] = [load]
        while work:
            at = work.pop()
            for user in self.alias.users(at):
                if user.opcode == "bitcast" and isinstance(user.type, FloatType):
                    return user.type
                if isinstance(user, (Phi, Select, Freeze)):
                    if user not in seen:
                        seen.add(user)
                        work.append(user)
                elif not (isinstance(user, Store) and user.value is at):
                    only_copied = False
        return None if only_copied else load.type

    def settle_as(self, pointer: Value, cells: Iterable[tuple[int, Type]], align: int | None) -> None:
        """More evidence: scalars at offsets from a pointer."""
        for offset, kind in cells:
            self._add_access(pointer, Access(offset, 0, kind), align)
        self._layouts.clear()

    def _join_copy(self, to: Value, source: Value) -> None:
        for a in self.alias.roots(to):
            for b in self.alias.roots(source):
                self._union(a, b)

    def _place(self, pointer: Value) -> tuple[int, int] | None:
        """``(offset, step)`` from the root: a constant plus multiples of ``step``; ``None`` if unknown."""
        return self._place_within(pointer, set())

    def _place_within(self, pointer: Value, seen: set[Value]) -> tuple[int, int] | None:
        if isinstance(pointer, GetElementPtr):
            inner = self._place_within(pointer.base, seen)
            if inner is None:
                return None
            offset, step = _gep_place(pointer, self.layout)
            return inner[0] + offset, gcd(inner[1], step)
        if isinstance(pointer, (Phi, Select)):
            if pointer in seen:
                return 0, 0
            return self._merge(pointer, seen | {pointer})
        return 0, 0

    def _merge(self, pointer: Phi | Select, seen: set[Value]) -> tuple[int, int] | None:
        operands = pointer.operands if isinstance(pointer, Phi) else pointer.operands[1:]
        places = []
        for operand in operands:
            inner = self._place_within(operand, seen)
            if inner is None:
                return None
            places.append((inner, pointer in self.chain(operand)))
        starts = [p for p, cyclic in places if not cyclic]
        first = starts[0][0] if starts else 0
        step = 0
        for (offset, inner_step), cyclic in places:
            step = gcd(step, inner_step)
            step = gcd(step, abs(offset) if cyclic else abs(offset - first))
        return first, step

    def chain(self, pointer: Value) -> Iterator[Value]:
        """A pointer and what it is offset from, through ``getelementptr`` only."""
        while True:
            yield pointer
            if not isinstance(pointer, GetElementPtr):
                return
            pointer = pointer.base

    # -- classes -------------------------------------------------------------------------------------------

    def _find(self, root: Value) -> Value:
        while root in self._link:
            root = self._link[root]
        return root

    def _union(self, a: Value, b: Value) -> None:
        work = [(a, b)]
        while work:
            a, b = (self._find(v) for v in work.pop())
            if a is b or _is_nowhere(a) or _is_nowhere(b):
                continue
            self._link[a] = b
            self._layouts.clear()
            targets = self._pointees.setdefault(b, {})
            for offset, target in self._pointees.pop(a, {}).items():
                if offset in targets:
                    work.append((target, targets[offset]))
                else:
                    targets[offset] = target

    def _point(self, place: Value, value: Value) -> None:
        """Memory at ``place`` holds ``value``: all that is stored in or loaded from one cell is one class."""
        where = self._place(place)
        if where is None:
            return
        offset = where[0] % where[1] if where[1] else where[0]
        for root in self.alias.roots(place):
            if _is_nowhere(root):
                continue
            target = self._pointees.setdefault(self._find(root), {}).setdefault(offset, _Pointee())
            for origin in self.alias.roots(value):
                self._union(origin, target)

    def _layout_of_class(self, leader: Value) -> Layout:
        found = self._layouts.get(leader)
        if found is None:
            members = [r for r in self._accesses if self._find(r) is leader]
            accesses = [a for r in members for a in self._accesses[r]]
            found = self._layouts[leader] = self._settle(accesses)
        return found

    def _settle(self, accesses: list[Access]) -> Layout:
        result = Layout()
        for access in accesses:
            result.stride = gcd(result.stride, access.stride)
        kinds = {a.type for a in accesses}
        if len(kinds) == 1:
            only = next(iter(kinds))
            width = self.layout.store_size(only)
            steps = (s for a in accesses for s in (a.offset, a.stride))
            if all(a.offset != ANYWHERE for a in accesses) and all(s % width == 0 for s in steps):
                return Layout(width, {0: only})
        for access in accesses:
            if access.offset == ANYWHERE or (access.offset < 0 and not result.stride):
                result.conflict = True
            offset = access.offset % result.stride if result.stride else access.offset
            before = result.cells.setdefault(offset, access.type)
            if before is not access.type:
                result.cells[offset] = _stronger(before, access.type)
                result.conflict = result.conflict or result.cells[offset] is _CLASH
        return result


def _aligned(place: tuple[int, int] | None, align: int | None) -> tuple[int, int] | None:
    """A place made more precise by alignment: objects begin at multiples of their scalars' alignment."""
    if align is None or align < 2:
        return place
    if place is None:
        return 0, align
    return (0, align) if place[1] and align % place[1] == 0 and align != place[1] else place


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


class _Pointee(Value):
    """Stands for whatever a cell of memory points to."""

    __slots__ = ()

    def __init__(self) -> None:
        self.type = ptr
        self.ref = "pointee"


def _is_nowhere(root: Value) -> bool:
    """Null and dangling addresses: no memory is behind them."""
    return isinstance(root, Constant) and not isinstance(root, GlobalRef)


_CLASH = StructType(())


def _stronger(a: Type, b: Type) -> Type:
    """Of an integer-typed and a float- or pointer-typed access of one cell, the latter tells the type."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, (FloatType, PointerType)) and not isinstance(other, (FloatType, PointerType)):
            return one
    return _CLASH


def _gep_place(gep: GetElementPtr, layout: DataLayout) -> tuple[int, int]:
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
    return total, step


def factor(value: Value, depth: int = 6) -> int:
    """A number that divides an integer value, as far as its computation shows."""
    if isinstance(value, ConstInt):
        return abs(value.value)
    if not isinstance(value, Instruction) or depth == 0:
        return 1
    parts = [factor(v, depth - 1) for v in value.operands] if value.opcode in _FACTORED else []
    last = value.operands[-1] if value.operands else None
    if value.opcode == "mul":
        return parts[0] * parts[1]
    if value.opcode == "shl" and isinstance(last, ConstInt):
        return parts[0] << last.value
    if value.opcode in ("add", "sub"):
        return gcd(parts[0], parts[1])
    if value.opcode in ("sext", "zext", "freeze"):
        return parts[0]
    if value.opcode == "and" and isinstance(last, ConstInt):
        return max(parts[0], last.value & -last.value)
    if value.opcode == "select":
        return gcd(factor(value.operands[1], depth - 1), factor(value.operands[2], depth - 1))
    return 1


_FACTORED = frozenset(["mul", "shl", "add", "sub", "sext", "zext", "freeze", "and"])


def flatten(type: Type, layout: DataLayout) -> list[tuple[int, Type]]:
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
