"""What depends on the active inputs, and what the active outputs depend on.

A float is *varied* if an active input can reach it, *useful* if it can reach an active output; adjoints exist
for values that are both. A pointer is *active* if the memory behind it has a shadow. Local objects have one
only if something varied can get into them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.copies import floats_in
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.constants import Constant, ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    Call,
    ExtractValue,
    Freeze,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
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
    is_float_like,
    void,
)
from ferrodiff.adcore.ir.values import Argument, Value
from ferrodiff.adcore.rules.table import rule_for_instruction


def holds_pointer(type: Type) -> bool:
    """Whether a value of the type contains a pointer."""
    return _holds(type, PointerType)


def holds_float(type: Type) -> bool:
    """Whether a value of the type contains a float."""
    return _holds(type, FloatType)


def holds_integer(type: Type) -> bool:
    """Whether a value of the type contains an integer."""
    return _holds(type, IntType)


def _holds(type: Type, wanted: type[Type]) -> bool:
    if isinstance(type, StructType):
        return any(_holds(f, wanted) for f in type.fields)
    if isinstance(type, (ArrayType, VectorType)):
        return _holds(type.element, wanted)
    return isinstance(type, wanted)


_ARITHMETIC = frozenset(["add", "sub", "mul", "udiv", "sdiv", "urem", "srem"])

Path = tuple[int, ...]
"""Leads to a float in a value: indices of aggregates, then, inside an integer, bit offset and width."""

_BIT_MOVES = frozenset(
    [
        "bitcast",
        "trunc",
        "zext",
        "sext",
        "or",
        "and",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "phi",
        "freeze",
        "extractvalue",
        "extractelement",
    ]
)


class Calls(Protocol):
    """What the analysis asks about calls whose derivatives are generated functions."""

    def is_generated(self, call: Call) -> bool:
        """Whether the callee has a body that is differentiated."""
        ...

    def argument_leaves(self, call: Call, activity: Activity) -> list[list[Path]]:
        """For every argument the floats in it that get gradients."""
        ...

    def result_leaves(self, call: Call, activity: Activity) -> list[Path]:
        """The floats in the result that take seeds."""
        ...

    def integers_may_carry(self) -> bool:
        """Whether integers of unknown meaning may be floats that are passed on to a callee (in thunks)."""
        ...

    def returned(self, value: Value, activity: Activity) -> Iterable[Path]:
        """The floats of this function's own result that take seeds."""
        ...

    def input_activity(self, insn: Instruction) -> bool | None:
        """For an address inside the thunk's arguments, whether that range is active; ``None`` otherwise."""
        ...


