"""The protocol's objects on the wire: made from a table when first named, read from JSON, written to JSON.

Only what this server uses of the protocol is in the table (`vocabulary`), and a class is made when
somebody asks for it, so that loading costs nothing. Attributes are the protocol's names in snake case.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, ClassVar, NamedTuple

from ferrodiff.server.lsp.vocabulary import CLASSES, ENUMS, METHODS

LARGEST = 2**31 - 1
"""The protocol's bound on integers."""

Reader = Callable[[Any, str], Any]


class WireError(ValueError):
    """JSON that is not what the protocol says, with the place in it."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"`{path}` must be {expected}")
        self.path = path


class Field(NamedTuple):
    """One property: its name here, its name in JSON, its type, and whether it may be left out."""

    name: str
    key: str
    type: str
    optional: bool
    fixed: str | None = None


class Wire:
    """An object of the protocol; subclasses come from `lookup`."""

    __slots__ = ()
    fields: ClassVar[tuple[Field, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset()
    fixed: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.names
        if len(values) > len(names):
            raise TypeError(f"{type(self).__name__} has {len(names)} properties, not {len(values)}")
        for name, value in zip(names, values, strict=False):
            setattr(self, name, value)
        for name in names[len(values) :]:
            setattr(self, name, named.pop(name) if name in named else self._absent(name))
        if named:
            raise TypeError(f"{type(self).__name__} has no `{next(iter(named))}`, or it is given twice")

    def _absent(self, name: str) -> str | None:
        if name in self.required:
            raise TypeError(f"{type(self).__name__} needs `{name}`")
        return self.fixed.get(name)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.names)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Wire) -> bool:
        return self._values() < other._values()

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self._values(), strict=True))
        return f"{type(self).__name__}({inner})"


def lookup(name: str) -> Any:
    """The class, enumeration or method called `name`; raises `AttributeError` when there is none."""
    if name in METHODS:
        return METHODS[name][0]
    known = _MADE.get(name)
    if known is None:
        if name in CLASSES:
            known = _class(name)
        elif name in ENUMS:
            known = _enumeration(name)
        else:
            raise AttributeError(f"the protocol's `{name}` is not in the table")
        _MADE[name] = known
    return known


_MADE: dict[str, Any] = {}


def _class(name: str) -> type[Wire]:
    fields = tuple(_field(word) for word in CLASSES[name].split())
    names = tuple(field.name for field in fields)
    fixed = {field.name: field.fixed for field in fields if field.fixed is not None}
    free = {field.name for field in fields if field.optional or _alternatives(field.type)[-1] == "null"}
    # Slots: an answer may hold thousands of positions, and a name misspelt is an error.
    body = {
        "__slots__": names,
        "fields": fields,
        "names": names,
        "required": frozenset(names) - free - fixed.keys(),
        "fixed": fixed,
    }
    return type(name, (Wire,), body)


def _enumeration(name: str) -> Any:
    members: list[tuple[str, Any]] = []
    for word in ENUMS[name].split():
        member, _, value = word.partition("=")
        members.append((member, int(value) if value.isdigit() else value))
    return enum.Enum(name, members, type=type(members[0][1]))


def _field(word: str) -> Field:
    name, fixes, text = word.partition("=")
    if fixes:
        return Field(snake(name), name, "string", False, text)
    key, _, kind = word.partition(":")
    bare = key.removesuffix("?")
    return Field(snake(bare), bare, kind, key.endswith("?"))


def snake(name: str) -> str:
    """`workDoneToken` is `work_done_token`, and `from` is `from_`."""
    found = re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)
    return found + "_" if found == "from" else found


# -- writing -------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """JSON of an object, a list of objects or of what is JSON already."""
    if isinstance(value, Wire):
        return {
            field.key: plain(item)
            for field in value.fields
            if (item := getattr(value, field.name)) is not None or not field.optional
        }
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float) and not isfinite(value):
        # JSON has no word for these, and a client that reads one gives up on the whole stream.
        return str(value)
    return value.value if isinstance(value, enum.Enum) else value


# -- reading -------------------------------------------------------------------------------------------


def read(kind: str, value: Any, path: str = "params") -> Any:
    """JSON as the protocol's type `kind`; raises `WireError`. Properties that are not known are ignored."""
    return _reader(kind)(value, path)


def read_params(method: str, value: Any) -> Any:
    """A message's parameters; those of methods that are not in the table stay as they are."""
    return read(PARAMETERS.get(method, "any"), value)


PARAMETERS: Mapping[str, str] = dict(METHODS.values())
"""Method to the type of its parameters."""

_READERS: dict[str, Reader] = {}


def _reader(kind: str) -> Reader:
    known = _READERS.get(kind)
    if known is None:
        known = _READERS[kind] = _make_reader(kind)
    return known


def _alternatives(kind: str) -> list[str]:
    """A union's members; bars inside brackets belong to the bracket."""
    found, depth = [""], 0
    for char in kind:
        depth += (char in "[{") - (char in "]}")
        if char == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return found


def _make_reader(kind: str) -> Reader:
    alternatives = _alternatives(kind)
    if len(alternatives) > 1:
        return _union(alternatives)
    if kind.startswith("["):
        return _list(kind[1:-1])
    if kind.startswith("{"):
        return _map(kind[1:-1])
    if kind in CLASSES:
        return _object(kind)
    if kind in ENUMS:
        return _member(kind)
    return _PRIMITIVES[kind]


def _union(kinds: list[str]) -> Reader:
    readers = [_reader(kind) for kind in kinds]

    def reader(value: Any, path: str) -> Any:
        errors = []
        for one in readers:
            try:
                return one(value, path)
            except WireError as error:
                errors.append(error)
        # The alternative that went furthest is what was meant.
        raise max(errors, key=lambda error: len(error.path))

    return reader


def _list(kind: str) -> Reader:
    inner = _reader(kind)

    def reader(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise WireError(path, "a list")
        return [inner(item, f"{path}[{index}]") for index, item in enumerate(value)]

    return reader


def _map(kind: str) -> Reader:
    inner = _reader(kind)

    def reader(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WireError(path, "an object")
        return {key: inner(item, f"{path}.{key}") for key, item in value.items()}

    return reader


def _object(name: str) -> Reader:
    made = lookup(name)
    # Types may contain themselves, so their readers are looked up when they are needed.
    fields = [(field.key, field.type, field.name not in made.required) for field in made.fields]

    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise WireError(path, "an object")
        values: list[Any] = []
        for key, kind, optional in fields:
            item = value.get(key)
            if item is None and optional:
                values.append(None)
            else:
                values.append(_reader(kind)(item, f"{path}.{key}"))
        return made(*values)

    return reader


def _member(name: str) -> Reader:
    made = lookup(name)

    def reader(value: Any, path: str) -> Any:
        try:
            return made(value)
        except ValueError:
            raise WireError(path, f"a {name}") from None

    return reader


def _whole(low: int) -> Reader:
    words = f"a whole number from {low} to {LARGEST}"

    def reader(value: Any, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
            raise WireError(path, words)
        if not low <= value <= LARGEST:
            raise WireError(path, words)
        return int(value)

    return reader


def _instance(words: str, *kinds: type) -> Reader:
    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise WireError(path, words)
        return value

    return reader


_PRIMITIVES: dict[str, Reader] = {
    "any": lambda value, path: value,
    "object": _instance("an object", dict),
    "string": _instance("a string", str),
    "bool": _instance("true or false", bool),
    "number": _instance("a number", int, float),
    "null": _instance("null", type(None)),
    "int": _whole(-(2**31)),
    "uint": _whole(0),
}
