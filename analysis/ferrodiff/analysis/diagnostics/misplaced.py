"""Annotations on anything but a function."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD001",
    name="not-a-function",
    severity=Severity.ERROR,
    says="autodiff must be applied to function",
    why="""\
An annotation belongs on a function with a body: at module level, nested in another function, in an impl, or
in a trait. Closures, `let` statements, expressions, foreign functions, types and modules cannot be
differentiated.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
struct F;
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)
EXPERIMENTAL = "attributes on expressions are experimental"
NOWHERE = "expected item after attributes"
_NO_MACROS = frozenset({"field", "parameter", "enum variant", "match arm"})


def check(file: File) -> Iterator[Diagnostic]:
    for misplaced in file.analysis.misplaced:
        annotation, kind = misplaced.annotation, misplaced.kind
        if kind == "broken code":
            continue
        fix = Fix("Remove the annotation", (Edit(annotation.span, ""),))
        if kind == "nothing":
            yield Diagnostic(RULE.code, RULE.severity, annotation.span, NOWHERE, fixes=(fix,))
        elif kind in _NO_MACROS:
            message = f"expected non-macro attribute, found attribute macro `{annotation.path}`"
            yield Diagnostic(RULE.code, RULE.severity, annotation.path_span, message, fixes=(fix,))
        else:
            related = (Related(annotation.item_span, f"on this {kind}"),)
            if misplaced.is_expression:
                yield Diagnostic(RULE.code, RULE.severity, annotation.span, EXPERIMENTAL, fixes=(fix,))
            whole = kind in ("let statement", "expression")
            span = misplaced.target_span if whole else _head(file, misplaced.target_span)
            yield RULE.at(span, related=related, fixes=(fix,))


def _head(file: File, target: Span) -> Span:
    """The first line of an item, up to its opening brace."""
    line = file.analysis.source.line_span(file.analysis.source.line_of(target.start))
    end = min(line.end, target.end)
    brace = file.analysis.source.data.find(b"{", target.start, end)
    text = file.analysis.source.data[target.start : brace if brace > target.start else end]
    return Span(target.start, target.start + max(len(text.rstrip()), 1))
