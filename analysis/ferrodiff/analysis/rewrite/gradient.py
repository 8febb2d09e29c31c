"""A program that compares one derivative with central differences.

Like `driver`, but the generated function evaluates the primal with each differentiated float moved by steps
of several sizes, and the derivative at the same point. Floats are reached through a trait that is
implemented for the types a parameter is usually made of and for the file's own plain structs.

Output: lines of JSON. `{"gradient": "input", "name": .., "count": ..}` and `"output"` give the floats' order,
`{"gradient": "derivative", "input": i or null, "values": [..]}` the derivative (forward: one column for each
input; reverse: the row `w J` for the weights of the `"weights"` line), and
`{"gradient": "difference", "input": i, "step": h, "values": [..]}` the difference quotients of all outputs.
Values are strings, as Rust prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from ferrodiff.analysis.model import Activity
from ferrodiff.analysis.rewrite.body import Plan, Slot
from ferrodiff.analysis.rewrite.crate import walk
from ferrodiff.analysis.rewrite.driver import (
    Driver,
    NoDriver,
    choose,
    make_driver,
    mentioned,
    owners_of,
    path_to,
)
from ferrodiff.analysis.rewrite.edits import Replacement, insert
from ferrodiff.analysis.rewrite.inputs import Outside, Owner, is_mutable
from ferrodiff.analysis.rewrite.source import Generated, Rewriter
from ferrodiff.analysis.rewrite.support import LINTS
from ferrodiff.analysis.rewrite.usertypes import reachable, struct_of, user_types
from ferrodiff.analysis.text import decode

GRADIENT_MODULE = "__ferrodiff_gradient"
STEPS = ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8")
MAXIMUM_INPUTS = 64
"""More inputs than these are sampled evenly."""

_INERT = "u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize bool char () String &str"

_MODULE = f"""\
#[doc(hidden)] #[allow({LINTS})]
mod {GRADIENT_MODULE} {{
    extern crate std;
    use std::{{boxed::Box, collections::{{BTreeMap, VecDeque}}, fmt::Write, format, println, string::String, vec::Vec}};

    /// Visits every float of a value, in memory order.
    pub trait Floats {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64));
    }}
    impl Floats for f64 {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ f(self) }}
    }}
    impl Floats for f32 {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{
            let mut wide = *self as f64;
            f(&mut wide);
            *self = wide as f32;
        }}
    }}
    impl<T: Floats> Floats for [T] {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ for item in self {{ item.visit(f) }} }}
    }}
    impl<T: Floats, const N: usize> Floats for [T; N] {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ self[..].visit(f) }}
    }}
    impl<T: Floats> Floats for Vec<T> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ self[..].visit(f) }}
    }}
    impl<T: Floats> Floats for VecDeque<T> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ for item in self {{ item.visit(f) }} }}
    }}
    impl<K, T: Floats> Floats for BTreeMap<K, T> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ for item in self.values_mut() {{ item.visit(f) }} }}
    }}
    impl<T: Floats + ?Sized> Floats for Box<T> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ (**self).visit(f) }}
    }}
    impl<T: Floats + ?Sized> Floats for &mut T {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ (**self).visit(f) }}
    }}
    impl<T: Floats> Floats for Option<T> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{
            if let Some(item) = self {{ item.visit(f) }}
        }}
    }}
    impl<T: Floats, E> Floats for Result<T, E> {{
        fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{
            if let Ok(item) = self {{ item.visit(f) }}
        }}
    }}
    macro_rules! tuples {{ ($(($($t:ident $i:tt)+))+) => {{ $(
        impl<$($t: Floats),+> Floats for ($($t,)+) {{
            fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ $(self.$i.visit(f);)+ }}
        }}
    )+ }} }}
    tuples! {{
        (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5)
    }}
    macro_rules! inert {{ ($($t:ty),+) => {{ $(
        impl Floats for $t {{ fn visit(&mut self, _: &mut dyn FnMut(&mut f64)) {{}} }}
    )+ }} }}
    inert! {{ {", ".join(_INERT.split())} }}

    pub fn count<T: Floats + ?Sized>(value: &mut T) -> usize {{
        let mut n = 0;
        value.visit(&mut |_| n += 1);
        n
    }}
    pub fn collect<T: Floats + ?Sized>(value: &mut T, into: &mut Vec<f64>) {{
        value.visit(&mut |v| into.push(*v));
    }}
    /// Sets floats to what `value` gives for their numbers.
    pub fn fill<T: Floats + ?Sized>(place: &mut T, value: &dyn Fn(usize) -> f64) {{
        let mut n = 0;
        place.visit(&mut |v| {{ *v = value(n); n += 1; }});
    }}
    /// The weight of output `j` in reverse mode.
    pub fn weight(j: usize) -> f64 {{ 0.5 + ((j * 37 + 11) % 64) as f64 / 64.0 }}

    pub fn shape(kind: &str, name: &str, count: usize) {{
        let place = format!("\\"gradient\\": \\"{{kind}}\\", \\"name\\": \\"{{name}}\\"");
        println!("{{{{{{place}}, \\"count\\": {{count}}}}}}");
    }}
    pub fn values(kind: &str, input: Option<usize>, step: f64, values: &[f64]) {{
        let mut text = String::new();
        for (n, v) in values.iter().enumerate() {{
            let _ = write!(text, "{{}}\\"{{:?}}\\"", if n == 0 {{ "" }} else {{ ", " }}, v);
        }}
        let at = input.map_or(String::from("null"), |i| format!("{{i}}"));
        let place = format!("\\"gradient\\": \\"{{kind}}\\", \\"input\\": {{at}}, \\"step\\": {{step:e}}");
        println!("{{{{{{place}}, \\"values\\": [{{text}}]}}}}");
    }}
