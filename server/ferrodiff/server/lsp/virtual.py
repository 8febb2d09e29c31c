"""Read-only documents: the expansion, and a derivative's IR, assembly and tape report.

The expansion follows every edit. What needs a compiler is made only by a command and then kept; when the
file changes, its first line says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import same_uri
from ferrodiff.server.lsp.index import derivatives_of

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

SCHEME = "ferrodiff"
CHANGED = "ferrodiff/contentChanged"
LAST_COMMENT = {"ir": ";", "asm": "#", "tape": "#", "expansion": "//", "source": "//"}
SUFFIXES = {"ir": "ll", "asm": "s", "tape": "txt", "expansion": "rs", "source": "rs"}


@dataclass(frozen=True, slots=True)
class Virtual:
    """What a virtual document shows: a `kind` of a file, of one derivative where that matters."""

    kind: str
    file: str
    derivative: str = ""
    stage: str = ""

    @property
    def uri(self) -> str:
        name = self.derivative or self.file.rsplit("/", 1)[-1].removesuffix(".rs") or "file"
        stage = f".{self.stage}" if self.stage else ""
        query = urlencode(
            {"file": self.file, "derivative": self.derivative, "stage": self.stage}, quote_via=quote
        )
        return f"{SCHEME}:/{self.kind}/{quote(name)}{stage}.{SUFFIXES[self.kind]}?{query}"

    @property
    def plain(self) -> Virtual:
        """Equal for differently escaped spellings."""
        return replace(self, file=same_uri(self.file))


def parse_virtual(uri: str) -> Virtual | None:
    """The inverse of `Virtual.uri`; None for anything else."""
    try:
        parts = urlsplit(uri)
        # VS Code writes a query's own `=` and `&` escaped.
        query = parse_qs(parts.query if "=" in parts.query else unquote(parts.query))
    except ValueError:
        return None
    kind = parts.path.strip("/").partition("/")[0]
    if parts.scheme != SCHEME or kind not in SUFFIXES or "file" not in query:
        return None
    return Virtual(kind, query["file"][0], query.get("derivative", [""])[0], query.get("stage", [""])[0])


def expansion(uri: str, analysis: FileAnalysis) -> str:
    """The generated functions' signatures as Rust, in the file's order."""
    lines = [f"// Functions that the annotations of {uri} generate.", ""]
    for derivative in derivatives_of(uri, analysis):
        annotation = derivative.annotation
        line = analysis.source.line_of(annotation.span.start) + 1
        lines.append(
            f"// line {line}: {annotation.mode.value} derivative of `{derivative.function.bare_name}`"
        )
        signature = derivative_signature(derivative.function, annotation).text
        lines += [f"{signature};" if not signature.endswith(";") else signature, ""]
    return "\n".join(lines)


def rewritten(analysis: FileAnalysis) -> str:
    """The whole file as plain stable Rust."""
    from ferrodiff.analysis.rewrite import rewrite

    try:
        return rewrite(analysis.source.text).text
    except Exception as error:
        return f"// The file cannot be rewritten while it has errors: {error}\n"


class VirtualDocuments:
    """Serves virtual documents and says when they change."""

    def __init__(self, server: FerrodiffServer) -> None:
        self._server = server
        self._made: dict[Virtual, tuple[str, str]] = {}
        """A compiled document's text and the source text it was made from."""
        self._watched: set[str] = set()

    def store(self, virtual: Virtual, text: str, source: str) -> str:
        """Keeps a compiled document; returns its URI."""
        fresh = virtual.plain not in self._made
        self._made[virtual.plain] = (text, source)
        if not fresh:
            for watched in self._watched:
                if (known := parse_virtual(watched)) is not None and known.plain == virtual.plain:
                    self._changed(watched)
        return virtual.uri

    def content(self, uri: str) -> str:
        virtual = parse_virtual(uri)
        if virtual is None:
            return ""
        self._watched.add(uri)
        analysis = self._analysis(virtual.file)
        if virtual.kind in ("expansion", "source"):
            if analysis is None:
                return f"// {virtual.file} is not open and has no annotations.\n"
            return expansion(virtual.file, analysis) if virtual.kind == "expansion" else rewritten(analysis)
        comment = LAST_COMMENT[virtual.kind]
        made = self._made.get(virtual.plain)
        if made is None:
            return f"{comment} Not compiled yet: run the command that shows this document.\n"
        text, source = made
        if analysis is not None and analysis.source.text != source:
            return f"{comment} The file has changed since this was made; run the command again.\n{text}"
        return text

    def _analysis(self, uri: str) -> FileAnalysis | None:
        for known, _, analysis in self._server.analyses():
            if same_uri(known) == same_uri(uri):
                return analysis
        return None

    def text_changed(self, uri: str, opened: bool) -> None:
        """Expansions follow edits; compiled documents get their note about the edit."""
        for watched in self._watched:
            virtual = parse_virtual(watched)
            if virtual is not None and same_uri(virtual.file) == same_uri(uri):
                self._changed(watched)

    def _changed(self, uri: str) -> None:
        if self._server.abilities.standard_content:
            self._server.ask(
                t.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, t.TextDocumentContentRefreshParams(uri)
            )
        else:
            self._server.protocol.notify(CHANGED, {"uri": uri})


def standard(server: FerrodiffServer, params: t.TextDocumentContentParams) -> t.TextDocumentContentResult:
    """`workspace/textDocumentContent`, for clients of LSP 3.18."""
    return t.TextDocumentContentResult(text=server.virtual.content(params.uri))


def custom(server: FerrodiffServer, params: Any) -> dict[str, str]:
    """`ferrodiff/content`: the same for all others."""
    uri = params.get("uri") if isinstance(params, dict) else None
    return {"text": server.virtual.content(uri) if isinstance(uri, str) else ""}
