"""Gradients of `extern "C" fn(x: *const f64, n: usize) -> f64` functions, checked by finite differences."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ferrodiff.adcore.backend.inlining import inline_for_reverse
from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import Differentiated, differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry
from rust_ir import AD_FLAGS, rust_ir, rust_libraries

ARRAY = ctypes.c_void_p
SIZE = ctypes.c_size_t
DOUBLE = ctypes.c_double


def differentiate(source: str, names: Sequence[str], flags: tuple[str, ...] = AD_FLAGS) -> Differentiated:
    """The derivatives `d<name>` of some functions of a Rust source, by reverse mode of width 1."""
    text = rust_ir(source, flags)
    for name in names:
        wanted = Wanted(name, f"d{name}", "reverse", ("Duplicated", "Const"), "Active")
        text, _ = with_entry(text, wanted)
    return differentiate_module(inline_for_reverse(text_before_ad(text)))


class Gradients:
    """Compiled functions with their derivatives."""

    def __init__(self, source: str, names: Sequence[str], flags: tuple[str, ...] = AD_FLAGS) -> None:
        done = differentiate(source, names, flags)
        assert done.errors == [], [str(e) for e in done.errors]
        self.text = done.text
        exports = [*names, *(f"d{name}" for name in names)]
        self.jit = Jit(text_after_ad(done.text), exports=exports, libraries=rust_libraries())

    def value(self, name: str, x: Sequence[float]) -> float:
        """The primal."""
        call = self.jit.function(name, DOUBLE, ARRAY, SIZE)
        return float(call(array(x), len(x)))

    def gradient(self, name: str, x: Sequence[float], seed: float = 1.0) -> tuple[float, list[float]]:
        """The derivative's value and gradient."""
        call = self.jit.function(f"d{name}", DOUBLE, ARRAY, ARRAY, SIZE, DOUBLE)
        shadow = array([0.0] * len(x))
        value = call(array(x), shadow, len(x), seed)
        return float(value), list(shadow)

    def slopes(self, name: str, x: Sequence[float], h: float = 1e-5) -> list[float]:
        """The gradient by five-point differences."""
        found = []
        for i in range(len(x)):
            samples = []
            for k in (-2, -1, 1, 2):
                moved = list(x)
                moved[i] += k * h
                samples.append(self.value(name, moved))
            found.append((samples[0] - 8 * samples[1] + 8 * samples[2] - samples[3]) / (12 * h))
        return found

    def check(self, name: str, x: Sequence[float], tolerance: float = 1e-8) -> None:
        """Primal bits, gradient and seed scaling."""
        value, gradient = self.gradient(name, x)
        assert value == self.value(name, x)
        for i, (found, expected) in enumerate(zip(gradient, self.slopes(name, x), strict=True)):
            assert abs(found - expected) <= tolerance * (1 + abs(expected)), (name, i, found, expected)
        doubled = self.gradient(name, x, -2.0)[1]
        for found, expected in zip(doubled, gradient, strict=True):
            assert abs(found + 2 * expected) <= 1e-12 * (1 + abs(expected))
        assert self.gradient(name, x) == (value, gradient)


def array(values: Sequence[float]) -> ctypes.Array[ctypes.c_double]:
    """A C array."""
    return (ctypes.c_double * len(values))(*values)


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    ]


def bytes_in_use() -> int:
    """Bytes that this process has from the C allocator at the moment."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _Mallinfo
    found = libc.mallinfo2()
    return int(found.uordblks) + int(found.hblkhd)
