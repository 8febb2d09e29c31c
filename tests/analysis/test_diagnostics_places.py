"""Code, message and exact place of every diagnostic; related places; what silences and what does not.

In the texts ``⟦..⟧`` marks what is reported, in the order of the listed codes.
"""

from __future__ import annotations

import re

import pytest

from ferrodiff.analysis.diagnostics import Diagnostic, Severity, codes, with_severities
from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.text import Span

HEAD = "use std::autodiff::{autodiff_forward, autodiff_reverse};\n"
_MARK = re.compile("[⟦⟧]")


def check(marked: str, *expected: str) -> tuple[FileAnalysis, tuple[Diagnostic, ...]]:
    """Asserts that exactly the marked places are reported; `expected` are ``FDnnn message``, message optional."""
    opened: list[int] = []
    spans: list[Span] = []
    clean, last = b"", 0
    for match in _MARK.finditer(marked):
        clean += marked[last : match.start()].encode()
        last = match.end()
        if match[0] == "⟦":
            opened.append(len(clean))
        else:
            spans.append(Span(opened.pop(), len(clean)))
    clean += marked[last:].encode()
    analysis = analyse(clean.decode())
    found = [(d.span, d.code, d.message) for d in analysis.diagnostics]
    assert [span for span, _, _ in found] == sorted(spans), [
        (code, message, analysis.source.slice(span)) for span, code, message in found
    ]
    for (_, code, message), wanted in zip(found, expected, strict=True):
        wanted_code, _, words = wanted.partition(" ")
        assert code == wanted_code and message.startswith(words)
    return analysis, analysis.diagnostics


def fwd(items: str, function: str = "fn f(x: f64) -> f64 { x * x }") -> str:
    return f"{HEAD}#[autodiff_forward({items})]\n{function}\n"


