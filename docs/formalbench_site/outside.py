"""Links to files and folders of the repository that are no pages of the site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class OutsideLinks(SphinxTransform):
    """Leads them to the repository: on the web, if its address is known, else on this disk.

    Markdown has them as on GitHub, relative to the file. What leads nowhere is left alone, and
    MyST warns of it.
    """

    default_priority = 100

    def apply(self) -> None:
        """Replace the links of a page."""
        for node in list(self._links()):
            path, anchor = self._target(node)
            if path.exists() and path.is_relative_to(self.env.srcdir):
                address = self._address(path) + (f"#{anchor}" if anchor else "")
                link = nodes.reference("", "", *node.children, refuri=address, internal=False)
                if not isinstance(node.parent, nodes.TextElement):
                    link = nodes.paragraph("", "", link)
                node.replace_self(link)

    def _links(self) -> Iterator[nodes.Element]:
        for node in self.document.findall(nodes.Element):
            is_link = isinstance(node, addnodes.pending_xref | addnodes.download_reference)
            known = node.get("refdomain") == "doc" and node["reftarget"] in self.env.found_docs
            if is_link and node.get("reftype") == "myst" and not known:
                yield node

    def _target(self, node: nodes.Element) -> tuple[Path, str]:
        """Return the file or folder that a link means, and the place in it."""
        if node.get("refdomain") == "doc":  # a Markdown file that is no page
            page = Path(self.env.srcdir, f"{node['reftarget']}.md")
            return page, node.get("reftargetid") or ""
        target, _, anchor = node["reftarget"].partition("#")
        here = Path(self.env.doc2path(node["refdoc"])).parent
        return Path(os.path.normpath(here / target)), anchor

    def _address(self, path: Path) -> str:
        inside = path.relative_to(self.env.srcdir).as_posix()
        if self.config.repository:
            kind = "tree" if path.is_dir() else "blob"
            return f"{self.config.repository}/{kind}/{self.config.commit}/{inside}"
        page = Path(self.app.outdir, self.env.docname)
        return Path(os.path.relpath(path, page.parent)).as_posix()
