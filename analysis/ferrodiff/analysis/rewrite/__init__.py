"""Annotated source to plain stable Rust, and to programs that run one derivative.

`rewrite` keeps every line where it is: generated derivatives stand on their annotations' lines, helpers after
the last line of the file. `driver` adds a `main` that calls one derivative and prints what comes out.
"""

from ferrodiff.analysis.rewrite.driver import Driver, NoDriver, driver, starter
from ferrodiff.analysis.rewrite.gradient import gradient_check
from ferrodiff.analysis.rewrite.inputs import Input
from ferrodiff.analysis.rewrite.source import Derivative, Note, Rewritten, rewrite

__all__ = [
    "Derivative",
    "Driver",
    "Input",
    "NoDriver",
    "Note",
    "Rewritten",
    "driver",
    "gradient_check",
    "rewrite",
    "starter",
]
