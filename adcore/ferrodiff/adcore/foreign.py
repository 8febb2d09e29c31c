"""Calls of `__enzyme_autodiff` and `__enzyme_fwddiff` in IR from C, C++, Fortran or Julia.

Programs in these languages ask for a derivative by calling a declared function whose name contains one of
these (C++ mangles it), with the primal's address, then its arguments, each preceded by a marker (a load of
the global `enzyme_const`, `enzyme_dup`, `enzyme_dupnoneed` or `enzyme_out`, or its address) unless the
default fits: in reverse mode memory is `enzyme_dup`, floats are `enzyme_out`, the rest `enzyme_const`; in
forward mode floats and memory are `enzyme_dup`. `enzyme_width` is followed by the number of shadows of each
duplicated argument. A reverse call is seeded with 1 and returns the gradients of its `enzyme_out` arguments;
a forward call returns the tangents of the result. `enzyme_primal_return` puts the primal's result first.

`replace_foreign_calls` turns each call into one of an entry (see `entry`), so that one core serves them all.
What a call may ask for and is not served is refused; so is a primal with a registered derivative of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ferrodiff.adcore.entry import Entry, Wanted, with_entry
from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, GlobalRef, global_ref
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Alloca, Call, Instruction, Invoke, Load, Store
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import (
    ArrayType,
    FunctionType,
    StructType,
    Type,
    VectorType,
    VoidType,
    is_float,
    is_int,
    is_pointer,
)
from ferrodiff.adcore.ir.values import Function

MODES = {"__enzyme_autodiff": "reverse", "__enzyme_fwddiff": "forward"}
"""What a called symbol's name contains, and the mode it asks for."""

MARKERS = {
    "enzyme_const": {"reverse": "Const", "forward": "Const"},
    "enzyme_dup": {"reverse": "Duplicated", "forward": "Dual"},
    "enzyme_dupnoneed": {"reverse": "Duplicated", "forward": "Dual"},
    "enzyme_out": {"reverse": "Active"},
}
"""The global whose load stands before an argument, and the argument's activity by mode."""

WIDTH = "enzyme_width"
PRIMAL = "enzyme_primal_return"

_FAMILY = "__enzyme_"
_REGISTERED = re.compile(
    r"__enzyme_(?:register_\w+|function_like|inactivefn|inactive_global|allocation_like|nofree|shouldrecompute)"
)
"""Globals that name functions whose derivative is not that of their body."""

_ATTRIBUTE = re.compile(r'"(enzyme_\w+)"')
_SYMBOL = re.compile(r'@(?:"([^"]*)"|([-\w$.]+))')


def mode_of(symbol: str | None) -> str | None:
    """The mode a called symbol asks for; None for every other function."""
    if symbol is None:
        return None
    return next((mode for word, mode in MODES.items() if word in symbol), None)


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
            _check_registered(module, call, request.function)
            wanted = request.wanted(module, f"__ferrodiff_derivative_{len(entries)}")
            added.append(wanted)
            entry = entries[request.key] = with_entry(text, wanted)[1]
        _Placement(module, function, call, request, entry).put()
        changed[function.name] = function
    text = module.with_functions((), changed, (), ())
    for wanted in added:
        text = with_entry(text, wanted)[0]
    return text, len(calls)


def _calls(module: Module) -> Iterator[tuple[Function, Call, str]]:
    for name, (start, end) in module.spans.items():
        if name in module.declarations or module.text.find(_FAMILY, start, end) < 0:
            continue
        function = module.functions[name]
        for insn in list(function.instructions()):
            called = insn.callee_name if isinstance(insn, Call) else None
            if not isinstance(insn, Call) or called is None or called not in module.declarations:
                continue
            if (mode := mode_of(called)) is not None:
                yield function, insn, mode
            elif _FAMILY in called:
                raise _refusal(
                    module,
                    insn,
                    f"`{called}` is not served",
                    help="ask for derivatives with `__enzyme_autodiff` and `__enzyme_fwddiff`",
                )


# -- what a program says about its own functions -------------------------------------------------------------


def _check_registered(module: Module, call: Call, primal: str) -> None:
    """Raises `CannotDifferentiate` if a function the primal may call has a derivative of its own.

    Differentiating the body of such a function would answer another question than the program asks. One that
    the program's compiler may have inlined counts as called.
    """
    registered = _registered(module)
    inlined = [n for n in registered if n in module.functions and "noinline" not in _words(module, n)]
    for name in [*_reachable(module, primal), *inlined]:
        said = registered.get(name) or _attribute(module, name)
        if said is not None:
            raise _refusal(
                module,
                call,
                f"`{said}` gives `{name}` a derivative of its own, which is not read",
                help="remove it to have the function's body differentiated",
            )


