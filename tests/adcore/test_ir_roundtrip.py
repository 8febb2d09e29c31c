"""Reading and writing whole modules: what LLVM sees afterwards is what it saw before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.adcore.backend.passes import canonical, parse, text_before_ad
from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir.instructions import Call, Invoke, LandingPad, RawInstruction
from ferrodiff.adcore.ir.module import Module
from llvm_compare import without_names
from rust_ir import AD_FLAGS, OPTIMISED, UNOPTIMISED, UNWINDING, rust_ir

DATA = Path(__file__).parent / "data"
DAMAGE = (
    "",
    " ",
    ",",
    "(",
    ")",
    '"',
    "%",
    "@",
    "i32",
    "ptr",
    "]",
    "}",
    "[",
    "<",
    "!",
    "label ",
    "0x",
    "-",
    "\n",
    "=",
)
VARIANTS = {
    "for AD": AD_FLAGS,
    "unoptimised with debug records": UNOPTIMISED,
    "optimised and vectorised": OPTIMISED,
    "unwinding": UNWINDING,
}


def rewritten(text: str) -> str:
    """Every function read and written again."""
    module = Module.parse(text)
    return module.with_functions(replaced=list(module.definitions()))


@pytest.mark.parametrize("flags", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("source", ["breadth.rs", "kernels.rs"])
def test_every_function_of_a_rust_module_survives(source: str, flags: tuple[str, ...]) -> None:
    text = rust_ir((DATA / source).read_text(), flags)
    again = rewritten(text)
    assert without_names(again) == without_names(text)


@pytest.mark.parametrize("flags", VARIANTS.values(), ids=VARIANTS.keys())
def test_writing_again_changes_nothing(flags: tuple[str, ...]) -> None:
    once = canonical(rewritten(rust_ir((DATA / "kernels.rs").read_text(), flags)))
    assert canonical(rewritten(once)) == once


@pytest.mark.parametrize("source", ["breadth.rs", "kernels.rs"])
def test_functions_prepared_for_differentiation_survive(source: str) -> None:
    text = text_before_ad(rust_ir((DATA / source).read_text()))
    assert without_names(rewritten(text)) == without_names(text)


def test_rare_constructs_survive() -> None:
    text = canonical((DATA / "rare.ll").read_text())
    assert without_names(rewritten(text)) == without_names(text)


def test_every_global_and_alias_is_understood() -> None:
    module = Module.parse(canonical((DATA / "rare.ll").read_text()))
    parsed = {name: module.globals[name] for name in module.globals}
    assert parsed["ext"].initializer is None
    assert not parsed["plain"].is_constant
    assert parsed["quoted $name"].linkage == "private"
    assert str(module.aliases["an_alias"].ref) == "@plain"
    assert "getelementptr" in module.aliases["hidden_alias"].ref


def test_all_globals_of_a_rust_module_are_understood() -> None:
    for flags in VARIANTS.values():
        module = Module.parse(rust_ir((DATA / "breadth.rs").read_text(), flags))
        for found in module.globals.values():
            assert found.value_type is not None


def test_rare_instructions_are_classified() -> None:
    module = Module.parse(canonical((DATA / "rare.ll").read_text()))
    calls = module.function("calls")
    kinds = [type(i) for i in calls.instructions()]
    assert Invoke in kinds and LandingPad in kinds
    bundled = [i for i in calls.instructions() if isinstance(i, Call) and i.bundles]
    assert [tag for tag, _ in bundled[0].bundles] == ["deopt", "tag with space"]
    raw = [i.opcode for i in module.function("funclets").instructions() if isinstance(i, RawInstruction)]
    assert raw == ["catchswitch", "catchpad", "catchret", "cleanuppad", "cleanupret"]
    jump = module.function("jump").entry
    assert [b.name for b in jump.successors] == ["one", "two"]


def test_numbered_values_get_names_that_nothing_else_has() -> None:
    module = Module.parse(
        canonical("define i32 @f(i32 %v3, i32 %0) {\n %v2 = add i32 %v3, %0\n ret i32 %v2\n}")
    )
    function = module.function("f")
    names = [a.name for a in function.arguments] + [i.name for i in function.instructions() if i.name]
    assert names == ["v3", "vv0", "v2"]
    assert function.entry.name == "vv1"


@pytest.mark.parametrize(
    "text",
    [
        "define void @f() {\n  frobnicate i32 %x\n}\n",
        "define void @f() {\n  %y = add i32 %x, 1\n  ret void\n}\n",
        "define void @f() {\n  ret void extra\n}\n",
        "define void @f() {\n  ret void\n",
        "define void @f() {\n  %x = add i32 1\n  ret void\n}\n",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ReadError):
        _ = Module.parse(text).function("f").blocks


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_text_never_ends_in_another_error(data: st.DataObject) -> None:
    lines = canonical((DATA / "rare.ll").read_text()).split("\n")
    place = data.draw(st.integers(0, len(lines) - 1))
    line = lines[place]
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(len(line), start + 6)))
    lines[place] = line[:start] + data.draw(st.sampled_from(DAMAGE)) + line[end:]
    try:
        module = Module.parse("\n".join(lines))
        for function in module.functions.values():
            _ = function.blocks
        assert len(list(module.globals.values())) == len(module.globals)
        assert len(list(module.aliases.values())) == len(module.aliases)
    except ReadError:
        pass


def test_bodies_are_read_when_looked_at() -> None:
    module = Module.parse("define void @bad() {\n  nonsense\n}\n\ndefine void @good() {\n  ret void\n}\n")
    assert len(module.function("good").blocks) == 1
    with pytest.raises(ReadError):
        _ = module.function("bad").blocks


def test_an_empty_module() -> None:
    module = Module.parse(canonical(""))
    assert not module.functions and not module.globals
    parse(module.with_functions(declarations=["declare void @f()"]))
