"""Modules: replacing and adding functions, constant memory, source locations, clones."""

from __future__ import annotations

import pytest

from ferrodiff.adcore.backend.passes import canonical, text_before_ad
from ferrodiff.adcore.backend.strip import keep_only, strip_bodies
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.clone import attributes_for_derivative, clone_function, split_attributes
from ferrodiff.adcore.ir.debuginfo import function_location
from ferrodiff.adcore.ir.evaluate import constant_address
from ferrodiff.adcore.ir.instructions import Call, Load
from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.text import parse_constant
from ferrodiff.adcore.ir.values import global_ref
from rust_ir import rust_ir

TEXT = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
@table = constant [4 x i64] [i64 1, i64 -1, i64 2, i64 3]
%mixed = type { i8, double, <2 x float>, [2 x i16] }
@mixed = constant %mixed { i8 7, double 1.5, <2 x float> splat (float 2.0), [2 x i16] zeroinitializer }
@text = private constant [3 x i8] c"ab\\00"
@addresses = constant [2 x ptr] [ptr @table, ptr null]
@changing = global i32 5
@unknown = external constant i32

declare double @sin(double)
declare void @marker(ptr)

define double @f(double %x) #0 {
  %y = call double @sin(double %x)
  ret double %y
}

define double @g(double %x) {
  %y = call double @f(double %x)
  ret double %y
}

