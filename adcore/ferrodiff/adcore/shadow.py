"""Shadows: what stands beside a primal value of any type.

| primal type           | shadow                                                                    |
|-----------------------|---------------------------------------------------------------------------|
| float, vector of them | a `Tangent` of `Lanes` (None where the caller keeps no tangents of floats)|
| pointer, integer      | a tuple of N values of the same type, one per lane                        |
| array, struct         | `Fields`: one shadow per element                                          |

None, at any depth, means inactive: no shadow exists. An integer's shadow carries the tangent's bits of floats that
travel as integers. Memory's shadow is a parallel world: same layout in bytes, shadow pointers where the
primal has pointers, tangents where it has floats, copies of the primal's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    NamedType,
    PointerType,
    StructType,
    Type,
    is_float_like,
)
from ferrodiff.adcore.lanes import Lanes, Tangent


class Fields(tuple["Shadow", ...]):
    """The shadows of an aggregate's elements."""

    __slots__ = ()


Shadow = Tangent | Fields | None
"""See the module's table."""

Leaf = tuple[tuple[int, ...], Type]
"""A leaf of a type: its path of indices and its type."""

Inactive = Callable[[tuple[int, ...], Type], Tangent]
"""Makes the shadow of an inactive leaf when one has to be written down."""


def element_types(ty: Type, layout: DataLayout) -> tuple[Type, ...]:
    """The element types of an aggregate; empty for leaves."""
    if isinstance(ty, NamedType):
        ty = layout.resolve(ty)
    if isinstance(ty, StructType):
        return ty.fields
    if isinstance(ty, ArrayType):
        return (ty.element,) * ty.count
    return ()


def is_aggregate(ty: Type) -> bool:
    """Whether a value of the type has a `Fields` shadow."""
    return isinstance(ty, (StructType, ArrayType, NamedType))


def can_carry(ty: Type, layout: DataLayout) -> bool:
    """Whether a value of this type may have a shadow at all (i1 and void never do)."""
    if is_aggregate(ty):
        return any(can_carry(e, layout) for e in element_types(ty, layout))
    scalar = ty.scalar
    return isinstance(scalar, (FloatType, PointerType)) or (isinstance(scalar, IntType) and scalar.bits >= 8)


