"""Aliasing, overwritten loads, and which bytes are floats."""

from __future__ import annotations

from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.facts.alias import HARMLESS, Alias, Effect
from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.layouts import factor, flatten
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.instructions import Call, Instruction, Load
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import ArrayType, StructType, f32, f64, i32, ptr
from ferrodiff.adcore.ir.values import Function


def effect(call: Call) -> Effect | None:
    name = call.callee_name or ""
    if name == "malloc":
        return Effect(writes=(), captures=False, allocates=True)
    return HARMLESS if name == "harmless" else None


class Facts:
    def __init__(self, body: str, parameters: str) -> None:
        text = f"define void @f({parameters}) {{\n{body}\n  ret void\n}}\n"
        text += "declare ptr @malloc(i64)\ndeclare void @harmless(ptr)\ndeclare void @anything(ptr)\n"
        text += "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        self.module = Module.parse(canonical(text))
        self.function: Function = self.module.function("f")
        self.alias = Alias(self.function, Cfg(self.function), self.module.datalayout, effect)
        self.types = MemoryTypes(self.function, self.alias, self.module.datalayout)

    def named(self, name: str) -> Instruction:
        return next(i for i in self.function.instructions() if i.name == name)

    def overwriter(self, name: str) -> Instruction | None:
        load = self.named(name)
        assert isinstance(load, Load)
        return self.alias.overwriter(load, load.pointer, 8)


def test_identified_objects_do_not_overlap() -> None:
    facts = Facts(
        "  %a = alloca [4 x double]\n  %m = call ptr @malloc(i64 32)\n  %q = getelementptr double, ptr %m, i64 1",
        "ptr noalias %x, ptr %y, ptr %z",
    )
    x, y, z = facts.function.arguments
    a, m, q = facts.named("a"), facts.named("m"), facts.named("q")
    alias = facts.alias
    assert not alias.may_alias(a, m) and not alias.may_alias(a, y) and not alias.may_alias(x, y)
    assert alias.may_alias(y, z) and alias.may_alias(q, m)


def test_a_stored_address_may_be_found_again() -> None:
    facts = Facts(
        "  %a = alloca double\n  %b = alloca double\n  store ptr %a, ptr %y\n  %p = load ptr, ptr %y",
        "ptr %y",
    )
    assert facts.alias.may_alias(facts.named("p"), facts.named("a"))
    assert not facts.alias.may_alias(facts.named("p"), facts.named("b"))


def test_loads_that_cannot_be_repeated() -> None:
    facts = Facts(
        "  %u = load double, ptr %x\n  %v = load double, ptr %y\n  %y1 = getelementptr i8, ptr %y, i64 8\n"
        "  %w = load double, ptr %y1\n  store double 1.0, ptr %y\n  %t = load double, ptr %y\n"
        "  call void @harmless(ptr %y)",
        "ptr noalias %x, ptr %y",
    )
    assert facts.overwriter("u") is None
    assert facts.overwriter("v") is not None
    assert facts.overwriter("w") is None
    assert facts.overwriter("t") is None


def test_an_unknown_call_may_write_what_it_can_reach() -> None:
    facts = Facts(
        "  %a = alloca double\n  %b = alloca double\n  %u = load double, ptr %a\n  %v = load double, ptr %b\n"
        "  call void @anything(ptr %b)",
        "",
    )
    assert facts.overwriter("u") is None
    assert facts.overwriter("v") is not None


def test_a_store_in_a_loop_runs_after_its_loads() -> None:
    facts = Facts(
        "  br label %l\nl:\n  %i = phi i64 [0, %0], [%n, %l]\n  %p = getelementptr double, ptr %x, i64 %i\n"
        "  store double 0.0, ptr %p\n  %v = load double, ptr %p\n  %n = add i64 %i, 1\n"
        "  %c = icmp ult i64 %n, 9\n  br i1 %c, label %l, label %e\ne:",
        "ptr %x",
    )
    assert facts.overwriter("v") is not None


def test_types_of_structs_in_an_array() -> None:
    facts = Facts(
        "  %p = getelementptr { float, i32, double }, ptr %x, i64 %i\n  %u = load float, ptr %p\n"
        "  %q = getelementptr i8, ptr %p, i64 8\n  %v = load double, ptr %q\n"
        "  %k = getelementptr i8, ptr %p, i64 4\n  %w = load i32, ptr %k\n  %s = add i32 %w, 1",
        "ptr %x, i64 %i",
    )
    x = facts.function.arguments[0]
    assert facts.types.pattern(x) == (16, [(0, f32), (8, f64)])
    assert facts.types.scalars(x, 32) == [(0, f32), (8, f64), (16, f32), (24, f64)]


