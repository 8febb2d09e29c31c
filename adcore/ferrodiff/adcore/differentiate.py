"""The whole of it: a module with marker calls in, the module with their derivatives out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ferrodiff.adcore.dispatch import resolve
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.facts.activity import ConstRanges
from ferrodiff.adcore.forward.context import ACTIVE, NeedsGuard, Signature
from ferrodiff.adcore.forward.lost import check_globals
from ferrodiff.adcore.forward.transform import differentiate_forward
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import GlobalRef, global_ref
from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import FunctionType, void
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.request import MARKERS, Request, read_request
from ferrodiff.adcore.reverse.exhausted import CHECKED
from ferrodiff.adcore.reverse.guards import NeedsGuard as MissingShadow
from ferrodiff.adcore.reverse.transform import differentiate_reverse
from ferrodiff.adcore.reverse.unwinding import ENABLED, guard
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.text import check_text, writers


@dataclass(frozen=True)
class Options:
    """How to differentiate. There is nothing to choose yet."""


@dataclass(frozen=True)
class Derivative:
    """One derivative that was made: what was asked for, and the function that replaces its marker.

    ``kept`` are a reverse derivative's reports of what is on its tapes (see ``reverse.report``).
    """

    request: Request
    symbol: str
    kept: tuple[object, ...] = ()


@dataclass
class Differentiated:
    """The new module's text, the derivatives in it, and what was refused (its markers stay in the text)."""

    text: str
    derivatives: list[Derivative] = field(default_factory=list)
    errors: list[CannotDifferentiate] = field(default_factory=list)


def differentiate_module(text: str, options: Options | None = None) -> Differentiated:
    """Replace every marker call of a module by a call of the derivative it asks for.

    `text` is canonical LLVM IR as llvmlite prints it. Refusals are collected, one per derivative at most. Raises
    `ReadError` if the text is not canonical.
    """
    return _Work(Module.parse(text)).run()


@dataclass(eq=False)
class _Marker:
    function: Function
    call: Call
    mode: str


