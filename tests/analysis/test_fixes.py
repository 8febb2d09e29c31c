"""Quick fixes: what they make of a text, that problems get fewer, and that rustc agrees."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import pytest

from ferrodiff.analysis.diagnostics import Diagnostic, Severity
from ferrodiff.analysis.diagnostics.core import Fix
from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.fixes import alternatives, new_form, rename_parameter, rust_analyzer_stub, widths

needs_rustc = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is the oracle")
IMPORTS = "use std::autodiff::{autodiff_forward, autodiff_reverse};\n"
FUNCTIONS = (
    "fn f(x: f64) -> f64 { x }",
    "fn f(x: &[f64]) -> f64 { x[0] }",
    "fn f(x: &[f64], out: &mut [f64]) { out[0] = x[0]; }",
    "fn f(n: usize, x: f64) {}",
)
ACTIVITIES = ("Const", "Dual", "Dualv", "DualOnly", "Active", "ActiveOnly", "Duplicated", "None", "Foo")
MASKING = {"FD001", "FD003", "FD004", "FD005", "FD012", "FD013"}
"""As long as these stand, other errors of the annotation are not looked for."""


def applied(text: str, fix: Fix) -> str:
    edits = sorted(fix.edits, key=lambda e: (e.span.start, e.span.end))
    assert all(a.span.end <= b.span.start for a, b in pairwise(edits)), "edits overlap"
    data = text.encode()
    for edit in reversed(edits):
        data = data[: edit.span.start] + edit.new_text.encode() + data[edit.span.end :]
    return data.decode()


def wrong_annotations() -> Iterator[str]:
    for mode, width, function in product(("forward", "reverse"), ("", "0, ", "4, ", "100, "), FUNCTIONS):
        for listed in ("", *ACTIVITIES, *[", ".join(pair) for pair in product(ACTIVITIES, repeat=2)]):
            head = f"df, {width}{listed}".rstrip(", ")
            yield f"{IMPORTS}#[autodiff_{mode}({head})]\n{function}\n"
    yield from [f"{IMPORTS}{text}\n" for text in SINGLE]


SINGLE = (
    "#[autodiff_forward(df, Dual, Dual, Dual,)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(\n    df,\n    Dual, // the input\n)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual(3), Dual = 1)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, 4u32, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, 4294967296, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(x, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]\n#[autodiff_reverse(df, Active, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\nfn df() {}",
    "#[autodiff(df, Forward, 4, Dual, DualOnly)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff(df, Reverse, DuplicatedNoNeed, Active)]\nfn f(x: &f64) -> f64 { *x }",
    "#[autodiff_forward(df, Dual, Dual)]\n#[inline]\nfn f(x: f64) -> f64 { x }",
    "mod m {\n    #[autodiff_forward(df, Dual, Dual)]\n    fn f(x: f64) -> f64 { x }\n}",
    "#[autodiff_reverse(größe, Duplicated, Active)]\nfn f(größe: f64) -> f64 { größe }",
)


def errors(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [d for d in diagnostics if d.severity is Severity.ERROR]


def worth(analysis: FileAnalysis) -> tuple[int, ...]:
    """Smaller is better: errors, then warnings, then everything else."""
    ranks = [d.severity for d in analysis.diagnostics]
    return tuple([ranks.count(severity) for severity in Severity])


def test_every_fix_removes_its_problem() -> None:
    """Where nothing is masked, there are then fewer problems, or lesser ones, than before."""
    count = 0
    for text in wrong_annotations():
        before = analyse(text)
        masked = any(d.code in MASKING for d in before.diagnostics)
        for diagnostic in before.diagnostics:
            for fix in diagnostic.fixes:
                count += 1
                after = analyse(applied(text, fix))
                assert not after.tree.root_node.has_error, fix
                gone = [
                    d
                    for d in after.diagnostics
                    if (d.code, d.message) == (diagnostic.code, diagnostic.message)
                ]
                same = [
                    d
                    for d in before.diagnostics
                    if (d.code, d.message) == (diagnostic.code, diagnostic.message)
                ]
                assert len(gone) < len(same), (text, fix.title)
                if not masked and diagnostic.severity is Severity.ERROR:
                    assert worth(after) < worth(before), (text, fix.title)
    assert count > 5000


def test_preferred_fixes_lead_to_an_annotation_without_errors() -> None:
    for text in wrong_annotations():
        current = text
        for _ in range(8):
            offered = [fix for d in errors(analyse(current).diagnostics) for fix in d.fixes if fix.preferred]
            if not offered:
                break
            current = applied(current, offered[0])
        assert not errors(analyse(current).diagnostics), (text, current)


@needs_rustc
def test_rustc_accepts_what_the_preferred_fixes_make(tmp_path: Path) -> None:
    parts: list[str] = []
    for text in wrong_annotations():
        current = text.removeprefix(IMPORTS)
        if "mod m" in current or "fn df()" in current or len(parts) >= 700:
            continue
        for _ in range(8):
            found = [d for d in analyse(IMPORTS + current).diagnostics if d.severity is not Severity.HINT]
            offered = [fix for d in found for fix in d.fixes if fix.preferred]
            if not offered:
                break
            current = applied(IMPORTS + current, offered[0]).removeprefix(IMPORTS)
        parts.append(f"mod m{len(parts)} {{\n{IMPORTS}{current}\n}}")
    output = expanded("\n".join(parts), tmp_path)
    assert output.count("rustc_autodiff(") >= len(parts)


def expanded(items: str, folder: Path, *flags: str, mode: str = "-Zunpretty=expanded") -> str:
    """What rustc makes of a crate of these items; fails with rustc's errors."""
    file = folder / "fixed.rs"
    file.write_text(
        f"#![feature(autodiff)]\n#![allow(warnings)]\n{items}\nfn main() {{}}\n", encoding="utf-8"
    )
    command = ["rustc", mode, "--edition", "2024", *flags, "--out-dir", str(folder), str(file)]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert run.returncode == 0, run.stderr[:3000]
    return run.stdout


