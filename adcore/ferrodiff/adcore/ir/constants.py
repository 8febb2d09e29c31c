"""Constants, interned: equal constants of one type are one object.

Integers and floats know their number, aggregates their elements; whatever else rustc emits is kept as text.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.names import escape, quote_name
from ferrodiff.adcore.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType


class Constant(Value):
    """A constant, interned: equal constants of one type are one object."""

    __slots__ = ()


_INTERNED: dict[tuple[object, ...], Constant] = {}


class RawConstant(Constant):
    """A constant kept as text (``blockaddress``, ``dso_local_equivalent``, ``none``, ...)."""

    __slots__ = ()


class ConstInt(Constant):
    """An integer constant. ``value`` is signed; ``i1 true`` has the value 1."""

    __slots__ = ("value",)
    value: int

    @property
    def unsigned(self) -> int:
        """The value read as an unsigned number."""
        assert isinstance(self.type, IntType)
        return self.value & ((1 << self.type.bits) - 1)


class ConstFloat(Constant):
    """A floating-point constant. ``value`` is exact up to double; wider kinds are approximated."""

    __slots__ = ("value",)
    value: float


class ConstZero(Constant):
    """``null`` of a pointer, ``zeroinitializer`` of an aggregate or vector."""

    __slots__ = ()


class ConstPoison(Constant):
    """``poison``."""

    __slots__ = ()


class ConstUndef(Constant):
    """``undef``."""

    __slots__ = ()


class ConstAggregate(Constant):
    """A constant array, struct or vector written out. ``elements`` are constants."""

    __slots__ = ("elements",)
    elements: tuple[Constant, ...]


class ConstSplat(Constant):
    """``splat (T x)``: a vector whose elements are all ``element``."""

    __slots__ = ("element",)
    element: Constant


class ConstBytes(Constant):
    """``c"..."``: an array of ``i8`` with the contents ``data``."""

    __slots__ = ("data",)
    data: bytes


class ConstExpr(Constant):
    """``opcode flags (operands)``; ``source_type`` for getelementptr."""

    __slots__ = ("flags", "opcode", "operands", "source_type")
    opcode: str
    operands: tuple[Constant, ...]
    flags: tuple[str, ...]
    source_type: Type | None


class GlobalRef(Constant):
    """The address of a global variable, function or alias."""

    __slots__ = ("name",)
    name: str


def _new(cls: type[Constant], type: Type, ref: str) -> Constant:
    made = object.__new__(cls)
    made.type = type
    made.ref = ref
    return made


def const_int(type: Type, value: int) -> Constant:
    """An integer, wrapped to the type's width; of a vector type, a splat.

    Raises ``TypeError`` for a type that is no integer and no vector of integers.
    """
    if isinstance(type, VectorType):
        return splat(type, const_int(type.element, value))
    if not isinstance(type, IntType):
        raise TypeError(f"integer constant of type {type}")
    return int_of(type, value)


def int_of(type: IntType, value: int) -> ConstInt:
    """:func:`const_int` for a scalar type, typed as :class:`ConstInt`."""
    value &= (1 << type.bits) - 1
    if type.bits > 1 and value >> (type.bits - 1):
        value -= 1 << type.bits
    found = _INTERNED.get((type, value))
    if found is None:
        text = ("true" if value else "false") if type.bits == 1 else str(value)
        found = _new(ConstInt, type, text)
        assert isinstance(found, ConstInt)
        found.value = value
        _INTERNED[(type, value)] = found
    assert isinstance(found, ConstInt)
    return found


def const_float(type: Type, value: float) -> Constant:
    """A float, rounded to the type and written exactly; of a vector type, a splat.

    Raises ``TypeError`` for a type that is no float, and for ``x86_fp80``, ``fp128`` and ``ppc_fp128``
    unless the value is zero (no exact spelling from a Python number is needed there).
    """
    if isinstance(type, VectorType):
        return splat(type, const_float(type.element, value))
    if not isinstance(type, FloatType):
        raise TypeError(f"float constant of type {type}")
    return float_from_text(type, float_text(type, float(value)))


def float_text(type: FloatType, value: float) -> str:
    """The exact hexadecimal spelling of ``value`` rounded to ``type``."""
    if type.kind == "double":
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type.kind == "float":
        return f"0x{struct.unpack('<Q', struct.pack('<d', round_to_f32(value)))[0]:016X}"
    if type.kind == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if type.kind == "bfloat":
        return f"0xR{_bfloat_bits(value):04X}"
    if value == 0.0:
        sign = "8" if math.copysign(1.0, value) < 0 else "0"
        if type.kind == "x86_fp80":
            return f"0xK{sign}{'0' * 19}"
        # LLVM prints the low 64 bits of a 128-bit float first.
        return f"0x{'L' if type.kind == 'fp128' else 'M'}{'0' * 16}{sign}{'0' * 15}"
    raise TypeError(f"no exact {type} constant for {value}")


def round_to_f32(value: float) -> float:
    """``value`` rounded to the nearest single-precision number; overflow gives an infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _bfloat_bits(value: float) -> int:
    bits = int(struct.unpack("<I", struct.pack("<f", round_to_f32(value)))[0])
    if math.isnan(value):
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def float_from_text(type: FloatType, text: str) -> ConstFloat:
    """The constant that LLVM text stands for; all spellings of one number are one object."""
    found = _INTERNED.get((type, text))
    if found is None:
        if not text.startswith("0x"):
            exact = float_from_text(type, float_text(type, float(text)))
            _INTERNED[(type, text)] = exact
            return exact
        found = _new(ConstFloat, type, text)
        assert isinstance(found, ConstFloat)
        found.value = _float_value(text)
        _INTERNED[(type, text)] = found
    assert isinstance(found, ConstFloat)
    return found


