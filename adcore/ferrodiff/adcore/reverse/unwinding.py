"""Memory of derivatives when the primal panics: it is freed when the panic leaves the derivative.

In programs whose panics unwind, every block that a derivative allocates for itself stands in a list of its
thread. A derivative is called through a guard, which frees what is still in the list when it is unwound: tapes,
records and shadows, and blocks of the primal whose frees were put off. Where panics abort there is no list.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import global_ref
from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.reverse.exhausted import CHECKED, checked
from ferrodiff.adcore.rules.runtime import Role, allocation
from ferrodiff.adcore.session import Session

ENABLED = "memory is tracked"
"""Where the session notes whether panics unwind (and no derivative is differentiated itself)."""

_PREFIX = "ferrodiff.tracked."

_LIST = """
@ferrodiff.live = internal thread_local global ptr null

define internal ptr @ferrodiff.tracked.enter(ptr %node, i64 %kind) nounwind {
  %head = load ptr, ptr @ferrodiff.live
  %older = getelementptr i8, ptr %node, i64 8
  %what = getelementptr i8, ptr %node, i64 16
  %block = getelementptr i8, ptr %node, i64 32
  store ptr null, ptr %node
  store ptr %head, ptr %older
  store i64 %kind, ptr %what
  store ptr %node, ptr @ferrodiff.live
  %first = icmp eq ptr %head, null
  br i1 %first, label %done, label %behind
behind:
  store ptr %node, ptr %head
  br label %done
done:
  ret ptr %block
}

define internal ptr @ferrodiff.tracked.malloc(i64 %size) nounwind {
  %total = add i64 %size, 32
  %node = call ptr @malloc(i64 %total)
  %block = call ptr @ferrodiff.tracked.enter(ptr %node, i64 0)
  ret ptr %block
}

define internal ptr @ferrodiff.tracked.waiting(i64 %size) nounwind {
  %total = add i64 %size, 32
  %node = call ptr @malloc(i64 %total)
  %block = call ptr @ferrodiff.tracked.enter(ptr %node, i64 2)
  ret ptr %block
}

define internal ptr @ferrodiff.tracked.shadow(i64 %count, i64 %size) nounwind {
  %total = add i64 %size, 32
  %node = call ptr @calloc(i64 %count, i64 %total)
  %block = call ptr @ferrodiff.tracked.enter(ptr %node, i64 1)
  ret ptr %block
}

define internal void @ferrodiff.tracked.free(ptr %block) nounwind {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %leave
leave:
  %node = getelementptr i8, ptr %block, i64 -32
  %newer = load ptr, ptr %node
  %at = getelementptr i8, ptr %node, i64 8
  %older = load ptr, ptr %at
  %newest = icmp eq ptr %newer, null
  %place = getelementptr i8, ptr %newer, i64 8
  %before = select i1 %newest, ptr @ferrodiff.live, ptr %place
  store ptr %older, ptr %before
  %oldest = icmp eq ptr %older, null
  br i1 %oldest, label %give, label %after
after:
  store ptr %newer, ptr %older
  br label %give
give:
  call void @free(ptr %node)
  br label %done
done:
  ret void
}

define internal void @ferrodiff.tracked.unwind(ptr %mark) cold noinline nounwind {
  br label %next
next:
  %node = load ptr, ptr @ferrodiff.live
  %end = icmp eq ptr %node, %mark
  br i1 %end, label %done, label %look
look:
  %at = getelementptr i8, ptr %node, i64 8
  %older = load ptr, ptr %at
  store ptr %older, ptr @ferrodiff.live
  %what = getelementptr i8, ptr %node, i64 16
  %kind = load i64, ptr %what
  %block = getelementptr i8, ptr %node, i64 32
  switch i64 %kind, label %give [ i64 1, label %shadow
    i64 2, label %owned ]
shadow:
  %mark.of = load i64, ptr %block
  %kept = icmp eq i64 %mark.of, 0
  br i1 %kept, label %give, label %owned
owned:
  %a = getelementptr i8, ptr %block, i64 8
  %address = load ptr, ptr %a
  %b = getelementptr i8, ptr %block, i64 16
  %size = load i64, ptr %b
  %c = getelementptr i8, ptr %block, i64 24
  %align = load i64, ptr %c
  DEALLOCATE
  br label %give
give:
  call void @free(ptr %node)
  br label %next
done:
  ret void
}
"""


def is_tracked(session: Session) -> bool:
    """Whether blocks of derivatives are in a list."""
    return bool(session.facts.get(ENABLED))


def track(session: Session, functions: Iterable[Function]) -> None:
    """Have what derivatives allocate for themselves put in the list, or checked where there is no list.

    The primal's own calls have a place in the source, and stay.
    """
    if not is_tracked(session) and not session.facts.get(CHECKED):
        return
    for function in functions:
        for insn in function.instructions():
            if isinstance(insn, Call) and insn.callee_name in _TRACKED and "dbg" not in insn.metadata:
                insn.callee = _instead(session, insn)


def _instead(session: Session, call: Call) -> Value:
    """What a derivative's own allocator call calls."""
    name = call.callee_name or ""
    if is_tracked(session):
        hint = (call.name or "").split(".", 1)[0]
        return global_ref(_PREFIX + _NAMED.get(hint, _TRACKED[name]))
    return call.callee if name == "free" else checked(session, name).value


_TRACKED = {"malloc": "malloc", "calloc": "shadow", "free": "free"}
_NAMED = {"node": "waiting"}


def guard(session: Session, derivative: Function) -> str:
    """The name of the function through which a derivative is called."""
    if not is_tracked(session):
        return derivative.name
    if "@ferrodiff.live" not in session.globals:
        deallocate = _deallocation(session)
        text = _LIST.replace("DEALLOCATE", deallocate)
        for name in ("malloc", "calloc"):
            text = text.replace(f"call ptr @{name}(", f"call ptr {checked(session, name).value.ref}(")
        session.globals["@ferrodiff.live"] = text
    name = session.fresh_name(f"{derivative.name}.guarded")
    spelled = global_ref(name).ref
    session.globals[spelled] = f"""
define internal void {spelled}(ptr %a, ptr %da, ptr %r, ptr %dr) personality ptr @rust_eh_personality {{
  %mark = load ptr, ptr @ferrodiff.live
  invoke void {derivative.value.ref}(ptr %a, ptr %da, ptr %r, ptr %dr) to label %done unwind label %panic
panic:
  %what = landingpad {{ ptr, i32 }} cleanup
  call void @ferrodiff.tracked.unwind(ptr %mark)
  resume {{ ptr, i32 }} %what
done:
  ret void
}}
"""
    return name


def _deallocation(session: Session) -> str:
    for name in session.module.functions:
        what = allocation(name)
        if what is not None and what.role is Role.DEALLOCATE and what.old_size is not None:
            return f"call void {global_ref(name).ref}(ptr %address, i64 %size, i64 %align)"
    return ""
