"""How many floats a type holds, as far as its text and the types of the same file tell."""

from __future__ import annotations

import re
from functools import cached_property

from ferrodiff.analysis.activities import holds_float
from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local_types import LocalTypes
from ferrodiff.analysis.model import Function
from ferrodiff.analysis.typetext import array_parts, slice_element, split_top_level, strip_reference

MANY = 1000
"""Counts as the number of floats of anything whose length only the running program knows."""
UNKNOWN = 3
"""Counts as that of a type nothing is known about. A count with it in is a guess."""
_FLOATS = frozenset({"f16", "f32", "f64", "f128"})
_HOLDS_ONE = frozenset(
    {"Box", "Option", "Result", "Rc", "Arc", "Cell", "RefCell", "Mutex", "RwLock", "Cow", "Wrapping", "Pin"}
    | {"ManuallyDrop", "MaybeUninit", "NonNull", "Range", "RangeInclusive", "Reverse"}
)
"""Generic types that hold each of their arguments about once."""
_GENERIC = re.compile(r"(?:::)?(?:\w+::)*(\w+)<(.*)>", re.DOTALL)
_DEEPEST = 8


class Floats:
    """Questions about types where `function` stands. Without `analysis` only a type's text is known."""

    def __init__(self, analysis: FileAnalysis | None = None, function: Function | None = None) -> None:
        self._analysis = analysis
        self.guessed = False
        """Whether a count so far had to guess."""
        self._own = function.container_self if function is not None else None
        owners = (function, function.container_info) if function is not None else ()
        self._generics = frozenset(
            [generic.name for owner in owners for generic in owner.generics if generic.kind == "type"]
        )

    @cached_property
    def _types(self) -> LocalTypes | None:
        return LocalTypes(self._analysis) if self._analysis is not None else None

    def holds(self, written: str) -> bool | None:
        """Whether a type holds floats; None when nothing says."""
        known = holds_float(written)
        if known is not None or self._types is None:
            return known
        return self._types.holds_float(written, self._generics, self._own)

    def shown(self, written: str) -> str:
        """The type as a message names it, with the impl's own type for ``Self``."""
        own = self._own
        return re.sub(r"\bSelf\b", lambda _: own, written) if own is not None else written

    def count(self, written: str, depth: int = 0) -> int:
        """How many floats a type holds; `MANY` for more, and when its length is not known here."""
        text = strip_reference(written)
        if text != written and depth < _DEEPEST:
            return self.count(text, depth + 1)
        if text in _FLOATS or text in self._generics:
            return 1
        if text.startswith(("*const ", "*mut ")):
            return 0 if holds_float(text) is False else MANY
        if holds_float(text) is False:
            return 0
        if slice_element(text) is not None:
            return MANY
        if (array := array_parts(text)) is not None:
            length = int(array[1]) if array[1].isdecimal() and len(array[1]) < 10 else MANY
            return min(self._sum([array[0]], depth) * length, MANY)
        if text.startswith("(") and text.endswith(")"):
            return self._sum(split_top_level(text[1:-1]), depth)
        return self._named(text, depth)

    def _named(self, text: str, depth: int) -> int:
        generic = _GENERIC.fullmatch(text)
        if generic is not None:
            parts = [part for part in split_top_level(generic[2]) if not part.startswith("'")]
            return self._sum(parts, depth) if generic[1] in _HOLDS_ONE else MANY
        name = self._own if text == "Self" and self._own is not None else text
        fields = self._types.fields(name) if self._types is not None else None
        if fields is None:
            self.guessed = True
            return UNKNOWN
        return self._sum(fields, depth)

    def _sum(self, parts: list[str] | tuple[str, ...], depth: int) -> int:
        if depth >= _DEEPEST:
            return MANY
        return min(sum([self.count(part, depth + 1) for part in parts]), MANY)
