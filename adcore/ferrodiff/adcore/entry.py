"""Derivatives of plain LLVM functions: for people who bring IR from another language than Rust.

A `Wanted` names a function of a module and the activity of each parameter. `with_entry` writes next to it
what Ferrodiff's Rust front end writes next to an annotated function: a thunk with the one calling
convention the core knows, a request, a layout, and a function under the derivative's name that packs its
arguments and calls the marker. `differentiate_module` then does the rest.

The derivative's LLVM signature follows the Rust rules. Parameters are the primal's in order, each `Dual` or
`Duplicated` one followed by its N shadows (pointers in reverse mode); a reverse derivative of an `Active`
result takes the seed last. Forward mode returns the result and its N tangents (`DualOnly`: the tangents),
reverse mode the result, unless it is dropped, and the gradient of each `Active` parameter. Several values
come back as a struct, one comes back bare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import ArrayType, StructType, Type, VoidType, is_float, is_pointer, void
from ferrodiff.adcore.ir.values import Function

FORWARD_INPUTS = ("Const", "Dual")
REVERSE_INPUTS = ("Const", "Duplicated", "Active")
RESULTS = {"forward": ("Dual", "DualOnly", "None"), "reverse": ("Active", "ActiveOnly", "Const", "None")}


@dataclass(frozen=True)
class Wanted:
    """One derivative to add to a module.

    `activities` has one entry per parameter; `result` is an activity of `RESULTS[mode]`, `None` for functions
    that return nothing. With `seeded=False` a reverse derivative has no seed parameter: the seed is 1.
    """

    function: str
    derivative: str
    mode: str
    activities: tuple[str, ...]
    result: str = "None"
    width: int = 1
    seeded: bool = True


@dataclass(frozen=True)
class Entry:
    """The LLVM signature of a derivative that `with_entry` wrote."""

    name: str
    parameters: tuple[Type, ...]
    results: tuple[Type, ...]

    @property
    def returned(self) -> Type:
        """`void`, the one result's type, or a struct of all."""
        if not self.results:
            return void
        return self.results[0] if len(self.results) == 1 else StructType(self.results)


def default_result(module: Module, function: str, mode: str) -> str:
    """The activity of a function's result when nothing is said: the one that returns most."""
    primal = _primal(module, function)
    if isinstance(primal.return_type, VoidType):
        return "None"
    if mode == "forward":
        return "Dual"
    return "Active" if is_float(primal.return_type) else "Const"


def with_entry(text: str, wanted: Wanted) -> tuple[str, Entry]:
    """The module's text with the derivative's entry added, and the entry's signature.

    `text` is canonical IR. Raises `CannotDifferentiate` when the function is not there or an activity does
    not fit its parameter.
    """
    module = Module.parse(text)
    primal = _primal(module, wanted.function)
    _check(module, primal, wanted)
    writer = _Writer(module, primal, wanted)
    pieces = [text.rstrip(), writer.constants(), writer.thunk(), writer.entry()]
    if "@__ferrodiff_" + wanted.mode + "(" not in text:
        pieces.append(f"declare void @__ferrodiff_{wanted.mode}(ptr, ptr, ptr, ptr, ptr, ptr, ptr)")
    return _inlinable("\n\n".join(pieces) + "\n"), Entry(
        wanted.derivative, tuple(writer.parameter_types()), tuple(writer.result_types())
    )


def _primal(module: Module, name: str) -> Function:
    if name not in module.functions or name in module.declarations:
        defined = [n for n in module.functions if n not in module.declarations]
        raise CannotDifferentiate(
            f"the module defines no function `{name}`",
            help="it defines " + ", ".join(f"`{n}`" for n in defined[:8]) if defined else None,
        )
    return module.functions[name]


