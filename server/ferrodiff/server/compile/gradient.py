"""The verdict of comparing a derivative with central differences.

The generated program (`ferrodiff.analysis.rewrite.gradient_check`) prints the derivative and the difference
quotients of every output for a range of step sizes; here they are compared. The error of a step is the
largest difference of a component, relative to the largest component of the derivative. A central difference
has an error of order h^2 from above and eps/h from below, so over the steps the error has a minimum: the
check passes when the minimum is small enough for the precision of the floats involved.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ferrodiff.analysis.model import Function

TOLERANCE = 1e-6
SINGLE_TOLERANCE = 2e-3
"""For functions that compute in `f32`."""


@dataclass(frozen=True, slots=True)
class Component:
    """One entry of the derivative: of which output, by which input, found and expected."""

    output: str
    input: str
    derivative: float
    difference: float

    @property
    def error(self) -> float:
        return abs(self.derivative - self.difference)

    def describe(self) -> str:
        """In words, with both numbers."""
        what = f"d {self.output} / d {self.input}" if self.output else f"the gradient by {self.input}"
        return f"{what}: the derivative says {self.derivative:.10g}, differences say {self.difference:.10g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the derivative agrees with differences.

    `curve` has the relative error for each step; `worst` is the worst component at the best step.
    """

    passed: bool
    tolerance: float
    error: float
    step: float
    worst: Component | None
    components: int
    sampled: bool
    curve: tuple[tuple[float, float], ...]
    reason: str = ""

    def describe(self) -> str:
        """The verdict in one or two sentences."""
        if self.reason:
            return self.reason
        number = f"{self.components} component{'' if self.components == 1 else 's'}"
        scope = f"{number}, a sample of all" if self.sampled else number
        if self.passed:
            return (
                f"passed: {scope} agree{'s' if self.components == 1 else ''} with central differences "
                f"to a relative error of {self.error:.1e} "
                f"(step {self.step:.0e}, tolerance {self.tolerance:.0e})"
            )
        text = (
            f"failed: the derivative differs from central differences by {self.error:.1e} at best "
            f"(step {self.step:.0e}, tolerance {self.tolerance:.0e}; {scope})"
        )
        return f"{text}; worst is {self.worst.describe()}" if self.worst else text


@dataclass(slots=True)
class _Lines:
    """What the program printed."""

    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    weights: list[float] | None = None
    derivative: dict[int, list[float]] = field(default_factory=dict)
    row: list[float] | None = None
    differences: dict[float, dict[int, list[float]]] = field(default_factory=dict)


COMPARED = '{"gradient": "difference"'
"""Begins the lines that a program prints when it has come to the comparison."""


def judge(printed: str, *, single: bool = False) -> Verdict:
    """Compares what the program printed; `single` when the function computes in `f32`.

    Raises `ValueError` when the output is incomplete.
    """
    lines = _read(printed)
    tolerance = SINGLE_TOLERANCE if single else TOLERANCE
    if not lines.differences:
        raise ValueError("the program printed no differences")
    curve: list[tuple[float, float]] = []
    best: tuple[float, float, list[Component]] | None = None
    for step in sorted(lines.differences, reverse=True):
        components = _components(lines, lines.differences[step])
        error = _relative_error(components)
        curve.append((step, error))
        if best is None or error < best[0]:
            best = (error, step, components)
    if best is None or not best[2]:
        return Verdict(True, tolerance, 0.0, 0.0, None, 0, False, tuple(curve), "there is nothing to compare")
    error, step, components = best
    worst = max(components, key=lambda item: item.error if math.isfinite(item.error) else math.inf)
    sampled = len(next(iter(lines.differences.values()))) < len(lines.inputs)
    passed = error <= tolerance
    return Verdict(passed, tolerance, error, step, worst, len(components), sampled, tuple(curve))


def uses_single(function: Function, text: str) -> bool:
    """Whether a function computes in `f32` somewhere, as far as its own text says."""
    own = text.encode("utf-8", "surrogatepass")[function.item_text_span.start : function.item_text_span.end]
    return re.search(rb"\bf32\b|\df32\b", own) is not None


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain data."""
    worst = verdict.worst
    return {
        "passed": verdict.passed,
        "message": verdict.describe(),
        "error": _finite(verdict.error),
        "step": verdict.step,
        "tolerance": verdict.tolerance,
        "components": verdict.components,
        "sampled": verdict.sampled,
        "worst": None
        if worst is None
        else {
            "output": worst.output,
            "input": worst.input,
            "derivative": _finite(worst.derivative),
            "difference": _finite(worst.difference),
        },
        "curve": [{"step": step, "error": _finite(error)} for step, error in verdict.curve],
    }


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _components(lines: _Lines, differences: dict[int, list[float]]) -> list[Component]:
    if lines.row is not None:
        return [
            Component("", _name(lines.inputs, at), lines.row[at], _weighted(lines.weights or [], values))
            for at, values in differences.items()
            if at < len(lines.row)
        ]
    return [
        Component(_name(lines.outputs, row), _name(lines.inputs, at), found, expected)
        for at, values in differences.items()
        for row, (found, expected) in enumerate(zip(lines.derivative.get(at, ()), values, strict=False))
    ]


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    return (
        math.fsum(w * v for w, v in zip(weights, values, strict=False)) if _all_finite(values) else math.nan
    )


def _all_finite(values: Sequence[float]) -> bool:
    return all(map(math.isfinite, values))


def _relative_error(components: list[Component]) -> float:
    if not components:
        return 0.0
    if not all(math.isfinite(item.error) for item in components):
        return math.inf
    scale = max(max(abs(item.derivative), abs(item.difference)) for item in components)
    return max(item.error for item in components) / max(scale, 1e-6)


def _name(names: list[str], at: int) -> str:
    return names[at] if at < len(names) else f"number {at}"


def _read(printed: str) -> _Lines:
    lines = _Lines()
    for line in printed.splitlines():
        if not line.startswith('{"gradient": '):
            continue
        try:
            item = json.loads(line)
        except ValueError:
            continue
        _take(lines, item)
    return lines


def _take(lines: _Lines, item: dict[str, Any]) -> None:
    kind = item["gradient"]
    if kind in ("input", "output"):
        names = lines.inputs if kind == "input" else lines.outputs
        names += _indexed(str(item["name"]), int(item["count"]))
        return
    values = [float(text) for text in item["values"]]
    if kind == "weights":
        lines.weights = values
    elif kind == "difference":
        lines.differences.setdefault(float(item["step"]), {})[int(item["input"])] = values
    elif item["input"] is None:
        lines.row = values
    else:
        lines.derivative[int(item["input"])] = values


def _indexed(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{number}]" for number in range(count)]
