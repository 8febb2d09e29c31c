"""Derivatives of small functions in LLVM IR, as text."""

from __future__ import annotations

from ferrodiff.adcore.backend.passes import canonical, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry


def derivative(source: str, width: int) -> str:
    """The module with `df`, the forward derivative of `f(x, n, out)`, before the final optimisation."""
    wanted = Wanted("f", "df", "forward", ("Dual", "Const", "Dual"), "None", width)
    text, _ = with_entry(canonical(source), wanted)
    done = differentiate_module(text_before_ad(text))
    assert done.errors == []
    return done.text


def looping(phis: str, body: str, last: str, after: str = "") -> str:
    """`f(x, n, out)` in LLVM IR: a loop over a slice that stores `last` in the end.

    `phis` are the values it carries, which may begin with `%head`, the first element; `body` makes their next
    values, with the element `%v`; `after` follows the loop.
    """
    return f"""
define void @f(ptr noalias readonly %x, i64 %n, ptr noalias %out) {{
entry:
  %head = load double, ptr %x
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {phis}
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  {body}
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  %last = phi double [ {last}, %loop ]
  store double %last, ptr %out
  {after}
  ret void
}}
declare double @llvm.exp.f64(double)
declare double @llvm.sqrt.f64(double)
"""
