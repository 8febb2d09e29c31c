"""What calls of a file's own macros expand to, where annotations are in it."""

from __future__ import annotations

import pytest

from ferrodiff.analysis.expansion import expand
from ferrodiff.analysis.signature import derivative_signature

ONE = """\
macro_rules! one {
    ($v:vis $n:ident $d:ident : $t:ty = $e:expr) => {
        #[autodiff_reverse($d, Duplicated, Active)]
        $v fn $n(x: $t) -> f64 { 2.0 * $e }
    };
}
"""


def made(text: str) -> list[tuple[str, int, str]]:
    """Macro, line of the call and signature."""
    expansion = expand(text.encode())
    if expansion is None:
        return []
    return [
        (
            item.macro,
            text.encode()[: item.call.start].count(b"\n") + 1,
            derivative_signature(item.function, item.annotation).text,
        )
        for item in expansion.made()
    ]


def test_variables_of_every_kind() -> None:
    text = (
        ONE + "one!(pub(crate) a da: &Vec<Vec<(f64, f64)>> = 1.0 + 2.0);\none! { b db : &[f64; 3] = 3.0 }\n"
    )
    assert made(text) == [
        (
            "one",
            7,
            "pub(crate) fn da(x: &Vec<Vec<(f64, f64)>>, dx_0: &mut Vec<Vec<(f64, f64)>>, dret: f64) -> f64",
        ),
        ("one", 8, "fn db(x: &[f64; 3], dx_0: &mut [f64; 3], dret: f64) -> f64"),
    ]


def test_an_expression_stays_one() -> None:
    expansion = expand((ONE + "one!(a da: &f64 = 1.0 + 2.0);\n").encode())
    assert expansion is not None and "{ 2.0 * (1.0 + 2.0) }" in expansion.analysis.source.text


def test_repetitions_in_repetitions_and_optional_parts() -> None:
    text = (
        "macro_rules! many { ($($n:ident $(<$($g:ident),+>)? / $d:ident $w:literal ($($p:ident),*));+ $(;)?) => { $(\n"
        "    #[autodiff_forward($d, $w, $($p),*, Dual)]\n"
        "    fn $n$(<$($g),+>)?(x: f64, y: f64) -> f64 { x }\n"
        ")+ } }\n"
        "many! { a / da 1 (Dual, Const); b<T, const_generic> / db 2 (Const, Dual); }\n"
    )
    assert [signature for _, _, signature in made(text)] == [
        "fn da(x: f64, bx_0: f64, y: f64) -> (f64, f64)",
        "fn db<T, const_generic>(x: f64, y: f64, by_0: f64, by_1: f64) -> [f64; 3]",
    ]


def test_macros_that_call_macros_name_the_call_in_the_file() -> None:
    text = (
        ONE
        + "macro_rules! two { ($($n:ident $d:ident),*) => { $(one!($n $d: &f64 = 1.0);)* } }\ntwo!(a da, b db);\n"
    )
    assert [(macro, line) for macro, line, _ in made(text)] == [("two", 8), ("two", 8)]


def test_the_rule_that_matches_is_taken() -> None:
    text = (
        "macro_rules! m {\n"
        "    (forward $d:ident) => { #[autodiff_forward($d, Dual, Dual)] fn f(x: f64) -> f64 { x } };\n"
        "    (reverse $d:ident) => { #[autodiff_reverse($d, Active, Active)] fn g(x: f64) -> f64 { x } };\n"
        "}\nm!(reverse dg);\nm!(forward df);\nm!(sideways dh);\n"
    )
    assert [signature for _, _, signature in made(text)] == [
        "fn dg(x: f64, dret: f64) -> (f64, f64)",
        "fn df(x: f64, bx_0: f64) -> (f64, f64)",
    ]


def test_where_the_call_stands_decides_about_the_container() -> None:
    text = ONE + (
        "mod m { one!(a da: &f64 = 1.0); }\n"
        "struct S;\nimpl S { one!(b db: &f64 = 1.0); }\n"
        "fn main() { one!(c dc: &f64 = 1.0); }\n"
    )
    expansion = expand(text.encode())
    assert expansion is not None
    places = [(m.function.container_info.kind, m.function.container_info.modules) for m in expansion.made()]
    assert places == [("module", ("m",)), ("impl", ()), ("block", ())]
    assert [m.in_impl_of_call for m in expansion.made()] == [False, True, False]


def test_offsets_lead_back_to_the_file() -> None:
    text = ONE + "one!(a da: &f64 = 1.0);\nfn last() {}\n"
    expansion = expand(text.encode())
    assert expansion is not None
    expanded = expansion.analysis.source.text
    assert expansion.origin(expanded.index("fn last")) == text.index("fn last")
    assert expansion.origin(expanded.index("fn a(")) == text.index("one!(a")


@pytest.mark.parametrize(
    "text",
    [
        "fn main() {}",
        'fn main() { println!("autodiff"); }',
        ONE,
        ONE + "elsewhere!(a da: &f64 = 1.0);",
        ONE + "one!(a da &f64);",
        ONE + "one!(a da: &f64 = ",
        "macro_rules! m { ($($x:ident)*) => { autodiff $($y)* $x } } m!(a b);",
        "macro_rules! m { () => { m!(); #[autodiff_forward] } } m!();",
        "macro_rules! m { ($($t:tt)*) => { m!(autodiff $($t)*); } } m!();",
        "macro_rules! autodiff { ( => } autodiff!()",
        "macro_rules! m { ($($($($x:tt)*)*)*;) => { #[autodiff_forward] } } m!(" + "a " * 250 + ");",
        "macro_rules! m { () => { autodiff " + "(" * 5000 + ")" * 5000 + " } } m!();",
        "macro_rules! m { ("
        + "(" * 5000
        + ")" * 5000
        + ") => { autodiff } } m!("
        + "(" * 5000
        + ")" * 5000
        + ");",
    ],
    ids=range(13),
)
def test_what_is_no_derivative_makes_none(text: str) -> None:
    assert made(text) == []
