"""The forward sweep's parallel world: every active pointer of the primal gets its shadow pointers.

Shadow instructions stand right after the primal's. A shadow is a tuple of N values of the primal value's own
type, one per lane; of an aggregate only the pointers in it mean something. Floats of shadow memory are not
touched by the forward sweep: they belong to the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.layouts import alignment, factor
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, GlobalRef, const_int, global_ref, zero
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    Call,
    ExtractValue,
    Freeze,
    GetElementPtr,
    InsertValue,
    Instruction,
    Invoke,
    LandingPad,
    Load,
    Phi,
    Select,
    Store,
)
from ferrodiff.adcore.ir.types import ArrayType, FunctionType, PointerType, StructType, Type, i8, i64, ptr
from ferrodiff.adcore.ir.values import Argument, Block, Constant, Function, Value
from ferrodiff.adcore.reverse.activity import Activity, holds_pointer
from ferrodiff.adcore.reverse.frees import BLOCK_SIZE, SHADOW_HEADER, Frees, known_size
from ferrodiff.adcore.reverse.guards import SINK, Guards, normalise
from ferrodiff.adcore.reverse.storage import Frame, Slots, declare_memory
from ferrodiff.adcore.rules.runtime import Allocation, Motion, Role, allocation, memory_operation
from ferrodiff.adcore.session import Session

Lane = tuple[Value, ...]


class Augmented:
    """Builds shadows in a prepared function.

    ``shadow`` maps active values to their N shadows; ``twin`` maps a shadow load to the primal load beside it;
    ``primal`` holds every block's instructions as they were before.
    """

    def __init__(
        self,
        session: Session,
        function: Function,
        alias: Alias,
        memory: MemoryTypes,
        activity: Activity,
        slots: Slots,
        width: int,
        generated_call: Callable[[Call], None],
        is_ours: Callable[[Value], bool],
        is_plain: Callable[[Value, Value], bool],
        guards: Guards,
    ) -> None:
        self.session = session
        self.function = function
        self.alias = alias
        self.memory = memory
        self.activity = activity
        self.slots = slots
        self.width = width
        self.generated_call = generated_call
        self.is_ours = is_ours
        self.is_plain = is_plain
        self.guards = guards
        self.layout: DataLayout = session.module.datalayout
        self.frees = Frees(session, slots)
        self.builder = Builder(function)
        self.shadow: dict[Value, Lane] = {}
        self.twin: dict[Instruction, Load] = {}
        self.primal: dict[Block, list[Instruction]] = {b: list(b.instructions) for b in alias.cfg.order}
        self.has_frees = False
        """Whether some memory is really freed in the forward sweep."""
        self._phis: list[Phi] = []
        declare_memory(function)

    def run(self) -> None:
        """Insert all shadow instructions."""
        for block in self.alias.cfg.order:
            for insn in self.primal[block]:
                self._visit(insn, block)
        for phi in self._phis:
            for k, each in enumerate(self.shadow[phi]):
                assert isinstance(each, Phi)
                for value, source in phi.incoming:
                    each.add_incoming(self.of(value)[k], source)

    def of(self, value: Value) -> Lane:
        """The shadows of a pointer or aggregate; see `Guards.stand_in` for inactive ones."""
        found = self.shadow.get(value)
        return (self.guards.stand_in(value),) * self.width if found is None else found

    def _writable(self, builder: Builder, pointer: Value, size: int) -> Lane:
        """The shadows of a pointer that is written through; a sink where there is none."""
        lanes = self.of(pointer)
        if not self.guards.is_guarded(pointer):
            return lanes
        if size > SINK:
            raise self.session.refuse("much memory is copied to where there may be no shadow")
        sink = self.guards.sink(self.slots.forward, "sink")
        return tuple(builder.select(self.guards.missing(builder, s, pointer), sink, s) for s in lanes)

    def _sizes(self, builder: Builder, pointer: Value, shadow: Value, size: Value) -> tuple[Value, Value]:
        """A size where a pointer has a shadow, and where it has none; 0 otherwise."""
        none = const_int(i64, 0)
        if not self.guards.is_guarded(pointer):
            return size, none
        missing = self.guards.missing(builder, shadow, pointer)
        return builder.select(missing, none, size), builder.select(missing, size, none)

    # -- instructions --------------------------------------------------------------------------------------

    def _visit(self, insn: Instruction, block: Block) -> None:
        if isinstance(insn, Store):
            self._store(insn)
        elif isinstance(insn, Call):
            self._call(insn)
        elif insn in self.activity.varied and holds_pointer(insn.type):
            self._pointer(insn, block)

    def _pointer(self, insn: Instruction, block: Block) -> None:
        if isinstance(insn, Phi):
            self.builder.position(block)
            self.shadow[insn] = tuple(self.builder.phi(insn.type, (), "shadow") for _ in range(self.width))
            self._phis.append(insn)
        elif isinstance(insn, Alloca):
            self._alloca(insn)
        elif isinstance(insn, (GetElementPtr, Select, Freeze, InsertValue, ExtractValue, Load)):
            lanes: list[Value] = []
            after: Instruction = insn
            for k in range(self.width):
                copy = insn.copy()
                copy.metadata = {}
                copy.name = self.function.fresh_name("shadow")
                copy.map_inputs(lambda v, k=k: self._operand(v, k))  # type: ignore[misc]
                insert_after(after, copy)
                after = copy
                lanes.append(copy)
                if isinstance(insn, Load):
                    self.twin[copy] = insn
            if isinstance(insn, Load) and self.guards.is_guarded(insn):
                lanes = self._normalised(insn, after, lanes)
            self.shadow[insn] = tuple(lanes)
        else:
            raise self.session.refuse("a pointer is made in a way that is not followed", insn)

    def _normalised(self, insn: Load, after: Instruction, lanes: list[Value]) -> list[Value]:
        scratch = Block("normalised")
        builder = Builder(self.function, scratch)
        paths = lambda type: [path for path, _ in pointer_leaves(type, self.layout)]  # noqa: E731
        found = [normalise(builder, shadow, insn, paths) for shadow in lanes]
        self._insert(after, scratch)
        return found

    def _insert(self, after: Instruction, scratch: Block) -> None:
        for each in list(scratch.instructions):
            insert_after(after, each)
            after = each

    def _operand(self, value: Value, lane: int) -> Value:
        return self.of(value)[lane] if holds_pointer(value.type) else value

    def _alloca(self, insn: Alloca) -> None:
        if insn.parent is not self.function.entry or insn.count is not None:
            raise self.session.refuse("stack memory of a size only known at run time", insn)
        frame = self.slots.forward
        size = self.layout.size_of(insn.allocated_type)
        lanes: list[Value] = []
        for _ in range(self.width):
            if self.slots.is_split:
                slot = self.slots.new(ArrayType(size, i8), "shadow", None, size)
                lanes.append(slot.address[self.function])
            else:
                lanes.append(frame.alloca(insn.allocated_type, "shadow", None, insn.align))
            self._clear(frame, lanes[-1], insn.allocated_type, size)
        self.shadow[insn] = tuple(lanes)

    def _clear(self, frame: Frame, place: Value, type: Type, size: int) -> None:
        scratch = Block("prologue")
        builder = Builder(self.function, scratch)
        builder.memset(place, 0, size)
        for insn in scratch.instructions:
            frame.add(insn)

    def _may_hold_addresses(self, root: Value) -> bool:
        """Whether shadow addresses may be put there: the memory is ours, or a constant that nobody writes to."""
        found = self.session.module.globals.get(root.name) if isinstance(root, GlobalRef) else None
        return (found is not None and found.is_constant) or self.is_ours(root)

    def _store(self, insn: Store) -> None:
        if not holds_pointer(insn.value.type) or insn.pointer not in self.activity.varied:
            return
        if not all(self._may_hold_addresses(r) for r in self.alias.roots(insn.pointer)):
            raise self.session.refuse(
                "a reference is stored in memory that belongs to the caller, so its shadow would change place",
                insn,
                help="exchange the contents instead (`swap_with_slice`), or pass the references by value",
            )
        scratch = Block("stores")
        builder = Builder(self.function, scratch)
        places = self._writable(builder, insn.pointer, self.layout.size_of(insn.value.type))
        after: Instruction = insn
        for each in list(scratch.instructions):
            insert_after(after, each)
            after = each
        for k in range(self.width):
            for copy in self._pointer_stores(insn, self.of(insn.value)[k], places[k]):
                insert_after(after, copy)
                after = copy

    def _pointer_stores(self, insn: Store, value: Value, place: Value) -> list[Instruction]:
        if isinstance(value.type, PointerType):
            return [Store(value, place, insn.align)]
        scratch = Block("stores")
        builder = Builder(self.function, scratch)
        for path, offset in pointer_leaves(value.type, self.layout):
            leaf = builder.extract_value(value, *path, type=ptr)
            builder.store(leaf, builder.ptradd(place, offset))
        return list(scratch.instructions)

    # -- calls ---------------------------------------------------------------------------------------------

    def _call(self, insn: Call) -> None:
        name = insn.callee_name or ""
        motion = memory_operation(name)
        if motion is not None and motion.motion is not Motion.FILL:
            self._copy(insn)
            return
        if motion is not None:
            self._fill(insn)
            return
        what = allocation(name)
        if what is not None:
            self._allocator(insn, what.role)
        elif name == BLOCK_SIZE and insn.args[0] in self.activity.varied:
            self._block_size(insn)
        else:
            self.generated_call(insn)

    def _block_size(self, insn: Call) -> None:
        function = known_size(self.session)
        insn.callee = global_ref(function.name)
        insn.operands = [insn.args[0], self.of(insn.args[0])[0]]
        insn.arg_attributes = [(), ()]
        insn.function_type = FunctionType(i64, (ptr, ptr))

    def _copy(self, insn: Call) -> None:
        """Pointers in copied memory have their shadows copied too; the floats' adjoints are left alone."""
        to, source = insn.args[0], insn.args[1]
        if to not in self.activity.varied:
            return
        near, far = alignment(insn, 0), alignment(insn, 1)
        size = insn.args[2]
        period = factor(size)
        cells = self.memory.pattern(to, near, period) or self.memory.pattern(source, far, period)
        if cells is not None and not any(isinstance(t, PointerType) for _, t in cells[1]):
            return
        scalars = None
        if isinstance(size, ConstInt):
            scalars = self.memory.scalars(to, size.value, near, True)
            if scalars is None:
                scalars = self.memory.scalars(source, size.value, far, True)
            if scalars is not None and not any(isinstance(t, PointerType) for _, t in scalars):
                return
        if scalars is None:
            if cells is None and not self.ever_holds_pointers(to) and not self.ever_holds_pointers(source):
                return
            if self.is_plain(to, source):
                self._copy_all(insn)
                return
            raise self.session.refuse(
                "memory that holds references is copied, and where they lie is not known", insn
            )
        after: Instruction = insn
        for k in range(self.width):
            scratch = Block("copy")
            builder = Builder(self.function, scratch)
            moved: list[tuple[int, Value]] = []
            for offset, kind in scalars:
                if isinstance(kind, PointerType) and source not in self.activity.varied:
                    self.guards.require()
                    moved.append((offset, zero(kind)))
                elif isinstance(kind, PointerType):
                    place = builder.ptradd(self.of(source)[k], offset)
                    moved.append((offset, builder.load(kind, place, 1)))
            assert isinstance(size, ConstInt)
            place = self._writable(builder, to, size.value)[k]
            for offset, value in moved:
                builder.store(value, builder.ptradd(place, offset), 1)
            for each in list(scratch.instructions):
                insert_after(after, each)
                after = each

    def _copy_all(self, insn: Call) -> None:
        """Copy whole shadows: in the forward sweep they hold nothing but shadow pointers and zeros."""
        to, source, size = insn.args[:3]
        scratch = Block("copies")
        builder = Builder(self.function, scratch)
        for k in range(self.width):
            place = self.of(to)[k]
            size_here, _ = self._sizes(builder, to, place, size)
            if source in self.activity.varied:
                copied, cleared = self._sizes(builder, source, self.of(source)[k], size_here)
                copy = insn.copy()
                copy.operands[:3] = [place, self.of(source)[k], copied]
                copy.metadata = {}
                builder.insert(copy)
            else:
                self.guards.require()
                cleared = size_here
            if cleared is not const_int(i64, 0):
                builder.memset(place, 0, cleared)
        self._insert(insn, scratch)

    def ever_holds_pointers(self, pointer: Value) -> bool:
        """Whether addresses were seen anywhere in the memory that a pointer leads to."""
        return self.memory.holds(pointer, PointerType)

    def _fill(self, insn: Call) -> None:
        """Zeros make null pointers; other bytes make none, and what a shadow then holds is never used."""
        to, byte = insn.args[:2]
        if to not in self.activity.varied or not self.ever_holds_pointers(to):
            return
        if not all(self._may_hold_addresses(r) for r in self.alias.roots(to)):
            raise self.session.refuse(
                "memory of the caller that holds references is overwritten",
                insn,
                "return the new value, or exchange references that the function itself owns",
            )
        if not isinstance(byte, ConstInt) or byte.value != 0:
            return
        scratch = Block("fills")
        builder = Builder(self.function, scratch)
        for k in range(self.width):
            copy = insn.copy()
            copy.operands[0] = self.of(to)[k]
            copy.operands[2], _ = self._sizes(builder, to, self.of(to)[k], insn.args[2])
            builder.insert(copy)
        self._insert(insn, scratch)

    def _allocator(self, insn: Call, role: Role) -> None:
        out = what.out if (what := allocation(insn.callee_name or "")) is not None else None
        if out is not None and insn.args[out] in self.activity.varied:
            raise self.session.refuse("memory allocated through an out-parameter has no shadow here", insn)
        if role in (Role.ALLOCATE, Role.ALLOCATE_ZEROED) and insn in self.activity.varied:
            what = allocation(insn.callee_name or "")
            assert what is not None
            self._shadow_block(insn, what)
        elif role is Role.DEALLOCATE:
            self._deferred_free(insn)
        elif role is Role.REALLOCATE and insn.args[0] in self.activity.varied:
            raise self.session.refuse("memory is reallocated in a way that is not followed", insn)

    def _shadow_block(self, insn: Call, what: Allocation) -> None:
        scratch = Block("allocate")
        builder = Builder(self.function, scratch)
        size = insn.args[what.size or 0]
        if what.count is not None:
            size = builder.mul(size, insn.args[what.count])
        align = const_int(i64, 0) if what.align is None else insn.args[what.align]
        total = builder.add(size, SHADOW_HEADER)
        lanes = []
        for _ in range(self.width):
            block = builder.call("calloc", ptr, [const_int(i64, 1), total], name="shadow.block")
            builder.store(insn, builder.ptradd(block, 8), 8)
            builder.store(size, builder.ptradd(block, 16), 8)
            builder.store(align, builder.ptradd(block, 24), 8)
            lanes.append(builder.ptradd(block, SHADOW_HEADER, name="shadow"))
        after: Instruction = insn
        for each in list(scratch.instructions):
            insert_after(after, each)
            after = each
        self.shadow[insn] = tuple(lanes)

    def _deferred_free(self, insn: Call) -> None:
        """The primal's memory must live until its reverse: only note that the primal gave it up."""
        what = allocation(insn.callee_name or "")
        assert what is not None and what.pointer is not None
        pointer = insn.args[what.pointer]
        if pointer not in self.activity.varied:
            self.has_frees = True
            return
        for root in self.alias.roots(pointer):
            # Statics are never freed: an empty table's static stand-in is told apart at run time. Nor is what a
            # shared reference points to (`Cow`).
            lent = isinstance(root, Argument) and root.has_attribute("readonly")
            if not isinstance(root, GlobalRef) and not lent and not self.is_ours(root):
                raise self.session.refuse(
                    "memory that the function was given is freed or reallocated",
                    insn,
                    help="take a slice or a reference to it, and build new containers for results",
                )
        builder = Builder(self.function).position_before(insn)
        shadow = self.of(pointer)[0]
        if self.guards.is_guarded(pointer):
            shadow = builder.select(self.guards.missing(builder, shadow, pointer), zero(ptr), shadow)
            self.frees.give_up(builder, insn, shadow)
        elif all(self.alias.is_local(r) for r in self.alias.roots(pointer)) and not _may_be_null(pointer):
            self.frees.mark(builder, shadow)
        else:
            self.frees.give_up(builder, insn, shadow)
        assert insn.parent is not None
        insn.parent.remove(insn)


