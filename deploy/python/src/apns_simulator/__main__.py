# SPDX-License-Identifier: Apache-2.0
"""The command ``apns-simulator``: becomes the program of this package."""

import os
import sys

from .gateway import GatewayError, program_path


def main() -> None:
    """Runs the program with the arguments of this process."""
    try:
        program = program_path()
    except GatewayError as error:
        sys.exit(f"apns-simulator: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
