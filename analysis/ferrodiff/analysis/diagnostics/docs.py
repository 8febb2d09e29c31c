"""The documentation of the diagnostics, from the same source as their messages.

``python -m ferrodiff.analysis.diagnostics.docs docs`` writes ``docs/diagnostics.md`` (all of them) and
``docs/diagnostics/FDnnn.md`` (a page for each code, which editors link to).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ferrodiff.analysis.diagnostics.core import Rule
from ferrodiff.analysis.diagnostics.registry import RULES

_INTRODUCTION = """# Diagnostics

What `ferrodiff check` and the language server say about annotations. Where rustc has a message for the same
condition, the text is rustc's own; the place is narrower (the argument, the type, the name), and most come
with quick fixes.

* **Severity** can be changed by code, `off` included: in the editor by the setting
  `ferrodiff.diagnostics.severity` (`{"FD021": "off"}`).
* **Silencing** in the source, several codes between commas: `// ferrodiff: allow(FD021)` on a line of its own
  is for the annotations and the header of the next annotated function; at the end of a line it is for that
  line and the annotation that ends there; among the comments that open a file, or anywhere as
  `// ferrodiff: allow-file(FD021)`, it is for the whole file.

Generated from the checks by `python -m ferrodiff.analysis.diagnostics.docs docs`.

| code | name | severity | message |
|---|---|---|---|
"""


def _row(rule: Rule) -> str:
    says = rule.says.replace("|", "\\|")
    return f"| [{rule.code}](diagnostics/{rule.code}.md) | {rule.name} | {rule.severity.value} | {says} |\n"


def page(rule: Rule) -> str:
    parts = [
        f"# {rule.code}: {rule.name}\n",
        f"*{rule.severity.value}*: {rule.says}\n",
        rule.why.strip() + "\n",
        f"Reported for\n\n```rust\n{rule.bad.strip()}\n```\n",
    ]
    if rule.good:
        parts.append(f"Instead\n\n```rust\n{rule.good.strip()}\n```\n")
    parts.append(f"Silence it with `// ferrodiff: allow({rule.code})`.\n")
    return "\n".join(parts)


def pages() -> Mapping[str, str]:
    """Every generated file's text by its path within the documentation folder."""
    found = {"diagnostics.md": _INTRODUCTION + "".join([_row(rule) for rule in RULES])}
    return found | {f"diagnostics/{rule.code}.md": page(rule) for rule in RULES}


def write(folder: Path) -> None:
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