class _Work:
    def __init__(self, module: Module) -> None:
        self.session = Session(module)
        self.made: dict[Request, Function] = {}
        self.done = Differentiated("")
        self.refused: set[Request] = set()

    def run(self) -> Differentiated:
        markers = self._markers()
        self.session.facts[CHECKED] = not self._is_nested(markers)
        self.session.facts[ENABLED] = self._unwinds() and bool(self.session.facts[CHECKED])
        for marker in self._inner_first(markers):
            self._replace(marker)
        session = self.session
        session.finish()
        text = session.module.with_functions(
            session.generated.values(), session.changed, (), session.globals.values()
        )
        if not self.done.errors:
            text = _without_declarations(text)
        self.done.text = text
        return self.done

    # -- markers ---------------------------------------------------------------------------------------------

    def _markers(self) -> dict[str, list[_Marker]]:
        """Marker calls by the function they stand in."""
        module = self.session.module
        found: dict[str, list[_Marker]] = {}
        for name, (start, end) in module.spans.items():
            if name in module.declarations or module.text.find("@__ferrodiff_", start, end) < 0:
                continue
            function = module.functions[name]
            calls = [i for i in function.instructions() if isinstance(i, Call) and i.callee_name in MARKERS]
            if calls:
                found[name] = [_Marker(function, c, MARKERS[c.callee_name or ""]) for c in calls]
        return found

    def _inner_first(self, markers: dict[str, list[_Marker]]) -> Iterator[_Marker]:
        """A derivative's derivative needs the inner one to be there: callees' markers come first."""
        begun: set[str] = set()

        def visit(name: str) -> Iterator[_Marker]:
            if name in begun:
                return
            begun.add(name)
            for callee in _mentioned(self.session.module, name):
                yield from visit(callee)
            yield from markers.get(name, ())

        for name in markers:
            yield from visit(name)

    def _unwinds(self) -> bool:
        """Whether panics of Rust code unwind."""
        text = self.session.module.text
        return "landingpad" in text and "@rust_eh_personality" in text

    def _is_nested(self, markers: dict[str, list[_Marker]]) -> bool:
        """Whether a function that is differentiated calls a derivative."""
        reached: set[str] = set()
        work = [
            v.name for ms in markers.values() for m in ms for v in m.call.args if isinstance(v, GlobalRef)
        ]
        while work:
            name = work.pop()
            if name not in reached and name in self.session.module.spans:
                reached.add(name)
                work.extend(_mentioned(self.session.module, name))
        return any(name in reached for name in markers)

    # -- one marker ------------------------------------------------------------------------------------------

    def _replace(self, marker: _Marker) -> None:
        request: Request | None = None
        try:
            request = read_request(self.session.module, marker.call, marker.mode)
            if request in self.refused:
                return
            derivative = self.made.get(request)
            if derivative is None:
                derivative = self.made[request] = self._derivative(request)
                kept = self.session.facts.get(("kept", request), ())
                self.done.derivatives.append(
                    Derivative(request, derivative.name, kept if isinstance(kept, tuple) else ())
                )
        except CannotDifferentiate as error:
            if request is not None:
                self.refused.add(request)
                error.derivative = error.derivative or request.derivative
                error.location = error.location or request.location
            self.done.errors.append(error)
            return
        self._put(marker, request, derivative)

    def _derivative(self, request: Request) -> Function:
        thunk = self.session.definition(request.thunk)
        if thunk is None or len(thunk.arguments) != 2:
            raise CannotDifferentiate(f"the function `{request.function}` has no body in this module")
        before = writers(self.session)
        while True:
            try:
                derivative = self._attempt(thunk, request)
                check_text(self.session, thunk, before)
                if request.mode == "forward":
                    check_globals(self.session, thunk)
                return derivative
            except CannotDifferentiate as error:
                check_text(self.session, thunk, before)
                if not resolve(self.session, thunk, error.instruction):
                    raise

    def _attempt(self, thunk: Function, request: Request) -> Function:
        if request.mode == "reverse":
            return self._reverse(thunk, request)
        try:
            return self._forward(thunk, request, guard=False)
        except NeedsGuard:
            return self._forward(thunk, request, guard=True)

    def _forward(self, thunk: Function, request: Request, guard: bool) -> Function:
        session = self.session
        known = set(session.generated)
        signature = Signature(
            function=thunk.name,
            arguments=(ACTIVE, ACTIVE),
            result=False,
            width=request.width,
            ranges=ConstRanges(request.const_ranges),
            guard=guard,
        )
        try:
            derivative = differentiate_forward(session, thunk, signature)
        except (CannotDifferentiate, NeedsGuard):
            self._forget(known)
            raise
        if "alwaysinline" not in derivative.attributes:
            derivative.attributes = f"{derivative.attributes} alwaysinline".strip()
        return derivative

    def _forget(self, known: set[str]) -> None:
        """Take back the functions of a derivative that failed half-way."""
        session = self.session
        for name in set(session.generated) - known:
            del session.generated[name]
        session.derivatives = {k: f for k, f in session.derivatives.items() if f.name in session.generated}

    def _reverse(self, thunk: Function, request: Request) -> Function:
        known = set(self.session.generated)
        try:
            return differentiate_reverse(self.session, thunk, request)
        except CannotDifferentiate:
            self._forget(known)
            raise
        except MissingShadow:
            self._forget(known)
        try:
            return differentiate_reverse(self.session, thunk, request, guard=True)
        except CannotDifferentiate:
            self._forget(known)
            raise

    def _put(self, marker: _Marker, request: Request, derivative: Function) -> None:
        """Call the derivative instead of the marker, with one address per lane."""
        call = marker.call
        builder = Builder(marker.function).position_before(call)
        if "dbg" in call.metadata:
            builder.metadata = {"dbg": call.metadata["dbg"]}
        args, dargs, result, dresult = call.operands[3:7]
        if request.mode == "forward":
            operands = [args, *_lanes(builder, dargs, request.width, request.args_size), result]
            operands += _lanes(builder, dresult, request.width, request.result_size)
        else:
            operands = [args, dargs, result, dresult]
        name = guard(self.session, derivative) if request.mode == "reverse" else derivative.name
        call.callee = global_ref(name)
        call.operands = operands
        call.arg_attributes = [()] * len(operands)
        call.function_type = FunctionType(void, tuple(v.type for v in operands))
        call.function_attributes = ""
        call.calling_convention = derivative.calling_convention
        call.tail = ""
        self.session.changed[marker.function.name] = marker.function


def _lanes(builder: Builder, base: Value, width: int, stride: int) -> list[Value]:
    return [builder.ptradd(base, lane * stride) for lane in range(width)]


_SYMBOL = re.compile(r'@(?:"([^"]*)"|([-\w$.]+))')


def _mentioned(module: Module, name: str) -> list[str]:
    """Functions with a body that a function mentions, in the text's order."""
    start, end = module.spans[name]
    names = dict.fromkeys(quoted or plain for quoted, plain in _SYMBOL.findall(module.text, start, end))
    return [n for n in names if n != name and n in module.spans and n not in module.declarations]


def _without_declarations(text: str) -> str:
    """The text without the declarations of the markers."""
    return re.sub(r"(?m)^declare [^\n]*@__ferrodiff_(?:forward|reverse)\([^\n]*\n", "", text)
