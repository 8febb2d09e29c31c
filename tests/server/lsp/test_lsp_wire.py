"""The protocol's table against `lsprotocol`, which is made from the specification itself."""

from __future__ import annotations

import enum
import itertools
import json
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from lsprotocol import types as specified
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.protocol import default_converter

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp import wire
from ferrodiff.server.lsp.capabilities import offered
from ferrodiff.server.lsp.features import FEATURES, PULL
from ferrodiff.server.lsp.names import COMMANDS
from ferrodiff.server.lsp.vocabulary import CLASSES, ENUMS, METHODS
from ferrodiff.server.lsp.wire import WireError, plain, read, read_params

CONVERTER: Any = default_converter()  # type: ignore[no-untyped-call]

# -- the table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_properties_are_those_of_the_specification(name: str) -> None:
    """In the same order, for they are given by position, with the same ones required."""
    ours, theirs = getattr(t, name).fields, attrs.fields(getattr(specified, name))
    assert [field.name for field in ours] == [field.name for field in theirs]
    for field, attribute in zip(ours, theirs, strict=True):
        if attribute.default is attrs.NOTHING:
            assert not field.optional, field
        elif isinstance(attribute.default, str):
            assert field.fixed == attribute.default
        else:
            assert field.optional or field.type.endswith("|null"), field


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_members_are_those_of_the_specification(name: str) -> None:
    theirs = getattr(specified, name)
    assert [(m.name, m.value) for m in getattr(t, name)] == [(m.name, m.value) for m in theirs]
    assert issubclass(getattr(t, name), type(next(iter(theirs)).value))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_are_those_of_the_specification(name: str) -> None:
    method, kind = METHODS[name]
    assert getattr(t, name) == method == getattr(specified, name)
    request = attrs.fields_dict(specified.METHOD_TO_TYPES[method][0])
    params = request["params"].type if "params" in request else None
    expected = getattr(params, "__forward_arg__", None) or getattr(params, "__name__", "NoneType")
    assert kind == ("any" if expected in ("NoneType", "Optional") else expected)


def test_every_type_of_a_property_exists() -> None:
    for name in CLASSES:
        for field in getattr(t, name).fields:
            for word in re.findall(r"\w+", field.type):
                assert word in CLASSES or word in ENUMS or word in wire._PRIMITIVES, (name, field)


def test_what_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchType"):
        _ = t.NoSuchType  # type: ignore[attr-defined]


HEAVY = ("lsprotocol", "pygls", "attrs", "cattrs", "llvmlite", "numpy", "lark", "ssl", "rich")


def test_starting_loads_nothing_heavy() -> None:
    code = f"""import sys
from ferrodiff.server.lsp.startup import serve
serve(None, "", None)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"""
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.stderr.strip() == "[]" and not done.stdout


# -- writing and reading -------------------------------------------------------------------------------


def samples(kind: Any, depth: int = 0) -> Iterator[Any]:
    """Values of a type of `lsprotocol`, as objects."""
    if isinstance(kind, typing.ForwardRef):
        kind = getattr(specified, kind.__forward_arg__)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in (str, int, bool, float):
        yield {str: "text", int: 7, bool: True, float: 1.5}[kind]
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        yield next(iter(kind))
    elif isinstance(kind, type) and attrs.has(kind) and depth < 6:
        yield from objects(kind, depth + 1)
    elif origin is typing.Union:
        for argument in arguments:
            yield from itertools.islice(samples(argument, depth), 1)
    elif origin is not None and arguments and depth < 6 and "Sequence" in repr(origin):
        inner = list(itertools.islice(samples(arguments[0], depth + 1), 2))
        if inner:
            yield inner


def objects(kind: type, depth: int) -> Iterator[Any]:
    needed: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for field in attrs.fields(kind):
        value = next(samples(field.type, depth), None)
        if field.default is attrs.NOTHING:
            if value is None:
                return
            needed[field.name] = value
        elif field.default is None and value is not None and depth < 3:
            optional[field.name] = value
    yield kind(**needed, **optional)
    yield kind(**needed)


READ = sorted({kind for _, kind in METHODS.values() if kind in CLASSES and kind != "InitializeParams"})


@pytest.mark.parametrize("name", READ)
def test_parameters_are_read_and_written_back(name: str) -> None:
    found = list(objects(getattr(specified, name), 0))
    for theirs in found:
        sent = json.loads(json.dumps(CONVERTER.unstructure(theirs)))
        ours = read(name, sent)
        assert plain(ours) == sent
        for field in attrs.fields(type(theirs)):
            value = getattr(theirs, field.name)
            if isinstance(value, (str, int, bool)):
                assert getattr(ours, field.name) == value
    assert found or name in ("ProgressParams", "DidChangeConfigurationParams")


@pytest.mark.parametrize(
    ("method", "params", "complaint"),
    [
        ("textDocument/hover", None, "`params` must be an object"),
        ("textDocument/hover", {}, "`params.textDocument` must be an object"),
        (
            "textDocument/hover",
            {"textDocument": {"uri": "a"}, "position": {"line": -1, "character": 0}},
            "`params.position.line` must be a whole number from 0 to 2147483647",
        ),
        (
            "textDocument/hover",
            {"textDocument": {"uri": "a"}, "position": {"line": True, "character": 0}},
            "params.position.line",
        ),
        (
            "textDocument/hover",
            {"textDocument": {"uri": "a"}, "position": {"line": float("inf"), "character": 0}},
            "params.position.line",
        ),
        ("textDocument/didOpen", {"textDocument": {"uri": 5}}, "`params.textDocument.uri` must be a string"),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "a", "type": 9}]}, "a FileChangeType"),
        (
            "textDocument/didChange",
            {"textDocument": {"uri": "a", "version": 1}, "contentChanges": [{"range": {}, "text": 1}]},
            "params.contentChanges[0].range.start",
        ),
        ("$/cancelRequest", {"id": []}, "params.id"),
    ],
)
def test_wrong_parameters_are_explained(method: str, params: Any, complaint: str) -> None:
    with pytest.raises(WireError, match=re.escape(complaint)):
        read_params(method, params)


