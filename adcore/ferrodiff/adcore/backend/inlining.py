"""Inlining what reverse mode differentiates: one body is reversed better than many.

Across a call nothing can be recomputed or reloaded, so every function that a primal reaches and that does not
call itself is inlined into the primal, whatever its own attributes say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import llvmlite.binding as llvm

from ferrodiff.adcore.backend.passes import before_ad, parse
from ferrodiff.adcore.backend.target import target_machine
from ferrodiff.adcore.backend.unrolling import mark_short_loops
from ferrodiff.adcore.ir.module import Module

_THUNK = re.compile(r"@__ferrodiff_reverse\(([^\n]*)\)")
_SYMBOL = re.compile(r'@("[^"]*"|[-\w$.]+)')
_CALL = re.compile(r'(?:call|invoke) [^\n]*?@("[^"]*"|[-\w$.]+)\(')
_FORBIDDEN = re.compile(r"\b(?:noinline|optnone|alwaysinline|inlinehint)\b ?")
SIZE_LIMIT = 400_000
"""Characters of a function's text beyond which it is not forced into its callers."""


def inline_for_reverse(text: str) -> str:
    """Canonical text in, canonical text out, with the callees of reversed primals inlined where possible."""
    if "@__ferrodiff_reverse(" not in text:
        return text
    module = Module.parse(text)
    bodies = _bodies(module)
    calls = {name: _callees(body, bodies) for name, body in bodies.items()}
    thunks = _thunks(text, bodies)
    primals = {callee for thunk in thunks for callee in calls[thunk]}
    reached = _reach(primals, calls)
    wanted = [
        name
        for name in reached
        if name not in thunks
        and not _calls_itself(name, calls)
        and (name not in primals or any(name in calls[other] for other in reached))
        and len(bodies[name]) < SIZE_LIMIT
        and not _is_cold(bodies[name], module)
        and "@__ferrodiff_" not in bodies[name]
    ]
    if wanted:
        marked = parse(_mark(text, module, wanted))
        builder = llvm.create_pass_builder(
            target_machine("generic", 3), llvm.create_pipeline_tuning_options(speed_level=3)
        )
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(marked, builder)
        before_ad(marked)
        text = str(marked)
        module = Module.parse(text)
    unrolled = mark_short_loops(module, [n for n in (*reached, *thunks) if n in module.spans])
    if unrolled is not None:
        marked = parse(unrolled)
        before_ad(marked)
        text = str(marked)
    return text


def _bodies(module: Module) -> dict[str, str]:
    return {
        name: module.text[start:end]
        for name, (start, end) in module.spans.items()
        if name not in module.declarations
    }


def _callees(body: str, bodies: dict[str, str]) -> list[str]:
    names = dict.fromkeys(name.strip('"') for name in _CALL.findall(body))
    return [name for name in names if name in bodies]


def _thunks(text: str, bodies: dict[str, str]) -> list[str]:
    found: dict[str, None] = {}
    for arguments in _THUNK.findall(text):
        for name in _SYMBOL.findall(arguments):
            if name.strip('"') in bodies:
                found[name.strip('"')] = None
    return list(found)


def _reach(start: Iterable[str], calls: dict[str, list[str]]) -> list[str]:
    found = dict.fromkeys(start)
    work = list(found)
    while work:
        for callee in calls[work.pop()]:
            if callee not in found:
                found[callee] = None
                work.append(callee)
    return list(found)


def _calls_itself(name: str, calls: dict[str, list[str]]) -> bool:
    return name in _reach(calls[name], calls)


def _is_cold(body: str, module: Module) -> bool:
    """Functions that never return stay calls: nothing on their paths is differentiated."""
    header = body.split("\n", 1)[0]
    groups = [module.attribute_groups.get(g, "") for g in re.findall(r"#\d+", header)]
    return "noreturn" in header or any("noreturn" in g for g in groups)


def _mark(text: str, module: Module, names: list[str]) -> str:
    """Put `alwaysinline` on functions, in attribute groups of their own."""
    groups: dict[str, str] = {}
    pieces: list[str] = []
    at = 0
    for name in sorted(names, key=lambda n: module.spans[n][0]):
        start, end = module.spans[name]
        line_end = text.index("\n", start, end)
        header = text[start:line_end]
        pieces.append(text[at:start])
        pieces.append(_marked_header(header, groups))
        at = line_end
    pieces.append(text[at:])
    lines = []
    for old, new in groups.items():
        kept = _FORBIDDEN.sub("", module.attribute_groups.get(old, ""))
        lines.append(f"attributes {new} = {{ alwaysinline {kept.strip().strip('{}').strip()} }}\n")
    marked = _allow_calls("".join(pieces), module, names)
    return marked + "\n" + "".join(lines)


def _allow_calls(text: str, module: Module, names: list[str]) -> str:
    """Calls may forbid inlining themselves: the attribute is taken from calls of these functions."""
    wanted = set(names)
    refusing = {g for g, words in module.attribute_groups.items() if "noinline" in words}
    if not refusing:
        return text

    def allow(line: re.Match[str]) -> str:
        called = _CALL.search(line.group(0))
        if called is None or called.group(1).strip('"') not in wanted:
            return line.group(0)
        return re.sub(r"\) (#\d+)", lambda m: ")" if m.group(1) in refusing else m.group(0), line.group(0))

    return re.sub(r"(?m)^.*\b(?:call|invoke) .*$", allow, text)


def _marked_header(header: str, groups: dict[str, str]) -> str:
    found = re.search(r" (#\d+)(?= |$)", header)
    if found is None:
        at = header.rindex("{")
        for place in (" personality ", " !dbg "):
            if place in header:
                at = min(at, header.index(place) + 1)
        return f"{header[:at]}alwaysinline {header[at:]}"
    old = found.group(1)
    new = groups.setdefault(old, f"#{900000 + int(old[1:])}")
    return header[: found.start(1)] + new + header[found.end(1) :]
