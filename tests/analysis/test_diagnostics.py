"""Each diagnostic on its own example; stages, places, fixes, silencing, severities and documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrodiff.analysis.configuration import Configuration, ConfigurationError
from ferrodiff.analysis.diagnostics import Diagnostic, Edit, Rule, Severity
from ferrodiff.analysis.diagnostics.docs import pages
from ferrodiff.analysis.diagnostics.registry import RULES
from ferrodiff.analysis.document import FileAnalysis, analyse

DOCS = Path(__file__).parents[2] / "docs"
IMPORTS = "use std::autodiff::*;\n"
FORWARD = "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }"
WITHOUT_IMPORTS = ("FD009", "FD010")


def found(text: str) -> tuple[FileAnalysis, tuple[Diagnostic, ...]]:
    analysis = analyse(text)
    return analysis, analysis.diagnostics


def codes(text: str) -> list[str]:
    return [d.code for d in analyse(IMPORTS + text).diagnostics]


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    data = text.encode()
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        data = data[: edit.span.start] + edit.new_text.encode() + data[edit.span.end :]
    return data.decode()


def example(rule: Rule, text: str) -> str:
    return text if rule.code in WITHOUT_IMPORTS else IMPORTS + text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_examples(rule: Rule) -> None:
    assert rule.code in {d.code for d in analyse(example(rule, rule.bad)).diagnostics}
    assert not analyse(example(rule, rule.good)).diagnostics


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_preferred_fixes_solve_the_problem(rule: Rule) -> None:
    text = example(rule, rule.bad)
    for diagnostic in analyse(text).diagnostics:
        for fix in diagnostic.fixes:
            after = applied(text, fix.edits)
            if fix.preferred and diagnostic.code == rule.code:
                left = [d for d in analyse(after).diagnostics if d.code == rule.code]
                count = len([d for d in analyse(text).diagnostics if d.code == rule.code])
                assert len(left) < count, after


def test_codes_are_unique_and_without_gaps() -> None:
    assert [rule.code for rule in RULES] == [f"FD{number:03}" for number in range(1, len(RULES) + 1)]
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_documentation_is_up_to_date() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"run diagnostics.docs for {name}"


def test_an_unknown_word_hides_the_count() -> None:
    assert codes("#[autodiff_forward(df, Foo)]\nfn f(x: f64) -> f64 { x }") == ["FD004"]


def test_a_wrong_count_hides_the_tables() -> None:
    assert codes("#[autodiff_forward(df, Active)]\nfn f(x: f64) -> f64 { x }") == ["FD005"]


def test_mode_and_type_and_return_are_all_reported() -> None:
    text = "#[autodiff_forward(df, Duplicated, Active)]\nfn f(x: f64) -> f64 { x }"
    assert sorted(codes(text)) == ["FD006", "FD007", "FD008"]


def test_places_are_narrow() -> None:
    text = IMPORTS + "#[autodiff_reverse(df, Dupl, Active)]\nfn f(x: &f64) -> f64 { *x }"
    analysis, (diagnostic,) = found(text)
    assert analysis.source.slice(diagnostic.span) == "Dupl"
    assert analysis.source.slice(diagnostic.related[0].span) == "x: &f64"
    assert diagnostic.fixes[0].title == "Replace by `Duplicated`"
    assert diagnostic.fixes[0].preferred


def test_a_misspelt_activity_is_corrected_first() -> None:
    text = IMPORTS + "#[autodiff_reverse(df, Dupliacted, Active)]\nfn f(x: &f64) -> f64 { *x }"
    _, (diagnostic,) = found(text)
    assert applied(text, diagnostic.fixes[0].edits) == text.replace("Dupliacted", "Duplicated")


def test_missing_activities_are_named_and_added() -> None:
    text = IMPORTS + "#[autodiff_forward(df, Dual)]\nfn f(x: f64, n: usize) -> f64 { x }"
    _, (diagnostic,) = found(text)
    assert diagnostic.message == "expected 3 activities, but found 1"
    assert diagnostic.notes == ("missing: `n`, the return value",)
    assert "(df, Dual, Const, Dual)" in applied(text, diagnostic.fixes[0].edits)


def test_surplus_activities_are_removed() -> None:
    text = IMPORTS + "#[autodiff_forward(df, Dual, Dual, Const, Const)]\nfn f(x: f64) -> f64 { x }"
    _, (diagnostic,) = found(text)
    assert "(df, Dual, Dual)]" in applied(text, diagnostic.fixes[0].edits)


def test_the_old_form_becomes_the_new_one() -> None:
    text = (
        "use std::autodiff::autodiff;\n#[autodiff(df, Forward, 4, Dual, DualOnly)]\nfn f(x: f64) -> f64 { x }"
    )
    _, (diagnostic,) = found(text)
    written = applied(text, diagnostic.fixes[0].edits)
    assert written.startswith(
        "use std::autodiff::autodiff_forward;\n#[autodiff_forward(df, 4, Dual, DualOnly)]"
    )
    assert analyse(written).diagnostics == ()
    assert diagnostic.tags == ("deprecated",)


def test_imports_and_gate_are_added_at_their_places() -> None:
    text = f"//! doc\n\nuse std::fmt;\n\n{FORWARD}\nfn main() {{}}\n"
    for _ in range(2):
        diagnostic = analyse(text).diagnostics[0]
        text = applied(text, diagnostic.fixes[0].edits)
    assert not analyse(text).diagnostics
    assert "use std::autodiff::autodiff_forward;\nuse std::fmt;" in text


def test_an_inner_module_needs_its_own_import() -> None:
    text = f"use std::autodiff::autodiff_forward;\nmod m {{\n{FORWARD}\n}}"
    assert [d.code for d in analyse(text).diagnostics] == ["FD009"]
    assert not analyse(text.replace("mod m {", "mod m { use super::*;")).diagnostics


def test_a_local_import_is_enough() -> None:
    text = "fn g() { use std::autodiff::autodiff_forward as fw; "
    text += "#[fw(df, Dual, Dual)] fn f(x: f64) -> f64 { x } }"
    assert not analyse(text).diagnostics


def test_names_in_other_scopes_do_not_clash() -> None:
    inner = "#[autodiff_forward(df, Dual, Dual)] fn f(x: f64) -> f64 { x }"
    assert codes(f"fn df() {{}}\nmod m {{ use super::*; {inner} }}\nfn g() {{ {inner} }}") == []


def test_conditional_items_may_share_a_name() -> None:
    function = "#[autodiff_forward(df, Dual, Dual)] fn f(x: f64) -> f64 { x }"
    assert codes(f"#[cfg(a)] {function}\n#[cfg(not(a))] {function}") == []
    assert codes(f"#[cfg(a)] fn df() {{}}\n{function}") == []


def test_pattern_parameters_are_named_by_the_fix() -> None:
    text = IMPORTS + "#[autodiff_reverse(df, Active, Active)]\nfn f((x, y): (f64, f64)) -> f64 { x * y }"
    _, (diagnostic,) = found(text)
    after = applied(text, diagnostic.fixes[0].edits)
    assert "fn f(p0: (f64, f64)) -> f64 { let (x, y) = p0; x * y }" in after
    assert not analyse(after).diagnostics


WARNED = "#[autodiff_forward(df, Dual, Const)]\nfn f(x: f64) -> f64 { x }"


@pytest.mark.parametrize(
    "text",
    [
        f"// ferrodiff: allow(FD028)\n{WARNED}",
        WARNED.replace("]\n", "] // ferrodiff: allow(FD028)\n"),
        f"// ferrodiff: allow-file(FD001, FD028)\n\nfn g() {{}}\n\n{WARNED}",
        f"/// doc\n// ferrodiff: allow(FD028)\n{WARNED}",
    ],
)
def test_silencing(text: str) -> None:
    assert codes(text) == []


def test_silencing_reaches_only_its_function_and_code() -> None:
    again = WARNED.replace("df", "dg").replace("fn f", "fn g")
    assert codes(f"// ferrodiff: allow(FD028)\n{WARNED}\n{again}") == ["FD028"]
    assert codes(f"// ferrodiff: allow(FD027)\n{WARNED}") == ["FD028"]


def test_severities_are_configurable() -> None:
    diagnostics = analyse(IMPORTS + WARNED).diagnostics
    assert list(Configuration({"FD028": "off"}).apply(diagnostics)) == []
    (changed,) = Configuration({"const-return-forward": "error"}).apply(diagnostics)
    assert changed.severity is Severity.ERROR
    with pytest.raises(ConfigurationError, match="FD999"):
        Configuration({"FD999": "off"})
    with pytest.raises(ConfigurationError, match="loud"):
        Configuration({"FD028": "loud"})


@pytest.mark.parametrize(
    "text",
    [
        "// #[autodiff_forward(df)]\nfn f() {}",
        "/// ```\n/// #[autodiff_forward(df)]\n/// ```\nfn f() {}",
        'const S: &str = "#[autodiff_forward(df)] fn f() {}";',
        'const S: &str = r#"#[autodiff_forward(df)] fn f() {}"#;',
        "macro_rules! m { () => { #[autodiff_forward(df)] fn f(x: u8) {} } }",
        "m! { #[autodiff_forward(df)] fn f(x: u8) {} }",
        "/* #[autodiff_forward(df)] /* nested */ */ fn f() {}",
        "#[other::autodiff] fn f() {}",
    ],
)
def test_what_is_not_an_annotation(text: str) -> None:
    analysis = analyse(text)
    assert not analysis.functions
    assert not analysis.diagnostics


@pytest.mark.parametrize(
    ("definition", "written", "reported"),
    [
        ("struct P { n: usize, names: Vec<String> }", "&P", True),
        ("struct P(usize, Q); struct Q { on: bool }", "&[P]", True),
        ("type P = u32;", "&P", True),
        ("enum P { A, B(u8), C { n: i64 } }", "&P", True),
        ("struct P { n: usize, x: f64 }", "&P", False),
        ("enum P { A, B(f32) }", "&P", False),
        ("struct P { n: Unknown }", "&P", False),
        ("struct P<T> { n: T }", "&P<f64>", False),
        ("struct P { next: Option<Box<P>>, n: u8 }", "&P", True),
        ("type P = f64;", "&P", False),
        ("mod a { pub struct P(u8); } mod b { pub struct P(f64); }", "&b::P", False),
    ],
)
def test_types_of_the_same_file_are_looked_into(definition: str, written: str, reported: bool) -> None:
    function = (
        f"#[autodiff_reverse(df, Duplicated, Active, Active)]\nfn f(p: {written}, x: f64) -> f64 {{ x }}"
    )
    assert codes(f"{function}\n{definition}") == (["FD021"] if reported else [])


def test_self_is_looked_into() -> None:
    method = "#[autodiff_reverse(df, Duplicated, Active, Active)]\nfn f(&self, x: f64) -> f64 { x }"
    assert codes(f"struct P {{ n: u8 }}\nimpl P {{\n{method}\n}}") == ["FD021"]
    assert codes(f"struct P {{ n: f64 }}\nimpl P {{\n{method}\n}}") == []
