"""Annotated source to plain stable Rust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.expansion import IMPLS, Expansion, expand
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.rewrite.body import Place, Plan, Refused, attributes, body, plan
from ferrodiff.analysis.rewrite.crate import autodiff_edits, forbid_edits
from ferrodiff.analysis.rewrite.edits import Replacement, apply, insert, replace_keeping_lines
from ferrodiff.analysis.rewrite.macros import View, views
from ferrodiff.analysis.rewrite.support import lints, support_module
from ferrodiff.analysis.rewrite.types import float_aliases
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.text import SourceText, Span, decode, encode

_CONST_FN = re.compile(r"^((?:pub(?:\([^)]*\))? )?(?:default )?)const (?=(?:unsafe |safe |extern |fn ))")


@dataclass(frozen=True, slots=True)
class Derivative:
    """One generated function. `line` counts from 1 and is the annotation's."""

    function: str
    derivative: str
    mode: str
    width: int
    line: int
    signature: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth telling about the rewritten text. `line` and `column` count from 1."""

    line: int
    column: int
    message: str
    derivative: str | None = None


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file as plain, stable Rust."""

    text: str
    derivatives: tuple[Derivative, ...] = ()
    notes: tuple[Note, ...] = ()
    """What differs from the annotated source in a way that may surprise (`const` or `forbid` dropped)."""
    refused: tuple[Note, ...] = ()
    """Annotations for which no derivative was generated, with the reason."""
    shared: frozenset[int] = frozenset()
    """Numbers of parameters of derivatives in macros: these refer to the helper module of the crate's root."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One derivative's text and what it was made of."""

    plan: Plan
    derivative: Derivative
    text: str
    after: int | None = None
    """For what the call of a macro makes: the offset after that call, or after the impl around it."""


