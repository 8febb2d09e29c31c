"""Every signature against the installed rustc: a grid of all combinations, then random functions.

rustc's text is compared after undoing what `ferrodiff.analysis.signature` says it does not imitate (line
breaks, ``const N : usize``, ``Iterator<Item : Copy>``, ``5usize``).

Known differences of rustc 1.95 from the newer rules, which the generators therefore leave out:

* annotations on functions in traits are refused (newer: a provided method is generated);
* a parameter that is no plain identifier crashes it;
* a macro in type position is expanded, and is printed as written here;
* ``ActiveOnly`` as forward return activity and a valued function without any activity crash it.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.signature import derivative_signature

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is the oracle")

FORWARD_INPUTS = ("Const", "Dual", "DualOnly", "Dualv", "DualvOnly")
FORWARD_RETURNS = ("Const", "Dual", "DualOnly", "Dualv", "DualvOnly")
REVERSE_VALUES = ("Const", "Active", "ActiveOnly")
REVERSE_REFERENCES = (*REVERSE_VALUES, "Duplicated", "DuplicatedOnly")
REVERSE_RETURNS = ("Const", "Active", "ActiveOnly")
WIDTHS = (None, 0, 1, 2, 3, 7)
REFERENCES = (
    "&[f64]",
    "&mut [f32]",
    "&f64",
    "&mut f64",
    "*const f64",
    "*mut f32",
    "&[f64; 3]",
    "&'static f64",
)
VALUES = ("f64", "f32", "[f64; 3]", "(f32, f64)", "Vec<f64>", "Point", "fn(f64) -> f64")
RETURNS = (None, "()", "f64", "(f64, f64)", "[f32; 2]", "Point", "!")


def attribute(mode: str, name: str, width: int | None, activities: tuple[str, ...]) -> str:
    items = [name] + ([str(width)] if width is not None else []) + list(activities)
    return f"#[autodiff_{mode}({', '.join(items)})]"


def valued(returns: str | None) -> bool:
    return returns not in (None, "()")


def grid() -> Iterator[str]:
    """One-parameter functions in all combinations, then pairs of parameters."""
    for mode, returns, width in itertools.product(("forward", "reverse"), RETURNS, WIDTHS):
        results = (FORWARD_RETURNS if mode == "forward" else REVERSE_RETURNS) if valued(returns) else ("",)
        arrow = f" -> {returns}" if returns is not None else ""
        for result in results:
            for written in ("&[f64]", "&mut f64", "*const f32", "f64", "Point"):
                reference = written[0] in "&*"
                inputs = (
                    FORWARD_INPUTS
                    if mode == "forward"
                    else REVERSE_REFERENCES
                    if reference
                    else REVERSE_VALUES
                )
                for activity in inputs:
                    listed = (activity, result) if result else (activity,)
                    yield f"{attribute(mode, 'NAME', width, listed)} fn PRIMAL(x: {written}){arrow} {{ loop {{}} }}"
    for first, second in itertools.product((*REFERENCES, *VALUES), repeat=2):
        yield f"#[autodiff_forward(NAME, 2, Dual, Dual, Dual)] fn PRIMAL(x: {first}, y: {second}) -> f64 {{ 0.0 }}"


class Generator:
    """Random functions: headers, generics, patterns, odd spacing, comments, several attributes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def type(self, depth: int = 0) -> str:
        leaf = (
            "f64",
            "f32",
            "Point",
            "T",
            "[f64; N]",
            "usize",
            "Real",
            "std :: vec::Vec<f64 >",
            "r#type",
            "()",
        )
        if depth > 2:
            return self.pick(*leaf)
        inner = self.type(depth + 1)
        shapes = (
            f"&{inner}", f"& mut {inner}", f"&'a  {inner}", f"&'a mut {inner}", f"*const {inner}", f"*mut  {inner}",
            f"[{inner}]", f"[ {inner} ;3 ]", f"[{inner}; 1+N*2]", f"[{inner}; {{ N }}]", f"({inner},)", f"({inner} , f32,)",
            f"({inner})", f"Vec< {inner},>", f"Box<dyn Fn( {inner} )->f64+Send>", f"&dyn Fn({inner},f64)->{inner}",
            f"fn({inner} , f64)->f64", f"unsafe extern \"C\" fn(_x: {inner})", f"for<'b> fn(&'b {inner})->f64",
            f"<{inner} as Iterator>::Item", f"Option<&'static {inner}>", f"Pair<{inner}, Item=f64>", f"Map<'a,{inner},3>",
            f"(impl Fn({inner})->f64 + 'a)", f"/* c */ {inner} // d\n", f"::std::option::Option<{inner}>", f"Arr<{{ N+1 }}, {inner}>",
            f"Box<dyn for<'b> Fn(&'b {inner})>", f"fn()->{inner}", f"Neg<-1, {inner}>", f"( dyn Tr<{inner}> + 'static)",
        )  # fmt: skip
        return self.random.choice((*leaf, *shapes))

    def parameter(self, index: int) -> tuple[str, str]:
        name = self.pick(
            f"x{index}", f"_y{index}", f"r#type{index}", f"r#fn{index}", f"größe{index}", "r#loop"
        )
        name = f"x{index}" if name == "r#loop" and index else name
        written = self.type()
        return (
            f"{self.pick('', '', 'mut ', '#[allow(unused)] ')}{name}{self.pick(': ', ' : ', ':  ')}{written}",
            written,
        )

    def header(self) -> str:
        visibility = self.pick("", "pub ", "pub(crate)  ", "pub( in crate ) ", "pub(self) ")
        return (
            visibility
            + self.pick("", "const ", "async ")
            + self.pick("", "unsafe ")
            + self.pick("", 'extern "C" ', "extern ")
        )

    def activities(self, mode: str, types: list[str], returns: str | None) -> tuple[str, ...]:
        listed = []
        for written in types:
            bare = re.sub(r"/\*.*?\*/|//[^\n]*\n", "", written).strip()
            inputs = REVERSE_REFERENCES if bare[0] in "&*" else REVERSE_VALUES
            listed.append(self.random.choice(FORWARD_INPUTS if mode == "forward" else inputs))
        if valued(returns):
            listed.append(self.random.choice(FORWARD_RETURNS if mode == "forward" else REVERSE_RETURNS))
        return tuple(listed)

    def function(self) -> str:
        receiver = self.pick(
            "", "", "", "&self", "&mut self", "self", "mut self", "&'a self", "self: &Self", "self: Box<Self>"
        )
        pairs = [self.parameter(i) for i in range(self.random.randrange(5))]
        types = [written for _, written in pairs]
        texts = [text for text, _ in pairs]
        if receiver:
            texts.insert(0, receiver)
            types.insert(0, "&self" if receiver.startswith(("&", "self: &")) else "self")
        returns = self.random.choice((None, "()", "( )", "f64", self.type(), self.type()))
        if returns is not None and re.sub(r"/\*.*?\*/|//[^\n]*\n|\s", "", returns) == "()":
            returns = "()"
        attributes = []
        for number in range(self.random.choice((1, 1, 1, 2, 3))):
            mode = self.pick("forward", "reverse")
            listed = self.activities(mode, types, returns)
            if not listed and valued(returns):
                continue
            attributes.append(attribute(mode, f"NAME_{number}", self.random.choice(WIDTHS), listed))
        generics = self.pick(
            "<'a, T, const N: usize>",
            "<'a, T: Copy+'a, const N : usize,>",
            "<'a, T: ?Sized + Mul<Output=T>, const N: usize>",
        )
        where = self.pick(
            "",
            "",
            " where T: Copy",
            " where T : Copy+Send, 'a:'a ,",
            " where [f64; N]: Sized, for<'c> T: Fn(&'c f64)->f64",
        )
        arrow = f"{self.pick('->', ' -> ')}{returns}" if returns is not None else ""
        comma = self.pick("", ",") if texts else ""
        text = f"{self.pick('/// doc', '#[inline]', '')}\n" + "\n".join(attributes)
        text += (
            f"\n{self.header()}fn PRIMAL{generics}({', '.join(texts)}{comma}){arrow}{where} {{ loop {{}} }}"
        )
        return f"impl S {{ {text} }}" if receiver else text