def _check(module: Module, primal: Function, wanted: Wanted) -> None:
    inputs = FORWARD_INPUTS if wanted.mode == "forward" else REVERSE_INPUTS
    if len(wanted.activities) != len(primal.arguments):
        types = ", ".join(str(a.type) for a in primal.arguments)
        raise CannotDifferentiate(
            f"expected {len(primal.arguments)} activities, but found {len(wanted.activities)}",
            help=f"`{wanted.function}` has the parameters ({types})",
        )
    for argument, activity in zip(primal.arguments, wanted.activities, strict=True):
        if activity not in inputs:
            raise CannotDifferentiate(
                f"{activity} can not be used in {wanted.mode} mode", help=f"use one of {', '.join(inputs)}"
            )
        if activity == "Duplicated" and not is_pointer(argument.type):
            raise CannotDifferentiate(
                f"Duplicated can not be used for `{argument.type}`: only memory has a shadow in reverse mode",
                help="use Active for a float passed by value",
            )
        if activity == "Active" and is_pointer(argument.type):
            raise CannotDifferentiate(
                "Active can not be used for a pointer", help="use Duplicated and pass a shadow"
            )
        if any(a.startswith(("byval", "sret")) for a in argument.attributes) and activity != "Const":
            raise CannotDifferentiate(
                f"parameter {argument.index} is an aggregate passed through hidden memory"
            )
    expected = RESULTS[wanted.mode]
    is_void = isinstance(primal.return_type, VoidType)
    if wanted.result not in expected or (wanted.result == "None") != is_void:
        raise CannotDifferentiate(f"invalid return activity {wanted.result} in {wanted.mode} mode")
    if wanted.derivative in module.functions and wanted.derivative not in module.declarations:
        raise CannotDifferentiate(
            f"the module defines `{wanted.derivative}` already", help="choose another name"
        )
    if wanted.width < 1:
        raise CannotDifferentiate("the width must be at least 1")


