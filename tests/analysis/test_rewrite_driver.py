"""Drivers: inputs, their defaults, and what a driver prints.

The derivative compiler stands aside: markers are replaced by finite differences in Rust, for arguments that
are floats or slices of floats.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.analysis.rewrite import NoDriver, driver

needs_rustc = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")

MARKERS = """
mod markers {
    type Thunk = unsafe extern "C-unwind" fn(*const u8, *mut u8);
    const H: f64 = 0.0009765625;

    struct Call { active: Vec<bool>, table: *const usize, thunk: Thunk, args: *const u8, size_r: usize }

    unsafe fn call(
        request: *const u8, thunk: *const (), table: *const usize, args: *const u8,
    ) -> Call { unsafe {
        let text = std::ffi::CStr::from_ptr(request.cast()).to_str().unwrap();
        let list = text.split("\\"activities\\": [").nth(1).unwrap().split(']').next().unwrap();
        let active = list.split(", ").map(|a| !a.contains("Const")).collect();
        Call { active, table, thunk: std::mem::transmute(thunk), args, size_r: *table.add(2) }
    } }

    impl Call {
        fn size_a(&self) -> usize { unsafe { *self.table.add(1) } }

        /// Places of the floats behind active argument `i`, in the primal and in a shadow.
        unsafe fn floats(&self, i: usize, shadow: *mut u8) -> Vec<(*mut f64, *mut f64)> { unsafe {
            if i >= self.active.len() || !self.active[i] { return vec![]; }
            let (offset, size) = (*self.table.add(3 + 2 * i), *self.table.add(4 + 2 * i));
            let (p, s) = (self.args.add(offset), shadow.add(offset));
            if size == 8 { return vec![(p as *mut f64, s as *mut f64)]; }
            let (p, s) = (p as *const *mut f64, s as *const *mut f64);
            let (p, s, n) = (*p, *s, *(p as *const usize).add(1));
            (0..n).map(|k| (p.add(k), s.add(k))).collect()
        } }

        unsafe fn all(&self, shadow: *mut u8) -> Vec<(*mut f64, *mut f64)> { unsafe {
            (0..self.active.len()).flat_map(|i| self.floats(i, shadow)).collect()
        } }

        unsafe fn value(&self, result: *mut u8) -> Vec<f64> { unsafe {
            (self.thunk)(self.args, result);
            (0..self.size_r / 8).map(|k| *(result as *const f64).add(k)).collect()
        } }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn __ferrodiff_forward(
        request: *const u8, thunk: *const (), table: *const usize, args: *const u8, dargs: *mut u8,
        result: *mut u8, dresult: *mut u8,
    ) { unsafe {
        let call = call(request, thunk, table, args);
        let text = std::ffi::CStr::from_ptr(request.cast()).to_str().unwrap();
        let width = text.split("\\"width\\": ").nth(1).unwrap().split(',').next().unwrap();
        let width: usize = width.parse().unwrap();
        for lane in 0..width {
            let pairs = call.all(dargs.add(lane * call.size_a()));
            for (p, t) in &pairs { **p += H * **t; }
            let up = call.value(result);
            for (p, t) in &pairs { **p -= 2.0 * H * **t; }
            let down = call.value(result);
            for (p, t) in &pairs { **p += H * **t; }
            for k in 0..up.len() {
                *(dresult.add(lane * call.size_r) as *mut f64).add(k) = (up[k] - down[k]) / (2.0 * H);
            }
        }
        call.value(result);
    } }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn __ferrodiff_reverse(
        request: *const u8, thunk: *const (), table: *const usize, args: *const u8, dargs: *mut u8,
        result: *mut u8, dresult: *mut u8,
    ) { unsafe {
        let call = call(request, thunk, table, args);
        for (p, g) in call.all(dargs) {
            *p += H;
            let up = call.value(result);
            *p -= 2.0 * H;
            let down = call.value(result);
            *p += H;
            for k in 0..up.len() { *g += (up[k] - down[k]) / (2.0 * H) * *(dresult as *const f64).add(k); }
        }
        call.value(result);
    } }
}
"""

PROGRAM = """\
#![feature(autodiff)]
use std::autodiff::*;

// ferrodiff: x = [1, 2], k = 3
#[autodiff_forward(scaled_jvp, Dual, Dual, Dual)]
#[autodiff_forward(scaled_jvp3, 3, Dual, Dual, DualOnly)]
#[autodiff_reverse(scaled_vjp, Duplicated, Active, Active)]
fn scaled(x: &[f64], k: f64) -> f64 {
    k * x.iter().map(|v| v * v).sum::<f64>()
}

pub mod inner {
    #[derive(Clone, Copy)]
    pub struct Plain {
        pub scale: f64,
    }