def test_copies_share_their_evidence_and_unknown_memory_stays_unknown() -> None:
    facts = Facts(
        "  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 %n, i1 false)\n  %v = load double, ptr %x\n"
        "  %q = getelementptr double, ptr %x, i64 %n\n  %w = load double, ptr %q",
        "ptr %x, ptr %y, ptr %z, i64 %n",
    )
    _, y, z, _ = facts.function.arguments
    assert facts.types.pattern(y) == (8, [(0, f64)])
    assert facts.types.pattern(z) is None and facts.types.scalars(z, 8) is None


def test_an_integer_that_is_only_copied_tells_nothing() -> None:
    facts = Facts("  %v = load i64, ptr %x\n  store i64 %v, ptr %y", "ptr %x, ptr %y")
    x, y = facts.function.arguments
    assert facts.types.scalars(x, 8) is None and facts.types.scalars(y, 8) is None


def test_rows_behind_stored_pointers() -> None:
    facts = Facts(
        "  %m = call ptr @malloc(i64 80)\n  %t = call ptr @malloc(i64 8)\n  store ptr %m, ptr %t\n"
        "  %r = load ptr, ptr %t\n  %q = getelementptr double, ptr %r, i64 %i\n  %v = load double, ptr %q",
        "i64 %i",
    )
    assert facts.types.pattern(facts.named("m")) == (8, [(0, f64)])
    assert facts.types.scalars(facts.named("t"), 8) == [(0, ptr)]


def test_known_factors() -> None:
    facts = Facts("  %a = shl i64 %i, 3\n  %b = add i64 %a, 16\n  %c = mul i64 %b, 3", "i64 %i")
    assert [factor(facts.named(n)) for n in "abc"] == [8, 8, 24]


def test_flattened_types() -> None:
    layout = Module.parse(canonical("")).datalayout
    assert flatten(StructType((i32, ArrayType(2, f64))), layout) == [(0, i32), (8, f64), (16, f64)]


ARRAYS = """
  %m = call ptr @malloc(i64 200)
  %head = load ptr, ptr %m
  %values = getelementptr inbounds nuw i8, ptr %m, i64 8
  %v = getelementptr inbounds nuw double, ptr %values, i64 %i
  %x = load double, ptr %v
  %keys = getelementptr inbounds nuw i8, ptr %m, i64 96
  %k = getelementptr inbounds nuw i32, ptr %keys, i64 %i
  %y = load i32, ptr %k
  %z = add i32 %y, 1
  %edges = getelementptr inbounds nuw i8, ptr %m, i64 144
  %e = getelementptr inbounds nuw ptr, ptr %edges, i64 %i
  %child = load ptr, ptr %e
"""


def test_arrays_side_by_side_in_one_object() -> None:
    facts = Facts(ARRAYS, "i64 %i")
    assert facts.types.pattern(facts.named("v"), period=8) == (8, [(0, f64)])
    assert facts.types.pattern(facts.named("k"), period=4) == (4, [])
    assert facts.types.pattern(facts.named("e"), period=8) == (8, [(0, ptr)])
    assert facts.types.scalars(facts.named("m"), 16, 8, True) == [(0, ptr), (8, f64)]


def test_a_word_of_several_arrays_is_unknown() -> None:
    # Whether the word at any multiple of eight is a float or an address depends on which one it is.
    loop = ARRAYS + (
        "  br label %l\nl:\n  %j = phi i64 [0, %0], [%n, %l]\n  %p = getelementptr i64, ptr %m, i64 %j\n"
        "  %q = getelementptr i64, ptr %t, i64 %j\n  %w = load i64, ptr %p\n  store i64 %w, ptr %q\n"
        "  %n = add i64 %j, 1\n  %c = icmp ult i64 %n, 25\n  br i1 %c, label %l, label %d\nd:"
    )
    facts = Facts(loop, "i64 %i, ptr %t")
    assert facts.types.scalars(facts.named("p"), 8, 8) is None


def test_what_is_known_goes_along_a_chain_of_copies() -> None:
    copy = "  call void @llvm.memcpy.p0.p0.i64(ptr {}, ptr {}, i64 16, i1 false)\n"
    facts = Facts(
        copy.format("%y", "%x")
        + copy.format("%z", "%y")
        + "  %v = load double, ptr %x\n  %q = getelementptr i8, ptr %z, i64 8\n  %p = load ptr, ptr %q",
        "ptr %x, ptr %y, ptr %z",
    )
    for argument in facts.function.arguments:
        assert facts.types.scalars(argument, 16) == [(0, f64), (8, ptr)]


def test_gaps_that_have_no_room_for_a_float_are_padding() -> None:
    body = "  %u = load double, ptr %x\n  %q = getelementptr i8, ptr %x, i64 8\n  %v = load i32, ptr %q\n  %s = add i32 %v, 1"
    facts = Facts(body, "ptr %x")
    x = facts.function.arguments[0]
    assert facts.types.scalars(x, 16) is None
    roomy = MemoryTypes(facts.function, facts.alias, facts.module.datalayout, smallest=8)
    assert roomy.scalars(x, 16) == [(0, f64)]
