"""An interpreter of LLVM IR over IEEE floats, mpmath numbers or complex-step numbers.

    interpreter = Interpreter(Module.parse(text), COMPLEX)
    interpreter.call("f", [complex(0.5, 1e-30), 3])

Integers are unsigned Python integers, pointers are integers (addresses), floats are numbers of the domain,
vectors and aggregates are tuples. ``Interpreter.floats`` and ``read_floats`` put arrays into memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    AtomicRMW,
    BinaryOp,
    Branch,
    Call,
    Cast,
    Compare,
    CompareExchange,
    ExtractElement,
    ExtractValue,
    Freeze,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Invoke,
    Load,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
)
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import FloatType, IntType, Type, VectorType
from ferrodiff.adcore.ir.values import (
    Block,
    ConstAggregate,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstPoison,
    ConstSplat,
    ConstUndef,
    ConstZero,
    Function,
    GlobalRef,
    MetadataOperand,
    Value,
)
from ir_domains import FLOAT, Domain
from ir_library import LIBRARY, Panic
from ir_memory import POISON, Memory, Num, Opaque, Poison, Unsupported

__all__ = ["Interpreter", "Panic", "StepLimit", "Unsupported", "signed"]

Frame = dict[Value, Any]


def signed(value: int, bits: int) -> int:
    """An unsigned integer read as a signed one."""
    return value - (1 << bits) if value >> (bits - 1) else value


class StepLimit(Exception):
    """More instructions were executed than allowed."""


class Interpreter:
    """Runs functions of one module. ``externals``: Python functions by symbol, ``f(interpreter, args)``."""

    def __init__(
        self,
        module: Module | str,
        domain: Domain = FLOAT,
        *,
        externals: dict[str, Callable[[Interpreter, Sequence[Any]], Any]] | None = None,
        max_steps: int = 5_000_000,
    ) -> None:
        self.module = Module.parse(module) if isinstance(module, str) else module
        self.domain = domain
        self.layout = self.module.datalayout
        self.memory: Memory = Memory(domain.is_exact_ieee)
        self.externals = externals or {}
        self.steps = max_steps
        self._globals: dict[str, int] = {}
        self._functions: dict[int, str] = {}

    # -- entry points ----------------------------------------------------------------------------

    def call(self, name: str, args: Sequence[Any]) -> Any:
        """Call a function by name with register values; numbers may be given as Python numbers."""
        function = self.module.functions[name]
        values = [self._argument(p.type, a) for p, a in zip(function.arguments, args, strict=True)]
        return self.run(function, values)

    def _argument(self, kind: Type, value: Any) -> Any:
        if isinstance(kind, FloatType):
            return self.number(value)
        if isinstance(kind, IntType) and isinstance(value, int):
            return value & ((1 << kind.bits) - 1)
        return value

    def number(self, value: Any) -> Any:
        """A Python number as one of the domain; others as they are."""
        return self.domain.const(float(value)) if isinstance(value, (int, float)) else value

    def floats(self, values: Iterable[Any], kind: str = "double") -> int:
        """A new array of floats; its address."""
        numbers = [self.number(v) for v in values]
        size = 8 if kind == "double" else 4
        address = self.memory.allocate(size * len(numbers), 16, "floats")
        for index, value in enumerate(numbers):
            self.memory.store(address + index * size, size, Num(value, kind))
        return address

    def read_floats(self, address: int, count: int, kind: str = "double") -> list[Any]:
        """The floats of an array."""
        element = FloatType(kind)
        size = 8 if kind == "double" else 4
        return [self.load(element, address + i * size) for i in range(count)]

    def run(self, function: Function, args: Sequence[Any]) -> Any:
        """Execute a function; raises ``Panic`` where the program would."""
        frame: Frame = dict(zip(function.arguments, args, strict=True))
        stack: list[int] = []
        block, previous = function.entry, None
        while True:
            step = self._block(block, previous, frame, stack)
            if not isinstance(step, Block):
                for address in stack:
                    self.memory.free(address)
                return step[0]
            block, previous = step, block

    def _block(
        self, block: Block, previous: Block | None, frame: Frame, stack: list[int]
    ) -> Block | tuple[Any]:
        phis = block.phis
        if phis:
            assert previous is not None
            values = [self.value(phi.value_from(previous), frame) for phi in phis]
            frame.update(zip(phis, values, strict=True))
        for insn in block.instructions[len(phis) :]:
            self.steps -= 1
            if self.steps < 0:
                raise StepLimit
            if insn.is_terminator:
                return self._terminator(insn, frame)
            if isinstance(insn, Alloca):
                frame[insn] = self._alloca(insn, frame)
                stack.append(frame[insn])
            else:
                frame[insn] = self._execute(insn, frame)
        raise AssertionError("a block without a terminator")

    def _terminator(self, insn: Instruction, frame: Frame) -> Block | tuple[Any]:
        if isinstance(insn, Return):
            return (self.value(insn.operands[0], frame) if insn.operands else None,)
        if isinstance(insn, Branch):
            if not insn.operands:
                return insn.targets[0]
            condition = self.value(insn.operands[0], frame)
            if isinstance(condition, Poison):
                raise Unsupported("a branch on poison")
            return insn.targets[0 if condition else 1]
        if isinstance(insn, Switch):
            key = self.value(insn.operands[0], frame)
            for case, target in insn.cases:
                if case.unsigned == key:
                    return target
            return insn.default
        if isinstance(insn, Invoke):
            frame[insn] = self._call(insn, frame)
            return insn.normal
        raise Panic(str(insn))

    def _execute(self, insn: Instruction, frame: Frame) -> Any:
        return _EXECUTE[type(insn)](self, insn, frame)

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: Value, frame: Frame) -> Any:
        """What an operand holds."""
        found = frame.get(value, self)
        return found if found is not self else self.constant(value)

    def constant(self, value: Value) -> Any:
        """What a constant holds."""
        if isinstance(value, ConstInt):
            return value.unsigned
        if isinstance(value, ConstFloat):
            return self.domain.const(value.value)
        if isinstance(value, (ConstZero, ConstUndef)):
            return self._zero(value.type)
        if isinstance(value, ConstPoison):
            return self._fill(value.type, lambda t: POISON)
        if isinstance(value, GlobalRef):
            return self.global_address(value.name)
        if isinstance(value, ConstAggregate):
            return tuple(self.constant(e) for e in value.elements)
        if isinstance(value, ConstSplat):
            assert isinstance(value.type, VectorType)
            return (self.constant(value.element),) * value.type.count
        if isinstance(value, ConstBytes):
            return tuple(value.data)
        if isinstance(value, ConstExpr):
            return self._constant_expression(value)
        if isinstance(value, MetadataOperand):
            return None
        raise Unsupported(f"the constant {value.operand}")

    def _constant_expression(self, value: ConstExpr) -> Any:
        operands = [self.constant(o) for o in value.operands]
        if value.opcode == "getelementptr":
            assert value.source_type is not None
            kinds = [o.type for o in value.operands[1:]]
            return self._offset(operands[0], value.source_type, operands[1:], kinds)
        if value.opcode in ("ptrtoint", "inttoptr", "trunc", "ptrtoaddr"):
            return operands[0] & ((1 << self.layout.bits_of(value.type)) - 1)
        if value.opcode in _INTEGER and isinstance(value.type, IntType):
            return _INTEGER[value.opcode](operands[0], operands[1], value.type.bits)
        raise Unsupported(f"the constant {value.operand}")

    def _zero(self, kind: Type) -> Any:
        return self._fill(kind, lambda t: self.domain.const(0.0) if isinstance(t, FloatType) else 0)

    def _fill(self, kind: Type, scalar: Callable[[Type], Any]) -> Any:
        kind = self.layout.resolve(kind)
        if isinstance(kind, ty.StructType):
            return tuple(self._fill(f, scalar) for f in kind.fields)
        if isinstance(kind, (ty.ArrayType, VectorType)):
            return (self._fill(kind.element, scalar),) * kind.count
        return scalar(kind)

    def global_address(self, name: str) -> int:
        """The address of a global variable or function, made when first asked for."""
        if name in self._globals:
            return self._globals[name]
        found = self.module.globals.get(name)
        if found is None or found.initializer is None:
            address = self.memory.allocate(16, 16, name)
            self._functions[address] = name
            self._globals[name] = address
            return address
        address = self.memory.allocate(self.layout.size_of(found.value_type), 16, name)
        self._globals[name] = address
        self.store(found.value_type, self.constant(found.initializer), address)
        return address

    # -- memory ----------------------------------------------------------------------------------

    def load(self, kind: Type, address: int) -> Any:
        """Read a value of any type."""
        kind = self.layout.resolve(kind)
        if isinstance(kind, (ty.StructType, ty.ArrayType, VectorType)):
            count = len(kind.fields) if isinstance(kind, ty.StructType) else kind.count
            places = [self.layout.field_at(kind, i) for i in range(count)]
            return tuple(self.load(inner, address + offset) for offset, inner in places)
        raw = self.memory.load(address, self.layout.store_size(kind))
        if isinstance(kind, FloatType):
            return self.as_float(raw, kind)
        if isinstance(raw, Num):
            return self.as_int(raw, self.layout.store_size(kind))
        if isinstance(kind, IntType) and isinstance(raw, int):
            return raw & ((1 << kind.bits) - 1)
        return raw

    def as_float(self, raw: Any, kind: FloatType) -> Any:
        """A cell's value as a float."""
        if isinstance(raw, Opaque) and len(raw.cells) == 1 and raw.cells[0][1] == raw.size:
            raw = raw.cells[0][2]
        if isinstance(raw, Num):
            if raw.kind != kind.kind:
                raise Unsupported(f"a {raw.kind} read as {kind}")
            return raw.value
        if isinstance(raw, int):
            code = {"double": "<d", "float": "<f", "half": "<e"}[kind.kind]
            data = raw.to_bytes(kind.bits // 8, "little")
            return self.domain.const(struct.unpack(code, data)[0])
        if isinstance(raw, Poison):
            return raw
        raise Unsupported(f"pieces read as {kind}")

    def as_int(self, raw: Num, size: int) -> Any:
        """The bits of a float; numbers without bits are carried along."""
        if not self.domain.is_exact_ieee:
            return Opaque(((0, size, raw),), size)
        code = {"double": "<d", "float": "<f", "half": "<e"}[raw.kind]
        return int.from_bytes(struct.pack(code, raw.value), "little")

    def store(self, kind: Type, value: Any, address: int) -> None:
        """Write a value of any type."""
        kind = self.layout.resolve(kind)
        if isinstance(kind, (ty.StructType, ty.ArrayType, VectorType)):
            elements = value if isinstance(value, tuple) else (POISON,) * 0
            for index, element in enumerate(elements):
                offset, inner = self.layout.field_at(kind, index)
                self.store(inner, element, address + offset)
            return
        if isinstance(kind, FloatType) and not isinstance(value, Poison):
            value = Num(value, kind.kind)
        self.memory.store(address, self.layout.store_size(kind), value)

    def _alloca(self, insn: Alloca, frame: Frame) -> int:
        count = self.value(insn.operands[0], frame) if insn.operands else 1
        size = self.layout.size_of(insn.allocated_type) * count
        return self.memory.allocate(size, insn.align or 16, insn.name or "")

    def _offset(self, base: int, source: Type, indices: Sequence[Any], kinds: Sequence[Type]) -> int:
        kind = source
        for place, (index, index_type) in enumerate(zip(indices, kinds, strict=True)):
            assert isinstance(index_type, IntType)
            number = signed(index, index_type.bits)
            if place == 0:
                base += number * self.layout.size_of(kind)
            else:
                step, inner = self.layout.field_at(kind, number if _is_struct(self.layout, kind) else 0)
                base += step if _is_struct(self.layout, kind) else number * self.layout.size_of(inner)
                kind = inner
        return base & ((1 << 64) - 1)

    # -- instructions ----------------------------------------------------------------------------

    def _lanes(self, kind: Type, function: Callable[..., Any], *values: Any) -> Any:
        """A scalar operation, lane by lane on vectors; poison stays poison."""
        if isinstance(kind, VectorType):
            return tuple(self._lanes(kind.element, function, *lane) for lane in zip(*values, strict=True))
        if any(isinstance(v, Poison) for v in values):
            return POISON
        return function(*values)

    def _binary(self, insn: BinaryOp, frame: Frame) -> Any:
        a, b = (self.value(o, frame) for o in insn.operands)
        kind = insn.type.scalar
        if isinstance(kind, FloatType):
            return self._lanes(insn.type, lambda x, y: self.float_op(insn.opcode, x, y, kind.kind), a, b)
        assert isinstance(kind, IntType)
        operation = _INTEGER[insn.opcode]
        if insn.opcode in ("add", "mul", "xor") and isinstance(a, Opaque):
            raise Unsupported("arithmetic on the bits of a number")
        return self._lanes(insn.type, lambda x, y: operation(_bits(x), _bits(y), kind.bits), a, b)

    def float_op(self, opcode: str, a: Any, b: Any, kind: str) -> Any:
        """One floating-point operation, rounded to its type."""
        if opcode == "fadd":
            result = a + b
        elif opcode == "fsub":
            result = a - b
        elif opcode == "fmul":
            result = a * b
        elif opcode == "fdiv":
            result = self.domain.divide(a, b)
        else:
            result = self.domain.remainder(a, b)
        return self.domain.rounded(result, kind)

    def _compare(self, insn: Compare, frame: Frame) -> Any:
        a, b = (self.value(o, frame) for o in insn.operands)
        kind = insn.operands[0].type
        if insn.opcode == "fcmp":
            real = self.domain.real
            return self._lanes(kind, lambda x, y: int(_fcmp(insn.predicate, real(x), real(y))), a, b)
        bits = self.layout.bits_of(kind.scalar)
        test = _ICMP[insn.predicate]
        if insn.predicate[0] == "s":
            return self._lanes(kind, lambda x, y: int(test(signed(x, bits), signed(y, bits))), a, b)
        return self._lanes(kind, lambda x, y: int(test(_bits(x), _bits(y))), a, b)

    def _select(self, insn: Select, frame: Frame) -> Any:
        condition, yes, no = (self.value(o, frame) for o in insn.operands)
        if isinstance(insn.operands[0].type, VectorType):
            return tuple(y if c else n for c, y, n in zip(condition, yes, no, strict=True))
        return POISON if isinstance(condition, Poison) else yes if condition else no

    def _cast(self, insn: Cast, frame: Frame) -> Any:
        source = insn.operands[0]
        value = self.value(source, frame)
        if insn.opcode == "bitcast":
            return self.bitcast(value, source.type, insn.type)
        before, after = source.type.scalar, insn.type.scalar
        return self._lanes(insn.type, lambda v: self._convert(insn.opcode, v, before, after), value)

    def _convert(self, opcode: str, value: Any, before: Type, after: Type) -> Any:
        bits_before, bits_after = self.layout.bits_of(before), self.layout.bits_of(after)
        if isinstance(after, FloatType):
            if opcode == "sitofp":
                value = self.domain.const(float(signed(value, bits_before)))
            elif opcode == "uitofp":
                value = self.domain.const(float(value))
            return self.domain.rounded(value, after.kind)
        if opcode in ("fptosi", "fptoui"):
            return math.trunc(self.domain.real(value)) & ((1 << bits_after) - 1)
        if opcode == "sext":
            return signed(value, bits_before) & ((1 << bits_after) - 1)
        if opcode == "trunc":
            return _bits(value) & ((1 << bits_after) - 1)
        return value

    def bitcast(self, value: Any, before: Type, after: Type) -> Any:
        """Reinterpret a value, by way of memory."""
        address = self.memory.allocate(max(self.layout.size_of(before), self.layout.size_of(after)))
        self.store(before, value, address)
        return self.load(after, address)

    def _load(self, insn: Load, frame: Frame) -> Any:
        return self.load(insn.type, self.value(insn.operands[0], frame))

    def _store(self, insn: Store, frame: Frame) -> None:
        value, pointer = insn.operands
        self.store(value.type, self.value(value, frame), self.value(pointer, frame))

    def _gep(self, insn: GetElementPtr, frame: Frame) -> Any:
        base, *indices = (self.value(o, frame) for o in insn.operands)
        kinds = [o.type for o in insn.operands[1:]]
        if not isinstance(insn.type, VectorType):
            if isinstance(base, Poison) or any(isinstance(i, Poison) for i in indices):
                return POISON
            return self._offset(base, insn.source_type, indices, kinds)
        count = insn.type.count
        lanes = [v if isinstance(v, tuple) else (v,) * count for v in (base, *indices)]
        scalars = [k.scalar for k in kinds]
        return tuple(
            self._offset(lane[0], insn.source_type, lane[1:], scalars) for lane in zip(*lanes, strict=True)
        )

    def _fneg(self, insn: UnaryOp, frame: Frame) -> Any:
        return self._lanes(insn.type, lambda x: -x, self.value(insn.operands[0], frame))

    def _freeze(self, insn: Freeze, frame: Frame) -> Any:
        value = self.value(insn.operands[0], frame)
        return self._zero(insn.type) if isinstance(value, Poison) else value

    def _extract_value(self, insn: ExtractValue, frame: Frame) -> Any:
        value = self.value(insn.operands[0], frame)
        for index in insn.indices:
            value = value[index]
        return value

    def _insert_value(self, insn: InsertValue, frame: Frame) -> Any:
        value, element = (self.value(o, frame) for o in insn.operands)
        return _inserted(value, element, insn.indices)

    def _extract_element(self, insn: ExtractElement, frame: Frame) -> Any:
        vector, index = (self.value(o, frame) for o in insn.operands)
        return vector[index]

    def _insert_element(self, insn: InsertElement, frame: Frame) -> Any:
        vector, element, index = (self.value(o, frame) for o in insn.operands)
        return _inserted(vector, element, (index,))

    def _shuffle(self, insn: ShuffleVector, frame: Frame) -> Any:
        first, second = (self.value(o, frame) for o in insn.operands)
        lanes = (*first, *second)
        return tuple(POISON if m is None else lanes[m] for m in insn.mask)

    def _atomic_rmw(self, insn: AtomicRMW, frame: Frame) -> Any:
        address, value = (self.value(o, frame) for o in insn.operands)
        old = self.load(insn.type, address)
        if insn.operation == "xchg":
            new = value
        elif isinstance(insn.type, IntType) and insn.operation in _INTEGER:
            new = _INTEGER[insn.operation](old, value, insn.type.bits)
        else:
            raise Unsupported(str(insn))
        self.store(insn.type, new, address)
        return old

    def _compare_exchange(self, insn: CompareExchange, frame: Frame) -> Any:
        address, expected, new = (self.value(o, frame) for o in insn.operands)
        kind = insn.operands[2].type
        old = self.load(kind, address)
        if old == expected:
            self.store(kind, new, address)
        return (old, int(old == expected))

    def _call(self, insn: Call, frame: Frame) -> Any:
        name = insn.callee_name
        if name is None:
            if insn.is_inline_asm:
                raise Unsupported(str(insn))
            name = self._functions.get(self.value(insn.callee, frame))
            if name is None:
                raise Unsupported(f"a call of no function: {insn}")
        args = [self.value(a, frame) for a in insn.operands]
        if name in self.externals:
            return self.externals[name](self, args)
        if name in self.module.functions and name not in self.module.declarations:
            return self.run(self.module.functions[name], args)
        return LIBRARY.call(self, name, insn, args)


def _inserted(value: Any, element: Any, indices: Sequence[int]) -> Any:
    if not indices:
        return element
    items = list(value)
    items[indices[0]] = _inserted(items[indices[0]], element, indices[1:])
    return tuple(items)


def _is_struct(layout: Any, kind: Type) -> bool:
    return isinstance(layout.resolve(kind), ty.StructType)


def _bits(value: Any) -> int:
    if isinstance(value, Opaque):
        raise Unsupported("the bits of a number that is no IEEE number")
    return int(value)


def _fcmp(predicate: str, a: float, b: float) -> bool:
    if predicate in ("true", "false"):
        return predicate == "true"
    unordered = a != a or b != b
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    if unordered:
        return predicate[0] == "u"
    return bool(_ICMP[{"eq": "eq", "ne": "ne"}.get(predicate[1:], "s" + predicate[1:])](a, b))


_ICMP: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    **{p + "lt": (lambda a, b: a < b) for p in "us"},
    **{p + "le": (lambda a, b: a <= b) for p in "us"},
    **{p + "gt": (lambda a, b: a > b) for p in "us"},
    **{p + "ge": (lambda a, b: a >= b) for p in "us"},
}


