"""Tape arrays: for every loop one array per value kept, indexed by a running iteration number.

The number of an iteration is ``base + counter``: an outermost loop has base 0, an inner loop's base is the
cursor, which every run of it moves on by the iterations it made. The reverse sweep moves the cursor back.
Arrays are made at the size needed where the trip counts are known outside the outermost loop, grown before an
inner loop whose own count is known, and otherwise grown as iterations come.
"""

from __future__ import annotations

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
        if isinstance(value, Phi) and isinstance(tape.index, Instruction) and tape.index.parent is value.parent:
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
        builder.store(value, builder.gep(kept.stored, array, index, flags=("inbounds",)))

    # -- reverse sweep -------------------------------------------------------------------------------------

    def read(self, builder: Builder, kept: Kept, plan: LoopPlan) -> Value:
        """The value kept for the iteration that the reverse sweep is in."""
        array = self.slots.load(builder, kept.buffer, "array")
        index = self.number_back(builder, plan)
        value = builder.load(kept.stored, builder.gep(kept.stored, array, index, flags=("inbounds",)), None, "kept")
        return value if kept.stored is kept.type else builder.trunc(value, kept.type)

    def number_back(self, builder: Builder, plan: LoopPlan) -> Value:
        """The running number of the reverse sweep's iteration."""
        counter = builder.load(i64, self.iteration[plan])
        if plan.parent is None:
            return counter
        return builder.add(builder.load(i64, self.first[plan]), counter)

    def enter_back(self, builder: Builder, plan: LoopPlan, count: Value) -> None:
        """Start the reverse of one run of a loop whose latch was taken ``count`` times."""
        builder.store(count, self.iteration[plan])
        if plan.parent is not None:
            cursor = self.slots.load(builder, self.cursors[plan])
            first = builder.sub(cursor, builder.add(count, 1))
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
        for inner, outer in zip(nest, nest[1:], strict=False):
            if not self.shape.cfg.dominates(inner.preheader, outer.latch):
                return None
        for each in nest:
            if each.trip is None or not all(loops.is_invariant(v, outermost) for v in each.trip.inputs()):
                return None
        return nest

    def _exact(self, tape: LoopTape, nest: list[LoopPlan]) -> None:
        outermost = nest[-1]
        last = self._end(outermost.preheader)
        builder = Builder(self.function).position_before(last)
        total: Value = const_int(i64, 1)
        for plan in nest:
            assert plan.trip is not None
            count = builder.add(plan.trip.emit(builder, *plan.trip.inputs()), 1)
            total = builder.mul(total, count)
        elements = total.value if isinstance(total, ConstInt) else None
        bytes_each = sum(self.layout.size_of(k.stored) for k in tape.kept)
        on_stack = elements is not None and not self.slots.is_split and elements * bytes_each <= STACK_LIMIT
        for kept in tape.kept:
            if on_stack:
                assert elements is not None
                array = self.slots.forward.alloca(ArrayType(elements, kept.stored), "tape", None, 16)
                # The slot gets the address at entry, so that every path sees one array.
                self.slots.forward.add(Store(array, kept.buffer.address[self.function]))
                kept.on_stack = True
            else:
                size = builder.mul(total, self.layout.size_of(kept.stored))
                array = builder.call("malloc", ptr, [size], name="tape")
                self.slots.store(builder, kept.buffer, array)

    def _grow_before(self, tape: LoopTape, room: Slot) -> None:
        plan = tape.plan
        assert plan.trip is not None
        last = self._end(plan.preheader)
        builder = Builder(self.function).position_before(last)
        count = builder.add(plan.trip.emit(builder, *plan.trip.inputs()), 1)
        base = tape.base if tape.base is not None else const_int(i64, 0)
        self._grow(tape, room, last, builder, builder.add(base, count))

    def _grow_inside(self, tape: LoopTape, room: Slot) -> None:
        header = tape.plan.header
        builder = Builder(self.function).position_at_start(header)
        if isinstance(tape.index, Instruction) and tape.index.parent is header and not isinstance(tape.index, Phi):
            at = header.instructions.index(tape.index)
            builder.position_before(header.instructions[at + 1])
        place = builder.before
        assert place is not None and tape.index is not None
        self._grow(tape, room, place, builder, builder.add(tape.index, 1))

    def _grow(
        self, tape: LoopTape, room: Slot, place: Instruction, builder: Builder, need: Value
    ) -> None:
        """Split a block before ``place``; between the halves make room for ``need`` elements."""
        block = place.parent
        assert block is not None
        have = self.slots.load(builder, room, "room")
        full = builder.icmp("ugt", need, have)
        rest = split_block(self.function, block, place)
        self._tail[block] = rest
        grow = self.function.add_block("grow")
        builder.position(block)
        builder.cond_br(full, grow, rest)
        builder.position(grow)
        double = builder.mul(have, 2)
        least = builder.select(builder.icmp("ugt", double, const_int(i64, FIRST_ROOM)), double, FIRST_ROOM)
        new = builder.select(builder.icmp("ugt", need, least), need, least)
        self.slots.store(builder, room, new)
        for kept in tape.kept:
            old = self.slots.load(builder, kept.buffer)
            size = builder.mul(new, self.layout.size_of(kept.stored))
            self.slots.store(builder, kept.buffer, builder.call("realloc", ptr, [old, size], name="tape"))
        builder.br(rest)

    def release(self, builder: Builder) -> None:
        """Free every array that is not on the stack."""
        declare_memory(builder.function)
        for tape in self.tapes.values():
            for kept in (k for k in tape.kept if not k.on_stack):
                builder.call("free", void, [self.slots.load(builder, kept.buffer)])


def split_block(function: Function, block: Block, place: Instruction) -> Block:
    """Move ``place`` and what follows it to a new block; the caller ends the old block."""
    rest = function.add_block(f"{block.name}.rest", after=block)
    at = next(k for k, each in enumerate(block.instructions) if each is place)
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
