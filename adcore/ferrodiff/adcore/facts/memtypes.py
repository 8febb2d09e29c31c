"""Which bytes of an object hold floats, pointers or integers, found from every typed access to it.

Objects that are copied into each other, or whose addresses stand in one cell, form a class and share their
evidence. What no access tells is unknown, and whoever asks must refuse. Layouts are made in `layouts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.layouts import (
    ANYWHERE,
    Access,
    Cells,
    Layout,
    Place,
    Typing,
    alignment,
    flatten,
    is_strong,
    settle,
    step_of,
)
from ferrodiff.adcore.facts.loops import Loops, moves_words
from ferrodiff.adcore.ir.constants import Constant, ConstExpr, GlobalRef
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    Call,
    ExtractValue,
    Freeze,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)
from ferrodiff.adcore.ir.types import FloatType, IntType, PointerType, Type, i8, ptr
from ferrodiff.adcore.ir.values import Function, Value
from ferrodiff.adcore.session import global_behind


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
        self._accesses: dict[Value, dict[Access, None]] = {}
        self._link: dict[Value, tuple[Value, Place]] = {}
        self._members: dict[Value, list[Value]] = {}
        self._wobble: dict[Value, int] = {}
        """Bytes by which objects of one class may be shifted against each other."""
        self._layouts: dict[tuple[Value, Place], Layout] = {}
        self._known: dict[Value, list[Access]] = {}
        self._held: dict[Load, bool] = {}
        self._moving: frozenset[Value] | None = None
        self._pointees: dict[Value, dict[int, Value]] = {}
        self._copies: list[tuple[Value, int | None, Value, int | None]] = []
        for block in alias.cfg.order:
            for insn in block.instructions:
                self._collect(insn)
        # Copies come last: what is one class already is shifted against itself by none of them.
        for copy in self._copies:
            self._join_copy(*copy)

    # -- queries -------------------------------------------------------------------------------------------

    def layout_of(self, pointer: Value) -> Layout | None:
        """The layout of the objects a pointer may point into, offsets counted from the object's start."""
        found: Layout | None = None
        for root in self.alias.roots(pointer):
            if _is_nowhere(root):
                continue
            each = self._layout_from(root)
            if found is not None and (each.cells != found.cells or each.stride != found.stride):
                return None
            found = each
        return None if found is None or found.conflict else found

    def scalars(
        self, pointer: Value, size: int, align: int | None = None, one_array: bool | None = None
    ) -> Cells | None:
        """Offsets (from ``pointer``) and types of the floats and pointers in ``size`` bytes.

        Integers are left out. ``None`` if any byte that is neither is not known to be an integer's. ``align`` is
        what is known of the pointer's alignment; ``one_array`` as in `Typing.cells` (``None``: unless a loop moves
        word after word there).
        """
        place = _aligned(self._place(pointer), align)
        if place is None:
            return None
        found = self.layout_of(pointer)
        cells: Cells | None = None
        if found is not None and found.cells:
            if found.stride and place.step % found.stride:
                cells = found.read_any_phase(place, size, self.layout)
            elif found.stride or not place.step:
                cells = found.read(place.offset, size, self.layout)
        if cells is None:
            one_array = pointer not in self._swept() if one_array is None else one_array
            cells = self._typed(pointer, size, align, one_array)
        return cells

    def pattern(
        self, pointer: Value, align: int | None = None, period: int = 1
    ) -> tuple[int, Cells] | None:
        """``(stride, scalars)`` of an array that starts at ``pointer``, for copies of unknown length.

        The length is known to be a multiple of ``period``.
        """
        found = self.layout_of(pointer)
        place = _aligned(self._place(pointer), align)
        if place is None:
            return None
        cells: Cells | None = None
        if found is not None and found.cells and found.stride:
            if place.step % found.stride:
                cells = found.read_any_phase(place, found.stride, self.layout)
            else:
                cells = found.read(place.offset, found.stride, self.layout)
            if cells is not None:
                return found.stride, cells
        cells = self._typed(pointer, period, align, True)
        return None if cells is None else (period, cells)

    def _swept(self) -> frozenset[Value]:
        """Addresses in loops that do nothing but move words, be they parts of one array or of a struct."""
        if self._moving is None:
            loops = Loops(self.alias.cfg).loops
            bodies = [[i for b in loop.blocks for i in b.instructions] for loop in loops if moves_words(loop)]
            self._moving = frozenset(
                i.pointer for body in bodies for i in body if isinstance(i, (Load, Store))
            )
        return self._moving

    def only_integers(self, pointer: Value) -> bool:
        """Whether nothing but integers was ever seen in the objects behind a pointer (or nothing at all)."""
        found = self.layout_of(pointer)
        return found is None or all(isinstance(t, IntType) for t in found.cells.values())

    def holds(self, pointer: Value, kind: type[Type]) -> bool:
        """Whether scalars of a kind were seen anywhere in the objects behind a pointer."""
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        return any(isinstance(a.type, kind) for r in roots for a in self.accesses_of(r))

    def only_floats(self, kind: Type, *pointers: Value) -> bool:
        """Whether all floats ever seen behind some pointers are of one kind, at multiples of its size."""
        width = self.layout.store_size(kind)
        leaders = {self._find(r)[0] for p in pointers for r in self.alias.roots(p) if not _is_nowhere(r)}
        members = (m for leader in leaders for m in self._members.get(leader, (leader,)))
        floats = [a for m in members for a in self._accesses.get(m, ()) if isinstance(a.type, FloatType)]
        return all(
            a.type is kind and (a.offset == ANYWHERE or gcd(a.offset, a.stride) % width == 0) for a in floats
        )

    def is_made_here(self, pointer: Value) -> bool:
        """Whether all memory that shares its layout with a pointer's was made by this function."""
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        return all(self._is_made_here(self._find(r)[0]) for r in roots)

    def _is_made_here(self, leader: Value) -> bool:
        for member in self._members.get(leader, (leader,)):
            origin = member.operands[0] if isinstance(member, ExtractValue) else member
            constant = isinstance(origin, GlobalRef) and self._is_constant(origin)
            if not (constant or isinstance(origin, (_Pointee, Load)) or self.alias.is_local(origin)):
                return False
            if isinstance(origin, Load) and not self._is_held_here(origin):
                return False
        return True

    def _is_constant(self, root: GlobalRef) -> bool:
        module = self.alias.function.module
        found = module.globals.get(root.name) if module is not None else None
        return found is not None and found.is_constant

    def _is_held_here(self, load: Load) -> bool:
        """Whether an address was read from memory that this function made."""
        known = self._held.get(load)
        if known is None:
            self._held[load] = True
            roots = self.alias.roots(load.pointer)
            known = self._held[load] = all(
                self._is_held_here(r) if isinstance(r, Load) else self.alias.is_local(r) for r in roots
            )
        return known

    def _typed(self, pointer: Value, size: int, align: int | None, one_array: bool) -> Cells | None:
        """What the single accesses tell, where the layout as a whole tells nothing."""
        place = self._place(pointer)
        if place is None or not place.up:
            place = _aligned(place, align)
        if place is None:
            return None
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        accesses = [a for r in roots for a in self.accesses_of(r)]
        if not any(is_strong(a.type) for a in accesses):
            return None
        complete = self.is_made_here(pointer)
        return Typing(accesses, self.layout).cells(place, size, one_array=one_array, complete=complete)

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
                    self._copies.append((insn.pointer, insn.align, origin.pointer, origin.align))
            if isinstance(insn.value.type, PointerType):
                self._point(insn.pointer, insn.value)
        elif isinstance(insn, Call) and (insn.callee_name or "").startswith(
            ("llvm.memcpy.", "llvm.memmove.")
        ):
            self._copies.append((insn.args[0], alignment(insn, 0), insn.args[1], alignment(insn, 1)))
        elif isinstance(insn, Call) and self.callee is not None:
            for argument, accesses in zip(insn.args, self.callee(insn), strict=False):
                for access in accesses:
                    self._add_access(argument, access)

    def _add(self, pointer: Value, type: Type, align: int | None) -> None:
        for offset, scalar in flatten(type, self.layout):
            self._add_access(pointer, Access(offset, 0, scalar), align)

    def _add_access(self, pointer: Value, access: Access, align: int | None = None) -> None:
        place = _aligned(self._place(pointer), align)
        for root in self.alias.roots(pointer):
            if _is_nowhere(root):
                continue
            known = self._accesses.setdefault(root, {})
            if place is None or access.offset == ANYWHERE:
                known[Access(ANYWHERE, 0, access.type)] = None
            else:
                known[access.seen_from(place)] = None

    def accesses_of(self, root: Value) -> list[Access]:
        """All typed accesses to the objects that a root's memory shares its layout with, seen from the root."""
        leader, place = self._find(root)
        back = Place(-place.offset, place.step, place.step == 0)
        return list(dict.fromkeys(a.seen_from(back) for a in self._class_accesses(leader)))

    def _class_accesses(self, leader: Value) -> list[Access]:
        found = self._known.get(leader)
        if found is None:
            extra = Place(0, self._wobble.get(leader, 0), not self._wobble.get(leader, 0))
            found = self._known[leader] = list(
                dict.fromkeys(
                    a.seen_from(self._find(r)[1].shifted(extra))
                    for r in self._members.get(leader, (leader,))
                    for a in self._accesses.get(r, ())
                )
            )
        return found

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
        self._forget()

    def learn(self, pointer: Value, accesses: Iterable[Access]) -> None:
        """More evidence: accesses as seen from a pointer."""
        for access in accesses:
            self._add_access(pointer, access)
        self._forget()

    def arrays(self, pointer: Value) -> tuple[Access, ...]:
        """The accesses that repeat, seen from a pointer, if there are floats among them; in one order."""
        place = self._place(pointer)
        if place is None:
            return ()
        found: set[Access] = set()
        for root in self.alias.roots(pointer):
            if not _is_nowhere(root):
                seen = [a.seen_from(Place(-place.offset, place.step, False)) for a in self.accesses_of(root)]
                found |= {Access(a.offset % a.stride, a.stride, a.type, False) for a in seen if a.stride}
        if not any(isinstance(a.type, FloatType) for a in found):
            return ()
        return tuple(sorted(found, key=lambda a: (a.offset, a.stride, str(a.type))))

    def _join_copy(self, to: Value, to_align: int | None, source: Value, source_align: int | None) -> None:
        while _same_step(to, source):
            assert isinstance(to, GetElementPtr) and isinstance(source, GetElementPtr)
            to, source = to.base, source.base
        a, b = _aligned(self._place(to), to_align), _aligned(self._place(source), source_align)
        for x in self.alias.roots(to):
            for y in self.alias.roots(source):
                self._union(x, a, y, b)

    def _place(self, pointer: Value) -> Place | None:
        """Where in its root's object a pointer points; ``None`` if unknown."""
        return self._place_within(pointer, set())

    def _place_within(self, pointer: Value, seen: set[Value]) -> Place | None:
        if isinstance(pointer, GetElementPtr):
            same = _moved_to(pointer)
            if same is not None:
                return self._place_within(same, seen)
            inner = self._place_within(pointer.base, seen)
            return None if inner is None else inner.shifted(step_of(pointer, self.layout))
        if isinstance(pointer, (Phi, Select)):
            if pointer in seen:
                return Place(0)
            return self._merge(pointer, seen | {pointer})
        inside = isinstance(pointer, ConstExpr) and global_behind(pointer) is not None
        return None if inside else Place(0)

    def _merge(self, pointer: Phi | Select, seen: set[Value]) -> Place | None:
        operands = pointer.operands if isinstance(pointer, Phi) else pointer.operands[1:]
        places: list[tuple[Place, bool]] = []
        for operand in operands:
            inner = self._place_within(operand, seen)
            if inner is None:
                return None
            places.append((inner, pointer in self.chain(operand)))
        starts = [p.offset for p, cyclic in places if not cyclic]
        first = min(starts, default=0)
        step, up = 0, True
        for place, cyclic in places:
            moved = place.offset if cyclic else place.offset - first
            step = gcd(step, place.step, abs(moved))
            up = up and place.up and moved >= 0
        return Place(first, step, up)

    def chain(self, pointer: Value) -> Iterator[Value]:
        """A pointer and what it is offset from, through ``getelementptr`` only."""
        while True:
            yield pointer
            if not isinstance(pointer, GetElementPtr):
                return
            pointer = pointer.base

    # -- classes -------------------------------------------------------------------------------------------

    def _find(self, root: Value) -> tuple[Value, Place]:
        """The leader of a root's class, and where in the leader's object the root's begins."""
        place = Place(0)
        while root in self._link:
            root, more = self._link[root]
            place = place.shifted(more)
        return root, place

    def _union(self, a: Value, a_place: Place | None, b: Value, b_place: Place | None) -> None:
        """The bytes at a place of one object and those at a place of another are of one layout."""
        work: list[tuple[Value, Place | None, Value, Place | None]] = [(a, a_place, b, b_place)]
        while work:
            a, a_place, b, b_place = work.pop()
            if _is_nowhere(a) or _is_nowhere(b):
                continue
            leader, at = self._find(a)
            other, other_at = self._find(b)
            apart = _difference(at, a_place, other_at, b_place)
            self._forget()
            if leader is other and _is_shift(at, a_place, other_at, b_place):
                continue
            if leader is other:
                self._wobble[other] = gcd(self._wobble.get(other, 0), apart.offset, apart.step)
                continue
            self._link[leader] = other, apart
            self._wobble[other] = gcd(self._wobble.get(other, 0), self._wobble.pop(leader, 0))
            self._members.setdefault(other, [other]).extend(self._members.pop(leader, [leader]))
            targets = self._pointees.setdefault(other, {})
            for offset, target in self._pointees.pop(leader, {}).items():
                near = _cell(apart.shifted(Place(offset)), self._wobble[other])
                if near in targets:
                    work.append((target, Place(0), targets[near], Place(0)))
                else:
                    targets[near] = target

    def _point(self, place: Value, value: Value) -> None:
        """Memory at ``place`` holds ``value``: all that is stored in or loaded from one cell is one class."""
        where, inside = self._place(place), self._place(value)
        if where is None:
            return
        for root in self.alias.roots(place):
            if _is_nowhere(root):
                continue
            leader, at = self._find(root)
            cell = _cell(at.shifted(where), self._wobble.get(leader, 0))
            target = self._pointees.setdefault(leader, {}).setdefault(cell, _Pointee())
            for origin in self.alias.roots(value):
                self._union(origin, inside, target, Place(0))

    def _forget(self) -> None:
        self._layouts.clear()
        self._known.clear()

    def _layout_from(self, root: Value) -> Layout:
        key = self._find(root)
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = settle(self.accesses_of(root), self.layout)
        return found