def test_a_choice_of_objects_is_told_by_its_properties() -> None:
    at = {"line": 0, "character": 0}
    changes = [{"range": {"start": at, "end": at}, "text": "a"}, {"text": "b"}, {"range": None, "text": "c"}]
    params = read_params(
        "textDocument/didChange", {"textDocument": {"uri": "a", "version": 1}, "contentChanges": changes}
    )
    assert [type(change).__name__ for change in params.content_changes] == [
        "TextDocumentContentChangePartial",
        "TextDocumentContentChangeWholeDocument",
        "TextDocumentContentChangeWholeDocument",
    ]


def test_objects() -> None:
    one, other = t.Position(1, 2), t.Position(line=1, character=3)
    assert one == t.Position(1, 2) != other and one < other
    assert plain([t.Range(one, other)]) == [
        {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}}
    ]
    # What must be there stays as null, what may be left out is left out, what is fixed is there.
    assert plain(t.WorkspaceFullDocumentDiagnosticReport("file:///a", [])) == {
        "uri": "file:///a",
        "items": [],
        "version": None,
        "kind": "full",
    }
    assert plain({"a": float("nan"), "b": t.DiagnosticSeverity.Hint}) == {"a": "nan", "b": 4}
    with pytest.raises(TypeError, match="needs `character`"):
        t.Position(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no `column`"):
        t.Position(1, 2, column=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="2 properties"):
        t.Position(1, 2, 3)  # type: ignore[call-arg]


# -- capabilities --------------------------------------------------------------------------------------


FLAGS: list[dict[str, Any]] = [
    {"general": {"positionEncodings": ["utf-8", "utf-16"]}},
    {"general": {"positionEncodings": ["morse", "utf-32"]}},
    {"textDocument": {"diagnostic": {}}},
    {"textDocument": {"rename": {"prepareSupport": True}}},
    {"workspace": {"fileOperations": {"didCreate": True, "didDelete": True, "willRename": True}}},
    {"workspace": {"fileOperations": {"didRename": True, "didCreate": False}}},
]


def merged(parts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            result[name] = {**result.get(name, {}), **value}
    return result


CLIENTS = [merged(parts) for size in range(4) for parts in itertools.combinations(FLAGS, size)]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: re.sub(r"\W+", "-", json.dumps(client)))
def test_capabilities_are_what_the_features_call_for(client: dict[str, Any]) -> None:
    """Against a builder of capabilities that knows the specification and is given the list of features."""
    answer = offered(client)
    structured = CONVERTER.structure(answer, specified.ServerCapabilities)
    assert json.loads(json.dumps(CONVERTER.unstructure(structured))) == answer
    methods = {feature.method for feature in FEATURES} | {t.TEXT_DOCUMENT_DID_OPEN, t.TEXT_DOCUMENT_DID_CLOSE}
    if "diagnostic" in client.get("textDocument", {}):
        methods |= {feature.method for feature in PULL}
    files = specified.FileOperationRegistrationOptions(
        [specified.FileOperationFilter(specified.FileOperationPattern("**/*.rs"), "file")]
    )
    options: dict[str, Any] = {
        t.TEXT_DOCUMENT_DID_SAVE: specified.SaveOptions(False),
        t.TEXT_DOCUMENT_CODE_ACTION: structured.code_action_provider,
        t.TEXT_DOCUMENT_COMPLETION: structured.completion_provider,
        t.TEXT_DOCUMENT_SIGNATURE_HELP: structured.signature_help_provider,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: structured.semantic_tokens_provider.legend,
        t.TEXT_DOCUMENT_DIAGNOSTIC: structured.diagnostic_provider,
        t.WORKSPACE_DID_CREATE_FILES: files,
        t.WORKSPACE_DID_DELETE_FILES: files,
        t.WORKSPACE_DID_RENAME_FILES: files,
    }
    capabilities = CONVERTER.structure(client, specified.ClientCapabilities)
    builder: Any = ServerCapabilitiesBuilder(
        capabilities,
        methods,
        options,
        list(COMMANDS),
        specified.TextDocumentSyncKind.Incremental,
        position_encoding=ServerCapabilitiesBuilder.choose_position_encoding(capabilities),
    )
    expected = json.loads(json.dumps(CONVERTER.unstructure(builder.build())))
    # What the builder leaves to the one who builds.
    expected["experimental"] = answer["experimental"]
    expected["workspace"]["textDocumentContent"] = {"schemes": ["ferrodiff"]}
    expected["textDocumentSync"] |= {"willSave": False, "willSaveWaitUntil": False}
    assert answer == expected


@pytest.mark.parametrize(
    "odd",
    [
        {"general": {"positionEncodings": 5}},
        {"general": []},
        {"general": {"positionEncodings": [None, 3, {}]}},
        {"textDocument": None, "workspace": 3, "window": [], "experimental": "x"},
        {"textDocument": {"rename": {"prepareSupport": "yes"}}},
    ],
)
def test_odd_capabilities_are_no_capabilities(odd: dict[str, Any]) -> None:
    assert offered(odd) == offered({})
