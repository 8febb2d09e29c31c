"""The compiler's own speed: instructions differentiated per second, and `ferrodiff build` end to end.

`python bench/compile.py [KERNEL ...]` takes each kernel of `bench/kernels/` as rustc and the passes before
differentiation leave it, differentiates it in this process (best of several repetitions) and builds it once
from the command line. One row a kernel: the instructions of the functions that are differentiated, times the
derivatives asked for; the milliseconds of `differentiate_module`; the milliseconds per 1,000 instructions;
and the seconds of `ferrodiff build` with those spent in rustc. What a module costs however little is
differentiated (27,000 lines of a program's IR are read) dominates in the kernels; the last row, a function of
1,500 statements made up at random, shows the cost of an instruction.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.ir.module import Module

KERNELS = Path(__file__).resolve().parent / "kernels"
COMMON = KERNELS / "common.rs"
FERRODIFF = [sys.executable, "-m", "ferrodiff.server"]


LONG = "straight_line"
STATEMENTS = 1500
FORMS = (
    "{0} * {1}",
    "{0} + {1}",
    "{0} - {1} * 0.5",
    "({0}).sin()",
    "{0} / (1.5 + {1} * {1})",
    "({0}).hypot({1})",
)


def straight_line() -> str:
    """A function of many statements, each of what two of the last forty have made; always the same one."""
    choose = random.Random(1)
    names = [f"x[{k}]" for k in range(16)]
    lines = []
    for k in range(STATEMENTS):
        operands = choose.choice(names[-40:]), choose.choice(names[-40:])
        lines.append(f"    let v{k} = {choose.choice(FORMS).format(*operands)};")
        names.append(f"v{k}")
    return "\n".join(
        (
            "#![feature(autodiff)]",
            "#![allow(unused)]",
            "use std::autodiff::{autodiff_forward, autodiff_reverse};",
            "#[autodiff_forward(fwd1, Dual, Dual)]",
            "#[autodiff_forward(fwd8, 8, Dualv, Dual)]",
            "#[autodiff_reverse(rev, Duplicated, Active)]",
            "pub fn primal(x: &[f64]) -> f64 {",
            "    assert!(x.len() >= 16);",
            *lines,
            f"    {' + '.join(names[-10:])}",
            "}",
            'fn main() { println!("{:?}", fwd1(&[0.5; 16], &[1.0; 16])); }',
        )
    )


def source_of(name: str) -> str:
    """The text of a kernel."""
    return straight_line() if name == LONG else (KERNELS / f"{name}.rs").read_text() + COMMON.read_text()


def primal_module(source: Path) -> str:
    """The kernel's whole module just before differentiation, markers and all."""
    words = [*FERRODIFF, "ir", str(source), "fwd1", "--stage", "primal", "--module"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def instructions(text: str) -> int:
    """Instructions of the kernel's primal."""
    module = Module.parse(text)
    return sum(
        len(block.instructions)
        for name, function in module.functions.items()
        if re.search(r"\d+primal17h", name) and name not in module.declarations
        for block in function.blocks
    )


def best_ms(text: str, repetitions: int) -> tuple[float, int]:
    """Milliseconds of one differentiation of a module, and how many derivatives it holds."""
    best = float("inf")
    count = 0
    for _ in range(repetitions):
        start = time.perf_counter()
        done = differentiate_module(text)
        best = min(best, time.perf_counter() - start)
        if done.errors:
            raise SystemExit(f"refused: {done.errors[0]}")
        count = len(done.derivatives)
    return best * 1e3, count


def build_seconds(source: Path, directory: Path) -> tuple[float, float]:
    """Seconds of `ferrodiff build`, in all and in rustc."""
    words = [*FERRODIFF, "build", str(source), "-o", str(directory / "out"), "--timings"]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    total = time.perf_counter() - start
    found = re.search(r"rustc\s+([\d.]+) ms", done.stderr)
    return total, float(found[1]) / 1e3 if found else 0.0


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", help="kernel names (all when none is given)")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    view = Table(title="the compiler's own speed")
    for column in ("kernel", "instructions", "derivatives", "ms", "ms / 1000", "build s", "in rustc s"):
        view.add_column(column, justify="left" if column == "kernel" else "right")
    names = options.kernels or [*sorted(p.stem for p in KERNELS.glob("*.rs") if p != COMMON), LONG]
    report: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="ferrodiff-bench-") as directory:
        for name in names:
            source = Path(directory) / f"{name}.rs"
            source.write_text(source_of(name))
            text = primal_module(source)
            size = instructions(text)
            ms, derivatives = best_ms(text, options.repetitions)
            total, rustc = build_seconds(source, Path(directory))
            each = 1000 * ms / max(size * derivatives, 1)
            report[name] = {
                "instructions": size,
                "derivatives": derivatives,
                "ms": ms,
                "ms_per_1000": each,
                "build_s": total,
                "rustc_s": rustc,
            }
            view.add_row(
                name, str(size), str(derivatives), f"{ms:.0f}", f"{each:.0f}", f"{total:.2f}", f"{rustc:.2f}"
            )
    Console(width=None if sys.stdout.isatty() else 100).print(view)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
