"""Activity: which values of a function have a shadow, given which arguments do.

A value is *active* if derivative information may reach it, or if it addresses memory that has a shadow. The
analysis over-approximates: too much activity costs time, too little would be a wrong derivative. It works to
a fixpoint over the live blocks (those from which a return is reachable) with these rules:

* derivative information flows forward: operands to results, memory to loads, arguments to calls;
* storing something active makes the local memory stored to active; so does storing a local object's address
  into active memory, merging it with an active pointer, or handing it to a call that has active arguments;
* memory that cannot have a shadow (`Const` arguments, globals) may be written, but not read back.

Integers may carry the bits of floats. They stay active through moves (casts, shifts, masks, phi, memory);
arithmetic ends that, and what arithmetic made of float bits must not become a float again (`tainted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.facts.callees import Callee, is_thread_local, symbol_kind
from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import constant_offset
from ferrodiff.adcore.facts.shapes import (
    BIT_MOVES,
    ELEMENTS,
    MERGES,
    MOVES,
    holds_pointer,
    is_plain,
    moves_bytes,
    strip_offset,
)
from ferrodiff.adcore.facts.wanted import find_guarded, find_needed
from ferrodiff.adcore.facts.words import ambiguous_words, disguised_addresses
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstAggregate, ConstExpr, ConstInt, GlobalRef
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Call, GetElementPtr, Instruction
from ferrodiff.adcore.ir.types import IntType, PointerType, Type, VectorType, is_float_like
from ferrodiff.adcore.ir.values import Argument, Function
from ferrodiff.adcore.rules.runtime import MemoryOperation, allocation, memory_operation
from ferrodiff.adcore.rules.table import BY_OPCODE, rule_for_call
from ferrodiff.adcore.shadow import can_carry, is_aggregate

READ_BACK = (
    "a value that depends on an active argument is stored in memory without a shadow and read from it again",
    "make the argument that owns this memory Dual, or use a local variable",
)
"""Reason and help of the refusal of derivatives that would get lost in memory."""


@dataclass(frozen=True, slots=True)
class ConstRanges:
    """Byte ranges [start, end) of the tuple that argument 0 points to that are inactive."""

    ranges: tuple[tuple[int, int], ...] = ()

    def holds(self, offset: int | None, size: int = 1) -> bool:
        """Whether the bytes at `offset` all lie in inactive ranges."""
        if offset is None:
            return False
        return any(a <= offset and offset + max(size, 1) <= b for a, b in self.ranges)


@dataclass
class Activity:
    """The result. `active` holds values with a shadow; `const_stores` stores the shadow world cannot see."""

    function: Function
    cfg: Cfg
    active: set[Value] = field(default_factory=set)
    tainted: dict[Value, int] = field(default_factory=dict)
    guarded: set[Value] = field(default_factory=set)
    needed: set[Value] = field(default_factory=set)
    const_stores: list[tuple[Instruction, frozenset[Value]]] = field(default_factory=list)

    def is_active(self, value: Value) -> bool:
        """Whether the value has a shadow."""
        return value in self.active


class Analysis:
    """Computes an `Activity`.

    `active_arguments` says which arguments have shadows, `guarded_arguments` which shadow pointers may equal
    the primal's (then there is no shadow after all); `result_active` whether the caller wants the result's
    shadow.
    With `guard`, shadow pointers found in memory may be such pointers too. `definition` finds bodies by name.
    """

    def __init__(
        self,
        function: Function,
        layout: DataLayout,
        definition: Callable[[str | None], Function | None],
        active_arguments: Sequence[bool],
        *,
        guarded_arguments: Sequence[bool] = (),
        result_active: bool = False,
        ranges: ConstRanges | None = None,
        guard: bool = False,
        refuse: Callable[..., CannotDifferentiate] | None = None,
    ) -> None:
        self.function = function
        self.layout = layout
        self.definition = definition
        self.result_active = result_active
        self.ranges = ranges or ConstRanges()
        self.guard = guard
        self.refuse = refuse or (lambda reason, insn=None, help=None: CannotDifferentiate(reason))
        self.cfg = Cfg(function)
        self.facts = Activity(function, self.cfg)
        self.active = self.facts.active
        self._roots: dict[Value, frozenset[Value]] = {}
        self._offsets: dict[Value, int | None] = {}
        self._copies: dict[Value, int | None] = {}
        self._carry: dict[Type, bool] = {}
        for argument, is_active in zip(function.arguments, active_arguments, strict=True):
            if is_active:
                self.active.add(argument)
        for argument, is_guarded in zip(function.arguments, guarded_arguments, strict=False):
            if is_guarded and argument in self.active:
                self.facts.guarded.add(argument)
        self.blocks = [b for b in self.cfg.order if b in self.cfg.live]
        self.disguised = disguised_addresses(self.blocks)
        self._unclear = self.disguised | ambiguous_words(self.blocks)
        if self.ranges.ranges:
            self._find_tuple_copies()

    # -- places in the argument tuple ------------------------------------------------------------------------

    def tuple_offset(self, value: Value) -> int | None:
        """Byte offset of an address in the argument tuple (or in a local copy of it), if it is constant."""
        if not self.ranges.ranges:
            return None
        if value in self._offsets:
            return self._offsets[value]
        self._offsets[value] = None
        found = self._tuple_offset(value)
        self._offsets[value] = found
        return found

    def _tuple_offset(self, value: Value) -> int | None:
        if value is self.function.arguments[0]:
            return 0
        if value in self._copies:
            return self._copies[value]
        if isinstance(value, GetElementPtr):
            base = self.tuple_offset(value.operands[0])
            step = constant_offset(value, self.layout)
            return None if base is None or step is None else base + step
        return None

    def _find_tuple_copies(self) -> None:
        """Local memory whose only copy comes from the argument tuple is the tuple for our purposes."""
        for block in self.blocks:
            for insn in block.instructions:
                operation = self.memory(insn)
                if operation is None or operation.source is None:
                    continue
                target = insn.operands[operation.destination]
                base, offset = strip_offset(target, self.layout)
                if getattr(base, "opcode", "") != "alloca" or offset is None:
                    continue
                source = self.tuple_offset(insn.operands[operation.source])
                known = None if source is None or base in self._copies else source - offset
                self._copies[base] = known
                self._offsets.pop(base, None)

    def memory(self, insn: Instruction) -> MemoryOperation | None:
        """The copy or fill that an instruction does."""
        if not isinstance(insn, Call) or insn.callee_name is None:
            return None
        return memory_operation(insn.callee_name)

    def in_const_range(self, pointer: Value, size: int = 1) -> bool:
        """Whether an address lies in an inactive byte range of the argument tuple."""
        return bool(self.ranges.ranges) and self.ranges.holds(self.tuple_offset(pointer), size)

    # -- callees ---------------------------------------------------------------------------------------------

    def callee_kind(self, call: Call) -> Callee:
        """What kind of function a call calls."""
        name = call.callee_name
        if name is None:
            harmless = call.is_barrier or (call.is_inline_asm and not call.operands)
            return Callee.HARMLESS if harmless else Callee.UNKNOWN
        if self.definition(name) is not None:
            return Callee.DEFINED
        return symbol_kind(call)

    # -- roots -----------------------------------------------------------------------------------------------

    def roots(self, value: Value) -> frozenset[Value]:
        """The objects an address (or an aggregate of addresses) may point into: what made them."""
        found = self._roots.get(value)
        if found is None:
            found = self._roots[value] = frozenset(self._find_roots(value))
        return found

    def _find_roots(self, value: Value) -> set[Value]:
        found: set[Value] = set()
        seen: set[Value] = set()
        work = [value]
        while work:
            each = work.pop()
            if each in seen:
                continue
            seen.add(each)
            nexts = self._origins(each)
            if nexts is None:
                found.add(each)
            else:
                work.extend(nexts)
        return found

    def _origins(self, value: Value) -> Sequence[Value] | None:
        """Where a pointer's object comes from; None if the value itself is a root."""
        match getattr(value, "opcode", None):
            case (
                "getelementptr"
                | "freeze"
                | "bitcast"
                | "inttoptr"
                | "ptrtoint"
                | "extractvalue"
                | "extractelement"
            ):
                return value.operands[:1]  # type: ignore[attr-defined,no-any-return]
            case "phi":
                return value.operands  # type: ignore[attr-defined,no-any-return]
            case "select":
                return value.operands[1:]  # type: ignore[attr-defined,no-any-return]
            case "call" if is_thread_local(value):
                return value.operands[:1]  # type: ignore[attr-defined,no-any-return]
            case "insertvalue" | "insertelement" | "shufflevector":
                return value.operands[:2]  # type: ignore[attr-defined,no-any-return]
            case "or" | "and" | "add" | "sub" | "zext" | "trunc" | "shl" | "lshr":
                return value.operands  # type: ignore[attr-defined,no-any-return]
        if isinstance(value, (ConstExpr,)):
            return value.operands
        if isinstance(value, ConstAggregate):
            return value.elements
        if isinstance(value, (Argument, Instruction, GlobalRef)):
            return None
        return ()

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def run(self) -> Activity:
        """Compute everything. Raises `CannotDifferentiate` where memory without a shadow is read back."""
        instructions = [i for b in self.blocks for i in b.instructions if i.opcode in TRANSFER]
        size = -1
        while size != len(self.active):
            size = len(self.active)
            for insn in instructions:
                TRANSFER[insn.opcode](self, insn)
        self._find_taint()
        self._find_const_stores()
        find_guarded(self)
        find_needed(self)
        return self.facts

    def carries(self, ty: Type) -> bool:
        """Whether values of the type may be active."""
        found = self._carry.get(ty)
        if found is None:
            found = self._carry[ty] = can_carry(ty, self.layout)
        return found

    def mark(self, value: Value) -> None:
        """Make an SSA value active, if its type can be."""
        if value in self.active or not self.carries(value.type):
            return
        if isinstance(value.type, PointerType) and self.in_const_range(value):
            return
        self.active.add(value)

    def demand(self, pointer: Value) -> None:
        """Give the objects behind an address a shadow, where they are ours to give one to."""
        work, seen = [pointer], {pointer}
        while work:
            for root in self.roots(work.pop()):
                if root in self.active or isinstance(root, (Argument, GlobalRef)):
                    continue
                further = self._demand_root(root)
                if further is not None and further not in seen:
                    # Through linked nodes an address may lead back to itself.
                    seen.add(further)
                    work.append(further)

    def _demand_root(self, root: Value) -> Value | None:
        """Makes one object active, or says behind which address it is."""
        if isinstance(root, Call):
            kind = self.callee_kind(root)
            if kind in (Callee.DEFINED, Callee.ALLOCATION):
                self.mark(root)
            return root.operands[0] if kind is Callee.MEMORY else None
        if not isinstance(root, Instruction):
            return None
        if root.opcode == "alloca":
            self.mark(root)
        return root.operands[0] if root.opcode == "load" else None

    def _merge(self, insn: Instruction) -> None:
        operands = insn.operands[1:] if insn.opcode == "select" else insn.operands
        if insn in self.active or any(v in self.active for v in operands):
            self.mark(insn)
            if insn in self.active and self._may_hide(insn):
                for value in operands:
                    self._backwards(value)

    def _may_hide(self, value: Value) -> bool:
        """Whether a value is, contains, or may be an address or a float in the guise of a number."""
        return value in self._unclear or holds_pointer(value.type, self.layout)

    def _backwards(self, value: Value) -> None:
        """A pointer merged into an active one: local objects behind it get a shadow.

        What may be a number or an address is active as a whole, since its shadow depends on which of them it is.
        """
        if value in self.active or not isinstance(value, (Instruction, Argument)):
            return
        if value in self._unclear and getattr(value, "opcode", "") != "ptrtoint":
            self.mark(value)
        else:
            self.demand(value)

    def _move(self, insn: Instruction) -> None:
        if insn.operands[0] in self.active:
            self.mark(insn)
        elif insn in self.active and insn.operands[0] in self._unclear:
            self._backwards(insn.operands[0])

    def _bits(self, insn: Instruction) -> None:
        """Whole bytes that are moved, and the idioms on a sign bit; other bit work is integer arithmetic."""
        a, b = insn.operands
        if insn in self.active and insn in self.disguised:
            self._backwards(a)
            self._backwards(b)
        if a not in self.active and b not in self.active:
            return
        if insn.opcode == "or" or isinstance(insn.type, VectorType):
            self.mark(insn)
        elif insn.opcode in ("shl", "lshr"):
            if a in self.active and isinstance(b, ConstInt) and b.unsigned % 8 == 0:
                self.mark(insn)
        else:
            constant = b if isinstance(b, ConstInt) else a
            ty = insn.type
            if (
                isinstance(constant, ConstInt)
                and isinstance(ty, IntType)
                and moves_bytes(constant.unsigned, ty.bits)
            ):
                self.mark(insn)

    def _element(self, insn: Instruction) -> None:
        operands = insn.operands[:2] if insn.opcode != "extractvalue" else insn.operands[:1]
        if any(v in self.active for v in operands) or insn in self.active:
            self.mark(insn)
            if insn in self.active and insn.opcode == "insertvalue":
                for value in operands:
                    if self._may_hide(value):
                        self._backwards(value)

    def _address(self, insn: Instruction) -> None:
        if insn.operands[0] in self.active:
            self.mark(insn)

    def _load(self, insn: Instruction) -> None:
        pointer = insn.operands[0]
        if pointer in self.active and insn not in self.active and self.carries(insn.type):
            if self.in_const_range(pointer, self.layout.size_of(insn.type)):
                return
            self.active.add(insn)

    def _store(self, insn: Instruction) -> None:
        value, pointer = insn.operands
        if value in self.active and pointer not in self.active:
            self.demand(pointer)
        if pointer in self.active and self._may_hide(value):
            self._backwards(value)

    def _float(self, insn: Instruction) -> None:
        if insn not in self.active and any(v in self.active for v in insn.operands):
            rule = BY_OPCODE.get(insn.opcode)
            if rule is not None and not rule.is_inactive:
                self.mark(insn)

    def _atomic(self, insn: Instruction) -> None:
        """The result is what was there before: a load."""
        if insn.operands[0] in self.active:
            self.mark(insn)
        elif any(v in self.active for v in insn.operands[1:]):
            self.demand(insn.operands[0])

    def _return(self, insn: Instruction) -> None:
        if self.result_active and insn.operands and self._may_hide(insn.operands[0]):
            self._backwards(insn.operands[0])

    def _call(self, insn: Instruction) -> None:
        assert isinstance(insn, Call)
        CALLS[self.callee_kind(insn)](self, insn)

    def _call_rule(self, call: Call) -> None:
        rule = rule_for_call(call.callee_name or "", call.function_type)
        if rule is None or rule.is_inactive or call in self.active:
            return
        if any(v in self.active and is_float_like(v.type) for v in call.operands):
            self.mark(call)
            for write in rule.writes:
                self.demand(call.operands[write.operand])

    def _call_memory(self, call: Call) -> None:
        operation = memory_operation(call.callee_name or "")
        assert operation is not None
        to = call.operands[operation.destination]
        if operation.source is not None:
            source = call.operands[operation.source]
            size = call.operands[operation.length]
            bytes_ = size.value if isinstance(size, ConstInt) else 1
            if source in self.active and to not in self.active and not self.in_const_range(source, bytes_):
                self.demand(to)
            if to in self.active and source not in self.active:
                self.demand(source)
        if operation.returns is not None and call.operands[operation.returns] in self.active:
            self.mark(call)

    def _call_allocation(self, call: Call) -> None:
        role = allocation(call.callee_name or "")
        assert role is not None
        if role.pointer is None:
            return
        if call.operands[role.pointer] in self.active:
            self.mark(call)
        elif call in self.active:
            self.demand(call.operands[role.pointer])

    def _call_defined(self, call: Call) -> None:
        if call not in self.active and not any(v in self.active for v in call.operands):
            return
        self.mark(call)
        for value, attributes in zip(call.operands, call.arg_attributes, strict=True):
            if value in self.active or not self._may_hide(value):
                continue
            if "readnone" not in attributes and not self._only_read(call, value, attributes):
                self._backwards(value)

    def _only_read(self, call: Call, value: Value, attributes: Iterable[str]) -> bool:
        """A pointer that the callee only reads through and does not keep needs no shadow."""
        if isinstance(value.type, PointerType) and "readonly" in attributes:
            return any(a.startswith("captures(") and "provenance" not in a for a in attributes)
        return False

    def _call_other(self, call: Call) -> None:
        return

    # -- taint -----------------------------------------------------------------------------------------------

    def _find_taint(self) -> None:
        """Integers that arithmetic made of float bits: 2 where the bits are floats for sure, 1 for maybe."""
        taint = self.facts.tainted
        sure = self.sure_bits()
        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                for insn in block.instructions:
                    if insn in taint or insn in self.active or not isinstance(insn.type.scalar, IntType):
                        continue
                    if insn.opcode in ARITHMETIC or insn.opcode in MERGES or insn.opcode in MOVES:
                        level = max((self._level(v, sure) for v in insn.operands), default=0)
                        if level and insn.opcode != "ptrtoint":
                            taint[insn] = level
                            changed = True

    def _level(self, value: Value, sure: set[Value]) -> int:
        if value in self.facts.tainted:
            return self.facts.tainted[value]
        if value in self.active and isinstance(value.type.scalar, IntType):
            return 2 if value in sure else 1
        return 0

    def sure_bits(self) -> set[Value]:
        """Active integers that are the bits of floats for sure."""
        sure: set[Value] = set()
        for _ in range(2):
            for block in self.blocks:
                for insn in block.instructions:
                    if insn in self.active and isinstance(insn.type.scalar, IntType):
                        from_float = insn.opcode == "bitcast" and is_float_like(insn.operands[0].type)
                        moved = insn.opcode in MOVES | BIT_MOVES | MERGES and any(
                            v in sure for v in insn.operands
                        )
                        if from_float or moved:
                            sure.add(insn)
        return sure

    # -- memory without a shadow ----------------------------------------------------------------------------

    def _find_const_stores(self) -> None:
        stores = self.facts.const_stores
        sure = self.sure_bits()
        for block in self.blocks:
            for insn in block.instructions:
                if insn.opcode != "store" or insn.operands[1] in self.active:
                    continue
                value = insn.operands[0]
                if value in self.active and (value in sure or not is_plain(value)):
                    stores.append((insn, self._deep_roots(insn.operands[1])))
        self._check_lost(sure)

    def lose(self, call: Call, pointer: Value) -> None:
        """A callee stores active data behind a pointer without a shadow: it must not be read back here."""
        self.facts.const_stores.append((call, self._deep_roots(pointer)))
        self._check_lost(self.sure_bits())

    def _check_lost(self, sure: set[Value]) -> None:
        stores = self.facts.const_stores
        if not stores:
            return
        lost = frozenset().union(*(roots for _, roots in stores))
        bits = any(insn.opcode == "store" and insn.operands[0] in sure for insn, _ in stores)
        for block in self.blocks:
            for insn in block.instructions:
                if self._reads_back(insn, lost, bits):
                    raise self.refuse(*READ_BACK[:1], stores[0][0], *READ_BACK[1:])

    def _reads_back(self, insn: Instruction, lost: frozenset[Value], bits: bool) -> bool:
        if insn.opcode == "load" and insn.operands[0] not in self.active:
            carries_float = is_float_like(insn.type) or is_aggregate(insn.type)
            carries_float = carries_float or (bits and isinstance(insn.type, IntType))
            return carries_float and bool(self._deep_roots(insn.operands[0]) & lost)
        operation = self.memory(insn)
        if operation is not None and operation.source is not None:
            source = insn.operands[operation.source]
            return source not in self.active and bool(self._deep_roots(source) & lost)
        return False

    def _deep_roots(self, pointer: Value) -> frozenset[Value]:
        """Roots with loads followed to the memory that holds the pointer."""
        found: set[Value] = set()
        seen: set[Value] = set()
        work = list(self.roots(pointer))
        while work:
            root = work.pop()
            if root in seen:
                continue
            seen.add(root)
            if getattr(root, "opcode", "") == "load":
                work.extend(self.roots(root.operands[0]))  # type: ignore[attr-defined]
            else:
                found.add(root)
        return frozenset(found)

    # -- pointers beside active ones ------------------------------------------------------------------------

    def tuple_root(self, pointer: Value) -> Value | None:
        """The argument tuple, if the address is inside it for sure (its pointers all have real shadows)."""
        if self.ranges.ranges and self.tuple_offset(pointer) is not None:
            return self.function.arguments[0]
        return None

    def is_mixed(self, value: Value) -> bool:
        """Whether an inactive pointer that points somewhere stands where shadow pointers are expected."""
        if value in self.active or not isinstance(value, (Instruction, Argument, GlobalRef, ConstExpr)):
            return False
        return any(isinstance(r, (Argument, Instruction, GlobalRef)) for r in self.roots(value))


