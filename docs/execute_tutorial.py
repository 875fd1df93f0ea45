"""Execute docs/tutorial.ipynb and keep its outputs: `make tutorial`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")


def main() -> None:
    """Execute the notebook in an empty folder, and write it back."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        os.environ |= {f"FORMALBENCH_{name}": f"{folder}/{name}" for name in ("RESULTS", "CACHE")}
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=600, resources=place, record_timing=False)
        client.execute()
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
