"""A module: lazily parsed functions and globals over one canonical text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instruction import Instruction
from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.types import Type
from ferrodiff.adcore.ir.values import Constant, Function, GlobalRef, global_ref

T = TypeVar("T")


class LazyMapping(Mapping[str, T], Generic[T]):
    """A mapping whose values are made on first access; order is that of the text."""

    __slots__ = ("_made", "_makers")

    def __init__(self, makers: dict[str, Callable[[], T]]) -> None:
        self._makers = makers
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._makers[name]()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


class Global:
    """A global variable. ``initializer`` is ``None`` of an external one; ``raw`` is its line."""

    __slots__ = ("initializer", "is_constant", "linkage", "name", "raw", "value_type")

    def __init__(
        self,
        name: str,
        value_type: Type,
        initializer: Constant | None,
        is_constant: bool,
        linkage: str,
        raw: str,
    ) -> None:
        self.name = name
        self.value_type = value_type
        self.initializer = initializer
        self.is_constant = is_constant
        self.linkage = linkage
        self.raw = raw

    def __repr__(self) -> str:
        return f"<Global @{self.name}>"

    @property
    def value(self) -> GlobalRef:
        """Its address as an operand."""
        return global_ref(self.name)


class Module:
    """One module. Functions, globals and metadata are parsed when they are looked at.

    ``functions`` has definitions and declarations by name (without ``@``), ``declarations`` the
    declarations alone; ``aliases`` maps alias names to the constants they stand for;
    ``metadata`` maps nodes (``!5``) to raw text; ``named_types`` identified structs to their bodies;
    ``spans`` says where in ``text`` each function stands.
    """

    def __init__(
        self,
        text: str,
        *,
        triple: str,
        datalayout: str,
        named_types: dict[str, Type | None],
        functions: Mapping[str, Function],
        declarations: Mapping[str, Function],
        globals: Mapping[str, Global],
        aliases: Mapping[str, Constant],
        attribute_groups: Mapping[str, str],
        metadata: Mapping[str, str],
    ) -> None:
        self.text = text
        self.triple = triple
        self.named_types = named_types
        self.datalayout = DataLayout(datalayout, named_types)
        self.functions = functions
        self.declarations = declarations
        self.globals = globals
        self.aliases = aliases
        self.attribute_groups = attribute_groups
        self.metadata = metadata
        self.spans: dict[str, tuple[int, int]] = {}
        self._locations: dict[str, SourceLocation | None] = {}

    @staticmethod
    def parse(text: str) -> Module:
        """Read canonical text (as llvmlite prints it). Raises ``ReadError``; bodies are read later."""
        from ferrodiff.adcore.ir.reader import parse_module

        return parse_module(text)

    def function(self, name: str) -> Function:
        """The function called ``name``; ``KeyError`` if there is none."""
        return self.functions[name]

    def definitions(self) -> Iterator[Function]:
        """The functions that have bodies, in the text's order."""
        for name in self.functions:
            if name not in self.declarations:
                yield self.functions[name]

    def location(self, insn: Instruction) -> SourceLocation | None:
        """Where the instruction comes from in the source, if debug info says so."""
        from ferrodiff.adcore.ir.debuginfo import location_of

        node = insn.metadata.get("dbg")
        if node is None:
            return None
        if node not in self._locations:
            self._locations[node] = location_of(self.metadata, node)
        return self._locations[node]

    def global_bytes(self, constant: Constant) -> bytes | None:
        """Contents of constant memory from the address ``constant`` to the end of its global.

        ``None`` if the address is not that of a constant global with an initializer (plus a constant
        offset), or if the bytes are not numbers (pointers, undef).
        """
        from ferrodiff.adcore.ir.evaluate import global_bytes

        return global_bytes(self, constant)

    def with_functions(
        self,
        new_functions: Iterable[Function] = (),
        replaced: Iterable[Function] | Mapping[str, Function] = (),
        declarations: Iterable[str] = (),
        globals: Iterable[str] = (),
    ) -> str:
        """The module's text with bodies replaced and definitions, declarations and globals appended.

        ``replaced`` are functions whose names the module has (a mapping's values count); ``declarations``
        and ``globals`` are whole lines. What functions require is declared too, each name once, and nothing
        is declared that is defined.
        """
        from ferrodiff.adcore.ir.writer import assemble

        changed = replaced.values() if isinstance(replaced, Mapping) else replaced
        return assemble(self, list(new_functions), list(changed), list(declarations), list(globals))
