"""Derivatives of plain LLVM functions, named directly or asked for by `__enzyme_autodiff` calls."""

from __future__ import annotations

import ctypes
import math

import pytest

from ferrodiff.adcore.backend.inlining import inline_for_reverse
from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, default_result, with_entry
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.foreign import replace_foreign_calls
from ferrodiff.adcore.ir.module import Module

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

SQUARE = """
define double @square(double %x) noinline optnone {
  %r = fmul double %x, %x
  ret double %r
}
"""

P = (0.5, -1.25, 2.0)
X = 0.75


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_double), ("second", ctypes.c_double)]


def compiled(text: str) -> Jit:
    done = differentiate_module(inline_for_reverse(text_before_ad(text)))
    assert done.errors == []
    return Jit(text_after_ad(done.text))


def array(*values: float) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * len(values))(*values)


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


# -- the forms in which C and C++ ask ------------------------------------------------------------------------

PRODUCT = """
define double @product(double %x, double %y) {
  %r = fmul double %x, %y
  ret double %r
}
define float @half(float %x, i8 %k) {
  %n = uitofp i8 %k to float
  %r = fmul float %x, %n
  ret float %r
}
define void @doubled(ptr noalias %x) {
  %v = load double, ptr %x
  %r = fmul double %v, 2.0
  store double %r, ptr %x
  ret void
}
"""


def served(text: str) -> Jit:
    return compiled(replace_foreign_calls(canonical(text))[0])


def test_a_mangled_name_asks_too() -> None:
    jit = served(
        PRODUCT
        + """
define double @tangent(double %x, double %y) {
  %d = call double (ptr, ...) @_Z16__enzyme_fwddiffPFdddEz(ptr @product, double %x, double 1.0, double %y, double 0.0)
  ret double %d
}
declare double @_Z16__enzyme_fwddiffPFdddEz(ptr, ...)
"""
    )
    assert jit.function("tangent", ctypes.c_double, ctypes.c_double, ctypes.c_double)(2.0, 5.0) == 5.0


def test_an_unused_result_may_have_any_type() -> None:
    jit = served(
        PRODUCT
        + """
define void @gradient(ptr %x, ptr %dx) {
  %unused = tail call double (ptr, ...) @__enzyme_autodiff(ptr @doubled, ptr %x, ptr %dx)
  ret void
}
declare double @__enzyme_autodiff(ptr, ...)
"""
    )
    x, shadow = array(3.0), array(1.0)
    jit.function("gradient", None, ctypes.c_void_p, ctypes.c_void_p)(x, shadow)
    assert (x[0], shadow[0]) == (6.0, 2.0)


def test_a_result_wanted_in_memory() -> None:
    jit = served(
        PRODUCT
        + """
%struct.Gradient = type { double, double }
define void @gradient(ptr sret(%struct.Gradient) %out, double %x, double %y) {
  call void (ptr, ptr, ...) @__enzyme_autodiff(ptr sret(%struct.Gradient) %out, ptr @product, double %x, double %y)
  ret void
}
declare void @__enzyme_autodiff(ptr sret(%struct.Gradient), ptr, ...)
"""
    )
    out = array(0.0, 0.0)
    jit.function("gradient", None, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)(out, 2.0, 5.0)
    assert list(out) == [5.0, 2.0]


def test_a_result_in_another_form_of_the_same_numbers() -> None:
    jit = served(
        PRODUCT
        + """
define double @gradient(double %x, double %y) {
  %both = call <2 x double> (ptr, ...) @__enzyme_autodiff(ptr @product, double %x, double %y)
  %a = extractelement <2 x double> %both, i64 0
  %b = extractelement <2 x double> %both, i64 1
  %c = fmul double %b, 100.0
  %d = fadd double %a, %c
  ret double %d
}
declare <2 x double> @__enzyme_autodiff(ptr, ...)
"""
    )
    assert jit.function("gradient", ctypes.c_double, ctypes.c_double, ctypes.c_double)(2.0, 5.0) == 205.0


