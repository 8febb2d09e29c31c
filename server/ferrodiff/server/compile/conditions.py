"""Conditions of `#[cfg(..)]`, as far as they are known without rustc."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ferrodiff.analysis.conditions import decided, everywhere

_NEVER = frozenset({"test", "doc", "doctest", "miri"})
_SETTABLE = frozenset({"feature"})
"""Keys that have the values they are given, and no others."""


def holds(condition: str, cfgs: Sequence[str]) -> bool | None:
    """Whether a condition holds with rustc's `--cfg` options; None where only rustc knows.

    A name that rustc may set itself (`unix`, `target_os`, ...) and text that is no condition are not known.
    """
    given = {re.sub(r"\s", "", text) for text in cfgs}

    def known(setting: str) -> bool | None:
        name, equals, _ = setting.partition("=")
        absent = name in (_SETTABLE if equals else _NEVER)
        return True if setting in given else (False if absent else everywhere(setting))

    return decided(condition, known)