attributes #0 = { nounwind nofree memory(argmem: read) "target-cpu"="x86-64" "other"="x" }
"""


@pytest.fixture
def module() -> Module:
    return Module.parse(canonical(TEXT))


def test_what_a_module_holds(module: Module) -> None:
    assert list(module.functions) == ["sin", "marker", "f", "g"]
    assert list(module.declarations) == ["sin", "marker"]
    assert module.function("sin").is_declaration and not module.function("f").is_declaration
    assert [f.name for f in module.definitions()] == ["f", "g"]
    assert module.triple == ""
    with pytest.raises(KeyError):
        module.function("none")


def test_functions_are_replaced_and_added(module: Module) -> None:
    g = module.function("g")
    builder = Builder(g)
    last = g.entry.terminator
    assert last is not None
    builder.position_before(last)
    last.operands[0] = builder.call("cos", ty.f64, [builder.call("sin", ty.f64, [last.operands[0]])])
    marker = new_function("marker", ty.void, [(ty.ptr, "p")], linkage="")
    body = Builder(marker)
    body.position(body.new_block("entry")).call(g, ty.f64, [parse_constant("double 2.0")])
    body.ret()
    text = module.with_functions([marker], {"g": g}, ["declare double @tan(double)"], ["@new = global i8 1"])
    seen = canonical(text)
    assert seen.count("@sin(double)") == 1 and seen.count("declare double @cos(double)") == 1
    assert "declare double @tan(double)" in seen and "@new = global i8 1" in seen
    assert "declare void @marker" not in seen and "define void @marker(ptr %p)" in seen
    assert Module.parse(seen).function("f").attributes.startswith("#")


def test_nothing_defined_is_declared_again(module: Module) -> None:
    text = module.with_functions(declarations=["declare double @f(double)", "declare double @sin(double)"])
    assert canonical(text) == canonical(module.text)


def test_contents_of_constant_memory(module: Module) -> None:
    table = module.global_bytes(global_ref("table"))
    assert table == b"".join(n.to_bytes(8, "little", signed=True) for n in (1, -1, 2, 3))
    inside = parse_constant("ptr getelementptr inbounds (i8, ptr @table, i64 16)")
    assert module.global_bytes(inside) == table[16:]
    indexed = parse_constant("ptr getelementptr ([4 x i64], ptr @table, i64 0, i64 3)")
    assert constant_address(module.datalayout, indexed) == ("table", 24)
    mixed = module.global_bytes(global_ref("mixed"))
    assert mixed is not None and len(mixed) == 32
    assert mixed[0] == 7 and mixed[8:16] == b"\0\0\0\0\0\0\xf8\x3f" and mixed[16:20] == b"\0\0\0\x40"
    assert module.global_bytes(global_ref("text")) == b"ab\0"


@pytest.mark.parametrize("name", ["addresses", "changing", "unknown", "nowhere", "f"])
def test_unknown_contents(module: Module, name: str) -> None:
    assert module.global_bytes(global_ref(name)) is None


def test_bodies_are_stripped() -> None:
    text = canonical(TEXT)
    assert "declare double @f(double)" in canonical(strip_bodies(text, ["f", "none"]))
    kept = Module.parse(canonical(keep_only(text, ["g"])))
    assert [f.name for f in kept.definitions()] == ["g"]


def test_attributes_of_a_derivative(module: Module) -> None:
    assert attributes_for_derivative(module.function("f")) == 'nounwind "target-cpu"="x86-64"'
    assert split_attributes('a memory(x: y, z: w) "k k"="v v" align=4') == [
        "a",
        "memory(x: y, z: w)",
        '"k k"="v v"',
        "align=4",
    ]


SOURCE = """
#[inline(never)]
pub fn inner(x: &[f64], i: usize) -> f64 {
    x[i] * helper(x[i])
}
#[inline(always)]
fn helper(x: f64) -> f64 {
    x.sin() + x
}
#[unsafe(no_mangle)]
pub extern "C" fn outer(x: f64) -> f64 {
    inner(&[x, 2.0, x], (x > 0.0) as usize)
}
"""


def test_locations_follow_inlining() -> None:
    module = Module.parse(text_before_ad(rust_ir(SOURCE)))
    inner = next(f for f in module.definitions() if "inner" in f.name)
    sine = next(i for i in inner.instructions() if isinstance(i, Call) and i.callee_name == "llvm.sin.f64")
    location = module.location(sine)
    assert location is not None and location.file.startswith("/rustc/")
    here = location.in_user_code()
    assert (here.line, here.function) == (8, "helper") and here.file.endswith("sample.rs")
    assert here.inlined_at is not None and here.inlined_at.line == 4
    load = next(i for i in inner.instructions() if isinstance(i, Load))
    place = module.location(load)
    assert place is not None and (place.line, place.column) == (4, 5)
    assert inner.debug is not None
    declared = function_location(module.metadata, inner.debug)
    assert declared is not None and declared.line == 3 and declared.function == "inner"


def test_no_debug_info_no_location(module: Module) -> None:
    assert module.location(next(iter(module.function("f").instructions()))) is None


def test_clones_drop_what_is_not_theirs() -> None:
    module = Module.parse(text_before_ad(rust_ir(SOURCE)))
    inner = next(f for f in module.definitions() if "inner" in f.name)
    copy, values, _ = clone_function(inner, "copy of inner")
    kinds = {k for i in copy.instructions() for k in i.metadata}
    assert kinds <= {"noundef", "prof"}
    assert all(i.parent is not None and values.get(i) is None for i in copy.instructions())
    seen = canonical(module.with_functions([copy]))
    assert "define internal" in seen and '@"copy of inner"' in seen


def test_a_copied_debug_location_is_left_out_where_llvm_would_refuse_it() -> None:
    module = Module.parse(text_before_ad(rust_ir(SOURCE)))
    inner = next(f for f in module.definitions() if "inner" in f.name)
    copy, _, _ = clone_function(inner, "copied", keep=frozenset({"dbg", "noundef"}))
    assert any("dbg" in i.metadata for i in copy.instructions())
    canonical(module.with_functions([copy]))


def test_errors_say_what_and_where() -> None:
    location = SourceLocation("a.rs", 3, 4, "f")
    error = CannotDifferentiate(
        "unknown function", instruction="call @g", location=location, help="inline it"
    )
    assert str(error) == "a.rs:3:4: unknown function (call @g); inline it"
    assert (error.reason, error.derivative) == ("unknown function", None)
