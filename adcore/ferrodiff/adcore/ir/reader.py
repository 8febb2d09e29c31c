"""Reading a module: one scan finds where everything is, parts are parsed when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir.body import read_body
from ferrodiff.adcore.ir.constants import Constant
from ferrodiff.adcore.ir.header import read_alias, read_global, read_header
from ferrodiff.adcore.ir.module import Global, LazyMapping, Module
from ferrodiff.adcore.ir.names import unquote_name
from ferrodiff.adcore.ir.scope import name_arguments
from ferrodiff.adcore.ir.text import NAME, Cursor
from ferrodiff.adcore.ir.types import Type
from ferrodiff.adcore.ir.values import Block, Function

T = TypeVar("T")

_FUNCTION = re.compile(r"^(define|declare) [^@\n]*@(" + NAME + r")\(.*$", re.MULTILINE)
_GLOBAL = re.compile("^@(" + NAME + r") = (.*)$", re.MULTILINE)
_TYPE = re.compile("^%(" + NAME + r") = type (.*)$", re.MULTILINE)
_TARGET = re.compile(r'^target (datalayout|triple) = "([^"]*)"$', re.MULTILINE)
_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{ (.*?) ?\}$", re.MULTILINE)
_METADATA = re.compile(r"^(!\d+|![\w.]+) = (.*)$", re.MULTILINE)
_ALIAS = re.compile(r"(?:[a-z_]+(?:\([a-z]+\))? )*(alias|ifunc) ")


def parse_module(text: str) -> Module:
    """Read canonical text. Raises ``ReadError``."""
    return _readable(_parse_module, text)


def _parse_module(text: str) -> Module:
    first = _FUNCTION.search(text)
    functions_at = first.start() if first is not None else _section(text, 0, "attributes ", "!")
    tail_at = _tail_start(text, functions_at)
    head = text[:functions_at]
    targets = dict(_TARGET.findall(head))
    named = _named_types(head)
    globals_, aliases = _globals(head)
    module = Module(
        text,
        triple=targets.get("triple", ""),
        datalayout=targets.get("datalayout", ""),
        named_types=named,
        functions={},
        declarations={},
        globals=globals_,
        aliases=aliases,
        attribute_groups=LazyTable(text[tail_at:], _ATTRIBUTES),
        metadata=LazyTable(text[tail_at:], _METADATA),
    )
    _functions(module, functions_at, tail_at)
    return module


class LazyTable(Mapping[str, str]):
    """Lines ``key = value`` of a text, collected when first looked at."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._text = text
        self._pattern = pattern
        self._found: dict[str, str] | None = None

    def _table(self) -> dict[str, str]:
        if self._found is None:
            self._found = dict(self._pattern.findall(self._text))
        return self._found

    def __getitem__(self, key: str) -> str:
        return self._table()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())


def _section(text: str, start: int, *openings: str) -> int:
    """Where the first line with one of the openings starts, at or after ``start``; else the end."""
    places = [text.find("\n" + o, start) for o in openings]
    return min((p + 1 for p in places if p >= 0), default=len(text))


def _tail_start(text: str, start: int) -> int:
    """Where attribute groups or metadata begin, after the last function."""
    return _section(text, max(start - 1, 0), "attributes #", "!", "uselistorder")


def _readable(read: Callable[[str], T], line: str) -> T:
    """What ``read`` makes of a text; whatever goes wrong is a ``ReadError``."""
    try:
        return read(line)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ReadError("cannot read this", line[:500]) from error


def _named_types(head: str) -> dict[str, Type | None]:
    named: dict[str, Type | None] = {}
    for name, body in _TYPE.findall(head):
        named[unquote_name(name)] = None if body == "opaque" else Cursor(body).type()
    return named


def _globals(head: str) -> tuple[LazyMapping[Global], LazyMapping[Constant]]:
    makers: dict[str, Callable[[], Global]] = {}
    aliases: dict[str, Callable[[], Constant]] = {}
    for match in _GLOBAL.finditer(head):
        name = unquote_name(match.group(1))
        if _ALIAS.match(match.group(2)):
            aliases[name] = partial(_readable, read_alias, match.group())
        else:
            makers[name] = partial(_readable, read_global, match.group())
    return LazyMapping(makers), LazyMapping(aliases)


def _functions(module: Module, start: int, end: int) -> None:
    text = module.text
    makers: dict[str, Callable[[], Function]] = {}
    declared: dict[str, Callable[[], Function]] = {}
    position = start
    while True:
        match = _FUNCTION.search(text, position, end)
        if match is None:
            break
        name = unquote_name(match.group(2))
        finish = match.end()
        if match.group(1) == "define":
            finish = text.find("\n}", finish)
            if finish < 0:
                raise ReadError("function without an end", match.group())
            makers[name] = partial(_definition, module, match.start(), match.end(), finish)
            finish += 2
        else:
            makers[name] = declared[name] = partial(_declaration, module, match.start(), match.end())
        module.spans[name] = (match.start(), finish)
        position = finish
    functions = LazyMapping(makers)
    module.functions = functions
    module.declarations = LazyMapping({name: partial(functions.__getitem__, name) for name in declared})


def _definition(module: Module, start: int, header_end: int, end: int) -> Function:
    function = _readable(read_header, module.text[start:header_end])
    function.module = module
    body = module.text[header_end + 1 : end]
    prefix = name_arguments(function, body)
    function.defer(partial(_body, body, prefix))
    return function


def _declaration(module: Module, start: int, end: int) -> Function:
    function = _readable(read_header, module.text[start:end])
    function.module = module
    return function


def _body(text: str, prefix: str, function: Function) -> list[Block]:
    return read_body(function, text, prefix)