def rev(items: str, function: str = "fn f(x: f64) -> f64 { x * x }") -> str:
    return f"{HEAD}#[autodiff_reverse({items})]\n{function}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEAD}#[autodiff_forward(df, Dual)]\n⟦pub struct S⟧ {{\n}}", "FD001 autodiff must be applied to function"),
        (f"{HEAD}#[autodiff_forward(df, Dual)]\n/// doc\n⟦struct S;⟧", "FD001"),
        (f"{HEAD}fn g() {{\n #[autodiff_forward(df)]\n ⟦let x = |y: f64| {{\n y }};⟧ }}", "FD001"),
        (f'{HEAD}unsafe extern "C" {{\n#[autodiff_forward(df, Dual, Dual)] ⟦fn f(x: f64) -> f64;⟧ }}', "FD001"),
        (f"{HEAD}impl S {{\n #[autodiff_forward(df)]\n ⟦const N: f64 = 1.0;⟧ }}", "FD001"),
        (f"{HEAD}struct S {{ #[⟦autodiff_forward⟧(df)] x: f64 }}", "FD001 expected non-macro attribute"),
        (f"{HEAD}#[autodiff_reverse] ⟦fn f⟧(x: f64) -> f64 {{ x }}", "FD002 autodiff requires at least a name and mode"),
        (f"{HEAD}#[autodiff_reverse()] ⟦fn f⟧(x: f64) -> f64 {{ x }}", "FD002"),
        (f'{HEAD}#[autodiff_reverse = "df"] ⟦fn f⟧(x: f64) -> f64 {{ x }}', "FD002"),
        (fwd("df, ⟦4_294_967_296⟧, Dual, Wrong"), "FD003 autodiff width must fit u32, but is 4294967296"),
        (fwd("df, ⟦0x1_0000_0000⟧, Dual"), "FD003 autodiff width must fit u32, but is 4294967296"),
        (fwd("df, Dual, ⟦Duall⟧"), "FD004 did not recognize Activity: `Duall`"),
        (fwd("df, Dual, ⟦4⟧, Dual"), "FD004 did not recognize Activity: `4`"),
        (fwd("df, Dual, ⟦None⟧"), "FD005 expected 2 activities, but found 1"),
        (fwd("df, Dual, Dual, ⟦Const, Const⟧"), "FD005 expected 2 activities, but found 4"),
        (fwd("df, ⟦Dual⟧", "fn f() {}"), "FD005 expected 0 activities, but found 1"),
        (fwd("df, ⟦Active⟧, Dual"), "FD006 Active can not be used in Forward Mode"),
        (rev("df, ⟦Dual⟧, Active"), "FD006 Dual can not be used in Reverse Mode"),
        (rev("df, Duplicated, Active", "fn f(x: ⟦f64⟧) -> f64 { x }"), "FD007 Duplicated can not be used for this type"),
        (rev("df, Duplicated, Active", "fn f(x: ⟦Box<f64>⟧) -> f64 { *x }"), "FD007"),
        (fwd("df, Dual, ⟦Active⟧"), "FD008 invalid return activity Active in Forward Mode"),
        (fwd("df, Dual, ⟦ActiveOnly⟧"), "FD008 invalid return activity ActiveOnly in Forward Mode"),
        (rev("df, Active, ⟦Duplicated⟧"), "FD008 invalid return activity Duplicated in Reverse Mode"),
        (fwd("⟦a::df⟧, Dual, Dual"), "FD012 the name of the derivative must be a plain identifier, not `a::df`"),
        (fwd("⟦7⟧, Dual, Dual"), "FD012"),
        (fwd("⟦match⟧, Dual, Dual"), "FD012"),
        (fwd("df, Dual, Dual", "fn f(⟦_⟧: f64) -> f64 { 0.0 }"), "FD013"),
        (fwd("df, Dual, Dual", "fn f(⟦&x⟧: &f64) -> f64 { x }"), "FD013"),
        (fwd("df, Dual, Dual", "fn f(⟦S { a, .. }⟧: S) -> f64 { a }"), "FD013"),
        (fwd("df, ⟦2.0⟧, Dual, Dual"), "FD014"),
        (fwd('df, ⟦"4"⟧, Dual, Dual'), "FD014"),
        (fwd("df, Dual, ⟦'c'⟧"), "FD014"),
        (fwd("df, ⟦4u32⟧, Dual, Dual"), "FD015 suffixed literals are not allowed in attributes"),
        (fwd("df, ⟦-1⟧, Dual, Dual"), "FD016 expected unsuffixed literal, found `-`"),
        (fwd("⟦x⟧, Dual, Dual"), "FD018"),
        (rev("df, Duplicated, Const, Active", "fn f(x: &f64, ⟦dx_0⟧: f64) -> f64 { *x }"), "FD019 identifier `dx_0`"),
        (fwd("df, 2, Dual, Const, Dual", "fn f(x: f64, ⟦bx_1⟧: f64) -> f64 { x }"), "FD019 identifier `bx_1`"),
        (rev("df, Active, Active", "fn f(⟦dret⟧: f64) -> f64 { dret }"), "FD019 identifier `dret`"),
        (fwd("df, ⟦0⟧, Dual, Dual"), "FD020"),
        (fwd("df, ⟦Dual⟧, Dual, Dual", "fn f(n: usize, x: f64) -> f64 { x }"), "FD021 Dual has no effect for this type"),
        (rev("df, ⟦Duplicated⟧, Active, Active", "fn f(n: &[u32], x: f64) -> f64 { x }"), "FD021"),
        (fwd("df, Dual, ⟦Dual⟧", "fn f(x: f64) -> bool { x > 0.0 }"), "FD021"),
        (rev("df, ⟦Active⟧, Active", "fn f(x: &f64) -> f64 { *x }"), "FD022 Active can not be used for a reference"),
        (rev("df, ⟦ActiveOnly⟧, Active", "fn f(x: *const f64) -> f64 { *x }"), "FD022"),
        (fwd("df, 2, ⟦Dualv⟧, Dual"), "FD023 Dualv needs a slice"),
        (fwd("df, 2, ⟦Dualv⟧, Dual", "fn f(x: &Vec<f64>) -> f64 { x[0] }"), "FD023"),
        (fwd("df, 2, Dual, ⟦Dualv⟧"), "FD024"),
        (fwd("df, 2, ⟦DualvOnly⟧", "fn f(x: &mut [f64]) { x[0] = 1.0; }"), "FD025"),
        (rev("df, ⟦4⟧, Active, Active"), "FD026"),
        (rev("df, ⟦ActiveOnly⟧, Active"), "FD027"),
        (fwd("df, Dual, ⟦Const⟧"), "FD028"),
        (rev("df, Active, ⟦Const⟧"), "FD029"),
        (fwd("df, ⟦Const, Const⟧"), "FD030"),
        (fwd("df, ⟦65⟧, Dual, DualOnly"), "FD031"),
        (fwd("df, ⟦Dual(3)⟧, Dual"), "FD032"),
        (fwd("⟦df = 1⟧, Dual, Dual"), "FD032"),
        ("#[⟦autodiff⟧(df, Forward, Dual, Dual)]\nfn f(x: f64) -> f64 { x }", "FD033"),
        (fwd("df, Dual, Dual", "async fn ⟦f⟧(x: f64) -> f64 { x }"), "FD034 an `async fn` cannot"),
        (fwd("df, Dual, Dual", "⟦#[inline]⟧\nfn f(x: f64) -> f64 { x }"), "FD035"),
        (fwd("df, ⟦Dual⟧, Dual, Dual", "fn f(g: fn(f64) -> f64, x: f64) -> f64 { g(x) }"), "FD038 Dual for `fn(f64)"),
        (rev("df, ⟦Duplicated⟧, Active", "fn f(m: &mut dyn Model) -> f64 { m.at() }"), "FD038 Duplicated for `&mut dyn"),
        (fwd("df, ⟦Dual⟧, Dual", "fn f(m: Box<dyn Fn() -> f64>) -> f64 { m() }"), "FD038"),
        (fwd("df, Dual, Dual", "fn f(x: &f64) -> ⟦&f64⟧ { x }"), "FD039 missing lifetime specifiers"),
        (fwd("df, Dual, DualOnly", "fn f(x: &f64) -> ⟦&f64⟧ { x }"), "FD039 missing lifetime specifier"),
        (fwd("df, 2, Dual, Dual", "fn f(x: &f64) -> ⟦S<'_>⟧ { S(x) }"), "FD039"),
        ("// ferrodiff: allow(⟦FD999⟧, FD021)\n" + fwd("df, Dual, Dual"), "FD040 unknown diagnostic: `FD999`"),
        (fwd("⟦df⟧, Dual, Dual", "fn f<T: Copy>(x: T) -> T { x }"), "FD036"),
    ],
)  # fmt: skip
def test_one_place(text: str, expected: str) -> None:
    check(text, expected)


