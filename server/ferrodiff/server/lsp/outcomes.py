"""What a command's child process printed, as a record to show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ferrodiff.analysis.model import Function
from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp.jobs import Finished
from ferrodiff.server.lsp.messages import findings_of, printed_messages
from ferrodiff.server.lsp.results import Finding, Record, function_text

_LONGEST_VALUE = 160
_TITLES = {"run": "Run", "check": "Gradient check"}
CHECK_CODE = "gradient-check"


def record_of(
    kind: str,
    derivative: str,
    finished: Finished,
    source: SourceText,
    function: Function,
    names: frozenset[str],
    limit: float,
) -> Record:
    """The outcome in words. `names` are what messages may call the file, `limit` the seconds allowed."""
    line = source.line_of(function.span.start)
    data = _json(finished.stdout)
    ok = finished.code == 0 and data is not None and data.get("ok", data.get("passed", True)) is not False
    findings: list[Finding] = []
    if ok and data is not None:
        headline, details = _headline(kind, data), _details(kind, derivative, data)
    else:
        headline, findings = _failure(
            kind, derivative, finished, data, source, names, _anchor(source, function, derivative), limit
        )
        details = f"**{_TITLES[kind]} of `{derivative}`:** {headline}"
    values = tuple(_values(data)) if data is not None else ()
    return Record(
        kind=kind,
        derivative=derivative,
        ok=ok,
        headline=headline,
        values=values,
        details=details,
        findings=tuple(findings),
        function_text=function_text(source, function),
        function_line=line,
        data=data or {},
    )


def _anchor(source: SourceText, function: Function, derivative: str) -> int:
    for annotation in function.annotations:
        if annotation.name == derivative:
            return source.line_of(annotation.span.start)
    return source.line_of(function.name_span.start)


def _json(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _failure(
    kind: str,
    derivative: str,
    finished: Finished,
    data: Mapping[str, Any] | None,
    source: SourceText,
    names: frozenset[str],
    line: int,
    limit: float,
) -> tuple[str, list[Finding]]:
    """One sentence, and the findings on the lines they concern."""
    if finished.cancelled:
        return "cancelled", []
    if finished.timed_out:
        text = f"stopped: no answer after {limit:g} seconds"
        return text, [_finding(source, line, text)]
    if data is not None:
        text = _headline(kind, data)
        return text, [
            _finding(source, line, f"`{derivative}`: {text}", CHECK_CODE if kind == "check" else None)
        ]
    messages = printed_messages(finished.stderr)
    findings = findings_of(messages, source, names, line)
    if findings:
        return findings[0].message.splitlines()[0], findings
    text = _last_words(finished)
    return text, [_finding(source, line, text)]


def _finding(source: SourceText, line: int, text: str, code: str | None = None) -> Finding:
    return Finding(line, None, "error", code, text, source.slice(source.line_span(line)))


def _last_words(finished: Finished) -> str:
    if finished.code < 0:
        return f"the compiler process was killed by signal {-finished.code}"
    lines = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"the command ended with exit code {finished.code} and said nothing"


def _headline(kind: str, data: Mapping[str, Any]) -> str:
    """The command's own sentence if it has one, else the values."""
    for key in ("verdict", "headline", "sentence", "message", "summary"):
        text = data.get(key)
        if isinstance(text, str) and text:
            return text
    values = ", ".join(f"{name} = {value}" for name, value in _values(data))
    if kind == "check":
        return "passed" if data.get("ok", data.get("passed")) else "failed"
    return values or "done"


def _values(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of a run's results."""
    found: list[tuple[str, str]] = []
    for key in ("results", "outputs", "values"):
        items = data.get(key)
        if isinstance(items, Mapping):
            found += [(str(name), short(value)) for name, value in items.items()]
        elif isinstance(items, Sequence) and not isinstance(items, str):
            found += [_named(item) for item in items if isinstance(item, Mapping)]
    return found


def _named(item: Mapping[str, Any]) -> tuple[str, str]:
    name = next((str(item[key]) for key in ("name", "label", "what") if key in item), "value")
    return name, short(item.get("value", item.get("text", "")))


def short(value: Any) -> str:
    """A value as it is shown inline."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _details(kind: str, derivative: str, data: Mapping[str, Any]) -> str:
    lines = [f"**{_TITLES[kind]} of `{derivative}`:** {_headline(kind, data)}"]
    values = _values(data)
    if values:
        lines += ["", "| value | |", "|---|---|", *(f"| `{name}` | `{value}` |" for name, value in values)]
    return "\n".join(lines)