class Activity:
    """Activity of one prepared function, a snapshot.

    ``active`` are the arguments with a shadow or an adjoint; ``returns`` says whether the result is an active
    output.
    """

    def __init__(
        self, alias: Alias, memory: MemoryTypes, active: Iterable[Argument], returns: bool, calls: Calls
    ) -> None:
        self.alias = alias
        self.memory = memory
        self.returns = returns
        self.calls = calls
        self.varied: set[Value] = set()
        self.varied.update(a for a in active if self._may_carry(a))
        self.objects: set[Value] = set()
        self._touched: set[Value] = set()
        self.active_calls: set[Call] = set()
        self.demand: dict[Value, set[Path]] = {}
        self._instructions = [i for b in alias.cfg.order for i in b.instructions]
        self._spread()
        self._spread_back()
        self.mangled = self._mangled()

    def has_adjoint(self, value: Value) -> bool:
        """Whether floats in a value have adjoints."""
        return value in self.varied and bool(self.demand.get(value))

    def _may_carry(self, argument: Argument) -> bool:
        """Whether an argument can hold anything active: of integers only those whose bits become floats."""
        return not isinstance(argument.type, IntType) or self.becomes_float(argument)

    def becomes_float(self, integer: Value) -> bool:
        """Whether an integer's bits may be taken for a float's."""
        seen: set[Value] = {integer}
        work: list[Value] = [integer]
        while work:
            at = work.pop()
            for user in self.alias.users(at):
                if self._makes_floats(user, at):
                    return True
                moved = user.opcode in _BIT_MOVES or user.opcode == "select"
                if moved and isinstance(user.type, IntType) and user.type.bits > 1 and user not in seen:
                    seen.add(user)
                    work.append(user)
        return False

    def _makes_floats(self, user: Instruction, value: Value) -> bool:
        if user.opcode == "bitcast":
            return is_float_like(user.type)
        if isinstance(user, Store) and user.value is value:
            return bool(self.integer_leaves(value.type, user.pointer, user.align))
        return isinstance(user, Call) and self.calls.is_generated(user)

    # -- forwards ------------------------------------------------------------------------------------------

    def _spread(self) -> None:
        changed = True
        while changed:
            before = len(self.varied) + len(self.objects)
            for insn in self._instructions:
                self._visit(insn)
            changed = len(self.varied) + len(self.objects) != before

    def _visit(self, insn: Instruction) -> None:
        if isinstance(insn, Store):
            if insn.value in self.varied:
                self._touch(insn.pointer)
            elif holds_pointer(insn.value.type) and insn.pointer in self.varied:
                self._touch(insn.value)
        elif isinstance(insn, Call):
            self._visit_call(insn)
        elif insn not in self.varied and self._is_varied(insn):
            self.varied.add(insn)
        if insn in self.varied and isinstance(insn, (Phi, Select)) and isinstance(insn.type, PointerType):
            self._touch(insn)

    def _is_varied(self, insn: Instruction) -> bool:
        known = self.calls.input_activity(insn)
        if known is not None:
            return known
        if isinstance(insn, Load):
            if insn.pointer not in self.varied:
                return False
            return _carries(insn.type) or self._float_bits(insn)
        if insn in self.objects:
            return True
        if insn.opcode == "select":
            return any(v in self.varied for v in insn.operands[1:])
        if isinstance(insn.type, IntType):
            return insn.opcode in _BIT_MOVES and any(v in self.varied for v in self._bit_operands(insn))
        if not _carries(insn.type) and not holds_integer(insn.type):
            return False
        rule = rule_for_instruction(insn)
        if rule is not None and rule.is_inactive:
            return False
        if isinstance(insn.type, PointerType):
            return any(v in self.varied for v in insn.operands if holds_pointer(v.type))
        return any(v in self.varied for v in insn.operands)

    def _bit_operands(self, insn: Instruction) -> list[Value]:
        return [
            v
            for v in insn.operands
            if is_float_like(v.type) or isinstance(v.type, (IntType, StructType, ArrayType))
        ]

    def _float_bits(self, load: Load) -> bool:
        if not holds_integer(load.type):
            return False
        if self.calls.integers_may_carry():
            return True
        return bool(self.integer_leaves(load.type, load.pointer, load.align))

    def learn(self) -> bool:
        """Tell the memory types what integer loads turned out to carry; say whether that was news."""
        news = False
        for insn in self._instructions:
            if isinstance(insn, Load) and insn in self.varied and holds_integer(insn.type):
                known = self.integer_leaves(insn.type, insn.pointer, insn.align)
                cells = [
                    (place_of(insn.type, p, self.alias.layout), leaf_type(insn.type, p))
                    for p in self.leaves(insn)
                    if p not in known and not is_float_like(_at(insn.type, p))
                ]
                if cells:
                    self.memory.settle_as(insn.pointer, cells, insn.align)
                    news = True
        return news

    def _visit_call(self, call: Call) -> None:
        name = call.callee_name or ""
        if name.startswith(("llvm.memcpy.", "llvm.memmove.")):
            if call.args[1] in self.varied:
                self._touch(call.args[0])
            return
        if self.calls.is_generated(call):
            if any(a in self.varied for a in call.args):
                self.active_calls.add(call)
                for argument in call.args:
                    if isinstance(argument.type, PointerType):
                        self._touch(argument)
                if call.type is not void:
                    self.varied.add(call)
            return
        if self.alias.effect(call).allocates:
            if call in self.objects or self._any_allocation_active():
                self.objects.add(call)
                self.varied.add(call)
            return
        rule = rule_for_instruction(call)
        if rule is not None and not rule.is_inactive and any(a in self.varied for a in call.args):
            self.varied.add(call)
            for write in rule.writes:
                if write.partials is not None and any(v in self.varied for v in floats_of(call)):
                    self._touch(call.args[write.operand])

    def _any_allocation_active(self) -> bool:
        return any(isinstance(o, Call) for o in self.objects)

    def _touch(self, pointer: Value) -> None:
        """Varied data gets into the memory behind a pointer: its local objects have shadows from now on."""
        for root in self.alias.roots(pointer):
            if isinstance(root, ExtractValue):
                root = root.operands[0]
            if self.alias.is_local(root):
                self.objects.add(root)
                self.varied.add(root)
            elif isinstance(root, Load) and root.pointer not in self.varied and root not in self._touched:
                self._touched.add(root)
                self._touch(root.pointer)

    def _mangled(self) -> set[Value]:
        """Integers computed from the bits of varied floats by more than moving whole bytes."""
        found: set[Value] = set()
        carried: set[Value] = set()
        changed = True
        while changed:
            before = len(found) + len(carried)
            for insn in self._instructions:
                if not isinstance(insn.type, IntType) or insn.type.bits < 16 or insn in found:
                    continue
                on_bits = any(v in carried or self.carries_bits(v) for v in insn.operands)
                if isinstance(insn, (Load, Call)):
                    computed = isinstance(insn, Call) and on_bits and not self.calls.is_generated(insn)
                    if computed or (isinstance(insn, Load) and self._of_unknown_kind(insn)):
                        found.add(insn)
                    continue
                if any(v in found for v in insn.operands) or (on_bits and _computes(insn)):
                    found.add(insn)
                elif on_bits and insn.opcode in (*_BIT_MOVES, "select"):
                    carried.add(insn)
            changed = len(found) + len(carried) != before
        return found

    def _of_unknown_kind(self, load: Load) -> bool:
        """Integers from active memory of which it is not known whether they are floats."""
        if load in self.varied or load.pointer not in self.varied:
            return False
        size = self.alias.layout.store_size(load.type)
        return self.memory.scalars(load.pointer, size, load.align) is None

    def carries_bits(self, value: Value) -> bool:
        """Whether an integer is made of the bits of active floats."""
        return value in self.varied and bool(isinstance(value.type, IntType) and produced(value, self))

    # -- backwards -----------------------------------------------------------------------------------------

    def leaves(self, value: Value) -> list[Path]:
        """The paths of the floats in a value that have adjoints, in order."""
        if value not in self.varied:
            return []
        return sorted(self.demand.get(value, ()))

    def _spread_back(self) -> None:
        self._work: list[Value] = []
        for insn in self._instructions:
            if insn.parent in self.alias.cfg.live:
                self._sinks(insn)
        while self._work:
            value = self._work.pop()
            if isinstance(value, Instruction):
                self._pull(value, set(self.demand[value]))

    def _want(self, value: Value, paths: Iterable[Path]) -> None:
        if isinstance(value, Constant) or value not in self.varied:
            return
        known = self.demand.setdefault(value, set())
        new = [p for p in paths if p not in known]
        if new:
            known.update(new)
            self._work.append(value)

    def _sinks(self, insn: Instruction) -> None:
        """What an instruction asks for although nobody asks for its own result."""
        if isinstance(insn, Store):
            if insn.pointer in self.varied and insn.value in self.varied:
                self._want(insn.value, self.stored_leaves(insn))
        elif isinstance(insn, Return):
            if insn.value is not None and self.returns:
                self._want(insn.value, self.calls.returned(insn.value, self))
        elif isinstance(insn, Call) and self.calls.is_generated(insn) and insn in self.active_calls:
            for argument, paths in zip(insn.args, self.calls.argument_leaves(insn, self), strict=False):
                self._want(argument, paths)
        elif isinstance(insn, Call) and not self.calls.is_generated(insn):
            rule = rule_for_instruction(insn)
            for write in rule.writes if rule is not None else ():
                if write.partials is not None and insn.args[write.operand] in self.varied:
                    for operand in floats_of(insn):
                        self._want(operand, [()])

    def stored_leaves(self, store: Store) -> set[Path]:
        """The floats in what a store writes: by its type, by the memory's types, or by how it was made."""
        value = store.value
        found = {path for path, _ in float_leaves(value.type)}
        if holds_integer(value.type):
            found |= self.integer_leaves(value.type, store.pointer, store.align)
            found |= produced(value, self)
        return found

    def integer_leaves(self, type: Type, pointer: Value, align: int | None = None) -> set[Path]:
        """The floats inside the integers of a type that stands in memory at a pointer."""
        size = self.alias.layout.store_size(type)
        cells = self.memory.scalars(pointer, size, align)
        if cells is None:
            return set()
        found: set[Path] = set()
        for path, offset, bits in _integers(type, self.alias.layout):
            for at, kind in cells:
                if isinstance(kind, FloatType) and offset <= at and at + kind.bits // 8 <= offset + bits // 8:
                    found.add((*path, 8 * (at - offset), kind.bits))
        return found

    def _pull(self, insn: Instruction, paths: set[Path]) -> None:
        """Pass on to the operands what is asked of a result."""
        opcode = insn.opcode
        if opcode in ("phi", "freeze"):
            for operand in insn.operands:
                self._want(operand, paths)
        elif opcode == "select":
            self._want(insn.operands[1], paths)
            self._want(insn.operands[2], paths)
        elif opcode == "extractvalue":
            indices: Path = insn.indices  # type: ignore[attr-defined]
            self._want(insn.operands[0], [indices + p for p in paths])
        elif opcode == "insertvalue":
            place: Path = insn.indices  # type: ignore[attr-defined]
            n = len(place)
            self._want(insn.operands[1], [p[n:] for p in paths if p[:n] == place])
            self._want(insn.operands[0], [p for p in paths if p[:n] != place])
        elif opcode in ("load", "alloca"):
            return
        elif isinstance(insn.type, IntType) or opcode == "bitcast":
            for operand, wanted in bit_demand(insn, paths):
                self._want(operand, wanted)
        elif isinstance(insn, Call) and self.calls.is_generated(insn):
            return
        else:
            rule = rule_for_instruction(insn)
            if (rule is not None and not rule.is_inactive) or opcode in (
                "insertelement",
                "extractelement",
                "shufflevector",
            ):
                for operand in insn.operands:
                    if is_float_like(operand.type):
                        self._want(operand, [()])


