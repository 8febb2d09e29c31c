"""Rules of LLVM's reductions over a vector's elements."""

from __future__ import annotations

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import const_int
from ferrodiff.adcore.ir.types import VectorType, i32
from ferrodiff.adcore.rules.partial import LaneDot, LanePick, LaneSum, Partial, Scale
from ferrodiff.adcore.rules.rule import SAME, Rule, Site, Special


def _elements(site: Site, vector: Value) -> list[Value]:
    if not isinstance(vector.type, VectorType) or vector.type.scalable:
        raise CannotDifferentiate(f"no reduction rule for the type {vector.type}")
    return [site.builder.extract_element(vector, lane) for lane in range(vector.type.count)]


def _times(site: Site, a: Value, b: Value) -> Value:
    return site.builder.fmul(a, b)


def _product_start(site: Site) -> Partial:
    first, *rest = _elements(site, site.operands[1])
    product = first
    for element in rest:
        product = _times(site, product, element)
    return Scale(product)


def _product_elements(site: Site) -> Partial:
    """Each element's weight is the product of the start and all others: prefix times suffix, never r/x."""
    elements = _elements(site, site.operands[1])
    prefixes = [site.operands[0]]
    for element in elements[:-1]:
        prefixes.append(_times(site, prefixes[-1], element))
    suffix: Value = site.const(1.0, site.operands[0].type)
    weights: list[Value] = []
    for prefix, element in zip(reversed(prefixes), reversed(elements), strict=True):
        weights.insert(0, _times(site, prefix, suffix))
        suffix = _times(site, element, suffix)
    return LaneDot(site.builder.build_vector(weights))


def _extremum(propagates_nan: bool) -> Special:
    def build(site: Site) -> Partial:
        (r,) = site.result_terms
        builder = site.builder
        elements = _elements(site, site.operands[0])
        index: Value = const_int(i32, len(elements) - 1)
        for lane in reversed(range(len(elements) - 1)):
            element = elements[lane]
            taken = builder.fcmp("oeq", element, r.value)
            if propagates_nan:
                taken = builder.or_(taken, builder.fcmp("uno", element, element))
            index = builder.select(taken, const_int(i32, lane), index)
        return LanePick(index)

    return Special("1 for the element returned, 0 for the others", build, needs_result=True)


REDUCTIONS: tuple[Rule, ...] = (
    Rule(("llvm.vector.reduce.fadd",), "fv", (SAME, Special("1 for every element", lambda site: LaneSum()))),
    Rule(
        ("llvm.vector.reduce.fmul",),
        "fv",
        (
            Special("the product of the elements", _product_start),
            Special("start times the product of the other elements", _product_elements),
        ),
        doc="by prefix and suffix products, so that a zero element is no trouble",
    ),
    Rule(
        ("llvm.vector.reduce.fmax", "llvm.vector.reduce.fmin"),
        "v",
        (_extremum(False),),
        edge="the lowest index on ties",
    ),
    Rule(
        ("llvm.vector.reduce.fmaximum", "llvm.vector.reduce.fminimum"),
        "v",
        (_extremum(True),),
        edge="the lowest index on ties; a NaN element is the one returned",
    ),
)
