"""The failures a user can meet, as exceptions that carry a finished message."""

from __future__ import annotations

EXIT_PROBLEMS = 1
EXIT_USAGE = 2


class Failure(Exception):
    """A clear message for the user that ends the command.

    `help` is what the user can do about it, `details` is shown only with `--verbose`,
    `exit_code` is 1 when the user's program is at fault and 2 for usage and I/O.
    """

    def __init__(
        self,
        message: str,
        *,
        help: str | None = None,
        details: str | None = None,
        exit_code: int = EXIT_USAGE,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.details = details
        self.exit_code = exit_code

    def render(self, verbose: bool = False) -> str:
        """The message in rustc's shape, without a trailing newline."""
        lines = [f"error: {self.message}"]
        if self.help:
            lines.append(f"  = help: {self.help}")
        if self.details:
            if verbose:
                lines.append("  = note: details follow")
                lines.extend(f"    {line}" for line in self.details.rstrip().splitlines())
            else:
                lines.append("  = note: `--verbose` shows more")
        return "\n".join(lines)


class Reported(Exception):
    """Problems that have been rendered already; `text` is ready to print and ends the command."""

    def __init__(self, text: str, exit_code: int = EXIT_PROBLEMS) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code
