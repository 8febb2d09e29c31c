"""Explanations and pages: this Rust, that text; and that the text agrees with the generated signature."""

from __future__ import annotations

import re
from itertools import product

import pytest

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.explain import Explanation, explain
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.pages import (
    activity_page,
    derivative_page,
    markdown,
    rows,
    seed_page,
    table,
    width_page,
)
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.typetext import split_top_level


def annotated(text: str) -> tuple[Function, Annotation]:
    (function,) = analyse(text).functions
    return function, function.annotations[0]


def places(text: str) -> list[Explanation]:
    return list(explain(*annotated(text)))


SLICE = "fn f(x: &[f64], out: &mut [f64]) { out[0] = x[0]; }"


@pytest.mark.parametrize(
    ("text", "index", "layout"),
    [
        (f"#[autodiff_forward(df, 4, Dualv, Dualv)] {SLICE}", 0,
         "`bx_0` holds 4 tangents of length `x.len()`, lane k at `[k*x.len()..(k+1)*x.len()]`: "
         "`4*x.len()` elements in all. A shorter one panics at entry."),
        (f"#[autodiff_forward(df, 4, Dual, Dual)] {SLICE}", 1,
         "4 tangents of length `out.len()`, lane k in `bout_k`. "
         "Each must be as long as `out`; a shorter one panics at entry."),
        (f"#[autodiff_forward(df, Dual, Dual)] {SLICE}", 0,
         "`bx_0` has length `x.len()`. It must be as long as `x`; a shorter one panics at entry."),
        (f"#[autodiff_reverse(df, 2, Duplicated, Duplicated)] {SLICE}", 0,
         "2 gradients of length `x.len()`, lane k in `dx_k`. "
         "Each must be as long as `x`; a shorter one panics at entry."),
        ("#[autodiff_forward(df, 3, Dual, Dual)] fn f(x: &[f64; 5]) -> f64 { x[0] }", 0,
         "3 tangents of 5 floats each, lane k in `bx_k`."),
        ("#[autodiff_forward(df, 3, Dual, Dual)] fn f(x: [[f32; 5]; 2]) -> f32 { x[0][0] }", 0,
         "3 tangents of 10 floats each, lane k in `bx_k`."),
        ("#[autodiff_forward(df, 3, Dual, Dual)] fn f(x: f64) -> f64 { x }", 0, "3 tangents, lane k in `bx_k`."),
        ("#[autodiff_forward(df, 2, Dualv, Dual)] fn f(x: &[[f64; 3]]) -> f64 { x[0][0] }", 0,
         "`bx_0` holds 2 tangents of length `x.len()` (elements of type `[f64; 3]`), "
         "lane k at `[k*x.len()..(k+1)*x.len()]`: `2*x.len()` elements in all. A shorter one panics at entry."),
        ("#[autodiff_forward(df, 3, Dual, Dual)] fn f(x: f64) -> f64 { x }", 1,
         "Item 0 is the value, item 1 + k the tangent of lane k."),
        ("#[autodiff_forward(df, 3, Dual, DualOnly)] fn f(x: f64) -> f64 { x }", 1,
         "Item k is the tangent of lane k."),
        ("#[autodiff_reverse(df, Active, Active)] fn f(x: f64) -> f64 { x }", 0, ""),
        ("#[autodiff_forward(df, 2, Dual, Dual)] impl S { fn f(x: &S) -> f64 { x.a } }".replace("#[autodiff_forward(df, 2, Dual, Dual)] impl S { ", "impl S { #[autodiff_forward(df, 2, Dual, Dual)] "), 0,
         "2 tangents, lane k in `bx_k`."),
    ],
)  # fmt: skip
def test_layouts_in_elements(text: str, index: int, layout: str) -> None:
    assert places(text)[index].layout == layout


