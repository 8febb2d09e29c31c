"""Shadows of function pointers and trait objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity

RULE = Rule(
    code="FD038",
    name="shadow-of-unknown-code",
    severity=Severity.WARNING,
    says="{activity} for `{type}`: calls through it have no derivative, as their target is not known",
    why="""\
A function pointer or a trait object says which code runs only at run time, and derivatives are generated at
compile time. rustc's backend does not support trait objects, and wants function pointers `Const`. Nothing
checks that the shadow of a trait object hides the same type as the primal. Where the value is called with
differentiated arguments, take it as a generic parameter, such as `impl Fn(f64) -> f64` or `&impl Model`: then
each type has a derivative of its own. Where it is not, it is `Const`.
""",
    bad="""#[autodiff_forward(df, Dual, Dual, Dual)]
fn f(g: fn(f64) -> f64, x: f64) -> f64 { g(x) }
""",
    good="""#[autodiff_forward(df, Const, Dual, Dual)]
fn f(g: impl Fn(f64) -> f64, x: f64) -> f64 { g(x) }
""",
)
_OWNER = r"(?:(?:::)?(?:std|alloc)::(?:boxed|rc|sync)::)?(?:Box|Rc|Arc)<"
_POINTER = rf"(?:&(?:'\w+ )?(?:mut )?|\*(?:const|mut) |{_OWNER})"
_OBJECT = re.compile(rf"{_POINTER}+\(?dyn\b")
_FUNCTION = re.compile(r"(?:for<[^>]*> )?(?:unsafe )?(?:extern (?:\"[^\"]*\" )?)?fn\(")


@lru_cache(maxsize=1024)
def is_unknown_code(written: str) -> bool:
    """Whether a written type is a function pointer or a pointer to a trait object."""
    return _OBJECT.match(written) is not None or _FUNCTION.match(written) is not None


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, parameter, argument, activity in subject.valid_inputs:
        if activity is not Activity.CONST and is_unknown_code(parameter.type_text):
            words = {"activity": activity.value, "type": parameter.type_text}
            fixes = replace_activity(subject.function, subject.annotation, index, (Activity.CONST,))
            notes = (
                "take it as a generic parameter (`impl Fn` or `&impl Trait`) to differentiate through it",
            )
            related = (subject.about(parameter),)
            yield RULE.at(argument.span, words, related=related, fixes=fixes, notes=notes)
