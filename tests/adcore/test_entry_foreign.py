"""Derivatives of plain LLVM functions, named directly or asked for by `__enzyme_autodiff` calls."""

from __future__ import annotations

import ctypes
import math

import pytest

from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.entry import Wanted, default_result, with_entry
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.foreign import replace_foreign_calls
from ferrodiff.adcore.ir.module import Module
from foreign_ir import SQUARE, Pair, array, compiled

# double f(double x, const double *p, long n): the sum of sin(x * p[i]) over i < n, compiled at -O0.
LOOP = """
define double @f(double noundef %x, ptr noundef %p, i64 noundef %n) #0 {
  %xa = alloca double
  %i = alloca i64
  %s = alloca double
  store double %x, ptr %xa
  store i64 0, ptr %i
  store double 0.0, ptr %s
  br label %head
head:
  %k = load i64, ptr %i
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %xv = load double, ptr %xa
  %q = getelementptr inbounds double, ptr %p, i64 %k
  %v = load double, ptr %q
  %m = fmul double %xv, %v
  %t = call double @sin(double %m)
  %o = load double, ptr %s
  %a = fadd double %o, %t
  store double %a, ptr %s
  %k1 = add nsw i64 %k, 1
  store i64 %k1, ptr %i
  br label %head
done:
  %r = load double, ptr %s
  ret double %r
}
declare double @sin(double)
attributes #0 = { noinline nounwind optnone }
"""

P = (0.5, -1.25, 2.0)
X = 0.75


def test_reverse_entry_of_unoptimised_code() -> None:
    wanted = Wanted("f", "df", "reverse", ("Active", "Duplicated", "Const"), "Active")
    text, entry = with_entry(canonical(LOOP), wanted)
    assert [str(t) for t in entry.parameters] == ["double", "ptr", "ptr", "i64", "double"]
    assert str(entry.returned) == "{ double, double }"
    call = compiled(text).function(
        "df", Pair, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    )
    shadow = array(1.0, 1.0, 1.0)
    found = call(X, array(*P), shadow, 3, 2.0)
    assert found.first == pytest.approx(sum(math.sin(X * p) for p in P), rel=1e-15)
    assert found.second == pytest.approx(2 * sum(p * math.cos(X * p) for p in P), rel=1e-14)
    assert list(shadow) == pytest.approx([1 + 2 * X * math.cos(X * p) for p in P], rel=1e-14)


def test_forward_entry_returns_each_lanes_tangent() -> None:
    wanted = Wanted("f", "df", "forward", ("Dual", "Dual", "Const"), "DualOnly", width=2)
    text, entry = with_entry(canonical(LOOP), wanted)
    assert len(entry.parameters) == 7
    address = ctypes.c_void_p
    jit = compiled(text)
    call = jit.function("df", Pair, *[ctypes.c_double] * 3, address, address, address, ctypes.c_int64)
    found = call(X, 1.0, 0.0, array(*P), array(0, 0, 0), array(1, 0, 1), 3)
    assert found.first == pytest.approx(sum(p * math.cos(X * p) for p in P), rel=1e-14)
    assert found.second == pytest.approx(sum(X * math.cos(X * p) for p in (P[0], P[2])), rel=1e-14)


def test_an_enzyme_call_is_served() -> None:
    text = (
        SQUARE
        + """
define double @gradient(double %x) {
  %d = call double (ptr, ...) @__enzyme_autodiff(ptr @square, double %x)
  ret double %d
}
declare double @__enzyme_autodiff(ptr, ...)
"""
    )
    replaced, count = replace_foreign_calls(canonical(text))
    assert count == 1
    assert compiled(replaced).function("gradient", ctypes.c_double, ctypes.c_double)(3.0) == 6.0