def test_what_a_variadic_call_widened_is_narrow_again() -> None:
    jit = served(
        PRODUCT
        + """
define float @gradient(double %x, i32 %k) {
  %d = call float (ptr, ...) @__enzyme_autodiff(ptr @half, double %x, i32 %k)
  ret float %d
}
declare float @__enzyme_autodiff(ptr, ...)
"""
    )
    assert jit.function("gradient", ctypes.c_float, ctypes.c_double, ctypes.c_int32)(1.5, 7) == 7.0


def test_the_primals_result_first() -> None:
    jit = served(
        PRODUCT
        + """
@enzyme_primal_return = external global i32
define double @both(double %x, double %y) {
  %p = load i32, ptr @enzyme_primal_return
  %r = call { double, double, double } (ptr, ...) @__enzyme_autodiff(ptr @product, i32 %p, double %x, double %y)
  %a = extractvalue { double, double, double } %r, 0
  %b = extractvalue { double, double, double } %r, 2
  %c = fmul double %b, 100.0
  %d = fadd double %a, %c
  ret double %d
}
declare { double, double, double } @__enzyme_autodiff(ptr, ...)
"""
    )
    assert jit.function("both", ctypes.c_double, ctypes.c_double, ctypes.c_double)(2.0, 5.0) == 210.0


def test_a_function_held_in_a_local_variable() -> None:
    jit = served(
        PRODUCT
        + """
define double @tangent(double %x, double %y) {
  %f = alloca ptr
  store ptr @product, ptr %f
  %g = load ptr, ptr %f
  %d = call double (ptr, ...) @__enzyme_fwddiff(ptr %g, double %x, double 0.0, double %y, double 1.0)
  ret double %d
}
declare double @__enzyme_fwddiff(ptr, ...)
"""
    )
    assert jit.function("tangent", ctypes.c_double, ctypes.c_double, ctypes.c_double)(2.0, 5.0) == 2.0


ASKED = """
define double @tangent(double %x) {
  %o = load i32, ptr @enzyme_tape
  %d = call double (ptr, ...) @__enzyme_fwddiff(ptr @square, OPERANDS)
  ret double %d
}
@enzyme_tape = external global i32
declare double @__enzyme_fwddiff(ptr, ...)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ASKED.replace("OPERANDS", "i32 %o, double %x, double 1.0"), "`enzyme_tape` is not served"),
        (ASKED.replace("OPERANDS", "double %x, i64 1"), "`i64` is passed where .* takes `double`"),
        (ASKED.replace("OPERANDS", "double %x"), "too few arguments for parameter 0"),
        (
            "@__enzyme_function_like = global [2 x ptr] [ptr @square, ptr @log1p]\ndeclare double @log1p(double)\n"
            + ASKED.replace("OPERANDS", "double %x, double 1.0"),
            "`__enzyme_function_like` gives `square` a derivative of its own",
        ),
        (
            "@__enzyme_register_gradient_hidden = global [1 x ptr] [ptr @hidden]\n"
            "define double @hidden(double %x) {\n  ret double %x\n}\n"
            + ASKED.replace("OPERANDS", "double %x, double 1.0"),
            "gives `hidden` a derivative of its own",  # the body of `square` may once have called it
        ),
        (
            """
define void @forth(double %x) {
  call void (ptr, ...) @__enzyme_reverse(ptr @square, double %x)
  call void (ptr, ...) @__enzyme_autodiff(ptr @square, double %x)
  ret void
}
declare void @__enzyme_reverse(ptr, ...)
declare void @__enzyme_autodiff(ptr, ...)
""",
            "`__enzyme_reverse` is not served",
        ),
        (
            """
define float @gradient(double %x) {
  %d = call float (ptr, ...) @__enzyme_autodiff(ptr @square, double %x)
  ret float %d
}
declare float @__enzyme_autodiff(ptr, ...)
""",
            "the call expects `float`, but a derivative of `square` returns `double`",
        ),
    ],
)
def test_what_is_not_served_is_refused(text: str, words: str) -> None:
    with pytest.raises(CannotDifferentiate, match=words):
        replace_foreign_calls(canonical(SQUARE + text))


# -- memory as C programs get it -----------------------------------------------------------------------------

# The sum over i < 3 of (i + 1) x^2, each term through a block of its own from posix_memalign.
ALIGNED = """
define double @f(double %x) {
entry:
  %blocks = alloca [3 x ptr]
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %fill ]
  %place = getelementptr [3 x ptr], ptr %blocks, i64 0, i64 %i
  %code = call i32 @posix_memalign(ptr %place, i64 16, i64 8)
  %block = load ptr, ptr %place
  %square = fmul double %x, %x
  store double %square, ptr %block
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 3
  br i1 %more, label %fill, label %sum
