"""Annotated functions in macros are rewritten where they stand; what cannot be is refused."""

from __future__ import annotations

from ferrodiff.analysis.rewrite import rewrite


def test_a_macros_variables_stay_variables() -> None:
    text = (
        "macro_rules! m { ($n:ident, $d:ident, $t:ty) => {\n"
        "    #[autodiff_reverse($d, Active, Active)]\n"
        "    fn $n(x: $t) -> $t { x }\n"
        "} }\n"
    )
    out = rewrite(text).text
    assert "fn $d(x: $t, dret: $t) -> ($t, $t)" in out
    assert "$crate::__ferrodiff::call((x, ), |(__fd_a0, )| $n(__fd_a0, ))" in out
    assert out.split("\n")[:4][2] == "    fn $n(x: $t) -> $t { x }"
    assert "autodiff_reverse" not in out


def test_words_that_look_like_a_replaced_variable_are_left_alone() -> None:
    text = (
        "macro_rules! m { ($d:ident) => {\n"
        "    #[autodiff_reverse($d, Active, Active)]\n"
        "    fn f(Zd: f64) -> f64 { Zd }\n"
        "} }\n"
    )
    assert "fn $d(Zd: f64, dret: f64)" in rewrite(text).text


def test_a_repeated_signature_is_refused_at_its_place() -> None:
    text = (
        "macro_rules! m { ($($x:ident),*) => {\n"
        "    #[autodiff_reverse(d, Active)]\n"
        "    fn f($($x: f64),*) -> f64 { 0.0 $(+ $x)* }\n"
        "} }\n"
    )
    (note,) = rewrite(text).refused
    assert (note.line, note.column) == (2, 7)
    assert "repetition" in note.message


def test_a_repeated_function_is_rewritten_once_inside_its_repetition() -> None:
    text = (
        "macro_rules! m { ($($v:vis $n:ident $d:ident);*) => { $(\n"
        "    #[autodiff_forward($d, Dual, Dual)]\n"
        "    $v fn $n(x: f64) -> f64 { x }\n"
        ")* } }\n"
    )
    result = rewrite(text)
    assert result.text.count("$v fn $d(x: f64, bx_0: f64) -> (f64, f64)") == 1
    assert not result.refused


def test_tokens_that_are_no_items_are_left_alone() -> None:
    text = 'fn main() { println!("autodiff_reverse {}", stringify!(#[autodiff_reverse] 1 + $)); }\n'
    assert rewrite(text).text == text
