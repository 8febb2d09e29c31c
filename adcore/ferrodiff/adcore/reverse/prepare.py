"""The shape in which a function is reversed.

One return; every loop has a preheader, one latch, a block of its own on every edge that leaves it, and an
``i64`` counter that runs 0, 1, 2, ...; no block names a successor twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops, TripCount, affine_phi, trip_count
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const_int
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import BinaryOp, Branch, Call, Instruction, Invoke, Phi, Return, Switch
from ferrodiff.adcore.ir.types import i64, void
from ferrodiff.adcore.ir.values import Block, Function, Value

_DROPPED = ("llvm.lifetime.", "llvm.dbg.", "llvm.assume", "llvm.invariant.")


@dataclass(eq=False)
class LoopPlan:
    """A loop in reversible shape. ``exits`` are the blocks on its leaving edges (live ones)."""

    loop: Loop
    preheader: Block
    latch: Block
    counter: Phi
    trip: TripCount | None
    parent: LoopPlan | None = None
    exits: list[Block] = field(default_factory=list)

    @property
    def header(self) -> Block:
        """Where iterations begin."""
        return self.loop.header


@dataclass
class Shape:
    """A prepared function: its facts, its loops and the block of its only return (``None``: it never returns)."""

    function: Function
    cfg: Cfg
    loops: Loops
    plans: dict[Loop, LoopPlan]
    exited: dict[Block, list[LoopPlan]]
    """For every block on a leaving edge, the loops it leaves, innermost first."""
    last: Block | None

    def plan_of(self, block: Block) -> LoopPlan | None:
        """The innermost loop's plan around a block; none for loops on paths that only end in a panic."""
        loop = self.loops.of(block)
        return None if loop is None else self.plans.get(loop)


def prepare(function: Function, layout: DataLayout) -> Shape:
    """Bring a (cloned) function into shape, in place.

    Raises `CannotDifferentiate` for control flow that is no nest of loops.
    """
    _drop_marks(function)
    _drop_unreachable(function)
    _split_repeated_targets(function)
    last = _unify_returns(function)
    loops = _reducible(function)
    for header in [loop.header for loop in loops.loops]:
        _give_preheader(function, header)
        _give_latch(function, header)
    exit_blocks = _split_exits(function)
    cfg = Cfg(function)
    loops = Loops(cfg)
    plans: dict[Loop, LoopPlan] = {}
    for loop in loops.loops:
        if loop.header in cfg.live:
            plans[loop] = _plan(function, loop, loops, layout)
    for loop, plan in plans.items():
        plan.parent = plans.get(loop.parent) if loop.parent is not None else None
    exited: dict[Block, list[LoopPlan]] = {}
    for block, source in exit_blocks:
        if block not in cfg.live:
            continue
        inner = loops.of(source)
        left = [p for p in (inner.ancestors() if inner else []) if block not in p.blocks]
        exited[block] = [plans[loop] for loop in left]
        for plan in exited[block]:
            plan.exits.append(block)
    return Shape(function, cfg, loops, plans, exited, last)


def _drop_marks(function: Function) -> None:
    for block in function.blocks:
        block.instructions = [
            i
            for i in block.instructions
            if not (isinstance(i, Call) and i.type is void and (i.callee_name or "").startswith(_DROPPED))
        ]


def _drop_unreachable(function: Function) -> None:
    reached = set(Cfg(function).order)
    function.blocks = [b for b in function.blocks if b in reached]
    for block in function.blocks:
        for phi in block.phis:
            pairs = [(v, b) for v, b in phi.incoming if b in reached]
            phi.operands = [v for v, _ in pairs]
            phi.incoming_blocks = [b for _, b in pairs]


def _split_repeated_targets(function: Function) -> None:
    for block in list(function.blocks):
        last = block.terminator
        assert last is not None
        if isinstance(last, Branch) and len(last.targets) == 2 and last.targets[0] is last.targets[1]:
            target = last.targets[0]
            block.remove(last)
            block.append(Branch([target]))
            _drop_repeated_sources(target)
        elif isinstance(last, Invoke) and last.type is not void:
            split_edges(function, [block], last.normal, "normal")
        elif isinstance(last, Switch):
            for target in {t for t in last.targets if last.targets.count(t) > 1}:
                split_edges(function, [block], target)


def _drop_repeated_sources(target: Block) -> None:
    for phi in target.phis:
        pairs = {b: v for v, b in phi.incoming}
        phi.operands = list(pairs.values())
        phi.incoming_blocks = list(pairs)