class _Writer:
    """Writes the IR of one entry; `P` is the packed parameters' struct, `R` the result's type."""

    def __init__(self, module: Module, primal: Function, wanted: Wanted) -> None:
        self.primal = primal
        self.wanted = wanted
        self.types = tuple(argument.type for argument in primal.arguments)
        self.layout: DataLayout = module.datalayout
        self.pack = StructType(self.types)
        self.has_result = not isinstance(primal.return_type, VoidType)
        self.result = primal.return_type if self.has_result else ArrayType(0, StructType(()))
        self.prefix = f"__ferrodiff_entry_{wanted.derivative}"

    @property
    def shadowed(self) -> tuple[bool, ...]:
        return tuple(a in ("Dual", "Duplicated") for a in self.wanted.activities)

    @property
    def takes_seed(self) -> bool:
        return (
            self.wanted.mode == "reverse" and self.wanted.result.startswith("Active") and self.wanted.seeded
        )

    def parameter_types(self) -> list[Type]:
        found: list[Type] = []
        for ty, shadowed in zip(self.types, self.shadowed, strict=True):
            found += [ty] * (1 + self.wanted.width * shadowed)
        return found + ([self.primal.return_type] if self.takes_seed else [])

    def result_types(self) -> list[Type]:
        width, kept = self.wanted.width, self.wanted.result
        if self.wanted.mode == "forward":
            count = {"None": 0, "DualOnly": width}.get(kept, width + 1)
            return [self.primal.return_type] * count
        primal = [self.primal.return_type] if kept in ("Active", "Const") else []
        return primal + [t for t, a in zip(self.types, self.wanted.activities, strict=True) if a == "Active"]

    def constants(self) -> str:
        offsets = self.layout.offsets(self.pack) if self.types else ()
        size = self.layout.size_of
        numbers = [len(self.types), size(self.pack), size(self.result)]
        for offset, ty in zip(offsets, self.types, strict=True):
            numbers += [offset, size(ty)]
        described = {
            "derivative": self.wanted.derivative,
            "function": self.wanted.function,
            "mode": self.wanted.mode,
            "width": self.wanted.width,
            "activities": list(self.wanted.activities),
            "ret": self.wanted.result,
            "params": [a.name or f"arg{a.index}" for a in self.primal.arguments],
            "file": "",
            "line": 0,
            "column": 0,
        }
        data = json.dumps(described).encode() + b"\0"
        table = ", ".join(f"i64 {n}" for n in numbers)
        return (
            f'@{_name(self.prefix + "_request")} = private constant [{len(data)} x i8] c"{_escaped(data)}"\n'
            f"@{_name(self.prefix + '_layout')} = private constant [{len(numbers)} x i64] [{table}]"
        )

    def thunk(self) -> str:
        lines = [f"define internal void @{_name(self.prefix + '_thunk')}(ptr %args, ptr %result) {{"]
        for i, ty in enumerate(self.types):
            lines += self._field(f"%p{i}", "%args", i)
            lines.append(f"  %a{i} = load {ty}, ptr %p{i}")
        actuals = ", ".join(
            f"{ty} {_abi(argument.attributes)}%a{i}"
            for i, (ty, argument) in enumerate(zip(self.types, self.primal.arguments, strict=True))
        )
        convention = f"{self.primal.calling_convention} " if self.primal.calling_convention else ""
        returned = self.primal.return_type
        call = f"call {convention}{returned} @{_name(self.wanted.function)}({actuals})"
        if self.has_result:
            lines += [f"  %r = {call}", f"  store {returned} %r, ptr %result"]
        else:
            lines.append(f"  {call}")
        return "\n".join([*lines, "  ret void", "}"])

    def entry(self) -> str:
        width = self.wanted.width
        names, parameters = self._parameters()
        results = self.result_types()
        entry = Entry(self.wanted.derivative, tuple(t for t, _ in parameters), tuple(results))
        formals = ", ".join(f"{t} {n}" for t, n in parameters)
        lines = [
            f"define {entry.returned} @{_name(self.wanted.derivative)}({formals}) {{",
            f"  %args = alloca {self.pack}",
            f"  %dargs = alloca [{width} x {self.pack}]",
            f"  %result = alloca {self.result}",
            f"  %dresult = alloca [{width} x {self.result}]",
            f"  store [{width} x {self.pack}] zeroinitializer, ptr %dargs",
            f"  store [{width} x {self.result}] zeroinitializer, ptr %dresult",
        ]
        for i, ty in enumerate(self.types):
            lines += self._field(f"%at{i}", "%args", i)
            lines.append(f"  store {ty} {names[i][0]}, ptr %at{i}")
            for lane, shadow in enumerate(names[i][1:]):
                lines += self._shadow_field(f"%d{i}.{lane}", lane, i)
                lines.append(f"  store {ty} {shadow}, ptr %d{i}.{lane}")
        lines += self._seeds()
        operands = ", ".join(
            f"ptr {p}"
            for p in (
                f"@{_name(self.prefix + '_request')}",
                f"@{_name(self.prefix + '_thunk')}",
                f"@{_name(self.prefix + '_layout')}",
                "%args",
                "%dargs",
                "%result",
                "%dresult",
            )
        )
        lines.append(f"  call void @__ferrodiff_{self.wanted.mode}({operands})")
        return "\n".join([*lines, *self._return(entry), "}"])

    def _parameters(self) -> tuple[list[list[str]], list[tuple[Type, str]]]:
        """Per primal parameter its name and its shadows' names; and the flat list with types."""
        names: list[list[str]] = []
        flat: list[tuple[Type, str]] = []
        for i, (ty, shadowed) in enumerate(zip(self.types, self.shadowed, strict=True)):
            mine = [f"%x{i}"] + [f"%x{i}.d{k}" for k in range(self.wanted.width * shadowed)]
            names.append(mine)
            flat += [(ty, name) for name in mine]
        if self.takes_seed:
            flat.append((self.primal.return_type, "%dret"))
        return names, flat

    def _seeds(self) -> list[str]:
        if self.wanted.mode == "forward" or not self.wanted.result.startswith("Active"):
            return []
        seed = "%dret" if self.wanted.seeded else "1.0"
        lines = []
        for lane in range(self.wanted.width):
            lines += [
                f"  %seed{lane} = getelementptr {self.result}, ptr %dresult, i64 {lane}",
                f"  store {self.primal.return_type} {seed}, ptr %seed{lane}",
            ]
        return lines

    def _return(self, entry: Entry) -> list[str]:
        places: list[tuple[Type, str, list[str]]] = []
        if self.wanted.result in ("Dual", "Active", "Const") and self.has_result:
            places.append((self.primal.return_type, "%result", []))
        if self.wanted.mode == "forward" and self.has_result:
            for lane in range(self.wanted.width):
                step = f"  %t{lane} = getelementptr {self.result}, ptr %dresult, i64 {lane}"
                places.append((self.primal.return_type, f"%t{lane}", [step]))
        if self.wanted.mode == "reverse":
            for i, activity in enumerate(self.wanted.activities):
                if activity == "Active":
                    places.append((self.types[i], f"%g{i}", self._shadow_field(f"%g{i}", 0, i)))
        lines: list[str] = []
        for k, (ty, pointer, steps) in enumerate(places):
            lines += [*steps, f"  %out{k} = load {ty}, ptr {pointer}"]
        if not places:
            return [*lines, "  ret void"]
        if len(places) == 1:
            return [*lines, f"  ret {places[0][0]} %out0"]
        packed = "poison"
        for k, (ty, _, _) in enumerate(places):
            lines.append(f"  %pack{k} = insertvalue {entry.returned} {packed}, {ty} %out{k}, {k}")
            packed = f"%pack{k}"
        return [*lines, f"  ret {entry.returned} {packed}"]

    def _field(self, name: str, base: str, index: int) -> list[str]:
        return [f"  {name} = getelementptr {self.pack}, ptr {base}, i64 0, i32 {index}"]

    def _shadow_field(self, name: str, lane: int, index: int) -> list[str]:
        return [f"  {name} = getelementptr {self.pack}, ptr %dargs, i64 {lane}, i32 {index}"]