class Rewriter:
    def __init__(
        self,
        text: str,
        *,
        shadow_checks: bool,
        path: str,
        view: View | None = None,
        in_impls: frozenset[bool] = frozenset(),
    ) -> None:
        """`view`: the text is that of one macro's tokens, `in_impls`: whether its calls stand in an impl."""
        self.analysis = analyse(text)
        self.view = view
        self.in_impls = in_impls
        self.source: SourceText = self.analysis.source
        self.data = self.source.data
        self.root = self.analysis.tree.root_node
        self.shadow_checks = shadow_checks
        self.path = path
        self.aliases = float_aliases(text)
        self.lints = lints(text)
        self.edits: list[Replacement] = []
        self.generated: list[Generated] = []
        self.notes: list[Note] = []
        self.refused: list[Note] = []

    def run(self) -> None:
        self.edits += autodiff_edits(self.data, self.root)
        for function in self.analysis.functions:
            self._function(
                function if self.view is None else self.view.adapted(function, self.in_impls == {True})
            )
        for view in views(self.data, self.root):
            self._macro(view)
        if self.generated and self.view is None:
            for edit, at in forbid_edits(self.data, self.root):
                self.edits.append(edit)
                self._note(
                    self.notes, at, "`forbid` became `deny`: generated code must be able to allow its lints"
                )

    def _macro(self, view: View) -> None:
        """Takes over what is found in a macro's tokens."""
        text, in_impls = decode(view.data), self._places_of_calls.get(view.start, frozenset())
        inner = Rewriter(text, shadow_checks=self.shadow_checks, path=self.path, view=view, in_impls=in_impls)
        inner.aliases |= self.aliases
        inner.lints = self.lints
        inner.run()
        self.edits += map(view.restored, inner.edits)
        self.generated += inner.generated
        self.notes += inner.notes
        self.refused += inner.refused

    @cached_property
    def expansion(self) -> Expansion | None:
        return expand(self.data)

    @cached_property
    def _places_of_calls(self) -> dict[int, frozenset[bool]]:
        """Whether what a macro's rule makes lands in an impl, for the calls in this file."""
        places: dict[int, frozenset[bool]] = {}
        for made in self.expansion.made() if self.expansion is not None else ():
            own = made.function.container_info.kind in IMPLS and not made.in_impl_of_call
            if not own:
                places[made.rule] = places.get(made.rule, frozenset()) | {made.in_impl_of_call}
        return places

    def place(self, offset: int) -> Place:
        line, column = self.source.line_col(offset)
        return Place(self.path, line + 1, column + 1)

    def _note(self, into: list[Note], offset: int, message: str, derivative: str | None = None) -> None:
        place = self.place(offset)
        into.append(Note(place.line, place.column, message, derivative))

    # One function: its attributes from top to bottom

    def _function(self, function: Function) -> None:
        """Replaces a function's annotations.

        A derivative goes where its annotation stood. Attributes and doc comments above that place would
        become its own: doc comments are turned into plain comments; before a kept attribute there is room.
        """
        groups: dict[Span, list[Annotation]] = {}
        for annotation in function.annotations:
            groups.setdefault(annotation.span, []).append(annotation)
        made = {span: [self._derivative(function, a) for a in group] for span, group in groups.items()}
        texts = {span: " ".join(g.text for g in group if g is not None) for span, group in made.items()}
        primal = self._primal_attribute(function) if any(texts.values()) else ""
        kept = {span: self._rest_of_attribute(span, group) for span, group in groups.items()}
        barrier: int | None = None
        docs: list[Span] = []
        last = max(groups)
        others = {a.span: a for a in function.attributes if a.span not in groups}
        for span in sorted([*groups, *others]):
            if span in others:
                attribute = others[span]
                if attribute.path == "doc":
                    docs.append(span)
                elif attribute.path == "inline" and primal:
                    self.edits.append(replace_keeping_lines(self.data, span, ""))
                elif barrier is None:
                    barrier = span.start
                continue
            if kept[span] and barrier is None:
                barrier = span.start
            text, own = texts[span], kept[span]
            if text and barrier is not None:
                self.edits.append(insert(barrier, text + " "))
            here = [text if barrier is None else "", own, primal if span == last else ""]
            self.edits.append(replace_keeping_lines(self.data, span, " ".join(part for part in here if part)))
            limit = span.start if barrier is None else barrier
            if text:
                self._demote_docs([d for d in docs if d.start < limit])

    def _primal_attribute(self, function: Function) -> str:
        """The primal stays a function of its own, so that the core can find and derive it."""
        if function.body_span is None:
            return ""
        documented = any(a.path == "doc" for a in function.attributes)
        return "#[inline(never)]" + (" #[allow(missing_docs)]" if documented else "")

    def _rest_of_attribute(self, span: Span, group: list[Annotation]) -> str:
        """What remains of a `cfg_attr(.., autodiff_..(..), other)` without its annotations, or nothing."""
        if not any(a.via_cfg_attr for a in group):
            return ""
        cuts = [
            Replacement(Span(a.item_span.start - span.start, a.item_span.end - span.start), b"")
            for a in group
        ]
        text = decode(apply(self.data[span.start : span.end], cuts))
        text = re.sub(r"\s+", " ", text)
        while (shorter := re.sub(r",\s*(?=[,)])", "", text)) != text:
            text = shorter
        predicate = group[0].cfg_predicate or ""
        bare = re.sub(r"\s", "", f"#[cfg_attr({predicate})]")
        return "" if re.sub(r"\s", "", text) == bare else text

    def _demote_docs(self, docs: list[Span]) -> None:
        """Doc comments above a generated function become plain comments of the same length."""
        for span in docs:
            head = self.data[span.start : span.start + 3]
            if head in (b"///", b"/**"):
                self.edits.append(Replacement(Span(span.start + 2, span.start + 3), b" "))
            else:
                self.edits.append(replace_keeping_lines(self.data, span, ""))

    def _derivative(self, function: Function, annotation: Annotation) -> Generated | None:
        place = self.place(annotation.item_span.start)
        try:
            if self.view is not None and self.view.hides(function):
                raise Refused("a macro's repetition in an annotated signature; write the function out")
            if len(self.in_impls) > 1 and function.container_info.kind == "block":
                raise Refused("its macro is called inside and outside of an impl; use a macro for each")
            made = plan(function, annotation, place, self.aliases, self.view.crate if self.view else None)
            lines = body(made, shadow_checks=self.shadow_checks)
        except Refused as error:
            self._note(self.refused, annotation.item_span.start, str(error), annotation.name)
            return None
        signature = derivative_signature(function, annotation).text
        header = _CONST_FN.sub(r"\1", signature)
        if header != signature:
            self._note(
                self.notes,
                annotation.item_span.start,
                "the derivative of a `const fn` is not `const`: it runs compiled code",
                annotation.name,
            )
        derivative = _derivative(function, annotation, place, signature)
        generated = Generated(made, derivative, f"{attributes(made, self.lints)} {header} {lines}")
        self.generated.append(generated)
        return generated

    def instances(self) -> Iterator[Generated]:
        """The derivatives that calls of the file's own macros make; their text is the macro's."""
        if self.expansion is None:
            return
        for made in self.expansion.made():
            function, annotation = made.function, made.annotation
            place = self.place(made.call.start)
            try:
                planned = plan(function, annotation, place, self.aliases)
            except Refused:
                continue
            signature = derivative_signature(function, annotation).text
            container = function.container_info
            inside = container.kind in IMPLS
            after = self.expansion.origin(container.scope.end) if inside else made.call.end
            yield Generated(planned, _derivative(function, annotation, place, signature), "", after)

    # The whole file

    @property
    def shared(self) -> frozenset[int]:
        """See `Rewritten.shared`."""
        return frozenset(len(g.plan.slots) for g in self.generated if g.plan.crate is not None)

    def text(self, extra: Iterable[str] = (), shared: Iterable[int] = ()) -> str:
        """The edited text with helpers, and any `extra` items, after its last line."""
        data = apply(self.data, self.edits)
        arities = {*shared, *(len(g.plan.slots) for g in self.generated)}
        additions = [support_module(arities, self.lints)] if arities or self.generated else []
        additions += extra
        if not additions:
            return decode(data)
        gap = b"" if data.endswith(b"\n") else b"\n"
        return decode(data + gap + encode("".join(additions)))


