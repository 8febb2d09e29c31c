"""An annotation that swallows what follows it because its brackets are not closed."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.list_syntax import RULE, WHAT
from ferrodiff.analysis.model import ProblemKind


def check(file: File) -> Iterator[Diagnostic]:
    """A closed annotation is found in the syntax tree, and these are not."""
    for placed in file.analysis.chunks:
        for span in placed.chunk.unclosed:
            yield RULE.at(span.shifted(placed.start), {"what": WHAT[ProblemKind.UNCLOSED]})
