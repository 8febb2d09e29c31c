"""A batch of N tangents (or adjoints) as one value.

A float's tangent in a batch of width N is a `Tangent`: a tuple of IR values whose shape the form decides.

| form       | values per float     | each value      |
|------------|----------------------|-----------------|
| `scalar`   | 1 (N = 1)            | `T`             |
| `simd`     | 1                    | `<N x T>`       |
| `unrolled` | N                    | `T`             |

Rules are written once: every operation here maps over the tuple and, for `simd`, spreads scalar operands over
the lanes. A float *vector* of the primal (`<4 x float>`) has one tangent vector per lane in every form.

`simd` is right for sequential code (recurrences, straight-line code); `unrolled` leaves loops over slices in
a shape that LLVM's loop vectoriser accepts, because it refuses loops that already hold vectors.

Derivative arithmetic has no fast-math flags: which products are fused with additions is written down (`fusing`),
so that a lane of a batch has the bits of a single tangent whatever LLVM makes of either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import Constant, aggregate, zero
from ferrodiff.adcore.ir.types import Type, VectorType
from ferrodiff.adcore.rules.partial import CastPartial, NoDerivative, Partial, Pick, Scale, Unit

Tangent = tuple[Value, ...]

FORMS = ("scalar", "simd", "unrolled")


class Lanes:
    """Arithmetic on tangents of one width and one form, emitted through `builder`.

    `form` is one of `scalar`, `simd`, `unrolled`; width 1 is always `scalar`. Raises ValueError on others.
    """

    def __init__(self, builder: Builder, width: int, form: str) -> None:
        if width < 1 or form not in FORMS:
            raise ValueError(f"no lanes of width {width} in form {form!r}")
        self.builder = builder
        self.width = width
        self.form = "scalar" if width == 1 else ("unrolled" if form == "scalar" else form)

    # -- shapes ---------------------------------------------------------------------------------------------

    def is_packed(self, ty: Type) -> bool:
        """Whether a tangent of primal type `ty` is one `<N x T>` value."""
        return self.form == "simd" and not isinstance(ty, VectorType)

    def types(self, ty: Type) -> tuple[Type, ...]:
        """The types of the values that make up a tangent of a primal of type `ty`."""
        if self.is_packed(ty):
            return (VectorType(self.width, ty),)
        return (ty,) * self.width

    def zero(self, ty: Type) -> Tangent:
        """The zero tangent of a primal of type `ty`."""
        return tuple(zero(t) for t in self.types(ty))

    def pack(self, values: Sequence[Value]) -> Tangent:
        """One tangent from N lane values, all of the primal's type."""
        ty = values[0].type
        if not self.is_packed(ty):
            return tuple(values)
        if all(isinstance(v, Constant) for v in values):
            return (aggregate(VectorType(self.width, ty), [v for v in values if isinstance(v, Constant)]),)
        return (self.builder.build_vector(values),)

    def unpack(self, tangent: Tangent) -> list[Value]:
        """The N lane values of a tangent, lane 0 first."""
        if len(tangent) == self.width:
            return list(tangent)
        (vector,) = tangent
        return [self.builder.extract_element(vector, lane) for lane in range(self.width)]

    def splat(self, value: Value, like: Type) -> Value:
        """Spread a scalar over the lanes where the tangent value type `like` is a vector of it."""
        if value.type == like or not isinstance(like, VectorType):
            return value
        return self.builder.splat_vector(value, like)

    # -- arithmetic -----------------------------------------------------------------------------------------

    def add(self, a: Tangent, b: Tangent) -> Tangent:
        """a + b."""
        return self._map2(self.builder.fadd, a, b)

    def sub(self, a: Tangent, b: Tangent) -> Tangent:
        """a - b."""
        return self._map2(self.builder.fsub, a, b)

    def neg(self, a: Tangent) -> Tangent:
        """-a."""
        return tuple(self.builder.fneg(v) for v in a)

    def scale(self, factor: Value, t: Tangent, strong_zero: bool = False, vanishing: bool = False) -> Tangent:
        """factor * t; with `strong_zero` a zero tangent gives zero even where `factor` is not finite.

        With `vanishing` as well, a zero factor gives zero even where the tangent is not finite.
        """
        flat = self.builder.fcmp("oeq", factor, zero(factor.type)) if vanishing else None
        out = []
        for v in t:
            product: Value = self.builder.fmul(self.splat(factor, v.type), v)
            if strong_zero:
                nothing = zero(v.type)
                is_zero = self.builder.fcmp("oeq", v, nothing)
                if flat is not None:
                    is_zero = self.builder.or_(is_zero, self.splat(flat, is_zero.type))
                product = self.builder.select(is_zero, nothing, product)
            out.append(product)
        return tuple(out)

    def apply(self, partial: Partial, t: Tangent) -> Tangent | None:
        """One operand's contribution, `partial * t`; None where it is exactly zero."""
        match partial:
            case Unit(sign=sign):
                return t if sign > 0 else self.neg(t)
            case Scale(value=value, nonfinite=nonfinite, vanishing=vanishing):
                return self.scale(value, t, strong_zero=nonfinite, vanishing=vanishing)
            case Pick(condition=condition):
                return self.select(condition, t, tuple(zero(v.type) for v in t))
            case CastPartial():
                raise ValueError("a cast's tangent needs its destination type: use cast()")
            case NoDerivative():
                return None
            case _:
                raise ValueError(f"no tangent arithmetic for {partial!r}")

    def accumulate(self, total: Tangent | None, partial: Partial, t: Tangent) -> Tangent | None:
        """total + partial * t, where None stands for zero."""
        if total is not None and isinstance(partial, Unit) and partial.sign < 0:
            return self.sub(total, t)
        term = self.apply(partial, t)
        if total is None or term is None:
            return term if total is None else total
        return self.add(total, term)

    def select(self, condition: Value, a: Tangent, b: Tangent) -> Tangent:
        """The tangent of `select condition, a, b`; `condition` is i1 (a vector of i1 for vectors)."""
        return tuple(self.builder.select(condition, x, y) for x, y in zip(a, b, strict=True))

    def cast(self, opcode: str, t: Tangent, ty: Type) -> Tangent:
        """`fpext` or `fptrunc` of a tangent to primal type `ty`."""
        return tuple(self.builder.cast(opcode, v, to) for v, to in zip(t, self.types(ty), strict=True))

    def map(self, function: Callable[[Value], Value], t: Tangent) -> Tangent:
        """A lane-wise linear operation such as extractelement on the tangents of vector primals."""
        return tuple(function(v) for v in t)

    def phi(self, ty: Type, name: str = "phi") -> Tangent:
        """Empty phis for a tangent of a primal of type `ty`, at the builder's place."""
        return tuple(self.builder.phi(t, (), name) for t in self.types(ty))

    def is_zero(self, t: Tangent) -> tuple[Value, ...]:
        """One i1 (or vector of i1) per value: where the tangent is zero."""
        return tuple(self.builder.fcmp("oeq", v, zero(v.type)) for v in t)

    def _map2(self, operation: Callable[..., Value], a: Tangent, b: Tangent) -> Tangent:
        return tuple(operation(x, y) for x, y in zip(a, b, strict=True))

    # -- memory ---------------------------------------------------------------------------------------------

    def load(self, ty: Type, pointers: Sequence[Value], align: int | None) -> Tangent:
        """Lane k of a float of type `ty` from pointers[k] (N separate shadows)."""
        return self.pack([self.builder.load(ty, p, align) for p in pointers])

    def load_together(self, ty: Type, pointer: Value, align: int | None) -> Tangent:
        """All lanes of a float of type `ty` from one place where they lie side by side (`simd` alone)."""
        (kind,) = self.types(ty)
        return (self.builder.load(kind, pointer, align),)

    def store_together(self, t: Tangent, pointer: Value, align: int | None) -> None:
        """All lanes side by side (`simd` alone)."""
        (vector,) = t
        self.builder.store(vector, pointer, align)

    def store(self, t: Tangent, pointers: Sequence[Value], align: int | None) -> None:
        """Lane k of the tangent to pointers[k]."""
        for value, pointer in zip(self.unpack(t), pointers, strict=True):
            self.builder.store(value, pointer, align)
