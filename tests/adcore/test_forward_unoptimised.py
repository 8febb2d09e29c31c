"""Forward mode on IR that nothing has optimised gives what it gives on optimised IR."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import lru_cache

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry
from rust_ir import AD_FLAGS, UNOPTIMISED, rust_ir, rust_libraries

HEADER = """#![allow(warnings)]
unsafe fn s<'a>(x: *const f64, n: usize) -> &'a [f64] { std::slice::from_raw_parts(x, n) }
#[derive(Clone, Copy)] struct Mix { i: i32, f: f32 }
#[derive(Clone, Copy)] enum Shape { Round(f64), Flat { w: f32, h: f32 }, Named(&'static str), Nothing }
const START: [Shape; 3] = [Shape::Round(1.5), Shape::Flat { w: 2.0, h: 0.5 }, Shape::Named("four")];
fn area(s: &Shape) -> f64 { match s { Shape::Round(r) => 3.0 * r * r, Shape::Flat { w, h } => (w * h) as f64, Shape::Named(t) => t.len() as f64, Shape::Nothing => 1.0 } }
#[inline(never)] fn pair(a: f64, b: f32) -> (f64, f32, bool) { (a * b as f64, b * 2.0, a > 0.0) }
#[inline(never)] fn record(a: f64) -> [f64; 5] { [a, a * a, 1.0, a.sin(), 2.0] }
#[inline(never)] fn maybe(a: f64) -> Option<f64> { if a > 0.0 { Some(a.ln()) } else { None } }
#[inline(never)] fn fall(a: f64, n: u32) -> f64 { if n == 0 { a } else { fall(a.sin(), n - 1) * a } }
trait Act { fn act(&self, x: f64) -> f64; }
struct Scale(f64); impl Act for Scale { fn act(&self, x: f64) -> f64 { x * self.0 } }
struct Shift(f64); impl Act for Shift { fn act(&self, x: f64) -> f64 { x + self.0.cos() } }
"""

BODIES = {
    "iterated": "s(x, n).iter().zip(s(x, n).iter().skip(1)).map(|(a, b)| a * b.sin()).fold(0.5, |t, v| t * 0.7 + v)",
    "windows": "s(x, n).windows(2).chain(s(x, n).chunks(2)).map(|w| w[0] * w[w.len() - 1]).sum()",
    "grown": "let mut v = Vec::new(); for a in s(x, n) { v.push(a * a); v.push(a.exp()); } v.swap(0, 3); v.rotate_left(1); v.iter().zip(1..).map(|(a, k)| a * k as f64).sum()",
    "mixed": "let mut v: Vec<Mix> = s(x, n).iter().zip(0..).map(|(a, i)| Mix { i, f: *a as f32 }).collect(); v.swap(0, 1); v.reverse(); v.iter().map(|m| (m.f * m.f) as f64 * (m.i + 1) as f64).sum()",
    "enums": "let mut v = START.to_vec(); for (i, a) in s(x, n).iter().enumerate() { v.push(match i % 3 { 0 => Shape::Round(*a), 1 => Shape::Flat { w: *a as f32, h: 2.0 }, _ => Shape::Nothing }); } v.swap(1, 4); v.iter().zip(1..).map(|(e, k)| area(e) * k as f64).sum()",
    "returned": "let x = s(x, n); let (a, b, c) = pair(x[0], x[1] as f32); let r = record(x[2]); a + b as f64 + if c { r[1] * r[3] } else { r[0] } + maybe(x[3]).unwrap_or(x[0]) * maybe(-1.0).map_or(2.0, |v| v)",
    "recursive": "s(x, n).iter().map(|a| fall(*a, 4)).product()",
    "dynamic": "let x = s(x, n); let v: Vec<Box<dyn Act>> = vec![Box::new(Scale(x[0])), Box::new(Shift(x[1])), Box::new(Scale(x[2]))]; v.iter().fold(x[3], |t, a| a.act(t))",
    "captured": "let x = s(x, n); let mut t = x[0]; let mut push = |v: f64| { t = t * v + x[1]; t }; let f: fn(f64) -> f64 = f64::tanh; push(x[2]) + push(f(x[3])) + x.iter().map(|v| f(*v)).sum::<f64>()",
    "nested": "let x = s(x, n); let mut m = [[0.0; 3]; 3]; for i in 0..3 { for j in 0..3 { m[i][j] = x[(i + j) % n] * (i + 1) as f64; } } let t = m; m[0] = t[2]; m[1][2] *= t[0][1]; m.iter().flatten().zip(1..).map(|(v, k)| v * k as f64).sum()",
    "words": "let x = s(x, n); let mut w = [0u64; 4]; for i in 0..4 { w[3 - i] = x[i].to_bits(); } let neg = f64::from_bits(w[0] ^ 1 << 63); let [a, b]: [f32; 2] = unsafe { std::mem::transmute([x[0] as f32, x[1] as f32]) }; neg * f64::from_bits(w[2]) + (a * b) as f64",
}
"""Bodies of blocks about the slice `s(x, n)`."""

POINT = [0.75, -0.375, 1.25, 0.5]
SEEDS = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.5, 0.0], [-0.25, 0.0, 0.0, 2.0]]
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
Batch = tuple[float, list[float]]


BARE = ("iterated", "windows", "returned", "recursive", "captured", "nested", "words")
"""Those that need no code of the standard library's beyond generic functions of their own types."""

