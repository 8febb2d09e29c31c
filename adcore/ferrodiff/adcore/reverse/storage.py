"""Where values wait for the reverse sweep: slots for single values, tape arrays for values of loops.

A slot is an entry alloca that ``mem2reg`` promotes; in a split derivative (whose two sweeps are two functions)
it is a place in the record that the forward sweep hands to the reverse sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import const_int, global_ref
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Alloca, Call, GetElementPtr, Instruction, Store
from ferrodiff.adcore.ir.types import FunctionType, Type, i8, i64, ptr
from ferrodiff.adcore.ir.values import Function


class Frame:
    """The start of a function: allocas and initial stores that end up at the head of the entry block."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.prologue: list[Instruction] = []
        self.initial: list[Instruction] = []

    def alloca(self, type: Type, name: str, initial: Value | None = None, align: int | None = None) -> Value:
        """An entry alloca, with the value it has at entry."""
        insn = Alloca(type, align, name=self.function.fresh_name(name))
        self.prologue.append(insn)
        if initial is not None:
            self.initial.append(Store(initial, insn))
        return insn

    def add(self, insn: Instruction, hint: str = "t") -> Instruction:
        """An instruction after the allocas."""
        if insn.name is None and insn.opcode != "store":
            insn.name = self.function.fresh_name(hint)
        self.initial.append(insn)
        return insn

    def finish(self) -> None:
        """Put everything in place; the entry block must exist."""
        entry = self.function.entry
        head = [*self.prologue, *self.initial]
        for insn in head:
            insn.parent = entry
        entry.instructions[0:0] = head
        self.prologue = []
        self.initial = []


@dataclass(eq=False)
class Slot:
    """A place for one value of ``type``; ``address`` by function."""

    type: Type
    offset: int
    address: dict[Function, Value] = field(default_factory=dict)


class Slots:
    """Slots that both sweeps reach. ``forward`` and ``reverse`` are one frame unless the sweeps are split."""

    def __init__(self, forward: Frame, reverse: Frame, layout: DataLayout) -> None:
        self.forward = forward
        self.reverse = reverse
        self.layout = layout
        self.size = 0
        self.align = 16
        self.record: dict[Function, Value] = {}
        self.mirror: dict[Value, Value] = {}
        """Addresses in the record as the forward sweep sees them, and as the reverse sweep does."""

    @property
    def is_split(self) -> bool:
        """Whether the sweeps are two functions."""
        return self.forward is not self.reverse

    def open_record(self, incoming: Value) -> Call:
        """Allocate the record in the forward sweep; its size is filled in by ``close_record``."""
        call = Call(_malloc(self.forward.function), FunctionType(ptr, (i64,)), [const_int(i64, 0)])
        self.forward.add(call, "record")
        self.record[self.forward.function] = call
        self.record[self.reverse.function] = incoming
        return call

    def close_record(self) -> None:
        """Settle the record's size."""
        call = self.record[self.forward.function]
        assert isinstance(call, Call)
        call.operands[0] = const_int(i64, max(self.size, 16))

    def new(self, type: Type, name: str, initial: Value | None = None, size: int | None = None) -> Slot:
        """A new slot; ``initial`` is stored at the start of the forward sweep."""
        if not self.is_split:
            slot = Slot(type, 0)
            slot.address[self.forward.function] = self.forward.alloca(type, name, initial)
            return slot
        align = max(8, self.layout.align_of(type))
        self.size = -(-self.size // align) * align
        slot = Slot(type, self.size)
        self.size += size if size is not None else max(1, self.layout.size_of(type))
        for frame in (self.forward, self.reverse):
            place = GetElementPtr(ptr, i8, [self.record[frame.function], const_int(i64, slot.offset)])
            slot.address[frame.function] = frame.add(place, name)
        self.mirror[slot.address[self.forward.function]] = slot.address[self.reverse.function]
        if initial is not None:
            self.forward.add(Store(initial, slot.address[self.forward.function]))
        return slot

    def load(self, builder: Builder, slot: Slot, name: str = "kept") -> Value:
        """The value of a slot, at the builder's place."""
        return builder.load(slot.type, slot.address[builder.function], None, name)

    def store(self, builder: Builder, slot: Slot, value: Value) -> Instruction:
        """Set a slot at the builder's place."""
        return builder.store(value, slot.address[builder.function])


def _malloc(function: Function) -> Value:
    declare_memory(function)
    return global_ref("malloc")


MEMORY_FUNCTIONS = {
    "malloc": 'declare noalias noundef ptr @malloc(i64 noundef) nounwind allockind("alloc,uninitialized") allocsize(0) '
    '"alloc-family"="malloc" memory(inaccessiblemem: readwrite) willreturn',
    "calloc": 'declare noalias noundef ptr @calloc(i64 noundef, i64 noundef) nounwind allockind("alloc,zeroed") '
    'allocsize(0,1) "alloc-family"="malloc" memory(inaccessiblemem: readwrite) willreturn',
    "realloc": "declare noalias noundef ptr @realloc(ptr allocptr captures(none), i64 noundef) nounwind "
    'allockind("realloc") allocsize(1) "alloc-family"="malloc" '
    "memory(argmem: readwrite, inaccessiblemem: readwrite) willreturn",
    "free": 'declare void @free(ptr allocptr captures(none) noundef) nounwind allockind("free") '
    '"alloc-family"="malloc" memory(argmem: readwrite, inaccessiblemem: readwrite) willreturn',
}
"""Declarations of the C allocator, from which all memory of derivatives comes."""


def declare_memory(function: Function) -> None:
    """Have the C allocator declared with a function."""
    for name, text in MEMORY_FUNCTIONS.items():
        function.required_declarations.setdefault(name, text)
