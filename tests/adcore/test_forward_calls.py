"""Forward mode on plain LLVM functions: memory, integers, calls, mixed activities, and lanes bit for bit."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Sequence

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import Differentiated, differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry

POINTER = ctypes.c_void_p
WIDTHS = (1, 2, 3, 4, 5, 8, 12, 16)
SLICES = ("Dual", "Dual")

MEMORY = {
    "memcpy": """
      %t = alloca [4 x double]
      call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %x, i64 32, i1 false)
      %p = getelementptr i8, ptr %t, i64 8
      %a = load double, ptr %t
      %b = load double, ptr %p
      %r = fmul double %a, %b
      store double %r, ptr %y""",
    "memmove": """
      %p = getelementptr i8, ptr %x, i64 8
      call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %x, i64 16, i1 false)
      %b = load double, ptr %p
      %q = getelementptr i8, ptr %x, i64 16
      %c = load double, ptr %q
      %r = fmul double %b, %c
      store double %r, ptr %y""",
    "memset": """
      %a = load double, ptr %x
      call void @llvm.memset.p0.i64(ptr %x, i8 0, i64 8, i1 false)
      %b = load double, ptr %x
      %p = getelementptr i8, ptr %x, i64 8
      %c = load double, ptr %p
      %s = fadd double %a, %b
      %r = fmul double %s, %c
      store double %r, ptr %y""",
    "integers": """
      %p = getelementptr i8, ptr %x, i64 8
      %a = load i64, ptr %x
      %b = load i64, ptr %p
      store i64 %b, ptr %x
      store i64 %a, ptr %p
      %c = load double, ptr %x
      %d = load double, ptr %p
      %r = fmul double %c, %d
      store double %r, ptr %y""",
    "aggregates": """
      %v = load { double, i64, [2 x double] }, ptr %x
      %a = extractvalue { double, i64, [2 x double] } %v, 0
      %w = insertvalue { double, i64, [2 x double] } %v, double %a, 2, 1
      store { double, i64, [2 x double] } %w, ptr %x
      %q = getelementptr i8, ptr %x, i64 24
      %c = load double, ptr %q
      %r = fmul double %a, %c
      store double %r, ptr %y""",
    "vectors": """
      %v = load <2 x double>, ptr %x, align 8
      %s = shufflevector <2 x double> %v, <2 x double> poison, <2 x i32> <i32 1, i32 0>
      %m = fmul <2 x double> %v, %s
      %r = extractelement <2 x double> %m, i64 1
      store double %r, ptr %y""",
    "table": """
      %a = load double, ptr %x
      %n = fptosi double %a to i64
      %k = and i64 %n, 1
      %p = getelementptr double, ptr @table, i64 %k
      %c = load double, ptr %p
      %m = fmul double %a, %a
      %r = fmul double %m, %c
      store double %r, ptr %y""",
}
"""Bodies of `void f(ptr x, ptr y)` with four floats at `x` and one at `y`."""

EXPECTED: dict[str, Callable[[Sequence[float], Sequence[float]], tuple[float, float]]] = {
    "memcpy": lambda x, d: (x[0] * x[1], d[0] * x[1] + x[0] * d[1]),
    "memmove": lambda x, d: (x[0] * x[1], d[0] * x[1] + x[0] * d[1]),
    "memset": lambda x, d: (x[0] * x[1], d[0] * x[1] + x[0] * d[1]),
    "integers": lambda x, d: (x[0] * x[1], d[0] * x[1] + x[0] * d[1]),
    "aggregates": lambda x, d: (x[0] * x[0], 2 * x[0] * d[0]),
    "vectors": lambda x, d: (x[0] * x[1], d[0] * x[1] + x[0] * d[1]),
    "table": lambda x, d: (x[0] * x[0] * 2.5, 2 * x[0] * 2.5 * d[0]),
}


def memory(body: str) -> str:
    """A module with such a function."""
    return f"""
