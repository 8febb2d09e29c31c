"""Random numeric Rust functions: loops, branches, stores, helpers, structs, early exits.

Every function takes three floats (borrowed, by value, or to be changed in place) and is total. Branches make
kinks; `main` recognises those by two finite differences that disagree, and then compares the modes with each
other only.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

INPUTS = 3

RICH = 1000
"""From this seed on functions have every kind of statement; those before are kept as they always were."""

MOVED = 100_000
"""From this seed on they also move around small values in which singles stand beside integers."""

_UNARY = (
    "({}).sin()",
    "({}).cos()",
    "({}).tanh()",
    "(0.3 * ({})).exp()",
    "(1.5 + ({}).powi(2)).sqrt()",
    "({}).atan()",
    "(1.2 + ({}).abs()).ln()",
    "-({})",
    "({}).powi(2) * 0.1",
    "0.5 * ({})",
    "1.0 / (2.0 + ({}) * ({}))",
)
_BINARY = (
    "{} + {}",
    "{} - {}",
    "({}) * ({})",
    "({}) / (2.0 + ({}).powi(2))",
    "({}).max({})",
    "({}).hypot({} + 2.0)",
)

_MOVED: dict[str, tuple[str, str]] = {
    "Mix": ("Mix {{ i: k as i32 - 1, f: {a} as f32 }}", "m.f as f64 * (m.i as f64 + 1.5)"),
    "Two": ("Two {{ a: {a} as f32, b: {b} as f32 }}", "(m.a * m.b) as f64"),
    "[f32; 2]": ("[{a} as f32, {b} as f32]", "(m[0] - m[0] * m[1]) as f64"),
    "(f32, bool)": ("({a} as f32, {a} > 0.2)", "if m.1 {{ m.0 as f64 }} else {{ -0.5 * m.0 as f64 }}"),
    "Option<f32>": (
        "if k % 3 == 1 {{ None }} else {{ Some({a} as f32) }}",
        "m.map_or(0.5, |f| (f * f) as f64)",
    ),
    "(u16, f32, f64)": ("(k as u16, {a} as f32, {b})", "m.1 as f64 * m.2 + m.0 as f64"),
    "Variant": ("variant(k, {a}, {b})", "m.value()"),
    "Holder": (
        "Holder {{ n: k as u32, v: [{a} as f32; 3], o: Some({b} as f32), t: (0.5, k > 1), d: {a}, e: variant(k, {b}, {a}) }}",
        "m.value()",
    ),
}
"""Types, how the element number `k` is made, and how an element `m` is read."""

_MOVES = (
    "{p}.swap({i}, {j});",
    "{p}.rotate_left({i});",
    "{p}.reverse();",
    "let spare = {p}.clone(); {p}.extend(spare.iter().rev().take(2).cloned());",
    "let one = {p}.remove({i}); {p}.insert({j}, one);",
    "let last = {p}.pop(); {p}.insert(0, last.unwrap_or({p}[0]));",
    "{p} = {p}.iter().copied().chain(std::iter::once({p}[{j}])).collect();",
    "let held = Box::new({p}[{i}]); {p}[{j}] = *held;",
    "let kept = Some({p}[{i}]); if let Some(k) = kept.filter(|_| x[0] > 0.0) {{ {p}.push(k); }}",
    "{p}.copy_within({i}..{i} + 1, {j});",
    "let new = through({p}[{j}]); let one = std::mem::replace(&mut {p}[{i}], new); {p}.push(one);",
    "let mut fixed: [_; 4] = {p}[..4].try_into().unwrap(); fixed.swap({i}, {j}); {p}[..4].copy_from_slice(&fixed);",
    "let (low, high) = {p}.split_at_mut(2); low[0] = high[1]; low[1..].swap_with_slice(&mut high[..1]);",
)
"""What is done with a vector of them, of four elements or more."""


@dataclass
class Writer:
    """Writes the statements of one function."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    floats: list[str] = field(default_factory=list)
    """Names of `f64` variables that can be assigned."""
    arrays: list[tuple[str, int]] = field(default_factory=list)
    counter: int = 0
    loops: int = 0
    rich: bool = False
    moved: bool = False
    labels: list[str] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)
    """Names and lengths of square `Vec<Vec<f64>>`."""

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def name(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    # Expressions

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.rng.random() < 0.2:
            return self.leaf()
        if self.rng.random() < 0.45:
            form = self.rng.choice(_UNARY)
            inner = self.expression(depth - 1)
            return form.replace("{}", inner)
        form = self.rng.choice(_BINARY)
        return form.format(self.parenthesised(depth - 1), self.parenthesised(depth - 1))

    def parenthesised(self, depth: int) -> str:
        return f"({self.expression(depth)})"

    def leaf(self) -> str:
        choices: list[Callable[[], str]] = [
            lambda: f"x[{self.rng.randrange(INPUTS)}]",
            lambda: f"x[{self.rng.randrange(INPUTS)}]",
            lambda: self.rng.choice(self.floats) if self.floats else f"x[{self.rng.randrange(INPUTS)}]",
            lambda: f"{self.rng.uniform(-1.5, 1.5):.3f}_f64",
        ]
        if self.arrays:
            choices.append(self.element)
        return self.rng.choice(choices)()

    def element(self) -> str:
        array, length = self.rng.choice(self.arrays)
        return f"{array}[{self.rng.randrange(length)}]"

    def condition(self) -> str:
        if self.loops and self.rng.random() < 0.4:
            return f"i{self.loops} % {self.rng.randint(2, 3)} == {self.rng.randint(0, 1)}"
        return f"{self.parenthesised(1)} > {self.rng.uniform(-0.8, 0.8):.3f}"

    # Statements

    def block(self, depth: int, count: int) -> None:
        floats, arrays, rows = len(self.floats), len(self.arrays), len(self.rows)
        for _ in range(count):
            self.statement(depth)
        if len(self.floats) > floats > 0:
            inner, outer = self.rng.choice(self.floats[floats:]), self.rng.choice(self.floats[:floats])
            self.emit(f"{outer} += 0.3 * ({inner}).sin();")
        del self.floats[floats:]
        del self.arrays[arrays:]
        del self.rows[rows:]

    def statement(self, depth: int) -> None:
        kinds: list[Callable[[int], None]] = [self.declare, self.assign, self.assign, self.store]
        if depth > 0:
            kinds += [
                self.branch,
                self.loop,
                self.loop,
                self.array,
                self.vector,
                self.call,
                self.structure,
                self.leave,
            ]
        if self.rich:
            kinds += self.rich_kinds(depth)
        self.rng.choice(kinds)(depth)

    def rich_kinds(self, depth: int) -> list[Callable[[int], None]]:
        """More kinds of statements; those over arrays and rows only where there are any."""
        kinds: list[Callable[[int], None]] = [self.single, self.cast]
        if self.moved and depth > 0:
            kinds += [self.pool] * 6
        if self.labels:
            kinds.append(self.jump)
        if self.arrays:
            kinds += [self.exchange, self.relax, self.copy, self.scan, self.smooth]
        if self.rows:
            kinds += [self.cell, self.cell]
        if depth > 0:
            kinds += [self.matched, self.option, self.closure, self.matrix, self.labelled, self.until]
            kinds += [self.machine, self.collector]
            if self.arrays:
                kinds += [self.iterator, self.swapped]
        return kinds

    def declare(self, depth: int) -> None:
        value = self.expression()
        name = self.name("v")
        self.emit(f"let mut {name} = {value};")
        self.floats.append(name)

    def assign(self, depth: int) -> None:
        if not self.floats:
            return self.declare(depth)
        name = self.rng.choice(self.floats)
        value = self.expression()
        operator = self.rng.choice(["=", "+=", "-="])
        self.emit(f"{name} {operator} ({value}).sin();" if self.loops else f"{name} {operator} {value};")

    def store(self, depth: int) -> None:
        if not self.arrays:
            return self.declare(depth)
        value = self.expression()
        array, length = self.rng.choice(self.arrays)
        fixed = self.rng.randrange(length)
        at = f"(i{self.loops} + {fixed}) % {length}" if self.loops else fixed
        self.emit(f"{array}[{at}] {self.rng.choice(['=', '+=', '*='])} ({value}).tanh();")

    def array(self, depth: int) -> None:
        length = self.rng.randint(2, 5)
        values = ", ".join(self.expression(1) for _ in range(length))
        name = self.name("a")
        self.emit(f"let mut {name} = [{values}];")
        self.arrays.append((name, length))

    def vector(self, depth: int) -> None:
        name, item = self.name("w"), self.name("e")
        value = self.expression(1)
        length = self.rng.randint(2, 4)
        self.emit(f"let mut {name} = Vec::new();")
        self.emit(f"for k in 0..{length} {{ let {item} = {value}; {name}.push({item} * (k as f64 + 0.5)); }}")
        self.arrays.append((name, length))

    def branch(self, depth: int) -> None:
        self.emit(f"if {self.condition()} {{")
        self.nested(depth)
        if self.rng.random() < 0.6:
            self.emit("} else {")
            self.nested(depth)
        self.emit("}")

    def nested(self, depth: int) -> None:
        self.indent += 1
        self.block(depth - 1, self.rng.randint(1, 3))
        self.indent -= 1

    def loop(self, depth: int) -> None:
        self.loops += 1
        variable, trips = f"i{self.loops}", self.rng.randint(0, 5)
        if self.rng.random() < 0.3:
            self.emit(f"let mut {variable} = 0;")
            limit = f" && {self.leaf()} < 5.0" if self.rng.random() < 0.5 else ""
            self.emit(f"while {variable} < {trips}{limit} {{")
            self.indent += 1
            self.emit(f"{variable} += 1;")
            self.indent -= 1
        else:
            direction = self.rng.choice(["0..{n}", "(0..{n}).rev()", "1..{n} + 1"]).format(n=trips)
            self.emit(f"for {variable} in {direction} {{")
        self.nested(depth)
        if self.rng.random() < 0.3:
            word = self.rng.choice(["break", "continue"])
            self.emit(f"    if {self.condition()} {{ {word}; }}")
            self.indent += 1
            if self.floats:
                self.assign(0)
            self.indent -= 1
        self.emit("}")
        self.loops -= 1

    def call(self, depth: int) -> None:
        helper = self.rng.choice(
            ["blend({a}, {b})", "recurse({a}, 4)", "pair({a}, {b}).1", "reduce(&[{a}, {b}, {c}])"]
        )
        value = helper.format(a=self.expression(1), b=self.expression(1), c=self.expression(1))
        name = self.name("v")
        self.emit(f"let mut {name} = {value};")
        self.floats.append(name)

    def structure(self, depth: int) -> None:
        name = self.name("s")
        self.emit(
            f"let mut {name} = Body {{ p: {self.expression(1)}, n: {self.rng.randint(1, 3)}, "
            f"q: [{self.expression(1)}, {self.expression(1)}] }};"
        )
        self.emit(f"{name}.step({self.expression(1)});")
        self.floats += [f"{name}.p", f"{name}.q[0]"]

    def matched(self, depth: int) -> None:
        on = f"i{self.loops} % 3" if self.loops else f"({self.expression(1)} * 2.0).abs() as usize"
        name = self.name("v")
        self.emit(f"let mut {name} = match {on} {{")
        for pattern in ("0", "1", "_"):
            self.emit(f"    {pattern} => {self.expression()},")
        self.emit("};")
        self.floats.append(name)

    def option(self, depth: int) -> None:
        held, name = self.name("o"), self.name("v")
        self.emit(f"let {held} = if {self.condition()} {{ Some({self.expression(1)}) }} else {{ None }};")
        self.emit(f"let mut {name} = {held}.map_or({self.expression(1)}, |t: f64| t * t.cos());")
        self.floats.append(name)

    def closure(self, depth: int) -> None:
        function, name = self.name("f"), self.name("v")
        self.emit(f"let {function} = |t: f64| (t * {self.expression(1)}).sin() + t * {self.leaf()};")
        self.emit(f"let mut {name} = {function}({self.expression(1)}) - {function}({self.leaf()});")
        self.floats.append(name)

    def iterator(self, depth: int) -> None:
        (a, _), (b, _) = self.rng.choice(self.arrays), self.rng.choice(self.arrays)
        form = self.rng.choice(
            [
                "{a}.iter().zip({b}.iter()).map(|(p, q)| p * q).sum::<f64>()",
                "{a}.iter().rev().fold(0.5, |s, v| s * 0.6 + v)",
                "{a}.windows(2).map(|w| w[0] * w[1]).sum::<f64>()",
                "{a}.chunks(2).map(|c| c.iter().product::<f64>()).sum::<f64>()",
                "{a}.iter().filter(|v| **v > 0.1).map(|v| v.sin()).sum::<f64>()",
                "{a}.iter().scan(1.0, |s, v| {{ *s *= v; Some(*s) }}).sum::<f64>()",
                "{a}.iter().chain({b}.iter()).copied().fold(f64::NEG_INFINITY, f64::max)",
                "{a}.iter().map(|v| v * {x}).collect::<Vec<f64>>().iter().sum::<f64>()",
                "{a}.iter().skip(1).step_by(2).enumerate().map(|(i, v)| v * i as f64).sum::<f64>()",
            ]
        )
        name = self.name("v")
        self.emit(f"let mut {name} = {form.format(a=a, b=b, x=self.leaf())};")
        self.floats.append(name)

    def exchange(self, depth: int) -> None:
        array, length = self.rng.choice(self.arrays)
        self.emit(f"{array}.swap({self.rng.randrange(length)}, {self.rng.randrange(length)});")

    def relax(self, depth: int) -> None:
        array, _ = self.rng.choice(self.arrays)
        self.emit(f"let k = {self.expression(1)};")
        self.emit(f"relax(&mut {array}[..], k);")

    def copy(self, depth: int) -> None:
        array, length = self.rng.choice(self.arrays)
        name = self.name("c")
        self.emit(f"let mut {name} = {array}.{self.rng.choice(['clone()', 'to_vec()', 'to_owned()'])};")
        self.arrays.append((name, length))

    def single(self, depth: int) -> None:
        """Some steps in single precision."""
        name, narrow = self.name("v"), self.name("h")
        self.emit(f"let {narrow} = ({self.expression(1)}) as f32;")
        self.emit(f"let mut {name} = f64::from({narrow} * {narrow}.cos() + 0.25) * {self.leaf()};")
        self.floats.append(name)

    def cast(self, depth: int) -> None:
        """Counters become floats."""
        name, count = self.name("v"), self.name("n")
        of = f"i{self.loops} as i32 - 2" if self.loops else f"{self.rng.randint(-3, 3)}_i32"
        self.emit(f"let {count} = {of};")
        self.emit(f"let mut {name} = f64::from({count}) * {self.leaf()} + ({count} as usize % 3) as f64;")
        self.floats.append(name)

    def scan(self, depth: int) -> None:
        array, length = self.rng.choice(self.arrays)
        self.emit(f"for k in 1..{length} {{ {array}[k] = {array}[k] + 0.7 * {array}[k - 1].sin(); }}")

    def smooth(self, depth: int) -> None:
        array, length = self.rng.choice(self.arrays)
        low = self.rng.randrange(length)
        self.emit(f"halves(&mut {array}[{low}..], {self.rng.randint(0, 2)});")

    def matrix(self, depth: int) -> None:
        name, n = self.name("m"), self.rng.randint(2, 3)
        value = self.expression(1)
        self.emit(f"let mut {name} = vec![vec![0.5; {n}]; {n}];")
        self.emit(
            f"for r in 0..{n} {{ for c in 0..{n} {{ {name}[r][c] = ({value}) * (r + 2 * c) as f64; }} }}"
        )
        self.rows.append((name, n))

    def cell(self, depth: int) -> None:
        name, n = self.rng.choice(self.rows)
        r, c = self.rng.randrange(n), self.rng.randrange(n)
        form = self.rng.choice(
            [
                "{m}[{r}][{c}] = ({e}).tanh() * {m}[{c}][{r}];",
                "{m}.swap({r}, {c});",
                "let row = {m}[{r}].clone(); for (p, q) in {m}[{c}].iter_mut().zip(&row) {{ *p += 0.5 * q; }}",
                "{m}[{r}].push({e}); {m}[{r}].swap_remove(0);",
            ]
        )
        self.emit("{ " + form.format(m=name, r=r, c=c, e=self.expression(1)) + " }")
        value = self.name("v")
        self.emit(f"let mut {value} = {name}.iter().map(|w| w.iter().sum::<f64>()).sum::<f64>().sin();")
        self.floats.append(value)

    def labelled(self, depth: int) -> None:
        label = "'" + self.name("l")
        self.loops += 1
        self.emit(f"{label}: for i{self.loops} in 0..{self.rng.randint(2, 4)}usize {{")
        self.labels.append(label)
        self.indent += 1
        self.loops += 1
        self.emit(f"for i{self.loops} in 0..{self.rng.randint(1, 3)}usize {{")
        self.nested(depth)
        self.indent += 1
        self.jump(0)
        self.leave(0)
        self.indent -= 1
        self.emit("}")
        self.loops -= 1
        if self.floats:
            self.assign(0)
        self.indent -= 1
        self.labels.pop()
        self.emit("}")
        self.loops -= 1

    def jump(self, depth: int) -> None:
        word = self.rng.choice(["break", "continue"])
        self.emit(f"if {self.condition()} {{ {word} {self.rng.choice(self.labels)}; }}")

    def until(self, depth: int) -> None:
        """A loop whose trips depend on the data."""
        name, rounds = self.name("v"), self.name("n")
        self.emit(f"let mut {name} = ({self.expression(1)}).abs() + 0.7;")
        self.emit(f"let mut {rounds} = 0u8;")
        self.emit(f"while {name} < 4.0 && {rounds} < 9 {{")
        self.emit(f"    {name} = {name} * 1.4 + 0.1 * ({self.leaf()}).sin();")
        self.emit(f"    {rounds} += 1;")
        self.emit("}")
        self.floats.append(name)

    def machine(self, depth: int) -> None:
        """A struct whose integers say what is done with its floats."""
        name = self.name("s")
        ops = ", ".join(str(self.rng.randint(0, 3)) for _ in range(4))
        cells = ", ".join(self.expression(1) for _ in range(3))
        self.emit(
            f"let mut {name} = Machine {{ at: {self.rng.randint(0, 2)}, ops: [{ops}], cells: vec![{cells}] }};"
        )
        self.emit(f"{name}.run({self.rng.randint(1, 6)}, {self.leaf()});")
        self.arrays.append((f"{name}.cells", 3))

    def collector(self, depth: int) -> None:
        """A closure that changes what it captures."""
        total, function = self.name("v"), self.name("f")
        self.emit(f"let mut {total} = {self.expression(1)};")
        self.emit(f"let mut {function} = |t: f64| {{ {total} = {total} * 0.6 + t; {total} }};")
        self.emit(
            f"for k in 0..{self.rng.randint(1, 4)} {{ {function}(({self.expression(1)}) * k as f64); }}"
        )
        self.floats.append(total)

    def swapped(self, depth: int) -> None:
        (a, n), (b, m) = self.rng.choice(self.arrays), self.rng.choice(self.arrays)
        one, other = self.name("w"), self.name("w")
        self.emit(f"let (mut {one}, mut {other}) = ({a}.to_vec(), {b}.to_vec());")
        self.emit(f"for _ in 0..{self.rng.randint(1, 3)} {{")
        self.emit(f"    for k in 0..{one}.len().min({other}.len()) {{ {other}[k] = {one}[k] * 0.8 + 0.1; }}")
        self.emit(f"    std::mem::swap(&mut {one}, &mut {other});")
        self.emit("}")
        self.arrays.append((one, min(n, m)))

    def pool(self, depth: int) -> None:
        """A vector of small values that are moved around."""
        name, value = self.name("p"), self.name("v")
        kind = self.rng.choice(list(_MOVED))
        made, read = _MOVED[kind]
        a, b = (f"(({self.expression(1)}) * (k as f64 + 0.5))" for _ in range(2))
        self.emit(f"let mut {name}: Vec<{kind}> = (0..4usize).map(|k| {made.format(a=a, b=b)}).collect();")
        for _ in range(self.rng.randint(1, 4)):
            i, j = self.rng.randrange(4), self.rng.randrange(4)
            self.emit("{ " + self.rng.choice(_MOVES).format(p=name, i=i, j=j) + " }")
        sum_ = f"{name}.iter().zip(1..).map(|(m, k)| ({read.format()}) * k as f64).sum::<f64>()"
        self.emit(f"let mut {value} = ({sum_} * 0.1).sin();")
        self.floats.append(value)

    def leave(self, depth: int) -> None:
        limit = f"x[0] > {self.rng.uniform(0.5, 1.5):.3f}"
        self.emit(f"if {self.condition()} && {limit} {{ return {self.expression()}; }}")


PARTS = Path(__file__).with_name("random_parts")
HELPERS = (PARTS / "helpers.rs").read_text("utf-8")
"""Types and functions that the statements use."""
CHECK = (PARTS / "check.rs").read_text("utf-8")
"""What compares a function's derivatives."""


@dataclass(frozen=True)
class Shape:
    """How a function takes its three inputs; the rest adapts it to what `check` expects."""

    parameters: str
    forward: str
    lanes: str
    reverse: str
    first_line: str
    primal: str
    adapters: str
    """Arguments of `check`, the derivatives after the primal; `@` is the function's name."""


BORROWED = Shape(
    "x: &[f64; 3]", "Dual, Dual", "3, Dual, Dual", "Duplicated, Active", "", "@", "@_jvp, @_lanes, @_vjp"
)
WIDE = Shape(
    "x: &[f64]",
    "Dual, Dual",
    "8, Dualv, Dual",
    "Duplicated, Active",
    "",
    "|x| @(x)",
    """
        |x, s| @_jvp(x, s),
        |x, r, s, t| @_lanes(x, &[t, s, r, t, r, s, t, s].map(|d| *d).concat())[..4].try_into().map(exchange).unwrap(),
        |x, g, seed| @_vjp(x, g, seed)
    """,
)
BY_VALUE = Shape(
    "a: f64, b: f64, c: f64",
    "Dual, Dual, Dual, Dual",
    "3, Dual, Dual, Dual, Dual",
    "Active, Active, Active, Active",
    "    let x = [a, b, c];",
    "|x| @(x[0], x[1], x[2])",
    """
        |x, s| @_jvp(x[0], s[0], x[1], s[1], x[2], s[2]),
        |x, r, s, t| @_lanes(x[0], r[0], s[0], t[0], x[1], r[1], s[1], t[1], x[2], r[2], s[2], t[2]),
        |x, g, seed| {
            let (y, a, b, c) = @_vjp(x[0], x[1], x[2], seed);
            *g = [g[0] + a, g[1] + b, g[2] + c];
            y
        },
    """,
)
IN_PLACE = Shape(
    "x: &mut [f64; 3]",
    "Dual, Dual",
    "3, Dual, Dual",
    "Duplicated, Active",
    "",
    "|x| { let mut x = *x; @(&mut x) + weigh(&x) }",
    """
        |x, s| {
            let (mut x, mut t) = (*x, *s);
            let (y, d) = @_jvp(&mut x, &mut t);
            (y + weigh(&x), d + weigh(&t))
        },
        |x, r, s, t| {
            let (mut x, mut r, mut s, mut t) = (*x, *r, *s, *t);
            let all = @_lanes(&mut x, &mut r, &mut s, &mut t);
            [all[0] + weigh(&x), all[1] + weigh(&r), all[2] + weigh(&s), all[3] + weigh(&t)]
        },
        |x, g, seed| {
            let (mut x, mut d) = (*x, WEIGHTS.map(|w| w * seed));
            let y = @_vjp(&mut x, &mut d, seed);
            *g = [g[0] + d[0], g[1] + d[1], g[2] + d[2]];
            y + weigh(&x)
        },
    """,
)
SHAPES = (BORROWED, IN_PLACE, WIDE, BY_VALUE)


def shape(seed: int) -> Shape:
    return SHAPES[seed % len(SHAPES)]


def function(seed: int, reverse: bool = True) -> str:
    """One annotated function, `f{seed}`."""
    form = shape(seed)
    writer = Writer(random.Random(seed), rich=seed >= RICH, moved=seed >= MOVED)
    if form is IN_PLACE:
        writer.arrays.append(("x", INPUTS))
    writer.declare(0)
    writer.declare(0)
    for _ in range(writer.rng.randint(3, 8)):
        writer.statement(3)
    sums = [f"{array}.iter().sum::<f64>()" for array, _ in writer.arrays]
    writer.emit(" + ".join([writer.parenthesised(2), *writer.floats, *sums]))
    lines = [
        f"#[autodiff_forward(f{seed}_jvp, {form.forward})]",
        f"#[autodiff_forward(f{seed}_lanes, {form.lanes})]",
        f"#[autodiff_reverse(f{seed}_vjp, {form.reverse})]" if reverse else "",
        f"pub fn f{seed}({form.parameters}) -> f64 {{",
        form.first_line,
        *writer.lines,
        "}\n",
    ]
    return "\n".join(lines)


def twin(text: str) -> str:
    """The same function without single precision, and without derivatives."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("#[")).replace("f32", "f64")


def call(seed: int, text: str, reverse: bool) -> str:
    """The call of `check` for a function."""
    form, name = shape(seed), f"f{seed}"
    # Two modes round differently in single precision.
    slack = "1e5" if re.search("as f32|ariant", text) else "1.0"
    primals = f"{form.primal.replace('@', name)}, {form.primal.replace('@', f'twin::{name}')}"
    adapters = form.adapters.strip()
    forward = re.split(r"@_vjp|\|x, g, seed\|", adapters)[0]
    last = f"Some({adapters[len(forward) :].rstrip(',')})" if reverse else "None"
    return f'    wrong += check("{name}", {slack}, {primals}, {(forward + last).replace("@", name)});\n'


def program(seeds: range | list[int], reverse: bool = True) -> str:
    """A program that checks the functions of some seeds and fails when any of them is wrong."""
    head = "#![feature(autodiff)]\n#![allow(warnings)]\nuse std::autodiff::*;\n\n"
    functions = {seed: function(seed, reverse) for seed in seeds}
    calls = "".join(call(seed, text, reverse) for seed, text in functions.items())
    twins = (
        "mod twin {\n" + "\n".join([HELPERS.replace("f32", "f64"), *map(twin, functions.values())]) + "}\n\n"
    )
    main = f"fn main() {{\n    let mut wrong = 0;\n{calls}    std::process::exit((wrong > 0) as i32);\n}}\n"
    return head + HELPERS + twins + CHECK + "\n".join(functions.values()) + main


if __name__ == "__main__":
    first, count = (int(word) for word in sys.argv[1:3])
    print(program(range(first, first + count), reverse="forward" not in sys.argv[3:]))
