"""The rule table as a page: `python -m ferrodiff.adcore.rules.document > docs/rules.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ferrodiff.adcore.rules import intrinsics, libm, operators, reductions, special
from ferrodiff.adcore.rules.rule import PartialRow, Rule, Special, Times, parameters
from ferrodiff.adcore.rules.table import REFUSED

_INTRODUCTION = """\
# Derivative rules

Generated from the table in `adcore/ferrodiff/adcore/rules`; do not edit. `python -m
ferrodiff.adcore.rules.document > docs/rules.md` writes it again.

Each row gives the partial derivatives of an operation, one per operand, in terms of the operands and of the
result `r`. Forward mode multiplies the operands' tangents by them and adds; reverse mode multiplies the
result's adjoint by them and adds to the operands' adjoints. Both modes read the same rows, so they agree
everywhere, and a partial is computed once per primal value, however many tangents a batch carries.

* **0** stands for an operand that is known to contribute nothing. A function without a row is not taken for
  constant: the derivative is refused, and the message names the function.
* **Strong zero** (marked &#8224;): such a partial can be infinite or NaN at finite input. There, a tangent or
  adjoint of zero contributes exactly zero. `sqrt` at 0 has the partial +inf, and its zero tangent stays zero.
* Formulas are chosen to keep digits: within 4 ulp of the true derivative at interior points, measured
  against 50 digits by `tests/adcore/test_rules_partials.py`.
* Single precision is computed in single precision; Bessel and gamma functions, which have no
  good single-precision version, go through double.
* Where an operation has a kink, the derivative is the one of the side that the primal took.
"""

_SPECIAL = """\
## Functions that come along

Derivatives need a few functions that no libm has. They are LLVM functions of our own, added to a module that
uses them, and they have rows above, so that derivatives of derivatives exist too.
"""

_REFUSED = """\
## Known, and refused
"""

_NAMES = "xyzw"


def page() -> str:
    """The whole page, as Markdown."""
    parts = [_INTRODUCTION]
    for title, rules in (
        ("Instructions", operators.ARITHMETIC),
        ("Elementary functions", intrinsics.ELEMENTARY + libm.ELEMENTARY + libm.TURNS),
        ("Signs, extrema and remainders", intrinsics.SIGN + intrinsics.EXTREMA + libm.REMAINDERS),
        ("Special functions", libm.SPECIAL),
        ("Scaling, splitting and identities", intrinsics.SCALING + intrinsics.PAIRS + intrinsics.IDENTITIES),
        ("Complex arithmetic", libm.COMPLEX),
        ("Reductions over vectors", reductions.REDUCTIONS),
        ("Arithmetic of compiler-builtins", tuple(r for r in libm.BUILTINS if not r.is_inactive)),
    ):
        parts.append(_table(title, rules))
    parts.append(_discrete())
    parts.append(_SPECIAL + "\n" + _special_list())
    parts.append(_REFUSED + "\n" + "\n".join(f"* `{n}`: {why}" for n, why in REFUSED.items()) + "\n")
    return "\n".join(parts)


def _table(title: str, rules: Iterable[Rule]) -> str:
    lines = [f"## {title}\n", "| operation | partials | notes |", "| --- | --- | --- |"]
    lines += [f"| {_names(rule)} | {_partials(rule)} | {_notes(rule)} |" for rule in rules]
    return "\n".join(lines) + "\n"


def _names(rule: Rule) -> str:
    names = [n for n in rule.names if not (n.endswith("f") and n[:-1] in rule.names)]
    first = f"`{names[0]}({', '.join(_operands(rule))})`"
    return ", ".join([first, *(f"`{n}`" for n in names[1:])])


def _operands(rule: Rule) -> tuple[str, ...]:
    """The operands' names, as the rows' own formulas call them."""
    for row in _rows(rule):
        if row.formula is not None:
            return parameters(row.formula)[: rule.arity]
    letters = iter(_NAMES)
    return tuple({"i": "n", "p": "p", "b": "c"}.get(letter) or next(letters) for letter in rule.operands)


def _rows(rule: Rule) -> list[PartialRow]:
    written = (p for w in rule.writes for p in (w.partials or ()))
    rows = (*rule.partials, *(p for f in rule.fields for p in f), *written)
    return [row for row in rows if row is not None]


def _partials(rule: Rule) -> str:
    groups = list(rule.fields) or [rule.partials]
    groups += [w.partials for w in rule.writes if w.partials is not None]
    if not any(rule.partials) and rule.writes and not rule.fields:
        groups = groups[1:]
    return "; ".join(", ".join(map(_cell, group)) for group in groups)


def _cell(row: PartialRow | None) -> str:
    if row is None:
        return "0"
    mark = "&#8224;" if isinstance(row, (Times, Special)) and row.singular else ""
    return f"`{row.text}`{mark}"


def _notes(rule: Rule) -> str:
    return "; ".join(note for note in (rule.doc, f"edge: {rule.edge}" if rule.edge else "") if note)


def _discrete() -> str:
    rules = (*operators.DISCRETE, *intrinsics.STEPS, *intrinsics.INTEGERS, *libm.STEPS, *libm.BUILTINS)
    names = [f"`{rule.name}`" for rule in rules if rule.is_inactive]
    return (
        "## Without derivative\n\nComparisons, integers, steps and classifications:\n"
        + _wrapped(names)
        + "\n"
    )


def _wrapped(words: list[str]) -> str:
    lines: list[str] = []
    line = ""
    for word in words:
        if len(line) + len(word) > 108:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    return "\n".join([*lines, line.rstrip()])


def _special_list() -> str:
    text = (special.__doc__ or "").partition("\n\n")[2].partition("\n\n")[2]
    return text.partition("\n\n")[0] + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