@pytest.mark.parametrize(
    ("text", "index", "words"),
    [
        (f"#[autodiff_reverse(df, Duplicated, Duplicated)] {SLICE}", 0, "The caller zeroes `dx_0` before the call"),
        (f"#[autodiff_reverse(df, Duplicated, Duplicated)] {SLICE}", 1, "`dout_0` is set to 0"),
        (f"#[autodiff_reverse(df, 2, Duplicated, Duplicated)] {SLICE}", 1, "`dout_0` and `dout_1` are set to 0"),
        (f"#[autodiff_reverse(df, 3, Duplicated, Duplicated)] {SLICE}", 1, "`dout_0` .. `dout_2` are set to 0"),
        (f"#[autodiff_forward(df, Dual, Dual)] {SLICE}", 1, "`bout_0` holds the tangent of what was written"),
        (f"#[autodiff_forward(df, 2, Dual, Dual)] {SLICE}", 1, "`bout_0` and `bout_1` hold the tangent of what was"),
        (f"#[autodiff_forward(df, 2, Dual, Dual)] {SLICE}", 0, "one tangent of `x` per lane, the directions"),
        (f"#[autodiff_forward(df, DualOnly, Dual)] {SLICE}", 0, "What `x` itself holds afterwards is unspecified"),
        (f"#[autodiff_forward(df, Dual)] {SLICE}", 1, "No activity is given."),
        (f"#[autodiff_forward(df, Dual, Active)] {SLICE}", 1, "`Active` can not be used in Forward mode."),
        ("#[autodiff_reverse(df, Duplicated, Active)] fn f(x: f64) -> f64 { x }", 0, "needs a reference or raw pointer"),
        ("#[autodiff_reverse(df, Duplicated, Active)] fn f(x: *const f64) -> f64 { 0.0 }", 0, "The caller zeroes `dx_0`"),
        ("#[autodiff_reverse(df, ActiveOnly, Active)] fn f(x: f64) -> f64 { x }", 0, "computed and lost"),
        ("#[autodiff_reverse(df, Const, Active)] fn f(n: u8) -> f64 { 0.0 }", 0, "It is not differentiated."),
        ("#[autodiff_reverse(df, 2, Duplicated, Active)] fn f(x: &f64) -> f64 { *x }", 1, "All 2 lanes share this seed."),
        ("#[autodiff_reverse(df, Active, Const)] fn f(x: f64) -> f64 { x }", 1, "It seeds nothing"),
        ("#[autodiff_forward(df, Dual, Const)] fn f(x: f64) -> f64 { x }", 1, "for a float the tangent"),
    ],
)  # fmt: skip
def test_who_passes_gets_and_zeroes_what(text: str, index: int, words: str) -> None:
    assert words in " ".join(places(text)[index].sentences)


def test_gradients_stand_where_the_signature_has_them() -> None:
    count = 0
    types = ("f64", "f32", "[f64; 2]")
    for arrow, inputs in product(("", " -> ()", " -> f64", " -> (f64, f64)"), product(types, repeat=3)):
        for seed in ("Active", "ActiveOnly", "Const") if "f64" in arrow else ("",):
            listed = ", ".join(["Active", "Const", "Active", *([seed] if seed else [])])
            parameters = ", ".join([f"p{i}: {kind}" for i, kind in enumerate(inputs)])
            function, annotation = annotated(
                f"#[autodiff_reverse(df, {listed})] fn f({parameters}){arrow} {{ }}"
            )
            returned = derivative_signature(function, annotation).return_type or ""
            for index in (0, 2):
                words = explain(function, annotation)[index].returns
                found = re.search(r"item (\d+) of the returned tuple", words)
                if found is None:
                    assert "as the return value" in words and returned == inputs[index]
                else:
                    items = split_top_level(returned[1:-1])
                    assert items[int(found[1]) - 1] == inputs[index], (returned, words)
                count += 1
    assert count > 300


def test_rows_are_the_parameters_of_the_signature() -> None:
    function, annotation = annotated(
        "#[autodiff_reverse(df, 2, Duplicated, Const, Active)] fn f(x: &[f64], n: u8) -> f64 { x[0] }"
    )
    found = rows(function, annotation)
    assert [(r.text, r.role, r.lane) for r in found] == [
        ("x: &[f64]", "primal", None),
        ("dx_0: &mut [f64]", "shadow", 0),
        ("dx_1: &mut [f64]", "shadow", 1),
        ("n: u8", "primal", None),
        ("dret: f64", "seed", None),
    ]
    assert ", ".join([r.text for r in found]) in derivative_signature(function, annotation).text


