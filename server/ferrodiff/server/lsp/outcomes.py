"""What a command's child process printed, as a record to show."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ferrodiff.analysis.model import Function
from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp.jobs import Finished
from ferrodiff.server.lsp.messages import findings_of, printed_messages
from ferrodiff.server.lsp.results import Finding, Record, function_text

_LONGEST_VALUE = 160
_SHOWN_ROLES = ("primal", "tangent", "gradient")
_TITLES = {"run": "Run", "check": "Gradient check"}
_PANIC = re.compile(r"panicked at (.+?):(\d+):(\d+)")
CHECK_CODE = "gradient-check"
RUN_CODE = "run"


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
    data = _json(finished.stdout)
    ok = finished.code == 0 and data is not None and not finished.cancelled and not finished.timed_out
    findings: tuple[Finding, ...] = ()
    if ok and data is not None:
        headline = headline_of(kind, data)
    else:
        anchor = _anchor(source, function, derivative)
        headline, findings = _failure(kind, finished, data, source, names, anchor, limit)
    return Record(
        kind=kind,
        derivative=derivative,
        ok=ok,
        headline=headline,
        values=tuple(shown_values(data)) if data is not None else (),
        details=_details(kind, derivative, headline, data),
        findings=findings,
        function_text=function_text(source, function),
        function_line=source.line_of(function.span.start),
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
    finished: Finished,
    data: Mapping[str, Any] | None,
    source: SourceText,
    names: frozenset[str],
    line: int,
    limit: float,
) -> tuple[str, tuple[Finding, ...]]:
    """One sentence, and findings on the lines they concern."""
    if finished.cancelled:
        return "cancelled", ()
    if finished.timed_out:
        text = f"stopped: no answer after {limit:g} seconds"
        return text, (_finding(source, line, text, RUN_CODE),)
    if data is not None:
        return _unsuccessful(kind, data, source, names, line)
    findings = findings_of(printed_messages(finished.stderr), source, names, line)
    if findings:
        return findings[0].message.splitlines()[0], tuple(findings)
    text = _last_words(finished)
    return text, (_finding(source, line, text, RUN_CODE),)


def _unsuccessful(
    kind: str, data: Mapping[str, Any], source: SourceText, names: frozenset[str], line: int
) -> tuple[str, tuple[Finding, ...]]:
    """The program was built but did not end well, or the check failed."""
    text = str(data.get("message") or f"{_TITLES[kind].lower()} failed")
    code = CHECK_CODE if kind == "check" else RUN_CODE
    found = [_finding(source, line, text, code)]
    panic = _PANIC.search(f"{text}\n{data.get('stderr', '')}")
    if panic is not None and _is_named(panic[1], names):
        at = int(panic[2]) - 1
        if at != line and at < len(source.line_starts):
            found.append(_finding(source, at, text, code))
    return text, tuple(found)


def _is_named(file: str, names: frozenset[str]) -> bool:
    return file in names or PurePath(file).name in names


def _finding(source: SourceText, line: int, text: str, code: str) -> Finding:
    return Finding(line, None, "error", code, text, source.slice(source.line_span(line)))


def _last_words(finished: Finished) -> str:
    if finished.code < 0:
        return f"the process that compiles and runs was killed by signal {-finished.code}"
    lines = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"the command ended with exit code {finished.code} and said nothing"


def headline_of(kind: str, data: Mapping[str, Any]) -> str:
    """One line: the verdict, or the values."""
    if kind == "check":
        return str(data.get("message") or "passed")
    return ", ".join(f"{name} = {value}" for name, value in shown_values(data)) or "done"


def shown_values(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and text of the primal values, tangents and gradients, in this order."""
    items = data.get("values")
    if not isinstance(items, Sequence) or isinstance(items, str):
        return []
    wide = data.get("width", 1) != 1
    found = [item for item in items if isinstance(item, Mapping) and item.get("role") in _SHOWN_ROLES]
    found.sort(key=lambda item: _SHOWN_ROLES.index(item["role"]))
    return [(_label(item, wide), short(str(item.get("text", "")))) for item in found]


def _label(item: Mapping[str, Any], wide: bool) -> str:
    name = str(item.get("name", ""))
    role = item.get("role")
    if role == "primal":
        return "value" if name == "return" else name
    lane = f"[{item.get('lane', 0)}]" if wide and role == "tangent" else ""
    own = "" if name == "return" else f" {name}"
    return f"{role}{lane}{own}"


def short(text: str) -> str:
    """A value as it is shown inline."""
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _details(kind: str, derivative: str, headline: str, data: Mapping[str, Any] | None) -> str:
    """Markdown for the hover."""
    title = f"**{_TITLES[kind]} of `{derivative}`**"
    if data is None or kind == "check" or not data.get("values"):
        return "\n\n".join([f"{title}: {headline}", *_curve(data)])
    lines = [title, "", "| | |", "|---|---|"]
    lines += [f"| {name} | `{_cell(value)}` |" for name, value in shown_values(data)]
    given = [item for item in data["values"] if isinstance(item, Mapping) and item.get("role") == "input"]
    if given:
        chosen = ", ".join(f"{item.get('name')} = {item.get('text')}" for item in given)
        lines += ["", f"at `{short(chosen)}`{'' if _any_given(data) else ' (samples by type)'}"]
    if data.get("outcome") not in (None, "ok"):
        lines += ["", headline]
    return "\n".join(lines)


def _any_given(data: Mapping[str, Any]) -> bool:
    """Whether a person chose any of the inputs."""
    inputs = data.get("inputs")
    if not isinstance(inputs, Sequence):
        return False
    return any(isinstance(item, Mapping) and item.get("origin") != "sample" for item in inputs)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _curve(data: Mapping[str, Any] | None) -> list[str]:
    """The error for every step: where it is smallest, truncation and rounding balance."""
    points = data.get("curve") if data is not None else None
    if not isinstance(points, Sequence) or not points:
        return []
    cells = []
    for point in points:
        if isinstance(point, Mapping) and isinstance(point.get("step"), (int, float)):
            error = point.get("error")
            shown = f"{error:.1e}" if isinstance(error, (int, float)) else str(error)
            cells.append(f"| {point['step']:.0e} | {shown} |")
    return ["\n".join(["| step | relative error |", "|---|---|", *cells])] if cells else []
