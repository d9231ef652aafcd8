# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' own Python packages, in .build/benchmark-python."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build" / "benchmark-python"
LIST = ROOT / "benchmarks" / "requirements.txt"


def python():
    """The interpreter that has them; installs them first if they are missing or others."""
    installed = PLACE / "installed.txt"
    program = PLACE / "bin" / "python"
    if not installed.exists() or installed.read_text() != LIST.read_text() or not program.exists():
        print("benchmark: installing Python packages", file=sys.stderr, flush=True)
        subprocess.run(
            ["/usr/bin/python3", "-m", "venv", "--clear", str(PLACE)], check=True, stdout=sys.stderr)
        subprocess.run(
            [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
             "--requirement", str(LIST)], check=True, stdout=sys.stderr)
        installed.write_text(LIST.read_text())
    return program
