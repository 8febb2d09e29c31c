"""Static libraries: System V archives, read and written with their symbol index.

The archiver of the system is not used: GNU `ar` finds no symbols in the standard library's objects
(they carry bitcode beside their code) and would write an index without them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ferrodiff.server.errors import Failure

_MAGIC = b"!<arch>\n"
_HEADER = 60
_INDEX_32, _INDEX_64, _NAMES = "/", "/SYM64/", "//"
_ELF = b"\x7fELF\x02\x01"
_SYMBOL_TABLE, _GLOBAL_BINDINGS = 2, (1, 2)


@dataclass(slots=True)
class Member:
    """One file of an archive and the symbols that the index says it defines."""

    name: str
    data: bytes
    symbols: list[bytes] = field(default_factory=list)


def read_archive(path: Path) -> list[Member]:
    """The object files of an archive. Raises `Failure` when it is none."""
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        raise Failure(f"`{path}` is not an archive", exit_code=1)
    members: dict[int, Member] = {}
    index: list[tuple[bytes, int]] = []
    position, names = len(_MAGIC), b""
    while position + _HEADER <= len(data):
        header = data[position : position + _HEADER]
        size = int(header[48:58].decode("ascii").strip() or "0")
        body = data[position + _HEADER : position + _HEADER + size]
        raw = header[:16].decode("latin-1").rstrip()
        if raw == _NAMES:
            names = body
        elif raw in (_INDEX_32, _INDEX_64):
            index = _read_index(body, 4 if raw == _INDEX_32 else 8)
        else:
            members[position] = Member(_name(raw, names), body)
        position += _HEADER + size + (size & 1)
    for symbol, offset in index:
        if offset in members:
            members[offset].symbols.append(symbol)
    return list(members.values())


def write_archive(path: Path, members: Sequence[Member]) -> None:
    """Writes an archive with a symbol index and long names."""
    names, places = _long_names(members)
    symbols = [(symbol, number) for number, member in enumerate(members) for symbol in member.symbols]
    texts = b"".join(symbol + b"\0" for symbol, _ in symbols)
    index_size = 4 + 4 * len(symbols) + len(texts)
    position = len(_MAGIC) + _HEADER + _even(index_size) + _HEADER + _even(len(names))
    offsets = []
    for member in members:
        offsets.append(position)
        position += _HEADER + _even(len(member.data))
    index = struct.pack(">I", len(symbols)) + b"".join(struct.pack(">I", offsets[n]) for _, n in symbols)
    parts = [_MAGIC, _entry(_INDEX_32, index + texts), _entry(_NAMES, names)]
    parts += [_entry(places[number], member.data) for number, member in enumerate(members)]
    path.write_bytes(b"".join(parts))


def replace_members(archive: Path, removed: Sequence[str], added: Mapping[str, bytes]) -> None:
    """Takes members out of an archive and puts ELF object files in."""
    kept = [member for member in read_archive(archive) if member.name not in removed]
    new = [Member(name, data, elf_symbols(data)) for name, data in added.items()]
    write_archive(archive, [*new, *kept])


def elf_symbols(data: bytes) -> list[bytes]:
    """The global and weak symbols that a 64-bit little-endian ELF object defines."""
    if not data.startswith(_ELF):
        return []
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + n * entry_size) for n in range(count)]
    found = []
    for _, kind, _, _, offset, size, link, _, _, _ in headers:
        if kind != _SYMBOL_TABLE:
            continue
        strings = headers[link][4]
        for at in range(offset, offset + size, 24):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if section != 0 and info >> 4 in _GLOBAL_BINDINGS:
                start = strings + name
                found.append(data[start : data.index(b"\0", start)])
    return found


def _read_index(body: bytes, width: int) -> list[tuple[bytes, int]]:
    form = ">I" if width == 4 else ">Q"
    (count,) = struct.unpack_from(form, body, 0)
    offsets = [struct.unpack_from(form, body, width * (n + 1))[0] for n in range(count)]
    return list(zip(body[width * (count + 1) :].split(b"\0"), offsets, strict=False))


def _name(raw: str, names: bytes) -> str:
    if raw.startswith("/") and raw[1:].isdigit():
        start = int(raw[1:])
        return names[start : names.index(b"/\n", start)].decode("utf-8", "replace")
    return raw.rstrip("/")


def _long_names(members: Sequence[Member]) -> tuple[bytes, list[str]]:
    names, places = b"", []
    for member in members:
        places.append(f"/{len(names)}")
        names += member.name.encode() + b"/\n"
    return names, places


def _even(size: int) -> int:
    return size + (size & 1)


def _entry(name: str, data: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode("ascii")
    return header + data + (b"\n" if len(data) & 1 else b"")