# -- the old form ----------------------------------------------------------------------------------------

OLD = "#[autodiff(df, Forward, 4, Dual, DualOnly)]\nfn f(x: f64) -> f64 { x }\n"
OLD_REVERSE = "#[autodiff(dg, Reverse, Active, Active)]\nfn g(x: f64) -> f64 { x }\n"


@pytest.mark.parametrize(
    ("imports", "others", "expected"),
    [
        ("use std::autodiff::autodiff;\n", "", "use std::autodiff::autodiff_forward;\n"),
        ("use std::autodiff::autodiff;\n", OLD_REVERSE, IMPORTS),
        ("use std::{autodiff::autodiff, fmt};\n", "", "use std::{autodiff::autodiff_forward, fmt};\n"),
        ("use std::autodiff::{autodiff, other};\n", OLD_REVERSE,
         "use std::autodiff::{autodiff_forward, autodiff_reverse, other};\n"),
        ("use core::autodiff::*;\n", "", "use core::autodiff::*;\n"),
        (IMPORTS, "", IMPORTS),
    ],
)  # fmt: skip
def test_old_form_and_its_import(imports: str, others: str, expected: str) -> None:
    text = imports + OLD + others
    analysis = analyse(text)
    function = analysis.functions[0]
    (fix,) = new_form(function.annotations[0], analysis)
    assert (
        applied(text, fix) == expected + OLD.replace("autodiff(df, Forward,", "autodiff_forward(df,") + others
    )


def test_old_form_under_another_name() -> None:
    text = "use std::autodiff::autodiff as ad;\n" + OLD.replace("autodiff(", "ad(")
    analysis = analyse(text)
    (fix,) = new_form(analysis.functions[0].annotations[0], analysis)
    after = applied(text, fix)
    assert after.startswith(
        "use std::autodiff::autodiff_forward;\n#[autodiff_forward(df, 4, Dual, DualOnly)]"
    )
    assert not analyse(after).diagnostics


@pytest.mark.parametrize(
    ("before", "path"),
    [("", "std::autodiff::autodiff_forward"), ("#![no_std]\n", "core::autodiff::autodiff_forward")],
)
def test_old_form_without_any_import(before: str, path: str) -> None:
    text = before + OLD
    analysis = analyse(text)
    (fix,) = new_form(analysis.functions[0].annotations[0], analysis)
    assert f"#[{path}(df, 4, Dual, DualOnly)]" in applied(text, fix)


def test_an_unknown_mode_is_not_guessed() -> None:
    analysis = analyse("#[autodiff(df, Frob, Dual, Dual)] fn f(x: f64) -> f64 { x }")
    assert new_form(analysis.functions[0].annotations[0], analysis) == ()


