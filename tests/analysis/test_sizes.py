"""Texts of unusual size and shape: nothing crashes, and what can be found in them is found."""

from __future__ import annotations

import pytest

from ferrodiff.analysis.document import analyse

ANNOTATED = "#[autodiff_forward(df, Dual)]\nfn f(x: f64) {}\n"
HEAD = "#[autodiff_forward(df, Dual)] fn f"
MANY = 1500
DEEP = 10_000


@pytest.mark.parametrize(
    ("text", "annotations"),
    [
        pytest.param(ANNOTATED * MANY, MANY, id="many functions"),
        pytest.param(ANNOTATED.replace("\n", " ") * MANY, MANY, id="many functions on a line"),
        pytest.param(ANNOTATED.replace("\n", "\r\n") * MANY, MANY, id="CRLF"),
        pytest.param(ANNOTATED.replace("\n", "\r") * 50, 50, id="CR"),
        pytest.param("\ufeff" + ANNOTATED, 1, id="BOM"),
        pytest.param(f"// ferrodiff: allow(FD009)\n{ANNOTATED}" * MANY, MANY, id="silenced"),
        pytest.param(f"{HEAD}(x: f64) {{ {'(' * DEEP}{')' * DEEP} }}", 1, id="parentheses"),
        pytest.param(f"{HEAD}(x: f64) {{ {'{' * DEEP}{'}' * DEEP} }}", 1, id="blocks"),
        pytest.param(f"{HEAD}(x: f64) {{ {'let x = 1; ' * 200_000} }}", 1, id="a line of megabytes"),
        pytest.param("fn g() { " * DEEP + ANNOTATED + "}" * DEEP, 1, id="nested functions"),
        pytest.param("#[a]\n" * DEEP + ANNOTATED, 1, id="attributes"),
        pytest.param("// autodiff\n" * DEEP + ANNOTATED, 1, id="comments"),
        pytest.param(f"{HEAD}(x: {'Vec<' * 2000}f64{'>' * 2000}) {{}}", 1, id="generics"),
        pytest.param(
            f"{HEAD}(x: {'Vec::<' * 500}f64{'>' * 500}) where {'dyn A: B, ' * 500}{{}}", 1, id="where"
        ),
        pytest.param("fn g() {}\n/*\n" * MANY + ANNOTATED, 1, id="open comments"),
        pytest.param('fn g() { " }\n' * (MANY + 1) + ANNOTATED, 1, id="open strings"),
        pytest.param("fn g() {\n" * MANY + ANNOTATED, 1, id="open blocks"),
        pytest.param("fn g(x: [\n" * MANY + ANNOTATED, 1, id="open brackets"),
        pytest.param("pub [\n" * MANY + "pub )\n" * MANY + ANNOTATED, 1, id="brackets that match nothing"),
        pytest.param("}\n" * MANY + ANNOTATED, 1, id="closed blocks"),
        pytest.param(f"{HEAD}(#[cfg({'all(' * MANY}{')' * MANY})] x: f64) {{}}", 1, id="conditions"),
        pytest.param("use std::{" * MANY + "autodiff::*" + "}" * MANY + f";\n{ANNOTATED}", 1, id="imports"),
    ],
)
def test_what_is_there_is_found(text: str, annotations: int) -> None:
    analysis = analyse(text)
    assert sum(len(function.annotations) for function in analysis.functions) == annotations
    assert all(diagnostic.span.end <= len(analysis.source) for diagnostic in analysis.diagnostics)


def test_a_chain_of_types_is_followed_to_some_depth_only() -> None:
    chain = "".join(f"struct A{i}(A{i + 1}, A{i + 1});\n" for i in range(500))
    assert analyse(f"use std::autodiff::*;\n{chain}{HEAD}(x: A0) {{}}").functions
