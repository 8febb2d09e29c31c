"""The table of all rules, and how an instruction finds its own.

Adding a function is adding one row to `operators`, `intrinsics` or `libm`. Three answers are possible: a
rule with partials, a rule whose `is_inactive` says that nothing depends on the operands smoothly, and None:
unknown, which a transform must answer with `CannotDifferentiate` unless the operation is structural or
listed in `runtime`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import (
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    Type,
    f32,
    f64,
    is_float_like,
)
from ferrodiff.adcore.rules import intrinsics, libm, operators
from ferrodiff.adcore.rules.mangling import base_of_intrinsic, rust_path
from ferrodiff.adcore.rules.rule import Rule, Site

RULES: tuple[Rule, ...] = operators.RULES + intrinsics.RULES + libm.RULES
"""Every row, in the order of the documentation."""

STRUCTURAL = operators.STRUCTURAL

REFUSED: dict[str, str] = {
    "nextafter": "its result steps from one float to the next",
    "nexttoward": "its result steps from one float to the next",
    "scalb": "its exponent is a float",
    "strtod": "it makes floats from text",
    "rand": "it is random",
    "drand48": "it is random",
}
"""Known functions without a derivative rule, and why."""


def _by_name(rules: tuple[Rule, ...]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for rule in rules:
        for name in rule.names:
            if name in found:
                raise ValueError(f"two rules for {name}")
            found[name] = rule
    return found


BY_OPCODE: dict[str, Rule] = _by_name(operators.RULES)
BY_NAME: dict[str, Rule] = _by_name(intrinsics.RULES + libm.RULES)
"""Rules by intrinsic base name (`llvm.sin`) or symbol (`sin`)."""


class _Spelling(NamedTuple):
    rule: Rule
    float_type: FloatType | None


@cache
def _spelling(symbol: str) -> _Spelling | None:
    """The rule of a symbol, and the float type that the symbol's spelling promises (None: any)."""
    if symbol.startswith("llvm."):
        rule = BY_NAME.get(base_of_intrinsic(symbol))
        return None if rule is None else _Spelling(rule, None)
    name = _libm_name(symbol)
    rule = BY_NAME.get(name)
    if rule is None:
        return None
    return _Spelling(rule, _promised(name, rule))


def _libm_name(symbol: str) -> str:
    """`sin` of a Rust crate that carries libm's functions; any other symbol is its own name."""
    path = rust_path(symbol)
    if len(path) >= 3 and path[0] in ("libm", "compiler_builtins") and "math" in path[1:-1]:
        return path[-1]
    return symbol


def _promised(name: str, rule: Rule) -> FloatType | None:
    if name.startswith("__"):
        return f64 if name.startswith("__ferrodiff") else None
    stem, _, suffix = name.partition("_r")
    single = stem.endswith("f") and stem[:-1] + (f"_r{suffix}" if "_r" in name else "") in rule.names
    return f32 if single else f64


def rule_for_call(symbol: str, function_type: FunctionType | None = None) -> Rule | None:
    """The rule of a function by its symbol or intrinsic name, or None.

    With `function_type`, a function of the user's that merely shares the name of a libm function (`y1`,
    `gamma`) and has another signature is not taken for it. Only ask for functions without a body of their
    own, and for the special functions.
    """
    found = _spelling(symbol)
    if found is None:
        return None
    if function_type is not None and not _fits(found, function_type):
        return None
    return found.rule


def _fits(spelling: _Spelling, kind: FunctionType) -> bool:
    letters = spelling.rule.operands
    if len(kind.params) < len(letters) or kind.vararg:
        return False
    if spelling.float_type is None:
        return True
    return len(kind.params) == len(letters) and all(
        _is_letter(letter, param, spelling.float_type)
        for letter, param in zip(letters, kind.params, strict=True)
    )


def _is_letter(letter: str, param: Type, float_type: FloatType) -> bool:
    match letter:
        case "f":
            return param is float_type
        case "i":
            return isinstance(param, IntType)
        case "p":
            return isinstance(param, PointerType)
        case _:
            return False


def rule_for_instruction(insn: Instruction) -> Rule | None:
    """The rule of an instruction; calls are looked up by their callee's name. None if there is none.

    Binary integer operations on what used to be floats have the rules of integers: following float bits
    through integers is the business of the activity analysis.
    """
    if isinstance(insn, Call):
        name = insn.callee_name
        return None if name is None else rule_for_call(name, insn.function_type)
    return BY_OPCODE.get(insn.opcode)


def is_float_operation(insn: Instruction) -> bool:
    """Whether the result or an operand of the instruction is a float or a vector of floats."""
    return is_float_like(insn.type) or any(is_float_like(v.type) for v in insn.operands)


__all__ = [
    "BY_NAME",
    "BY_OPCODE",
    "REFUSED",
    "RULES",
    "STRUCTURAL",
    "Rule",
    "Site",
    "is_float_operation",
    "rule_for_call",
    "rule_for_instruction",
]
