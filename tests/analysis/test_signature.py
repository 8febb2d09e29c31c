"""Signatures: a table of 80 cases, the order of several annotations, and what rustc generates after an error."""

from __future__ import annotations

import pytest

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.signature import (
    Role,
    derivative_signature,
    expanded_derivatives,
    expansion_order,
    primal_signature,
)

# attribute, function, generated function, what the function stands in
TABLE = [
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64) -> (f64, f64)",
        "",
    ),
    ("#[autodiff_forward(df, Dual, DualOnly)]", "fn f(t: f64) -> f64", "fn df(t: f64, bt_0: f64) -> f64", ""),
    ("#[autodiff_forward(df, Dual, Const)]", "fn f(t: f64) -> f64", "fn df(t: f64, bt_0: f64) -> f64", ""),
    (
        "#[autodiff_forward(df, Const, Dual, Dual)]",
        "fn f(k: i32, t: f32) -> f32",
        "fn df(k: i32, t: f32, bt_0: f32) -> (f32, f32)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual, Dual)]",
        "fn f(u: f64, v: f64) -> f64",
        "fn df(u: f64, bu_0: f64, v: f64, bv_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(u: &[f64], out: &mut [f64])",
        "fn df(u: &[f64], bu_0: &[f64], out: &mut [f64], bout_0: &mut [f64]) -> ()",
        "",
    ),
    ("#[autodiff_forward(df, Const)]", "fn f(t: f32) -> ()", "fn df(t: f32) -> ()", ""),
    ("#[autodiff_forward(df)]", "fn f()", "fn df() -> ()", ""),
    ("#[autodiff_forward(df, Const)]", "fn f() -> Opaque", "fn df() -> Opaque", ""),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(w: &[f64; 3]) -> f64",
        "fn df(w: &[f64; 3], bw_0: &[f64; 3]) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(w: [f64; 3]) -> f64",
        "fn df(w: [f64; 3], bw_0: [f64; 3]) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(p: Point) -> f64",
        "fn df(p: Point, bp_0: Point) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(p: (f32, f32)) -> f32",
        "fn df(p: (f32, f32), bp_0: (f32, f32)) -> (f32, f32)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(b: &Box<f64>) -> f64",
        "fn df(b: &Box<f64>, bb_0: &Box<f64>) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(v: &Vec<f64>) -> f64",
        "fn df(v: &Vec<f64>, bv_0: &Vec<f64>) -> (f64, f64)",
        "",
    ),
    ("#[autodiff_forward(df, Dual)]", "fn f(q: *mut f64)", "fn df(q: *mut f64, bq_0: *mut f64) -> ()", ""),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(q: *const f64) -> f64",
        "fn df(q: *const f64, bq_0: *const f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, DualOnly, Dual)]",
        "fn f(u: &f64, out: &mut f64)",
        "unsafe fn df(u: &f64, bu_0: &f64, out: &mut f64, bout_0: &mut f64) -> ()",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, DualOnly)]",
        "fn f(w: &[f64; 2]) -> (f64, f64)",
        "fn df(w: &[f64; 2], bw_0: &[f64; 2]) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(t: f64) -> Real",
        "fn df(t: f64, bt_0: f64) -> (Real, Real)",
        "",
    ),
    (
        "#[autodiff_forward(df, 1, Dual, Dual)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, 2, Dual, Dual)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64, bt_1: f64) -> [f64; 3]",
        "",
    ),
    (
        "#[autodiff_forward(df, 2, Dual, DualOnly)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64, bt_1: f64) -> [f64; 2]",
        "",
    ),
    (
        "#[autodiff_forward(df, 3, Dual, Const, Dual)]",
        "fn f(w: &[f32], k: f32) -> f32",
        "fn df(w: &[f32], bw_0: &[f32], bw_1: &[f32], bw_2: &[f32], k: f32) -> [f32; 4]",
        "",
    ),
    (
        "#[autodiff_forward(df, 2, Dual, Dual)]",
        "fn f(u: &[f64], out: &mut [f64])",
        "fn df(u: &[f64], bu_0: &[f64], bu_1: &[f64], out: &mut [f64], bout_0: &mut [f64], bout_1: &mut [f64]) -> ()",
        "",
    ),
    (
        "#[autodiff_forward(df, 4, Dualv, Dualv)]",
        "fn f(u: &[f64], out: &mut [f64])",
        "fn df(u: &[f64], bu_0: &[f64], out: &mut [f64], bout_0: &mut [f64]) -> ()",
        "",
    ),
    (
        "#[autodiff_forward(df, 2, Dualv, Const, Dual)]",
        "fn f(u: &[f64], k: f64) -> f64",
        "fn df(u: &[f64], bu_0: &[f64], k: f64) -> [f64; 3]",
        "",
    ),
    (
        "#[autodiff_forward(df, 4, Dual, Dualv)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64, bt_1: f64, bt_2: f64, bt_3: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, 4, Dual, DualvOnly)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64, bt_1: f64, bt_2: f64, bt_3: f64) -> [f64; 4]",
        "",
    ),
    (
        "#[autodiff_forward(df, 4, DualvOnly)]",
        "fn f(out: &mut [f64])",
        "fn df(out: &mut [f64], bout_0: &mut [f64]) -> ()",
        "",
    ),
    (
        "#[autodiff_forward(df, 3, Dual, Const)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, bt_0: f64, bt_1: f64, bt_2: f64) -> f64",
        "",
    ),
    ("#[autodiff_forward(df, 0, Dual, Dual)]", "fn f(t: f64) -> f64", "fn df(t: f64) -> [f64; 1]", ""),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, dret: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active, Active)]",
        "fn f(u: f32, v: f32) -> f64",
        "fn df(u: f32, v: f32, dret: f64) -> (f64, f32, f32)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, ActiveOnly)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active, ActiveOnly)]",
        "fn f(u: f64, v: f64) -> f64",
        "fn df(u: f64, v: f64, dret: f64) -> (f64, f64)",
        "",
    ),
    ("#[autodiff_reverse(df, Active, Const)]", "fn f(t: f64) -> f64", "fn df(t: f64) -> (f64, f64)", ""),
    ("#[autodiff_reverse(df, Const, Const)]", "fn f(t: f64) -> f64", "fn df(t: f64) -> f64", ""),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(w: &[f64]) -> f64",
        "fn df(w: &[f64], dw_0: &mut [f64], dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, ActiveOnly)]",
        "fn f(w: &[f64]) -> f64",
        "fn df(w: &[f64], dw_0: &mut [f64], dret: f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Const)]",
        "fn f(w: &f64) -> f64",
        "fn df(w: &f64, dw_0: &mut f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Duplicated)]",
        "fn f(w: &[f64; 4], out: &mut f64)",
        "fn df(w: &[f64; 4], dw_0: &mut [f64; 4], out: &mut f64, dout_0: &mut f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Duplicated)]",
        "fn f(t: f64, out: &mut f64)",
        "fn df(t: f64, out: &mut f64, dout_0: &mut f64) -> f64",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Active, Active, Duplicated)]",
        "fn f(u: f64, v: f64, out: &mut f64)",
        "fn df(u: f64, v: f64, out: &mut f64, dout_0: &mut f64) -> (f64, f64)",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Active, Duplicated)]",
        "fn f(t: f64, out: &mut f64) -> ()",
        "fn df(t: f64, out: &mut f64, dout_0: &mut f64) -> ((), f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active, Active)]",
        "fn f(w: &[f32], t: f32) -> f32",
        "fn df(w: &[f32], dw_0: &mut [f32], t: f32, dret: f32) -> (f32, f32)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(q: *const f32) -> f32",
        "fn df(q: *const f32, dq_0: *mut f32, dret: f32) -> f32",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(q: *mut f32) -> f32",
        "fn df(q: *mut f32, dq_0: *mut f32, dret: f32) -> f32",
        "",
    ),
    (
        "#[autodiff_reverse(df, DuplicatedOnly, Duplicated)]",
        "fn f(w: &mut [f64], out: &mut f64)",
        "unsafe fn df(w: &mut [f64], dw_0: &mut [f64], out: &mut f64, dout_0: &mut f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(v: &Vec<f64>) -> f64",
        "fn df(v: &Vec<f64>, dv_0: &mut Vec<f64>, dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(b: &Box<f32>) -> f32",
        "fn df(b: &Box<f32>, db_0: &mut Box<f32>, dret: f32) -> f32",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(m: &[[f64; 3]; 3]) -> f64",
        "fn df(m: &[[f64; 3]; 3], dm_0: &mut [[f64; 3]; 3], dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(m: &[&[f64]]) -> f64",
        "fn df(m: &[&[f64]], dm_0: &mut [&[f64]], dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, Const, Active, Active)]",
        "fn f(g: fn(f32) -> f32, t: f32) -> f32",
        "fn df(g: fn(f32) -> f32, t: f32, dret: f32) -> (f32, f32)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        "fn f(t: f64) -> (f64, f64)",
        "fn df(t: f64, dret: (f64, f64)) -> ((f64, f64), f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        "fn f(t: f64) -> Wrapper",
        "fn df(t: f64, dret: Wrapper) -> (Wrapper, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, ActiveOnly, Active)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, 2, Duplicated, Const, Duplicated)]",
        "fn f(w: &[f64; 3], k: &[f64; 3], out: &mut [f64; 2])",
        "fn df(w: &[f64; 3], dw_0: &mut [f64; 3], dw_1: &mut [f64; 3], k: &[f64; 3], out: &mut [f64; 2], dout_0: &mut [f64; 2], dout_1: &mut [f64; 2])",
        "",
    ),
    (
        "#[autodiff_reverse(df, 2, Duplicated, Active)]",
        "fn f(w: &[f64]) -> f64",
        "fn df(w: &[f64], dw_0: &mut [f64], dw_1: &mut [f64], dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_reverse(df, 2, Active, Active)]",
        "fn f(t: f64) -> f64",
        "fn df(t: f64, dret: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Const, Active, Active)]",
        "fn f(&self, t: f64) -> f64",
        "fn df(&self, t: f64, dret: f64) -> (f64, f64)",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Const, Active)]",
        "fn f(&self, t: f64) -> f64",
        "fn df(&self, dself_0: &mut Self, t: f64, dret: f64) -> f64",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Duplicated)]",
        "fn f(&mut self, out: &mut f64)",
        "fn df(&mut self, dself_0: &mut Self, out: &mut f64, dout_0: &mut f64)",
        "impl",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual, Dual)]",
        "fn f(&self, t: f64) -> f64",
        "fn df(&self, bself_0: &Self, t: f64, bt_0: f64) -> (f64, f64)",
        "impl",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(self) -> f64",
        "fn df(self, bself_0: Self) -> (f64, f64)",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f(self: &Model) -> f64",
        "fn df(self: &Model, dself_0: &mut Model, dret: f64) -> f64",
        "impl",
    ),
    (
        "#[autodiff_reverse(df, Const, Active, Active)]",
        "fn f(&self, t: f64) -> f64",
        "fn df(&self, t: f64, dret: f64) -> (f64, f64)",
        "trait",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f<T: Copy + std::ops::Mul<Output = T>>(x: &T) -> T",
        "fn df<T: Copy + std::ops::Mul<Output = T>>(x: &T, dx_0: &mut T, dret: T) -> T",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f<T, const N: usize>(x: &[T; N]) -> T where T: Copy",
        "fn df<T, const N: usize>(x: &[T; N], dx_0: &mut [T; N], dret: T) -> T where T: Copy",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "fn f<'a>(x: &'a f64) -> f64",
        "fn df<'a>(x: &'a f64, dx_0: &'a mut f64, dret: f64) -> f64",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f<'a>(x: &'a [f64]) -> f64",
        "fn df<'a>(x: &'a [f64], bx_0: &'a [f64]) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        'pub extern "C" fn f(t: f64) -> f64',
        'pub extern "C" fn df(t: f64, dret: f64) -> (f64, f64)',
        "",
    ),
    (
        "#[autodiff_reverse(df, DuplicatedOnly)]",
        'extern "C" fn f(w: &mut f64)',
        'unsafe extern "C" fn df(w: &mut f64, dw_0: &mut f64)',
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        "unsafe fn f(t: f64) -> f64",
        "unsafe fn df(t: f64, dret: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "const fn f(t: f64) -> f64",
        "const fn df(t: f64, bt_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Active, Active)]",
        "fn f(mut t: f64) -> f64",
        "fn df(mut t: f64, dret: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(mut t: f64) -> f64",
        "fn df(mut t: f64, bt_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(r#type: f64) -> f64",
        "fn df(r#type: f64, btype_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_forward(df, Dual, Dual)]",
        "fn f(_t: f64) -> f64",
        "fn df(_t: f64, b_t_0: f64) -> (f64, f64)",
        "",
    ),
    (
        "#[autodiff_reverse(df, Duplicated, Active)]",
        "pub(crate) fn f(w: &[f64]) -> f64",
        "pub(crate) fn df(w: &[f64], dw_0: &mut [f64], dret: f64) -> f64",
        "",
    ),
]


