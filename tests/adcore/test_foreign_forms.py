"""The forms in which C and C++ ask for derivatives by `__enzyme_autodiff` and `__enzyme_fwddiff`."""

from __future__ import annotations

import ctypes

import pytest

from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.foreign import replace_foreign_calls
from foreign_ir import SQUARE, array, served

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