def pointer_leaves(type: Type, layout: DataLayout) -> list[tuple[tuple[int, ...], int]]:
    """Paths and byte offsets of the pointers in an aggregate type."""
    if isinstance(type, PointerType):
        return [((), 0)]
    found: list[tuple[tuple[int, ...], int]] = []
    if isinstance(type, (StructType, ArrayType)):
        count = len(type.fields) if isinstance(type, StructType) else type.count
        for index in range(count):
            offset, inner = layout.field_at(type, index)
            found.extend(((index, *path), offset + more) for path, more in pointer_leaves(inner, layout))
    return found


def insert_after(place: Instruction, insn: Instruction) -> None:
    """Put an instruction after another one, past phis and landing pads; after an invoke on the normal path."""
    if isinstance(place, Invoke):
        last = place.normal.terminator
        assert last is not None
        place.normal.insert_before(last, insn)
        return
    block = place.parent
    assert block is not None
    at = block.instructions.index(place) + 1
    if not isinstance(insn, Phi):
        while at < len(block.instructions) and isinstance(block.instructions[at], (Phi, LandingPad)):
            at += 1
    insn.parent = block
    block.instructions.insert(at, insn)


def _may_be_null(pointer: Value) -> bool:
    """Whether null is among what a pointer is chosen from: C frees null, which does nothing."""
    seen: set[Value] = set()
    work = [pointer]
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(at, Phi | Freeze):
            work.extend(at.operands)
        elif isinstance(at, Select):
            work.extend(at.operands[1:])
        elif isinstance(at, Constant) and not isinstance(at, GlobalRef):
            return True
    return False
