"""Calls of `__enzyme_autodiff` and `__enzyme_fwddiff` in IR from C, C++, Fortran or Julia.

Programs in these languages ask for a derivative by calling a function of such a name with the primal's
address, then its arguments, each preceded by a marker (a load of the global `enzyme_const`, `enzyme_dup`,
`enzyme_dupnoneed` or `enzyme_out`) unless the default fits: in reverse mode memory is `enzyme_dup`, floats
are `enzyme_out`, the rest `enzyme_const`; in forward mode floats and memory are `enzyme_dup`. `enzyme_width`
is followed by the number of shadows of each duplicated argument. A reverse call is seeded with 1 and returns
the gradients of its `enzyme_out` arguments; a forward call returns the tangents of the result.

`replace_foreign_calls` turns each call into one of an entry (see `entry`), so that one core serves them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ferrodiff.adcore.entry import Entry, Wanted, with_entry
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstInt, GlobalRef, global_ref
from ferrodiff.adcore.ir.instructions import Call, Load
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import FunctionType, Type, VoidType, is_float, is_pointer
from ferrodiff.adcore.ir.values import Function

PREFIXES = {"__enzyme_autodiff": "reverse", "__enzyme_fwddiff": "forward"}
"""What a called symbol's name starts with, and the mode it asks for."""

MARKERS = {
    "enzyme_const": {"reverse": "Const", "forward": "Const"},
    "enzyme_dup": {"reverse": "Duplicated", "forward": "Dual"},
    "enzyme_dupnoneed": {"reverse": "Duplicated", "forward": "Dual"},
    "enzyme_out": {"reverse": "Active"},
}
"""The global whose load stands before an argument, and the argument's activity by mode."""

WIDTH = "enzyme_width"


def mode_of(symbol: str | None) -> str | None:
    """The mode a called symbol asks for; None for every other function."""
    if symbol is None:
        return None
    return next((mode for prefix, mode in PREFIXES.items() if symbol.startswith(prefix)), None)


def replace_foreign_calls(text: str) -> tuple[str, int]:
    """The module with every such call replaced by a call of an entry, and how many there were.

    `text` is canonical IR. Raises `CannotDifferentiate` with the call's place when it cannot be understood.
    """
    module = Module.parse(text)
    calls = list(_calls(module))
    if not calls:
        return text, 0
    entries: dict[tuple[object, ...], Entry] = {}
    changed: dict[str, Function] = {}
    added: list[Wanted] = []
    for function, call, mode in calls:
        request = _read(module, call, mode)
        entry = entries.get(request.key)
        if entry is None:
            wanted = request.wanted(module, f"__ferrodiff_derivative_{len(entries)}")
            added.append(wanted)
            entry = entries[request.key] = with_entry(text, wanted)[1]
        _put(function, call, request, entry)
        changed[function.name] = function
    text = module.with_functions((), changed, (), ())
    for wanted in added:
        text = with_entry(text, wanted)[0]
    return text, len(calls)


def _calls(module: Module) -> Iterator[tuple[Function, Call, str]]:
    for name, (start, end) in module.spans.items():
        if name in module.declarations or module.text.find("__enzyme_", start, end) < 0:
            continue
        function = module.functions[name]
        for insn in list(function.instructions()):
            if isinstance(insn, Call) and (mode := mode_of(insn.callee_name)) is not None:
                yield function, insn, mode


@dataclass
class _Request:
    """One call as it was written: the primal, and per parameter the values that are passed for it."""

    function: str
    mode: str
    width: int
    result: Type
    activities: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.function, self.mode, self.width, tuple(self.activities), str(self.result))

    def wanted(self, module: Module, name: str) -> Wanted:
        returned = module.functions[self.function].return_type
        if isinstance(returned, VoidType):
            result = "None"
        elif self.mode == "forward":
            result = "DualOnly"
        else:
            result = "ActiveOnly" if is_float(returned) else "Const"
        return Wanted(
            self.function, name, self.mode, tuple(self.activities), result, self.width, seeded=False
        )


def _read(module: Module, call: Call, mode: str) -> _Request:
    """Pairs a call's operands with the primal's parameters."""
    operands = list(call.operands)
    target = operands.pop(0) if operands else None
    if not isinstance(target, GlobalRef) or target.name not in module.functions:
        raise _refusal(module, call, "the function to differentiate is not known at compile time")
    primal = module.functions[target.name]
    request = _Request(target.name, mode, _width(module, call, operands), call.type)
    for parameter in primal.arguments:
        marker = _marker(operands[0]) if operands else None
        if marker is not None:
            operands.pop(0)
        activity = MARKERS[marker].get(mode) if marker else _default(parameter.type, mode)
        if activity is None:
            raise _refusal(module, call, f"`{marker}` has no meaning in {mode} mode")
        count = 1 + (request.width if activity in ("Dual", "Duplicated") else 0)
        if len(operands) < count:
            raise _refusal(
                module, call, f"too few arguments for parameter {parameter.index} of `{primal.name}`"
            )
        request.activities.append(activity)
        request.values += operands[:count]
        del operands[:count]
    if operands:
        raise _refusal(
            module, call, f"{len(operands)} arguments are left over after those of `{primal.name}`"
        )
    return request


def _width(module: Module, call: Call, operands: list[Value]) -> int:
    """Takes `enzyme_width, N` out of the operands; 1 where it is absent."""
    for place, operand in enumerate(operands[:-1]):
        if _global_loaded(operand) == WIDTH:
            number = operands[place + 1]
            if not isinstance(number, ConstInt) or number.value < 1:
                raise _refusal(module, call, "`enzyme_width` must be followed by a constant of at least 1")
            del operands[place : place + 2]
            return number.value
    return 1


def _default(ty: Type, mode: str) -> str:
    if is_pointer(ty):
        return "Duplicated" if mode == "reverse" else "Dual"
    if is_float(ty):
        return "Active" if mode == "reverse" else "Dual"
    return "Const"


def _marker(value: Value) -> str | None:
    name = _global_loaded(value)
    return name if name in MARKERS else None


def _global_loaded(value: Value) -> str | None:
    """The global that a marker operand names: by a load, or by its address."""
    if isinstance(value, Load):
        value = value.operands[0]
    return value.name if isinstance(value, GlobalRef) else None


def _refusal(module: Module, call: Call, reason: str) -> CannotDifferentiate:
    return CannotDifferentiate(
        reason, instruction=str(call).split(", !", 1)[0], location=module.location(call)
    )


def _put(function: Function, call: Call, request: _Request, entry: Entry) -> None:
    """Makes the call one of the entry.

    Raises `CannotDifferentiate` when arguments or result do not have the types that the entry has.
    """
    shown = str(call).split(", !", 1)[0]
    if tuple(v.type for v in request.values) != entry.parameters:
        raise CannotDifferentiate(
            f"the arguments passed for `{request.function}` do not have its parameters' types",
            instruction=shown,
        )
    returned = entry.returned
    if not isinstance(call.type, VoidType) and call.type != returned:
        raise CannotDifferentiate(
            f"the call expects `{call.type}`, but a derivative of `{request.function}` returns `{returned}`",
            instruction=shown,
        )
    if call.name is None and not isinstance(returned, VoidType):
        call.name = function.fresh_name("derivative")
    call.type = returned
    call.callee = global_ref(entry.name)
    call.operands = list(request.values)
    call.arg_attributes = [()] * len(request.values)
    call.return_attributes = ()
    call.function_type = FunctionType(returned, entry.parameters)
    call.function_attributes = ""