def _registered(module: Module) -> dict[str, str]:
    """By function (or global), the registration that names it."""
    found: dict[str, str] = {}
    for name in module.globals:
        if (said := _REGISTERED.search(name)) is not None:
            line = module.globals[name].raw
            first = next((q or p for q, p in _SYMBOL.findall(line) if (q or p) != name), None)
            if first is not None:
                found[first] = said[0]
    return found


def _attribute(module: Module, name: str) -> str | None:
    found = _ATTRIBUTE.search(_words(module, name))
    return found[1] if found else None


def _words(module: Module, name: str) -> str:
    """The attributes of a function, those of its groups included."""
    if name not in module.functions:
        return ""
    words = module.functions[name].attributes
    return " ".join([words, *(module.attribute_groups.get(w, "") for w in re.findall(r"#\d+", words))])


def _reachable(module: Module, start: str) -> list[str]:
    """The functions and globals that a function mentions, and those that these mention."""
    found: dict[str, None] = {}
    work = [start]
    while work:
        name = work.pop()
        if name in found:
            continue
        found[name] = None
        if name in module.spans:
            first, last = module.spans[name]
            text = module.text[first:last]
        else:
            text = module.globals[name].raw if name in module.globals else ""
        work += [quoted or plain for quoted, plain in _SYMBOL.findall(text)]
    return list(found)


# -- reading a call ------------------------------------------------------------------------------------------


@dataclass
class _Request:
    """One call as it was written: the primal, and per parameter the values that are passed for it.

    `place` is the memory for a result too large for registers, whose type is then `result`.
    """

    function: str
    mode: str
    result: Type
    width: int = 1
    with_primal: bool = False
    place: Value | None = None
    activities: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.function, self.mode, self.width, self.with_primal, tuple(self.activities))

    def wanted(self, module: Module, name: str) -> Wanted:
        returned = module.functions[self.function].return_type
        if isinstance(returned, VoidType):
            result = "None"
        elif self.mode == "forward":
            result = "Dual" if self.with_primal else "DualOnly"
        elif is_float(returned):
            result = "Active" if self.with_primal else "ActiveOnly"
        else:
            result = "Const"
        return Wanted(
            self.function, name, self.mode, tuple(self.activities), result, self.width, seeded=False
        )


def _read(module: Module, call: Call, mode: str) -> _Request:
    """Pairs a call's operands with the primal's parameters."""
    operands = list(call.operands)
    place, result = None, call.type
    if operands and (kept := _sret(module, call)) is not None:
        place, result = operands.pop(0), kept
    target = _settled(operands.pop(0)) if operands else None
    if not isinstance(target, GlobalRef) or target.name not in module.functions:
        raise _refusal(module, call, "the function to differentiate is not known at compile time")
    primal = module.functions[target.name]
    request = _Request(target.name, mode, result, place=place)
    _options(module, call, operands, request)
    for parameter in primal.arguments:
        marker = _marker(operands[0]) if operands else None
        if marker is not None:
            operands.pop(0)
        activity = MARKERS.get(marker, {}).get(mode) if marker else _default(parameter.type, mode)
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


def _sret(module: Module, call: Call) -> Type | None:
    """The type of the result that the call wants in memory, whose address is its first operand."""
    declared = module.functions.get(call.callee_name or "")
    words = [*call.arg_attributes[0]] if call.arg_attributes else []
    if declared is not None and declared.arguments:
        words += declared.arguments[0].attributes
    for word in words:
        if word.startswith("sret("):
            return _parsed_type(module, word[5:-1])
    return None


def _parsed_type(module: Module, text: str) -> Type:
    """A type as attributes write it, named structs by their bodies."""
    from ferrodiff.adcore.ir.text import parse_type

    return module.datalayout.resolve(parse_type(text))


def _options(module: Module, call: Call, operands: list[Value], request: _Request) -> None:
    """Takes what stands for the whole call out of the operands: `enzyme_width, N` and the like."""
    for operand in list(operands):
        name = _marker(operand)
        if name is None or name in MARKERS:
            continue
        place = next(i for i, o in enumerate(operands) if o is operand)
        if name == WIDTH:
            number = operands[place + 1] if place + 1 < len(operands) else None
            if not isinstance(number, ConstInt) or number.value < 1:
                raise _refusal(module, call, "`enzyme_width` must be followed by a constant of at least 1")
            del operands[place : place + 2]
            request.width = number.value
        elif name == PRIMAL:
            del operands[place]
            request.with_primal = True
        else:
            raise _refusal(module, call, f"`{name}` is not served")


def _default(ty: Type, mode: str) -> str:
    if is_pointer(ty):
        return "Duplicated" if mode == "reverse" else "Dual"
    if is_float(ty):
        return "Active" if mode == "reverse" else "Dual"
    return "Const"


def _marker(value: Value) -> str | None:
    """The `enzyme_...` global that an operand names: by a load, or by its address."""
    if isinstance(value, Load):
        value = value.operands[0]
    value = _settled(value)
    name = value.name if isinstance(value, GlobalRef) else ""
    return name if name.startswith("enzyme_") else None