def test_the_page_of_a_derivative() -> None:
    page = derivative_page(
        *annotated("#[autodiff_forward(df, Dual, Dual)] fn f(x: f64) -> f64 { x }"), "in `a.rs`"
    )
    assert markdown(page) == (
        "```rust\nfn df(x: f64, bx_0: f64) -> (f64, f64)\n```\n\n"
        "Forward derivative of `f` in `a.rs`.\n\n"
        "| parameter | role | activity |\n|---|---|---|\n"
        "| `x: f64` | as for the primal | Dual |\n"
        "| `bx_0: f64` | shadow: tangent of `x` | Dual |\n\n"
        "* `x`: Pass `x`, then `bx_0`: the tangent of `x`, the direction of the derivative. "
        "Nothing is cleared: what the function does not write keeps its tangent.\n"
        "* `(f64, f64)`: the value, then its tangent."
    )


def test_many_lanes_are_one_line() -> None:
    function, annotation = annotated(f"#[autodiff_forward(df, 4096, Dual, Dualv)] {SLICE}")
    shown = table(rows(function, annotation), True)
    assert "| `bx_0` .. `bx_4095: &[f64]` | shadow: tangent of `x` | 0 .. 4095 | Dual |" in shown
    assert (
        "| `bout_0: &mut [f64]` | shadow: 4096 tangents of `out`, one after the other | all | Dualv |"
        in shown
    )
    assert shown.count("\n") == 5


def test_the_page_of_a_width() -> None:
    page = width_page(
        *annotated(
            "#[autodiff_reverse(df, 2, Duplicated, Active, Active)] fn f(x: &[f64], k: f64) -> f64 { k }"
        )
    )
    assert page.paragraphs == ("One call computes 2 gradients. The primal is computed once.",)
    assert page.notes[0].startswith("`x`: 2 gradients of length `x.len()`, lane k in `dx_k`.")
    assert page.notes[1:] == (
        "`k` has one gradient: the width does not reach `Active` inputs.",
        "`dret` is one seed for all lanes.",
    )
    assert [row.lane for row in page.rows] == [0, 1]


def test_the_page_of_a_seed() -> None:
    text = "#[autodiff_reverse(df, Active, {})] fn f(x: f64) -> {} {{ x }}"
    page = seed_page(*annotated(text.format("Active", "f64")))
    assert page is not None and page.signature == "dret: f64"
    assert "`1.0` gives the gradient itself" in page.paragraphs[1]
    page = seed_page(*annotated(text.format("Active", "(f64, f64)")))
    assert page is not None and "a weight for every float" in page.paragraphs[1]
    assert seed_page(*annotated(text.format("Const", "f64"))) is None
    assert seed_page(*annotated("#[autodiff_forward(df, Dual, Dual)] fn f(x: f64) -> f64 { x }")) is None


@pytest.mark.parametrize(
    ("text", "index", "words"),
    [
        (
            "#[autodiff_forward(df, Dual, Dual)] fn f(x: f64) {}",
            1,
            "has only 1 parameter and no return value",
        ),
        ("#[autodiff_forward(df, Dual, Dual, Dual)] fn f(x: f64) -> f64 { x }", 2, "has only 1 parameter."),
        ("#[autodiff_forward(df, Foo, Dual)] fn f(x: f64) -> f64 { x }", 0, "This is no activity."),
        (
            "#[autodiff_forward(df, Dual, Active)] fn f(x: f64) -> f64 { x }",
            1,
            "can not be used in Forward mode",
        ),
        ("#[autodiff_reverse(df, Active, Active)] fn f(x: f64) -> f64 { x }", 1, "```rust\ndret: f64\n```"),
    ],
)
def test_the_page_of_an_activity(text: str, index: int, words: str) -> None:
    assert words in markdown(activity_page(*annotated(text), index))


def test_no_text_is_read_as_emphasis_by_accident() -> None:
    """Outside of code, ``*`` only marks titles and list items."""
    for mode, activities in (
        ("forward", ("Dual", "Dualv", "DualOnly")),
        ("reverse", ("Duplicated", "DuplicatedOnly")),
    ):
        for listed in product(activities, repeat=2):
            function, annotation = annotated(f"#[autodiff_{mode}(df, 4, {', '.join(listed)})] {SLICE}")
            pages = [derivative_page(function, annotation), width_page(function, annotation)]
            pages += [activity_page(function, annotation, index) for index in range(2)]
            for page in pages:
                text = re.sub(r"```.*?```|`[^`]*`", "", markdown(page), flags=re.S)
                assert not re.search(r"(?<!\*)\*(?![* ])", text.replace("**", "")), text
