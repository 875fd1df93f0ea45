"""Draw what a terminal shows of a run and its board: `make picture` writes docs/terminal.svg.

The run is a real one, of minutes. Rich draws the picture. It names no font to be fetched, since
pages that show it as an image fetch nothing.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

COMMAND = "formalbench run --model regulargpt --task parity,cycle-navigation"
"""What `make demo` runs."""

PICTURE = Path(__file__).with_name("terminal.svg")
WIDTH = 108

_CONTROL = re.compile(r"(\x1b\[\?25[lh]|\x1b\[\d*A|\x1b\[2K|\r|\n)")
_FONT_FACE = re.compile(r"@font-face \{\{.*?\}\}\n", re.DOTALL)


def shown(stream: str) -> str:
    """Return what is left on a screen of a stream whose lines are erased, without empty lines.

    Example:
        >>> shown("one\\ntwo\\r\\x1b[2K\\x1b[1A\\x1b[2Kthree\\n")
        'three'
    """
    lines, at = [""], 0
    for part in _CONTROL.split(stream):
        if part == "\n":
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif part == "\x1b[2K":
            lines[at] = ""
        elif part.endswith("A") and part.startswith("\x1b["):
            at -= int(part[2:-1] or 1)
        elif not _CONTROL.fullmatch(part):
            lines[at] += part
    return "\n".join(line.rstrip() for line in lines if line.strip())


def picture(command: str, output: str) -> str:
    """Return the SVG of a terminal after a command.

    Args:
        command: what was typed.
        output: what it printed, with its colours as ANSI codes.
    """
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "green"), (command, "bold")))
    console.print(Text.from_ansi(output.rstrip()))
    layout = _FONT_FACE.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="formalbench", code_format=layout, unique_id="terminal")


def main() -> None:
    """Run the command, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "LINES": "60"}
        places = {
            f"FORMALBENCH_{name.upper()}": f"{folder}/{name}" for name in ("results", "cache")
        }
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(  # noqa: S603 - a program of ours
            COMMAND.split(),
            cwd=folder,
            env=environment | places | {"PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        output = shown(done.stderr) + "\n\n" + done.stdout
        PICTURE.write_text(picture(COMMAND, output.replace(folder, "~")), "utf-8")


if __name__ == "__main__":
    main()
