"""A program that calls one derivative and prints what comes out.

The program is the user's file, rewritten, with its own `main` renamed, a function beside the derivative
that builds the inputs from Rust expressions, calls it and prints, and a new `main` after the last line. So
every type, constant and helper the user can name in that place works in an input expression.

Each output is one line of JSON: `{"name": .., "role": .., "lane": .., "value": ..}` where `value` is a string
with the value as Rust's `{:?}` prints it (`<type>` for types without `Debug`).

| role | name | what |
|---|---|---|
| `input` | parameter | what the derivative was called with |
| `primal` | `return` or a `&mut` parameter | the primal's result |
| `tangent` | `return` or a shadow | forward mode, one for each lane |
| `gradient` | an `Active` parameter or a shadow | reverse mode |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ferrodiff.analysis.model import Activity, Function
from ferrodiff.analysis.rewrite.body import Plan
from ferrodiff.analysis.rewrite.edits import Replacement, insert, replace_keeping_lines
from ferrodiff.analysis.rewrite.inputs import Input, Outside, Owner, inputs_of
from ferrodiff.analysis.rewrite.samples import ELEMENTS
from ferrodiff.analysis.rewrite.source import Derivative, Generated, Rewriter
from ferrodiff.analysis.rewrite.support import LINTS
from ferrodiff.analysis.rewrite.usertypes import debug_edits
from ferrodiff.analysis.text import Span, encode

SHOW_MODULE = "__ferrodiff_show"
_ENTRY = "__ferrodiff_drive"
_NAME = re.compile(r"\bfn ((?:r#)?\w+)")
_NO_MAIN = re.compile(rb"#!\s*\[\s*no_main\s*\]")

_SHOW = f"""\
#[doc(hidden)] #[allow({LINTS})]
mod {SHOW_MODULE} {{
    extern crate std;
    use std::{{any::type_name, fmt::{{Debug, Write}}, format, println, string::String}};

    /// Prints a value by `Debug` where it has it: method lookup finds `ByDebug` first.
    pub struct Show<'a, T: ?Sized>(pub &'a T);
    pub trait ByDebug {{
        fn show(&self) -> String;
    }}
    impl<'a, T: Debug + ?Sized> ByDebug for Show<'a, T> {{
        fn show(&self) -> String {{ format!("{{:?}}", self.0) }}
    }}
    pub trait ByName {{
        fn show(&self) -> String;
    }}
    impl<'a, 'b, T: ?Sized> ByName for &'b Show<'a, T> {{
        fn show(&self) -> String {{ format!("<{{}}>", type_name::<T>()) }}
    }}
    pub fn emit(name: &str, role: &str, lane: usize, value: &str) {{
        let mut text = String::new();
        for c in value.chars() {{
            match c {{
                '"' | '\\\\' => {{ text.push('\\\\'); text.push(c) }}
                c if c < ' ' => {{ let _ = write!(text, "\\\\u{{:04x}}", c as u32); }}
                c => text.push(c),
            }}
        }}
        let place = format!("\\"name\\": \\"{{name}}\\", \\"role\\": \\"{{role}}\\", \\"lane\\": {{lane}}");
        println!("{{{{{{place}}, \\"value\\": \\"{{text}}\\"}}}}");
    }}
    /// The elements of a unit vector, one after the other.
    pub struct Unit {{
        at: usize,
        hot: usize,
    }}
    impl Unit {{
        pub fn new(hot: usize) -> Unit {{ Unit {{ at: 0, hot }} }}
        pub fn next<T: From<i8>>(&mut self) -> T {{
            self.at += 1;
            T::from((self.at - 1 == self.hot) as i8)
        }}
    }}
}}
"""
_MAIN = (
    f'#[allow({LINTS})] fn main() {{ unsafe extern "Rust" {{ fn {_ENTRY}(); }} unsafe {{ {_ENTRY}() }} }}\n'
)


class NoDriver(Exception):
    """The derivative cannot be run; the message says why, `help` what to do."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Driver:
    """A program that runs one derivative."""

    text: str
    derivative: Derivative
    inputs: tuple[Input, ...]
    shared: frozenset[int] = frozenset()
    """As in `Rewritten`."""


