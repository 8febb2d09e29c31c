"""Sizes and alignments, as LLVM's data layout string defines them.

Source: LLVM Language Reference, "Data Layout"; the defaults are LLVM's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ferrodiff.adcore.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    NamedType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

_INT_DEFAULTS = {1: 8, 8: 8, 16: 16, 32: 32, 64: 32}
_FLOAT_DEFAULTS = {16: 16, 32: 32, 64: 64, 128: 128}
_VECTOR_DEFAULTS = {64: 64, 128: 128}


class DataLayout:
    """Sizes, alignments and field offsets, all in bytes.

    ``named_types`` gives the bodies of identified structs. Every method raises ``TypeError`` for a type
    without a size (void, opaque structs, scalable vectors).
    """

    def __init__(self, text: str = "", named_types: Mapping[str, Type | None] | None = None) -> None:
        self.text = text
        self.named_types = named_types if named_types is not None else {}
        self.little_endian = True
        self._ints = dict(_INT_DEFAULTS)
        self._floats = dict(_FLOAT_DEFAULTS)
        self._vectors = dict(_VECTOR_DEFAULTS)
        self._pointers: dict[int, tuple[int, int, int]] = {0: (64, 64, 64)}
        self._sizes: dict[Type, tuple[int, int]] = {}
        self._offsets: dict[StructType, tuple[int, ...]] = {}
        for item in filter(None, text.split("-")):
            self._read(item)

    def _read(self, item: str) -> None:
        head, *rest = item.split(":")
        tables = {"i": self._ints, "f": self._floats, "v": self._vectors}
        if item in ("e", "E"):
            self.little_endian = item == "e"
        elif head[0] == "p" and rest and not head.startswith("pe"):
            space = int(head[1:] or 0)
            size, abi = int(rest[0]), int(rest[1])
            self._pointers[space] = (size, abi, int(rest[3]) if len(rest) > 3 else size)
        elif head[0] in tables and head[1:].isdigit() and rest:
            tables[head[0]][int(head[1:])] = int(rest[0])

    def size_of(self, type: Type) -> int:
        """Bytes from one array element to the next."""
        return self._size_align(type)[0]

    def align_of(self, type: Type) -> int:
        """ABI alignment."""
        return self._size_align(type)[1]

    def store_size(self, type: Type) -> int:
        """Bytes that a store writes (tail padding of odd-sized integers left out)."""
        return (self.bits_of(type) + 7) // 8

    def bits_of(self, type: Type) -> int:
        """Bits of a value; of an aggregate eight times its size."""
        if isinstance(type, (IntType, FloatType)):
            return type.bits
        if isinstance(type, PointerType):
            return self._pointer(type)[0]
        if isinstance(type, VectorType) and not type.scalable:
            return type.count * self.bits_of(type.element)
        return 8 * self.size_of(type)

    def index_type(self, addrspace: int = 0) -> IntType:
        """The integer type of pointer offsets."""
        return IntType(self._pointer(PointerType(addrspace))[2])

    def offsets(self, struct: Type) -> tuple[int, ...]:
        """Byte offset of each field of a struct."""
        struct = self.resolve(struct)
        if not isinstance(struct, StructType):
            raise TypeError(f"{struct} is no struct")
        found = self._offsets.get(struct)
        if found is None:
            self._size_align(struct)
            found = self._offsets[struct]
        return found

    def resolve(self, type: Type) -> Type:
        """The body of an identified struct; any other type itself."""
        while isinstance(type, NamedType):
            body = self.named_types.get(type.name)
            if body is None:
                raise TypeError(f"{type} has no body")
            type = body
        return type

    def field_at(self, type: Type, index: int) -> tuple[int, Type]:
        """Byte offset and type of element ``index`` of an array, vector or struct."""
        type = self.resolve(type)
        if isinstance(type, StructType):
            return self.offsets(type)[index], type.fields[index]
        if isinstance(type, (ArrayType, VectorType)):
            return index * self.size_of(type.element), type.element
        raise TypeError(f"{type} has no elements")

    def _pointer(self, type: PointerType) -> tuple[int, int, int]:
        return self._pointers.get(type.addrspace, self._pointers[0])

    def _size_align(self, type: Type) -> tuple[int, int]:
        found = self._sizes.get(type)
        if found is None:
            found = self._sizes[type] = self._compute(type)
        return found

    def _compute(self, type: Type) -> tuple[int, int]:
        if isinstance(type, NamedType):
            return self._size_align(self.resolve(type))
        if isinstance(type, StructType):
            return self._struct(type)
        if isinstance(type, ArrayType):
            size, align = self._size_align(type.element)
            return size * type.count, align
        if isinstance(type, PointerType):
            size, align, _ = self._pointer(type)
            return size // 8, align // 8
        if isinstance(type, IntType):
            return _padded(type.bits, _nearest(self._ints, type.bits))
        if isinstance(type, FloatType):
            return _padded(type.bits, self._floats.get(type.bits, 128))
        if isinstance(type, VectorType) and not type.scalable:
            bits = self.bits_of(type)
            natural = 8 * (1 << max(0, (bits + 7) // 8 - 1).bit_length())
            return _padded(bits, self._vectors.get(bits, natural))
        raise TypeError(f"{type} has no size")

    def _struct(self, type: StructType) -> tuple[int, int]:
        offsets: list[int] = []
        end, widest = 0, 1
        for field in type.fields:
            size, align = self._size_align(field)
            if not type.packed:
                end = -(-end // align) * align
                widest = max(widest, align)
            offsets.append(end)
            end += size
        self._offsets[type] = tuple(offsets)
        return -(-end // widest) * widest, widest


def _padded(bits: int, align_bits: int) -> tuple[int, int]:
    align = max(1, align_bits // 8)
    size = (bits + 7) // 8
    return -(-size // align) * align, align


def _nearest(table: dict[int, int], bits: int) -> int:
    """LLVM takes the entry of the smallest integer that is not smaller, else the largest entry there is."""
    fitting = [b for b in table if b >= bits]
    return table[min(fitting) if fitting else max(table)]
