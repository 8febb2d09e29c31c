"""`ferrodiff expand FILE`: what rustc would generate, or the whole rewritten file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.expansion import expand
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.server.errors import EXIT_PROBLEMS
from ferrodiff.server.paths import read_source, require_file, shown_name
from ferrodiff.server.problems import message_of, problems, severity
from ferrodiff.server.render import render, use_colour

UNUSED = " outside of macros; those of a macro are shown where the file that defines it calls it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="a Rust file; `-` is standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a list of objects, one per generated function")
    form.add_argument("--source", action="store_true", help="the file rewritten to plain stable Rust")
    parser.add_argument("--no-shadow-checks", action="store_true", help="with --source: no length checks")


def run(options: argparse.Namespace) -> int:
    """Prints the generated functions; exit code 1 when an annotation has errors."""
    require_file(options.file)
    name = shown_name(options.file)
    text = read_source(options.file)
    analysis = analyse(text)
    errors = [item for item in problems(analysis) if severity(item) == "error"]
    if options.source:
        from ferrodiff.analysis.rewrite import rewrite

        if not errors:
            sys.stdout.write(rewrite(text, shadow_checks=not options.no_shadow_checks, path=name).text)
    elif options.json:
        print(json.dumps(generated(analysis), indent=2, ensure_ascii=False))
    else:
        _print_signatures(analysis, name, bool(errors))
    sys.stdout.flush()
    colour = use_colour(sys.stderr)
    for item in errors:
        print(render(message_of(name, analysis.source, item), colour), end="\n\n", file=sys.stderr)
    return EXIT_PROBLEMS if errors else 0


def generated(analysis: FileAnalysis) -> list[dict[str, object]]:
    """One object per derivative; `line` is 1-based and the annotation's."""
    written = [
        _entry(function, annotation, analysis.source.line_of(annotation.span.start) + 1)
        for function, annotation in expandable(analysis)
    ]
    return sorted([*written, *made_by_macros(analysis)], key=lambda item: int(str(item["line"])))


def made_by_macros(analysis: FileAnalysis) -> Iterator[dict[str, object]]:
    """What calls of the file's own macros make; `line` is the call's, and `macro` its name."""
    expansion = expand(analysis.source.data)
    if expansion is None:
        return
    good = [annotation for _, annotation in expandable(expansion.analysis)]
    for made in expansion.made():
        if made.annotation in good:
            line = analysis.source.line_of(made.call.start) + 1
            yield {**_entry(made.function, made.annotation, line), "macro": made.macro}


def _entry(function: Function, annotation: Annotation, line: int) -> dict[str, object]:
    return {
        "function": function.name,
        "derivative": annotation.name,
        "mode": annotation.mode.value,
        "width": annotation.width,
        "line": line,
        "signature": derivative_signature(function, annotation).text,
    }


def expandable(analysis: FileAnalysis) -> list[tuple[Function, Annotation]]:
    """The annotations that generate a function: named, and without an error of their own."""
    broken = [item.span for item in analysis.diagnostics if severity(item) == "error"]
    pairs = []
    for function in analysis.functions:
        for annotation in function.annotations:
            hit = any(
                annotation.span.start <= span.start < annotation.span.end
                or (
                    function.item_text_span.start <= span.start < function.item_text_span.end
                    and len(function.annotations) == 1
                )
                for span in broken
            )
            if annotation.name and not hit:
                pairs.append((function, annotation))
    return pairs


def _print_signatures(analysis: FileAnalysis, name: str, broken: bool) -> None:
    items = generated(analysis)
    if not items and not any(function.annotations for function in analysis.functions) and not broken:
        unused = "autodiff_" in analysis.source.text and "macro_rules" in analysis.source.text
        print(f"// {name}: no autodiff annotations{UNUSED if unused else ''}")
    for number, item in enumerate(items):
        width = f", width {item['width']}" if item["width"] != 1 else ""
        if number:
            print()
        macro = f", made by `{item['macro']}!`" if "macro" in item else ""
        print(f"// {name}:{item['line']}: {item['mode']} derivative of `{item['function']}`{width}{macro}")
        print(item["signature"])
