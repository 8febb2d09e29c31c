"""A crate root without the feature gate."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD010",
    name="missing-feature-gate",
    severity=Severity.HINT,
    says="use of unstable library feature `autodiff`",
    why="""\
rustc's own autodiff needs `#![feature(autodiff)]` in the root of the crate and a nightly toolchain
(`E0658`). Ferrodiff compiles annotations on stable Rust and does not need the gate, so this is a hint:
without the gate the file means nothing to rustc itself. It is reported once, and only where the file is
seen to be a crate's root: it has a `main` function or crate attributes.
""",
    bad="""use std::autodiff::autodiff_forward;

#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }

fn main() {}
""",
    good="""#![feature(autodiff)]
use std::autodiff::autodiff_forward;

#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }

fn main() {}
""",
)
_NOTE = "see issue #124509 <https://github.com/rust-lang/rust/issues/124509> for more information"
_HELP = "add `#![feature(autodiff)]` to the crate attributes to enable"


_MOST_RELATED = 8


def check(file: File) -> Iterator[Diagnostic]:
    located = [item for item in file.located if not item.annotation.old_form]
    if not located or not file.is_crate_root:
        return
    gates = [a for a in file.analysis.inner_attributes if "feature" in a.text]
    if any("autodiff" in a.text for a in gates):
        return
    at = Span(file.attribute_start, file.attribute_start)
    fix = Fix("Add `#![feature(autodiff)]`", (Edit(at, "#![feature(autodiff)]\n"),), preferred=True)
    spans = [i.span for i in file.imports if i.macro.startswith("autodiff_")]
    spans += [item.at(item.annotation.path_span) for item in located if not item.annotation.via_cfg_attr]
    for first in sorted(spans)[:1]:
        related = [Related(span, "needed here too") for span in sorted(spans)[1 : _MOST_RELATED + 1]]
        yield RULE.at(first, related=related, notes=(_NOTE, _HELP), fixes=(fix,))