def floats_of(call: Call) -> list[Value]:
    """The arguments that are floats."""
    return [a for a in call.args if is_float_like(a.type)]


def _integers(type: Type, layout: DataLayout) -> list[tuple[Path, int, int]]:
    """Paths, byte offsets and bits of the integers in a type."""
    if isinstance(type, IntType):
        return [((), 0, type.bits)]
    found: list[tuple[Path, int, int]] = []
    if isinstance(type, (StructType, ArrayType)):
        count = len(type.fields) if isinstance(type, StructType) else type.count
        for index in range(count):
            offset, inner = layout.field_at(type, index)
            found.extend(((index, *p), offset + o, b) for p, o, b in _integers(inner, layout))
    return found


def _computes(insn: Instruction) -> bool:
    """Whether an operation on integers is arithmetic, or shifts by less than whole bytes."""
    if insn.opcode in ("shl", "lshr", "ashr"):
        amount = insn.operands[1]
        return not isinstance(amount, ConstInt) or amount.value % 8 != 0
    return insn.opcode in _ARITHMETIC


def bit_demand(insn: Instruction, paths: set[Path]) -> list[tuple[Value, set[Path]]]:
    """Floats asked of an integer (as bit offset and width), in terms of the operands it is made of.

    Only moving bits is understood; other operations ask for nothing, and whoever differentiates them refuses.
    """
    opcode = insn.opcode
    first = insn.operands[0]
    if opcode == "bitcast":
        if is_float_like(insn.type) and isinstance(insn.type, FloatType):
            return [(first, {(0, insn.type.bits)})] if isinstance(first.type, IntType) else []
        if isinstance(first.type, FloatType):
            return [(first, {()})] if (0, first.type.bits) in paths else []
        return []
    if opcode in ("trunc", "zext", "sext"):
        bits = min(_bits(first), _bits(insn))
        return [(first, {p for p in paths if p[0] + p[1] <= bits})]
    if opcode in ("or", "and", "xor"):
        return [(operand, paths) for operand in insn.operands]
    if opcode in ("shl", "lshr", "ashr") and isinstance(insn.operands[1], ConstInt):
        by = insn.operands[1].value
        by = -by if opcode == "shl" else by
        return [(first, {(o + by, b) for o, b in paths if o + by >= 0 and o + by + b <= _bits(insn)})]
    return []


