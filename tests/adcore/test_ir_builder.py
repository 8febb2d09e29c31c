"""The builder: instructions, folding, fresh names, declarations."""

from __future__ import annotations

from ctypes import POINTER, c_double, c_int64

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, parse
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.instructions import Load, Phi
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import Type, VectorType
from ferrodiff.adcore.ir.values import Function, Value, const_float, const_int, uses
from ferrodiff.adcore.ir.writer import write_function

EMPTY = canonical("")


def module_text(*functions: Function) -> str:
    """A module of these functions, checked by LLVM."""
    return canonical(Module.parse(EMPTY).with_functions(functions))


def started(*params: Type, ret: Type = ty.f64) -> tuple[Builder, list[Value]]:
    function = new_function("f", ret, [(p, "x") for p in params], "nounwind", linkage="")
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    return builder, list(function.arguments)


def test_a_loop_runs() -> None:
    builder, (data, count) = started(ty.ptr, ty.i64)
    entry = builder.function.entry
    loop, done = builder.new_block("loop"), builder.new_block("done")
    builder.br(loop)
    builder.position(loop)
    index, total = builder.phi(ty.i64, name="i"), builder.phi(ty.f64, name="sum")
    element = builder.load(ty.f64, builder.gep(ty.f64, data, index), 8)
    new_total = builder.intrinsic("llvm.fma", [ty.f64], [element, element, total])
    following = builder.add(index, 1, ("nuw", "nsw"))
    builder.cond_br(builder.icmp("eq", following, count), done, loop)
    index.add_incoming(const_int(ty.i64, 0), entry)
    index.add_incoming(following, loop)
    total.add_incoming(const_float(ty.f64, 0.0), entry)
    total.add_incoming(new_total, loop)
    builder.position(done).ret(builder.call("sqrt", ty.f64, [new_total]))
    text = module_text(builder.function)
    assert text.count("declare") == 2
    with Jit(text) as jit:
        norm = jit.function("f", c_double, POINTER(c_double), c_int64)
        assert norm((c_double * 2)(3.0, 4.0), 2) == 5.0


def test_every_instruction_is_accepted_by_llvm() -> None:
    builder, (a, b, n, p, c) = started(ty.f64, ty.f64, ty.i64, ty.ptr, ty.i1)
    for opcode in ("fadd", "fsub", "fmul", "fdiv", "frem"):
        getattr(builder, opcode)(a, b, ("fast",))
    for opcode in (
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "shl",
        "lshr",
        "ashr",
        "and_",
        "or_",
        "xor",
        "urem",
        "srem",
    ):
        getattr(builder, opcode)(n, 3)
    builder.fneg(a)
    builder.not_(c)
    builder.freeze(builder.select(c, a, 2.0))
    small = builder.trunc(n, ty.i32)
    builder.zext(small, ty.i64, ("nneg",))
    builder.sext(small, ty.i64)
    single = builder.fptrunc(a, ty.f32)
    builder.fpext(single, ty.f64)
    builder.fptosi(a, ty.i32)
    builder.fptoui(a, ty.i32)
    builder.sitofp(n, ty.f64)
    builder.uitofp(n, ty.f64)
    builder.inttoptr(builder.ptrtoint(p))
    builder.bitcast(a, ty.i64)
    slot = builder.entry_alloca(ty.ArrayType(4, ty.f64), 8)
    builder.alloca(ty.f64, 8, n)
    builder.store(a, builder.gep(ty.ArrayType(4, ty.f64), slot, 0, n), 8)
    builder.memcpy(slot, p, 32, 8)
    builder.memcpy(slot, p, n, move=True)
    builder.memset(slot, 0, 32, 8)
    pair = builder.insert_value(const_zero_pair(), a, 0)
    builder.extract_value(builder.insert_value(pair, p, 1), 0)
    kind = VectorType(4, ty.f64)
    vector = builder.splat_vector(a, kind)
    lanes = [builder.extract_element(builder.fmul(vector, 2.0), i) for i in range(4)]
    again = builder.build_vector(lanes)
    builder.shuffle(again, None, [3, None, 1, 0])
    builder.fcmp("olt", again, vector, ("nnan",))
    builder.icmp(["samesign", "ult"][1], n, 5, ("samesign",))
    builder.gep(ty.f64, p, builder.splat_vector(n, VectorType(4, ty.i64)))
    other, end = builder.new_block("other"), builder.new_block("end")
    builder.switch(n, other, [(0, end), (-1, end)])
    builder.position(end).ret(builder.intrinsic("llvm.vector.reduce.fadd", [kind], [a, again], ty.f64))
    builder.position(other).unreachable()
    text = module_text(builder.function)
    assert "insertelement" in text and "getelementptr double, ptr %x.3, <4 x i64>" in text


def const_zero_pair() -> Value:
    from ferrodiff.adcore.ir.values import zero

    return zero(ty.StructType((ty.f64, ty.ptr)))


