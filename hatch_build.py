"""What a package has besides the project's files: its commit, and a README for the package index.

A wheel contains the commit that it is built from, where its records find it. On a package index
relative links lead nowhere: they become absolute, or text while the project has no address.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = r"(?!https?:|mailto:|#)([^)\s\"]+)"
_IMAGE = re.compile(rf"!\[([^\]]*)\]\({_RELATIVE}\)")
_LINK = re.compile(rf"(?<!!)\[([^\]]+)\]\({_RELATIVE}\)")
_ATTRIBUTE = re.compile(rf'\b(href|src|srcset)="{_RELATIVE}"')
_FIGURE = re.compile(r"(?ms)^<a href=\"(?!https?:).*?^</a>\n\n.*?\n\n")
_INTRODUCED = re.compile(rf"(?m)^[^\n]*:\n\n!\[[^\]]*\]\({_RELATIVE}\)\n\n")


def readme_for_index(text: str, address: str, ref: str) -> str:
    """Return the README as a package index shows it.

    Args:
        text: the README of the repository.
        address: of the repository, without a slash at its end; empty if it has none yet.
        ref: the tag whose files links lead to.
    """
    if not address:
        text = _INTRODUCED.sub("", _FIGURE.sub("", text))
        return _LINK.sub(r"\1", _IMAGE.sub("", text))
    raw, page = f"{address}/raw/{ref}/", f"{address}/blob/{ref}/"
    text = _LINK.sub(rf"[\1]({page}\2)", _IMAGE.sub(rf"![\1]({raw}\2)", text))
    return _ATTRIBUTE.sub(lambda m: f'{m[1]}="{page if m[1] == "href" else raw}{m[2]}"', text)


class ReadmeHook(MetadataHookInterface):
    """Sets the project's readme."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata of a package."""
        text = Path(self.root, "README.md").read_text("utf-8")
        address = str(metadata.get("urls", {}).get("Repository", "")).rstrip("/")
        shown = readme_for_index(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}


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