    impl Plain {
        #[std::autodiff::autodiff_forward(times_jvp, Const, Dual, Dual)]
        fn times(&self, x: f64) -> f64 {
            self.scale * x * x
        }
    }

    pub trait Free {
        #[std::autodiff::autodiff_forward(free_jvp, Dual, Dual)]
        fn free(x: f64) -> f64 {
            x
        }
    }
}

#[autodiff_reverse(pair_vjp, Active, Const, Active, ActiveOnly)]
fn pair(x: f64, n: usize, y: f64) -> f64 {
    x * y * n as f64
}

fn main() {
    panic!("the user's main is not run");
}
"""


def run(folder: Path, derivative: str, **inputs: str) -> list[dict[str, object]]:
    """What a driver prints, as dictionaries."""
    source = folder / "driver.rs"
    source.write_text(driver(PROGRAM, derivative, inputs).text + MARKERS, "utf-8")
    command = ["rustc", "--edition", "2021", "-o", str(folder / "driver"), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr[:3000]
    assert "warning" not in built.stderr
    done = subprocess.run([str(folder / "driver")], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def outputs(lines: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [tuple(line.values()) for line in lines if line["role"] != "input"]


@needs_rustc
def test_forward_driver(tmp_path: Path) -> None:
    lines = run(tmp_path, "scaled_jvp")
    assert [tuple(line.values()) for line in lines] == [
        ("x", "input", 0, "[1.0, 2.0]"),
        ("bx_0", "input", 0, "[1.0, 0.0]"),
        ("k", "input", 0, "3.0"),
        ("bk_0", "input", 0, "0.0"),
        ("return", "primal", 0, "15.0"),
        ("return", "tangent", 0, "6.0"),
    ]


@needs_rustc
def test_lanes_of_a_driver(tmp_path: Path) -> None:
    lines = run(tmp_path, "scaled_jvp3", x="vec![1.0, 4.0]", bk_0="0.0")
    tangents = [
        ("return", "tangent", 0, "6.0"),
        ("return", "tangent", 1, "24.0"),
        ("return", "tangent", 2, "17.0"),
    ]
    assert outputs(lines) == tangents


@needs_rustc
def test_reverse_driver(tmp_path: Path) -> None:
    assert outputs(run(tmp_path, "scaled_vjp", dret="0.5")) == [
        ("dx_0", "gradient", 0, "[3.0, 6.0]"),
        ("return", "primal", 0, "15.0"),
        ("k", "gradient", 0, "2.5"),
    ]
    assert outputs(run(tmp_path, "pair_vjp", x="2", y="5")) == [
        ("x", "gradient", 0, "10.0"),
        ("y", "gradient", 0, "4.0"),
    ]


@needs_rustc
def test_driver_of_a_method(tmp_path: Path) -> None:
    lines = run(tmp_path, "Plain::times_jvp", self="Plain { scale: 2.0 }", x="3.0")
    assert tuple(lines[0].values()) == ("self", "input", 0, "Plain { scale: 2.0 }")
    assert outputs(lines) == [("return", "primal", 0, "18.0"), ("return", "tangent", 0, "12.0")]


def test_inputs_say_where_they_come_from() -> None:
    made = driver(PROGRAM, "scaled_jvp", {"k": "2.0"})
    assert [(entry.name, entry.origin) for entry in made.inputs] == [
        ("x", "file"),
        ("bx_0", "sample"),
        ("k", "given"),
        ("bk_0", "sample"),
    ]
    assert made.inputs[0].expression == "[1, 2]"
    assert made.derivative.signature.startswith("fn scaled_jvp(")


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("missing", {}, "no derivative is called `missing`"),
        ("scaled_jvp", {"z": "1.0"}, "has no parameter `z`"),
        ("free_jvp", {}, "has no receiver"),
    ],
)
def test_drivers_that_cannot_be(name: str, inputs: dict[str, str], message: str) -> None:
    with pytest.raises(NoDriver, match=message):
        driver(PROGRAM, name, inputs)


def test_user_lines_stay() -> None:
    text = driver(PROGRAM, "pair_vjp").text
    before = PROGRAM.splitlines()
    after = text.splitlines()[: len(before)]
    changed = [i + 1 for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert changed == [1, 2, 5, 6, 7, 19, 26, 33, 38]


NESTED = """
use std::autodiff::*;
#[autodiff_reverse(rows_vjp, Duplicated, Active)]
fn rows(m: &[[f64; 2]]) -> f64 { m[0][1] }
#[autodiff_reverse(ragged_vjp, Duplicated, Active)]
fn ragged(m: &Vec<Vec<f64>>) -> f64 { m[0][1] }
#[autodiff_forward(slices_jvp, Dual, Dual)]
fn slices(m: &[&[f64]]) -> f64 { m[0][1] }
#[autodiff_reverse(applied_vjp, Const, Active, Active)]
fn applied<F>(f: &F, x: f64) -> f64 where F: Fn(f64) -> f64 { f(x) }
"""


def test_shadows_of_nested_lists_take_the_primals_shape() -> None:
    text = driver(NESTED, "ragged_vjp", {"m": "vec![vec![1.0], vec![2.0, 3.0]]"}).text
    inner = "__fd_e0.iter().map(|__fd_e1| __fd_zero.next()).collect::<Vec<_>>()"
    assert f"__fd_in_0.iter().map(|__fd_e0| {inner}).collect::<Vec<_>>()" in text
    text = driver(NESTED, "rows_vjp").text
    pair = "[__fd_zero.next(), __fd_zero.next()]"
    assert f"__fd_in_0.iter().map(|__fd_e0| {pair}).collect::<Vec<_>>()" in text


def test_slices_in_a_sample_are_slices() -> None:
    assert driver(NESTED, "slices_jvp").inputs[0].expression.startswith("&[&[0.5, 1.25, 0.75][..], &[")


def test_a_closure_has_no_sample() -> None:
    with pytest.raises(NoDriver, match="its type `&F` is that of a function or closure"):
        driver(NESTED, "applied_vjp")


SHAPES = """\
struct Part { list: Vec<f64>, pair: (f64, [Vec<f64>; 2]), maybe: Option<f64>, boxed: Box<[f64]> }
struct Whole<'a> { parts: Vec<Part>, name: &'a str }
enum Kind { A(f64), B(Vec<f64>) }
#[autodiff_reverse(d_part, Duplicated, Active)]
fn part(p: &Part) -> f64 { p.list[0] }
#[autodiff_reverse(d_whole, Duplicated, Active)]
fn whole(w: &Whole) -> f64 { 0.0 }
#[autodiff_reverse(d_kind, Duplicated, Active)]
fn kind(k: &Kind) -> f64 { 0.0 }
"""


def test_the_shadow_of_a_given_struct_has_its_shape() -> None:
    text = driver(SHAPES, "d_part", {"p": "make()"}).text
    zero = "__fd_zero.next()"
    assert (
        f"Part {{ list: __fd_in_0.list.iter().map(|__fd_e1| {zero}).collect::<Vec<_>>(), "
        f"pair: ({zero}, ::core::array::from_fn(|__fd_e2| "
        f"__fd_in_0.pair.1[__fd_e2].iter().map(|__fd_e3| {zero}).collect::<Vec<_>>()), ), "
        f"maybe: __fd_in_0.maybe.as_ref().map(|__fd_e1| {zero}), "
        f"boxed: __fd_in_0.boxed.iter().map(|__fd_e2| {zero}).collect::<Vec<_>>().into_boxed_slice() }}"
    ) in text


@pytest.mark.parametrize(("derivative", "name"), [("d_whole", "w"), ("d_kind", "k")])
def test_a_shadow_whose_shape_is_not_known_has_to_be_given(derivative: str, name: str) -> None:
    with pytest.raises(NoDriver, match=f"no value for `d{name}_0`: its primal was given") as caught:
        driver(SHAPES, derivative, {name: "make()"})
    assert caught.value.help == f"give one with `--arg d{name}_0=<Rust expression>`"
