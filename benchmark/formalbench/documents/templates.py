"""Documents from Jinja2 templates, with text escaped for the format of the document.

A template's name contains its format: ``front.md.j2``, ``board.tex.j2``, ``page.html.j2``. All
values are escaped as plain text, except those with the type of that format: `Markdown`, `Latex`, or
`markupsafe.Markup` for HTML and SVG. A field that the template uses and the caller does not pass is
an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from formalbench.documents import text
from formalbench.documents.markup import Markdown, bullets, code, table

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


class Latex(str):
    """Text that is already LaTeX."""

    __slots__ = ()


class Templates:
    """The templates in some folders.

    Example:
        >>> pages = Templates(Path(__file__).parent / "templates")  # doctest: +SKIP
        >>> pages.render("model.md.j2", name="a_b|c")  # doctest: +SKIP
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._environment = cache(self._make_environment)

    def render(self, template: str, /, **fields: Any) -> str:
        """Return a rendered template.

        In Markdown and LaTeX, several blank lines become one, so that templates can be spaced out.

        Args:
            template: the name of the template, such as ``front.md.j2``.
            fields: the values of its fields, which are escaped for the format.

        Raises:
            jinja2.UndefinedError: if it uses a field that is not given.
        """
        form = Path(template).suffixes[-2]
        document = self._environment(form).get_template(template).render(fields)
        if form in (".md", ".tex"):
            document = _BLANK_LINES.sub("\n\n", document).strip() + "\n"
        return document

    def _make_environment(self, form: str) -> Environment:
        environment = Environment(
            loader=FileSystemLoader(self._folders),
            undefined=StrictUndefined,
            autoescape=form in (".html", ".svg"),  # noqa: S701 - the others escape by `finalize`
            finalize=_ESCAPES[form],
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        environment.filters |= _FILTERS | (_OF_MARKDOWN if form == ".md" else {})
        return environment


def _escape(write: Callable[[str], str], form: type[str]) -> Callable[[object], str]:
    """Return a function that escapes values, except those already in the format."""

    def escape(value: object) -> str:
        if value is None:
            return ""
        return value if isinstance(value, form) else write(str(value))

    return escape


# Jinja2 itself escapes HTML in texts.
_HTML = _escape(text.harmless, Markup)

_ESCAPES = {
    ".html": _HTML,
    ".svg": _HTML,
    ".md": _escape(text.markdown, Markdown),
    ".tex": _escape(text.latex, Latex),
}

_FILTERS: dict[str, Callable[..., str]] = {
    "percent": text.percent,
    "interval": text.interval,
    "grouped": text.grouped,
    "plural": text.plural,
}

_OF_MARKDOWN: dict[str, Callable[..., str]] = {"bullets": bullets, "code": code, "table": table}
