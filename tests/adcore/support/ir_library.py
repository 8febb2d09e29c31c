"""What the interpreter calls outside the module: intrinsics, the maths library, the allocators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.types import FloatType, IntType, Type, VectorType
from ir_memory import POISON, Opaque, Poison, Unsupported

if TYPE_CHECKING:
    from ir_interpreter import Interpreter


class Panic(Exception):
    """The program panicked, trapped, or reached the unreachable."""


Handler = Callable[["Interpreter", Call, Sequence[Any]], Any]

_INERT = (
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
    "llvm.dbg.",
    "llvm.donothing",
    "llvm.prefetch",
)
_PANICS = ("panic", "unwrap_failed", "expect_failed", "handle_error", "slice_index", "_fail", "abort")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


class Library:
    """Dispatch by symbol."""

    def call(self, interpreter: Interpreter, name: str, insn: Call, args: Sequence[Any]) -> Any:
        """Perform a call; raises ``Panic`` or ``Unsupported``."""
        if name.startswith(_INERT):
            return None
        if name.startswith("llvm."):
            return self._intrinsic(interpreter, name, insn, args)
        allocator = _allocator_role(name)
        if allocator is not None:
            return _ALLOCATOR[allocator](interpreter, args)
        if isinstance(insn.type, FloatType):
            return self._libm(interpreter, name, insn.type, args)
        if any(word in name for word in _PANICS):
            raise Panic(name)
        raise Unsupported(f"a call of '{name}'")

    def _libm(self, interpreter: Interpreter, name: str, kind: FloatType, args: Sequence[Any]) -> Any:
        base = name[:-1] if kind.kind == "float" and name.endswith("f") and name != "erf" else name
        return self._function(interpreter, base, kind, args)

    def _function(self, interpreter: Interpreter, base: str, kind: FloatType, args: Sequence[Any]) -> Any:
        domain = interpreter.domain
        if any(isinstance(a, Poison) for a in args):
            return POISON
        special = _FLOAT_SPECIAL.get(base)
        if special is not None:
            return domain.rounded(special(interpreter, *args), kind.kind)
        function = domain.functions.get(base)
        if function is None:
            raise Unsupported(f"the function '{base}'")
        return domain.rounded(function(*args), kind.kind)

    def _intrinsic(self, interpreter: Interpreter, name: str, insn: Call, args: Sequence[Any]) -> Any:
        base = _base_name(name)
        handler = _HANDLERS.get(base)
        if handler is not None:
            return handler(interpreter, insn, args)
        if base.startswith("vector.reduce."):
            return _reduce(interpreter, base.removeprefix("vector.reduce."), insn, args)
        kind = insn.type.scalar
        if isinstance(kind, FloatType):
            spread = [
                a
                if isinstance(o.type, VectorType) or not isinstance(insn.type, VectorType)
                else (a,) * insn.type.count
                for a, o in zip(args, insn.operands, strict=True)
            ]
            return interpreter._lanes(
                insn.type, lambda *lane: self._function(interpreter, base, kind, lane), *spread
            )
        if isinstance(kind, IntType) and base in _INTEGER:
            if any(isinstance(a, Opaque) for a in args):
                raise Unsupported("the bits of a number that is no IEEE number")
            bits = kind.bits
            return interpreter._lanes(insn.type, lambda *lane: _INTEGER[base](bits, *lane), *args[:3])
        raise Unsupported(f"the intrinsic '{name}'")


def _base_name(name: str) -> str:
    """``llvm.fma.v4f64`` without prefix and overload suffixes: ``fma``."""
    parts = name.removeprefix("llvm.").split(".")
    while len(parts) > 1 and _is_overload(parts[-1]):
        parts.pop()
    return ".".join(parts)


def _is_overload(part: str) -> bool:
    part = part.lstrip("n").lstrip("x") if part.startswith("nx") else part
    if part[:1] == "v" and part[1:2].isdigit():
        part = part.lstrip("v").lstrip("0123456789")
    return (part[:1] in "ipf" and part[1:].isdigit()) or part in ("bf16", "sl_i32i1s")


def _allocator_role(name: str) -> str | None:
    for role in _ALLOCATOR:
        if name == role or name.endswith("_" + role):
            return role
    return None


def _realloc(interpreter: Interpreter, old: int, old_size: int, new_size: int, align: int) -> int:
    new = interpreter.memory.allocate(new_size, align, "heap")
    if old:
        interpreter.memory.copy(new, old, min(old_size, new_size))
        interpreter.memory.free(old)
    return new


def _zeroed(interpreter: Interpreter, size: int, align: int) -> int:
    address = interpreter.memory.allocate(size, align, "heap")
    interpreter.memory.fill(address, 0, size)
    return address


_ALLOCATOR: dict[str, Callable[[Interpreter, Sequence[Any]], Any]] = {
    "__rust_alloc": lambda i, a: i.memory.allocate(a[0], a[1], "heap"),
    "__rust_alloc_zeroed": lambda i, a: _zeroed(i, a[0], a[1]),
    "__rust_dealloc": lambda i, a: i.memory.free(a[0]),
    "__rust_realloc": lambda i, a: _realloc(i, a[0], a[1], a[3], a[2]),
    "__rust_no_alloc_shim_is_unstable_v2": lambda i, a: None,
    "malloc": lambda i, a: i.memory.allocate(a[0], 16, "heap"),
    "calloc": lambda i, a: _zeroed(i, a[0] * a[1], 16),
    "realloc": lambda i, a: _realloc(i, a[0], i.memory.size_at(a[0]) if a[0] else 0, a[1], 16),
    "free": lambda i, a: i.memory.free(a[0]),
}


def _pick(nan_wins: bool, larger: bool) -> Callable[..., Any]:
    def picked(interpreter: Interpreter, a: Any, b: Any) -> Any:
        x, y = interpreter.domain.real(a), interpreter.domain.real(b)
        if x != x or y != y:
            return (a if x != x else b) if nan_wins else (b if x != x else a)
        if x == y:
            first_is_negative = math.copysign(1.0, x) < 0
            return b if first_is_negative == larger else a
        return a if (x > y) == larger else b

    return picked


_FLOAT_SPECIAL: dict[str, Callable[..., Any]] = {
    "maxnum": _pick(False, True),
    "minnum": _pick(False, False),
    "maximumnum": _pick(False, True),
    "minimumnum": _pick(False, False),
    "maximum": _pick(True, True),
    "minimum": _pick(True, False),
    "fmax": _pick(False, True),
    "fmin": _pick(False, False),
    "copysign": lambda i, a, b: i.domain.copysign(a, b),
    "powi": lambda i, a, n: i.domain.power_int(a, _signed(n, 32)),
    "ldexp": lambda i, a, n: a * i.domain.const(2.0 ** _signed(n, 32)),
    "fmod": lambda i, a, b: i.domain.remainder(a, b),
    "fmuladd": lambda i, a, b, c: a * b + c,
    "canonicalize": lambda i, a: a,
    "arithmetic.fence": lambda i, a: a,
}


def _rotate(bits: int, high: int, low: int, by: int, left: bool) -> int:
    both = (high << bits) | low
    by %= bits
    return (both >> (bits - by) if left else both >> by) & ((1 << bits) - 1)


def _saturate(value: int, low: int, high: int, bits: int) -> int:
    return max(low, min(high, value)) & ((1 << bits) - 1)


_INTEGER: dict[str, Callable[..., int]] = {
    "umax": lambda n, a, b: max(a, b),
    "umin": lambda n, a, b: min(a, b),
    "smax": lambda n, a, b: max(_signed(a, n), _signed(b, n)) & ((1 << n) - 1),
    "smin": lambda n, a, b: min(_signed(a, n), _signed(b, n)) & ((1 << n) - 1),
    "abs": lambda n, a, p: abs(_signed(a, n)) & ((1 << n) - 1),
    "ctpop": lambda n, a: bin(a).count("1"),
    "ctlz": lambda n, a, p: n - a.bit_length(),
    "cttz": lambda n, a, p: (a & -a).bit_length() - 1 if a else n,
    "bswap": lambda n, a: int.from_bytes(a.to_bytes(n // 8, "little"), "big"),
    "bitreverse": lambda n, a: int(f"{a:0{n}b}"[::-1], 2),
    "fshl": lambda n, a, b, c: _rotate(n, a, b, c, True) if c % n else a,
    "fshr": lambda n, a, b, c: _rotate(n, a, b, c, False) if c % n else b,
    "uadd.sat": lambda n, a, b: _saturate(a + b, 0, (1 << n) - 1, n),
    "usub.sat": lambda n, a, b: _saturate(a - b, 0, (1 << n) - 1, n),
    "sadd.sat": lambda n, a, b: _saturate(
        _signed(a, n) + _signed(b, n), -(1 << (n - 1)), (1 << (n - 1)) - 1, n
    ),
    "ssub.sat": lambda n, a, b: _saturate(
        _signed(a, n) - _signed(b, n), -(1 << (n - 1)), (1 << (n - 1)) - 1, n
    ),
    "expect": lambda n, a, b: a,
    "scmp": lambda n, a, b: ((a > b) - (a < b)) & ((1 << n) - 1),
    "ucmp": lambda n, a, b: ((a > b) - (a < b)) & ((1 << n) - 1),
}


def _three_way(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
    kind = insn.operands[0].type.scalar
    assert isinstance(kind, IntType) and isinstance(insn.type, IntType)
    a, b = args
    if insn.callee_name is not None and insn.callee_name.startswith("llvm.scmp"):
        a, b = _signed(a, kind.bits), _signed(b, kind.bits)
    return ((a > b) - (a < b)) & ((1 << insn.type.bits) - 1)


def _overflow(operation: Callable[[int, int], int], is_signed: bool) -> Handler:
    def handler(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
        kind = insn.operands[0].type
        assert isinstance(kind, IntType)
        a, b = (_signed(v, kind.bits) if is_signed else v for v in args)
        exact = operation(a, b)
        wrapped = exact & ((1 << kind.bits) - 1)
        seen = _signed(wrapped, kind.bits) if is_signed else wrapped
        return (wrapped, int(seen != exact))

    return handler


def _float_to_int(is_signed: bool) -> Handler:
    def handler(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
        kind = insn.type.scalar
        assert isinstance(kind, IntType)
        bits = kind.bits
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)

        def convert(value: Any) -> int:
            real = interpreter.domain.real(value)
            if real != real:
                return 0
            if math.isinf(real):
                return (high if real > 0 else low) & ((1 << bits) - 1)
            return _saturate(math.trunc(real), low, high, bits)

        return interpreter._lanes(insn.type, convert, args[0])

    return handler


def _copy(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> None:
    interpreter.memory.copy(args[0], args[1], args[2])


def _fill(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> None:
    interpreter.memory.fill(args[0], args[1], args[2])


def _trap(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
    raise Panic(str(insn.callee_name))


def _sincos(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
    kind = insn.operands[0].type
    assert isinstance(kind, FloatType)
    return tuple(LIBRARY._function(interpreter, f, kind, args) for f in ("sin", "cos"))


def _is_fpclass(interpreter: Interpreter, insn: Call, args: Sequence[Any]) -> Any:
    mask = args[1]

    def test(value: Any) -> int:
        x = interpreter.domain.real(value)
        negative = math.copysign(1.0, x) < 0
        if x != x:
            return int(bool(mask & 0b11))
        if math.isinf(x):
            return int(bool(mask & (1 << (2 if negative else 9))))
        if x == 0:
            return int(bool(mask & (1 << (5 if negative else 6))))
        normal = abs(x) >= 2.2250738585072014e-308
        return int(bool(mask & (1 << ((3 if normal else 4) if negative else (8 if normal else 7)))))

    return interpreter._lanes(insn.type, test, args[0])


def _reduce(interpreter: Interpreter, operation: str, insn: Call, args: Sequence[Any]) -> Any:
    kind: Type = insn.type
    if operation in ("fadd", "fmul"):
        assert isinstance(kind, FloatType)
        result = args[0]
        for lane in args[1]:
            result = interpreter.float_op(operation, result, lane, kind.kind)
        return result
    first, *others = args[0]
    for lane in others:
        if isinstance(kind, FloatType):
            names = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
            first = _FLOAT_SPECIAL[names[operation]](interpreter, first, lane)
        else:
            assert isinstance(kind, IntType)
            first = _REDUCTIONS[operation](kind.bits, first, lane)
    return first


_REDUCTIONS: dict[str, Callable[..., int]] = {
    **{k: _INTEGER[k] for k in ("umax", "umin", "smax", "smin")},
    "add": lambda n, a, b: (a + b) & ((1 << n) - 1),
    "mul": lambda n, a, b: (a * b) & ((1 << n) - 1),
    "and": lambda n, a, b: a & b,
    "or": lambda n, a, b: a | b,
    "xor": lambda n, a, b: a ^ b,
}

_HANDLERS: dict[str, Handler] = {
    "memcpy": _copy,
    "memcpy.inline": _copy,
    "memmove": _copy,
    "memset": _fill,
    "trap": _trap,
    "ubsantrap": _trap,
    "sincos": _sincos,
    "is.fpclass": _is_fpclass,
    "fptosi.sat": _float_to_int(True),
    "fptoui.sat": _float_to_int(False),
    "uadd.with.overflow": _overflow(lambda a, b: a + b, False),
    "usub.with.overflow": _overflow(lambda a, b: a - b, False),
    "umul.with.overflow": _overflow(lambda a, b: a * b, False),
    "sadd.with.overflow": _overflow(lambda a, b: a + b, True),
    "ssub.with.overflow": _overflow(lambda a, b: a - b, True),
    "smul.with.overflow": _overflow(lambda a, b: a * b, True),
    "ptrmask": lambda i, c, a: a[0] & a[1],
    "scmp": _three_way,
    "ucmp": _three_way,
    "stacksave": lambda i, c, a: 0,
    "stackrestore": lambda i, c, a: None,
}
LIBRARY = Library()
