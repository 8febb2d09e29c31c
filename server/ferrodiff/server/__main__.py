"""`python -m ferrodiff.server` is the `ferrodiff` command."""

from __future__ import annotations

import sys

from ferrodiff.server.main import main

if __name__ == "__main__":
    sys.exit(main())
