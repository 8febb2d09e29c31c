"""Recurrences keep their chain short: the vectorisers leave them alone, and the derivatives are right."""

from __future__ import annotations

import ctypes
import re

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad
from tangents import derivative, looping

POINTER = ctypes.c_void_p


STATE = looping(
    "%s = phi double [ %head, %entry ], [ %t, %loop ]",
    "%q = fmul double %s, %s\n  %r = fmul double %q, 2.5e-1\n  %t = fadd double %r, %v",
    "%t",
)
EXCHANGE = looping(
    "%a = phi double [ 1.0, %entry ], [ %b, %loop ]\n  %b = phi double [ %head, %entry ], [ %c, %loop ]",
    "%q = fmul double %a, 5.0e-1\n  %c = fmul double %q, %v",
    "%c",
)
SUM = looping(
    "%s = phi double [ 0.5, %entry ], [ %t, %loop ]",
    "%q = fmul double %v, %v\n  %t = fadd double %s, %q",
    "%t",
)
NEIGHBOURS = looping(
    "%s = phi double [ 0.5, %entry ], [ %t, %loop ]\n  %before = phi double [ %head, %entry ], [ %v, %loop ]",
    "%q = fmul double %v, %before\n  %t = fadd double %s, %q",
    "%t",
)
LONG = (
    "define void @f(ptr noalias readonly %x, i64 %n, ptr noalias %out) {\n  %v0 = load double, ptr %x\n"
    + "".join(
        f"  %q{k} = fmul double %v{k}, %v{k}\n  %v{k + 1} = fadd double %q{k}, 1.0\n" for k in range(80)
    )
    + "  store double %v80, ptr %out\n  ret void\n}\n"
)
STRAIGHT = """
define void @f(ptr noalias readonly %x, i64 %n, ptr noalias %out) {
  %v = load double, ptr %x
  %q = fmul double %v, %v
  store double %q, ptr %out
  ret void
}
"""


def marked(text: str) -> list[str]:
    """The functions that the vectorisers leave alone."""
    groups = set(re.findall(r"attributes (#\d+) = \{[^}]*\bnoimplicitfloat\b", text))
    headers = re.findall(r"^define .*$", text, re.MULTILINE)
    return [h for h in headers if "noimplicitfloat" in h or groups & set(re.findall(r"#\d+", h))]


@pytest.mark.parametrize("source", [STATE, EXCHANGE, LONG], ids=["state", "exchange", "long code"])
@pytest.mark.parametrize("width", [1, 4])
def test_recurrences_and_long_code_are_not_packed_but_their_callers_are(source: str, width: int) -> None:
    optimised = text_after_ad(derivative(source, width))
    (header,) = marked(optimised)
    assert "ferrodiff" in header and "@df(" not in header


@pytest.mark.parametrize("source", [SUM, NEIGHBOURS, STRAIGHT], ids=["sum", "a remembered value", "no loop"])
@pytest.mark.parametrize("width", [1, 4])
def test_other_derivatives_are_left_to_the_vectorisers(source: str, width: int) -> None:
    assert marked(derivative(source, width)) == []


@pytest.mark.parametrize("width", [1, 3, 4])
def test_each_lane_of_a_recurrence_has_the_tangent_of_its_closed_form(width: int) -> None:
    jit = Jit(text_after_ad(derivative(STATE, width)), exports=["df"])
    x = [0.5, -0.25, 0.75, 1.5]
    directions = [[1.0, 0.0, 2.0, -1.0], [0.5, 1.0, -1.0, 0.25], [0.0, 0.0, 0.0, 3.0], [1.0, 1.0, 1.0, 1.0]]
    shadows = [(ctypes.c_double * 4)(*d) for d in directions[:width]]
    out = ctypes.c_double()
    tangents = [ctypes.c_double() for _ in range(width)]
    kinds = [POINTER] * (width + 1)
    call = jit.function("df", None, *kinds, ctypes.c_size_t, *kinds)
    call((ctypes.c_double * 4)(*x), *shadows, 4, ctypes.addressof(out), *map(ctypes.addressof, tangents))
    for direction, found in zip(directions, tangents, strict=False):
        state, tangent = x[0], direction[0]
        for value, seed in zip(x, direction, strict=True):
            state, tangent = state * state * 0.25 + value, 0.5 * state * tangent + seed
        assert out.value == pytest.approx(state, rel=1e-15)
        assert found.value == pytest.approx(tangent, rel=1e-14)