def leaves(ty: Type, layout: DataLayout, path: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """All leaves of a type in order."""
    if is_aggregate(ty):
        for index, element in enumerate(element_types(ty, layout)):
            yield from leaves(element, layout, (*path, index))
    else:
        yield path, ty


def get(shadow: Shadow, path: Sequence[int]) -> Shadow:
    """The part of a shadow at a path of indices."""
    for index in path:
        if shadow is None:
            return None
        shadow = shadow[index]  # type: ignore[assignment]
    return shadow


class Shadows:
    """Builds shadows of whole values through `lanes.builder`.

    With `floats=False` float leaves have no shadow (reverse mode's pointers alone).
    """

    def __init__(self, lanes: Lanes, layout: DataLayout, *, floats: bool = True) -> None:
        self.lanes = lanes
        self.layout = layout
        self.floats = floats

    @property
    def builder(self) -> Builder:
        """Where instructions go."""
        return self.lanes.builder

    def leaf_types(self, ty: Type) -> tuple[Type, ...]:
        """The types of the values that make up the shadow of a leaf of type `ty`."""
        if is_float_like(ty):
            return self.lanes.types(ty) if self.floats else ()
        return (ty,) * self.lanes.width

    def map(
        self, ty: Type, leaf: Callable[[tuple[int, ...], Type], Shadow], path: tuple[int, ...] = ()
    ) -> Shadow:
        """A shadow of type `ty` made leaf by leaf."""
        if is_aggregate(ty):
            elements = element_types(ty, self.layout)
            return Fields(self.map(e, leaf, (*path, i)) for i, e in enumerate(elements))
        if not can_carry(ty, self.layout) or (is_float_like(ty) and not self.floats):
            return None
        return leaf(path, ty)

    def set(self, ty: Type, shadow: Shadow, path: Sequence[int], part: Shadow) -> Shadow:
        """`shadow` (of type `ty`, possibly None) with the part at `path` replaced."""
        if not path:
            return part
        elements = element_types(ty, self.layout)
        old = shadow if shadow is not None else (None,) * len(elements)
        new: list[Shadow] = list(old)  # type: ignore[arg-type]
        new[path[0]] = self.set(elements[path[0]], new[path[0]], path[1:], part)
        return Fields(new)

    def complete(self, ty: Type, shadow: Shadow, inactive: Inactive) -> Shadow:
        """`shadow` with every inactive leaf filled in by `inactive`."""

        def leaf(path: tuple[int, ...], leaf_ty: Type) -> Shadow:
            found = get(shadow, path)
            return inactive(path, leaf_ty) if found is None else found

        return self.map(ty, leaf)

    def flatten(self, ty: Type, shadow: Shadow) -> list[Value]:
        """The values of a complete shadow, one per leaf and lane, scalars for floats (a calling convention)."""
        flat: list[Value] = []
        for path, leaf_ty in leaves(ty, self.layout):
            part = get(shadow, path)
            if part is None:
                continue
            assert not isinstance(part, Fields)
            flat.extend(self.lanes.unpack(part) if is_float_like(leaf_ty) else part)
        return flat

    def flat_types(self, ty: Type) -> list[Type]:
        """The types that `flatten` gives for a primal type."""
        found: list[Type] = []
        for _, leaf_ty in leaves(ty, self.layout):
            if can_carry(leaf_ty, self.layout) and (self.floats or not is_float_like(leaf_ty)):
                found.extend([leaf_ty] * self.lanes.width)
        return found

    def unflatten(self, ty: Type, values: Iterator[Value]) -> Shadow:
        """The inverse of `flatten`."""

        def leaf(path: tuple[int, ...], leaf_ty: Type) -> Shadow:
            lanes = [next(values) for _ in range(self.lanes.width)]
            return self.lanes.pack(lanes) if is_float_like(leaf_ty) else tuple(lanes)

        return self.map(ty, leaf)

    def phi(self, ty: Type, name: str = "phi") -> Shadow:
        """Empty phis for every leaf."""

        def leaf(path: tuple[int, ...], leaf_ty: Type) -> Shadow:
            return tuple(self.builder.phi(t, (), name) for t in self.leaf_types(leaf_ty))

        return self.map(ty, leaf)

    def select(self, ty: Type, condition: Value, a: Shadow, b: Shadow) -> Shadow:
        """Select between two complete shadows."""

        def leaf(path: tuple[int, ...], leaf_ty: Type) -> Shadow:
            x, y = get(a, path), get(b, path)
            assert x is not None and y is not None
            return tuple(
                self.builder.select(condition, p, q)  # type: ignore[arg-type]
                for p, q in zip(x, y, strict=True)
            )

        return self.map(ty, leaf)

    def load(self, ty: Type, pointers: Sequence[Value], align: int | None) -> Shadow:
        """The shadow of a load of type `ty` from the N shadow pointers."""

        def leaf(path: tuple[int, ...], leaf_ty: Type) -> Shadow:
            offset, places = self._places(ty, pointers, path)
            near = _aligned(align, offset)
            if is_float_like(leaf_ty):
                return self.lanes.load(leaf_ty, places, near)
            return tuple(self.builder.load(leaf_ty, p, near) for p in places)

        return self.map(ty, leaf)

    def store(self, ty: Type, shadow: Shadow, pointers: Sequence[Value], align: int | None) -> None:
        """Store a complete shadow through the N shadow pointers."""
        for path, leaf_ty in leaves(ty, self.layout):
            part = get(shadow, path)
            if part is None:
                continue
            assert not isinstance(part, Fields)
            offset, places = self._places(ty, pointers, path)
            near = _aligned(align, offset)
            if is_float_like(leaf_ty):
                self.lanes.store(part, places, near)
            else:
                for value, place in zip(part, places, strict=True):
                    self.builder.store(value, place, near)

    def _places(self, ty: Type, pointers: Sequence[Value], path: tuple[int, ...]) -> tuple[int, list[Value]]:
        offset = 0
        for index in path:
            step, ty = self.layout.field_at(ty, index)
            offset += step
        if offset == 0:
            return 0, list(pointers)
        return offset, [self.builder.ptradd(p, offset) for p in pointers]


def _aligned(align: int | None, offset: int) -> int | None:
    if align is None or offset == 0:
        return align
    return min(align, offset & -offset)
