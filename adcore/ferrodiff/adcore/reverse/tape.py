"""Tape arrays: for every loop one array per value kept, indexed by a running iteration number.

The number of an iteration is ``base + counter``: an outermost loop has base 0, an inner loop's base is the
cursor, which every run of it moves on by the iterations it made. The reverse sweep moves the cursor back.
Arrays are made at the size needed where the trip counts are known outside the outermost loop, grown before an
inner loop whose own count is known, and otherwise grown as iterations come.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from ferrodiff.adcore.facts.loops import Loops
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const_int, zero
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Instruction, Phi, Store
from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.types import ArrayType, IntType, Type, i8, i64, ptr, void
from ferrodiff.adcore.ir.values import Block, Function
from ferrodiff.adcore.reverse.augment import insert_after
from ferrodiff.adcore.reverse.prepare import LoopPlan, Shape
from ferrodiff.adcore.reverse.storage import Frame, Slot, Slots, declare_memory

STACK_LIMIT = 8192
"""Bytes of tape of one loop nest of constant size that stay on the stack."""

EXPECTED_LIMIT = 1 << 20
"""Iterations that a guess may make room for at once."""

FIRST_ROOM = 64
"""Iterations that a growing tape has room for at first."""


@dataclass(eq=False)
class Kept:
    """One array: the element's type, and the slot that holds the array's address."""

    type: Type
    stored: Type
    buffer: Slot
    value: Value
    reason: str
    on_stack: bool = False


@dataclass(eq=False)
class LoopTape:
    """The tape of one loop. ``index`` is the running number in the forward sweep."""

    plan: LoopPlan
    index: Value | None = None
    base: Value | None = None
    kept: list[Kept] = field(default_factory=list)

    def bytes(self, layout: DataLayout) -> int:
        """Bytes kept per iteration."""
        return sum(layout.size_of(k.stored) for k in self.kept)


class Tape:
    """All tape arrays of one function."""

    def __init__(
        self, shape: Shape, function: Function, slots: Slots, layout: DataLayout, reverse_frame: Frame
    ) -> None:
        self.shape = shape
        self.function = function
        self.slots = slots
        self.layout = layout
        self.tapes: dict[LoopPlan, LoopTape] = {}
        self.cursors: dict[LoopPlan, Slot] = {}
        self.iteration: dict[LoopPlan, Value] = {}
        self.first: dict[LoopPlan, Value] = {}
        self.locations: dict[Instruction, SourceLocation | None] = {}
        self.accesses: dict[Instruction, Kept] = {}
        """Every load and store of an array."""
        self._tail: dict[Block, Block] = {}
        for plan in shape.plans.values():
            self.iteration[plan] = reverse_frame.alloca(i64, "back", const_int(i64, 0))
            if plan.parent is not None:
                self.first[plan] = reverse_frame.alloca(i64, "back.base", const_int(i64, 0))
                self.cursors[plan] = slots.new(i64, "cursor", const_int(i64, 0))

    # -- forward sweep -------------------------------------------------------------------------------------

    def tape_of(self, plan: LoopPlan) -> LoopTape:
        """The tape of a loop, with its running number available in the forward sweep."""
        found = self.tapes.get(plan)
        if found is None:
            found = self.tapes[plan] = LoopTape(plan)
            self._number(found)
        return found

    def _number(self, tape: LoopTape) -> None:
        plan = tape.plan
        if plan.parent is None:
            tape.index = plan.counter
            return
        last = self._end(plan.preheader)
        builder = Builder(self.function).position_before(last)
        tape.base = self.slots.load(builder, self.cursors[plan], "base")
        builder.position_at_start(plan.header)
        tape.index = builder.add(tape.base, plan.counter, ("nuw", "nsw"), "number")

    def keep(self, value: Instruction, plan: LoopPlan, reason: str) -> Kept:
        """Store a value of a loop, once per iteration that computes it."""
        tape = self.tape_of(plan)
        kept = self._array(tape, value.type, value, reason)
        assert value.parent is not None and tape.index is not None
        scratch = Block("keep")
        self._write(Builder(self.function, scratch), kept, tape.index, value)
        place: Instruction = value
        if (
            isinstance(value, Phi)
            and isinstance(tape.index, Instruction)
            and tape.index.parent is value.parent
        ):
            place = tape.index
        _insert_all(place, scratch)
        return kept

    def keep_exit(self, slot: Slot, inner: LoopPlan, value: Value, reason: str) -> Kept:
        """Store the last value that an inner loop left in a slot, once per iteration of the loop around it."""
        assert inner.parent is not None
        tape = self.tape_of(inner.parent)
        kept = self._array(tape, slot.type, value, reason)
        assert tape.index is not None
        for block in inner.exits:
            builder = Builder(self.function).position_at_start(block)
            self._write(builder, kept, tape.index, self.slots.load(builder, slot))
        return kept

    def _array(self, tape: LoopTape, type: Type, value: Value, reason: str) -> Kept:
        stored = i8 if isinstance(type, IntType) and type.bits < 8 else type
        kept = Kept(type, stored, self.slots.new(ptr, "tape", zero(ptr)), value, reason)
        tape.kept.append(kept)
        return kept

    def _write(self, builder: Builder, kept: Kept, index: Value, value: Value) -> None:
        if kept.stored is not kept.type:
            value = builder.zext(value, kept.stored)
        array = self.slots.load(builder, kept.buffer, "array")
        place = builder.gep(kept.stored, array, index, flags=("inbounds",))
        self.accesses[builder.store(value, place, self._align(kept))] = kept

    def _align(self, kept: Kept) -> int:
        return min(8, self.layout.align_of(kept.stored))

    # -- reverse sweep -------------------------------------------------------------------------------------

    def read(self, builder: Builder, kept: Kept, plan: LoopPlan) -> Value:
        """The value kept for the iteration that the reverse sweep is in."""
        array = self.slots.load(builder, kept.buffer, "array")
        index = self.number_back(builder, plan)
        place = builder.gep(kept.stored, array, index, flags=("inbounds",))
        value = builder.load(kept.stored, place, self._align(kept), "kept")
        assert isinstance(value, Instruction)
        self.accesses[value] = kept
        return value if kept.stored is kept.type else builder.trunc(value, kept.type)

    def number_back(self, builder: Builder, plan: LoopPlan) -> Value:
        """The running number of the reverse sweep's iteration."""
        counter = builder.load(i64, self.iteration[plan])
        if plan.parent is None:
            return counter
        return builder.add(builder.load(i64, self.first[plan]), counter, ("nuw", "nsw"))

    def enter_back(self, builder: Builder, plan: LoopPlan, count: Value) -> None:
        """Start the reverse of one run of a loop whose latch was taken ``count`` times."""
        builder.store(count, self.iteration[plan])
        if plan.parent is not None:
            cursor = self.slots.load(builder, self.cursors[plan])
            first = builder.sub(cursor, builder.add(count, 1, ("nuw", "nsw")), ("nuw", "nsw"))
            builder.store(first, self.first[plan])
            self.slots.store(builder, self.cursors[plan], first)

    # -- room ----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Allocate, grow and number in the forward sweep; called once, when all that is kept is known."""
        for tape in self.tapes.values():
            self._advance(tape)
        for tape in self.tapes.values():
            if tape.kept:
                self._make_room(tape)

    def _advance(self, tape: LoopTape) -> None:
        if tape.plan.parent is None:
            return
        for block in tape.plan.exits:
            assert tape.index is not None
            builder = Builder(self.function).position_before(self._end(block))
            self.slots.store(builder, self.cursors[tape.plan], builder.add(tape.index, 1))

    def _make_room(self, tape: LoopTape) -> None:
        plan = tape.plan
        nest = self._countable_nest(plan)
        if nest is not None:
            self._exact(tape, nest)
        else:
            room = self.slots.new(i64, "room", const_int(i64, 0))
            if plan.trip is not None:
                self._grow_before(tape, room)
            else:
                self._grow_inside(tape, room)

    def _end(self, block: Block) -> Instruction:
        """The terminator of a block of the primal, wherever splitting has moved it."""
        while block in self._tail:
            block = self._tail[block]
        last = block.terminator
        assert last is not None
        return last

    def _countable_nest(self, plan: LoopPlan) -> list[LoopPlan] | None:
        """The loops from a loop outwards, if all their counts are known before the outermost one."""
        loops: Loops = self.shape.loops
        nest = [plan]
        while nest[-1].parent is not None:
            nest.append(nest[-1].parent)
        outermost = nest[-1].loop
        for inner, outer in itertools.pairwise(nest):
            if not self.shape.cfg.dominates(inner.preheader, outer.latch):
                return None
        for each in nest:
            if each.trip is None or not all(loops.is_invariant(v, outermost) for v in each.trip.inputs()):
                return None
        return nest

    def _exact(self, tape: LoopTape, nest: list[LoopPlan]) -> None:
        builder = Builder(self.function).position_before(self._end(nest[-1].preheader))
        total: Value = const_int(i64, 1)
        for plan in nest:
            total = builder.mul(total, self._iterations(builder, plan))
        elements = total.value if isinstance(total, ConstInt) else None
        if (
            elements is not None
            and not self.slots.is_split
            and elements * tape.bytes(self.layout) <= STACK_LIMIT
        ):
            self._on_stack(tape, elements)
            return
        block = builder.call("malloc", ptr, [builder.mul(total, tape.bytes(self.layout))], name="tape")
        self._place_arrays(builder, tape, block, total)

    def _iterations(self, builder: Builder, plan: LoopPlan) -> Value:
        assert plan.trip is not None
        return builder.add(plan.trip.emit(builder, *plan.trip.inputs()), 1)

    def _on_stack(self, tape: LoopTape, elements: int) -> None:
        """The slots get their addresses at entry, so that every path sees the same arrays."""
        for kept in tape.kept:
            array = self.slots.forward.alloca(ArrayType(elements, kept.stored), "tape", None, 16)
            self.slots.forward.add(Store(array, kept.buffer.address[self.function]))
            kept.on_stack = True

    def _place_arrays(self, builder: Builder, tape: LoopTape, block: Value, room: Value) -> None:
        """Divide a block of memory among the arrays of a loop, widest elements first."""
        tape.kept.sort(key=lambda k: -self.layout.size_of(k.stored))
        place = block
        for kept in tape.kept:
            self.slots.store(builder, kept.buffer, place)
            place = builder.ptradd(place, builder.mul(room, self.layout.size_of(kept.stored)))

    def _grow_before(self, tape: LoopTape, room: Slot) -> None:
        outer = self._outer_count(tape.plan)
        last = self._end(tape.plan.preheader)
        builder = Builder(self.function).position_before(last)
        count = self._iterations(builder, tape.plan)
        base = tape.base if tape.base is not None else const_int(i64, 0)
        expected = builder.mul(count, outer)
        self._grow(tape, room, last, builder, builder.add(base, count), expected)

    def _outer_count(self, plan: LoopPlan) -> Value:
        """How often an inner loop will be entered, as far as that is known before the outermost loop."""
        around = plan.parent
        if around is None:
            return const_int(i64, 1)
        outermost = around
        while outermost.parent is not None:
            outermost = outermost.parent
        builder = Builder(self.function).position_before(self._end(outermost.preheader))
        total: Value = const_int(i64, 1)
        while around is not None:
            if around.trip is None:
                return const_int(i64, 1)
            if not all(self.shape.loops.is_invariant(v, outermost.loop) for v in around.trip.inputs()):
                return const_int(i64, 1)
            total = builder.mul(total, self._iterations(builder, around))
            around = around.parent
        return total

    def _grow_inside(self, tape: LoopTape, room: Slot) -> None:
        header = tape.plan.header
        builder = Builder(self.function).position_at_start(header)
        if (
            isinstance(tape.index, Instruction)
            and tape.index.parent is header
            and not isinstance(tape.index, Phi)
        ):
            at = header.instructions.index(tape.index)
            builder.position_before(header.instructions[at + 1])
        place = builder.before
        assert place is not None and tape.index is not None
        self._grow(tape, room, place, builder, builder.add(tape.index, 1), const_int(i64, 0))

    def _grow(
        self, tape: LoopTape, room: Slot, place: Instruction, builder: Builder, need: Value, expected: Value
    ) -> None:
        """Split a block before ``place``; between the halves make room for ``need`` elements.

        ``expected`` is how many there will be in the end, a guess that is followed within limits.
        """
        block = place.parent
        assert block is not None
        have = self.slots.load(builder, room, "room")
        full = builder.icmp("ugt", need, have)
        rest = split_block(self.function, block, place)
        self._tail[block] = rest
        grow = self.function.add_block("grow")
        for part in (rest, grow):
            self.shape.loops.adopt(block, part)
        builder.position(block)
        builder.cond_br(full, grow, rest)
        builder.position(grow)
        new = need
        for other in (builder.mul(have, 2), const_int(i64, FIRST_ROOM), self._within(builder, expected)):
            new = builder.select(builder.icmp("ugt", new, other), new, other)
        self.slots.store(builder, room, new)
        self._move(tape, builder, have, new)
        builder.br(rest)

    def _within(self, builder: Builder, expected: Value) -> Value:
        if isinstance(expected, ConstInt):
            return const_int(i64, min(expected.unsigned, EXPECTED_LIMIT))
        return builder.select(builder.icmp("ult", expected, EXPECTED_LIMIT), expected, EXPECTED_LIMIT)

    def _move(self, tape: LoopTape, builder: Builder, have: Value, room: Value) -> None:
        """Move all arrays of a loop to a larger block."""
        old = [self.slots.load(builder, kept.buffer) for kept in self._ordered(tape)]
        block = builder.call("malloc", ptr, [builder.mul(room, tape.bytes(self.layout))], name="tape")
        self._place_arrays(builder, tape, block, room)
        for kept, source in zip(tape.kept, old, strict=True):
            size = builder.mul(have, self.layout.size_of(kept.stored))
            builder.memcpy(self.slots.load(builder, kept.buffer), source, size, 1)
        builder.call("free", void, [old[0]])

    def _ordered(self, tape: LoopTape) -> list[Kept]:
        tape.kept.sort(key=lambda k: -self.layout.size_of(k.stored))
        return tape.kept

    def release(self, builder: Builder) -> None:
        """Free every block that is not on the stack: it begins with its loop's first array."""
        declare_memory(builder.function)
        for tape in self.tapes.values():
            if tape.kept and not tape.kept[0].on_stack:
                builder.call("free", void, [self.slots.load(builder, self._ordered(tape)[0].buffer)])


def split_block(function: Function, block: Block, place: Instruction) -> Block:
    """Move ``place`` and what follows it to a new block; the caller ends the old block."""
    rest = function.add_block(f"{block.name}.rest", after=block)
    at = block.instructions.index(place)
    for insn in block.instructions[at:]:
        rest.append(insn)
    del block.instructions[at:]
    for target in rest.successors:
        for phi in target.phis:
            phi.map_blocks(lambda b: rest if b is block else b)
    return rest


def _insert_all(place: Instruction, scratch: Block) -> None:
    after = place
    for each in list(scratch.instructions):
        insert_after(after, each)
        after = each