def split_edges(function: Function, sources: list[Block], target: Block, hint: str = "edge") -> Block:
    """Put a new block between some predecessors of a block and the block."""
    new = function.add_block(hint)
    for phi in target.phis:
        moved = [(v, b) for v, b in phi.incoming if b in sources]
        kept = [(v, b) for v, b in phi.incoming if b not in sources]
        distinct = {b: v for v, b in moved}
        if len(set(distinct.values())) == 1:
            value: Value = moved[0][0]
        else:
            value = Phi(phi.type, [v for v, _ in moved], [b for _, b in moved], function.fresh_name("merge"))
            new.append(value)
        phi.operands = [v for v, _ in kept] + [value]
        phi.incoming_blocks = [b for _, b in kept] + [new]
    new.append(Branch([target]))
    for source in sources:
        last = source.terminator
        assert last is not None
        last.map_blocks(lambda b: new if b is target else b)
    return new


def _unify_returns(function: Function) -> Block | None:
    returns = [b for b in function.blocks if isinstance(b.terminator, Return)]
    if not returns:
        return None
    if len(returns) == 1:
        return returns[0]
    last = function.add_block("return")
    phi = (
        None
        if function.return_type is void
        else Phi(function.return_type, name=function.fresh_name("returned"))
    )
    if phi is not None:
        last.append(phi)
    for block in returns:
        ret = block.terminator
        assert isinstance(ret, Return)
        block.remove(ret)
        block.append(Branch([last]))
        if phi is not None and ret.value is not None:
            phi.add_incoming(ret.value, block)
    last.append(Return(phi))
    return last


def _reducible(function: Function) -> Loops:
    loops = Loops(Cfg(function))
    if loops.irreducible is not None:
        first = loops.irreducible.instructions[0]
        module = function.module
        raise CannotDifferentiate(
            "control flow enters a loop at more than one place",
            instruction=str(first),
            location=module.location(first) if module else None,
            help="write the loop with one entry",
        )
    return loops


def _give_preheader(function: Function, header: Block) -> None:
    cfg = Cfg(function)
    outside = [p for p in cfg.predecessors[header] if not cfg.dominates(header, p)]
    if len(outside) != 1 or cfg.successors[outside[0]] != [header]:
        if not outside:
            _give_entry(function, header)
        else:
            split_edges(function, outside, header, "preheader")


def _give_entry(function: Function, header: Block) -> None:
    entry = function.add_block("entry")
    entry.append(Branch([header]))
    function.blocks.remove(entry)
    function.blocks.insert(0, entry)


def _give_latch(function: Function, header: Block) -> None:
    cfg = Cfg(function)
    latches = [p for p in cfg.predecessors[header] if cfg.dominates(header, p)]
    if len(latches) > 1 or cfg.successors[latches[0]] != [header]:
        split_edges(function, latches, header, "latch")


def _split_exits(function: Function) -> list[tuple[Block, Block]]:
    """New blocks on all edges that leave loops, each with the block inside the loop that it follows."""
    cfg = Cfg(function)
    loops = Loops(cfg)
    edges = [
        (source, target)
        for source in cfg.order
        for target in cfg.successors[source]
        if (inner := loops.of(source)) is not None and target not in inner.blocks and target in cfg.live
    ]
    return [(split_edges(function, [source], target, "exit"), source) for source, target in edges]


def _plan(function: Function, loop: Loop, loops: Loops, layout: DataLayout) -> LoopPlan:
    preheader = loops.preheader(loop)
    assert preheader is not None and len(loop.latches) == 1
    latch = loop.latches[0]
    trip = trip_count(loop, loops, layout)
    for phi in loop.header.phis:
        affine = affine_phi(phi, loop, loops, layout)
        if affine is None or phi.type is not i64 or affine.step != 1:
            continue
        if isinstance(affine.start, ConstInt) and affine.start.value == 0:
            return LoopPlan(loop, preheader, latch, phi, trip)
    return LoopPlan(loop, preheader, latch, _add_counter(function, loop, preheader, latch), trip)


def _add_counter(function: Function, loop: Loop, preheader: Block, latch: Block) -> Phi:
    builder = Builder(function).position(loop.header)
    counter = builder.phi(i64, [(const_int(i64, 0), preheader)], "iteration")
    bump: Instruction = BinaryOp(
        "add", i64, counter, const_int(i64, 1), function.fresh_name("iteration.next"), ("nuw", "nsw")
    )
    last = latch.terminator
    assert last is not None
    latch.insert_before(last, bump)
    counter.add_incoming(bump, latch)
    return counter
