"""Which bytes of an object hold floats, pointers or integers, found from every typed access to it.

Objects that are copied into each other, or whose addresses stand in one cell, form a class and share their
evidence. What no access tells is unknown, and whoever asks must refuse. Layouts are made in `layouts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.copies import LONG, Copy, Groups, copied_from, floats_from, floats_in
from ferrodiff.adcore.facts.layouts import (
    ANYWHERE,
    CLASH,
    Access,
    Cells,
    Layout,
    Place,
    Typing,
    alignment,
    factor,
    flatten,
    is_strong,
    settle,
    step_of,
)
from ferrodiff.adcore.facts.loops import Loops, moves_words
from ferrodiff.adcore.facts.places import aligned, between, cell, difference
from ferrodiff.adcore.ir.constants import Constant, ConstExpr, ConstInt, GlobalRef
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

NO_FLOAT = 1 << 30
"""More bytes than any float has."""

ROUNDS = 12
"""Copies pass on what is known; this often they are looked at again."""


class MemoryTypes:
    """Layouts of the objects of one function, a snapshot.

    ``callee`` gives, for a call of a function with a body, what that function's accesses tell of each
    argument's memory. No float that memory holds is smaller than ``smallest`` bytes.
    """

    def __init__(
        self,
        function: Function,
        alias: Alias,
        layout: DataLayout,
        callee: Callable[[Call], list[list[Access]]] | None = None,
        smallest: int = 1,
    ) -> None:
        self.callee = callee
        self.smallest = smallest
        self.alias = alias
        self.layout = layout
        self._accesses: dict[Value, dict[Access, None]] = {}
        self._link: dict[Value, tuple[Value, Place]] = {}
        self._members: dict[Value, list[Value]] = {}
        self._wobble: dict[Value, int] = {}
        """Bytes by which objects of one class may be shifted against each other."""
        self._layouts: dict[frozenset[tuple[Value, Place]], Layout] = {}
        self._known: dict[Value, list[Access]] = {}
        self._views: dict[tuple[Value, Place], list[Access]] = {}
        self._places: dict[Value, Place | None] = {}
        self._held: dict[Load, bool] = {}
        self._moving: frozenset[Value] | None = None
        self._pointees: dict[Value, dict[int, Value]] = {}
        self._copies: list[Copy] = []
        self._groups = Groups()
        self._settled = False
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
        place = aligned(self._place(pointer), align)
        if place is None:
            return None
        found = self.layout_of(pointer)
        cells: Cells | None = None
        if found is not None and found.cells:
            if found.stride and place.step % found.stride:
                cells = found.read_any_phase(place, size, self.layout)
            elif found.stride or not place.step:
                cells = found.read(place.offset, size, self.layout, self.smallest)
        if cells is None:
            one_array = pointer not in self._swept() if one_array is None else one_array
            cells = self._typed(pointer, size, align, one_array)
        return cells

    def pattern(self, pointer: Value, align: int | None = None, period: int = 1) -> tuple[int, Cells] | None:
        """``(stride, scalars)`` of an array that starts at ``pointer``, for copies of unknown length.

        The length is known to be a multiple of ``period``.
        """
        found = self.layout_of(pointer)
        place = aligned(self._place(pointer), align)
        if place is None:
            return None
        cells: Cells | None = None
        if found is not None and found.cells and found.stride:
            if place.step % found.stride:
                cells = found.read_any_phase(place, found.stride, self.layout)
            else:
                cells = found.read(place.offset, found.stride, self.layout, self.smallest)
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

    def holds(self, pointer: Value, kind: type[Type]) -> bool:
        """Whether scalars of a kind were seen anywhere in the objects behind a pointer."""
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        return any(isinstance(a.type, kind) for r in roots for a in self.accesses_of(r))

    def smallest_float(self, pointer: Value) -> int:
        """Bytes of the smallest floats ever seen behind a pointer, or ``NO_FLOAT``."""
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        kinds = {a.type for r in roots for a in self.accesses_of(r) if isinstance(a.type, FloatType)}
        return min((self.layout.store_size(k) for k in kinds), default=NO_FLOAT)

    def only_floats(self, kind: Type, *pointers: Value) -> bool:
        """Whether all floats ever seen behind some pointers are of one kind, at multiples of its size."""
        width = self.layout.store_size(kind)
        leaders = {self._find(r)[0] for p in pointers for r in self.alias.roots(p) if not _is_nowhere(r)}
        members = (m for leader in leaders for m in self._members.get(leader, (leader,)))
        floats = [a for m in members for a in self._accesses.get(m, ()) if isinstance(a.type, FloatType)]
        return all(
            a.type is kind and (a.offset == ANYWHERE or gcd(a.offset, a.stride) % width == 0) for a in floats
        )

    def clashes(self, *pointers: Value) -> bool:
        """Whether floats and pointers share a place behind some pointers: variants of an enum, for instance."""
        roots = {r for p in pointers for r in self.alias.roots(p) if not _is_nowhere(r)}
        return any(CLASH in self._layout_from(r).cells.values() for r in roots)

    def is_made_here(self, pointer: Value) -> bool:
        """Whether all memory that shares its layout with a pointer's was made by this function."""
        self._exchange()
        return all(self._is_made_here(r) for r in self.alias.roots(pointer) if not _is_nowhere(r))

    def _is_made_here(self, root: Value) -> bool:
        for member in self._groups.members(root):
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
            place = aligned(place, align)
        if place is None:
            return None
        roots = [r for r in self.alias.roots(pointer) if not _is_nowhere(r)]
        accesses = [a for r in roots for a in self.accesses_of(r)]
        if not any(is_strong(a.type) for a in accesses):
            return None
        complete = self.is_made_here(pointer)
        typing = Typing(accesses, self.layout, self.smallest)
        return typing.cells(place, size, one_array=one_array, complete=complete)

    # -- evidence ------------------------------------------------------------------------------------------

    def _collect(self, insn: Instruction) -> None:
        if isinstance(insn, Load):
            evidence = self._evidence(insn)
            if evidence is not None:
                pieces = floats_from(insn, self.alias.users) if isinstance(evidence, IntType) else []
                self._add_pieces(insn, evidence, pieces)
            if isinstance(insn.type, PointerType):
                self._point(insn.pointer, insn)
        elif isinstance(insn, Store):
            origins = copied_from(insn.value)
            if origins is None:
                pieces = floats_in(insn.value) if isinstance(insn.value.type, IntType) else []
                self._add_pieces(insn, insn.value.type, pieces)
            else:
                size = self.layout.store_size(insn.value.type)
                for origin in origins:
                    self._note_copy(
                        Copy(insn.pointer, insn.align, origin.pointer, origin.align, size, size, False)
                    )
            if isinstance(insn.value.type, PointerType):
                self._point(insn.pointer, insn.value)
        elif isinstance(insn, Call) and (insn.callee_name or "").startswith(
            ("llvm.memcpy.", "llvm.memmove.")
        ):
            length = insn.args[2]
            fixed = length.value if isinstance(length, ConstInt) else None
            to, source = alignment(insn, 0), alignment(insn, 1)
            self._note_copy(Copy(insn.args[0], to, insn.args[1], source, fixed, factor(length), True))
        elif isinstance(insn, Call) and self.callee is not None:
            for argument, accesses in zip(insn.args, self.callee(insn), strict=False):
                for access in accesses:
                    self._add_access(argument, access)

    def _add_pieces(self, insn: Load | Store, type: Type, floats: list[tuple[int, FloatType]]) -> None:
        """An access of floats side by side in one integer, with other bytes between them; or of a whole."""
        if not floats:
            self._add(insn.pointer, type, insn.align)
            return
        told = {o + k for o, kind in floats for k in range(self.layout.store_size(kind))}
        rest: list[tuple[int, Type]] = [(k, i8) for k in range(self.layout.store_size(type)) if k not in told]
        for offset, kind in [*floats, *rest]:
            self._add_access(insn.pointer, Access(offset, 0, kind), insn.align)

    def _add(self, pointer: Value, type: Type, align: int | None) -> None:
        for offset, scalar in flatten(type, self.layout):
            self._add_access(pointer, Access(offset, 0, scalar), align)

    def _add_access(self, pointer: Value, access: Access, align: int | None = None) -> None:
        place = aligned(self._place(pointer), align)
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
        self._exchange()
        return self._seen_from(root)

    def _seen_from(self, root: Value) -> list[Access]:
        key = leader, place = self._find(root)
        found = self._views.get(key)
        if found is None:
            back = Place(-place.offset, place.step, place.step == 0)
            seen = dict.fromkeys(a.seen_from(back) for a in self._class_accesses(leader))
            found = self._views[key] = list(seen)
        return found

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

    # -- copies --------------------------------------------------------------------------------------------

    def _note_copy(self, copy: Copy) -> None:
        copy = copy.stripped()
        self._copies.append(copy)
        for x in self.alias.roots(copy.to):
            for y in self.alias.roots(copy.source):
                if not (_is_nowhere(x) or _is_nowhere(y)):
                    self._groups.join(x, y)

    def _exchange(self) -> None:
        """Tell both ends of every copy what is known of the other end, until nothing is news."""
        if self._settled:
            return
        seen: dict[Copy, tuple[int, int]] = {}
        for _ in range(ROUNDS):
            news, self._settled = False, True
            for copy in self._copies:
                state = self._amount(copy.to), self._amount(copy.source)
                if seen.get(copy) != state:
                    news = self._tell(copy, copy.reversed()) or news
                    news = self._tell(copy.reversed(), copy) or news
                    seen[copy] = self._amount(copy.to), self._amount(copy.source)
            if not news and self._settled:
                return
        self._settled = True

    def _amount(self, pointer: Value) -> int:
        return sum(len(self._seen_from(r)) for r in self.alias.roots(pointer) if not _is_nowhere(r))

    def _tell(self, copy: Copy, back: Copy) -> bool:
        """Tell the target of a copy what is known of its source; say whether that was news."""
        found = self._copied(copy)
        before = [len(self._accesses.get(r, ())) for r in self.alias.roots(copy.to)]
        for access in found:
            self._add_access(copy.to, access, copy.to_align)
            if isinstance(access.type, PointerType):
                self._join_pointees(copy, back, access)
        after = [len(self._accesses.get(r, ())) for r in self.alias.roots(copy.to)]
        if before != after:
            self._clear()
        return before != after

    def _copied(self, copy: Copy) -> list[Access]:
        """What is known of the source of a copy, as accesses seen from its first byte."""
        place = self._place(copy.source)
        if place is None or not place.up:
            place = aligned(place, copy.source_align)
        if place is None:
            return []
        roots = [r for r in self.alias.roots(copy.source) if not _is_nowhere(r)]
        accesses = [a for r in roots for a in self._seen_from(r)]
        if not accesses:
            return []
        layout = self._settle(roots)
        repeat = 0 if copy.size is not None else copy.period
        window = copy.period if copy.size is None else copy.size
        part = self._is_part(copy)
        if (
            not layout.conflict
            and layout.stride
            and (copy.size is None or window > layout.stride)
            and not part
        ):
            window = repeat = layout.stride
        if window > LONG and part:
            return []
        if window > LONG:
            return [] if place.step else between(accesses, place.offset, place.offset + window)
        if not copy.typed and copy.source in self._swept():
            return []
        typing = Typing(accesses, self.layout)
        cells = [*typing.known(place, window), *typing.clashes(place, window)]
        if part and not layout.conflict and 0 < layout.stride < window:
            # The first period tells the others, up to the end of the copy.
            first = [(o, kind) for o, kind in cells if o < layout.stride]
            cells = [
                (o + k, kind) for k in range(0, window, layout.stride) for o, kind in first if o + k < window
            ]
        return [Access(offset, repeat, kind) for offset, kind in cells]

    def _is_part(self, copy: Copy) -> bool:
        """Whether a copy of known size fills a part of the elements of an array: what it repeats ends there."""
        place = self._place(copy.to)
        return copy.size is not None and place is not None and bool(place.step) and place.step > copy.size

    def _join_pointees(self, copy: Copy, back: Copy, access: Access) -> None:
        targets = [
            self._pointee(root, place.shifted(Place(access.offset, access.stride)))
            for each in (copy, back)
            if (place := self._place(each.to)) is not None
            for root in self.alias.roots(each.to)
            if not _is_nowhere(root)
        ]
        for other in targets[1:]:
            if self._find(other)[0] is not self._find(targets[0])[0]:
                self._union(targets[0], Place(0), other, Place(0))

    def _place(self, pointer: Value) -> Place | None:
        """Where in its root's object a pointer points; ``None`` if unknown."""
        if pointer not in self._places:
            self._places[pointer] = self._place_within(pointer, set())
        return self._places[pointer]

    def _place_within(self, pointer: Value, seen: set[Value]) -> Place | None:
        if isinstance(pointer, GetElementPtr):
            same = _moved_to(pointer)
            if same is not None:
                return self._place_within(same, seen)
            inner = self._place_within(pointer.base, seen) if seen else self._place(pointer.base)
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
            apart = difference(at, a_place, other_at, b_place)
            self._forget()
            self._groups.join(a, b)
            if leader is other:
                self._wobble[other] = gcd(self._wobble.get(other, 0), apart.offset, apart.step)
                continue
            self._link[leader] = other, apart
            self._wobble[other] = gcd(self._wobble.get(other, 0), self._wobble.pop(leader, 0))
            self._members.setdefault(other, [other]).extend(self._members.pop(leader, [leader]))
            targets = self._pointees.setdefault(other, {})
            for offset, target in self._pointees.pop(leader, {}).items():
                near = cell(apart.shifted(Place(offset)), self._wobble[other])
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
            target = self._pointee(root, where)
            for origin in self.alias.roots(value):
                self._union(origin, inside, target, Place(0))

    def _pointee(self, root: Value, where: Place) -> Value:
        """What stands for all that the cell at a place of a root's object points to."""
        leader, at = self._find(root)
        name = cell(at.shifted(where), self._wobble.get(leader, 0))
        return self._pointees.setdefault(leader, {}).setdefault(name, _Pointee())

    def _forget(self) -> None:
        self._settled = False
        self._clear()

    def _clear(self) -> None:
        self._layouts.clear()
        self._known.clear()
        self._views.clear()

    def _layout_from(self, root: Value) -> Layout:
        self._exchange()
        return self._settle([root])

    def _settle(self, roots: list[Value]) -> Layout:
        """The layout that all accesses to the objects of some roots make together."""
        key = frozenset(self._find(r) for r in roots)
        found = self._layouts.get(key)
        if found is None:
            accesses = dict.fromkeys(a for r in roots for a in self._seen_from(r))
            found = self._layouts[key] = settle(accesses, self.layout)
        return found


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


class _Pointee(Value):
    """Stands for whatever a cell of memory points to."""

    __slots__ = ()

    def __init__(self) -> None:
        self.type = ptr
        self.ref = "pointee"


def _is_nowhere(root: Value) -> bool:
    """Null and dangling addresses: no memory is behind them."""
    return isinstance(root, Constant) and not isinstance(root, GlobalRef)
