"""Functions that carry adjoints back over copies of memory: one per layout of floats."""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, zero
from ferrodiff.adcore.ir.types import FloatType, i64, ptr, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.session import Session

Floats = tuple[tuple[int, FloatType], ...]


class Shuttle:
    """Makes `void (ptr source shadow, ptr target shadow, i64 bytes)` functions on demand.

    They add the target's adjoints to the source's and set the target's to zero, for the floats at given offsets
    of every `stride` bytes.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def copy(self, stride: int, floats: Floats, *, has_source: bool, move: bool) -> Function:
        """The function for one layout. With `move` the two may overlap."""
        key = ("shuttle", stride, floats, has_source, move)
        found = self.session.derivatives.get(key)
        if found is None:
            found = self._make(stride, floats, has_source, move)
            self.session.derivatives[key] = found
            self.session.generated[found.name] = found
        return found

    def _make(self, stride: int, floats: Floats, has_source: bool, move: bool) -> Function:
        exclusive = () if move or not has_source else ("noalias",)
        name = self.session.fresh_name("ferrodiff.adjoint.copy")
        function = new_function(
            name, void, [(ptr, "source", exclusive), (ptr, "target", exclusive), (i64, "bytes")], "nounwind"
        )
        builder = Builder(function)
        entry = builder.new_block("entry")
        builder.position(entry)
        source, target, size = function.arguments
        count = builder.udiv(size, stride)
        if move and has_source:
            down = builder.new_block("down")
            up = builder.new_block("up")
            builder.cond_br(builder.icmp("ugt", source, target), down, up)
            self._loop(builder.position(down), source, target, count, stride, floats, True)
            self._loop(builder.position(up), source, target, count, stride, floats, False)
        else:
            self._loop(builder, source if has_source else None, target, count, stride, floats, False)
        return function

    def _loop(
        self,
        builder: Builder,
        source: Value | None,
        target: Value,
        count: Value,
        stride: int,
        floats: Floats,
        down: bool,
    ) -> None:
        before = builder.block
        assert before is not None
        body, done = builder.new_block("body"), builder.new_block("done")
        builder.cond_br(builder.icmp("eq", count, 0), done, body)
        builder.position(body)
        step = builder.phi(i64, [(const_int(i64, 0), before)], "i")
        after = builder.add(step, 1, ("nuw",))
        index = builder.sub(builder.sub(count, 1), step) if down else step
        base = builder.mul(index, stride)
        for offset, kind in floats:
            self._element(builder, source, target, builder.add(base, offset), kind)
        step.add_incoming(after, body)
        builder.cond_br(builder.icmp("eq", after, count), done, body)
        builder.position(done).ret()

    def _element(
        self, builder: Builder, source: Value | None, target: Value, offset: Value, kind: FloatType
    ) -> None:
        place = builder.ptradd(target, offset)
        moved = builder.load(kind, place, 1)
        builder.store(zero(kind), place, 1)
        if source is not None:
            origin = builder.ptradd(source, offset)
            builder.store(builder.fadd(builder.load(kind, origin, 1), moved), origin, 1)
