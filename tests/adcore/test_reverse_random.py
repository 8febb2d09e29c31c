"""Random functions with loops, breaks, stores, stencils and swaps, against finite differences."""

from __future__ import annotations

import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gradients import Gradients

FUNCTIONS = 4
POINT = (0.62, -0.37, 0.91, 0.28)


class Writer:
    """Writes one smooth function of a slice of four floats; branches depend on counters alone."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.depth = 0
        self.counters: list[str] = []

    def function(self, name: str) -> str:
        body = " ".join(self.statement() for _ in range(self.rng.randint(2, 5)))
        return (
            f'#[unsafe(no_mangle)] pub unsafe extern "C" fn {name}(x: *const f64, n: usize) -> f64 {{ '
            "let x = std::slice::from_raw_parts(x, n); let (mut a, mut b): (f64, f64) = (x[0], x[1]); "
            "let (mut u, mut v) = (x.to_vec(), vec![0.5f64; 4]); let mut w = [0.3f64, x[2], x[3], x[0] * x[1]]; "
            f"{body} a.sin() + b.cos() + u.iter().map(|z| z.sin()).sum::<f64>() + w[1] * v[2].cos() }}"
        )

    def leaf(self) -> str:
        index = self.index()
        return self.rng.choice(
            [
                "a",
                "b",
                f"x[{index}]",
                f"u[{index}]",
                f"v[{index}]",
                f"w[{index}]",
                f"{self.rng.uniform(-1, 1):.3f}",
            ]
        )

    def index(self) -> str:
        if self.counters and self.rng.random() < 0.7:
            counter = self.rng.choice(self.counters)
            return f"({counter} * {self.rng.randint(1, 3)} + {self.rng.randint(0, 3)}) % 4"
        return str(self.rng.randint(0, 3))

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            return self.leaf()
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        return self.rng.choice(
            [
                f"({x} + {y})",
                f"({x} - 0.5 * {y})",
                f"0.7 * f64::sin({x})",
                f"f64::tanh({x} * {y})",
                f"({x} / (2.0 + {y} * {y}))",
                f"f64::sqrt(1.0 + {x} * {x})",
                f"f64::exp(0.2 * f64::cos({x}))",
            ]
        )

    def statement(self) -> str:
        choices = [self.assign, self.assign, self.store, self.store, self.swap]
        if self.depth < 3:
            choices += [self.loop, self.loop, self.while_loop, self.branch, self.stencil]
        return self.rng.choice(choices)()

    def assign(self) -> str:
        return f"{self.rng.choice('ab')} = f64::tanh({self.expression()});"

    def store(self) -> str:
        return f"{self.rng.choice('uvw')}[{self.index()}] = f64::sin({self.expression()});"

    def swap(self) -> str:
        return self.rng.choice(
            ["std::mem::swap(&mut u, &mut v);", "w.swap(1, 2);", "std::mem::swap(&mut a, &mut b);"]
        )

    def block(self) -> str:
        self.depth += 1
        text = " ".join(self.statement() for _ in range(self.rng.randint(1, 3)))
        self.depth -= 1
        return text

    def loop(self) -> str:
        counter = f"i{self.depth}_{self.rng.randint(0, 999)}"
        bound = self.rng.choice(["2", "3", "n", "x.len()", *(f"({c} + 1)" for c in self.counters)])
        self.counters.append(counter)
        leave = self.rng.choice(
            ["", "", f"if {counter} == 2 {{ break; }}", f"if {counter} % 2 == 1 {{ continue; }}"]
        )
        text = f"for {counter} in 0..{bound} {{ {self.block()} {leave} {self.assign()} }}"
        self.counters.pop()
        return text

    def while_loop(self) -> str:
        counter = f"k{self.depth}_{self.rng.randint(0, 999)}"
        self.counters.append(counter)
        text = f"let mut {counter} = 0usize; while {counter} < 7 {{ {counter} += 2 + {counter} / 3; {self.block()} }}"
        self.counters.pop()
        return text

    def branch(self) -> str:
        condition = f"{self.index()} < 2"
        return f"if {condition} {{ {self.block()} }} else {{ {self.block()} }}"

    def stencil(self) -> str:
        return "for j in 1..3 { v[j] = u[j] * 0.5 + 0.2 * (u[j - 1] - u[j] * u[j + 1]); }"


def check(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"f{k}" for k in range(FUNCTIONS)]
    source = "#![allow(warnings)]\n" + "\n".join(Writer(rng).function(name) for name in names)
    gradients = Gradients(source, names)
    for name in names:
        gradients.check(name, POINT, 1e-7)


@settings(max_examples=4, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
@given(st.integers(0, 10**6))
def test_random_functions(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", [134])
def test_past_failures(seed: int) -> None:
    check(seed)
