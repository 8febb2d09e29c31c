"""`ferrodiff check PATH...`: the diagnostics of every annotation."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from typing import Any

from ferrodiff.analysis.diagnostics import Diagnostic, Rule
from ferrodiff.analysis.diagnostics import codes as rule_table
from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.expansion import expand
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.errors import EXIT_PROBLEMS, EXIT_USAGE, Failure
from ferrodiff.server.paths import read_source, rust_files, shown_name
from ferrodiff.server.problems import message_of, problems, severity
from ferrodiff.server.render import render, use_colour

FORMATS = ("text", "json", "sarif", "github")
_SARIF_LEVELS = {"error": "error", "warning": "warning"}


@dataclass(frozen=True, slots=True)
class Checked:
    """One file's outcome."""

    name: str
    analysis: FileAnalysis
    diagnostics: list[Diagnostic]
    annotations: int


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="Rust files or folders; `-` is standard input"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when there are errors, 0 when there are at most warnings, 2 when a file is unreadable."""
    checked, failures = _check_all(options.paths)
    colour = use_colour(sys.stdout, options.color)
    output = {"text": lambda: _text(checked, colour), "json": lambda: _json(checked)}
    output |= {"sarif": lambda: _sarif(checked), "github": lambda: _github(checked)}
    text = output[options.format]()
    if text:
        print(text)
    sys.stdout.flush()
    for failure in failures:
        print(failure.render(options.verbose), file=sys.stderr)
    if failures:
        return EXIT_USAGE
    errors = any(severity(d) == "error" for file in checked for d in file.diagnostics)
    return EXIT_PROBLEMS if errors else 0


def _check_all(arguments: list[str]) -> tuple[list[Checked], list[Failure]]:
    checked: dict[str, Checked] = {}
    failures: list[Failure] = []
    for argument in arguments:
        try:
            names = rust_files(argument)
        except Failure as failure:
            failures.append(failure)
            continue
        for name in names:
            if name in checked:
                continue
            try:
                checked[name] = _check(shown_name(name), read_source(name))
            except Failure as failure:
                failures.append(failure)
    return list(checked.values()), failures


def _check(name: str, text: str) -> Checked:
    analysis = analyse(text)
    expansion = expand(analysis.source.data)
    made = sum(1 for _ in expansion.made()) if expansion is not None else 0
    written = sum(len(function.annotations) for function in analysis.functions)
    return Checked(name, analysis, problems(analysis), written + made)


def _text(checked: list[Checked], colour: bool) -> str:
    blocks = []
    counts = {"error": 0, "warning": 0}
    for file in checked:
        for diagnostic in file.diagnostics:
            level = severity(diagnostic)
            counts[level] = counts.get(level, 0) + 1
            blocks.append(render(message_of(file.name, file.analysis.source, diagnostic), colour))
            blocks.append("")
    annotations = sum(file.annotations for file in checked)
    found = ", ".join(_count(counts[level], level) for level in ("error", "warning") if counts[level])
    scope = f"{_count(annotations, 'annotation')} in {_count(len(checked), 'file')}"
    if checked:
        blocks.append(f"{scope}: {found or 'no problems'}")
    worst = [item for file in checked for item in file.diagnostics if severity(item) in ("error", "warning")]
    if worst:
        blocks.append(f"`ferrodiff explain {worst[0].code}` says more")
    return "\n".join(blocks)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _region(source: SourceText, span: Span, encoding: str) -> dict[str, int]:
    """1-based lines and columns."""
    line, column = source.position(span.start, encoding)
    end_line, end_column = source.position(span.end, encoding)
    return {"line": line + 1, "column": column + 1, "endLine": end_line + 1, "endColumn": end_column + 1}


def _json(checked: list[Checked]) -> str:
    items = [_json_item(file, diagnostic) for file in checked for diagnostic in file.diagnostics]
    return json.dumps(items, indent=2, ensure_ascii=False)


def _json_item(file: Checked, diagnostic: Diagnostic) -> dict[str, Any]:
    source = file.analysis.source
    return {
        "file": file.name,
        "code": diagnostic.code,
        "severity": severity(diagnostic),
        "message": diagnostic.message,
        **_json_place(source, diagnostic.span),
        "related": [
            {"message": item.message, **_json_place(source, item.span)} for item in diagnostic.related
        ],
        "notes": list(diagnostic.notes),
        "fixes": [
            {
                "title": fix.title,
                "preferred": fix.preferred,
                "edits": [{"newText": edit.new_text, **_json_place(source, edit.span)} for edit in fix.edits],
            }
            for fix in diagnostic.fixes
        ],
    }


def _json_place(source: SourceText, span: Span) -> dict[str, Any]:
    """Columns count characters; `bytes` are offsets into the file."""
    return {**_region(source, span, "utf-32"), "bytes": [span.start, span.end]}


def _sarif(checked: list[Checked]) -> str:
    from ferrodiff.server.version import version

    results = [_sarif_result(file, d) for file in checked for d in file.diagnostics]
    codes = sorted({str(result["ruleId"]) for result in results})
    rules = rule_table()
    driver = {
        "name": "ferrodiff",
        "version": version(),
        "rules": [_sarif_rule(rules[code]) for code in codes],
    }
    run_object = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "artifacts": [{"location": {"uri": _uri(file.name)}} for file in checked],
        "results": results,
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run_object],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.says},
        "fullDescription": {"text": " ".join(rule.why.split())},
        "defaultConfiguration": {"level": _SARIF_LEVELS.get(rule.severity.value, "note")},
    }


def _sarif_result(file: Checked, diagnostic: Diagnostic) -> dict[str, Any]:
    source = file.analysis.source
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _SARIF_LEVELS.get(severity(diagnostic), "note"),
        "message": {"text": diagnostic.message},
        "locations": [{"physicalLocation": _sarif_place(file.name, source, diagnostic.span)}],
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {
                "message": {"text": item.message},
                "physicalLocation": _sarif_place(file.name, source, item.span),
            }
            for item in diagnostic.related
        ]
    if diagnostic.fixes:
        result["fixes"] = [
            {
                "description": {"text": fix.title},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": _uri(file.name)},
                        "replacements": [
                            {
                                "deletedRegion": _sarif_region(source, edit.span),
                                "insertedContent": {"text": edit.new_text},
                            }
                            for edit in fix.edits
                        ],
                    }
                ],
            }
            for fix in diagnostic.fixes
        ]
    return result


def _sarif_place(name: str, source: SourceText, span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(name)}, "region": _sarif_region(source, span)}


def _sarif_region(source: SourceText, span: Span) -> dict[str, int]:
    region = _region(source, span, "utf-16")
    return {
        "startLine": region["line"],
        "startColumn": region["column"],
        "endLine": region["endLine"],
        "endColumn": region["endColumn"],
    }


def _uri(name: str) -> str:
    from urllib.parse import quote

    return quote(name.replace("\\", "/"))


def _github(checked: list[Checked]) -> str:
    lines = []
    for file in checked:
        for diagnostic in file.diagnostics:
            level = severity(diagnostic)
            kind = level if level in ("error", "warning") else "notice"
            where = _region(file.analysis.source, diagnostic.span, "utf-32")
            fields = f"file={_property(file.name)},line={where['line']},endLine={where['endLine']}"
            if where["line"] == where["endLine"]:
                fields += f",col={where['column']},endColumn={where['endColumn']}"
            lines.append(
                f"::{kind} {fields},title={_property(diagnostic.code)}::{_escape(diagnostic.message)}"
            )
    return "\n".join(lines)


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