@pytest.mark.parametrize(("attribute", "function", "expected", "container"), TABLE)
def test_table(attribute: str, function: str, expected: str, container: str) -> None:
    body = ";" if container == "trait" else " { loop {} }"
    text = f"{attribute}\n{function}{body}\n"
    if container:
        text = f"{'impl' if container == 'impl' else 'trait'} Model {{\n{text}}}\n"
    (found,) = analyse(text).functions
    assert derivative_signature(found, found.annotations[0]).text == expected


SEVERAL = """
#[autodiff_reverse(g_rev, Duplicated, Const, Active)]
#[autodiff_forward(g_fx, Dual, Const, Const)]
#[inline]
#[autodiff_forward(g_fy, Const, Dual, Const)]
pub fn g(x: &[f64], y: f64) -> f64 {
    #[autodiff_forward(inner, Dual, Dual)]
    fn h(x: f64) -> f64 { x }
    h(y)
}
#[autodiff_forward(last, Dual, Dual)]
fn k(x: f64) -> f64 { x }
"""


def test_several_annotations_are_expanded_bottom_to_top() -> None:
    function = analyse(SEVERAL).functions[0]
    assert [derivative_signature(function, a).text for a in expansion_order(function)] == [
        "pub fn g_fy(x: &[f64], y: f64, by_0: f64) -> f64",
        "pub fn g_fx(x: &[f64], bx_0: &[f64], y: f64) -> f64",
        "pub fn g_rev(x: &[f64], dx_0: &mut [f64], y: f64, dret: f64) -> f64",
    ]


