"""Arithmetic on places: where objects that share memory lie in each other."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from ferrodiff.adcore.facts.layouts import Access, Place


def difference(at: Place, a: Place | None, other_at: Place, b: Place | None) -> Place:
    """Where the first leader's object begins in the second's, if ``a`` of the one is ``b`` of the other."""
    if a is None or b is None:
        return Place(0, 1, False)
    step = gcd(at.step, a.step, other_at.step, b.step)
    offset = other_at.offset + b.offset - at.offset - a.offset
    return Place(offset, step, step == 0)


def cell(place: Place, wobble: int) -> int:
    """What names a cell of a class: its offset, or its phase."""
    step = gcd(place.step, wobble)
    return place.offset % step if step else place.offset


def aligned(place: Place | None, align: int | None) -> Place | None:
    """A place made more precise by alignment: objects begin at multiples of their scalars' alignment."""
    if align is None or align < 2:
        return place
    if place is None:
        return Place(0, align, False)
    known = place.step and align % place.step == 0 and align != place.step
    return Place(0, align, False) if known else place


def between(accesses: Iterable[Access], start: int, end: int) -> list[Access]:
    """The accesses that begin in a range, seen from its start."""
    return [a.seen_from(Place(-start)) for a in accesses if start <= a.offset < end]
