"""Stopping the program with a message, where only its run shows that a derivative is not known."""

from __future__ import annotations

from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, global_ref
from ferrodiff.adcore.ir.types import i1, i32, i64, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.session import Session

_STANDARD_ERROR = 2


def stop(session: Session, name: str, message: str) -> Function:
    """`void name()`, made once: writes `ferrodiff: message` to standard error and aborts."""
    found = session.generated.get(name)
    if found is None:
        text = f"ferrodiff: {message}"
        length = len(text) + 1
        session.globals[f"@{name}.text"] = f'@{name}.text = internal constant [{length} x i8] c"{text}\\0A"'
        found = new_function(name, void, [], "cold noinline noreturn nounwind")
        builder = Builder(found)
        builder.position(builder.new_block("entry"))
        operands = [const_int(i32, _STANDARD_ERROR), global_ref(f"{name}.text"), const_int(i64, length)]
        builder.call("write", i64, operands)
        builder.call("abort", void, [])
        builder.unreachable()
        session.generated[name] = found
    return found


def stop_if(session: Session, name: str, message: str) -> Function:
    """`void name(i1)`, made once: does what `stop` does where its argument holds."""
    found = session.generated.get(name)
    if found is None:
        stopping = stop(session, f"{name}.stop", message)
        found = new_function(name, void, [(i1, "wrong")], "alwaysinline nounwind")
        builder = Builder(found)
        entry, bad, good = (builder.new_block(n) for n in ("entry", "stop", "go"))
        builder.position(entry).cond_br(found.arguments[0], bad, good)
        builder.position(bad).call(stopping, void, [])
        builder.unreachable()
        builder.position(good).ret()
        session.generated[name] = found
    return found
