"""Memory that the primal frees lives until its reverse.

A block with a shadow is only marked: its allocation's reverse frees it. Whether a block has one is known at run
time where its address was read from memory, because the library's own code allocates too (text, for
instance). Blocks without a shadow wait in a list, which is emptied when the function is reversed.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, zero
from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.types import Type, i64, ptr, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.reverse.storage import Slot, Slots, declare_memory
from ferrodiff.adcore.reverse.unwinding import track
from ferrodiff.adcore.rules.runtime import allocation
from ferrodiff.adcore.session import Session

SHADOW_HEADER = 32
"""Bytes before a shadow: whether the primal freed its block, then the block's address, size and alignment."""

_OWNER = 8 - SHADOW_HEADER
"""Where the block's address stands, seen from the shadow."""

_SIZE = 16 - SHADOW_HEADER
"""Where the block's size stands, seen from the shadow."""

BLOCK_SIZE = "malloc_usable_size"
"""The C allocator's answer to how large a block is."""


class Frees:
    """The frees of one function. ``slots`` hold the lists of waiting blocks, one per deallocator."""

    def __init__(self, session: Session, slots: Slots) -> None:
        self.session = session
        self.slots = slots
        self.waiting: dict[str, Slot] = {}

    def mark(self, builder: Builder, shadow: Value) -> None:
        """Note that the primal gave up the block of a shadow."""
        builder.store(const_int(i64, 1), builder.ptradd(shadow, -SHADOW_HEADER), 8)

    def give_up(self, builder: Builder, call: Call, shadow: Value) -> None:
        """Mark the block of a deallocator's call, or have it wait if the shadow turns out not to be its own."""
        assert call.callee_name is not None
        slot = self.waiting.get(call.callee_name)
        if slot is None:
            slot = self.waiting[call.callee_name] = self.slots.new(ptr, "waiting", zero(ptr))
        function = self._helper("give.up", call.callee_name, [a.type for a in call.args])
        builder.call(function, void, [*call.args, shadow, slot.address[builder.function]])

    def release(self, builder: Builder) -> None:
        """Free all that waits."""
        for name, slot in self.waiting.items():
            builder.call(self._helper("release", name, []), void, [slot.address[builder.function]])

    # -- generated functions -------------------------------------------------------------------------------

    def _helper(self, what: str, deallocator: str, types: list[Type]) -> Function:
        key = ("frees", what, deallocator)
        found = self.session.derivatives.get(key)
        if found is None:
            made = self._give_up(deallocator, types) if what == "give.up" else self._release(deallocator)
            found = self.session.derivatives[key] = made
            self.session.generated[made.name] = made
            track(self.session, [made])
        return found

    def _new(self, what: str, types: list[Type]) -> tuple[Function, Builder]:
        name = self.session.fresh_name(f"ferrodiff.{what}")
        function = new_function(name, void, [(t, f"a{k}") for k, t in enumerate(types)], "nounwind")
        declare_memory(function)
        builder = Builder(function)
        builder.position(builder.new_block("entry"))
        return function, builder

    def _give_up(self, deallocator: str, types: list[Type]) -> Function:
        function, builder = self._new("give.up", [*types, ptr, ptr])
        *args, shadow, waiting = function.arguments
        what = allocation(deallocator)
        assert what is not None
        block = args[what.pointer or 0]
        look, mark, wait, done = (builder.new_block(n) for n in ("look", "mark", "wait", "done"))
        builder.cond_br(builder.icmp("eq", shadow, zero(ptr)), wait, look)
        builder.position(look)
        owner = builder.load(ptr, builder.ptradd(shadow, _OWNER), 8)
        builder.cond_br(builder.icmp("eq", owner, block), mark, wait)
        self.mark(builder.position(mark), shadow)
        builder.br(done)
        builder.position(wait)
        node = builder.call("malloc", ptr, [const_int(i64, 8 * (len(args) + 1))], name="node")
        builder.store(builder.load(ptr, waiting, 8), node, 8)
        for k, argument in enumerate(args):
            builder.store(argument, builder.ptradd(node, 8 * (k + 1)), 8)
        builder.store(node, waiting, 8)
        builder.br(done)
        builder.position(done).ret()
        return function

    def _release(self, deallocator: str) -> Function:
        function, builder = self._new("release", [ptr])
        (waiting,) = function.arguments
        entry = builder.block
        assert entry is not None
        body, done = builder.new_block("body"), builder.new_block("done")
        first = builder.load(ptr, waiting, 8)
        builder.cond_br(builder.icmp("eq", first, zero(ptr)), done, body)
        builder.position(body)
        node = builder.phi(ptr, [(first, entry)], "node")
        types = self._parameters(deallocator)
        args = [builder.load(t, builder.ptradd(node, 8 * (k + 1)), 8) for k, t in enumerate(types)]
        builder.call(deallocator, void, args)
        following = builder.load(ptr, node, 8)
        builder.call("free", void, [node])
        node.add_incoming(following, body)
        builder.cond_br(builder.icmp("eq", following, zero(ptr)), done, body)
        builder.position(done)
        builder.store(zero(ptr), waiting, 8)
        builder.ret()
        return function

    def _parameters(self, deallocator: str) -> list[Type]:
        what = allocation(deallocator)
        assert what is not None
        places = {what.pointer: ptr, what.old_size: i64, what.align: i64}
        return [kind for place, kind in sorted((p, t) for p, t in places.items() if p is not None)]


def known_size(session: Session) -> Function:
    """The function that gives a block's size, as asked for, of the block and its shadow.

    The allocator's own answer may be larger than the shadow. Zero of null; of a block with a shadow that is not
    its own, the allocator's answer.
    """
    key = ("block size",)
    found = session.derivatives.get(key)
    if found is None:
        found = new_function(
            session.fresh_name("ferrodiff.block.size"), i64, [(ptr, "block"), (ptr, "shadow")], "nounwind"
        )
        block, shadow = found.arguments
        builder = Builder(found)
        builder.position(builder.new_block("entry"))
        look, ours, other = (builder.new_block(n) for n in ("look", "ours", "other"))
        builder.cond_br(builder.icmp("eq", shadow, zero(ptr)), other, look)
        builder.position(look)
        owner = builder.load(ptr, builder.ptradd(shadow, _OWNER), 8)
        builder.cond_br(builder.icmp("eq", owner, block), ours, other)
        builder.position(ours).ret(builder.load(i64, builder.ptradd(shadow, _SIZE), 8))
        builder.position(other)
        builder.ret(builder.call(BLOCK_SIZE, i64, [block]))
        session.generated[found.name] = session.derivatives[key] = found
    return found
