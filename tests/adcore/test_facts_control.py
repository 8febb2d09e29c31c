"""Dominators, loops, induction variables and trip counts."""

from __future__ import annotations

import pytest

from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loops, TripCount, affine_phi, trip_count
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const_int
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import IntType
from ferrodiff.adcore.ir.values import Block, Function

NESTED = """
define void @f(i64 %n, i1 %c) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  br label %inner
inner:
  %j = phi i64 [ 5, %outer ], [ %j.next, %inner ]
  %j.next = add nsw i64 %j, -2
  %more = icmp sgt i64 %j.next, 0
  br i1 %more, label %inner, label %after
after:
  br i1 %c, label %panic, label %outer.latch
panic:
  unreachable
outer.latch:
  %i.next = add nuw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %outer
exit:
  ret void
}
"""


def function(text: str) -> tuple[Module, Function]:
    module = Module.parse(canonical(text))
    return module, module.function("f")


def block(f: Function, name: str) -> Block:
    return next(b for b in f.blocks if b.name == name)


def test_dominators_and_liveness() -> None:
    _, f = function(NESTED)
    cfg = Cfg(f)
    assert cfg.idom(block(f, "after")) is block(f, "inner")
    assert cfg.dominates(block(f, "outer"), block(f, "exit"))
    assert not cfg.dominates(block(f, "panic"), block(f, "exit"))
    assert block(f, "panic") not in cfg.live and block(f, "inner") in cfg.live
    assert cfg.post_dominates(block(f, "outer.latch"), block(f, "inner"))
    assert not cfg.post_dominates(block(f, "inner"), block(f, "exit"))
    assert cfg.edge_dominates(block(f, "after"), block(f, "outer.latch"), block(f, "exit"))
    assert block(f, "inner") in cfg.reachable_from(block(f, "after"))


def test_loops_nest_and_know_their_exits() -> None:
    _, f = function(NESTED)
    loops = Loops(Cfg(f))
    inner, outer = loops.of(block(f, "inner")), loops.of(block(f, "after"))
    assert inner is not None and outer is not None
    assert inner.parent is outer and outer.contains(inner) and inner.depth == 2
    assert loops.of(block(f, "panic")) is None
    assert loops.exit_edges(outer) == [(block(f, "outer.latch"), block(f, "exit"))]
    assert len(loops.exit_edges(outer, live_only=False)) == 2


def test_irreducible_control_flow_is_found() -> None:
    _, f = function(
        "define void @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  br i1 %c, label %b, label %x\n"
        "b:\n  br i1 %c, label %a, label %x\nx:\n  ret void\n}\n"
    )
    assert Loops(Cfg(f)).irreducible is not None


def constant_count(trip: TripCount, start: int, bound: int) -> int:
    kind = trip.affine.start.type
    assert isinstance(kind, IntType)
    aside = Builder(Function("aside"), Block("aside"))
    found = trip.emit(aside, const_int(kind, start), const_int(kind, bound))
    assert isinstance(found, ConstInt)
    return found.value


def test_inner_trip_count() -> None:
    module, f = function(NESTED)
    loops = Loops(Cfg(f))
    inner = loops.of(block(f, "inner"))
    assert inner is not None
    phi = inner.header.phis[0]
    affine = affine_phi(phi, inner, loops, module.datalayout)
    assert affine is not None and affine.step == -2
    trip = trip_count(inner, loops, module.datalayout)
    assert trip is not None
    # j.next = 3, 1, -1: the backedge is taken twice.
    assert constant_count(trip, 5, 0) == 2


LOOP = """
define void @f(i64 %a, i64 %b) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %a, %entry ], [ %next, %loop ]
  %next = add {flags} i64 %i, {step}
  %c = icmp {predicate} i64 %{tested}, %b
  br i1 %c, label %loop, label %exit
exit:
  ret void
}}
"""

HOLDS = {
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ne": lambda a, b: a != b,
}


@pytest.mark.parametrize("tested", ["i", "next"])
@pytest.mark.parametrize(
    ("predicate", "step"),
    [("slt", 1), ("slt", 3), ("sle", 2), ("sgt", -1), ("sge", -3), ("ne", 1), ("ne", -1)],
)
def test_trip_counts_agree_with_running_the_loop(predicate: str, step: int, tested: str) -> None:
    module, f = function(LOOP.format(predicate=predicate, step=step, tested=tested, flags="nsw"))
    loops = Loops(Cfg(f))
    (loop,) = loops.loops
    trip = trip_count(loop, loops, module.datalayout)
    assert trip is not None
    for start in range(-4, 5):
        for bound in range(-4, 5):
            first = start + (step if tested == "next" else 0)
            if predicate == "ne" and (bound - first) * step < 0:
                continue
            count, value = 0, first
            while HOLDS[predicate](value, bound):
                count, value = count + 1, value + step
            assert constant_count(trip, start, bound) == count


@pytest.mark.parametrize(("predicate", "step"), [("slt", -1), ("sgt", 1), ("ne", 3)])
def test_loops_that_rely_on_wrapping_have_no_trip_count(predicate: str, step: int) -> None:
    module, f = function(LOOP.format(predicate=predicate, step=step, tested="next", flags=""))
    loops = Loops(Cfg(f))
    assert trip_count(loops.loops[0], loops, module.datalayout) is None
