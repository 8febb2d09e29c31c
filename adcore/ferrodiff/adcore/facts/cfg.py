"""Control flow: predecessors, orders, dominators, post-dominators, reachability.

All facts are about the blocks that the entry reaches. A block is *live* if a return is reachable from it:
panic paths, landing pads that resume and endless loops are not live, and nothing on them is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ferrodiff.adcore.ir.values import Block, Function

Edges = Callable[[Block], Iterable[Block]]


class Cfg:
    """The control-flow graph of one function, a snapshot: it does not follow later changes.

    ``order`` is reverse post-order from the entry; ``successors`` and ``predecessors`` hold each neighbour
    once; ``live`` the blocks from which a return can be reached.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.successors: dict[Block, list[Block]] = {}
        self.order = _reverse_post_order(function.entry, lambda b: b.successors)
        for block in self.order:
            self.successors[block] = block.successors
        self.index = {block: k for k, block in enumerate(self.order)}
        self.predecessors: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.order:
            for target in self.successors[block]:
                self.predecessors[target].append(block)
        self.live = self._reaching_return()
        self._idom = _immediate_dominators(self.order, self.predecessors)
        self._depth = _tree_depth(self.order, self._idom)
        self._reach: dict[Block, set[Block]] = {}
        self._post: dict[Block, Block | None] | None = None

    # -- dominators ----------------------------------------------------------------------------------------

    def idom(self, block: Block) -> Block | None:
        """The immediate dominator; ``None`` of the entry."""
        return self._idom[block]

    def dominates(self, a: Block, b: Block) -> bool:
        """Whether every path from the entry to ``b`` goes through ``a`` (a block dominates itself)."""
        depth = self._depth[a]
        at: Block | None = b
        while at is not None and self._depth[at] > depth:
            at = self._idom[at]
        return at is a

    def edge_dominates(self, source: Block, target: Block, block: Block) -> bool:
        """Whether every path from the entry to ``block`` takes the edge from ``source`` to ``target``."""
        if not self.dominates(target, block):
            return False
        return all(p is source or self.dominates(target, p) for p in self.predecessors[target])

    def post_dominates(self, a: Block, b: Block) -> bool:
        """Whether every path from ``b`` to a return goes through ``a``; both must be live."""
        if self._post is None:
            self._post = self._post_dominators()
        at: Block | None = b
        while at is not None:
            if at is a:
                return True
            at = self._post[at]
        return False

    # -- reachability --------------------------------------------------------------------------------------

    def reachable_from(self, block: Block) -> set[Block]:
        """The blocks that can run after ``block`` has; ``block`` itself only if it lies on a cycle."""
        found = self._reach.get(block)
        if found is None:
            found = set()
            work = list(self.successors[block])
            while work:
                each = work.pop()
                if each not in found:
                    found.add(each)
                    work.extend(self.successors[each])
            self._reach[block] = found
        return found

    def _reaching_return(self) -> set[Block]:
        work = [b for b in self.order if b.terminator is not None and b.terminator.opcode == "ret"]
        found = set(work)
        while work:
            for source in self.predecessors[work.pop()]:
                if source not in found:
                    found.add(source)
                    work.append(source)
        return found

    def _post_dominators(self) -> dict[Block, Block | None]:
        virtual = Block("virtual exit")
        succ = {b: [s for s in self.successors[b] if s in self.live] for b in self.order if b in self.live}
        backwards = {b: [p for p in self.predecessors[b] if p in self.live] for b in succ}
        returns = [b for b in succ if not succ[b]]
        forwards = {b: succ[b] or [virtual] for b in succ}
        forwards[virtual] = []
        order = _reverse_post_order(virtual, lambda b: returns if b is virtual else backwards[b])
        found = _immediate_dominators(order, forwards)
        return {b: (None if d is virtual else d) for b, d in found.items() if b is not virtual}


def _reverse_post_order(entry: Block, edges: Edges) -> list[Block]:
    seen = {entry}
    post: list[Block] = []
    stack = [(entry, iter(edges(entry)))]
    while stack:
        block, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(edges(target))))
                break
        else:
            post.append(block)
            stack.pop()
    post.reverse()
    return post


def _immediate_dominators(
    order: list[Block], predecessors: dict[Block, list[Block]]
) -> dict[Block, Block | None]:
    """Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001)."""
    index = {b: k for k, b in enumerate(order)}
    idom: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new: Block | None = None
            for source in predecessors[block]:
                if source in idom:
                    new = source if new is None else _meet(source, new, idom, index)
            assert new is not None
            if idom.get(block) is not new:
                idom[block] = new
                changed = True
    return {b: (None if b is order[0] else idom[b]) for b in order}


def _meet(a: Block, b: Block, idom: dict[Block, Block], index: dict[Block, int]) -> Block:
    while a is not b:
        while index[a] > index[b]:
            a = idom[a]
        while index[b] > index[a]:
            b = idom[b]
    return a


def _tree_depth(order: list[Block], idom: dict[Block, Block | None]) -> dict[Block, int]:
    depth: dict[Block, int] = {}
    for block in order:
        above = idom[block]
        depth[block] = 0 if above is None else depth[above] + 1
    return depth