def _derivative(function: Function, annotation: Annotation, place: Place, signature: str) -> Derivative:
    return Derivative(
        function=function.name,
        derivative=annotation.name or "",
        mode=annotation.mode.value,
        width=annotation.width,
        line=place.line,
        signature=signature,
    )


def rewrite(
    text: str, *, shadow_checks: bool = True, path: str = "<file>", shared: Iterable[int] = ()
) -> Rewritten:
    """The same program without annotations: plain stable Rust with every derivative written out.

    Each derivative has the signature rustc generates and calls a marker (`__ferrodiff_forward` or
    `__ferrodiff_reverse`) that the compiler replaces by machine code. The user's lines keep their numbers. A
    text without autodiff is returned as it is. `path` is what messages call the file.

    With `shadow_checks`, a slice or `Vec` shadow that is shorter than its primal panics at entry.
    `shared` are the other files' (see `Rewritten.shared`); where there are some, the text gets the helper module.
    """
    shared = frozenset(shared)
    if "autodiff" not in text and not shared:
        return Rewritten(text)
    work = Rewriter(text, shadow_checks=shadow_checks, path=path)
    work.run()
    return Rewritten(
        work.text(shared=shared) if work.edits or shared else text,
        tuple(sorted((g.derivative for g in work.generated), key=lambda d: d.line)),
        tuple(work.notes),
        tuple(work.refused),
        work.shared,
    )
