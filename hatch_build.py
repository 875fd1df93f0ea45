"""Writes the commit that a wheel is built from into it, where its records find it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds ``formalbench/_commit.txt``; an editable installation asks git itself."""

    PLUGIN_NAME = "custom"
    written: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file; an sdist that is built elsewhere has it already."""
        package = Path("benchmark", "formalbench")
        commit = runpy.run_path(str(Path(self.root) / package / "commit.py"))
        told = commit["commit_of"](Path(self.root))
        if version == "editable" or not told:
            return
        self.written = written = Path(self.directory) / commit["FILE"]
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(f"{told}\n", "utf-8")
        place = package if self.target_name == "sdist" else Path("formalbench")
        build_data["force_include"][str(written)] = str(place / commit["FILE"])

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what `initialize` wrote outside the artifact, and nothing else.

        An sdist's `force_include` names files of the project as well.
        """
        if self.written:
            self.written.unlink(missing_ok=True)