def _difference(at: Place, a: Place | None, other_at: Place, b: Place | None) -> Place:
    """Where the first leader's object begins in the second's, if ``a`` of the one is ``b`` of the other."""
    if a is None or b is None:
        return Place(0, 1, False)
    step = gcd(at.step, a.step, other_at.step, b.step)
    offset = other_at.offset + b.offset - at.offset - a.offset
    # Two arrays that begin at one offset: the elements are of one layout, wherever they stand.
    if offset == 0 and _one_step(a, b):
        step = gcd(at.step, other_at.step)
    return Place(offset, step, step == 0)


def _is_shift(at: Place, a: Place | None, other_at: Place, b: Place | None) -> bool:
    """Whether elements of one array move by one or two places, which tells nothing."""
    step = _one_step(a, b) if a is not None and b is not None else 0
    if a is None or b is None or not step:
        return False
    distance = at.offset + a.offset - other_at.offset - b.offset
    return distance % step == 0 and abs(distance) <= 2 * step and not (at.step or other_at.step)


def _one_step(a: Place, b: Place) -> int:
    """The step of two places in arrays of equal elements; 0 if they are no such places."""
    step = gcd(a.step, b.step)
    return step if a.up and b.up and a.step in (0, step) and b.step in (0, step) else 0


def _cell(place: Place, wobble: int) -> int:
    """What names a cell of a class: its offset, or its phase."""
    step = gcd(place.step, wobble)
    return place.offset % step if step else place.offset