sum:
  %j = phi i64 [ 0, %fill ], [ %j1, %sum ]
  %s = phi double [ 0.0, %fill ], [ %s1, %sum ]
  %from = getelementptr [3 x ptr], ptr %blocks, i64 0, i64 %j
  %b = load ptr, ptr %from
  %v = load double, ptr %b
  call void @free(ptr %b)
  %j1 = add i64 %j, 1
  %w = uitofp i64 %j1 to double
  %t = fmul double %v, %w
  %s1 = fadd double %s, %t
  %again = icmp ult i64 %j1, 3
  br i1 %again, label %sum, label %done
done:
  ret double %s1
}
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
"""


@pytest.mark.parametrize(
    ("mode", "activity", "result"), [("reverse", "Active", "Active"), ("forward", "Dual", "Dual")]
)
def test_blocks_from_posix_memalign(mode: str, activity: str, result: str) -> None:
    text, _ = with_entry(canonical(ALIGNED), Wanted("f", "df", mode, (activity,), result))
    found = compiled(text).function("df", Pair, ctypes.c_double, ctypes.c_double)(1.5, 1.0)
    assert (found.first, found.second) == (13.5, 18.0)


# x^2 through a block, or x where there is none; what is freed is then null.
PERHAPS = """
define double @f(double %x, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %have, label %join
have:
  %m = call ptr @malloc(i64 8)
  %s = fmul double %x, %x
  store double %s, ptr %m
  br label %join
join:
  %p = phi ptr [ null, %entry ], [ %m, %have ]
  br i1 %some, label %use, label %done
use:
  %v = load double, ptr %p
  br label %done
done:
  %r = phi double [ %x, %join ], [ %v, %use ]
  call void @free(ptr %p)
  ret double %r
}
declare ptr @malloc(i64)
declare void @free(ptr)
"""


@pytest.mark.parametrize(("mode", "activity"), [("reverse", "Active"), ("forward", "Dual")])
def test_null_is_freed(mode: str, activity: str) -> None:
    text, _ = with_entry(canonical(PERHAPS), Wanted("f", "df", mode, (activity, "Const"), activity))
    kinds = [ctypes.c_double] * 2
    kinds.insert(1 if mode == "reverse" else 2, ctypes.c_int64)  # type: ignore[arg-type]
    call = compiled(text).function("df", Pair, *kinds)
    for n, expected in ((1, (9.0, 6.0)), (0, (3.0, 1.0))):
        found = call(3.0, n, 1.0) if mode == "reverse" else call(3.0, 1.0, n)
        assert (found.first, found.second) == expected


# x^n: a block grows by one number at a time, each the one before times x.
GROWN = """
define double @f(double %x, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %tail ]
  %old = phi ptr [ null, %entry ], [ %new, %tail ]
  %i1 = add i64 %i, 1
  %size = mul i64 %i1, 8
  %new = call ptr @realloc(ptr %old, i64 %size)
  %here = getelementptr double, ptr %new, i64 %i
  %first = icmp eq i64 %i, 0
  br i1 %first, label %begin, label %go
begin:
  store double %x, ptr %here
  br label %tail
go:
  %before = getelementptr double, ptr %here, i64 -1
  %v = load double, ptr %before
  %m = fmul double %v, %x
  store double %m, ptr %here
  br label %tail
