"""The reverse of instructions on memory: loads, stores, copies, fills, allocations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrodiff.adcore.facts.copies import copied_from
from ferrodiff.adcore.facts.layouts import alignment, factor
from ferrodiff.adcore.facts.memtypes import NO_FLOAT, MemoryTypes
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const_int, zero
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Call, Cast, Instruction, Load, Phi, Store
from ferrodiff.adcore.ir.types import FloatType, IntType, Type, i64, void
from ferrodiff.adcore.ir.values import Argument, Block
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.reverse.activity import (
    Activity,
    Path,
    floats_of,
    holds_float,
    holds_pointer,
    leaf_type,
    place_of,
)
from ferrodiff.adcore.reverse.adjoints import Adjoints
from ferrodiff.adcore.reverse.augment import Augmented
from ferrodiff.adcore.reverse.calls import CallSweep
from ferrodiff.adcore.reverse.frees import SHADOW_HEADER
from ferrodiff.adcore.reverse.guards import SINK
from ferrodiff.adcore.reverse.recall import Recall
from ferrodiff.adcore.reverse.shuttle import Shuttle
from ferrodiff.adcore.reverse.storage import declare_memory
from ferrodiff.adcore.rules.rule import Write
from ferrodiff.adcore.rules.runtime import Motion, Role, allocation, inactive, memory_operation
from ferrodiff.adcore.rules.table import rule_for_instruction
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.text import watch_text

UNROLLED_COPY = SINK
"""Bytes of a copy of constant size that is reversed without a loop."""

STORED_IN_CONST = "active data is stored in memory that is Const"
CONST_STORE = "pass the buffer as `Duplicated` with a zeroed shadow, or make it inside the function"


class MemorySweep:
    """Emits the reverse of memory instructions and of calls, at the builder's place."""

    def __init__(
        self,
        session: Session,
        types: MemoryTypes,
        activity: Activity,
        augmented: Augmented,
        recall: Recall,
        adjoints: Adjoints,
        lanes: Lanes,
        calls: CallSweep,
        shuttle: Shuttle,
    ) -> None:
        self.session = session
        self.types = types
        self.activity = activity
        self.augmented = augmented
        self.recall = recall
        self.adjoints = adjoints
        self.lanes = lanes
        self.builder: Builder = lanes.builder
        self.calls = calls
        self.shuttle = shuttle
        self.layout: DataLayout = session.module.datalayout
        self.accesses: list[tuple[Load | Store, Value, Block | None]] = []
        """Accesses of shadows, with the primal's pointers and blocks."""
        self.carriers: dict[Load, Phi] = {}
        """Loads whose adjoints go to the load of the iteration before (see `windows`)."""
        self.carrying: set[Load] = set()
        """Loads that take such adjoints."""
        self.late: list[tuple[Load, Path, Tangent]] = []

    def reverse(self, insn: Instruction) -> bool:
        """Emit the reverse of an instruction if it is one of these; say whether it was."""
        if isinstance(insn, Load):
            self._load(insn)
        elif isinstance(insn, Store):
            self._store(insn)
        elif isinstance(insn, Call):
            return self._call(insn)
        elif insn.opcode in ("atomicrmw", "cmpxchg"):
            self._atomic(insn)
        else:
            return False
        return True

    def shadows(self, pointer: Value) -> list[Value]:
        """The N shadow pointers of a pointer of the forward sweep."""
        if pointer not in self.augmented.shadow:
            raise self.session.refuse("memory without a shadow is used for active data")
        return [self.recall.value(s) for s in self.augmented.shadow[pointer]]

    # -- loads and stores ----------------------------------------------------------------------------------

    def _check_known(self, insn: Load | Store, type: Type) -> None:
        """Floats in memory that nothing is known about could be anybody's: no silent zero."""
        if insn.pointer in self.activity.varied or not (holds_float(type) or holds_pointer(type)):
            return
        for root in self.activity.alias.roots(insn.pointer):
            if isinstance(root, Cast) or (isinstance(root, Call) and not self.activity.alias.is_local(root)):
                raise self.session.refuse(
                    "floats are reached through an address of unknown origin",
                    insn,
                    "pass the memory as a parameter with a shadow, or allocate it in the function",
                )

    def _load(self, insn: Load) -> None:
        self._check_known(insn, insn.type)
        if not self.activity.has_adjoint(insn):
            return
        for path in self.activity.leaves(insn):
            taken = self.adjoints.take(insn, path)
            if taken is None:
                continue
            if insn in self.carriers:
                self.adjoints.add(self.carriers[insn], taken)
            elif insn in self.carrying:
                self.late.append((insn, path, taken))
            else:
                self.accumulate(insn, path, taken)

    def finish_block(self) -> None:
        """Accumulate what was put off to the end of the block.

        LLVM's vectoriser takes a value that is carried to the next iteration only if it is computed before its
        uses have effects.
        """
        for insn, path, taken in self.late:
            self.accumulate(insn, path, taken)
        self.late.clear()

    def accumulate(self, insn: Load, path: Path, taken: Tangent) -> None:
        """Add to the shadow of what a load read."""
        kind = leaf_type(insn.type, path)
        places, align, _ = self._places(insn.pointer, insn.type, path, insn.align)
        with self._noted(insn.pointer):
            total = self.lanes.add(self.lanes.load(kind, places, align), taken)
            self.lanes.store(total, places, align)

    def _store(self, insn: Store) -> None:
        self._check_known(insn, insn.value.type)
        if insn.pointer not in self.activity.varied:
            self._check_lost(insn)
            return
        self._check_copy(insn)
        for path in sorted(self.activity.stored_leaves(insn)):
            kind = leaf_type(insn.value.type, path)
            places, align, missing = self._places(insn.pointer, insn.value.type, path, insn.align)
            if missing is not None:
                if self.activity.has_adjoint(insn.value):
                    self.augmented.guards.stop_if(self.builder, missing)
                self.builder.store(zero(kind), self._sink("sink"))
            with self._noted(insn.pointer):
                loaded = self.lanes.load(kind, places, align)
                self.lanes.store(self.lanes.zero(kind), places, align)
            if self.activity.has_adjoint(insn.value) and path in self.activity.leaves(insn.value):
                self.adjoints.add(insn.value, loaded, path)

    def _check_copy(self, insn: Store) -> None:
        """Words of unknown meaning could be floats, in memory of the caller and where floats were seen."""
        if not isinstance(insn.value.type, IntType) or insn.value.type.bits < 16:
            return
        size = insn.value.type.bits // 8
        if self.types.scalars(insn.pointer, size, insn.align) is not None:
            return
        origins = copied_from(insn.value)
        if origins is None or not any(o.pointer in self.activity.varied for o in origins):
            return
        roots = {
            r for p in (insn.pointer, *(o.pointer for o in origins)) for r in self.activity.alias.roots(p)
        }
        smallest = min((self.types.smallest_float(r) for r in roots), default=NO_FLOAT)
        argument = any(isinstance(r, Argument) for r in roots)
        # Floats are not copied in pieces.
        if size >= smallest or (argument and smallest == NO_FLOAT):
            raise self.session.refuse(
                "a word is copied, and whether it is a float is not known",
                insn,
                help="read or write the value through its own type somewhere in this function",
            )

    @contextmanager
    def _noted(self, pointer: Value) -> Iterator[None]:
        """Remember which primal pointer the accesses emitted meanwhile are the shadow's of."""
        block = self.builder.block
        assert block is not None
        before = len(block.instructions)
        yield
        for each in block.instructions[before:]:
            if isinstance(each, (Load, Store)):
                self.accesses.append((each, pointer, self.adjoints.block))

    def take_written(self, call: Call, pointer: Value, kind: Type, write: Write) -> Tangent | None:
        """The adjoint of a float that a function has written to memory, which is reset there."""
        active = any(v in self.activity.varied for v in floats_of(call))
        if pointer not in self.activity.varied:
            if write.partials is not None and active and not self.calls.may_drop(pointer):
                raise self.session.refuse(STORED_IN_CONST, call, CONST_STORE)
            return None
        if write.kind != "float":
            return None
        places = self.shadows(pointer)
        with self._noted(pointer):
            loaded = self.lanes.load(kind, places, None)
            self.lanes.store(self.lanes.zero(kind), places, None)
        return loaded

    def _check_lost(self, insn: Store) -> None:
        """Active data stored where there is no shadow would be lost without a word."""
        if insn.value in self.activity.varied and not self.calls.may_drop(insn.pointer):
            raise self.session.refuse(STORED_IN_CONST, insn, CONST_STORE)

    def _places(
        self, pointer: Value, type: Type, path: Path, align: int | None
    ) -> tuple[list[Value], int | None, Value | None]:
        """Where the lanes' adjoints are, their alignment, and whether they are in a sink, if that may be."""
        offset = place_of(type, path, self.layout)
        shadows = self.shadows(pointer)
        places = [self.builder.ptradd(s, offset) if offset else s for s in shadows]
        if offset and align is not None:
            align = min(align, offset & -offset)
        if not self.augmented.guards.is_guarded(pointer):
            return places, align, None
        gone = self._missing(pointer, shadows)
        sink = self._sink("sink")
        places = [self.builder.select(g, sink, p) for g, p in zip(gone, places, strict=True)]
        return places, align, gone[0]

    def _sink(self, name: str) -> Value:
        return self.augmented.guards.sink(self.adjoints.frame, name)

    def _missing(self, pointer: Value, shadows: list[Value]) -> list[Value]:
        primal = self.recall.value(pointer)
        return [self.augmented.guards.missing(self.builder, s, primal) for s in shadows]

    def _present(self, pointer: Value, size: Value) -> list[tuple[Value, Value]]:
        """For each lane the size where a pointer has a shadow, and where it has none; 0 otherwise."""
        none = const_int(i64, 0)
        shadows = self.shadows(pointer)
        if not self.augmented.guards.is_guarded(pointer):
            return [(size, none)] * len(shadows)
        select = self.builder.select
        return [(select(g, none, size), select(g, size, none)) for g in self._missing(pointer, shadows)]

    def _diverted(self, pointer: Value, name: str) -> list[Value]:
        """The shadows of a pointer, and a clean sink where there is none."""
        shadows = self.shadows(pointer)
        if not self.augmented.guards.is_guarded(pointer):
            return shadows
        sink = self._sink(name)
        self.builder.memset(sink, 0, SINK)
        return [
            self.builder.select(g, sink, s)
            for g, s in zip(self._missing(pointer, shadows), shadows, strict=True)
        ]

    def _atomic(self, insn: Instruction) -> None:
        """Counters and flags are integers; floats, or integers with the bits of floats, are refused."""
        is_float = isinstance(insn.type, FloatType) and insn.operands[0] in self.activity.varied
        gives_bits = any(self.activity.carries_bits(v) for v in insn.operands[1:])
        exchanges = insn.opcode == "cmpxchg" or insn.operation == "xchg"  # type: ignore[attr-defined]
        takes_bits = (
            exchanges and insn.operands[0] in self.activity.varied and self.activity.becomes_float(insn)
        )
        if is_float or gives_bits or takes_bits:
            raise self.session.refuse(
                "an atomic operation on floats has no reverse here",
                insn,
                help="use a Mutex, or load and store one after the other",
            )

    # -- calls ---------------------------------------------------------------------------------------------

    def _call(self, insn: Call) -> bool:
        name = insn.callee_name or ""
        motion = memory_operation(name)
        if motion is not None:
            if insn.args[0] in self.activity.varied:
                if motion.motion is Motion.FILL:
                    self._fill(insn)
                else:
                    self._copy(insn, motion.motion is Motion.MOVE)
            return True
        what = allocation(name)
        if what is not None:
            if what.role in (Role.ALLOCATE, Role.ALLOCATE_ZEROED) and insn in self.augmented.shadow:
                self._release(insn)
            return True
        if self.calls.is_generated(insn):
            if insn in self.activity.active_calls:
                self.calls.reverse(insn)
            return True
        rule = rule_for_instruction(insn)
        if rule is not None:
            return rule.is_inactive
        self._harmless(insn, name)
        return True

    def _harmless(self, insn: Call, name: str) -> None:
        """Refuse a call unless nothing active can get into it, or what gets in stays there."""
        watch_text(self.session, insn, any(a in self.activity.varied for a in insn.args))
        if inactive(name) is not None or insn.is_barrier:
            return
        # What is not handed anything active cannot get at active memory, and its result is a constant.
        if insn not in self.activity.varied and not any(a in self.activity.varied for a in insn.args):
            return
        spelled = f"`{name}`" if name else "a function pointer or inline assembly"
        raise self.session.refuse(
            f"the derivative of {spelled} is not known",
            insn,
            help="make its source visible to the compiler, or pass what it computes as a Const argument",
        )

    def _fill(self, insn: Call) -> None:
        size = self.recall.value(insn.args[2])
        if self.augmented.ever_holds_pointers(insn.args[0]):
            self._clear_floats(insn, size)
            return
        for place, (here, _) in zip(
            self.shadows(insn.args[0]), self._present(insn.args[0], size), strict=True
        ):
            self.builder.memset(place, 0, here)

    def _clear_floats(self, insn: Call, size: Value) -> None:
        cells = self._cells(insn, 0)
        if cells is None and not self.calls.is_plain(insn.args[0], insn.args[0]):
            raise self.session.refuse(
                "mixed memory is filled, and where its floats lie is not known",
                insn,
                "assign the fields one by one, or build the value anew",
            )
        present = self._present(insn.args[0], size)
        guarded = self.augmented.guards.is_guarded(insn.args[0])
        for place, (here, _) in zip(self.shadows(insn.args[0]), present, strict=True):
            if cells is None:
                self.builder.call(self.shuttle.words(has_source=False), void, [place, place, here])
            for offset, kind in cells or ():
                at = self.builder.ptradd(place, offset)
                if guarded:
                    gone = self.builder.icmp("eq", here, 0)
                    at = self.builder.select(gone, self._sink("sink"), at)
                self.builder.store(zero(kind), at, 1)

    def _cells(self, insn: Call, source: int) -> list[tuple[int, FloatType]] | None:
        size = insn.args[2]
        if not isinstance(size, ConstInt):
            return None
        found = self.types.scalars(insn.args[0], size.value, alignment(insn, 0), True)
        if found is None:
            found = self.types.scalars(insn.args[source], size.value, alignment(insn, source), True)
        return None if found is None else [(o, t) for o, t in found if isinstance(t, FloatType)]

    def _copy(self, insn: Call, move: bool) -> None:
        to, source, size = insn.args[:3]
        cells = self._cells(insn, 1)
        has_source = source in self.activity.varied
        if cells is not None and isinstance(size, ConstInt) and size.value <= UNROLLED_COPY:
            none: list[Value | None] = [None] * self.lanes.width
            origin = self._diverted(source, "source.sink") if has_source else none
            for s, d in zip(origin, self._diverted(to, "sink"), strict=True):
                self._unrolled(s, d, cells)
            return
        period = factor(size)
        pattern = self.types.pattern(to, alignment(insn, 0), period)
        if pattern is None:
            pattern = self.types.pattern(source, alignment(insn, 1), period)
        if pattern is None and not self.calls.is_plain(to, source):
            raise self.session.refuse(
                "memory is copied, and which of its bytes are floats is not known",
                insn,
                help="copy element by element, or read some element through its own type in this function",
            )
        bytes_ = self.recall.value(size)
        floats = () if pattern is None else tuple((o, t) for o, t in pattern[1] if isinstance(t, FloatType))
        if pattern is not None and not floats:
            return

        def shuttle(s: Value | None, d: Value, size: Value) -> None:
            name = (
                self.shuttle.words(has_source=s is not None)
                if pattern is None
                else self.shuttle.copy(pattern[0], floats, has_source=s is not None, move=move)
            )
            if size is not const_int(i64, 0):
                self.builder.call(name, void, [s if s is not None else d, d, size])

        for k, (d, (here, _)) in enumerate(zip(self.shadows(to), self._present(to, bytes_), strict=True)):
            if not has_source:
                shuttle(None, d, here)
                continue
            moved, dropped = self._present(source, here)[k]
            shuttle(self.shadows(source)[k], d, moved)
            shuttle(None, d, dropped)

    def _unrolled(self, source: Value | None, to: Value, cells: list[tuple[int, FloatType]]) -> None:
        moved = []
        for offset, kind in cells:
            place = self.builder.ptradd(to, offset)
            moved.append(self.builder.load(kind, place, 1))
            self.builder.store(zero(kind), place, 1)
        if source is None:
            return
        for (offset, _), value in zip(cells, moved, strict=True):
            place = self.builder.ptradd(source, offset)
            old = self.builder.load(value.type, place, 1)
            self.builder.store(self.builder.fadd(old, value), place, 1)

    def _release(self, insn: Call) -> None:
        """All uses of a block are reversed: its shadows go, and the block itself if the primal freed it."""
        declare_memory(self.builder.function)
        blocks = [self.builder.ptradd(s, -SHADOW_HEADER) for s in self.shadows(insn)]
        freed = self.builder.icmp("ne", self.builder.load(i64, blocks[0], 8), 0)
        what = allocation(insn.callee_name or "")
        assert what is not None
        size = self.recall.value(insn.args[what.size or 0])
        if what.count is not None:
            size = self.builder.mul(size, self.recall.value(insn.args[what.count]))
        align = None if what.align is None else self.recall.value(insn.args[what.align])
        self.calls.free_if(freed, insn, self.recall.value(insn), size, align)
        for block in blocks:
            self.builder.call("free", void, [block])