# -- other forms -----------------------------------------------------------------------------------------


def titled(text: str, words: str) -> str:
    analysis = analyse(text)
    (function,) = analysis.functions
    found = alternatives(function, function.annotations[0], "", analysis)
    return applied(text, next(fix for fix in found if words in fix.title))


def test_the_other_mode_is_written_so_that_it_is_known() -> None:
    text = "use std::autodiff::autodiff_forward;\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n"
    after = titled(text, "autodiff_reverse")
    assert "#[std::autodiff::autodiff_reverse(df, Active, Active)]" in after
    assert not errors(analyse(after).diagnostics)


def test_an_alias_of_the_other_mode_is_used() -> None:
    text = (
        "use std::autodiff::{autodiff_forward, autodiff_reverse as rev};\n"
        "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n"
    )
    assert "#[rev(df, Active, Active)]" in titled(text, "Turn into")


def test_imports_of_the_root_do_not_reach_into_modules() -> None:
    text = (
        "use std::autodiff::autodiff_reverse;\nmod m {\n    use std::autodiff::autodiff_forward;\n"
        "    #[autodiff_forward(df, Dual, Dual)]\n    fn f(x: f64) -> f64 { x }\n}\n"
    )
    after = titled(text, "Turn into")
    assert "#[std::autodiff::autodiff_reverse(df, Active, Active)]" in after


def test_a_width_goes_where_it_would_mean_nothing() -> None:
    text = IMPORTS + "#[autodiff_forward(df, 4, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n"
    after = titled(text, "Turn into")
    assert "#[autodiff_reverse(df, Active, Active)]" in after
    assert not analyse(after).diagnostics


def test_a_width_stays_where_every_lane_has_its_shadow() -> None:
    text = (
        IMPORTS
        + "#[autodiff_forward(df, 4, Dual, Dual)]\nfn f(x: &[f64], out: &mut [f64]) { out[0] = x[0]; }\n"
    )
    assert "#[autodiff_reverse(df, 4, Duplicated, Duplicated)]" in titled(text, "Turn into")


@pytest.mark.parametrize(
    ("annotation", "function", "expected"),
    [
        ("autodiff_forward(df, Dual, Dual)", FUNCTIONS[0], [2, 4, 8, 16]),
        ("autodiff_forward(df, 4, Dual, Dual)", FUNCTIONS[0], [2, 8, 16, 1]),
        ("autodiff_reverse(df, Active, Active)", FUNCTIONS[0], []),
        ("autodiff_reverse(df, 4, Active, Active)", FUNCTIONS[0], [1]),
        ("autodiff_reverse(df, Duplicated, Duplicated)", FUNCTIONS[2], [2, 4, 8, 16]),
    ],
)
def test_widths_are_offered_where_they_mean_something(
    annotation: str, function: str, expected: list[int]
) -> None:
    text = f"{IMPORTS}#[{annotation}]\n{function}\n"
    (found,) = analyse(text).functions
    results = [analyse(applied(text, fix)) for fix in widths(found, found.annotations[0])]
    assert [r.functions[0].annotations[0].width for r in results] == expected
    assert not any(r.diagnostics for r in results)


# -- the stub --------------------------------------------------------------------------------------------

STUBBED = (
    ("#[autodiff_reverse(df, Duplicated, Active)]", "pub fn f(x: &[f64]) -> f64 { x[0] }"),
    (
        "#[autodiff_forward(df, 2, Dual, DualOnly)]",
        "fn f<'a, T: Copy>(x: &'a T) -> T where T: Default { *x }",
    ),
    ("#[autodiff_reverse(df, DuplicatedOnly)]", 'pub extern "C" fn f(x: &mut f64) { *x = 1.0; }'),
    ("#[autodiff_forward(df, Dual, Dual)]", "const fn f(mut x: f64) -> f64 { x = 1.0; x }"),
    (
        "#[autodiff_forward(\n    df, // name\n    Dual,\n    Dual,\n)]",
        "/// Doc.\n#[inline]\nfn f(r#type: f64) -> f64 { r#type }",
    ),
    ("#[autodiff_forward(df, Dual, Const)]", "fn f(x: &[f64; 3]) -> [f64; 3] { *x }"),
)