def test_order_in_a_file() -> None:
    names = [a.name for _, a in expanded_derivatives(analyse(SEVERAL).functions)]
    assert names == ["inner", "g_fy", "g_fx", "g_rev", "last"]


def test_roles_lanes_and_owners() -> None:
    text = "#[autodiff_forward(df, 2, Dual, Dualv, Dual)] fn f(x: f64, v: &[f64]) -> f64 { x }"
    (function,) = analyse(text).functions
    signature = derivative_signature(function, function.annotations[0])
    assert [(p.name, p.role, p.lane, p.primal) for p in signature.parameters] == [
        ("x", Role.PRIMAL, None, 0),
        ("bx_0", Role.SHADOW, 0, 0),
        ("bx_1", Role.SHADOW, 1, 0),
        ("v", Role.PRIMAL, None, 1),
        ("bv_0", Role.SHADOW, None, 1),
    ]
    assert signature.returns_primal
    assert signature.tangent_lanes == 2


def test_seed_and_gradients() -> None:
    text = (
        "#[autodiff_reverse(df, Active, Const, Active, ActiveOnly)] fn f(a: f64, n: u8, b: f32) -> f64 { a }"
    )
    (function,) = analyse(text).functions
    signature = derivative_signature(function, function.annotations[0])
    assert signature.parameters[-1].role is Role.SEED
    assert signature.gradients == (0, 2)
    assert signature.return_type == "(f64, f32)"
    assert not signature.returns_primal


def test_half_typed_annotations_have_a_signature() -> None:
    (function,) = analyse("#[autodiff_reverse(df, Dup)] fn f(x: &f64, y: f64) -> f64 { *x }").functions
    assert derivative_signature(function, function.annotations[0]).text == "fn df(x: &f64, y: f64) -> f64"


def test_a_wrong_count_leaves_the_primals_signature() -> None:
    (function,) = analyse("#[autodiff_forward(df, Dual)] pub fn f(x: f64) -> f64 { x }").functions
    assert primal_signature(function, "df") == "pub fn df(x: f64) -> f64"
    assert primal_signature(function) == "pub fn f(x: f64) -> f64"


def test_a_huge_width_is_not_printed_in_full() -> None:
    (function,) = analyse(
        "#[autodiff_forward(df, 4000000000, Dual, Dual)] fn f(x: f64) -> f64 { x }"
    ).functions
    assert len(derivative_signature(function, function.annotations[0]).parameters) < 5000