def test_missing_activities() -> None:
    analysis, (diagnostic,) = check(
        fwd("df, Dual", "fn f(x: f64, n: usize) -> f64 { x }").replace("(df, Dual)", "⟦(df, Dual)⟧"),
        "FD005 expected 3 activities, but found 1",
    )
    assert [analysis.source.slice(r.span) for r in diagnostic.related] == ["n: usize", "f64"]
    assert diagnostic.notes == ("missing: `n`, the return value",)


def test_no_activities_at_all() -> None:
    check(
        rev("df", "fn f() -> f64 { 1.0 }").replace("(df)", "⟦(df)⟧"),
        "FD005 expected 1 activities, but found 0",
    )


def test_raw_names_are_names() -> None:
    check(fwd("r#match, Dual, Dual"))


def test_an_offered_list_is_another_one() -> None:
    _, (diagnostic,) = check(rev("df, ⟦Const, Active⟧", "fn f(n: usize) -> f64 { 1.0 }"), "FD030")
    assert not diagnostic.fixes
    check(fwd("⟦df⟧", "fn f() {}"), "FD030 nothing is differentiated: the function has no parameters")


def test_several_in_one_list() -> None:
    check(fwd("df, ⟦A⟧, ⟦B⟧, Dual, Dual"), "FD004", "FD004")
    check(
        fwd("df, ⟦Duplicated⟧, ⟦Active⟧", "fn f(x: ⟦f64⟧) -> f64 { x }"),
        "FD006 Duplicated",
        "FD008 invalid",
        "FD007 Duplicated",
    )
    check(fwd("df, ⟦None⟧, Dual", "fn f(x: ⟦f64⟧) -> f64 { x }"), "FD006 None can", "FD007 None can")


def test_missing_imports() -> None:
    check("#[⟦autodiff_forward⟧(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }", "FD009 cannot find attribute")
    check("use serde::*;\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }")
    inner = "mod tests { use super::*; }"
    check(f"#[⟦autodiff_forward⟧(df, Dual, Dual)]\nfn f(x: f64) -> f64 {{ x }}\n{inner}", "FD009")
    check(
        "use std::f64::consts::*;\n#[⟦autodiff_forward⟧(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }", "FD009"
    )
    check("#[std::autodiff::autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }")


def test_the_gate_is_one_hint_in_a_crate_root() -> None:
    text = fwd("df, Dual, Dual")
    check(text)
    analysis, (diagnostic,) = check(
        text.replace("{autodiff_forward,", "{⟦autodiff_forward⟧,") + "fn main() {}", "FD010 use of unstable"
    )
    assert diagnostic.severity is Severity.HINT
    assert [analysis.source.slice(r.span) for r in diagnostic.related] == [
        "autodiff_reverse",
        "autodiff_forward",
    ]


def test_names_that_exist() -> None:
    again = "#[autodiff_reverse(⟦df⟧, Active, Active)]\nfn g(x: f64) -> f64 { x }\n"
    check(fwd("df, Dual, Dual") + again, "FD011 the name `df` is defined multiple times")
    analysis, (diagnostic,) = check(fwd("h, Dual, Dual") + "const ⟦h⟧: f64 = 1.0;", "FD011")
    assert analysis.source.slice(diagnostic.related[0].span) == "h"
    check(fwd("f, Dual, Dual", "fn ⟦f⟧(x: f64) -> f64 { x }"), "FD011")
    method = "impl S { #[autodiff_forward(⟦df⟧, Const, Dual)] fn f(&self) -> f64 { 0.0 } fn df(&self) {} }"
    assert "FD011" in {d.code for d in analyse(HEAD + _MARK.sub("", method)).diagnostics}