def _sdiv(a: int, b: int, bits: int) -> int:
    x, y = signed(a, bits), signed(b, bits)
    quotient = abs(x) // abs(y)
    return (quotient if (x < 0) == (y < 0) else -quotient) & ((1 << bits) - 1)


def _srem(a: int, b: int, bits: int) -> int:
    x, y = signed(a, bits), signed(b, bits)
    return (abs(x) % abs(y) * (-1 if x < 0 else 1)) & ((1 << bits) - 1)


_INTEGER: dict[str, Callable[[int, int, int], Any]] = {
    "add": lambda a, b, n: (a + b) & ((1 << n) - 1),
    "sub": lambda a, b, n: (a - b) & ((1 << n) - 1),
    "mul": lambda a, b, n: (a * b) & ((1 << n) - 1),
    "udiv": lambda a, b, n: a // b,
    "urem": lambda a, b, n: a % b,
    "sdiv": _sdiv,
    "srem": _srem,
    "and": lambda a, b, n: a & b,
    "or": lambda a, b, n: a | b,
    "xor": lambda a, b, n: a ^ b,
    "shl": lambda a, b, n: (a << b) & ((1 << n) - 1) if b < n else POISON,
    "lshr": lambda a, b, n: a >> b if b < n else POISON,
    "ashr": lambda a, b, n: (signed(a, n) >> b) & ((1 << n) - 1) if b < n else POISON,
    "umax": lambda a, b, n: max(a, b),
    "umin": lambda a, b, n: min(a, b),
}

_EXECUTE: dict[type[Instruction], Callable[[Interpreter, Any, Frame], Any]] = {
    BinaryOp: Interpreter._binary,
    UnaryOp: Interpreter._fneg,
    Compare: Interpreter._compare,
    Select: Interpreter._select,
    Cast: Interpreter._cast,
    Load: Interpreter._load,
    Store: Interpreter._store,
    GetElementPtr: Interpreter._gep,
    Freeze: Interpreter._freeze,
    ExtractValue: Interpreter._extract_value,
    InsertValue: Interpreter._insert_value,
    ExtractElement: Interpreter._extract_element,
    InsertElement: Interpreter._insert_element,
    ShuffleVector: Interpreter._shuffle,
    AtomicRMW: Interpreter._atomic_rmw,
    CompareExchange: Interpreter._compare_exchange,
    Call: Interpreter._call,
}
