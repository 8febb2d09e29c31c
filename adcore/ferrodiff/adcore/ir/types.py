"""LLVM types as interned, immutable objects.

Every constructor returns the one object of that type, so types compare by identity and serve as
dictionary keys. ``str(t)`` (also ``t.text``) is the LLVM text. Bodies of identified struct types belong
to a module (``Module.named_types``), because two modules may use one name for different bodies.
"""

from __future__ import annotations

from typing import TypeGuard

from ferrodiff.adcore.ir.names import quote_name

_INTERNED: dict[tuple[object, ...], Type] = {}


class Type:
    """Base of all types. ``text`` is the LLVM spelling."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: object) -> Type:
        return self

    @property
    def scalar(self) -> Type:
        """The element type of a vector; any other type is its own."""
        return self


class _Singleton(Type):
    __slots__ = ()
    spelling: str

    def __new__(cls) -> _Singleton:
        found = _INTERNED.get((cls,))
        if found is None:
            found = object.__new__(cls)
            found.text = cls.spelling
            _INTERNED[(cls,)] = found
        assert isinstance(found, cls)
        return found


class VoidType(_Singleton):
    __slots__ = ()
    spelling = "void"


class LabelType(_Singleton):
    __slots__ = ()
    spelling = "label"


class MetadataType(_Singleton):
    __slots__ = ()
    spelling = "metadata"


class TokenType(_Singleton):
    __slots__ = ()
    spelling = "token"


class IntType(Type):
    """``iN``."""

    __slots__ = ("bits",)
    bits: int

    def __new__(cls, bits: int) -> IntType:
        found = _INTERNED.get((cls, bits))
        if found is None:
            found = object.__new__(cls)
            found.text = f"i{bits}"
            found.bits = bits
            _INTERNED[(cls, bits)] = found
        assert isinstance(found, IntType)
        return found


FLOAT_BITS = {
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
    "x86_fp80": 80,
    "fp128": 128,
    "ppc_fp128": 128,
}
"""Bits of each floating-point kind."""

_MANGLED = {
    "half": "f16",
    "bfloat": "bf16",
    "float": "f32",
    "double": "f64",
    "x86_fp80": "f80",
    "fp128": "f128",
}


class FloatType(Type):
    """A floating-point type; ``kind`` is its LLVM name, ``bits`` its width."""

    __slots__ = ("bits", "kind")
    kind: str
    bits: int

    def __new__(cls, kind: str) -> FloatType:
        found = _INTERNED.get((cls, kind))
        if found is None:
            found = object.__new__(cls)
            found.text = kind
            found.kind = kind
            found.bits = FLOAT_BITS[kind]
            _INTERNED[(cls, kind)] = found
        assert isinstance(found, FloatType)
        return found


class PointerType(Type):
    """``ptr`` or ``ptr addrspace(N)``."""

    __slots__ = ("addrspace",)
    addrspace: int

    def __new__(cls, addrspace: int = 0) -> PointerType:
        found = _INTERNED.get((cls, addrspace))
        if found is None:
            found = object.__new__(cls)
            found.text = "ptr" if addrspace == 0 else f"ptr addrspace({addrspace})"
            found.addrspace = addrspace
            _INTERNED[(cls, addrspace)] = found
        assert isinstance(found, PointerType)
        return found


class ArrayType(Type):
    """``[count x element]``."""

    __slots__ = ("count", "element")
    count: int
    element: Type

    def __new__(cls, count: int, element: Type) -> ArrayType:
        found = _INTERNED.get((cls, count, element))
        if found is None:
            found = object.__new__(cls)
            found.text = f"[{count} x {element.text}]"
            found.count = count
            found.element = element
            _INTERNED[(cls, count, element)] = found
        assert isinstance(found, ArrayType)
        return found


class VectorType(Type):
    """``<count x element>`` or ``<vscale x count x element>``."""

    __slots__ = ("count", "element", "scalable")
    count: int
    element: Type
    scalable: bool

    def __new__(cls, count: int, element: Type, scalable: bool = False) -> VectorType:
        found = _INTERNED.get((cls, count, element, scalable))
        if found is None:
            found = object.__new__(cls)
            found.text = f"<{'vscale x ' if scalable else ''}{count} x {element.text}>"
            found.count = count
            found.element = element
            found.scalable = scalable
            _INTERNED[(cls, count, element, scalable)] = found
        assert isinstance(found, VectorType)
        return found

    @property
    def scalar(self) -> Type:
        return self.element


class StructType(Type):
    """A literal struct, ``{ ... }`` or packed ``<{ ... }>``."""

    __slots__ = ("fields", "packed")
    fields: tuple[Type, ...]
    packed: bool

    def __new__(cls, fields: tuple[Type, ...], packed: bool = False) -> StructType:
        fields = tuple(fields)
        found = _INTERNED.get((cls, fields, packed))
        if found is None:
            found = object.__new__(cls)
            inside = "{ " + ", ".join(f.text for f in fields) + " }" if fields else "{}"
            found.text = f"<{inside}>" if packed else inside
            found.fields = fields
            found.packed = packed
            _INTERNED[(cls, fields, packed)] = found
        assert isinstance(found, StructType)
        return found


class NamedType(Type):
    """``%name``, an identified struct; its body is ``Module.named_types[name]`` (``None`` if opaque)."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, name: str) -> NamedType:
        found = _INTERNED.get((cls, name))
        if found is None:
            found = object.__new__(cls)
            found.text = "%" + quote_name(name)
            found.name = name
            _INTERNED[(cls, name)] = found
        assert isinstance(found, NamedType)
        return found