PRELUDE = """#![feature(autodiff, never_type)]
#![allow(unused)]
use std::autodiff::{autodiff_forward, autodiff_reverse};
use std::ops::Mul;
struct S; struct Point; struct r#type; type Real = f64; trait Tr<T> {}
struct Map<'a, T, const N: usize>(&'a T); struct Arr<const N: usize, T>(T); struct Neg<const N: i32, T>(T);
struct Pair<T>(T);
fn main() {}
"""


def named(texts: list[str], start: int) -> str:
    """A crate of these functions, each with names of its own."""
    lines = [t.replace("NAME", f"df{i}").replace("PRIMAL", f"primal{i}") for i, t in enumerate(texts, start)]
    return PRELUDE + "\n".join(lines) + "\n"


def expanded(text: str, folder: Path) -> dict[str, str]:
    """Signatures of rustc's expansion by function name, without the printer's own habits."""
    path = folder / "oracle.rs"
    path.write_text(text, encoding="utf-8")
    command = ["rustc", "-Zunpretty=expanded", "--edition", "2024", str(path)]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    found = {}
    for match in re.finditer(r"^[^\n]*\bfn (df[\w]+)\b", run.stdout, re.MULTILINE):
        found[match[1]] = normalised(run.stdout[match.start() : body_start(run.stdout, match.end())])
    assert found, run.stderr[-2000:]
    return found