def test_enzyme_markers_decide_activities_and_width() -> None:
    text = (
        LOOP
        + """
@enzyme_const = external global i32
@enzyme_dup = external global i32
@enzyme_width = external global i32
define void @gradient(double %x, ptr %p, ptr %d0, ptr %d1, i64 %n) {
  %c = load i32, ptr @enzyme_const
  %u = load i32, ptr @enzyme_dup
  %w = load i32, ptr @enzyme_width
  call void (...) @__enzyme_autodiff1(ptr @f, i32 %w, i32 2, i32 %c, double %x,
                                      i32 %u, ptr %p, ptr %d0, ptr %d1, i64 %n)
  ret void
}
define double @tangent(double %x, double %dx, ptr %p, i64 %n) {
  %c = load i32, ptr @enzyme_const
  %r = call double (...) @__enzyme_fwddiff(ptr @f, double %x, double %dx, i32 %c, ptr %p, i64 %n)
  ret double %r
}
declare void @__enzyme_autodiff1(...)
declare double @__enzyme_fwddiff(...)
"""
    )
    replaced, count = replace_foreign_calls(canonical(text))
    assert count == 2
    jit = compiled(replaced)
    address = ctypes.c_void_p
    lanes = array(0, 0, 0), array(1, 1, 1)
    jit.function("gradient", None, ctypes.c_double, address, address, address, ctypes.c_int64)(
        X, array(*P), *lanes, 3
    )
    partials = [X * math.cos(X * p) for p in P]
    assert list(lanes[0]) == pytest.approx(partials, rel=1e-14)
    assert list(lanes[1]) == pytest.approx([1 + v for v in partials], rel=1e-14)
    tangent = jit.function(
        "tangent", ctypes.c_double, ctypes.c_double, ctypes.c_double, address, ctypes.c_int64
    )
    assert tangent(X, 2.0, array(*P), 3) == pytest.approx(2 * sum(p * math.cos(X * p) for p in P), rel=1e-14)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted("g", "dg", "reverse", ("Active",), "Active"), "defines no function `g`"),
        (Wanted("square", "d", "reverse", (), "Active"), "expected 1 activities, but found 0"),
        (Wanted("square", "d", "reverse", ("Dual",), "Active"), "Dual can not be used in reverse mode"),
        (
            Wanted("square", "d", "reverse", ("Duplicated",), "Active"),
            "Duplicated can not be used for `double`",
        ),
        (Wanted("square", "d", "forward", ("Dual",), "Active"), "invalid return activity Active"),
        (Wanted("square", "square", "forward", ("Dual",), "Dual"), "defines `square` already"),
        (Wanted("square", "d", "forward", ("Dual",), "Dual", width=0), "width must be at least 1"),
    ],
)
def test_a_wrong_request_is_refused(wanted: Wanted, words: str) -> None:
    with pytest.raises(CannotDifferentiate, match=words):
        with_entry(canonical(SQUARE), wanted)


def test_the_default_result_returns_most() -> None:
    module = Module.parse(canonical(SQUARE))
    assert default_result(module, "square", "forward") == "Dual"
    assert default_result(module, "square", "reverse") == "Active"


def test_a_call_of_an_unknown_target_is_refused() -> None:
    text = """
define double @gradient(ptr %f, double %x) {
  %d = call double (ptr, ...) @__enzyme_autodiff(ptr %f, double %x)
  ret double %d
}
declare double @__enzyme_autodiff(ptr, ...)
"""
    with pytest.raises(CannotDifferentiate, match="not known at compile time"):
        replace_foreign_calls(canonical(text))


# For each of n numbers x: sin and cos through memory, the mantissa, the fraction and log |gamma|.
WRITERS = """
define double @writers(ptr %p, i64 %n) {
entry:
  %s = alloca double
  %c = alloca double
  %e = alloca i32
  %w = alloca double
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %sum = phi double [ 0.0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %q = getelementptr inbounds double, ptr %p, i64 %k
  %x = load double, ptr %q
  call void @sincos(double %x, ptr %s, ptr %c)
  %sv = load double, ptr %s
  %cv = load double, ptr %c
  %m = call double @frexp(double %x, ptr %e)
  %ev = load i32, ptr %e
  %ef = sitofp i32 %ev to double
  %f = call double @modf(double %x, ptr %w)
  %wv = load double, ptr %w
  %l = call double @lgamma_r(double %x, ptr %e)
  %a = fmul double %sv, %m
  %b = fmul double %cv, %f
  %d = fmul double %l, %ef
  %g = fmul double %wv, %x
  %ab = fadd double %a, %b
  %dg = fadd double %d, %g
  %t = fadd double %ab, %dg
  %next = fadd double %sum, %t
  %k1 = add nsw i64 %k, 1
  br label %head
done:
  ret double %sum
}
declare void @sincos(double, ptr, ptr)
declare double @frexp(double, ptr)
declare double @modf(double, ptr)
declare double @lgamma_r(double, ptr)
"""


def writers(x: float) -> float:
    """The derivative of one term."""
    mantissa, exponent = math.frexp(x)
    fraction, whole = math.modf(x)
    h = 1e-6
    digamma = (math.lgamma(x + h) - math.lgamma(x - h)) / (2 * h)
    of_waves = math.cos(x) * mantissa + math.sin(x) * 2.0**-exponent - math.sin(x) * fraction + math.cos(x)
    return of_waves + digamma * exponent + whole


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_functions_that_write_results_to_memory(mode: str) -> None:
    activities = ("Duplicated" if mode == "reverse" else "Dual", "Const")
    text, _ = with_entry(
        canonical(WRITERS),
        Wanted("writers", "dw", mode, activities, "Active" if mode == "reverse" else "DualOnly"),
    )
    jit = compiled(text)
    points = (0.75, 2.625, 5.25)
    address, real, count = ctypes.c_void_p, ctypes.c_double, ctypes.c_int64
    if mode == "reverse":
        shadow = array(0.0, 1.0, 0.0)
        jit.function("dw", real, address, address, count, real)(array(*points), shadow, 3, 2.0)
        assert list(shadow) == pytest.approx([k % 2 + 2 * writers(x) for k, x in enumerate(points)], rel=1e-8)
        return
    call = jit.function("dw", real, address, address, count)
    for k, x in enumerate(points):
        seed = array(*(float(i == k) for i in range(3)))
        assert call(array(*points), seed, 3) == pytest.approx(writers(x), rel=1e-8)
