# SPDX-License-Identifier: GPL-3.0-or-later
"""The command farwire of the wheel: becomes the program that the wheel contains."""

import os
import sys

from ._program import environment, program
from .errors import ProgramNotFound


def main() -> None:
    try:
        path = program()
        os.execve(path, ["farwire", *sys.argv[1:]], environment(path))
    except (ProgramNotFound, OSError) as error:
        sys.exit(f"farwire: {error}")


if __name__ == "__main__":
    main()
