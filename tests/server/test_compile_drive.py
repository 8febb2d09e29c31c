"""What a driven program prints, read back."""

from __future__ import annotations

from typing import Any

import pytest

from ferrodiff.server.commands.compiling import read_inputs
from ferrodiff.server.compile.drive import numbers, read_output
from ferrodiff.server.errors import Failure


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("1.5", 1.5),
        ("-1e-7", -1e-7),
        ("[1.0, 2.0]", [1.0, 2.0]),
        ("(1.0, [2.0, 3])", [1.0, [2.0, 3]]),
        ("(1.0,)", [1.0]),
        ("()", []),
        ("NaN", None),
        ("[inf, 1.0]", None),
        ("P { x: 1.0 }", None),
        ('"1"', None),
        ("1.0.0", None),
        ("", None),
    ],
)
def test_numbers(text: str, data: Any) -> None:
    assert numbers(text) == data


def test_values_and_the_programs_own_output_are_told_apart() -> None:
    text = (
        "hello\n"
        '{"name": "x", "role": "input", "lane": 0, "value": "[1.0]"}\n'
        '{"name": "oops\n'
        '{"name": 1}\n'
        '{"name": "return", "role": "tangent", "lane": 1, "value": "\\u0009 \\"q\\""}\n'
        "bye"
    )
    values, printed = read_output(text)
    assert [(v.name, v.role, v.lane, v.text, v.data) for v in values] == [
        ("x", "input", 0, "[1.0]", [1.0]),
        ("return", "tangent", 1, '\t "q"', None),
    ]
    assert printed == 'hello\n{"name": "oops\n{"name": 1}\nbye'


def test_inputs() -> None:
    assert read_inputs(["x=[1.0]", "k = a == b"]) == {"x": "[1.0]", "k": "a == b"}
    for wrong in ("x", "=1", "x="):
        with pytest.raises(Failure, match="NAME=EXPRESSION"):
            read_inputs([wrong])