def body_start(text: str, at: int) -> int:
    depth = 0
    while True:
        char = text[at]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char in "{;" and depth == 0 and text[:at].rstrip()[-1] not in "<,":
            return at
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        at += 1


def normalised(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\b(\w+) : ", r"\1: ", text)
    text = re.sub(r"\b(\d+)usize\b", r"\1", text)
    return re.sub(r"([(\[<]) (?!\})", r"\1", text)


def check(texts: list[str], folder: Path, minimum: int) -> None:
    compared = 0
    for start in range(0, len(texts), 2000):
        source = named(texts[start : start + 2000], start)
        theirs = expanded(source, folder)
        ours = {
            annotation.name or "": derivative_signature(function, annotation).text
            for function in analyse(source).functions
            for annotation in function.annotations
        }
        assert ours.keys() == theirs.keys()
        wrong = [(ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]]
        assert not wrong, (
            "\n".join(f"ours   {a}\ntheirs {b}" for a, b in wrong[:20]) + f"\n{len(wrong)} wrong"
        )
        compared += len(ours)
    assert compared >= minimum


def test_every_combination(tmp_path: Path) -> None:
    check(list(grid()), tmp_path, 1000)


def test_random_functions(tmp_path: Path) -> None:
    generator = Generator(20261201)
    check([generator.function() for _ in range(1000)], tmp_path, 1500)


TYPES = (
    *("&&f64", "& &'a mut f64", "&mut &mut [f64]", "&  mut*const f64", "*const&f64", "*mut(dyn Tr<f64>+'a)"),
    *("[f64; N + 1]", "[f64; (N*2)+3]", "[f64; size_of::<f64>()]", "[f64;{ const K : usize=3 ; K }]"),
    *("[f64; 0x10]", "[f64; 1_000usize]", "[f64; !0]", "[f64; N as usize]", "[f64; b'a' as usize]"),
    *("[f64; Foo::<f64>::LEN]", "[f64; <f64 as Tr<u8>>::LEN]", "[f64; -1i32 as usize]", "[f64; A[0]]"),
    *("impl Fn(&f64) -> f64", "impl for<'b> Fn(&'b f64)->&'b f64+'a", "&(impl Tr<f64>+?Sized)"),
    *("&dyn Tr<f64>", "&'a (dyn Tr<f64>+Send+'a)", "Box<dyn Tr<f64,>+ Send>", "&mut dyn FnMut(f64)"),
    *("&dyn 'a + Tr<f64>", "Box<dyn 'a+Tr<f64>>", "Box<impl FnOnce()->f64>", "impl AsyncFn(f64)->f64"),
    *(
        "unsafe fn(f64,...)",
        'extern "C" fn(a : f64 , ...)->f64',
        "fn(_:f64,x :f64)",
        "fn(fn(f64))->fn()->f64",
    ),
    *("for<'b,'c> unsafe extern fn(&'b f64)", "fn(#[allow(unused)] a: f64)", "((),(f64,),)", "&(f64)"),
    *("Vec<f64,>", "<T as Tr<f64>>::Out<'a,f64>"),
    *(
        "&'_ f64",
        "Map<'_, f64, {3}>",
        "Foo<true,'x',f64>",
        'Foo<"s", f64>',
        "Vec<Vec<Vec<f64>>>",
        "Self::Item",
    ),
    *(
        "Vec::<f64>",
        "fn(Vec::<f64>) -> f64",
        "Box<dyn Fn::<(f64,)>>",
        "&Vec::<Vec::<f64>>",
        "std::vec::Vec::<f64>",
    ),
    *(
        "[Vec::<f64>; 3]",
        "<Vec::<f64> as Tr::<u8>>::Out",
        "impl Fn(Vec::<f64>)->Vec::<f64>",
        "fn()->Vec::<f64>",
    ),
    *("Option::<fn(f64)->Option::<f64>>", "Arr::<{ 3 }, f64>", "[f64; Foo::<{ N }>::LEN]", "*mut Vec::<f64>"),
    *("((f64))", "(((f64),))", "!", "&!", "fn(!)->!", "Box<dyn Tr<f64>+'static+Send>", "_", "[_; 3]"),
    *("Arr<{ if N > 3 { 1 } else { 2 } }, f64>", "[f64; if N > 3 { 1 } else { 2 }]", "[f64; { 2 * 3 }]"),
    *(
        "[f64; (|x: usize| x)(3)]",
        "[f64; (|x, _y| x)(3)]",
        "[f64; x.len()]",
        '[f64; r#"a"#.len()]',
        "[f64; f(1, 2)]",
    ),
    *("[f64; unsafe { 3 }]", "[f64; const { 3 }]", "[f64; 'a: { break 'a 3 }]", "[f64; S { a: 3 }.a]"),
    *("impl Tr<f64, Out: Copy>", "impl Iterator<Item: Tr<f64>+'a>", "Foo<{ -3 }>", "Foo<{ { 3 } }, >"),
    *("union", "default", "raw", "auto", "&raw", "&'a mut union", "Vec<default>", "r#union", "größe::Größe"),
    *(
        "&'a /* x */ mut /* y */ f64",
        "[f64 /* ; */ ; /* ] */ 3]",
        "impl 'a + Tr<f64>",
        "dyn for<'b> Fn(&'b f64)",
    ),
    *("impl It<Item=impl Tr<f64>>", "impl ?Sized+Tr<f64>", "impl Tr<f64>+use<'a,T>", "r#struct::r#fn<f64>"),
)
ATTRIBUTES = (
    "",
    '#[doc = "a, b"] #[allow( unused , dead_code )]\n// )\n',
    '#[rustfmt::skip] #[doc="x"] /* ] */ #[allow(unused)] ',
)
GENERICS = (
    *(
        "",
        "<>",
        "<'a : 'static, 'b:'a+'static,T:'a+Copy+ ?Sized>",
        "< 'a,T: for<'c> Fn(&'c f64)->f64, const N: usize >",
    ),
    *("<T: Tr<Out=f64,> , const N:i32,>", "<#[allow(unused)] 'a, #[allow(unused)] T, const N: bool>", "<T:>"),
    *(
        "<T:, U:>",
        "<T: Tr<{ 3 }>>",
        "<T: (Copy)+Send>",
        "<const N: char>",
        "<#[cfg(all())] T, #[cfg(any())] U>",
        "<#[cfg(any())] 'a, #[cfg_attr(all(), allow(unused))] T>",
        "<#[cfg(not(all()))] T>",
        "<T: Tr<Out: Copy>, F: FnOnce() -> Vec::<f64> + >",
        "<'a: 'static + , T: Copy + 'static + >",
        "<T: ::std::ops::Add<T,Output=T>>",
    ),
)
WHERES = (
    *(
        "",
        " where T:Copy,",
        " where for<'c> &'c T: Mul<&'c T,Output=T>,",
        " where <T as Tr<f64>>::X: Copy+Send",
    ),
    *(" where T: for<'c> Tr<&'c f64> + 'a, 'a: 'b+'static", "\n// c\nwhere\n  T: Copy, // d\n", " where T:"),
    *(
        " where",
        " where /* nothing */ ",
        " where Vec::<T>: Copy",
        " where T: Tr::<T>",
        " where !: Copy",
        " where for<> T: Copy",
    ),
    *(
        " where dyn Fn(T) -> f64 + Send: Copy",
        " where dyn Tr<T> + Send + 'a: Copy, T: Clone",
        " where T: Copy +",
    ),
    *(
        ' where unsafe extern "C" fn(T): Copy, T: , f64:Copy,',
        " where for<'c> dyn Fn(&'c T): Copy, 'a: 'a + 'static",
    ),
    *(
        " where T: Iterator<Item: Copy>, dyn Tr::<T>: for<'c, 'd,> Fn(&'c T, Vec::<&'d T>) -> f64 /* , */ + 'a",
    ),
    *(" where T: ?Sized, (T,):Copy, fn(T)->f64: Copy", " where [T; {N+1}]: Sized"),
)
HEADERS = (
    *(
        'extern r#"C"#',
        'unsafe extern r##"C"##',
        'extern r"C"',
        'extern "C-unwind"',
        'extern\n"C"',
        "async unsafe",
    ),
    *(
        'pub(in crate) const unsafe extern "C"',
        "pub /* a */ (crate)",
        "pub(self)",
        "pub // x\n",
        "unsafe extern",
    ),
)
PARAMETERS = (
    *(
        "union: f64",
        "default: f64",
        "mut raw: union",
        "µ: f64",
        "mut r#fn: f64",
        "x /* : */ : f64,",
        "safe: &raw",
    ),
    *(
        "#[cfg(all())] x: f64",
        "#[allow(unused)] #[cfg(true)] x: f64",
        "#[cfg_attr(any(), allow(unused))] x: f64",
    ),
    *(
        "#[cfg_attr(all(), allow(unused), cfg(not(false)))] x: f64",
        "#[cfg(any())] x: f64",
        "#[cfg(test)] x: f64",
    ),
    *(
        "#[cfg_attr(not(any()), cfg(all(false, unknown)))] x: f64",
        "#[cfg_attr(test, allow(unused))] mut x: f64",
    ),
)
RECEIVERS = (
    *("& 'a  self", "&mut  self", "mut self: Box<Self>", "self : std::rc::Rc<Self>", "self: *const Self"),
    *("#[cfg(all())] &self", "#[cfg(any())] &'a mut self"),
    *('#[allow(unused)] #[doc = "x"] &self', "self: Pin<&mut Self>", "self: &'a mut Self"),
)
IMPLS = (
    "impl S",
    "impl<'x, T: Copy> S",
    "unsafe impl<'a,T> Tr<T> for S where T: Copy,",
    "impl<const N: usize> S",
)


def forms() -> Iterator[str]:
    """Each type as parameter and return value under each attribute, each header, each receiver in each impl."""
    for number, (written, attributes) in enumerate(itertools.product(TYPES, ATTRIBUTES)):
        parameters = f"{attributes}x: {written}, {attributes}mut y: {written}"
        mode, listed = ("forward", ("Dual", "Const")) if number % 2 else ("reverse", ("Const", "Active"))
        yield f"{attribute(mode, 'NAME', 2, (*listed, 'Const'))} fn PRIMAL({parameters}) -> f64 {{ loop {{}} }}"
    for generics, where in itertools.product(GENERICS, WHERES):
        yield f"#[autodiff_forward(NAME, Dual)] fn PRIMAL{generics}(x: f64){where} {{}}"
    for written in TYPES:
        yield f"#[autodiff_reverse(NAME, Active, Active)] fn PRIMAL<'a, T>(x: f64) -> {written} {{ loop {{}} }}"
        yield f"#[autodiff_forward(NAME, 2, Dual, Dual)] fn PRIMAL<'a, T>(x: f64) -> {written} where T: Copy {{ loop {{}} }}"
    for header, parameter in itertools.product(HEADERS, PARAMETERS):
        yield f"#[autodiff_forward(NAME, 2, Dual, Const)] {header} fn PRIMAL({parameter}) -> f64 {{ loop {{}} }}"
        yield f"#[autodiff_reverse(NAME, Active, Active)] {header} fn PRIMAL({parameter}) -> f64 {{ loop {{}} }}"
    for receiver, header in itertools.product(RECEIVERS, IMPLS):
        yield f"{header} {{ #[autodiff_forward(NAME, Dual, Dual)] fn PRIMAL({receiver}, x: f64) {{}} }}"


def test_forms_that_are_rare(tmp_path: Path) -> None:
    check(list(forms()), tmp_path, 1000)
