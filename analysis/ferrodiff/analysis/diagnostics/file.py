"""What the checks of a whole file look at, and where a file's imports and feature gates go."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ferrodiff.analysis.model import FILE_SCOPE, Annotation, Function, Import
from ferrodiff.analysis.text import Span

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis, PlacedChunk


@dataclass(frozen=True, slots=True)
class Located:
    """An annotation with its function, in offsets relative to `base`."""

    function: Function
    annotation: Annotation
    base: int

    def at(self, span: Span) -> Span:
        return span if self.base == 0 else Span(span.start + self.base, span.end + self.base)

    @property
    def scope(self) -> Span:
        scope = self.function.container_info.scope
        return scope if scope is FILE_SCOPE else self.at(scope)


@dataclass(eq=False)
class File:
    """One file. `crate_root` says whether crate attributes belong here; None to judge by its text."""

    analysis: FileAnalysis
    crate_root: bool | None = None
    annotated: list[PlacedChunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.annotated = [placed for placed in self.analysis.notable if placed.chunk.found.functions]

    @cached_property
    def located(self) -> tuple[Located, ...]:
        return tuple(
            [
                Located(function, annotation, placed.start)
                for placed in self.annotated
                for function in placed.chunk.found.functions
                for annotation in function.annotations
            ]
        )

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return self.analysis.imports

    @cached_property
    def is_crate_root(self) -> bool:
        """`main` at the root, or attributes that only a crate's root may have."""
        if self.crate_root is not None:
            return self.crate_root
        if any(a.path in _CRATE_ATTRIBUTES for a in self.analysis.inner_attributes):
            return True
        return any(
            name.name == "main" and name.scope is FILE_SCOPE
            for placed in self.analysis.chunks
            for name in placed.chunk.found.names
        )

    @cached_property
    def item_start(self) -> int:
        """Before the first item that is no inner attribute or comment: where a ``use`` goes."""
        for placed in self.analysis.chunks:
            if placed.chunk.opening.item is not None:
                return placed.start + placed.chunk.opening.item
        return len(self.analysis.source)

    @cached_property
    def attribute_start(self) -> int:
        """Where a crate attribute goes: before the first one, after a shebang."""
        data = self.analysis.source.data
        if data.startswith(b"#!") and not data.startswith(b"#!["):
            return self.analysis.source.line_span(0).end + 1
        return min([a.span.start for a in self.analysis.inner_attributes], default=0)


_CRATE_ATTRIBUTES = frozenset(
    [
        "feature",
        "no_std",
        "no_core",
        "no_main",
        "crate_type",
        "crate_name",
        "recursion_limit",
        "type_length_limit",
        "no_implicit_prelude",
    ]
)