@table = private constant [2 x double] [double 0.5, double 2.5]
define void @f(ptr noalias %x, ptr noalias %y) {{
{body}
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def differentiated(source: str, activities: tuple[str, ...], result: str, width: int = 1) -> Differentiated:
    """The module with `df`."""
    wanted = Wanted("f", "df", "forward", activities, result, width)
    text, _ = with_entry(canonical(source), wanted)
    return differentiate_module(text_before_ad(text))


def compiled(source: str, activities: tuple[str, ...], result: str, width: int = 1) -> Jit:
    """The same as machine code, without fused multiply-add: fusing changes last bits."""
    done = differentiated(source, activities, result, width)
    assert done.errors == [], [str(e) for e in done.errors]
    return Jit(text_after_ad(done.text), exports=["df"], cpu="generic")


def vector(values: Sequence[float]) -> ctypes.Array[ctypes.c_double]:
    """A C array."""
    return (ctypes.c_double * len(values))(*values)


def through_memory(jit: Jit, x: Sequence[float], ds: Sequence[Sequence[float]]) -> tuple[float, list[float]]:
    """Primal and tangents of a `void df(x, dx.., y, dy..)`."""
    outs = [vector([math.nan]) for _ in range(len(ds) + 1)]
    call = jit.function("df", None, *[POINTER] * (2 * len(ds) + 2))
    call(vector(x), *(vector(d) for d in ds), *outs)
    return outs[0][0], [out[0] for out in outs[1:]]


POINT = [3.25, -0.75, 1.5, 0.125]


def directions(count: int) -> list[list[float]]:
    """Random directions."""
    source = random.Random(count)
    return [[source.uniform(-1.0, 1.0) for _ in POINT] for _ in range(count)]


@pytest.mark.parametrize("name", MEMORY)
def test_memory_keeps_its_tangents_and_lanes_equal_single_calls(name: str) -> None:
    source = memory(MEMORY[name])
    single = compiled(source, SLICES, "None")
    ds = directions(16)
    alone = [through_memory(single, POINT, [d]) for d in ds]
    for d, (value, (tangent,)) in zip(ds, alone, strict=True):
        primal, expected = EXPECTED[name](POINT, d)
        assert value == primal
        assert tangent == pytest.approx(expected, rel=4e-16, abs=1e-15)
    for width in WIDTHS[1:]:
        jit = compiled(source, SLICES, "None", width)
        value, tangents = through_memory(jit, POINT, ds[:width])
        assert value == alone[0][0]
        assert tangents == [tangent for _, (tangent,) in alone[:width]], width


RECURSIVE = """
define double @f(double %x, i64 %n) {
  %done = icmp eq i64 %n, 0
  br i1 %done, label %stop, label %go
stop:
  ret double 1.0
go:
  %m = sub i64 %n, 1
  %r = call double @g(double %x, i64 %m)
  %p = fmul double %x, %r
  ret double %p
}
define double @g(double %x, i64 %n) noinline {
  %done = icmp eq i64 %n, 0
  br i1 %done, label %stop, label %go
stop:
  ret double 1.0
go:
  %m = sub i64 %n, 1
  %r = call double @f(double %x, i64 %m)
  %q = fadd double %r, 1.0
  ret double %q
}
"""


class Pair(ctypes.Structure):
    """A result and its tangent."""

    _fields_ = (("value", ctypes.c_double), ("tangent", ctypes.c_double))


def test_mutual_recursion() -> None:
    """f(5) = x (1 + x (1 + x)), by f(n) = x g(n-1), g(n) = 1 + f(n-1)."""
    call = compiled(RECURSIVE, ("Dual", "Const"), "Dual").function(
        "df", Pair, ctypes.c_double, ctypes.c_double, ctypes.c_int64
    )
    x = 1.25
    found = call(x, 2.0, 5)
    assert found.value == x * (1 + x * (1 + x))
    assert found.tangent == pytest.approx(2.0 * (1 + 2 * x + 3 * x * x), rel=1e-15)


PRODUCT = """
define double @f(double %x, double %y) {
  %r = fmul double %x, %y
  ret double %r
}
"""


def test_constant_parameters_take_no_tangent() -> None:
    call = compiled(PRODUCT, ("Const", "Dual"), "DualOnly").function(
        "df", ctypes.c_double, *[ctypes.c_double] * 3
    )
    assert call(3.0, 5.0, 0.5) == 1.5


@pytest.mark.parametrize("result", ["Dual", "DualOnly"])
def test_results_with_and_without_the_primal(result: str) -> None:
    jit = compiled(PRODUCT, ("Dual", "Dual"), result)
    arguments = [ctypes.c_double] * 4
    if result == "Dual":
        found = jit.function("df", Pair, *arguments)(3.0, 1.0, 5.0, 0.0)
        assert (found.value, found.tangent) == (15.0, 5.0)
    else:
        assert jit.function("df", ctypes.c_double, *arguments)(3.0, 1.0, 5.0, 0.0) == 5.0


def calling(callee: str, declaration: str) -> str:
    """A function that hands its argument to an external one."""
    return f"""
define double @f(double %x) {{
  %r = call double @{callee}(double %x)
  ret double %r
}}
{declaration}
"""


def test_unknown_functions_are_named() -> None:
    source = calling("mystery", "declare double @mystery(double)")
    done = differentiated(source, ("Dual",), "Dual")
    (error,) = done.errors
    assert "`mystery`" in str(error) and "mystery" in (error.instruction or "")


def test_unknown_functions_of_constants_are_called() -> None:
    source = """
define double @f(double %x, i64 %n) {
  %k = call i64 @labs(i64 %n)
  %c = sitofp i64 %k to double
  %r = fmul double %c, %x
  ret double %r
}
declare i64 @labs(i64)
"""
    call = compiled(source, ("Dual", "Const"), "DualOnly").function(
        "df", ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int64
    )
    assert call(2.0, 0.5, -7) == 3.5


LOST = """
@kept = internal global double 0.0
define double @f(double %x) {
  call void @put(double %x)
  %r = call double @get()
  ret double %r
}
define internal void @put(double %x) noinline {
  store volatile double %x, ptr @kept
  ret void
}
define internal double @get() noinline {
  %r = load volatile double, ptr @kept
  ret double %r
}
"""


def test_globals_are_not_read_back_in_another_function() -> None:
    (error,) = differentiated(LOST, ("Dual",), "Dual").errors
    assert "without a shadow" in str(error)


WRITTEN = """
@kept = internal global double 0.0
define double @f(double %x) {
  call void @put(double %x)
  %r = fmul double %x, %x
  ret double %r
}
define internal void @put(double %x) noinline {
  store volatile double %x, ptr @kept
  ret void
}
define double @unrelated() {
  %r = load volatile double, ptr @kept
  ret double %r
}
"""


def test_globals_that_only_others_read_may_be_written() -> None:
    call = compiled(WRITTEN, ("Dual",), "DualOnly").function(
        "df", ctypes.c_double, ctypes.c_double, ctypes.c_double
    )
    assert call(3.0, 0.5) == 3.0


CHOSEN = """
@choices = internal constant [2 x ptr] [ptr @square, ptr @cube]
define double @f(double %x, i64 %n) {
  %p = getelementptr ptr, ptr @choices, i64 %n
  %c = load ptr, ptr %p
  %r = call double %c(double %x)
  ret double %r
}
define internal double @square(double %x) {
  %r = fmul double %x, %x
  ret double %r
}
define internal double @cube(double %x) {
  %s = fmul double %x, %x
  %r = fmul double %s, %x
  ret double %r
}
"""


@pytest.mark.parametrize(("index", "tangent"), [(0, 6.0), (1, 27.0)])
def test_functions_in_tables(index: int, tangent: float) -> None:
    call = compiled(CHOSEN, ("Dual", "Const"), "DualOnly").function(
        "df", ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int64
    )
    assert call(3.0, 1.0, index) == tangent
