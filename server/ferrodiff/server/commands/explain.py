"""`ferrodiff explain FDnnn`: what a diagnostic means, with an example, as rustc's `--explain`."""

from __future__ import annotations

import argparse
import difflib

from ferrodiff.analysis.diagnostics import codes
from ferrodiff.analysis.diagnostics.docs import page
from ferrodiff.server.errors import Failure


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "code", metavar="CODE", nargs="?", help="as FD004, or its name; without one, all are listed"
    )


def run(options: argparse.Namespace) -> int:
    """Prints a page, or a line for each code."""
    rules = codes()
    if options.code is None:
        for rule in rules.values():
            print(f"{rule.code}  {rule.name:<24}  {rule.severity.value:<11}  {rule.says}")
        return 0
    names = {rule.name: rule for rule in rules.values()}
    found = rules.get(options.code.upper()) or names.get(options.code)
    if found is None:
        close = difflib.get_close_matches(options.code, names, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "`ferrodiff explain` lists them"
        raise Failure(f"no diagnostic is called `{options.code}`", help=hint)
    print(page(found).rstrip())
    return 0
