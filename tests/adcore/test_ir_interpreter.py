"""The interpreter: number domains, memory, the library."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import pytest

from ferrodiff.adcore.backend.passes import canonical, text_before_ad
from ferrodiff.adcore.ir.module import Module
from ir_domains import COMPLEX, FLOAT, MPMATH
from ir_interpreter import Interpreter, Panic, StepLimit, Unsupported
from ir_memory import MemoryFault
from rust_ir import rust_ir

STEP = 1e-30


def interpreter(body: str, domain: Any = FLOAT, **more: Any) -> Interpreter:
    return Interpreter(canonical(body), domain, **more)


def derivative(body: str, *args: float) -> float:
    """The derivative of ``@f`` in its first argument."""
    first, *others = args
    result = interpreter(body, COMPLEX).call("f", [complex(first, STEP), *others])
    return float(result.imag / STEP)


def unary(name: str) -> str:
    return (
        f"declare double @{name}(double)\n"
        f"define double @f(double %x) {{\n %y = call double @{name}(double %x)\n ret double %y\n}}"
    )


@pytest.mark.parametrize(
    ("name", "x"),
    [(f"llvm.{n}.f64", 0.7) for n in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")]
    + [(f"llvm.{n}.f64", 1.7) for n in ("exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "fabs")]
    + [(n, 0.6) for n in ("cbrt", "expm1", "log1p", "asinh", "atanh", "erf", "erfc", "tgamma")]
    + [(n, -0.6) for n in ("cbrt", "expm1", "log1p", "llvm.fabs.f64", "llvm.floor.f64", "llvm.round.f64")],
)
def test_domains_agree_on_functions_and_derivatives(name: str, x: float) -> None:
    body = unary(name)
    value = interpreter(body).call("f", [x])
    precise = interpreter(body, MPMATH).call("f", [x])
    assert value == pytest.approx(float(precise), rel=1e-15)
    assert interpreter(body, COMPLEX).call("f", [complex(x)]).real == pytest.approx(value, rel=1e-14)
    with mpmath.workdps(40):
        slope = mpmath.diff(lambda t: interpreter(body, MPMATH).call("f", [t]), mpmath.mpf(x))
    assert derivative(body, x) == pytest.approx(float(slope), rel=1e-12, abs=1e-25)


@pytest.mark.parametrize(
    ("call", "x", "y"),
    [
        ("llvm.pow.f64", 1.3, 2.5),
        ("llvm.pow.f64", -1.3, 3.0),
        ("llvm.atan2.f64", 0.3, -1.2),
        ("hypot", 0.3, -1.2),
        ("fmod", 7.3, 2.0),
        ("llvm.copysign.f64", 2.0, -1.0),
        ("llvm.maxnum.f64", 2.0, 1.0),
        ("llvm.minimum.f64", 2.0, 3.0),
    ],
)
def test_binary_functions(call: str, x: float, y: float) -> None:
    body = (
        f"declare double @{call}(double, double)\ndefine double @f(double %x, double %y) {{\n"
        f" %r = call double @{call}(double %x, double %y)\n ret double %r\n}}"
    )
    with mpmath.workdps(40):
        slope = mpmath.diff(lambda t: interpreter(body, MPMATH).call("f", [t, y]), mpmath.mpf(x))
    assert derivative(body, x, y) == pytest.approx(float(slope), rel=1e-12)


def test_single_precision_is_rounded() -> None:
    body = "define float @f(float %x) {\n %y = fmul float %x, %x\n ret float %y\n}"
    assert interpreter(body).call("f", [3.0000001192092896]) == 9.00000095367431640625 - 2**-21 * 0


def test_special_values() -> None:
    body = "define double @f(double %x, double %y) {\n %r = fdiv double %x, %y\n ret double %r\n}"
    divide = interpreter(body)
    assert divide.call("f", [1.0, -0.0]) == -math.inf
    assert math.isnan(divide.call("f", [0.0, 0.0]))
    assert interpreter(unary("llvm.log.f64")).call("f", [0.0]) == -math.inf
    assert math.isnan(interpreter(unary("llvm.sqrt.f64")).call("f", [-1.0]))
    assert math.copysign(1.0, interpreter(unary("llvm.ceil.f64")).call("f", [-0.5])) == -1.0


def test_numbers_survive_integer_copies() -> None:
    body = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @f(ptr %p) {
  %a = alloca [16 x i8], align 8
  %b = alloca [16 x i8], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %p, i64 16, i1 false)
  %bits = load i64, ptr %a, align 8
  %q = getelementptr i8, ptr %b, i64 8
  store i64 %bits, ptr %q, align 8
  %back = load double, ptr %q, align 8
  %again = bitcast i64 %bits to double
  %sum = fadd double %back, %again
  ret double %sum
}"""
    machine = interpreter(body, COMPLEX)
    assert machine.call("f", [machine.floats([complex(2.0, 1.0), 0.0])]) == complex(4.0, 2.0)