"""


@dataclass(frozen=True, slots=True)
class _Part:
    """One parameter of the primal that is differentiated: its variable and its first lane's shadow's."""

    slot: Slot
    name: str
    variable: str
    shadows: tuple[str, ...]

    @property
    def mutable(self) -> bool:
        return is_mutable(self.slot.type_text)


def gradient_check(
    text: str,
    derivative: str,
    inputs: Mapping[str, str] | None = None,
    *,
    line: int | None = None,
    starts: bool = True,
    shadow_checks: bool = True,
    path: str = "<file>",
    shared: Iterable[int] = (),
    outside: Outside | None = None,
) -> Driver:
    """The program that compares `derivative` with central differences at the inputs that `driver` would use.

    The parameters are those of `driver`. Raises `NoDriver` for unknown derivatives and inputs, and where nothing
    can be compared.
    """
    work = Rewriter(text, shadow_checks=shadow_checks, path=path)
    work.run()
    chosen = choose(work, derivative, line)
    owners = list(owners_of(work, chosen, dict(inputs or {}), outside))
    work.edits += _struct_impls(work, chosen)
    statements = " ".join(_statements(chosen, owners))
    return make_driver(work, chosen, owners, statements, _MODULE + "}\n", starts=starts, shared=shared)


def _struct_impls(work: Rewriter, chosen: Generated) -> Iterator[Replacement]:
    """`Floats` for the file's own plain structs that the derivative has to do with, each beside its definition."""
    reached = reachable(user_types(work.source), mentioned(chosen))
    for node in walk(work.root):
        name = node.child_by_field_name("name")
        if node.type != "struct_item" or name is None or node.child_by_field_name("type_parameters"):
            continue
        struct = struct_of(decode(name.text or b""), node.child_by_field_name("body"))
        if struct.name in reached:
            trait = f"self::{'super::' * _depth(node)}{GRADIENT_MODULE}::Floats"
            visits = " ".join(f"{trait}::visit(&mut self.{label}, f);" for label, _ in struct.fields)
            yield insert(
                node.end_byte,
                f" #[allow({LINTS})] impl {trait} for {struct.name} "
                f"{{ fn visit(&mut self, f: &mut dyn FnMut(&mut f64)) {{ {visits} }} }}",
            )


def _depth(node: Node) -> int:
    """How many inline modules are around an item."""
    depth = 0
    outer = node.parent
    while outer is not None:
        depth += outer.type == "mod_item"
        outer = outer.parent
    return depth


def _statements(chosen: Generated, owners: list[Owner]) -> Iterator[str]:
    plan = chosen.plan
    parts = _parts(plan, owners)
    if not parts:
        raise NoDriver(
            f"`{chosen.derivative.derivative}` differentiates no input, so there is nothing to compare"
        )
    returns = _returns(plan)
    outputs = [p for p in parts if p.mutable]
    if not returns and not outputs:
        raise NoDriver(
            f"`{chosen.derivative.derivative}` has no differentiated output, so there is nothing to compare"
        )
    module = plan.support.rsplit("::", 1)[0] + f"::{GRADIENT_MODULE}"
    yield f"use {module} as __fdg; use {module}::Floats as __FdFloats;"
    show = plan.support.rsplit("::", 1)[0] + "::__ferrodiff_show"
    yield f"use {show}::Unit as __FdUnit;"
    yield _evaluate(chosen, owners, parts, returns)
    yield _shapes(chosen, owners, parts, outputs)
    yield _derivative(chosen, owners, parts, returns)
    yield _differences()


