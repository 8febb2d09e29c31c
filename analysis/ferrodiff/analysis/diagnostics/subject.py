"""What a check looks at: one annotation on one function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ferrodiff.analysis.activities import allowed_input, expected_count
from ferrodiff.analysis.diagnostics.core import Related
from ferrodiff.analysis.model import Activity, Annotation, Argument, Function, Mode, Parameter, ProblemKind


@dataclass(frozen=True)
class Subject:
    function: Function
    annotation: Annotation
    text: bytes = b""
    """What the function's spans count in, where a fix has to look at it."""

    @property
    def mode(self) -> Mode:
        return self.annotation.mode

    @property
    def expected(self) -> int:
        return expected_count(self.function)

    def inputs(self) -> Iterator[tuple[int, Parameter, Argument]]:
        """Parameters and what stands for them, as far as the list goes."""
        pairs = zip(self.function.parameters, self.annotation.arguments, strict=False)
        for index, (parameter, argument) in enumerate(pairs):
            yield index, parameter, argument

    @cached_property
    def valid_inputs(self) -> tuple[tuple[int, Parameter, Argument, Activity], ...]:
        """Those that rustc accepts."""
        return tuple(
            [
                (index, parameter, argument, argument.activity)
                for index, parameter, argument in self.inputs()
                if argument.activity is not None and allowed_input(argument.activity, parameter, self.mode)
            ]
        )

    @property
    def returned(self) -> tuple[int, Argument] | None:
        """Place and argument of the return value; None for a unit function or when it is missing."""
        index = len(self.function.parameters)
        if not self.function.has_return or len(self.annotation.arguments) <= index:
            return None
        return index, self.annotation.arguments[index]

    def problems(self, *kinds: ProblemKind) -> Iterator[tuple[int, int, str]]:
        for problem in self.annotation.problems:
            if problem.kind in kinds:
                yield problem.span.start, problem.span.end, problem.text

    def about(self, parameter: Parameter) -> Related:
        """Points at the parameter that an argument is for."""
        return Related(parameter.span, f"for this parameter: `{parameter.text}`")

    def about_return(self) -> tuple[Related, ...]:
        span = self.function.return_span
        if span is None:
            return ()
        return (Related(span, f"for this return value: `{self.function.return_type}`"),)
