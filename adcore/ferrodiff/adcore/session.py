"""The state of one differentiation of a module: the functions made so far, fresh names, errors with their place."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstExpr, GlobalRef
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.values import Function

DROPPED = frozenset(
    [
        "noinline",
        "alwaysinline",
        "inlinehint",
        "optnone",
        "optsize",
        "minsize",
        "cold",
        "hot",
        "norecurse",
        "nofree",
        "nosync",
        "willreturn",
        "speculatable",
        "noreturn",
        "readnone",
        "readonly",
        "writeonly",
        "argmemonly",
        "allocsize",
        "allockind",
        "memory",
        "alloc-family",
        "naked",
        "mustprogress",
        "builtin",
        "nobuiltin",
        "convergent",
        "nocallback",
        "nodivergencesource",
        "noduplicate",
        "returns_twice",
    ]
)
"""Function attributes that may be false of a derivative although true of its primal."""


class Session:
    """Functions of a module and those generated from it.

    `generated` maps names to new functions, `changed` to functions of the module whose bodies were edited;
    `globals` are whole lines of new global variables; `derivatives` is the cache of derivative functions by key.
    `last` holds, by name, what remains to be done to a generated function once nothing differentiates it further.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.generated: dict[str, Function] = {}
        self.changed: dict[str, Function] = {}
        self.globals: dict[str, str] = {}
        self.derivatives: dict[Hashable, Function] = {}
        self.last: dict[str, Callable[[], None]] = {}
        self.facts: dict[Hashable, object] = {}
        self._names: dict[str, int] = {}

    def definition(self, name: str | None) -> Function | None:
        """The function of that name if it has a body here, generated ones included."""
        if name is None:
            return None
        found = self.generated.get(name)
        if found is not None:
            return found
        if name in self.module.functions and name not in self.module.declarations:
            return self.module.functions[name]
        return None

    def finish(self) -> None:
        """Do what was left for last to the generated functions that are still wanted."""
        for name, work in self.last.items():
            if name in self.generated:
                work()
        self.last.clear()

    def fresh_name(self, base: str) -> str:
        """A function name that nothing has."""
        while True:
            count = self._names.get(base, 0)
            self._names[base] = count + 1
            name = base if count == 0 else f"{base}.{count}"
            if name not in self.module.functions and name not in self.generated:
                return name

    def refuse(
        self, reason: str, insn: Instruction | None = None, help: str | None = None
    ) -> CannotDifferentiate:
        """The error to raise about an instruction of a primal."""
        return CannotDifferentiate(
            reason,
            instruction=None if insn is None else str(insn).split(", !", 1)[0],
            location=None if insn is None else self.module.location(insn),
            help=help,
        )

    def attributes(self, primal: Function) -> str:
        """Function attributes of a derivative: the primal's, without those that may be false of it."""
        words: list[str] = []
        for word in _words(primal.attributes):
            if word.startswith("#"):
                words.extend(_words(self.module.attribute_groups.get(word, "")))
            else:
                words.append(word)
        kept = [w for w in words if _name(w) not in DROPPED and not w.startswith(("#", "section", "comdat"))]
        return " ".join(dict.fromkeys(kept))


def _name(word: str) -> str:
    return word.split("(", 1)[0].split("=", 1)[0]


def _words(text: str) -> list[str]:
    """Attributes of a text: blanks separate them, except inside quotes and parentheses."""
    found: list[str] = []
    depth, quoted, word = 0, False, ""
    for char in text:
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "({":
            depth += 1
        elif not quoted and char in ")}":
            depth -= 1
        if char.isspace() and depth == 0 and not quoted:
            if word:
                found.append(word)
            word = ""
        else:
            word += char
    return [*found, word] if word else found


def global_behind(value: Value) -> GlobalRef | None:
    """The global that a constant address points into."""
    while isinstance(value, ConstExpr) and value.operands:
        value = value.operands[0]
    return value if isinstance(value, GlobalRef) else None
