"""Commands: run a derivative, check its gradient, show its IR, assembly or tape, show the expansion.

Only these start a compiler or user code, always in a child process, with progress and cancellation.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import path_of, same_uri, uri_of
from ferrodiff.server.lsp.jobs import Finished, run_job
from ferrodiff.server.lsp.names import (
    CHECK,
    RUN,
    SERVER_INFO,
    SHOW_ASM,
    SHOW_EXPANSION,
    SHOW_IR,
    SHOW_SOURCE,
    SHOW_TAPE,
)
from ferrodiff.server.lsp.outcomes import record_of
from ferrodiff.server.lsp.overlay import standing_for
from ferrodiff.server.lsp.progress import Progress
from ferrodiff.server.lsp.protocol import Refused
from ferrodiff.server.lsp.results import Record, content_key, derivative_of
from ferrodiff.server.lsp.virtual import SUFFIXES, Virtual
from ferrodiff.server.version import version

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

logger = logging.getLogger(__name__)

STAGES = ("primal", "derivative", "optimized")
_COMPILE_SECONDS = 120.0
"""Beyond the run's own limit: a compiler that hangs is stopped too."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The derivative a command is about, in the text as it is now."""

    uri: str
    source: SourceText
    function: Function
    annotation: Annotation

    @property
    def name(self) -> str:
        return self.annotation.name or ""

    @property
    def path(self) -> Path | None:
        return path_of(self.uri)