@needs_rustc
def test_rustc_compiles_the_stub_and_expands_the_annotation(tmp_path: Path) -> None:
    parts = []
    for number, (annotation, function) in enumerate(STUBBED):
        text = f"{annotation}\n{function}\n"
        analysis = analyse(IMPORTS + text)
        (found,) = analysis.functions
        fix = rust_analyzer_stub(found, found.annotations[0])
        assert fix is not None
        after = applied(IMPORTS + text, fix)
        assert re.search(
            r"#\[cfg_attr\(not\(rust_analyzer\), std::autodiff::autodiff_(forward|reverse)\(", after
        )
        assert not errors(analyse(after).diagnostics)
        # Neither form needs the import any more.
        parts.append(f"mod m{number} {{\n{after.removeprefix(IMPORTS)}\n}}")
    assert expanded("\n".join(parts), tmp_path).count("rustc_autodiff(") >= len(parts)
    expanded("\n".join(parts), tmp_path, "--cfg", "rust_analyzer", mode="--emit=metadata")


# -- parameters ------------------------------------------------------------------------------------------


def renamed(text: str, index: int, new: str) -> str | None:
    analysis = analyse(text)
    (function,) = analysis.all_functions
    fixes = rename_parameter(function, function.parameters[index], new, analysis.source)
    return applied(text, fixes[0]) if fixes else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fn f(x: &f64, dx_0: f64) -> f64 { *x + dx_0 * s.dx_0 }", "fn f(x: &f64, step: f64) -> f64 { *x + step * s.dx_0 }"),
        ("fn f(x: f64, mut dret: f64) -> f64 { dret += x; dret }", "fn f(x: f64, mut step: f64) -> f64 { step += x; step }"),
        ("fn f(x: f64, v: f64) -> P { P { v } }", "fn f(x: f64, step: f64) -> P { P { v: step } }"),
        ("fn f(x: f64, r#type: f64) -> f64 { r#type /* type */ }", "fn f(x: f64, step: f64) -> f64 { step /* type */ }"),
        ("fn f(x: f64, é: f64) -> f64 { x + é }", "fn f(x: f64, step: f64) -> f64 { x + step }"),
    ],
)  # fmt: skip
def test_a_parameter_and_its_uses_are_renamed(before: str, after: str) -> None:
    assert renamed(before, 1, "step") == after


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x: f64, y: f64) -> f64 { let y = x; y }",
        "fn f(x: f64, y: f64) -> f64 { (|y: f64| y)(x) }",
        "fn f(x: f64, y: f64) -> f64 { match x { y => y } }",
        "fn f(x: f64, y: f64) -> f64 { for (y, z) in g() {} y }",
        "fn f(x: f64, y: f64) -> f64 { if let Some(y) = g() { y } else { x } }",
        'fn f(x: f64, y: f64) -> f64 { println!("{y}"); x }',
        "fn f(x: f64, y: f64) -> f64 { max!(x, y) }",
        "fn f(x: f64, y: f64) -> f64 { let step = y; step }",
    ],
)
def test_no_renaming_where_it_might_change_the_meaning(text: str) -> None:
    assert renamed(text, 1, "step") is None


def only(text: str, code: str) -> Diagnostic:
    """The one diagnostic of a text."""
    (diagnostic,) = analyse(text).diagnostics
    assert diagnostic.code == code
    return diagnostic


def test_a_parameter_called_like_a_shadow_is_renamed() -> None:
    text = (
        IMPORTS
        + "#[autodiff_reverse(df, Duplicated, Const, Active)]\nfn f(x: &f64, dx_0: f64) -> f64 { *x + dx_0 }\n"
    )
    written = applied(text, only(text, "FD019").fixes[0])
    assert "fn f(x: &f64, dx_0_2: f64) -> f64 { *x + dx_0_2 }" in written
    assert analyse(written).diagnostics == ()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_inline_goes_with_its_line(end: str) -> None:
    lines = [
        IMPORTS.strip(),
        "#[autodiff_forward(df, Dual, Dual)]",
        "    #[inline(always)]",
        "fn f(x: f64) -> f64 { x }",
        "",
    ]
    text = end.join(lines)
    assert applied(text, only(text, "FD035").fixes[0]) == end.join([*lines[:2], *lines[3:]])
    beside = IMPORTS + "#[autodiff_forward(df, Dual, Dual)]\n#[inline] fn f(x: f64) -> f64 { x }"
    assert applied(beside, only(beside, "FD035").fixes[0]).endswith("\n fn f(x: f64) -> f64 { x }")
