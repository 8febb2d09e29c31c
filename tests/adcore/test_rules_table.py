"""The table as a whole: lookups, runtime symbols, closure under differentiation, the page made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, poison
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.types import FunctionType, StructType, Type, VectorType, f32, f64, i1, i32, i64, ptr
from ferrodiff.adcore.rules import document, runtime
from ferrodiff.adcore.rules.mangling import base_of_intrinsic, rust_path
from ferrodiff.adcore.rules.partial import CastPartial, NoDerivative, Scale
from ferrodiff.adcore.rules.rule import Rule, Site
from ferrodiff.adcore.rules.runtime import Kind, Motion, Role
from ferrodiff.adcore.rules.table import (
    BY_NAME,
    BY_OPCODE,
    REFUSED,
    RULES,
    STRUCTURAL,
    rule_for_call,
    rule_for_instruction,
)

ROOT = Path(__file__).parents[2]


# -- lookups -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("llvm.sin.f64", "llvm.sin"),
        ("llvm.sin.v4f32", "llvm.sin"),
        ("llvm.powi.f64.i32", "llvm.powi"),
        ("llvm.vector.reduce.fadd.v4f64", "llvm.vector.reduce.fadd"),
        ("llvm.fptosi.sat.i32.f64", "llvm.fptosi.sat"),
        ("llvm.sincos.f64", "llvm.sincos"),
        ("llvm.sadd.with.overflow.i64", "llvm.sadd.with.overflow"),
        ("sinf", "llvm.sin"),
        ("tan", "llvm.tan"),
        ("fmax", "llvm.maxnum"),
        ("cbrtf", "cbrt"),
        ("lgammaf_r", "lgamma_r"),
        ("__powidf2", "llvm.powi"),
        ("_ZN4libm4math4cbrt4cbrt17h0123456789abcdefE", "cbrt"),
        ("_RNvNtNtCs1a_4libm4math5atan25atan2", "llvm.atan2"),
    ],
)
def test_found(symbol: str, name: str) -> None:
    rule = rule_for_call(symbol)
    assert rule is not None and rule.name == name


@pytest.mark.parametrize("symbol", ["my_sin", "nextafter", "select", "fadd", "llvm.nonesuch.f64", "", "sinl"])
def test_unknown(symbol: str) -> None:
    """Unknown is None, never a zero derivative; an opcode's name is no function's."""
    assert rule_for_call(symbol) is None


def test_a_function_that_shares_a_name_is_not_taken() -> None:
    """`y1` may be anybody's: the signature has to be libm's."""
    assert rule_for_call("y1", FunctionType(f64, (f64,))) is BY_NAME["y1"]
    assert rule_for_call("y1", FunctionType(f64, (ptr,))) is None
    assert rule_for_call("y1", FunctionType(f64, (f64, f64))) is None
    assert rule_for_call("sinf", FunctionType(f64, (f64,))) is None
    assert rule_for_call("sinf", FunctionType(f32, (f32,))) is BY_NAME["llvm.sin"]
    assert rule_for_call("lgamma_r", FunctionType(f64, (f64, ptr))) is BY_NAME["lgamma_r"]
    assert (
        rule_for_call("llvm.sin.v2f64", FunctionType(VectorType(2, f64), (VectorType(2, f64),))) is not None
    )


def test_refused_functions_have_no_rule() -> None:
    assert all(rule_for_call(name) is None for name in REFUSED)


def test_instructions_find_their_rules() -> None:
    function = new_function("f", f64, [f64, f64])
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    x, y = function.arguments
    made = [
        (builder.fmul(x, y), BY_OPCODE["fmul"]),
        (builder.fcmp("olt", x, y), BY_OPCODE["fcmp"]),
        (builder.call("hypot", f64, [x, y]), BY_NAME["hypot"]),
        (builder.call("unheard_of", f64, [x, y]), None),
        (builder.freeze(x), None),
    ]
    for value, rule in made:
        assert isinstance(value, Instruction)
        assert rule_for_instruction(value) is rule
    assert "freeze" in STRUCTURAL


def test_discrete_operations_are_known_to_be() -> None:
    """Inactive is a rule too: it differs from not knowing."""
    for name in ("llvm.floor", "llvm.lround", "logb", "llvm.ctpop", "llvm.is.fpclass"):
        assert BY_NAME[name].is_inactive
    assert BY_OPCODE["icmp"].is_inactive and BY_OPCODE["fptosi"].is_inactive
    assert not BY_OPCODE["fadd"].is_inactive and not BY_NAME["modf"].is_inactive


def test_every_row_is_well_formed() -> None:
    for rule in RULES:
        rows = [*rule.fields, *(w.partials for w in rule.writes if w.partials is not None)]
        assert all(len(row) == rule.arity for row in rows), rule.name
        assert rule.fields or len(rule.partials) == rule.arity, rule.name
        for letter, row in zip(rule.operands, rule.partials, strict=False):
            assert row is None or letter in "fv*", rule.name
        for write in rule.writes:
            assert rule.operands[write.operand] == "p", rule.name


# -- closure: partials are made of operations that have rules ------------------------------------------------


def site_of(rule: Rule) -> tuple[Site, Builder]:
    kinds: dict[str, Type] = {"f": f64, "i": i32, "p": ptr, "b": i1, "*": f64, "v": VectorType(3, f64)}
    source = f32 if rule.name == "fpext" else f64
    types = [source if letter == "f" else kinds[letter] for letter in rule.operands]
    function = new_function("f", f64, [*types, f64])
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    *operands, result = function.arguments
    whole: Value = result
    if rule.fields:
        second: Value = const_int(i32, 1) if "frexp" in rule.name else result
        whole = poison(StructType((f64, second.type)))
        whole = builder.insert_value(builder.insert_value(whole, result, 0), second, 1)
    return Site(builder, operands, whole, f64), builder


ACTIVE = [rule for rule in RULES if not rule.is_inactive]


@pytest.mark.parametrize("rule", ACTIVE, ids=lambda rule: rule.name)
def test_partials_can_be_differentiated_again(rule: Rule) -> None:
    site, builder = site_of(rule)
    rows = [*rule.partials, *(p for f in rule.fields for p in f)]
    rows += [p for w in rule.writes if w.partials for p in w.partials]
    for row in rows:
        if row is not None:
            row(site)
    assert builder.block is not None
    for insn in builder.block.instructions:
        known = rule_for_instruction(insn) is not None
        assert known or (insn.opcode in STRUCTURAL and insn.opcode != "call"), str(insn)


@pytest.mark.parametrize("rule", ACTIVE, ids=lambda rule: rule.name)
def test_rules_that_say_so_do_not_need_the_result(rule: Rule) -> None:
    """`uses_result_for` is what a reverse sweep plans its tape by."""
    for operand in range(rule.arity):
        if rule.uses_result_for(operand):
            continue
        site, _ = site_of(rule)
        bare = Site(site.builder, site.operands, None, f64)
        partial = rule.partial(bare, operand, 0 if rule.fields else None)
        assert partial is not None


def test_an_inactive_operand_costs_nothing() -> None:
    """Partials are emitted one by one: without a tangent in the exponent no logarithm is taken."""
    site, builder = site_of(BY_NAME["llvm.pow"])
    BY_NAME["llvm.pow"].partial(site, 0)
    assert builder.block is not None
    assert not any("llvm.log" in str(insn) for insn in builder.block.instructions)


def test_powi_by_a_constant() -> None:
    """Small exponents need no call, and none of them a select."""
    rule = BY_NAME["llvm.powi"]
    for n, calls in ((0, 0), (1, 0), (2, 0), (3, 1), (-1, 1)):
        site, builder = site_of(rule)
        partial = rule.partial(Site(builder, [site.operands[0], const_int(i32, n)], site.result), 0)
        assert builder.block is not None
        opcodes = [insn.opcode for insn in builder.block.instructions]
        assert opcodes.count("call") == calls and "select" not in opcodes
        assert isinstance(partial, NoDerivative) == (n == 0)
        assert not isinstance(partial, Scale) or partial.nonfinite == (n < 1)


def test_reciprocal_of_a_constant_one() -> None:
    """1/y has the partial -r*r: no second division."""
    from ferrodiff.adcore.ir.constants import const_float

    site, builder = site_of(BY_OPCODE["fdiv"])
    BY_OPCODE["fdiv"].partial(Site(builder, [const_float(f64, 1.0), site.operands[1]], site.result), 1)
    assert builder.block is not None
    assert not any(insn.opcode == "fdiv" for insn in builder.block.instructions)


def test_casts_are_casts() -> None:
    site, _ = site_of(BY_OPCODE["fptrunc"])
    assert BY_OPCODE["fptrunc"].partial(site, 0) == CastPartial("fptrunc")


# -- runtime symbols -----------------------------------------------------------------------------------------

HASHED = "_RNvCsfLfy6EI15iL_7___rustc"
CORE = "_RNvNtCsgEmfK2I1SDS_4core"


@pytest.mark.parametrize(
    ("symbol", "role"),
    [
        (f"{HASHED}12___rust_alloc", Role.ALLOCATE),
        (f"{HASHED}19___rust_alloc_zeroed", Role.ALLOCATE_ZEROED),
        (f"{HASHED}14___rust_realloc", Role.REALLOCATE),
        (f"{HASHED}14___rust_dealloc", Role.DEALLOCATE),
        ("__rust_alloc", Role.ALLOCATE),
        ("__rdl_dealloc", Role.DEALLOCATE),
        ("malloc", Role.ALLOCATE),
        ("calloc", Role.ALLOCATE_ZEROED),
        ("free", Role.DEALLOCATE),
    ],
)
def test_allocators(symbol: str, role: Role) -> None:
    found = runtime.allocation(symbol)
    assert found is not None and found.role is role


def test_allocator_arguments() -> None:
    grow = runtime.allocation("__rust_realloc")
    assert grow == runtime.Allocation(Role.REALLOCATE, pointer=0, old_size=1, align=2, size=3)
    assert runtime.allocation("alloc") is None
    assert runtime.allocation(f"{HASHED}35___rust_no_alloc_shim_is_unstable_v2") is None


def test_memory_operations() -> None:
    copy = runtime.memory_operation("llvm.memcpy.p0.p0.i64")
    assert copy is not None and (copy.motion, copy.source, copy.length) == (Motion.COPY, 1, 2)
    fill = runtime.memory_operation("llvm.memset.p0.i64")
    assert fill is not None and (fill.motion, fill.byte) == (Motion.FILL, 1)
    move = runtime.memory_operation("memmove")
    assert move is not None and (move.motion, move.returns) == (Motion.MOVE, 0)
    assert runtime.memory_operation("memcmp") is None


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [
        ("llvm.lifetime.start.p0", Kind.MARKER),
        ("llvm.assume", Kind.MARKER),
        ("llvm.trap", Kind.PANIC),
        (f"{CORE}9panicking18panic_bounds_check", Kind.PANIC),
        ("_ZN4core9panicking5panic17h0123456789abcdefE", Kind.PANIC),
        (f"{CORE}6option13unwrap_failed", Kind.PANIC),
        ("_RNvNtNtCsgEmfK2I1SDS_4core5slice5index16slice_index_fail", Kind.PANIC),
        ("_RNvNtCslNYArtu3iFV_5alloc7raw_vec12handle_error", Kind.PANIC),
        ("_RNvXs7_NtNtCsgEmfK2I1SDS_4core3fmt5floatdNtB7_7Display3fmt", Kind.TEXT),
        ("_RNvNtNtCsjrHSEGnQ3l9_3std2io5stdio6__print", Kind.PRINT),
        (f"{HASHED}35___rust_no_alloc_shim_is_unstable_v2", Kind.RUNTIME),
        ("memcmp", Kind.READER),
        ("_Unwind_Resume", Kind.UNWINDING),
    ],
)
def test_harmless(symbol: str, kind: Kind) -> None:
    assert runtime.inactive(symbol) is kind
    assert runtime.is_panic(symbol) == (kind is Kind.PANIC)


@pytest.mark.parametrize(
    "symbol",
    [
        "sin",
        "my_callback",
        "memcpy",
        "_RNvCs1_4user4core",
        "_RNvNtCs1_4user9panicking5panic",
        "_ZN4user4core9panicking5panic17h0123456789abcdefE",
    ],
)
def test_not_known_to_be_harmless(symbol: str) -> None:
    assert runtime.inactive(symbol) is None


def test_a_query_about_panics_returns() -> None:
    """`std::panicking` holds functions that return; they must not pass for diverging ones."""
    symbol = "_RNvNtNtCs1_3std9panicking11panic_count17is_zero_slow_path"
    assert runtime.inactive(symbol) is Kind.RUNTIME
    assert runtime.inactive("_RNvNtCs1_3std9panicking3try") is None


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("_RNvNtCs1_4core9panicking5panic", ("core", "panicking", "panic")),
        ("_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", ("__rustc", "__rust_alloc")),
        ("_RINvNtCs1_4core9panicking13assert_failedjjE", ("core", "panicking", "assert_failed")),
        ("_RNCNvCs1_4user1f0B3_", ("user", "f")),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", ("core", "fmt", "Formatter", "pad")),
        ("_RNv", ()),
        ("plain", ()),
    ],
)
def test_rust_paths(symbol: str, path: tuple[str, ...]) -> None:
    assert rust_path(symbol) == path


def test_intrinsic_bases() -> None:
    assert base_of_intrinsic("llvm.memcpy.p0.p0.i64") == "llvm.memcpy"
    assert base_of_intrinsic("llvm.x86.sse2.pause") == "llvm.x86.sse2.pause"
    assert base_of_intrinsic("llvm.masked.load.v4f64.p0") == "llvm.masked.load"


def test_integers_of_other_widths() -> None:
    """`ldexp` takes whatever integer the primal has."""
    rule = BY_NAME["llvm.ldexp"]
    function = new_function("f", f64, [f64, i64])
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    rule.partial(Site(builder, function.arguments, function.arguments[0]), 0)
    assert "llvm.ldexp.f64.i64" in str(function.blocks[0].instructions[0])


# -- documentation -------------------------------------------------------------------------------------------


def test_the_page_is_current() -> None:
    """`python -m ferrodiff.adcore.rules.document > docs/rules.md` was run after the last change."""
    assert (ROOT / "docs" / "rules.md").read_text() == document.page()


def test_the_page_has_every_row() -> None:
    page = document.page()
    missing = [rule.name for rule in RULES if f"`{rule.name}" not in page]
    assert not missing