def driver(
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
    """The program that calls `derivative` (a name, or `Type::name`).

    `inputs` are Rust expressions by parameter name; `[..]` is enough for a slice. Missing ones come from the
    `// ferrodiff: x = .., n = ..` comment above the annotation, then from the parameter's type.
    `line` tells derivatives of one name apart. Without `starts` the text is that of a module, and the program's
    root has to be a `starter`. `shared` is as in `rewrite`. `outside` writes a reference to a given expression.
    Raises `NoDriver` for unknown derivatives and inputs.
    """
    work = Rewriter(text, shadow_checks=shadow_checks, path=path)
    work.run()
    chosen = choose(work, derivative, line)
    owners = list(owners_of(work, chosen, dict(inputs or {}), outside))
    return make_driver(work, chosen, owners, _statements(chosen, owners), starts=starts, shared=shared)


def starter(
    text: str, *, shadow_checks: bool = True, path: str = "<file>", shared: Iterable[int] = ()
) -> str:
    """The root of a program that calls a derivative of another of its files: its `main` is ours."""
    work = Rewriter(text, shadow_checks=shadow_checks, path=path)
    work.run()
    work.edits += _without_main(work)
    return work.text((_MAIN,), shared)


def make_driver(
    work: Rewriter,
    chosen: Generated,
    owners: list[Owner],
    statements: str,
    *modules: str,
    starts: bool = True,
    shared: Iterable[int] = (),
) -> Driver:
    """The program that runs `statements` beside the chosen derivative.

    `modules` are further helper modules for the end of the file. `starts` and `shared` are as in `driver`.
    """
    _place(work, chosen, _function(chosen, statements))
    work.edits += debug_edits(work.source, mentioned(chosen))
    if starts:
        work.edits += _without_main(work)
    text = work.text((_SHOW, *modules, _MAIN if starts else ""), shared)
    return Driver(text, chosen.derivative, tuple(owner.input for owner in owners), work.shared)


def mentioned(chosen: Generated) -> list[str]:
    """The types whose values are printed, as written."""
    function = chosen.plan.function
    texts = [parameter.type_text for parameter in function.parameters]
    return [*texts, function.return_type or "", function.container_self or ""]


def choose(work: Rewriter, name: str, line: int | None = None) -> Generated:
    """The derivative with a name. Raises `NoDriver` when there is none."""
    owner, _, simple = name.rpartition("::")
    simple = simple.removeprefix("r#")
    candidates = [g for g in work.generated if g.plan.crate is None]
    candidates += work.instances()
    for g in candidates:
        placed = line is None or g.derivative.line == line
        if (
            g.derivative.derivative == simple
            and placed
            and (not owner or owner in _qualifiers(g.plan.function))
        ):
            return g
    reasons = [note.message for note in work.refused if note.derivative == simple]
    if reasons:
        raise NoDriver(f"`{simple}` cannot be generated: {reasons[0]}")
    known = ", ".join(f"`{g.derivative.derivative}`" for g in candidates)
    raise NoDriver(
        f"no derivative is called `{name}`", f"the file has {known}" if known else "the file has none"
    )


def _qualifiers(function: Function) -> set[str]:
    container = function.container_info
    names = {"::".join(container.modules)}
    if container.self_type:
        names |= {container.self_type, container.self_type.split("<")[0]}
    return names


def owners_of(
    work: Rewriter, chosen: Generated, given: dict[str, str], outside: Outside | None = None
) -> Iterator[Owner]:
    owners = inputs_of(work.source, chosen.plan, given, outside)
    known = [owner.input.name for owner in owners]
    for name in given:
        if name not in known:
            raise NoDriver(
                f"`{chosen.derivative.derivative}` has no parameter `{name}`",
                "its parameters are " + ", ".join(f"`{n}`" for n in known)
                if known
                else "it has no parameters",
            )
    for owner in owners:
        if owner.missing:
            raise NoDriver(
                f"no value for `{owner.input.name}`: {owner.missing}",
                f"give one with `--arg {owner.input.name}=<Rust expression>`",
            )
    yield from owners


# The function beside the derivative


def _statements(chosen: Generated, owners: list[Owner]) -> str:
    plan = chosen.plan
    show = plan.support.rsplit("::", 1)[0] + f"::{SHOW_MODULE}"
    statements = [
        f"use {show}::{{ByDebug as _, ByName as _, Show as __FdShow, Unit as __FdUnit, emit as __fd_emit}};",
        *(f"let mut __fd_unit_{k} = __FdUnit::new({k});" for k in range(plan.width)),
        "let mut __fd_zero = __FdUnit::new(usize::MAX);",
        *(owner.declaration for owner in owners),
        *(_emit(owner.input.name, "input", owner.lane, owner.shown) for owner in owners),
        f"let __fd_out = unsafe {{ {path_to(chosen)}({', '.join(owner.argument for owner in owners)}) }};",
        *_print_memory(plan, owners),
        *_print_returned(plan),
    ]
    return " ".join(statements)


def _function(chosen: Generated, statements: str) -> str:
    conditions = " ".join(a.text for a in chosen.plan.function.attributes if a.path == "cfg")
    return (
        f'{conditions} #[allow({LINTS})] #[unsafe(no_mangle)] extern "Rust" fn {_ENTRY}() {{ {statements} }}'
    )


def _emit(name: str, role: str, lane: int, value: str) -> str:
    return f'__fd_emit("{name}", "{role}", {lane}, &(&__FdShow(&{value})).show());'


def path_to(chosen: Generated, simple: str | None = None) -> str:
    """The path of the derivative, or of another function beside it, as the driver has to write it."""
    function, container = chosen.plan.function, chosen.plan.function.container_info
    if simple is None:
        found = _NAME.search(chosen.derivative.signature)
        simple = found.group(1) if found else chosen.derivative.derivative
    name = simple + _turbofish(function)
    if container.kind == "trait":
        if not any(p.is_self for p in function.parameters):
            raise NoDriver(
                f"`{simple}` has no receiver, so nothing says which `{container.self_type}` is meant",
                "call it from a function of your own and run that",
            )
        return f"{container.self_type}::{name}"
    if container.kind in ("impl", "trait_impl"):
        owner = container.self_type or "Self"
        for generic in container.generics:
            hole = "'_" if generic.kind == "lifetime" else "_"
            owner = re.sub(rf"{re.escape(generic.name)}(?!\w)", hole, owner)
        return f"<{owner}>::{name}"
    return f"self::{name}" if container.kind == "module" else name


def _turbofish(function: Function) -> str:
    """Arguments for generic parameters that the function's parameters do not determine."""
    generics = [g for g in function.generics if g.kind != "lifetime"]
    mentioned = set(re.findall(r"\w+", " ".join(p.type_text for p in function.parameters)))
    if all(g.name in mentioned for g in generics):
        return ""
    guesses = {"type": "f64", "const": str(ELEMENTS)}
    arguments = ["_" if g.name in mentioned else guesses[g.kind] for g in generics]
    return f"::<{', '.join(arguments)}>"


def _print_memory(plan: Plan, owners: list[Owner]) -> Iterator[str]:
    """What the call left in memory: mutable parameters, and shadows that hold derivatives."""
    role = "tangent" if plan.forward else "gradient"
    for owner in owners:
        if owner.mutable:
            yield _emit(owner.input.name, role if owner.is_shadow else "primal", owner.lane, owner.shown)


def _print_returned(plan: Plan) -> Iterator[str]:
    return iter(_forward_returned(plan) if plan.forward else _reverse_returned(plan))


def _forward_returned(plan: Plan) -> list[str]:
    returns, many = plan.returns, plan.width > 1
    if returns is Activity.NONE:
        return []
    if returns is Activity.CONST:
        return [_emit("return", "primal", 0, "__fd_out")]
    with_primal = returns in (Activity.DUAL, Activity.DUALV)
    lines = []
    if with_primal:
        lines.append(_emit("return", "primal", 0, "__fd_out[0]" if many else "__fd_out.0"))
    for lane in range(plan.width):
        value = f"__fd_out[{lane + with_primal}]" if many else "__fd_out.1" if with_primal else "__fd_out"
        lines.append(_emit("return", "tangent", lane, value))
    return lines


def _reverse_returned(plan: Plan) -> list[str]:
    parts: list[tuple[str, str]] = []
    unit = plan.function.return_type == "()"
    if unit or (plan.function.has_return and plan.returns is not Activity.ACTIVE_ONLY):
        parts.append(("return", "primal"))
    parts += [(slot.bare, "gradient") for slot in plan.slots if slot.activity is Activity.ACTIVE]
    lines = []
    for at, (name, role) in enumerate(parts):
        if not (unit and role == "primal"):
            lines.append(_emit(name, role, 0, f"__fd_out.{at}" if len(parts) > 1 else "__fd_out"))
    return lines


# Its place, and the user's main


def _place(work: Rewriter, chosen: Generated, function: str) -> None:
    """Beside the derivative; after the closing brace where that stands in an impl or a trait."""
    container = chosen.plan.function.container_info
    if chosen.after is not None:
        work.edits.append(insert(chosen.after, " " + function))
        return
    if container.kind in ("impl", "trait", "trait_impl"):
        work.edits.append(insert(container.scope.end, " " + function))
        return
    old = encode(chosen.text)
    for at, edit in enumerate(work.edits):
        if old in edit.text:
            work.edits[at] = Replacement(edit.span, edit.text.replace(old, old + b" " + encode(function), 1))
            return


def _without_main(work: Rewriter) -> Iterator[Replacement]:
    for function in work.analysis.all_functions:
        at_root = function.container == "module" and not function.container_info.modules
        if at_root and function.bare_name == "main":
            yield insert(function.item_text_span.start, "#[allow(dead_code)] ")
            yield Replacement(function.name_span, b"__ferrodiff_user_main")
    for found in _NO_MAIN.finditer(work.data):
        yield replace_keeping_lines(work.data, Span(*found.span()), "")