Transfer = Callable[[Analysis, Instruction], None]

TRANSFER: dict[str, Transfer] = {
    **dict.fromkeys(MERGES, Analysis._merge),
    **dict.fromkeys(MOVES, Analysis._move),
    **dict.fromkeys(BIT_MOVES, Analysis._bits),
    **dict.fromkeys(ELEMENTS, Analysis._element),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg"), Analysis._float),
    "getelementptr": Analysis._address,
    "load": Analysis._load,
    "store": Analysis._store,
    "atomicrmw": Analysis._atomic,
    "cmpxchg": Analysis._atomic,
    "ret": Analysis._return,
    "call": Analysis._call,
    "invoke": Analysis._call,
}
"""How activity flows through each instruction; the others let none through."""

CALLS: dict[Callee, Callable[[Analysis, Call], None]] = {
    Callee.RULE: Analysis._call_rule,
    Callee.MEMORY: Analysis._call_memory,
    Callee.ALLOCATION: Analysis._call_allocation,
    Callee.DEFINED: Analysis._call_defined,
    Callee.HARMLESS: Analysis._call_other,
    Callee.UNKNOWN: Analysis._call_other,
}

ARITHMETIC = frozenset(
    ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "ashr", "sext", "shl", "lshr", "or", "and", "xor"]
)