def _returns(plan: Plan) -> bool:
    return plan.returns not in (Activity.NONE, Activity.CONST)


def _parts(plan: Plan, owners: list[Owner]) -> list[_Part]:
    parts, at = [], 0
    for slot in plan.slots:
        variable = f"__fd_in_{at}"
        shadows = tuple(f"__fd_in_{at + 1 + lane}" for lane in range(len(slot.shadows)))
        at += 1 + len(slot.shadows)
        if slot.activity not in (Activity.CONST, Activity.ACTIVE_ONLY, Activity.NONE):
            parts.append(_Part(slot, slot.bare, variable, shadows))
    return parts


def _units(plan: Plan) -> str:
    units = "".join(f"let mut __fd_unit_{k} = __FdUnit::new({k}); " for k in range(plan.width))
    return units + "let mut __fd_zero = __FdUnit::new(usize::MAX);"


def _evaluate(chosen: Generated, owners: list[Owner], parts: list[_Part], returns: bool) -> str:
    """A closure: input number and step to the input's value and all outputs."""
    plan = chosen.plan
    primals = [owner for owner in owners if not owner.is_shadow]
    moves = " ".join(
        f"__FdFloats::visit(&mut {p.variable}, &mut |__fd_v| {{ if __fd_n == __fd_i {{ "
        "*__fd_v += __fd_h * __fd_v.abs().max(1.0); } __fd_n += 1; });"
        for p in parts
    )
    where = " ".join(
        f"__FdFloats::visit(&mut {p.variable}, &mut |__fd_v| {{ if __fd_n == __fd_i {{ "
        "__fd_x = *__fd_v; } __fd_n += 1; });"
        for p in parts
    )
    collected = ["__fdg::collect(&mut __fd_out, &mut __fd_ys);"] if returns else []
    collected += [f"__fdg::collect(&mut {p.variable}, &mut __fd_ys);" for p in parts if p.mutable]
    call = f"{path_to(chosen, plan.function.name)}({', '.join(owner.argument for owner in primals)})"
    return (
        "let __fd_eval = |__fd_i: usize, __fd_h: f64| -> (f64, ::std::vec::Vec<f64>) { "
        f"{_units(plan)} {' '.join(owner.declaration for owner in primals)} "
        f"let mut __fd_n = 0usize; {moves} let mut __fd_x = 0.0f64; __fd_n = 0; {where} "
        f"let mut __fd_out = unsafe {{ {call} }}; "
        f"let mut __fd_ys = ::std::vec::Vec::new(); {' '.join(collected)} (__fd_x, __fd_ys) }};"
    )


def _shapes(chosen: Generated, owners: list[Owner], parts: list[_Part], outputs: list[_Part]) -> str:
    """Prints the order of inputs and outputs; leaves their numbers in `__fd_inputs` and `__fd_base`."""
    plan = chosen.plan
    primals = [owner for owner in owners if not owner.is_shadow]
    call = f"{path_to(chosen, plan.function.name)}({', '.join(owner.argument for owner in primals)})"
    lines = [
        f'let __fd_c = __fdg::count(&mut {p.variable}); __fdg::shape("input", "{p.name}", __fd_c); '
        "__fd_total += __fd_c;"
        for p in parts
    ]
    after = ['__fdg::shape("output", "return", __fdg::count(&mut __fd_out));'] if _returns(plan) else []
    after += [f'__fdg::shape("output", "{p.name}", __fdg::count(&mut {p.variable}));' for p in outputs]
    return (
        f"let __fd_inputs = {{ {_units(plan)} {' '.join(owner.declaration for owner in primals)} "
        f"let mut __fd_total = 0usize; {' '.join(lines)} let mut __fd_out = unsafe {{ {call} }}; "
        f"{' '.join(after)} __fd_total }}; let __fd_stride = (__fd_inputs + {MAXIMUM_INPUTS - 1}) / "
        f"{MAXIMUM_INPUTS};"
    )


def _differences() -> str:
    steps = ", ".join(STEPS)
    return (
        f"let mut __fd_i = 0; while __fd_i < __fd_inputs {{ for __fd_h in [{steps}] {{ "
        "let (__fd_a, __fd_p) = __fd_eval(__fd_i, __fd_h); "
        "let (__fd_b, __fd_m) = __fd_eval(__fd_i, -__fd_h); "
        "let __fd_q: ::std::vec::Vec<f64> = __fd_p.iter().zip(&__fd_m)"
        ".map(|(p, m)| (p - m) / (__fd_a - __fd_b)).collect(); "
        '__fdg::values("difference", Some(__fd_i), __fd_h, &__fd_q); } __fd_i += __fd_stride.max(1); }'
    )


