"""Code that was read and written does the same, compiled and interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_double, c_float, c_int, c_int32, c_size_t, c_ubyte, c_uint32, c_uint64
from pathlib import Path
from typing import Any

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_before_ad
from ferrodiff.adcore.ir.module import Module
from ir_interpreter import Interpreter
from rust_ir import AD_FLAGS, OPTIMISED, UNOPTIMISED, rust_ir, rust_libraries

SOURCE = (Path(__file__).parent / "data" / "kernels.rs").read_text()
Grid = c_double * 4 * 4
EXPORTS = (
    "mathematics",
    "axpy",
    "product",
    "largest",
    "count_bytes",
    "wide_division",
    "classify",
    "vectors",
    "checked",
    "fibonacci",
)


def observe(jit: Jit) -> dict[str, Any]:
    """What every kernel answers to fixed questions."""
    seen: dict[str, Any] = {}
    mathematics = jit.function("mathematics", c_double, c_double, c_float, c_int)
    seen["mathematics"] = [mathematics(x, y, n) for x, y, n in MATHEMATICS]
    x, y = (c_double * 37)(*map(math.sin, range(37))), (c_double * 37)(*map(math.cos, range(37)))
    jit.function("axpy", None, c_double, POINTER(c_double), POINTER(c_double), c_size_t)(0.3, x, y, 37)
    seen["axpy"] = list(y)
    a, b, c = Grid(), Grid(), Grid()
    for i in range(16):
        a[i // 4][i % 4], b[i // 4][i % 4] = i * 0.5, 3.0 - i
    jit.function("product", None, *[POINTER(Grid)] * 3)(byref(c), byref(a), byref(b))
    seen["product"] = [list(row) for row in c]
    floats = (c_float * 19)(*[math.sin(3 * i) for i in range(19)])
    seen["largest"] = jit.function("largest", c_float, POINTER(c_float), c_size_t)(floats, 19)
    text = (c_ubyte * 100)(*(b"banana and a " * 8)[:100])
    seen["count_bytes"] = jit.function("count_bytes", c_size_t, POINTER(c_ubyte), c_size_t)(text, 100)
    seen["wide_division"] = jit.function("wide_division", c_uint64, c_uint64, c_uint64)(1 << 63, 977)
    seen["classify"] = [jit.function("classify", c_uint32, c_uint32)(n) for n in (0, 1, 7, 100, 101, 1500, 9)]
    seen["vectors"] = jit.function("vectors", c_double, c_size_t)(50)
    checked = jit.function("checked", c_int32, c_int32, c_int32)
    seen["checked"] = [checked(3, 4), checked(1 << 20, 1 << 20), checked(-5, 7)]
    seen["fibonacci"] = jit.function("fibonacci", c_uint64, c_uint32)(15)
    return seen


MATHEMATICS = [(0.5, 1.5, 3), (-2.25, 0.25, -2), (7.5, 2.0, 0)]


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    with Jit(rust_ir(SOURCE), exports=EXPORTS, libraries=rust_libraries(), cpu="generic") as jit:
        return observe(jit)


@pytest.mark.parametrize("flags", [AD_FLAGS, UNOPTIMISED, OPTIMISED], ids=["AD", "O0", "O3"])
def test_rewritten_code_behaves_the_same(flags: tuple[str, ...], reference: dict[str, Any]) -> None:
    module = Module.parse(rust_ir(SOURCE, flags))
    text = module.with_functions(replaced=list(module.definitions()))
    with Jit(text, exports=EXPORTS, libraries=rust_libraries()) as jit:
        assert observe(jit) == reference


@pytest.fixture(scope="module", params=["unoptimised", "before AD", "vectorised"])
def interpret(request: pytest.FixtureRequest) -> Iterator[Callable[[], Interpreter]]:
    text = rust_ir(SOURCE, UNOPTIMISED if request.param == "unoptimised" else AD_FLAGS)
    if request.param == "before AD":
        text = text_before_ad(text)
    if request.param == "vectorised":
        text = rust_ir(SOURCE, OPTIMISED)
    module = Module.parse(text)
    yield lambda: Interpreter(module)


def test_the_interpreter_agrees_on_mathematics(
    interpret: Callable[[], Interpreter], reference: dict[str, Any]
) -> None:
    for args, expected in zip(MATHEMATICS, reference["mathematics"], strict=True):
        assert interpret().call("mathematics", args) == pytest.approx(expected, rel=1e-15, nan_ok=True)


def test_the_interpreter_agrees_on_memory(
    interpret: Callable[[], Interpreter], reference: dict[str, Any]
) -> None:
    machine = interpret()
    x, y = machine.floats(map(math.sin, range(37))), machine.floats(map(math.cos, range(37)))
    machine.call("axpy", [0.3, x, y, 37])
    assert machine.read_floats(y, 37) == reference["axpy"]
    a = machine.floats(i * 0.5 for i in range(16))
    b = machine.floats(3.0 - i for i in range(16))
    c = machine.floats([0.0] * 16)
    machine.call("product", [c, a, b])
    assert machine.read_floats(c, 16) == [v for row in reference["product"] for v in row]
    floats = machine.floats([c_float(math.sin(3 * i)).value for i in range(19)], "float")
    assert machine.call("largest", [floats, 19]) == reference["largest"]


def test_the_interpreter_agrees_on_integers(
    interpret: Callable[[], Interpreter], reference: dict[str, Any]
) -> None:
    machine = interpret()
    assert machine.call("wide_division", [1 << 63, 977]) == reference["wide_division"]
    assert [machine.call("classify", [n]) for n in (0, 1, 7, 100, 101, 1500, 9)] == reference["classify"]
    assert machine.call("fibonacci", [15]) == reference["fibonacci"]
    assert machine.call("checked", [3, 4]) == reference["checked"][0]
    assert machine.call("checked", [1 << 20, 1 << 20]) == 2**32 - 1


@pytest.mark.parametrize("flags", [AD_FLAGS, OPTIMISED], ids=["AD", "O3"])
def test_the_interpreter_agrees_on_allocation(flags: tuple[str, ...], reference: dict[str, Any]) -> None:
    machine = Interpreter(Module.parse(rust_ir(SOURCE, flags)))
    assert machine.call("vectors", [50]) == reference["vectors"]
