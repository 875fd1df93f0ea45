"""The commands that documents show, and a program that runs them in the environment it is run by.

`make test-base` runs it in an environment that has the base packages alone. It needs no package
itself, so that one which only an extra installs is missed where it is needed.

    build/base-venv/bin/python tests/documented_commands.py [WORD]    # those with a word in them
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/tutorial.ipynb")

ALSO = (
    "formalbench check lstm",
    "formalbench check encoder-decoder",
    "formalbench list metrics",
    "formalbench list optimisers",
    "formalbench plugins",
    "formalbench reproduce yao-theorem-4-3",
)
"""Run as well: other things that need a package."""

NOT_RUN = {
    "formalbench --install-completion": "changes the start-up file of a shell",
    "formalbench leaderboard publish": "needs all runs of a suite, trained in full",
    "formalbench leaderboard audit": "needs the weights of a release, or minutes of training",
    "formalbench leaderboard weights pack": "needs the weights of a release",
    "formalbench leaderboard fill --hours": "trains for hours",
    "formalbench leaderboard fill --device cuda": "needs a GPU",
    "formalbench leaderboard fill --executor slurm": "needs a cluster",
}
"""By how a command begins: why it is not run."""

NEEDS_EXTRA = {"--tracker tensorboard": "tensorboard"}
"""By a part of a command: the extra that it needs, which the page must name on the same line."""

SHORT = """
    protocol.steps=40 protocol.evaluate_every=20 protocol.decay.steps=20 protocol.batch=8
    protocol.validation.every=20 protocol.validation.lengths=2 protocol.validation.strings=8
    protocol.test.lengths=2 protocol.test.strings=8
"""
"""What a training is run with, for seconds in place of minutes."""

RECORDS = "leaderboard/results/default/lstm"
"""What the folder ``runs`` of the pages holds."""

PATIENCE = 900
"""Seconds for one command."""

_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^    (.*)$", re.MULTILINE)
_COMMAND = re.compile(
    r"^(?:\$ |!)?((?:(?:echo|printf) [^|\n]*\| *)?)(?:(?:~|\.venv)/\S*/)?(formalbench [^\n]*)$",
    re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)`(formalbench [^`\n]*)`(?!`)")


def text_of(page: Path) -> str:
    """Return the text of a page; of a notebook its cells, those of code as blocks."""
    text = page.read_text("utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return "\n\n".join(f"```\n{it}\n```" if kind == "code" else it for kind, it in cells)


def shown(page: Path) -> list[str]:
    """Return the commands of a page's blocks, and those in its sentences that have options.

    A command has what is piped into it, and the comment behind it.
    """
    text = text_of(page).replace("\\\n", " ")
    blocks = [*_FENCED.findall(text), *_INDENTED.findall(text)]
    found = [fed + line for block in blocks for fed, line in _COMMAND.findall(block)]
    inline = [code for code in _INLINE.findall(text) if " --" in code and "…" not in code]
    return list(dict.fromkeys([*found, *inline]))


def bare(line: str) -> str:
    """Return a command without the comment behind it."""
    return line.partition(" #")[0].strip()


def files_of(page: Path) -> dict[str, str]:
    """Return the files that a page shows: blocks whose first line is a comment with the name."""
    blocks = _FENCED.findall(text_of(page))
    found = (re.match(r"# (\S+\.yaml)\n", block) for block in blocks)
    return {match[1]: match.string for match in found if match}


def as_run(command: str) -> str:
    """Return a command as it is run: a training is a short one, and a plugin is named."""
    if "formalbench run " in command:
        command += "".join(f" --set {setting}" for setting in SHORT.split())
        command += "" if "--seeds" in command else " --seeds 1"
        if "--model my-network" in command and "--plugin" not in command:
            command += " --plugin my_network.py:MyNetwork"  # the page says so
    if "formalbench reproduce chi" in command:
        command += " --no-training"
    return command


def run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a command; return what is wrong with it, or nothing."""
    command = bare(line)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", as_run(command)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    said = f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    for part, extra in NEEDS_EXTRA.items():
        if part in command:
            right = done.returncode == 2 and f"formalbench[{extra}]" in done.stderr
            if f"`{extra}`" not in line:
                return f"the page does not name the extra `{extra}` beside it"
            return "" if right else f"should need the extra {extra}: {said}"
    return "" if done.returncode == 0 else said


def main(word: str = "") -> int:
    """Run the commands of every page, each page in a copy of the repository's results."""
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = {
            **{key: value for key, value in os.environ.items() if "FORMALBENCH" not in key},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(place),
            "FORMALBENCH_CACHE": str(place / "cache"),
            "FORMALBENCH_RESULTS": str(place / "results"),
        }
        for page in (*PAGES, ""):
            folder = place / f"in-{Path(page).stem}"
            shutil.copytree(ROOT / "leaderboard", folder / "leaderboard")
            shutil.copytree(ROOT / RECORDS, folder / "runs")
            for file, text in files_of(ROOT / page).items() if page else ():
                (folder / file).write_text(text, "utf-8")
            for line in shown(ROOT / page) if page else ALSO:
                reasons = [why for begin, why in NOT_RUN.items() if line.startswith(begin)]
                if word not in line or re.search(r" [A-Z]+\b", bare(line)):
                    continue
                if reasons:
                    print(f"not run  {bare(line)}  ({reasons[0]})", flush=True)
                    continue
                start = time.monotonic()
                problem = run(line, folder, environment)
                count, failed = count + 1, failed + bool(problem)
                seconds = f"{time.monotonic() - start:.0f} s"
                print(f"{'FAIL' if problem else 'ok'}  {bare(line)}  ({seconds})", flush=True)
                if problem:
                    print(problem, flush=True)
    print(f"{count} commands, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
