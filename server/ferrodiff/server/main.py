"""The `ferrodiff` command: chooses a subcommand and turns every failure into one message.

Only the chosen subcommand's module is imported, so that `ferrodiff check` starts without LLVM.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, TextIO, cast

from ferrodiff.server.errors import EXIT_USAGE, Failure, Reported

PROGRAM = "ferrodiff"
REPORT = "`--verbose` shows where; please report it with the file that caused it"

COMMANDS: dict[str, str] = {
    "check": "diagnostics of every annotation in files or folders",
    "explain": "what a diagnostic means, with an example",
    "expand": "the signatures of the generated functions, or the rewritten file",
    "build": "compile a program in which every annotated derivative exists",
    "run": "call one derivative and print the primal and its derivatives",
    "gradcheck": "compare one derivative with finite differences",
    "ir": "LLVM IR of a derivative at a stage, or the report of its tape",
    "derive": "derivatives of functions in LLVM IR from any compiler",
    "doctor": "what is installed, what works and what is missing",
    "lsp": "the language server",
}


class Command(Protocol):
    """What a module in `ferrodiff.server.commands` offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declares the subcommand's arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Does the work and returns the exit code; raises `Failure` or `Reported`."""


class _Parser(argparse.ArgumentParser):
    """Wrong arguments are one message like every other, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        """Raises `Failure`."""
        raise Failure(message, help=f"`{self.prog} --help` explains the arguments")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `ferrodiff` command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    verbose = "--verbose" in words
    _open_missing_streams()
    try:
        code = _command(words)
        sys.stdout.flush()
        return code
    except Reported as problem:
        _print_error(problem.text)
        return problem.exit_code
    except Failure as failure:
        _print_error(failure.render(verbose))
        return failure.exit_code
    except KeyboardInterrupt:
        _print_error("error: interrupted")
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except RecursionError as error:
        return _unexpected(error, verbose, "the input is nested too deeply")
    except OSError as error:
        if error.filename is None:
            _silence_stdout()
        where = (
            f"access `{os.fsdecode(error.filename)}`" if error.filename is not None else "write the output"
        )
        return _unexpected(error, verbose, f"cannot {where}: {(error.strerror or str(error)).lower()}", "")
    except Exception as error:
        return _unexpected(error, verbose, f"internal error: {type(error).__name__}: {error}", REPORT)


def _command(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        _print_overview(sys.stdout if words else sys.stderr)
        return 0 if words else EXIT_USAGE
    if words[0] in ("-V", "--version"):
        from ferrodiff.server.version import version

        print(f"{PROGRAM} {version()}")
        return 0
    if words[0] not in COMMANDS:
        return _unknown_command(words[0])
    return _dispatch(words[0], words[1:])


def _dispatch(name: str, words: list[str]) -> int:
    command = cast(Command, importlib.import_module(f"ferrodiff.server.commands.{name}"))
    parser = _Parser(prog=f"{PROGRAM} {name}", description=COMMANDS[name], allow_abbrev=False)
    parser.add_argument("--verbose", action="store_true", help="show details of failures")
    command.configure(parser)
    if name != "lsp":
        with contextlib.suppress(ValueError):  # not in the main thread
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, _interrupt)
    return command.run(parser.parse_args(words))


def _open_missing_streams() -> None:
    """A caller may have closed a standard stream; what would go there goes nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _interrupt(number: int, frame: object) -> None:
    """Being terminated cleans up like being interrupted: child processes end, temporary folders go."""
    raise KeyboardInterrupt


def _unexpected(error: BaseException, verbose: bool, message: str, help: str = REPORT) -> int:
    import traceback

    details = "".join(traceback.format_exception(error))
    help_text = None if verbose else help or None
    failure = Failure(message, help=help_text, details=details if verbose else None, exit_code=EXIT_USAGE)
    _print_error(failure.render(verbose))
    return failure.exit_code


def _unknown_command(word: str) -> int:
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"did you mean `{PROGRAM} {close[0]}`?" if close else f"`{PROGRAM} --help` lists the commands"
    _print_error(Failure(f"no such command: `{word}`", help=hint).render())
    return EXIT_USAGE


def _print_overview(stream: TextIO) -> None:
    lines = [
        f"usage: {PROGRAM} COMMAND ...",
        "",
        "derivatives of annotated Rust functions (std::autodiff)",
        "",
    ]
    lines += [f"  {name:<10} {text}" for name, text in COMMANDS.items()]
    lines += ["", f"`{PROGRAM} COMMAND --help` explains a command; `{PROGRAM} --version` prints the version."]
    print("\n".join(lines), file=stream)


def _print_error(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    print(text, file=sys.stderr)


def _silence_stdout() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
