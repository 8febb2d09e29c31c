"""Derivatives of small functions in LLVM IR, as text."""

from __future__ import annotations

from ferrodiff.adcore.backend.passes import canonical, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry


def derivative(source: str, width: int) -> str:
    """The module with `df`, the forward derivative of `f(x, n, out)`, before the final optimisation."""
    wanted = Wanted("f", "df", "forward", ("Dual", "Const", "Dual"), "None", width)
    text, _ = with_entry(canonical(source), wanted)
    done = differentiate_module(text_before_ad(text))
    assert done.errors == []
    return done.text