def _derivative(chosen: Generated, owners: list[Owner], parts: list[_Part], returns: bool) -> str:
    return (_forward if chosen.plan.forward else _reverse)(chosen, owners, parts, returns)


def _forward(chosen: Generated, owners: list[Owner], parts: list[_Part], returns: bool) -> str:
    plan = chosen.plan
    seeds = []
    for part in parts:
        seeds.append(
            f"let __fd_c = __fdg::count(&mut {part.variable}); let __fd_o = __fd_n; __fd_n += __fd_c;"
        )
        seeds.append(
            f"__fdg::fill(&mut {part.shadows[0]}, &|k| if k < __fd_c && __fd_o + k == __fd_i "
            "{ 1.0 } else { 0.0 });"
        )
        seeds += [f"__fdg::fill(&mut {shadow}, &|_| 0.0);" for shadow in part.shadows[1:]]
    collected = []
    if returns:
        both = plan.returns in (Activity.DUAL, Activity.DUALV)
        value = f"__fd_out[{int(both)}]" if plan.width > 1 else "__fd_out.1" if both else "__fd_out"
        if plan.width > 1 and plan.returns is Activity.DUALV:
            value = "__fd_out.1"
        collected.append(f"__fdg::collect(&mut {value}, &mut __fd_ys);")
    collected += [
        f"let __fd_c = __fdg::count(&mut {part.variable}); let mut __fd_s = ::std::vec::Vec::new(); "
        f"__fdg::collect(&mut {part.shadows[0]}, &mut __fd_s); __fd_s.truncate(__fd_c); "
        "__fd_ys.extend(__fd_s);"
        for part in parts
        if part.mutable
    ]
    call = f"{path_to(chosen)}({', '.join(owner.argument for owner in owners)})"
    return (
        "{ let mut __fd_i = 0; while __fd_i < __fd_inputs { "
        f"{_units(plan)} {' '.join(owner.declaration for owner in owners)} let mut __fd_n = 0usize; "
        f"{' '.join(seeds)} let mut __fd_out = unsafe {{ {call} }}; "
        f"let mut __fd_ys = ::std::vec::Vec::new(); {' '.join(collected)} "
        '__fdg::values("derivative", Some(__fd_i), 0.0, &__fd_ys); __fd_i += __fd_stride.max(1); } }'
    )


def _reverse(chosen: Generated, owners: list[Owner], parts: list[_Part], returns: bool) -> str:
    plan = chosen.plan
    seeds = ["let mut __fd_j = 0usize;"]
    if returns:
        seed = f"__fd_in_{len(owners) - 1}"
        seeds.append(f"__fdg::fill(&mut {seed}, &|k| __fdg::weight(k)); __fd_j += __fdg::count(&mut {seed});")
    for part in parts:
        if part.mutable:
            seeds += [f"__fdg::fill(&mut {s}, &|k| __fdg::weight(__fd_j + k));" for s in part.shadows]
            seeds.append(f"__fd_j += __fdg::count(&mut {part.variable});")
        else:
            seeds += [f"__fdg::fill(&mut {s}, &|_| 0.0);" for s in part.shadows]
    collected = [f"__fdg::collect(&mut {place}, &mut __fd_ys);" for place in _gradients(plan, parts)]
    call = f"{path_to(chosen)}({', '.join(owner.argument for owner in owners)})"
    return (
        f"{{ {_units(plan)} {' '.join(owner.declaration for owner in owners)} {' '.join(seeds)} "
        "let __fd_w: ::std::vec::Vec<f64> = (0..__fd_j).map(__fdg::weight).collect(); "
        '__fdg::values("weights", None, 0.0, &__fd_w); '
        f"let mut __fd_out = unsafe {{ {call} }}; let mut __fd_ys = ::std::vec::Vec::new(); "
        f'{" ".join(collected)} __fdg::values("derivative", None, 0.0, &__fd_ys); }}'
    )


def _gradients(plan: Plan, parts: list[_Part]) -> list[str]:
    """The places that hold the gradients after a reverse call, in the order of the inputs."""
    actives = [slot for slot in plan.slots if slot.activity is Activity.ACTIVE]
    has_primal = plan.function.return_type == "()" or (
        plan.function.has_return and plan.returns is not Activity.ACTIVE_ONLY
    )
    total = len(actives) + has_primal
    places = {}
    for number, slot in enumerate(actives):
        places[slot.bare] = f"__fd_out.{number + has_primal}" if total > 1 else "__fd_out"
    return [places[p.name] if p.slot.activity is Activity.ACTIVE else p.shadows[0] for p in parts]
