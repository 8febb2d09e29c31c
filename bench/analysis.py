"""How fast the analysis is that runs on every keystroke, beside tree-sitter's own parse of the same text.

    python bench/analysis.py [--quick] [--json FILE]

Prints one table and one line of JSON. The text has 10,000 lines and 200 annotated functions. Nothing of a
server is in the figures: a keystroke is the edit of one byte and all diagnostics after it. The last column
tells how often tree-sitter could have parsed the text once from scratch meanwhile, which does not depend on the
machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_rust

from ferrodiff.analysis.document import Document, analyse
from ferrodiff.analysis.text import Span

LINES = 10_000
FUNCTIONS = 200


def rust_text() -> str:
    parts = ["#![feature(autodiff)]", "use std::autodiff::{autodiff_forward, autodiff_reverse};", ""]
    for number in range(FUNCTIONS):
        parts += [
            f"/// The {number}th of them.",
            f"#[autodiff_reverse(df{number}, Duplicated, Active, Active)]",
            f"pub fn f{number}(x: &[f64], k: f64) -> f64 {{",
            "    let mut sum = 0.0;",
            "    for value in x {",
            "        sum += (value * k).sin() * value;",
            "    }",
            "    sum",
            "}",
            "",
        ]
        for filler in range(5):
            parts += [
                f"fn helper_{number}_{filler}(a: f64, b: f64) -> f64 {{",
                "    // a comment that says nothing",
                "    let c = a * b + 1.0;",
                '    let text = "a string";',
                "    if c > 0.0 { c } else { -c + text.len() as f64 }",
                "}",
                "",
            ]
        parts += ["// ---------"] * (LINES // FUNCTIONS - 45)
    return "\n".join(parts) + "\n"


def within(kind: str, text: str) -> str:
    """The functions of `text` as the contents of one item."""
    first, use, *rest = text.split("\n")
    inner = "\n".join(f"    {line}" if line else "" for line in rest)
    glob = "    use super::*;\n" if kind.startswith("mod") else ""
    return f"{first}\n{use}\n{kind} {{\n{glob}{inner}\n}}\n"


# What somebody has typed in the middle of the file, and the keystrokes come somewhere else.
STATES: dict[str, Callable[[str], str]] = {
    "correct": lambda text: text,
    "a bracket too many": lambda text: text.replace("fn f150(", "fn f150((", 1),
    "an unfinished statement": lambda text: text.replace("let c = a * b", "let c = a *; let", 1),
    "a missing brace": lambda text: text.replace("f64 {\n    let mut sum", "f64 \n    let mut sum", 1),
    "an open string": lambda text: text.replace('"a string"', '"a string', 1),
    "all in one module": lambda text: within("mod inner", text),
    "all in one impl": lambda text: within("impl Model", text),
}


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    parses: float
    """Seconds as a multiple of tree-sitter's parse from scratch."""


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def parse_time(text: str, repeats: int) -> float:
    data = text.encode()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
    return min(timed(lambda: parser.parse(data)) for _ in range(repeats))


def keystrokes(text: str, count: int) -> list[float]:
    """Seconds of each of `count` keystrokes, spread over the file."""
    document = Document(text)
    document.analysis.diagnostics  # noqa: B018

    def press(offset: int, new_text: str, length: int) -> None:
        document.edit(Span(offset, offset + length), new_text)
        document.analysis.diagnostics  # noqa: B018

    found = []
    for number in range(count // 2):
        data = document.source.data
        offset = data.find(b"sum = 0.0", number * len(data) * 2 // count)
        offset = (offset if offset >= 0 else data.find(b"sum = 0.0")) + 3
        found.append(timed(lambda at=offset: press(at, "x", 0)))  # type: ignore[misc]
        found.append(timed(lambda at=offset: press(at, "", 1)))  # type: ignore[misc]
    return found


def rows(quick: bool) -> list[Row]:
    text = rust_text()
    reference = parse_time(text, 3 if quick else 10)

    def row(name: str, seconds: float) -> Row:
        return Row(name, seconds, seconds / reference)

    firsts = [timed(lambda: analyse(text).diagnostics) for _ in range(3 if quick else 10)]
    found = [row("tree-sitter's parse", reference), row("first analysis", min(firsts))]
    for name, change in STATES.items():
        times = sorted(keystrokes(change(text), 20 if quick else 200))
        found.append(row(f"keystroke median, {name}", statistics.median(times)))
        found.append(row(f"keystroke p95, {name}", times[int(len(times) * 0.95)]))
    return found


def memory(edits: int) -> dict[str, float]:
    """Python's memory in MiB after a tenth and after all of the edits; every other one ends a syntax error."""
    text = rust_text()
    document = Document(text)
    place = text.index("fn f100(") + len("fn f100(")
    tracemalloc.start()
    found: dict[str, float] = {}
    for number, (start, length, new_text) in enumerate(itertools.cycle([(place, 0, "("), (place, 1, "")]), 1):
        document.edit(Span(start, start + length), new_text)
        document.analysis.diagnostics  # noqa: B018
        if number in (edits // 10, edits):
            found[f"memory after {number:,} edits (MiB)"] = tracemalloc.get_traced_memory()[0] / 2**20
        if number == edits:
            break
    tracemalloc.stop()
    return found


GOALS = {
    "first analysis": 150,
    "keystroke median, correct": 10,
    "keystroke median, a bracket too many": 10,
}


def table(measured: list[Row], resident: dict[str, float]) -> str:
    width = max(len(name) for name in [*resident, *[row.name for row in measured]])
    lines = [f"{'':<{width}}  {'goal (ms)':>9}  {'ms':>8}  {'parses':>7}"]
    for row in measured:
        goal = GOALS.get(row.name, "")
        lines.append(f"{row.name:<{width}}  {goal:>9}  {row.seconds * 1e3:>8.1f}  {row.parses:>7.3f}")
    lines += [f"{name:<{width}}  {'':>9}  {value:>8.2f}" for name, value in resident.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions, 1,000 edits instead of 10,000"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures to a file")
    options = parser.parse_args()
    measured = rows(options.quick)
    resident = memory(1_000 if options.quick else 10_000)
    print(table(measured, resident))
    figures = {row.name: {"ms": row.seconds * 1e3, "parses": row.parses} for row in measured}
    text = json.dumps({"analysis": {**figures, **resident}})
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