class TargetType(Type):
    """``target("...")``: kept as text; no value of it is ever looked into."""

    __slots__ = ()

    def __new__(cls, text: str) -> TargetType:
        found = _INTERNED.get((cls, text))
        if found is None:
            found = object.__new__(cls)
            found.text = text
            _INTERNED[(cls, text)] = found
        assert isinstance(found, TargetType)
        return found


class FunctionType(Type):
    """``ret (params, ...)``."""

    __slots__ = ("params", "ret", "vararg")
    ret: Type
    params: tuple[Type, ...]
    vararg: bool

    def __new__(cls, ret: Type, params: tuple[Type, ...], vararg: bool = False) -> FunctionType:
        params = tuple(params)
        found = _INTERNED.get((cls, ret, params, vararg))
        if found is None:
            found = object.__new__(cls)
            listed = [p.text for p in params] + (["..."] if vararg else [])
            found.text = f"{ret.text} ({', '.join(listed)})"
            found.ret = ret
            found.params = params
            found.vararg = vararg
            _INTERNED[(cls, ret, params, vararg)] = found
        assert isinstance(found, FunctionType)
        return found


void = VoidType()
label = LabelType()
metadata = MetadataType()
token = TokenType()
i1 = IntType(1)
i8 = IntType(8)
i16 = IntType(16)
i32 = IntType(32)
i64 = IntType(64)
i128 = IntType(128)
f32 = FloatType("float")
f64 = FloatType("double")
ptr = PointerType()


def is_float(t: Type) -> TypeGuard[FloatType]:
    """Whether ``t`` is a scalar floating-point type."""
    return isinstance(t, FloatType)


def is_int(t: Type) -> TypeGuard[IntType]:
    """Whether ``t`` is a scalar integer type (``i1`` included)."""
    return isinstance(t, IntType)


def is_pointer(t: Type) -> TypeGuard[PointerType]:
    """Whether ``t`` is a scalar pointer type."""
    return isinstance(t, PointerType)


def is_aggregate(t: Type) -> TypeGuard[ArrayType | StructType | NamedType]:
    """Whether ``t`` is an array or a struct."""
    return isinstance(t, (ArrayType, StructType, NamedType))


def is_float_like(t: Type) -> bool:
    """Whether ``t`` is a float or a vector of floats."""
    return isinstance(t.scalar, FloatType)


def with_scalar(t: Type, scalar: Type) -> Type:
    """``t`` with its scalar replaced: a vector keeps its length."""
    return VectorType(t.count, scalar, t.scalable) if isinstance(t, VectorType) else scalar


def mangled(t: Type) -> str:
    """The suffix that overloaded intrinsics use for ``t``: ``f64``, ``v4f32``, ``p0``, ``i32``."""
    if isinstance(t, FloatType):
        return _MANGLED.get(t.kind, "ppcf128")
    if isinstance(t, PointerType):
        return f"p{t.addrspace}"
    if isinstance(t, VectorType):
        return f"{'nx' if t.scalable else ''}v{t.count}{mangled(t.element)}"
    if isinstance(t, ArrayType):
        return f"a{t.count}{mangled(t.element)}"
    if isinstance(t, IntType):
        return t.text
    if isinstance(t, StructType):
        return "sl_" + "".join(mangled(f) for f in t.fields) + "s"
    raise TypeError(f"no intrinsic is overloaded on {t}")