def produced(value: Value, activity: Activity) -> set[Path]:
    """The floats that an integer is put together from, as bit offset and width (with the path to it)."""
    found: set[Path] = set()
    seen: set[Value] = set()

    def walk(at: Value, shift: int, prefix: Path) -> None:
        if at in seen or not isinstance(at, Instruction) or at not in activity.varied:
            return
        seen.add(at)
        if at.opcode == "bitcast" and isinstance(at.operands[0].type, FloatType):
            found.add((*prefix, shift, at.operands[0].type.bits))
        elif at.opcode in ("zext", "freeze", "or", "phi", "trunc", "xor", "and"):
            for operand in at.operands:
                walk(operand, shift, prefix)
        elif at.opcode == "select":
            walk(at.operands[1], shift, prefix)
            walk(at.operands[2], shift, prefix)
        elif at.opcode == "shl" and isinstance(at.operands[1], ConstInt):
            walk(at.operands[0], shift + at.operands[1].value, prefix)
        elif at.opcode == "insertvalue":
            walk(at.operands[0], 0, prefix)
            if isinstance(at.operands[1].type, IntType):
                walk(at.operands[1], 0, (*prefix, *at.indices))  # type: ignore[attr-defined]
        elif isinstance(at, Load) and isinstance(at.type, IntType):
            for path in activity.integer_leaves(at.type, at.pointer, at.align):
                found.add((*prefix, path[0] + shift, path[1]))
        elif isinstance(at, Call) and activity.calls.is_generated(at):
            for path in activity.calls.result_leaves(at, activity):
                found.add((*prefix, *path))

    walk(value, 0, ())
    return found


