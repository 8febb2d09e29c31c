"""Random functions: writing, LLVM, reading and running agree."""

from __future__ import annotations

import math
from ctypes import c_double, c_int64, c_uint64
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.clone import clone_function
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.values import Block, Function, Value, const_float, const_int
from ir_interpreter import Interpreter
from llvm_compare import without_names

EMPTY = canonical("")
FLOAT_OPS = ("fadd", "fsub", "fmul", "fdiv")
INT_OPS = ("add", "sub", "mul", "and_", "or_", "xor")
PREDICATES = ("oeq", "ogt", "olt", "une", "ueq", "ord", "uno", "ult")
INT_PREDICATES = ("eq", "ne", "slt", "ult", "sge", "ugt")
INTRINSICS = ("llvm.fabs", "llvm.sqrt", "llvm.floor", "llvm.trunc")
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 3.25, -7.125, 1e-3, 1e10])


class Generator:
    """Draws a function of two doubles and an integer, with a diamond and a loop of known trip count."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        params = [(ty.f64, "x"), (ty.f64, "y"), (ty.i64, "n")]
        self.function = new_function("f", ty.f64, params, "nounwind", linkage="")
        self.builder = Builder(self.function)
        x, y, n = self.function.arguments
        self.floats: list[Value] = [x, y, const_float(ty.f64, 1.5)]
        self.ints: list[Value] = [n, const_int(ty.i64, 3)]
        self.bits: list[Value] = []

    def pick(self, values: list[Value]) -> Value:
        index: int = self.draw(st.integers(0, len(values) - 1))
        return values[index]

    def step(self) -> None:
        builder, kind = self.builder, self.draw(st.integers(0, 8))
        if kind <= 2:
            opcode = self.draw(st.sampled_from(FLOAT_OPS))
            self.floats.append(getattr(builder, opcode)(self.pick(self.floats), self.pick(self.floats)))
        elif kind == 3:
            opcode = self.draw(st.sampled_from(INT_OPS))
            self.ints.append(getattr(builder, opcode)(self.pick(self.ints), self.pick(self.ints)))
        elif kind == 4:
            name = self.draw(st.sampled_from(INTRINSICS))
            self.floats.append(builder.intrinsic(name, [ty.f64], [self.pick(self.floats)]))
        elif kind == 5:
            predicate = self.draw(st.sampled_from(PREDICATES))
            self.bits.append(builder.fcmp(predicate, self.pick(self.floats), self.pick(self.floats)))
        elif kind == 6:
            predicate = self.draw(st.sampled_from(INT_PREDICATES))
            self.bits.append(builder.icmp(predicate, self.pick(self.ints), self.pick(self.ints)))
        elif kind == 7 and self.bits:
            values = self.pick(self.bits), self.pick(self.floats), self.pick(self.floats)
            self.floats.append(builder.select(*values))
        else:
            slot = builder.entry_alloca(ty.ArrayType(2, ty.f64), 8)
            place = builder.gep(ty.f64, slot, self.draw(st.integers(0, 1)))
            builder.store(self.pick(self.floats), place, 8)
            self.floats.append(builder.load(ty.f64, place, 8))

    def steps(self, most: int) -> None:
        for _ in range(self.draw(st.integers(1, most))):
            self.step()

    def diamond(self) -> None:
        builder = self.builder
        condition = builder.fcmp("ogt", self.pick(self.floats), self.pick(self.floats))
        yes, no, join = (builder.new_block(h) for h in ("yes", "no", "join"))
        builder.cond_br(condition, yes, no)
        incoming: list[tuple[Value, Block]] = []
        for block in (yes, no):
            before = self.floats[:], self.ints[:], self.bits[:]
            builder.position(block)
            self.steps(4)
            incoming.append((self.pick(self.floats), block))
            builder.br(join)
            self.floats, self.ints, self.bits = before
        builder.position(join)
        self.floats.append(builder.phi(ty.f64, incoming))

    def loop(self) -> None:
        builder = self.builder
        before = builder.block
        assert before is not None
        body, after = builder.new_block("body"), builder.new_block("after")
        start = self.pick(self.floats)
        builder.br(body)
        builder.position(body)
        count, state = builder.phi(ty.i64), builder.phi(ty.f64)
        known = self.floats[:], self.ints[:], self.bits[:]
        self.floats.append(state)
        self.ints.append(count)
        self.steps(5)
        following, result = builder.add(count, 1), self.pick(self.floats)
        self.floats, self.ints, self.bits = known
        builder.cond_br(builder.icmp("ult", following, self.draw(st.integers(1, 4))), body, after)
        for phi, first, later in ((count, const_int(ty.i64, 0), following), (state, start, result)):
            phi.add_incoming(first, before)
            phi.add_incoming(later, body)
        builder.position(after)
        self.floats.append(result)

    def made(self) -> Function:
        self.builder.position(self.builder.new_block("entry"))
        for _ in range(self.draw(st.integers(1, 3))):
            self.steps(6)
            self.draw(st.sampled_from([self.diamond, self.loop]))()
        self.builder.ret(self.builder.fadd(self.floats[-1], self.pick(self.floats)))
        return self.function


@st.composite
def functions(draw: Any) -> Function:
    """Random functions."""
    return Generator(draw).made()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_text_and_back(function: Function) -> None:
    text = Module.parse(EMPTY).with_functions([function])
    seen = canonical(text)
    module = Module.parse(seen)
    again = module.with_functions(replaced=[module.function("f")])
    assert canonical(again) == seen
    assert len(list(module.function("f").instructions())) == len(list(function.instructions()))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), NUMBERS, NUMBERS, st.integers(-3, 2**63))
def test_compiled_and_interpreted_code_agree(function: Function, x: float, y: float, n: int) -> None:
    text = Module.parse(EMPTY).with_functions([function])
    with Jit(text, cpu="generic") as jit:
        compiled = jit.function("f", c_double, c_double, c_double, c_int64)(x, y, c_uint64(n).value)
    interpreted = Interpreter(canonical(text)).call("f", [x, y, n])
    assert compiled == interpreted or (math.isnan(compiled) and math.isnan(interpreted))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_a_clone_is_the_same_code(function: Function) -> None:
    copy, values, blocks = clone_function(function, "g")
    assert len(blocks) == len(function.blocks)
    assert all(
        values[i] in copy_block.instructions for b, copy_block in blocks.items() for i in b.instructions
    )
    copy.name, copy.linkage = "f", ""
    one, other = (Module.parse(EMPTY).with_functions([f]) for f in (function, copy))
    assert without_names(one) == without_names(other)
