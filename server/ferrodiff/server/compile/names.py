"""Finding a derivative by its name in a program."""

from __future__ import annotations

from dataclasses import dataclass

from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.server.compile.crate import Crate, SourceFile
from ferrodiff.server.errors import EXIT_PROBLEMS, Failure


@dataclass(frozen=True, slots=True)
class Found:
    """An annotation with the function and the file it stands in."""

    file: SourceFile
    function: Function
    annotation: Annotation


def all_annotations(crate: Crate) -> list[Found]:
    """Every annotation of a program, in file order."""
    return [
        Found(file, function, annotation)
        for file in crate.files
        for function in file.analysis.functions
        for annotation in function.annotations
    ]


def find_annotation(crate: Crate, derivative: str) -> Found:
    """The annotation that generates `derivative`.

    Raises `Failure` listing what there is when there is none.
    """
    import difflib

    found = all_annotations(crate)
    for item in found:
        if item.annotation.name == derivative:
            return item
    names = [item.annotation.name for item in found if item.annotation.name]
    if not names:
        raise Failure(f"`{crate.root.name}` has no autodiff annotations", exit_code=EXIT_PROBLEMS)
    primal = [item.annotation.name for item in found if item.function.bare_name == derivative]
    close = primal or difflib.get_close_matches(derivative, names, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"derivatives here: {', '.join(names)}"
    raise Failure(
        f"`{crate.root.name}` generates no derivative called `{derivative}`",
        help=hint,
        exit_code=EXIT_PROBLEMS,
    )
