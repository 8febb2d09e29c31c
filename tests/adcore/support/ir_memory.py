"""Memory of the interpreter: objects of cells. An address is an integer; each object has a range of them.

A cell is a value of one scalar type at one offset, so numbers of any domain can be stored. Integer-typed
copies of floats carry the numbers along (``Opaque``); integers can be read in other pieces than they were
written in.
"""

from __future__ import annotations

import bisect
import struct
from dataclasses import dataclass
from typing import Any

_FORMAT = {"double": "<d", "float": "<f", "half": "<e"}


class MemoryFault(Exception):
    """An access outside every object, or of a freed one."""


class Unsupported(Exception):
    """Something this interpreter does not do."""


@dataclass(frozen=True, slots=True)
class Num:
    """A floating-point number in memory: the domain's number and its LLVM kind."""

    value: Any
    kind: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """An integer-typed value that is really other cells: ``(offset, size, value)`` each."""

    cells: tuple[tuple[int, int, Any], ...]
    size: int


class Poison:
    """The value of uninitialised memory and of ``poison``."""

    def __repr__(self) -> str:
        return "POISON"


POISON = Poison()


class MemoryObject:
    """``size`` bytes at ``base``."""

    __slots__ = ("alive", "base", "cells", "name", "size")

    def __init__(self, base: int, size: int, name: str) -> None:
        self.base = base
        self.size = size
        self.name = name
        self.alive = True
        self.cells: dict[int, tuple[int, Any]] = {}


class Memory:
    """All objects, ordered by address."""

    def __init__(self, ieee: bool) -> None:
        self.ieee = ieee
        self._bases: list[int] = []
        self._objects: list[MemoryObject] = []
        self._next = 1 << 20

    def allocate(self, size: int, align: int = 16, name: str = "") -> int:
        """A new object; objects are never adjacent, so an overrun is found."""
        align = max(align, 16)
        base = -(-self._next // align) * align
        self._next = base + size + 64
        self._bases.append(base)
        self._objects.append(MemoryObject(base, size, name))
        return base

    def free(self, address: int) -> None:
        """End an object's life; null is nothing."""
        if address == 0:
            return
        found = self.object_at(address, 0)
        if found.base != address:
            raise MemoryFault(f"free inside of {found.name or hex(found.base)}")
        found.alive = False

    def object_at(self, address: int, size: int) -> MemoryObject:
        """The object that holds ``size`` bytes at an address."""
        place = bisect.bisect_right(self._bases, address) - 1
        if place >= 0:
            found = self._objects[place]
            if address + size <= found.base + found.size and found.alive:
                return found
        raise MemoryFault(f"no live object has {size} bytes at {address:#x}")

    def size_at(self, address: int) -> int:
        """Bytes of the object that starts at an address."""
        return self.object_at(address, 0).size

    def store(self, address: int, size: int, value: Any) -> None:
        """Write one scalar of ``size`` bytes."""
        found = self.object_at(address, size)
        offset = address - found.base
        self._clear(found, offset, size)
        if isinstance(value, Opaque):
            for relative, part, inner in value.cells:
                found.cells[offset + relative] = (part, inner)
        else:
            found.cells[offset] = (size, value)

    def load(self, address: int, size: int) -> Any:
        """Read ``size`` bytes as one value: a number, an integer, ``Opaque`` or ``POISON``."""
        found = self.object_at(address, size)
        offset = address - found.base
        cell = found.cells.get(offset)
        if cell is not None and cell[0] == size:
            return cell[1]
        return self._assemble(found, offset, size)

    def copy(self, to: int, source: int, size: int) -> None:
        """``memmove``: whole cells keep their values, cells cut by an end are copied as bytes."""
        if size == 0:
            return
        origin = self.object_at(source, size)
        target = self.object_at(to, size)
        start = source - origin.base
        cells = self._pieces(origin, start, size)
        self._clear(target, to - target.base, size)
        for offset, part, value in cells:
            target.cells[to - target.base + offset - start] = (part, value)

    def fill(self, address: int, byte: int, size: int) -> None:
        """``memset``."""
        if size == 0:
            return
        found = self.object_at(address, size)
        offset = address - found.base
        self._clear(found, offset, size)
        word = int.from_bytes(bytes([byte]) * 8, "little")
        while size:
            part = 8 if size >= 8 and offset % 8 == 0 else 1
            found.cells[offset] = (part, word if part == 8 else byte)
            offset += part
            size -= part

    def _overlapping(self, found: MemoryObject, offset: int, size: int) -> list[int]:
        starts = range(max(0, offset - 15), offset + size)
        cells = found.cells
        return [s for s in starts if s in cells and s + cells[s][0] > offset]

    def _clear(self, found: MemoryObject, offset: int, size: int) -> None:
        for start in self._overlapping(found, offset, size):
            part, _ = found.cells[start]
            if start < offset or start + part > offset + size:
                self._split(found, start)
        for start in self._overlapping(found, offset, size):
            del found.cells[start]

    def _split(self, found: MemoryObject, start: int) -> None:
        part, value = found.cells.pop(start)
        data = self._bytes(value, part)
        for index in range(part):
            found.cells[start + index] = (1, POISON if data is None else data[index])

    def _pieces(self, found: MemoryObject, offset: int, size: int) -> list[tuple[int, int, Any]]:
        for start in self._overlapping(found, offset, size):
            part = found.cells[start][0]
            if start < offset or start + part > offset + size:
                self._split(found, start)
        return [(s, *found.cells[s]) for s in self._overlapping(found, offset, size)]

    def _assemble(self, found: MemoryObject, offset: int, size: int) -> Any:
        starts = self._overlapping(found, offset, size)
        cells = [(s, *found.cells[s]) for s in starts]
        inside = all(s >= offset and s + part <= offset + size for s, part, _ in cells)
        has_numbers = any(isinstance(v, (Num, Opaque)) for _, _, v in cells)
        if inside and has_numbers and not self.ieee:
            return Opaque(tuple((s - offset, part, v) for s, part, v in cells), size)
        image = bytearray(size)
        covered = 0
        for start, part, value in cells:
            data = self._bytes(value, part)
            if data is None:
                return POISON
            for index in range(part):
                if 0 <= start + index - offset < size:
                    image[start + index - offset] = data[index]
                    covered += 1
        return int.from_bytes(image, "little") if covered == size else POISON

    def _bytes(self, value: Any, size: int) -> bytes | None:
        if isinstance(value, Poison):
            return None
        if isinstance(value, Num):
            if not self.ieee:
                raise Unsupported("the bits of a number that is no IEEE number")
            return struct.pack(_FORMAT[value.kind], value.value)
        if isinstance(value, Opaque):
            raise Unsupported("the bits of a copied number")
        return int(value).to_bytes(size, "little")