def test_pieces_of_integers() -> None:
    body = """
define i32 @f(i64 %x) {
  %a = alloca i64, align 8
  store i64 %x, ptr %a, align 8
  %p = getelementptr i8, ptr %a, i64 3
  store i8 -1, ptr %p, align 1
  %q = getelementptr i8, ptr %a, i64 2
  %r = load i32, ptr %q, align 1
  ret i32 %r
}"""
    assert interpreter(body).call("f", [0x1122334455667788]) == 0x3344FF66


def test_memory_errors() -> None:
    body = """
declare void @free(ptr)
define i32 @beyond() {
  %a = alloca i32, align 4
  %p = getelementptr i32, ptr %a, i64 1
  %r = load i32, ptr %p, align 4
  ret i32 %r
}
define i32 @dead(ptr %p) {
  call void @free(ptr %p)
  %r = load i32, ptr %p, align 4
  ret i32 %r
}"""
    machine = interpreter(body)
    with pytest.raises(MemoryFault):
        machine.call("beyond", [])
    with pytest.raises(MemoryFault):
        machine.call("dead", [machine.memory.allocate(4)])


def test_stops() -> None:
    body = """
declare void @core_panicking_panic()
declare void @mystery()
define void @loop() {
  br label %a
a:
  br label %a
}
define void @panics() {
  call void @core_panicking_panic()
  unreachable
}
define void @unknown() {
  call void @mystery()
  ret void
}
define void @never() {
  unreachable
}"""
    with pytest.raises(StepLimit):
        interpreter(body, max_steps=1000).call("loop", [])
    for name in ("panics", "never"):
        with pytest.raises(Panic):
            interpreter(body).call(name, [])
    with pytest.raises(Unsupported):
        interpreter(body).call("unknown", [])


def test_externals_and_function_pointers() -> None:
    body = """
declare double @outside(double)
define double @f(double %x) {
  %p = alloca ptr, align 8
  store ptr @outside, ptr %p, align 8
  %g = load ptr, ptr %p, align 8
  %y = call double %g(double %x)
  ret double %y
}"""

    def outside(machine: Interpreter, args: Sequence[Any]) -> Any:
        return args[0] * 3.0

    assert interpreter(body, externals={"outside": outside}).call("f", [2.0]) == 6.0


def test_vectors() -> None:
    body = """
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
define double @f(ptr %p, double %s) {
  %v = load <4 x double>, ptr %p, align 8
  %i = insertelement <4 x double> poison, double %s, i64 0
  %b = shufflevector <4 x double> %i, <4 x double> poison, <4 x i32> zeroinitializer
  %w = call <4 x double> @llvm.fma.v4f64(<4 x double> %v, <4 x double> %b, <4 x double> splat (double 1.0))
  %c = fcmp ogt <4 x double> %w, zeroinitializer
  %m = select <4 x i1> %c, <4 x double> %w, <4 x double> zeroinitializer
  %r = call double @llvm.vector.reduce.fadd.v4f64(double 0.0, <4 x double> %m)
  ret double %r
}"""
    machine = interpreter(body)
    assert machine.call("f", [machine.floats([1.0, -2.0, 3.0, 0.5]), 2.0]) == 3.0 + 7.0 + 2.0


ODE = """
#[unsafe(no_mangle)]
pub extern "C" fn energy(stiffness: f64, steps: usize) -> f64 {
    let (mut q, mut v) = ([1.0f64, -0.5], [0.0f64; 2]);
    for _ in 0..steps {
        for i in 0..2 {
            v[i] -= 0.1 * stiffness * (q[i] - 0.2 * q[1 - i]).sin();
        }
        for i in 0..2 {
            q[i] += 0.1 * v[i];
        }
    }
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}
"""


@pytest.mark.parametrize("prepare", [text_before_ad, canonical], ids=["optimised", "as rustc left it"])
def test_a_rust_function_under_complex_step(prepare: Callable[[str], str]) -> None:
    module = Module.parse(prepare(rust_ir(ODE)))
    x, h = 0.9, 1e-6
    step = Interpreter(module, COMPLEX).call("energy", [complex(x, STEP), 20]).imag / STEP
    plain = [Interpreter(module).call("energy", [x + s, 20]) for s in (h, -h)]
    assert step == pytest.approx((plain[0] - plain[1]) / (2 * h), rel=1e-7)


def test_recursion_is_deep_enough() -> None:
    body = """
define i64 @f(i64 %n) {
  %z = icmp eq i64 %n, 0
  br i1 %z, label %done, label %more
more:
  %m = sub i64 %n, 1
  %r = call i64 @f(i64 %m)
  %s = add i64 %r, %n
  ret i64 %s
done:
  ret i64 0
}"""
    depth = sys.getrecursionlimit() // 8
    assert interpreter(body).call("f", [depth]) == depth * (depth + 1) // 2