class Executor:
    """Runs commands, several at a time if the client asks for several."""

    def __init__(self, server: FerrodiffServer) -> None:
        self._server = server

    async def execute(self, params: t.ExecuteCommandParams) -> Any:
        handler = COMMANDS.get(params.command)
        if handler is None:
            raise Refused(f"no such command: {params.command}")
        arguments = arguments_of(params.command, params.arguments)
        return await handler(self, arguments, params.work_done_token)

    # -- run and check -------------------------------------------------------------------------------

    async def run(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        return await self._evaluate("run", arguments, token)

    async def check(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        return await self._evaluate("check", arguments, token)

    async def _evaluate(
        self, kind: str, arguments: Mapping[str, str], token: t.ProgressToken | None
    ) -> dict[str, Any]:
        subject = self._subject(arguments)
        settings = self._server.settings
        options = (
            str(settings.run_time_limit),
            str(settings.run_memory_limit),
            settings.run_toolchain,
            subject.uri,
        )
        key = content_key(kind, subject.name, subject.source.text, options)
        record = self._server.results.cached(key)
        if record is None:
            record = await self._compute(kind, subject, token)
        # A failure may have been the machine's: a time-out, a signal. Only successes are kept by content.
        self._server.results.put(subject.uri, record, key if record.ok else None)
        self._announce(subject, record)
        return {
            "ok": record.ok,
            "kind": kind,
            "derivative": subject.name,
            "message": record.headline,
            "values": [{"name": name, "value": value} for name, value in record.values],
            "data": dict(record.data),
        }

    async def _compute(self, kind: str, subject: Subject, token: t.ProgressToken | None) -> Record:
        title = f"{'Running' if kind == 'run' else 'Checking'} {subject.name}"
        settings = self._server.settings
        command = "run" if kind == "run" else "gradcheck"
        limits = ["--timeout", f"{settings.run_time_limit:g}", "--memory", str(settings.run_memory_limit)]
        finished, names = await self._job([command], ["--json", *limits], subject, title, token)
        return record_of(
            kind, subject.name, finished, subject.source, subject.function, names, settings.run_time_limit
        )

    async def _job(
        self,
        before: Sequence[str],
        after: Sequence[str],
        subject: Subject,
        title: str,
        token: t.ProgressToken | None,
    ) -> tuple[Finished, frozenset[str]]:
        """Runs a subcommand on the subject; returns its end and the names that messages give the file."""
        settings = self._server.settings
        if not settings.run_enable:
            raise Refused("nothing is compiled or run here: `ferrodiff.run.enable` is off")
        common: list[str] = []
        if settings.run_toolchain:
            common += ["--toolchain", settings.run_toolchain]
        text = subject.source.text
        with standing_for(subject.path, text) as path:
            words = [*before, str(path), subject.name, "--unsaved", *after, *common]
            async with Progress(self._server, title, token) as progress:
                finished = await run_job(
                    words,
                    text.encode("utf-8", "replace"),
                    timeout=settings.run_time_limit + _COMPILE_SECONDS,
                    cancelled=progress.cancelled,
                )
                progress.finish("cancelled" if finished.cancelled else "done")
        return finished, frozenset({str(path), path.name})

    def _announce(self, subject: Subject, record: Record) -> None:
        self._server.call(self._server.on_results)
        self._server.refresh()
        kind = t.MessageType.Info if record.ok else t.MessageType.Error
        if record.headline != "cancelled":
            what = subject.name if record.kind == "run" else f"gradient of {subject.name}"
            self._server.show_message(kind, f"{what}: {record.headline}")

    # -- documents -----------------------------------------------------------------------------------

    async def show_ir(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        stage = arguments.get("stage", "optimized")
        if stage not in STAGES:
            raise Refused(f"`stage` must be one of {', '.join(STAGES)}, not {stage!r}")
        return await self._show("ir", arguments, token, ["--stage", stage], stage)

    async def show_asm(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        return await self._show("asm", arguments, token, ["--asm"])

    async def show_tape(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        return await self._show("tape", arguments, token, ["--report"])

    async def _show(
        self,
        kind: str,
        arguments: Mapping[str, str],
        token: t.ProgressToken | None,
        words: Sequence[str],
        stage: str = "",
    ) -> dict[str, Any]:
        subject = self._subject(arguments)
        title = f"Compiling {subject.name}"
        finished, names = await self._job(["ir"], words, subject, title, token)
        if finished.code != 0 or finished.cancelled or finished.timed_out:
            limit = self._server.settings.run_time_limit + _COMPILE_SECONDS
            record = record_of("run", subject.name, finished, subject.source, subject.function, names, limit)
            self._server.results.put(subject.uri, record, None)
            self._announce(subject, record)
            return {"ok": False, "message": record.headline}
        virtual = Virtual(kind, subject.uri, subject.name, stage)
        uri = self._server.virtual.store(virtual, finished.stdout, subject.source.text)
        return await self._open(virtual, uri, finished.stdout)

    async def show_expansion(
        self, arguments: Mapping[str, str], token: t.ProgressToken | None
    ) -> dict[str, Any]:
        return await self._show_text("expansion", arguments)

    async def show_source(
        self, arguments: Mapping[str, str], token: t.ProgressToken | None
    ) -> dict[str, Any]:
        return await self._show_text("source", arguments)

    async def _show_text(self, kind: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        virtual = Virtual(kind, arguments["uri"])
        return await self._open(virtual, virtual.uri, self._server.virtual.content(virtual.uri))

    async def _open(self, virtual: Virtual, uri: str, text: str) -> dict[str, Any]:
        """Shows a document: as a virtual one where the client reads those, else as a temporary file."""
        shown = uri
        if not self._server.reads_virtual and self._server.abilities.show_document:
            shown = uri_of(
                self._server.scratch(f"{virtual.derivative or 'file'}.{SUFFIXES[virtual.kind]}", text)
            )
        if self._server.abilities.show_document:
            try:
                show = t.ShowDocumentParams(shown, take_focus=False)
                await asyncio.wait_for(self._server.protocol.ask(t.WINDOW_SHOW_DOCUMENT, show), 5.0)
            except Exception as error:
                logger.warning("the client did not show %s: %s", shown, error)
        return {"ok": True, "uri": shown, "text": text}

    # -- the rest ------------------------------------------------------------------------------------

    async def info(self, arguments: Mapping[str, str], token: t.ProgressToken | None) -> dict[str, Any]:
        return {
            "version": version(),
            "python": sys.executable,
            "encoding": self._server.encoding,
            "diagnostics": "pull" if self._server.abilities.pull else "push",
            "files": len(self._server.index),
            "indexed": self._server.index.complete,
        }

    def _subject(self, arguments: Mapping[str, str]) -> Subject:
        uri, name = arguments["uri"], arguments["derivative"]
        for known, _, analysis in self._server.analyses():
            if same_uri(known) == same_uri(uri):
                found = derivative_of(analysis, name)
                if found is None:
                    raise Refused(f"there is no derivative called `{name}` in {uri}")
                return Subject(known, analysis.source, *found)
        raise Refused(f"{uri} is not open and has no annotations")


def arguments_of(command: str, arguments: Sequence[Any] | None) -> dict[str, str]:
    """The one object that every command takes, or two strings: a URI and a derivative's name."""
    items = list(arguments or ())
    needed = _NEEDED[command]
    if items and all(isinstance(item, str) for item in items):
        given: Any = dict(zip(("uri", "derivative", "stage"), items, strict=False))
    else:
        given = items[0] if items else {}
    if not isinstance(given, Mapping) or len(items) > 3:
        raise Refused(f"{command} takes one object with {_listed(needed)}")
    result = {str(key): value for key, value in given.items() if isinstance(value, str)}
    missing = [key for key in needed if not result.get(key)]
    if missing:
        raise Refused(f"{command} needs {_listed(missing)}")
    return result


def _listed(keys: Sequence[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys) or "nothing"


Handler = Callable[[Executor, Mapping[str, str], "t.ProgressToken | None"], Awaitable[Any]]

COMMANDS: Mapping[str, Handler] = {
    RUN: Executor.run,
    CHECK: Executor.check,
    SHOW_IR: Executor.show_ir,
    SHOW_ASM: Executor.show_asm,
    SHOW_TAPE: Executor.show_tape,
    SHOW_EXPANSION: Executor.show_expansion,
    SHOW_SOURCE: Executor.show_source,
    SERVER_INFO: Executor.info,
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((RUN, CHECK, SHOW_IR, SHOW_ASM, SHOW_TAPE), ("uri", "derivative")),
    **dict.fromkeys((SHOW_EXPANSION, SHOW_SOURCE), ("uri",)),
    SERVER_INFO: (),
}
