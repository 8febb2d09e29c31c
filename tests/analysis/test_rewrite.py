"""What rewriting keeps, removes and adds, as text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.analysis.rewrite import rewrite

SIMPLE = """\
#![feature(autodiff)]
use std::autodiff::autodiff_forward;

// before
#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 {
    x * x
}

fn main() {
    println!("{:?}", df(1.0, 1.0)); // after
}
"""


def user_lines(text: str) -> list[str]:
    """The lines before the helper module."""
    return text.split("#[doc(hidden)]")[0].splitlines()


def test_lines_stay_where_they_are() -> None:
    before, after = SIMPLE.splitlines(), user_lines(rewrite(SIMPLE).text)
    assert len(after) == len(before)
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert changed == [0, 1, 4]
    assert after[:2] == ["", ""]
    assert re.search(r"fn df\(x: f64, bx_0: f64\) -> \(f64, f64\) \{.*#\[inline\(never\)\]$", after[4])


def test_text_without_autodiff_is_returned_as_it_is() -> None:
    for text in ["", "fn main() {}", "\ufeff// \r\n\tfn f(", "// autodiff is only mentioned\r\nfn f() {}"]:
        assert rewrite(text).text == text


def test_derivatives_are_listed_by_line() -> None:
    text = (
        "\n"
        "#[autodiff_forward(a, 4, Dual, DualOnly)]\n"
        "#[autodiff_reverse(b, Active, Active)]\n"
        "fn f(x: f32) -> f32 { x }\n"
    )
    first, second = rewrite("use std::autodiff::*;" + text).derivatives
    assert (first.function, first.derivative, first.mode, first.width, first.line) == (
        "f",
        "a",
        "forward",
        4,
        2,
    )
    assert first.signature == "fn a(x: f32, bx_0: f32, bx_1: f32, bx_2: f32, bx_3: f32) -> [f32; 4]"
    assert (second.derivative, second.mode, second.line) == ("b", "reverse", 3)


def request_of(text: str) -> dict[str, object]:
    found = re.search(r'"(\{\\"derivative.*?\})\\0"', text)
    assert found
    request = json.loads(found.group(1).replace('\\"', '"').replace("\\\\", "\\"))
    assert isinstance(request, dict)
    return request


def test_request_says_what_is_differentiated() -> None:
    text = (
        "use std::autodiff::*;\n\n  #[autodiff_reverse(g, 2, Duplicated, Const, Active)]\n"
        "fn f(x: &[f64], r#type: i32) -> f64 { 0.0 }\n"
    )
    assert request_of(rewrite(text, path='a "b".rs').text) == {
        "derivative": "g",
        "function": "f",
        "mode": "reverse",
        "width": 2,
        "activities": ["Duplicated", "Const"],
        "ret": "Active",
        "params": ["x", "type"],
        "file": 'a "b".rs',
        "line": 3,
        "column": 5,
    }


@pytest.mark.parametrize(
    ("activity", "result", "in_request"),
    [
        ("Const", "f64", "Dual"),
        ("Const", "(f32, [f64; 3])", "Dual"),
        ("Const", "Real", "Dual"),
        ("Const", "T", "Dual"),
        ("Const", "usize", "Const"),
        ("Const", "(f64, usize)", "Const"),
        ("DualvOnly", "f64", "DualOnly"),
    ],
)
def test_forward_return_activities(activity: str, result: str, in_request: str) -> None:
    text = (
        "use std::autodiff::*; type Real = f64;\n"
        f"#[autodiff_forward(df, Dual, {activity})]\nfn f<T: Copy>(x: &T) -> {result} {{ loop {{}} }}\n"
    )
    assert request_of(rewrite(text).text)["ret"] == in_request


def test_split_lanes_reach_the_core_as_lanes() -> None:
    text = (
        "use std::autodiff::*;\n"
        "#[autodiff_forward(df, 3, Dualv, DualvOnly)]\n"
        "fn f(x: &[f64], y: &mut [f64]) {}\n"
    )
    result = rewrite(text).text
    assert request_of(result)["activities"] == ["Dual", "DualOnly"]
    assert result.count("__fd_call.split::") == 6


def test_flags_and_texts_are_constant_for_the_core_and_integers_are_not() -> None:
    text = (
        "use std::autodiff::*;\n#[autodiff_reverse(df, Active, Duplicated, Duplicated, Duplicated, Active)]\n"
        "fn f(b: bool, t: &mut [[char; 3]], s: &&str, bits: &[u64]) -> f64 { f64::from_bits(bits[0]) }\n"
    )
    assert request_of(rewrite(text).text)["activities"] == ["Const", "Const", "Const", "Duplicated"]


def test_unit_functions_have_no_return_activity() -> None:
    assert request_of(rewrite("#[std::autodiff::autodiff_forward(df)] fn f() {}").text)["ret"] == "None"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#![feature(autodiff)]", ""),
        ("#![feature(autodiff, portable_simd)]", "#![feature( portable_simd)]"),
        ("#![feature(portable_simd, autodiff)]", "#![feature(portable_simd)]"),
        ("#![feature(a, autodiff, b)]", "#![feature(a, b)]"),
        ("#![feature(autodiff,)]", ""),
        ('#![cfg_attr(feature = "ad", feature(autodiff))]', ""),
        ("#![cfg_attr(x, feature(autodiff), no_std)]", "#![cfg_attr(x, no_std)]"),
        ("#![feature(autodiff)] // why", " // why"),
        ("use std::autodiff::autodiff_forward;", ""),
        ("pub use core::autodiff::*;", ""),
        ("use ::std::autodiff::{autodiff_forward as jvp, autodiff_reverse};", ""),
        ("use std::{autodiff::*, fmt};", "use std::{ fmt};"),
        ("use std::{fmt, autodiff};", "use std::{fmt};"),
        ("use std::{fmt, autodiff::autodiff_forward, autodiff::autodiff_reverse};", "use std::{fmt, };"),
        ("use {std::autodiff::autodiff_forward, std::fmt};", "use { std::fmt};"),
        ("use std::{\n  autodiff::{\n self, autodiff_forward,\n },\n};", "\n\n\n\n"),
        ("#[allow(unused)]\nuse std::autodiff::*;", "\n"),
        ("/// doc\n#[cfg(\n a)]\npub use std::autodiff::*;", "\n\n\n"),
        ("use my::autodiff::autodiff_forward;", "use my::autodiff::autodiff_forward;"),
        ("use std::fmt; // autodiff", "use std::fmt; // autodiff"),
        ('const S: &str = "#![feature(autodiff)]";', 'const S: &str = "#![feature(autodiff)]";'),
    ],
)
def test_gates_and_imports(before: str, after: str) -> None:
    got = rewrite(before + "\nfn main() {}\n").text
    squeezed = [re.sub(r"\s+", " ", line) for line in got.split("\n")]
    assert squeezed == [re.sub(r"\s+", " ", line) for line in (after + "\nfn main() {}\n").split("\n")]


def test_kept_attributes_stay_with_the_primal() -> None:
    text = (
        "use std::autodiff::*;\n"
        "/// Doc.\n"
        "#[no_mangle]\n"
        "#[inline]\n"
        "#[autodiff_forward(df, Dual, Dual)]\n"
        "pub fn f(x: f64) -> f64 { x }\n"
    )
    lines = user_lines(rewrite(text).text)
    assert lines[1] == "// / Doc." or lines[1] == "//  Doc."
    assert "fn df(" in lines[2] and lines[2].endswith("#[no_mangle]")
    assert lines[3] == ""
    assert lines[4].startswith("#[inline(never)]")


def test_cfg_attr_annotations_become_conditional() -> None:
    text = (
        "use std::autodiff::*;\n"
        '#[cfg_attr(feature = "ad", autodiff_forward(df, Dual, Dual))]\n'
        "fn f(x: f64) -> f64 { x }\n"
    )
    line = rewrite(text).text.splitlines()[1]
    assert line.startswith('#[cfg(feature = "ad")]') and "fn df(" in line


def test_const_and_forbid_are_noted() -> None:
    text = (
        "#![forbid(unsafe_code)]\nuse std::autodiff::*;\n#[autodiff_forward(df, Dual, Dual)]\n"
        "pub const fn f(x: f64) -> f64 { x }\n"
    )
    result = rewrite(text)
    assert result.text.startswith("#![deny(unsafe_code)]")
    assert "pub fn df(" in result.text and "pub const fn f(" in result.text
    assert [(note.line, "const" in note.message) for note in result.notes] == [(3, True), (1, False)]
    assert result.derivatives[0].signature.startswith("pub const fn df(")


@pytest.mark.parametrize(
    ("annotated", "reason"),
    [
        ("#[autodiff_forward(df, Dual, Dual)] async fn f(x: f64) -> f64 { x }", "async"),
        ("#[autodiff_forward(df, Dual, Dual)] fn f((x, y): (f64, f64)) -> f64 { x }", "pattern"),
        ("#[autodiff_forward(df, Dual, Dual)] fn f(_: f64) -> f64 { 0.0 }", "pattern"),
        ("#[autodiff_forward(df, 0, Dual, Dual)] fn f(x: f64) -> f64 { x }", "width"),
        ("#[autodiff_forward(df, 2, Dual, Dualv)] fn f(x: f64) -> f64 { x }", "Dualv"),
        ("#[autodiff_forward(df, Dual)] fn f(x: f64) -> f64 { x }", "expected 2 activities"),
        ("#[autodiff_forward(df, Wrong, Dual)] fn f(x: f64) -> f64 { x }", "activity"),
        ("#[autodiff_forward(df, Dual, Active)] fn f(x: f64) -> f64 { x }", "invalid return activity"),
        ("#[autodiff_forward()] fn f(x: f64) -> f64 { x }", "names no derivative"),
    ],
)
def test_refusals(annotated: str, reason: str) -> None:
    result = rewrite("use std::autodiff::*;\n" + annotated)
    assert not result.derivatives
    (note,) = result.refused
    assert note.line == 2 and reason in note.message
    assert "__ferrodiff" not in result.text and "autodiff_forward" not in result.text


def test_shadow_checks() -> None:
    text = (
        "use std::autodiff::*;\n"
        "#[autodiff_forward(df, 2, Dual, Dualv, Const)]\n"
        "fn f(a: &Vec<f64>, b: &mut [f64], c: &[f64]) {}\n"
    )
    checked = rewrite(text).text.splitlines()[1]
    for check in (
        '::check("ba_0", ba_0.len(), "a", a.len(), 1)',
        '::check("ba_1", ba_1.len(), "a", a.len(), 1)',
        '::check("bb_0", bb_0.len(), "b", b.len(), 2)',
    ):
        assert check in checked
    assert checked.count("::check(") == 3
    assert "::check(" not in rewrite(text, shadow_checks=False).text.splitlines()[1]


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, len(SIMPLE)), junk=st.text(max_size=8), newline=st.sampled_from(["\n", "\r\n"]))
def test_broken_text_keeps_its_lines(cut: int, junk: str, newline: str) -> None:
    text = (SIMPLE[:cut] + junk + SIMPLE[cut + 3 :]).replace("\n", newline)
    result = rewrite(text).text
    assert result.split("#[doc(hidden)]")[0].count("\n") in (text.count("\n"), text.count("\n") + 1)


REPOSITORY = Path(__file__).parents[2]
PROGRAMS = sorted([*REPOSITORY.glob("examples/*.rs"), *REPOSITORY.glob("tests/e2e/programs/*.rs")])
TOUCHED = re.compile(r"autodiff|^\s*(#!?\[|///|\)\]$|\w+_[jv]{1,2}p2?, ?|2,$|Dual,|Const,)")
"""Annotations, gates and imports; attributes and doc comments around an annotation; lines within one."""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_keep_their_lines(path: Path) -> None:
    text = path.read_text("utf-8")
    result = rewrite(text)
    before, after = text.splitlines(), user_lines(result.text)
    assert not result.refused and len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert old == new or TOUCHED.search(old), old
