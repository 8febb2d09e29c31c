"""Reading function headers and global variables."""

from __future__ import annotations

import re

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir.callhead import CONVENTION, return_attributes_of
from ferrodiff.adcore.ir.constants import Constant
from ferrodiff.adcore.ir.module import Global
from ferrodiff.adcore.ir.names import quote_name, unquote_name
from ferrodiff.adcore.ir.text import NAME, Cursor
from ferrodiff.adcore.ir.types import ptr
from ferrodiff.adcore.ir.values import Argument, Function

_GLOBAL_NAME = re.compile("@(" + NAME + ")")
_LOCAL_NAME = re.compile("%(" + NAME + ")")
_METADATA = re.compile(r"(?: !([\w.]+) (!\d+))")
_PERSONALITY = re.compile(r" ?personality (ptr @" + NAME + ")")
LINKAGE_WORDS = frozenset(
    [
        "private",
        "internal",
        "available_externally",
        "linkonce",
        "weak",
        "common",
        "appending",
        "extern_weak",
        "linkonce_odr",
        "weak_odr",
        "external",
        "default",
        "hidden",
        "protected",
        "dllimport",
        "dllexport",
        "dso_local",
        "dso_preemptable",
    ]
)
_GLOBAL_WORDS = frozenset(["thread_local", "unnamed_addr", "local_unnamed_addr", "externally_initialized"])


def _linkage(cursor: Cursor) -> str:
    words: list[str] = []
    while True:
        word = cursor.text[cursor.pos :].split(" ", 1)[0]
        if word not in LINKAGE_WORDS:
            return " ".join(words)
        words.append(cursor.word())


def read_header(line: str) -> Function:
    """The function whose ``define`` or ``declare`` line this is, without its body."""
    cursor = Cursor(line)
    is_definition = cursor.accept_word("define")
    if not is_definition:
        cursor.expect("declare")
    leading = _leading_metadata(cursor)
    linkage = _linkage(cursor)
    match = CONVENTION.match(line, cursor.pos)
    convention = match.group() if match is not None else ""
    cursor.accept(convention)
    return_attributes = return_attributes_of(cursor)
    return_type = cursor.type()
    name = _GLOBAL_NAME.match(line, cursor.pos)
    if name is None:
        raise cursor.error("expected a function's name")
    cursor.pos = name.end()
    function = Function(
        unquote_name(name.group(1)),
        return_type,
        linkage=linkage,
        calling_convention=convention,
        return_attributes=return_attributes,
        metadata=leading,
    )
    _parameters(cursor, function)
    _tail(function, cursor.rest().removesuffix("{").rstrip())
    return function


def _leading_metadata(cursor: Cursor) -> dict[str, str]:
    """``declare !dbg !5 void @f()``: attachments of declarations stand first."""
    found: dict[str, str] = {}
    while cursor.peek("!"):
        kind, node = cursor.rest().split(" ", 2)[:2]
        found[kind[1:]] = node
        cursor.accept(f"{kind} {node}")
    return found


def _parameters(cursor: Cursor, function: Function) -> None:
    cursor.expect("(")
    while not cursor.accept(")"):
        if cursor.accept("..."):
            function.vararg = True
            continue
        kind = cursor.type()
        attributes = cursor.attributes_until_operand()
        match = _LOCAL_NAME.match(cursor.text, cursor.pos)
        index = len(function.arguments)
        name = f"arg{index}"
        if match is not None:
            name = unquote_name(match.group(1))
            cursor.accept(match.group())
        argument = Argument(kind, name, index, attributes)
        if match is not None:
            # Unnamed parameters keep their number here; reading the body gives them a name.
            argument.ref = match.group()
        function.arguments.append(argument)
        cursor.accept(",")


def _tail(function: Function, text: str) -> None:
    end = len(text)
    matches = list(_METADATA.finditer(" " + text))
    for match in reversed(matches):
        if match.end() - 1 != end:
            break
        end = max(match.start() - 1, 0)
        function.metadata[match.group(1)] = match.group(2)
    text = text[:end].rstrip()
    personality = _PERSONALITY.search(text)
    if personality is not None:
        function.personality = personality.group(1)
        text = text[: personality.start()] + text[personality.end() :]
    function.attributes = text


def read_global(line: str) -> Global:
    """The global variable that a line defines; raises ``ReadError`` for aliases and the like."""
    name = _GLOBAL_NAME.match(line)
    if name is None:
        raise ReadError("expected a global", line)
    cursor = Cursor(line, name.end())
    cursor.expect(" =")
    linkage = _linkage(cursor)
    while True:
        word = re.split(r"[ (]", cursor.rest(), maxsplit=1)[0]
        if word in _GLOBAL_WORDS:
            cursor.accept(word)
            if cursor.peek("("):
                cursor.accept(cursor.text[cursor.pos : cursor.text.index(")", cursor.pos) + 1])
        elif word == "addrspace":
            cursor.accept(cursor.text[cursor.pos : cursor.text.index(")", cursor.pos) + 1])
        else:
            break
    is_constant = cursor.accept_word("constant")
    if not is_constant:
        cursor.expect("global")
    kind = cursor.type()
    external = {"external", "extern_weak"} & set(linkage.split())
    initializer: Constant | None = None
    if not external:
        initializer = cursor.constant(kind)
    return Global(unquote_name(name.group(1)), kind, initializer, is_constant, linkage, line)


def read_alias(line: str) -> Constant:
    """What an alias stands for."""
    cursor = Cursor(line, line.index(" alias ") + len(" alias "))
    cursor.type()
    cursor.expect(",")
    # A constant expression stands there without its type.
    return cursor.typed_constant() if cursor.at_type() else cursor.constant(ptr)


def header_text(function: Function, *, keep_metadata: bool = True) -> str:
    """The ``define`` line of a function, up to and without the brace, or its ``declare`` line."""
    words: list[str] = ["declare" if function.is_declaration else "define"]
    metadata = function.metadata if keep_metadata else {}
    if function.is_declaration:
        words.extend(f"!{kind} {node}" for kind, node in metadata.items())
    words.extend(
        w
        for w in (function.linkage, function.calling_convention, *function.return_attributes)
        if w and not (function.is_declaration and w in ("internal", "private"))
    )
    params = [_parameter_text(function, a) for a in function.arguments] + (["..."] if function.vararg else [])
    words.append(f"{function.return_type.text} @{quote_name(function.name)}({', '.join(params)})")
    if function.attributes:
        words.append(function.attributes)
    if function.personality is not None and not function.is_declaration:
        words.append(f"personality {function.personality}")
    if not function.is_declaration:
        words.extend(f"!{kind} {node}" for kind, node in metadata.items())
    return " ".join(words)


def _parameter_text(function: Function, argument: Argument) -> str:
    words = [argument.type.text, *argument.attributes]
    if not function.is_declaration:
        words.append(argument.ref)
    return " ".join(words)