def _aligned(place: Place | None, align: int | None) -> Place | None:
    """A place made more precise by alignment: objects begin at multiples of their scalars' alignment."""
    if align is None or align < 2:
        return place
    if place is None:
        return Place(0, align, False)
    known = place.step and align % place.step == 0 and align != place.step
    return Place(0, align, False) if known else place


def _same_step(a: Value, b: Value) -> bool:
    """Whether two pointers are as far from their bases as each other, at any time."""
    if not isinstance(a, GetElementPtr) or not isinstance(b, GetElementPtr):
        return False
    steps, others = a.operands[1:], b.operands[1:]
    same = len(steps) == len(others) and all(x is y for x, y in zip(steps, others, strict=False))
    return same and a.source_type is b.source_type


def _moved_to(pointer: GetElementPtr) -> Value | None:
    """The pointer ``p`` of ``base + (p - base)``."""
    index = pointer.operands[1]
    if len(pointer.operands) != 2 or pointer.source_type is not i8 or not isinstance(index, Instruction):
        return None
    if index.opcode != "sub":
        return None
    to, start = index.operands
    if not all(isinstance(v, Instruction) and v.opcode == "ptrtoint" for v in (to, start)):
        return None
    assert isinstance(to, Instruction) and isinstance(start, Instruction)
    return to.operands[0] if start.operands[0] is pointer.base else None


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
