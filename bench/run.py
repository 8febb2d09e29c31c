"""The benchmark: every kernel's derivatives against its primal, and against what people would use instead.

`make bench` (or `python bench/run.py [KERNEL ...]`) builds each kernel in `bench/kernels/` with
`ferrodiff build`, runs it, and prints one table of RATIOS: the time of a derivative over the time of
the primal, both taken in the same run of the same process (best of several repetitions after a
warm-up). Absolute times are machine-dependent and only go to the JSON file. Each kernel first checks
its own numbers and stops when they are wrong.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from rich.console import Console
from rich.table import Table

KERNELS = Path(__file__).resolve().parent / "kernels"
COMMON = KERNELS / "common.rs"

# Upper limits the project sets itself, as ratios to the primal: kernel -> variant -> limit.
SLICE = {"fwd1": 1.6, "fwd4": 1.8, "fwd8": 3.0}
MARKS: dict[str, dict[str, float]] = {
    "lorenz_rk4": {"fwd1": 1.3, "fwd4": 1.8, "fwd8": 3.0, "rev": 2.5},
    "rational_polynomial": SLICE,
    "black_scholes": SLICE,
    "rosenbrock": {"rev": 2.0},
    "dot": {"rev": 2.5},
    "log_sum_exp": {"rev": 1.6},
    "tanh_layer": {"rev": 2.0},
    "gmm": {"rev": 3.0},
    "diffusion": {"rev": 4.0},
}
WIDTHS = {"fwd4": 4, "fwd8": 8, "fwd16": 16}


def build(kernel: Path, directory: Path, cpu: str) -> tuple[Path, float]:
    """Builds one kernel; returns the executable and the seconds `ferrodiff build` took.

    Raises:
        RuntimeError: `ferrodiff build` refused the kernel; the message is its own.
    """
    source = directory / kernel.name
    source.write_text(kernel.read_text() + COMMON.read_text())
    executable = directory / kernel.stem
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(executable), "--cpu", cpu],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr or done.stdout)
    return executable, time.perf_counter() - start


def measure(executable: Path, repetitions: int) -> dict[str, float]:
    """Runs a built kernel; returns variant -> nanoseconds.

    Raises:
        RuntimeError: the kernel found its own numbers wrong, or crashed.
    """
    done = subprocess.run([str(executable), str(repetitions)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr or f"exit status {done.returncode}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["variant"]: row["ns"] for row in rows}


def ratios(times: dict[str, float]) -> dict[str, float]:
    """Every variant over the primal, plus `fwdN / N scalar calls` (below 1: batching pays)."""
    result = {name: ns / times["primal"] for name, ns in times.items() if name != "primal"}
    for name, width in WIDTHS.items():
        if name in times:
            result[f"{name} / {width} calls"] = times[name] / (width * times["fwd1"])
    return result


COLUMNS = {
    **{f"fwd{n}": f"fwd{n}" for n in (1, 4, 8, 16)},
    **{f"fwd{n} / {n} calls": f"/ {n} calls" for n in (4, 8, 16)},
    "rev": "rev",
    "tangent by hand": "tangent\nby hand",
    "gradient by hand": "gradient\nby hand",
    "dual numbers": "dual\nnumbers",
    "finite differences": "finite\ndiff.",
}
"""A variant and its column's head; `/ N calls` is one batch of N over N calls of width 1."""


def machine() -> str:
    """The processor, by LLVM's name for it."""
    return f"{llvm.get_host_cpu_name()} ({platform.machine()})"


def table(results: dict[str, dict[str, float]], cpu: str) -> Table:
    """One row a kernel, one column a variant; a ratio over its mark has an exclamation mark."""
    view = Table(
        title="derivative time / primal time (same run, best of repetitions)",
        caption=f"on {machine()}, compiled for {cpu}; ! is over its mark, * within",
    )
    view.add_column("kernel")
    for head in COLUMNS.values():
        view.add_column(head, justify="right")
    for kernel, row in results.items():
        view.add_row(kernel, *(cell(row.get(c), MARKS.get(kernel, {}).get(c)) for c in COLUMNS))
    return view


def cell(ratio: float | None, mark: float | None) -> str:
    """A ratio, with what its mark says of it."""
    if ratio is None:
        return "-"
    if mark is None:
        return f"{ratio:.2f} "
    return f"[green]{ratio:.2f}*[/]" if ratio <= mark else f"[red]{ratio:.2f}![/]"


def main() -> int:
    """Builds and measures the chosen kernels; exit status 1 when one fails to build or to agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", help="kernel names (all when none is given)")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--cpu", choices=("native", "generic"), default="native")
    parser.add_argument("--json", type=Path, help="also write times, ratios and the machine to this file")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 150)
    names = options.kernels or sorted(p.stem for p in KERNELS.glob("*.rs") if p != COMMON)
    report: dict[str, Any] = {"machine": machine(), "cpu": options.cpu, "kernels": {}}
    results: dict[str, dict[str, float]] = {}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ferrodiff-bench-") as directory:
        for name in names:
            try:
                executable, seconds = build(KERNELS / f"{name}.rs", Path(directory), options.cpu)
                times = measure(executable, options.repetitions)
            except RuntimeError as problem:
                failed += 1
                console.print(f"[red]{name}[/]: {problem}", markup=True, highlight=False)
                continue
            results[name] = ratios(times)
            report["kernels"][name] = {"build_s": seconds, "ns": times, "ratios": results[name]}
    console.print(table(results, options.cpu))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
