"""Functions that carry adjoints back over copies of memory: one per layout of floats, one for unknown layouts."""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, zero
from ferrodiff.adcore.ir.types import FloatType, f64, i1, i64, ptr, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.session import Session

ADDRESS_BITS = 48
"""Bits of the addresses of memory that programs make."""

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

    def words(self, *, has_source: bool) -> Function:
        """The function for memory of unknown layout in which all floats are `f64` at multiples of eight bytes.

        Its shadow holds adjoints, shadow addresses, and zeros where the primal has integers. Words below
        2^48 are left alone: they are addresses, or adjoints that are smaller than 1.4e-309.
        """
        key = ("shuttle", "words", has_source)
        found = self.session.derivatives.get(key)
        if found is None:
            found = self._make_words(has_source)
            self.session.derivatives[key] = found
            self.session.generated[found.name] = found
        return found

    def _make_words(self, has_source: bool) -> Function:
        name = self.session.fresh_name("ferrodiff.adjoint.words")
        function = new_function(name, void, [(ptr, "source"), (ptr, "target"), (i64, "bytes")], "nounwind")
        builder = Builder(function)
        builder.position(builder.new_block("entry"))
        source, target, size = function.arguments
        near, far = builder.ptrtoint(target, i64), builder.ptrtoint(source, i64)
        lead = builder.and_(builder.sub(const_int(i64, 0), near), 7)
        fits = builder.icmp("ult", lead, size)
        count = builder.select(fits, builder.udiv(builder.sub(size, lead), 8), const_int(i64, 0))
        together = builder.icmp("eq", builder.and_(builder.xor(near, far), 7), 0)
        first, origin = builder.ptradd(target, lead), builder.ptradd(source, lead)
        moves, clears = builder.new_block("moves"), builder.new_block("clears")
        builder.cond_br(together if has_source else const_int(i1, 0), moves, clears)
        down, up = builder.new_block("down"), builder.new_block("up")
        builder.position(moves)
        builder.cond_br(builder.icmp("ugt", source, target), down, up)
        self._word_loop(builder.position(down), origin, first, count, True)
        self._word_loop(builder.position(up), origin, first, count, False)
        self._word_loop(builder.position(clears), None, first, count, False)
        return function

    def _word_loop(
        self, builder: Builder, source: Value | None, target: Value, count: Value, down: bool
    ) -> None:
        before = builder.block
        assert before is not None
        body, moved, rest, done = (builder.new_block(n) for n in ("body", "adjoint", "rest", "done"))
        builder.cond_br(builder.icmp("eq", count, 0), done, body)
        builder.position(body)
        step = builder.phi(i64, [(const_int(i64, 0), before)], "i")
        after = builder.add(step, 1, ("nuw",))
        index = builder.sub(builder.sub(count, 1), step) if down else step
        offset = builder.mul(index, 8)
        word = builder.load(i64, builder.ptradd(target, offset), 8)
        builder.cond_br(builder.icmp("ult", word, 1 << ADDRESS_BITS), rest, moved)
        self._element(builder.position(moved), source, target, offset, f64)
        builder.br(rest)
        builder.position(rest)
        step.add_incoming(after, rest)
        builder.cond_br(builder.icmp("eq", after, count), done, body)
        builder.position(done).ret()

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
        # A period may be longer than the way the memory moves: order matters within it, too.
        for offset, kind in sorted(floats, key=lambda item: item[0], reverse=down):
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
