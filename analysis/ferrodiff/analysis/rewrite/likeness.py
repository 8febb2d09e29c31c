"""Shadows with the shape of a value: as many elements, the same variants, other numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ferrodiff.analysis.rewrite.samples import Struct
from ferrodiff.analysis.rewrite.types import array_parts, slice_element, split_top_level

_GENERIC = re.compile(r"(?:[\w:]*::)?(\w+)<(.*)>", re.S)
_LISTS = {"Vec": "", "VecDeque": ".into()"}
_MAPS = ("HashMap", "BTreeMap")
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Likeness:
    """Writes Rust expressions. `sample` writes a value of a type whose shape the type alone decides."""

    structs: dict[str, Struct]
    aliases: dict[str, str]
    sample: Callable[[str], str]

    def varies(self, text: str, depth: int = 0) -> bool:
        """Whether values of a type differ in shape: lists and maps, options, enums, and what holds some."""
        if depth > _DEEPEST or "&" in text:
            return True
        text = self.aliases.get(text, text)
        parts = self._parts(text)
        if parts is not None:
            return any(self.varies(part, depth + 1) for part in parts)
        if slice_element(text) is not None:
            return True
        generic = _GENERIC.fullmatch(text)
        if generic and generic.group(1) in (*_LISTS, *_MAPS, "Option"):
            return True
        if generic and generic.group(1) == "Box":
            return self.varies(generic.group(2), depth + 1)
        struct = self._struct(text)
        return struct is not None and struct.variant

    def of(self, value: str, text: str, depth: int = 0) -> str | None:
        """An expression with the shape of the expression `value`; None where there is no way to write one."""
        text = self.aliases.get(text, text)
        if not self.varies(text):
            return self.sample(text)
        if "&" in text or depth > _DEEPEST:
            return None
        each = f"__fd_e{depth}"
        if (element := slice_element(text)) is not None:
            return self._mapped(value, each, element, depth, ".iter()", ".collect::<Vec<_>>()")
        if (array := array_parts(text)) is not None:
            inner = self.of(f"{value}[{each}]", array[0], depth + 1)
            return inner and f"::core::array::from_fn(|{each}| {inner})"
        generic = _GENERIC.fullmatch(text)
        if generic and generic.group(1) not in self.structs:
            return self._container(generic.group(1), generic.group(2), value, each, depth)
        return self._fields(value, text, depth)

    def _container(self, name: str, inner: str, value: str, each: str, depth: int) -> str | None:
        if name in _LISTS:
            return self._mapped(value, each, inner, depth, ".iter()", f".collect::<Vec<_>>(){_LISTS[name]}")
        if name == "Option":
            return self._mapped(value, each, inner, depth, ".as_ref()", "")
        if name == "Box":
            made = self.of(value, inner, depth + 1)
            unsized = slice_element(inner) is not None
            return made and (f"{made}.into_boxed_slice()" if unsized else f"::std::boxed::Box::new({made})")
        if name in _MAPS and len(parts := split_top_level(inner)) == 2:
            made = self.of(each, parts[1], depth + 1)
            pair = f"(::core::clone::Clone::clone(__fd_k{depth}), {made})"
            return made and f"{value}.iter().map(|(__fd_k{depth}, {each})| {pair}).collect()"
        return None

    def _mapped(self, value: str, each: str, element: str, depth: int, before: str, after: str) -> str | None:
        made = self.of(each, element, depth + 1)
        return made and f"{value}{before}.map(|{each}| {made}){after}"

    def _fields(self, value: str, text: str, depth: int) -> str | None:
        """Tuples and the file's own structs."""
        struct = self._struct(text)
        fields: tuple[tuple[str, str], ...]
        if text.startswith("("):
            fields = tuple((str(at), part) for at, part in enumerate(split_top_level(text[1:-1])))
        elif struct is not None and not struct.variant:
            fields = struct.fields
        else:
            return None
        values = [self.of(f"{value}.{label}", kind, depth + 1) for label, kind in fields]
        written = [made for made in values if made is not None]
        if len(written) < len(values):
            return None
        if struct is None or struct.tuple_like:
            name = "" if struct is None else struct.name
            return f"{name}({''.join(made + ', ' for made in written)})"
        pairs = ", ".join(f"{label}: {made}" for (label, _), made in zip(fields, written, strict=True))
        return f"{struct.name} {{ {pairs} }}"

    def _parts(self, text: str) -> list[str] | None:
        """The types of the fields of a tuple, an array or one of the file's structs."""
        if text.startswith("(") and text.endswith(")"):
            return split_top_level(text[1:-1])
        if (array := array_parts(text)) is not None:
            return [array[0]]
        struct = self._struct(text)
        if struct is None or struct.variant:
            return None
        return [kind for _, kind in struct.fields]

    def _struct(self, text: str) -> Struct | None:
        """What a type's sample is; that of an enum is one of its variants."""
        return self.structs.get(text.split("<")[0].split("::")[-1])