def test_exact_identities_are_folded_and_others_are_not() -> None:
    builder, (x, n) = started(ty.f64, ty.i64)
    assert builder.fmul(x, 1.0) is x and builder.fmul(1.0, x) is x and builder.fdiv(x, 1.0) is x
    assert builder.fadd(x, -0.0) is x and builder.fsub(x, 0.0) is x
    assert builder.add(n, 0) is n and builder.mul(n, 1) is n and builder.and_(n, -1) is n
    assert builder.mul(n, 0) is const_int(ty.i64, 0)
    assert builder.add(const_int(ty.i64, 2), 3) is const_int(ty.i64, 5)
    assert builder.fmul(const_float(ty.f32, 0.1), 3.0) is const_float(ty.f32, const_f32(0.1) * 3.0)
    for made in (builder.fadd(x, 0.0), builder.fsub(x, -0.0), builder.fmul(x, 0.0), builder.fsub(0.0, x)):
        assert made is not x
        assert made in builder.function.entry.instructions


def test_negation_of_constants() -> None:
    builder, _ = started(ty.f64)
    assert builder.fneg(const_float(ty.f64, 0.0)) is const_float(ty.f64, -0.0)
    wide = const_float(ty.FloatType("fp128"), 0.0)
    assert builder.fneg(wide).ref.startswith("%")


def test_vectors_fold_like_scalars() -> None:
    kind = VectorType(4, ty.f64)
    builder, (x,) = started(kind, ret=kind)
    assert builder.fmul(x, 1.0) is x and builder.fadd(x, -0.0) is x and builder.fsub(x, 0.0) is x
    assert builder.fadd(x, 0.0) is not x and builder.fmul(x, 0.0) is not x


def const_f32(x: float) -> float:
    from ferrodiff.adcore.ir.constants import round_to_f32

    return round_to_f32(x)


def test_logic_on_bits_is_folded_right() -> None:
    builder, (c,) = started(ty.i1, ret=ty.i1)
    true, false = const_int(ty.i1, 1), const_int(ty.i1, 0)
    assert builder.and_(c, true) is c and builder.and_(c, false) is false
    assert builder.or_(c, false) is c and builder.xor(c, false) is c
    assert builder.xor(c, true) is not c
    assert builder.mul(c, true) is c
    assert builder.zext(true, ty.i32) is const_int(ty.i32, 1)
    assert builder.icmp("ult", false, true) is true


def test_names_are_fresh() -> None:
    builder, (x, y) = started(ty.f64, ty.f64)
    assert (x.ref, y.ref) == ("%x", "%x.1")
    made = [builder.fadd(x, y, name="x") for _ in range(3)]
    assert len({v.ref for v in made} | {"%x", "%x.1"}) == 5
    assert builder.new_block("x").name not in {v.ref[1:] for v in made}


def test_the_writer_settles_clashing_and_missing_names() -> None:
    builder, (x, p) = started(ty.f64, ty.ptr)
    first = builder.fadd(x, 1.5)
    load = Load(ty.f64, p, 8)
    builder.function.entry.append(load)
    builder.insert(load.copy())
    first.name = "x"  # type: ignore[attr-defined]
    builder.ret(first)
    text = write_function(builder.function)
    parse(text)
    assert first.ref != "%x"


def test_positions() -> None:
    builder, (x,) = started(ty.f64)
    end = builder.ret(x)
    builder.position_before(end)
    middle = builder.fadd(x, 2.0)
    phi_block = builder.new_block("later")
    builder.position(phi_block)
    phi = builder.phi(ty.f64)
    builder.unreachable()
    builder.position_at_start(phi_block)
    second = builder.phi(ty.f64)
    inside = builder.fadd(phi, 1.5)
    assert builder.function.entry.instructions == [middle, end]
    assert phi_block.instructions[:3] == [phi, second, inside]
    assert phi_block.phis == [phi, second] and isinstance(phi, Phi)


def test_uses() -> None:
    builder, (x, p) = started(ty.f64, ty.ptr)
    square = builder.fmul(x, x)
    call = builder.call(p, ty.f64, [square])
    end = builder.ret(call)
    found = uses(builder.function)
    assert found == {x: [square, square], square: [call], p: [call], call: [end]}


def test_metadata_is_attached_while_set() -> None:
    builder, (p,) = started(ty.ptr)
    builder.metadata = {"noundef": "!0"}
    load = builder.load(ty.f64, p, 8)
    builder.metadata = {}
    builder.ret(load)
    assert str(load).endswith(", align 8, !noundef !0")
    assert "!noundef" not in str(builder.function.entry.terminator)


def test_errors() -> None:
    with pytest.raises(ValueError, match="no position"):
        Builder(new_function("f", ty.void, [])).unreachable()
    builder, _ = started(ty.f64)
    with pytest.raises(TypeError):
        builder.fadd(1.0, 2.0)
