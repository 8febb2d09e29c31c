"""Fused multiply-adds: the same in every lane, and never in the primal."""

from __future__ import annotations

import ctypes
import random
import re

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad
from tangents import derivative, looping

POINTER = ctypes.c_void_p
COUNT = 37

STATE = "%s = phi double [ 1.0, %entry ], [ %t, %loop ]"
BODIES = {
    "a recurrence": """
  %a = fmul double %s, %v
  %b = fmul double %v, 3.0e-1
  %c = fsub double %a, %b
  %d = fmul double %s, 2.0e-1
  %t = fsub double %d, %c
""",
    "a sum": """
  %a = fmul double %v, %v
  %b = fmul double %a, %v
  %c = fmul double %v, 7.0e-1
  %d = fadd double %b, %c
  %t = fadd double %s, %d
""",
    "a quotient": """
  %a = fmul double %v, %v
  %b = fadd double %a, 1.0
  %c = fdiv double %s, %b
  %d = fmul double %c, %v
  %e = fmul double %s, 1.0e-1
  %t = fadd double %d, %e
""",
}


@pytest.mark.parametrize("cpu", ["generic", "native"])
@pytest.mark.parametrize("name", BODIES)
def test_every_lane_has_the_bits_of_a_single_tangent_and_the_value_those_of_the_primal(
    name: str, cpu: str
) -> None:
    source = looping(STATE, BODIES[name], "%t")
    numbers = random.Random(3)
    point, *directions = ([numbers.uniform(-1.0, 1.0) for _ in range(COUNT)] for _ in range(9))
    arrays = [(ctypes.c_double * COUNT)(*v) for v in (point, *directions)]
    alone: dict[int, float] = {}
    for width in (1, 2, 3, 4, 8):
        jit = Jit(text_after_ad(derivative(source, width), cpu=cpu), exports=["f", "df"], cpu=cpu)
        kinds = [POINTER] * (width + 1)
        call = jit.function("df", None, *kinds, ctypes.c_size_t, *kinds)
        value = ctypes.c_double()
        jit.function("f", None, POINTER, ctypes.c_size_t, POINTER)(arrays[0], COUNT, ctypes.addressof(value))
        for first in range(0, 8, width) if width == 1 else (0,):
            outs = [ctypes.c_double() for _ in range(width + 1)]
            shadows = arrays[1 + first : 1 + first + width]
            call(arrays[0], *shadows, COUNT, *map(ctypes.addressof, outs))
            assert outs[0].value == value.value
            for lane, out in enumerate(outs[1:], first):
                assert out.value == alone.setdefault(lane, out.value)


def test_products_that_only_an_addition_needs_are_fused_and_the_primal_is_not() -> None:
    text = derivative(looping(STATE, BODIES["a recurrence"], "%t"), 1)
    body = re.search(r"(?ms)^define [^\n]*@ferrodiff\.fwd1\..*?^}", text)
    assert body is not None
    assert body[0].count("@llvm.fmuladd.f64(") >= 1
    assert len(re.findall(r"%[ac]\.?\S* = f(?:mul|sub) double", body[0])) >= 2