tail:
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %head, label %done
done:
  %r = load double, ptr %here
  call void @free(ptr %new)
  ret double %r
}
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
"""


def test_a_block_that_grows_by_realloc() -> None:
    wanted = Wanted("f", "df", "reverse", ("Active", "Const"), "Active")
    text, _ = with_entry(canonical(GROWN), wanted)
    call = compiled(text).function("df", Pair, ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    for n in (1, 2, 50):
        found = call(1.1, n, 2.0)
        assert found.first == pytest.approx(1.1**n, rel=1e-13)
        assert found.second == pytest.approx(2 * n * 1.1 ** (n - 1), rel=1e-13)


# For each k in 1..n an array of k numbers x (i + 1) on the stack, in a scope of its own, and one of words;
# the sum of the squares of the last numbers: x^2 (1 + 4 + ... + n^2). The array of words lives to the end of f.
SIZED = """
define double @f(double %x, i64 %n) {
entry:
  %words = alloca i64, i64 %n, align 8
  store i64 0, ptr %words
  br label %head
head:
  %k = phi i64 [ 1, %entry ], [ %k1, %next ]
  %s = phi double [ 0.0, %entry ], [ %s1, %next ]
  %outer = call ptr @llvm.stacksave.p0()
  %marks = alloca i64, i64 %k, align 8
  store i64 %k, ptr %marks
  %saved = call ptr @llvm.stacksave.p0()
  %t = alloca double, i64 %k, align 16
  br label %fill
fill:
  %i = phi i64 [ 0, %head ], [ %i1, %fill ]
  %place = getelementptr double, ptr %t, i64 %i
  %i1 = add i64 %i, 1
  %w = sitofp i64 %i1 to double
  %m = fmul double %x, %w
  store double %m, ptr %place
  %more = icmp slt i64 %i1, %k
  br i1 %more, label %fill, label %next
next:
  %v = load double, ptr %place
  %q = fmul double %v, %v
  %s1 = fadd double %s, %q
  call void @llvm.stackrestore.p0(ptr %saved)
  %mark = load i64, ptr %marks
  call void @llvm.stackrestore.p0(ptr %outer)
  %k1 = add i64 %mark, 1
  %again = icmp sle i64 %k1, %n
  br i1 %again, label %head, label %done
done:
  %zero = load i64, ptr %words
  %z = sitofp i64 %zero to double
  %r = fadd double %s1, %z
  ret double %r
}
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
"""


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_stack_memory_of_a_size_known_at_run_time(mode: str) -> None:
    activity = "Active" if mode == "reverse" else "Dual"
    text, _ = with_entry(canonical(SIZED), Wanted("f", "df", mode, (activity, "Const"), activity))
    orders = {"reverse": (0, 2, 1), "forward": (0, 1, 2)}
    kinds = [ctypes.c_double, ctypes.c_double, ctypes.c_int64]
    call = compiled(text).function("df", Pair, *[kinds[k] for k in orders[mode]])
    for n in (1, 4, 30):
        given = (1.5, 1.0, n)
        found = call(*[given[k] for k in orders[mode]])
        squares = n * (n + 1) * (2 * n + 1) / 6
        assert found.first == pytest.approx(2.25 * squares, rel=1e-14)
        assert found.second == pytest.approx(3 * squares, rel=1e-14)


# x^3, and the text of x^2 in the buffer.
SAID = """
@format = private constant [5 x i8] c"%.2f\\00"
define double @f(double %x, ptr %buffer) {
  %s = fmul double %x, %x
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %buffer, i64 16, ptr @format, double %s)
  %r = fmul double %s, %x
  ret double %r
}
declare i32 @snprintf(ptr, i64, ptr, ...)
"""


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_numbers_that_are_printed(mode: str) -> None:
    activity = "Active" if mode == "reverse" else "Dual"
    text, _ = with_entry(canonical(SAID), Wanted("f", "df", mode, (activity, "Const"), activity))
    buffer = ctypes.create_string_buffer(16)
    jit = compiled(text)
    if mode == "reverse":
        found = jit.function("df", Pair, ctypes.c_double, ctypes.c_char_p, ctypes.c_double)(2.0, buffer, 1.0)
    else:
        found = jit.function("df", Pair, ctypes.c_double, ctypes.c_double, ctypes.c_char_p)(2.0, 1.0, buffer)
    assert (found.first, found.second, buffer.value) == (8.0, 12.0, b"4.00")