PLAIN = ("-Copt-level=2", "-Cno-prepopulate-passes", "-Cdebug-assertions=on")
"""As `-O0`, but with the functions of `Vec`, which `-O0` links from the standard library's binary."""


class Derivatives:
    """Some of the functions compiled with their derivatives of one and three lanes."""

    def __init__(self, names: Sequence[str], flags: tuple[str, ...], *, prepared: bool) -> None:
        functions = [
            f'#[unsafe(no_mangle)] unsafe extern "C" fn {name}(x: *const f64, n: usize, out: *mut f64) {{ *out = {{ {body} }} }}'
            for name, body in BODIES.items()
            if name in names
        ]
        text = rust_ir("\n".join([HEADER, *functions]), (*flags, "-Cpanic=abort"))
        for name in names:
            for width in (1, 3):
                wanted = Wanted(name, f"d{width}{name}", "forward", ("Dual", "Const", "Dual"), "None", width)
                text, _ = with_entry(text, wanted)
        done = differentiate_module(text_before_ad(text) if prepared else canonical(text))
        assert done.errors == [], [str(e) for e in done.errors]
        exports = [f"d{width}{name}" for name in names for width in (1, 3)]
        self.jit = Jit(text_after_ad(done.text), exports=[*names, *exports], libraries=rust_libraries())

    def value(self, name: str, x: list[float]) -> float:
        """The primal."""
        out = _array([math.nan])
        self.jit.function(name, None, POINTER, SIZE, POINTER)(_array(x), len(x), out)
        return out[0]

    def tangents(self, name: str, seeds: list[list[float]]) -> Batch:
        """The value and the tangents, from one call of this width."""
        width = len(seeds)
        outs = [_array([0.0]) for _ in range(width + 1)]
        pointers = [POINTER] * (width + 1)
        call = self.jit.function(f"d{width}{name}", None, *pointers, SIZE, *pointers)
        call(_array(POINT), *map(_array, seeds), len(POINT), *outs)
        return outs[0][0], [out[0] for out in outs[1:]]


def _array(values: list[float]) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * len(values))(*values)


@lru_cache(maxsize=1)
def optimised() -> Derivatives:
    return Derivatives(tuple(BODIES), AD_FLAGS, prepared=True)


@lru_cache(maxsize=2)
def untouched(bare: bool) -> Derivatives:
    """What no pass of LLVM's has seen before differentiation: every variable is memory."""
    if bare:
        return Derivatives(BARE, UNOPTIMISED, prepared=False)
    return Derivatives([name for name in BODIES if name not in BARE], PLAIN, prepared=False)


def slope(name: str, seed: list[float]) -> float:
    """Differences of fourth order; singles round, so that the step is large."""
    h = 1e-2
    at = [
        optimised().value(name, [x + k * h * s for x, s in zip(POINT, seed, strict=True)])
        for k in (-2, -1, 1, 2)
    ]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


@pytest.mark.parametrize("name", BODIES)
def test_unoptimised_input_gives_the_same(name: str) -> None:
    value, tangents = optimised().tangents(name, SEEDS)
    for seed, tangent in zip(SEEDS, tangents, strict=True):
        assert tangent == pytest.approx(slope(name, seed), rel=1e-3, abs=1e-3)
        assert optimised().tangents(name, [seed]) == (value, [tangent])
    other = untouched(name in BARE)
    found, lanes = other.tangents(name, SEEDS)
    assert found == pytest.approx(value, rel=1e-13)
    assert lanes == pytest.approx(tangents, rel=2e-7 if "f32" in BODIES[name] else 1e-12, abs=1e-14)
    assert [other.tangents(name, [seed])[1][0] for seed in SEEDS] == lanes
