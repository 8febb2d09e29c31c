"""Lists of names in the tables, written as one string."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """The words of a text: `words("sin cos")` is `("sin", "cos")`."""
    return tuple(text.split())