def result_paths(value: Value) -> list[Path]:
    """The floats in a returned value, inside integers too, as far as its own function puts them together."""
    found = dict.fromkeys(path for path, _ in float_leaves(value.type))
    seen: set[Value] = set()
    work: list[tuple[Value, Path]] = [(value, ())]
    while work:
        at, prefix = work.pop()
        if isinstance(at.type, IntType):
            found |= dict.fromkeys((*prefix, 8 * o, kind.bits) for o, kind in floats_in(at))
        elif isinstance(at, Instruction) and at not in seen and holds_integer(at.type):
            seen.add(at)
            if isinstance(at, (Phi, Select, Freeze)):
                work += [(v, prefix) for v in at.operands if v.type is at.type]
            elif isinstance(at, InsertValue):
                work += [(at.operands[0], prefix), (at.operands[1], (*prefix, *at.indices))]
    return list(found)


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits


def _carries(type: Type) -> bool:
    return holds_float(type) or holds_pointer(type)


def place_of(type: Type, path: Path, layout: DataLayout) -> int:
    """The byte offset of a float in a value that stands in memory."""
    offset = 0
    while path:
        if isinstance(type, IntType):
            return offset + path[0] // 8
        step, type = layout.field_at(type, path[0])
        offset += step
        path = path[1:]
    return offset


def _at(type: Type, path: Path) -> Type:
    """The type that a path leads to, the integer itself where it leads into one."""
    while path and not isinstance(type, IntType):
        type = type.fields[path[0]] if isinstance(type, StructType) else type.element  # type: ignore[attr-defined]
        path = path[1:]
    return type


def is_in_integer(type: Type, path: Path) -> bool:
    """Whether a path leads to a float inside an integer."""
    return isinstance(_at(type, path), IntType)


def leaf_type(type: Type, path: Path) -> Type:
    """The float that a path leads to, inside integers too."""
    while path:
        if isinstance(type, IntType):
            return FLOATS[path[1]]
        if isinstance(type, StructType):
            type = type.fields[path[0]]
        else:
            assert isinstance(type, ArrayType)
            type = type.element
        path = path[1:]
    return type


FLOATS = {16: FloatType("half"), 32: FloatType("float"), 64: FloatType("double")}
"""The float of a width that travels inside an integer."""


def float_leaves(type: Type) -> list[tuple[Path, Type]]:
    """Paths and types of the floats (or vectors of floats) in a value of some type."""
    if is_float_like(type):
        return [((), type)]
    if isinstance(type, StructType):
        parts = list(enumerate(type.fields))
    elif isinstance(type, ArrayType):
        parts = list(enumerate([type.element] * type.count))
    else:
        return []
    return [((k, *path), leaf) for k, part in parts for path, leaf in float_leaves(part)]