def _abi(attributes: Sequence[str]) -> str:
    """The attributes that a call must repeat because they change how an argument is passed."""
    kept = [
        a
        for a in attributes
        if a.split("(", 1)[0] in ("zeroext", "signext", "byval", "sret", "inreg", "nest")
    ]
    return "".join(f"{a} " for a in kept)


def _name(name: str) -> str:
    return name if re.fullmatch(r"[-\w$.]+", name) else '"' + _escaped(name.encode()) + '"'


def _escaped(data: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)


def _inlinable(text: str) -> str:
    """Unoptimised IR forbids optimisation by attribute; differentiation starts from optimised code."""

    def without(match: re.Match[str]) -> str:
        line = re.sub(r"\b(?:noinline|optnone)\b ?", "", match[0])
        return line.replace("= { }", '= { "ferrodiff" }')  # an attribute group must not be empty

    return _with_memory(re.sub(r"(?m)^(?:attributes #\d+ = \{|define )[^\n]*", without, text))


_OUT_OF_MEMORY = 12
"""`ENOMEM`."""

_POSIX_MEMALIGN = f"""define internal i32 @posix_memalign(ptr %out, i64 %align, i64 %size) alwaysinline {{
  %block = call ptr @aligned_alloc(i64 %align, i64 %size)
  store ptr %block, ptr %out
  %failed = icmp eq ptr %block, null
  %code = select i1 %failed, i32 {_OUT_OF_MEMORY}, i32 0
  ret i32 %code
}}"""


def _with_memory(text: str) -> str:
    """An allocator that returns its block through memory is written as one that returns it."""
    declared = re.compile(r"(?m)^declare [^\n]*@posix_memalign\(ptr[^\n]*, i64[^\n]*, i64[^\n]*$")
    if not declared.search(text):
        return text
    text = declared.sub(_POSIX_MEMALIGN, text, count=1)
    if "@aligned_alloc(" not in text.replace(_POSIX_MEMALIGN, ""):
        text += "\ndeclare noalias ptr @aligned_alloc(i64, i64)\n"
    return text
