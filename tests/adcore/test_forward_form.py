"""Which form the lanes take, and what LLVM is told about their memory."""

from __future__ import annotations

import re

import pytest

from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry

SLICES = """
define void @f(ptr noalias readonly %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %q = getelementptr double, ptr %y, i64 %i
  %v = load double, ptr %p
  %s = fmul double %v, %v
  store double %s, ptr %q
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
"""


def scalar_loop(body: str) -> str:
    """A function of a slice whose loop carries one float, `%s`; `body` computes the next, `%t`, from `%v`."""
    return f"""
define double @f(ptr noalias readonly %x, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  {body}
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %t
}}
"""


SUM = scalar_loop("%t = fadd double %s, %v")
LOGISTIC_MAP = scalar_loop("%u = fmul double %s, %v\n  %w = fsub double %v, %u\n  %t = fadd double %s, %w")
PREVIOUS = """
define double @f(ptr noalias readonly %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %v, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %q = getelementptr double, ptr %y, i64 %i
  %v = load double, ptr %p
  %d = fmul double %v, %s
  store double %d, ptr %q
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %v
}
"""
STRAIGHT = """
define double @f(double %x, double %y) {
  %m = fmul double %x, %y
  %a = fadd double %m, %x
  ret double %a
}
"""


def derivative(source: str, activities: tuple[str, ...], width: int = 4) -> str:
    """The module with the derivative of `f`, before the final optimisation."""
    result = "None" if "define void" in source else "DualOnly"
    text, _ = with_entry(canonical(source), Wanted("f", "df", "forward", activities, result, width))
    done = differentiate_module(text_before_ad(text))
    assert done.errors == []
    return done.text


def has_lane_vectors(text: str) -> bool:
    """Whether tangents are vectors over the lanes."""
    return re.search(r"= (?:phi|f\w+)[^\n]*<4 x double>", text) is not None


@pytest.mark.parametrize(
    ("source", "activities", "packed"),
    [
        (SLICES, ("Dual", "Dual", "Const"), False),
        (SUM, ("Dual", "Const"), False),
        (PREVIOUS, ("Dual", "Dual", "Const"), False),
        (LOGISTIC_MAP, ("Dual", "Const"), True),
        (STRAIGHT, ("Dual", "Dual"), True),
    ],
    ids=["slices", "sum", "previous value", "recurrence", "straight line"],
)
def test_sequential_code_packs_its_lanes(source: str, activities: tuple[str, ...], packed: bool) -> None:
    assert has_lane_vectors(derivative(source, activities)) is packed


def test_loops_over_slices_are_vectorised_along_the_slice() -> None:
    text = text_after_ad(derivative(SLICES, ("Dual", "Dual", "Const")))
    derived = re.search(r"(?ms)^define [^\n]*@df\(.*?^}", text)
    assert derived is not None and "vector.body" in derived[0]


SWAPPED = """
define void @f(ptr noalias %x, ptr noalias %y, i64 %n, i64 %rounds) {
entry:
  br label %outer
outer:
  %r = phi i64 [ 0, %entry ], [ %r1, %again ]
  %from = phi ptr [ %x, %entry ], [ %to, %again ]
  %to = phi ptr [ %y, %entry ], [ %from, %again ]
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %next, %loop ]
  %p = getelementptr double, ptr %from, i64 %i
  %q = getelementptr double, ptr %to, i64 %i
  %v = load double, ptr %p
  %s = fmul double %v, %v
  store double %s, ptr %q
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %again, label %loop
again:
  %r1 = add i64 %r, 1
  %over = icmp eq i64 %r1, %rounds
  br i1 %over, label %exit, label %outer
exit:
  ret void
}
"""


def test_swapped_buffers_cost_no_checks_between_lanes() -> None:
    """Only a buffer and its swapped partner can overlap, within the primal and within each lane."""
    text = text_after_ad(derivative(SWAPPED, ("Dual", "Dual", "Const", "Const")))
    checks = re.search(r"(?ms)^vector\.memcheck:.*?^vector\.ph:", text)
    assert "vector.body" in text
    assert checks is None or len(re.findall(r"= sub ", checks[0])) <= 5
