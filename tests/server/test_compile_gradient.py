"""The verdict of a gradient check, from what the generated program prints."""

from __future__ import annotations

import json

import pytest

from ferrodiff.server.compile.gradient import as_json, judge

STEPS = (1e-2, 1e-4, 1e-6)


def shape(kind: str, name: str, count: int) -> str:
    return json.dumps({"gradient": kind, "name": name, "count": count})


def values(kind: str, at: int | None, step: float, numbers: list[float]) -> str:
    texts = [repr(number) for number in numbers]
    return json.dumps({"gradient": kind, "input": at, "step": step, "values": texts})


def reverse(gradient: list[float]) -> str:
    """x0^2 + 3 x1 at (2, 1), with a truncation error that falls with the step."""
    lines = [shape("input", "x", 2), shape("output", "return", 1), values("weights", None, 0, [0.5])]
    lines.append(values("derivative", None, 0, gradient))
    for step in STEPS:
        lines.append(values("difference", 0, step, [4.0 + step**2]))
        lines.append(values("difference", 1, step, [3.0]))
    return "\n".join(["noise", *lines, "{broken"])


def test_a_right_gradient_passes() -> None:
    verdict = judge(reverse([2.0, 1.5]))
    assert verdict.passed and verdict.components == 2 and verdict.step == 1e-6
    assert "passed: 2 components agree" in verdict.describe()
    assert [step for step, _ in verdict.curve] == sorted(STEPS, reverse=True)


def test_a_wrong_gradient_names_the_worst_component() -> None:
    verdict = judge(reverse([2.0, 2.5]))
    assert not verdict.passed
    assert "the gradient by x[1]: the derivative says 2.5, differences say 1.5" in verdict.describe()
    assert as_json(verdict)["worst"] == {"output": "", "input": "x[1]", "derivative": 2.5, "difference": 1.5}


def test_a_gradient_that_is_not_a_number_fails() -> None:
    verdict = judge(reverse([2.0, float("nan")]))
    assert not verdict.passed and verdict.worst is not None and verdict.worst.input == "x[1]"
    json.dumps(as_json(verdict), allow_nan=False)


def test_forward_columns() -> None:
    lines = [shape("input", name, 1) for name in "xk"]
    lines += [shape("output", "return", 1), shape("output", "o", 2)]
    columns = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]
    for at, column in enumerate(columns):
        lines.append(values("derivative", at, 0, column))
        lines.append(values("difference", at, 1e-4, [round(v) for v in column]))
    verdict = judge("\n".join(lines))
    assert not verdict.passed and verdict.worst is not None
    assert (verdict.worst.output, verdict.worst.input, verdict.components) == ("o[1]", "k", 6)


def test_single_precision_is_allowed_more() -> None:
    text = reverse([2.0001, 1.5])
    assert not judge(text).passed
    assert judge(text, single=True).passed


def test_an_incomplete_output() -> None:
    with pytest.raises(ValueError, match="no differences"):
        judge("nothing")
