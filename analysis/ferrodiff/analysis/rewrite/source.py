"""Annotated source to plain stable Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ferrodiff.analysis.document import analyse
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


@dataclass(frozen=True, slots=True)
class Generated:
    """One derivative's text and what it was made of."""

    plan: Plan
    derivative: Derivative
    text: str


class Rewriter:
    def __init__(self, text: str, *, shadow_checks: bool, path: str, view: View | None = None) -> None:
        """`view`: the text is that of one macro's tokens."""
        self.analysis = analyse(text)
        self.view = view
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
            self._function(function if self.view is None else self.view.adapted(function))
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
        inner = Rewriter(decode(view.data), shadow_checks=self.shadow_checks, path=self.path, view=view)
        inner.aliases |= self.aliases
        inner.lints = self.lints
        inner.run()
        self.edits += map(view.restored, inner.edits)
        self.generated += inner.generated
        self.notes += inner.notes
        self.refused += inner.refused

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
        derivative = Derivative(
            function=function.name,
            derivative=annotation.name or "",
            mode=annotation.mode.value,
            width=annotation.width,
            line=place.line,
            signature=signature,
        )
        generated = Generated(made, derivative, f"{attributes(made, self.lints)} {header} {lines}")
        self.generated.append(generated)
        return generated

    # The whole file

    def text(self, extra: Iterator[str] | tuple[str, ...] = ()) -> str:
        """The edited text with helpers, and any `extra` items, after its last line."""
        data = apply(self.data, self.edits)
        additions = (
            [support_module((len(g.plan.slots) for g in self.generated), self.lints)]
            if self.generated
            else []
        )
        additions += extra
        if not additions:
            return decode(data)
        gap = b"" if data.endswith(b"\n") else b"\n"
        return decode(data + gap + encode("".join(additions)))


def rewrite(text: str, *, shadow_checks: bool = True, path: str = "<file>") -> Rewritten:
    """The same program without annotations: plain stable Rust with every derivative written out.

    Each derivative has the signature rustc generates and calls a marker (`__ferrodiff_forward` or
    `__ferrodiff_reverse`) that the compiler replaces by machine code. The user's lines keep their numbers. A
    text without autodiff is returned as it is. `path` is what messages call the file.

    With `shadow_checks`, a slice or `Vec` shadow that is shorter than its primal panics at entry.
    """
    if "autodiff" not in text:
        return Rewritten(text)
    work = Rewriter(text, shadow_checks=shadow_checks, path=path)
    work.run()
    return Rewritten(
        work.text() if work.edits else text,
        tuple(sorted((g.derivative for g in work.generated), key=lambda d: d.line)),
        tuple(work.notes),
        tuple(work.refused),
    )