def test_unknown_modes_of_the_old_form() -> None:
    check("#[⟦autodiff⟧(df, ⟦Sideways⟧, Dual)]\nfn f(x: f64) {}", "FD033", "FD017 unknown Mode: `Sideways`.")


@pytest.mark.parametrize(
    "written", ["Real", "T", "&Model", "Vec<Item>", "impl Fn(f64) -> f64", "[Real; 3]", "Path"]
)
def test_types_of_other_names_may_hold_floats(written: str) -> None:
    check(fwd("df, Dual, Dual", f"fn f(x: {written}) -> f64 {{ 0.0 }}"))


WARNED = "#[autodiff_forward(df, Dual, Const)]\nfn f(x: f64) -> f64 { x }"
WRONG_TYPE = "#[autodiff_reverse(df, Duplicated, Active)]{}\nfn f(\n  x: f64,\n) -> f64 {{ x }}"


@pytest.mark.parametrize(
    "text",
    [
        f"// ferrodiff: allow(FD028)\n\n{HEAD}{WARNED}",
        f"//! A crate.\n// ferrodiff: allow(FD001, FD028)\n{HEAD}{WARNED}",
        f"#![no_std]\n/* ferrodiff: allow(FD028) */\n\n{HEAD}{WARNED}",
        HEAD + WRONG_TYPE.format(" // ferrodiff: allow(FD007)"),
        HEAD + "// ferrodiff: allow(FD007)\n" + WRONG_TYPE.format(""),
        HEAD + WRONG_TYPE.format(" // why not: ferrodiff: allow( FD001,FD007 )").replace("(df,", "(\n  df,"),
    ],
)
def test_silenced(text: str) -> None:
    assert not [d.code for d in analyse(text).diagnostics if d.code != "FD010"]


@pytest.mark.parametrize(
    "text",
    [
        f"// ferrodiff: allow(FD028)\n#[inline(never)]\nfn g() {{}}\n{HEAD}{WARNED}",
        f'{HEAD}const S: &str = "// ferrodiff: allow-file(FD028)";\n{WARNED}',
        f"{HEAD}{WARNED} // ferrodiff: allow(FD028)",
        f"{HEAD}{WARNED}\n// ferrodiff: allow(FD028)\nfn g() {{}}",
    ],
)
def test_not_silenced(text: str) -> None:
    assert [d.code for d in analyse(text).diagnostics] == ["FD028"]


def test_severities() -> None:
    diagnostics = analyse(HEAD + WARNED).diagnostics
    assert with_severities(diagnostics, {"FD028": "off"}) == ()
    assert with_severities(diagnostics, {"FD028": "hint"})[0].severity is Severity.HINT
    assert with_severities(diagnostics, {"FD001": "hint"}) == diagnostics


def test_the_table_of_codes() -> None:
    assert [rule.code for rule in codes().values()] == list(codes())


@pytest.mark.parametrize(
    ("listed", "found", "fixed"),
    [
        ("df, Dual Active", "Active", "df, Dual, Active"),
        ("df Dual, Active", "Dual", "df, Dual, Active"),
        ("df 4, Dual, Dual", "4", "df, 4, Dual, Dual"),
    ],
)
def test_a_missing_comma(listed: str, found: str, fixed: str) -> None:
    text = f"use std::autodiff::*;\n#[autodiff_forward({listed})]\nfn f(x: f64) -> f64 {{ x }}\n"
    (diagnostic,) = analyse(text).diagnostics
    assert diagnostic.message == f"expected one of `(`, `,`, `::`, or `=`, found `{found}`"
    (edit,) = diagnostic.fixes[0].edits
    data = text.encode()
    assert fixed in (data[: edit.span.start] + edit.new_text.encode() + data[edit.span.end :]).decode()


def test_what_no_build_has_is_no_annotation() -> None:
    text = "#[cfg_attr({}, autodiff_forward(df, Active, Dual))]\nfn f(x: f64) -> f64 {{ x }}\n"
    for predicate, count in (
        ("any()", 0),
        ("not(all())", 0),
        ("all()", 1),
        ("test", 1),
        ("not(rust_analyzer)", 1),
    ):
        functions = analyse(text.format(predicate)).functions
        assert sum(len(function.annotations) for function in functions) == count