def _settled(value: Value) -> Value:
    """What a load of a local variable gives that is written once: code without optimisation has many."""
    while isinstance(value, Load) and isinstance(slot := value.operands[0], Alloca) and slot.parent:
        function = slot.parent.parent
        uses = [] if function is None else [i for i in function.instructions() if slot in i.operands]
        stored = [i.operands[0] for i in uses if isinstance(i, Store)]
        if len(stored) != 1 or stored[0] is slot or not all(isinstance(i, Load | Store) for i in uses):
            break
        value = stored[0]
    return value


def _refusal(module: Module, call: Call, reason: str, help: str | None = None) -> CannotDifferentiate:
    return CannotDifferentiate(reason, instruction=_shown(call), location=module.location(call), help=help)


def _shown(call: Call) -> str:
    return str(call).split(", !", 1)[0]


# -- the call of the entry -----------------------------------------------------------------------------------


class _Placement:
    """Makes a call one of its entry, with arguments and result in the form in which each side has them."""

    def __init__(self, module: Module, function: Function, call: Call, request: _Request, entry: Entry):
        self.module = module
        self.function = function
        self.call = call
        self.request = request
        self.entry = entry

    def put(self) -> None:
        """Raises `CannotDifferentiate` when arguments or result do not fit what the entry has."""
        call, entry = self.call, self.entry
        builder = Builder(self.function).position_before(call)
        values = [
            self._argument(builder, value, wanted)
            for value, wanted in zip(self.request.values, entry.parameters, strict=True)
        ]
        expected, returned = call.type, entry.returned
        uses = self._uses()
        if (uses or self.request.place is not None) and not self._fits(self.request.result, returned):
            raise _refusal(
                self.module,
                call,
                f"the call expects `{self.request.result}`, but a derivative of "
                f"`{self.request.function}` returns `{returned}`",
                help=f"declare `{call.callee_name}` with the result that the derivative has",
            )
        if isinstance(returned, VoidType):
            call.name = None
        elif call.name is None:
            call.name = self.function.fresh_name("derivative")
        call.type = returned
        call.callee = global_ref(entry.name)
        call.operands = values
        call.arg_attributes = [()] * len(values)
        call.return_attributes = ()
        call.function_type = FunctionType(returned, entry.parameters)
        call.function_attributes = ""
        call.tail = ""
        self._deliver(uses, expected)

    def _uses(self) -> list[Instruction]:
        return [i for i in self.function.instructions() if any(v is self.call for v in i.inputs())]

    def _argument(self, builder: Builder, value: Value, wanted: Type) -> Value:
        """A value in its parameter's type: what a variadic call widened is made narrow again."""
        has = value.type
        if has == wanted:
            return value
        if is_float(has) and is_float(wanted) and wanted.bits < has.bits:
            return builder.fptrunc(value, wanted)
        if is_int(has) and is_int(wanted) and wanted.bits < has.bits:
            return builder.trunc(value, wanted)
        raise _refusal(
            self.module,
            self.call,
            f"`{has}` is passed where a derivative of `{self.request.function}` takes `{wanted}`",
        )

    def _fits(self, expected: Type, returned: Type) -> bool:
        if isinstance(expected, VoidType) or isinstance(returned, VoidType):
            return False
        layout = self.module.datalayout
        return expected == returned or _scalars(layout, expected) == _scalars(layout, returned)

    def _deliver(self, uses: list[Instruction], expected: Type) -> None:
        """Hands the result on: as it is, in another form of the same bytes, or to the memory it is wanted in."""
        call = self.call
        memory = self.request.place
        if memory is None and (not uses or expected == call.type):
            return
        if isinstance(call, Invoke):
            raise _refusal(self.module, call, "the result of an invoked derivative is not in its own form")
        block = call.parent
        assert block is not None
        after = Builder(self.function).position_before(block.instructions[block.instructions.index(call) + 1])
        if memory is not None:
            after.store(call, memory, 1)
            return
        slot = after.entry_alloca(call.type, 16)
        after.store(call, slot, 1)
        same = after.load(expected, slot, 1)
        for insn in uses:
            insn.map_inputs(lambda v: same if v is call else v)


def _scalars(layout: DataLayout, ty: Type, at: int = 0) -> tuple[tuple[int, str], ...]:
    """Offset and type of every number in a value: registers and structs differ in form, not in these."""
    ty = layout.resolve(ty)
    if isinstance(ty, StructType):
        fields = zip(layout.offsets(ty), ty.fields, strict=True)
    elif isinstance(ty, ArrayType | VectorType):
        size = layout.size_of(ty.element)
        fields = zip(range(0, size * ty.count, max(size, 1)), [ty.element] * ty.count, strict=True)
    else:
        return ((at, str(ty)),)
    return tuple(found for offset, part in fields for found in _scalars(layout, part, at + offset))
