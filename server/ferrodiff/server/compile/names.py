"""Finding a derivative by its name in a program."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ferrodiff.analysis.expansion import expand
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.server.compile.conditions import holds
from ferrodiff.server.compile.sources import SourceFile
from ferrodiff.server.errors import EXIT_PROBLEMS, Failure


@dataclass(frozen=True, slots=True)
class Found:
    """An annotation with the function and the file it stands in; for what a macro makes, the call's line."""

    file: SourceFile
    function: Function
    annotation: Annotation
    line: int
    """From 1."""
    macro: str | None = None

    @property
    def name(self) -> str:
        return self.annotation.name or ""

    def is_called(self, wanted: str) -> bool:
        """Whether a name as the user writes it means this one: `d`, `Type::d`, `module::d`, `crate::module::d`."""
        owner, _, simple = wanted.rpartition("::")
        if self.name != simple.removeprefix("r#"):
            return False
        container = self.function.container_info
        modules = [*filter(None, self.file.module.split("::")), *container.modules]
        kind = container.self_type.split("<")[0] if container.self_type else None
        full = "::".join(["", *modules, *([kind] if kind else [])])
        written = "::" + owner.removeprefix("crate::").removeprefix("self::")
        return not owner or owner == container.self_type or full.endswith(written)


def derivatives(files: Sequence[SourceFile]) -> Iterator[Found]:
    """Every derivative of a program, in file order; what calls of a file's macros make comes after the rest."""
    for file in files:
        for function in file.analysis.functions:
            for annotation in function.annotations:
                if annotation.name:
                    line = file.source.line_of(annotation.item_span.start) + 1
                    yield Found(file, function, annotation, line)
        yield from made_by_macros(file)


def made_by_macros(file: SourceFile) -> Iterator[Found]:
    """The derivatives that calls of the file's own macros make."""
    expansion = expand(file.source.data)
    for made in expansion.made() if expansion is not None else ():
        if made.annotation.name:
            line = file.source.line_of(made.call.start) + 1
            yield Found(file, made.function, made.annotation, line, made.macro)


def find_derivative(files: Sequence[SourceFile], wanted: str, cfgs: Sequence[str] = ()) -> Found:
    """The derivative that is called `wanted`. Of several, one whose `#[cfg]` holds, and the root's first.

    `cfgs` are rustc's `--cfg`. Raises `Failure` when there is none, listing what there is.
    """
    every = list(derivatives(files))
    matching = [item for item in every if item.is_called(wanted)]
    for item in matching:
        if unmet(item.function, cfgs) is None:
            return item
    name = files[0].name
    if matching:
        condition = unmet(matching[0].function, cfgs)
        raise Failure(
            f"`{wanted}` is not compiled: `#[cfg({condition})]` does not hold",
            help="`--cfg` sets what it asks for, as rustc's",
            exit_code=EXIT_PROBLEMS,
        )
    names = list(dict.fromkeys(item.name for item in every))
    if not names:
        raise Failure(
            f"`{name}` has no autodiff annotations", help=_elsewhere(files), exit_code=EXIT_PROBLEMS
        )
    primal = [item.name for item in every if item.function.bare_name == wanted]
    close = primal or difflib.get_close_matches(wanted, names, n=1)
    listed = ", ".join(f"`{item}`" for item in names)
    raise Failure(
        f"no derivative is called `{wanted}`",
        help=f"did you mean `{close[0]}`?"
        if close
        else f"the {'program' if files[1:] else 'file'} has {listed}",
        exit_code=EXIT_PROBLEMS,
    )


def unmet(function: Function, cfgs: Sequence[str]) -> str | None:
    """The condition of a `#[cfg(..)]` on the function that is known not to hold."""
    for attribute in function.attributes:
        if attribute.path == "cfg":
            condition = attribute.text.partition("(")[2].rpartition(")")[0]
            if holds(condition, cfgs) is False:
                return condition.strip()
    return None


def _elsewhere(files: Sequence[SourceFile]) -> str | None:
    if any("autodiff" in file.source.text for file in files):
        return "what a macro of another file, or a derive, makes cannot be called from here; write a function for it"
    return None
