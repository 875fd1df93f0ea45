"""What makes the site more than its Markdown: reference pages, and links to the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench_site import commands, facade, hooks, options, protocols

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "reference"
"""Where the reference pages are written, each time the site is built; git does not keep them."""

PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands.page,
    "protocols": protocols.page,
    "options": options.page,
    "python": facade.page,
    "hooks": hooks.page,
}
"""By name, what makes the Markdown of a reference page."""

NOTE = "<!-- Written when the site is built: change the code that it is about. -->\n"


def write_references(app: Sphinx) -> None:
    """Write every reference page, and remove what is none any more."""
    FOLDER.mkdir(exist_ok=True)
    pages = {FOLDER / f"{name}.md": make() + NOTE for name, make in PAGES.items()}
    for old in set(FOLDER.iterdir()) - pages.keys():
        old.unlink()
    for path, text in pages.items():
        if not path.is_file() or path.read_text("utf-8") != text:  # else it need not be read again
            path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the build."""
    from formalbench_site.outside import OutsideLinks

    app.add_config_value("repository", "", "env", str)
    app.add_config_value("commit", "main", "env", str)
    app.connect("builder-inited", write_references)
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
