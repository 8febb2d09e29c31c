"""The roots of the value hierarchy. Identity is object identity.

``value.ref`` is the operand text without its type (``%x``, ``@g``, ``42``, ``null``);
``value.operand`` is the text with it (``double %x``).
"""

from __future__ import annotations

from ferrodiff.adcore.ir.names import quote_name
from ferrodiff.adcore.ir.types import Type


class Value:
    """Anything that can be an operand."""

    __slots__ = ("ref", "type")
    type: Type
    ref: str

    @property
    def operand(self) -> str:
        """Type and operand text, as an operand is written."""
        return f"{self.type.text} {self.ref}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operand}>"

    def __copy__(self) -> Value:
        raise TypeError("values are copied with ferrodiff.adcore.ir.clone, never with copy")


class LocalValue(Value):
    """An argument or an instruction: a value with a name inside its function."""

    __slots__ = ("_name",)
    _name: str | None

    @property
    def name(self) -> str | None:
        """The name without ``%``; ``None`` while unnamed or for an instruction without a result."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        self._name = name
        self.ref = "" if name is None else "%" + quote_name(name)