def _float_value(text: str) -> float:
    kind = text[2]
    if kind == "H":
        return float(struct.unpack("<e", struct.pack("<H", int(text[3:], 16)))[0])
    if kind == "R":
        return float(struct.unpack("<f", struct.pack("<I", int(text[3:], 16) << 16))[0])
    if kind == "K":
        return _extended(int(text[3:7], 16), int(text[7:], 16), 63)
    if kind == "L":
        high = int(text[19:], 16)
        fraction = ((high & ((1 << 48) - 1)) << 64) | int(text[3:19], 16)
        exponent = high >> 48
        return _extended(exponent, fraction | ((1 << 112) if exponent & 0x7FFF else 0), 112)
    if kind == "M":
        first, second = int(text[3:19], 16), int(text[19:], 16)
        return sum(float(struct.unpack("<d", struct.pack("<Q", half))[0]) for half in (first, second))
    return float(struct.unpack("<d", struct.pack("<Q", int(text[2:], 16)))[0])


def _extended(sign_exponent: int, significand: int, fraction_bits: int) -> float:
    sign = -1.0 if sign_exponent >> 15 else 1.0
    exponent = sign_exponent & 0x7FFF
    if exponent == 0x7FFF:
        return sign * (math.nan if significand & ((1 << fraction_bits) - 1) else math.inf)
    try:
        return sign * math.ldexp(significand, max(exponent, 1) - 16383 - fraction_bits)
    except OverflowError:
        return sign * math.inf


def zero(type: Type) -> Constant:
    """The zero of any first-class type (``+0.0`` for floats)."""
    if isinstance(type, IntType):
        return int_of(type, 0)
    if isinstance(type, FloatType):
        return const_float(type, 0.0)
    return _plain(ConstZero, type, "null" if isinstance(type, PointerType) else "zeroinitializer")


def poison(type: Type) -> Constant:
    """``poison`` of a type."""
    return _plain(ConstPoison, type, "poison")


def undef(type: Type) -> Constant:
    """``undef`` of a type."""
    return _plain(ConstUndef, type, "undef")


def raw_constant(type: Type, text: str) -> Constant:
    """A constant kept as text."""
    return _plain(RawConstant, type, text)


def _plain(cls: type[Constant], type: Type, text: str) -> Constant:
    found = _INTERNED.get((cls, type, text))
    if found is None:
        found = _INTERNED[(cls, type, text)] = _new(cls, type, text)
    return found


def splat(type: VectorType, element: Constant) -> Constant:
    """A vector constant whose elements are all ``element`` (of the element type)."""
    if element is zero(type.element):
        return zero(type)
    if isinstance(element, ConstPoison):
        return poison(type)
    found = _plain(ConstSplat, type, f"splat ({element.operand})")
    assert isinstance(found, ConstSplat)
    found.element = element
    return found


def aggregate(type: Type, elements: Iterable[Constant]) -> Constant:
    """A constant array, struct or vector from its elements."""
    elements = tuple(elements)
    inside = ", ".join(e.operand for e in elements)
    packed = isinstance(type, StructType) and type.packed
    if isinstance(type, ArrayType):
        text = f"[{inside}]"
    elif isinstance(type, VectorType):
        text = f"<{inside}>"
    elif packed:
        text = f"<{{ {inside} }}>"
    else:
        text = f"{{ {inside} }}" if elements else "zeroinitializer"
    found = _plain(ConstAggregate, type, text)
    assert isinstance(found, ConstAggregate)
    found.elements = elements
    return found


def const_bytes(data: bytes) -> ConstBytes:
    """``c"..."`` of type ``[len x i8]``."""
    found = _plain(ConstBytes, ArrayType(len(data), ty.i8), f'c"{escape(data)}"')
    assert isinstance(found, ConstBytes)
    found.data = data
    return found


def const_expr(
    type: Type,
    text: str,
    opcode: str,
    operands: Iterable[Constant],
    flags: tuple[str, ...] = (),
    source_type: Type | None = None,
) -> ConstExpr:
    """A constant expression with its text."""
    found = _plain(ConstExpr, type, text)
    assert isinstance(found, ConstExpr)
    found.opcode = opcode
    found.operands = tuple(operands)
    found.flags = flags
    found.source_type = source_type
    return found


def global_ref(name: str, type: Type = ty.ptr) -> GlobalRef:
    """The address of the global called ``name`` (without ``@``)."""
    found = _plain(GlobalRef, type, "@" + quote_name(name))
    assert isinstance(found, GlobalRef)
    found.name = name
    return found


def const(type: Type, value: int | float | bool) -> Constant:
    """A constant of an integer or float type (or a splat of a vector of them) from a Python number."""
    if isinstance(type.scalar, FloatType):
        return const_float(type, value)
    if isinstance(type.scalar, PointerType) and value == 0:
        return zero(type)
    return const_int(type, int(value))


def is_zero(value: Value) -> bool:
    """Whether a value is the constant zero of its type (``+0.0`` only, for floats)."""
    return isinstance(value, Constant) and value is zero(value.type)


def constant_number(value: Value) -> int | float | None:
    """The number an integer, float or splat constant holds, else ``None``."""
    if isinstance(value, ConstSplat):
        value = value.element
    if isinstance(value, (ConstInt, ConstFloat)):
        return value.value
    if isinstance(value, ConstZero) and isinstance(value.type, VectorType):
        return 0
    return None
