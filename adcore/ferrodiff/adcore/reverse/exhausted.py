"""Memory that a derivative allocates for itself is there, or the program stops with a message.

The message is in the words of Rust's own allocator, so that whoever runs the program tells it from a crash.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import zero
from ferrodiff.adcore.ir.types import i64, ptr, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.reverse.storage import declare_memory
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.stops import stop_if

CHECKED = "memory is checked"
"""Where the session notes that no derivative is differentiated itself: checks have no derivative."""

_SIZES = {"malloc": ["size"], "calloc": ["count", "size"]}
_MESSAGE = "memory allocation of a derivative's tape or shadow failed"


def checked(session: Session, name: str) -> Function:
    """`malloc` or `calloc` that stops the program where there is no memory."""
    full = f"ferrodiff.checked.{name}"
    found = session.generated.get(full)
    if found is None:
        sizes = [(i64, size) for size in _SIZES[name]]
        found = session.generated[full] = new_function(full, ptr, sizes, "alwaysinline nounwind")
        declare_memory(found)
        builder = Builder(found)
        builder.position(builder.new_block("entry"))
        block = builder.call(name, ptr, list(found.arguments), name="block")
        stopping = stop_if(session, "ferrodiff.out_of_memory", _MESSAGE)
        builder.call(stopping.value, void, [builder.icmp("eq", block, zero(ptr))])
        builder.ret(block)
    return found
