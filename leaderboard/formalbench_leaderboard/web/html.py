"""HTML in which text is text: what is not `Html` already is made harmless and escaped."""

from __future__ import annotations

from html import escape

from formalbench.analysis.text import harmless

_EMPTY = frozenset({"br", "col", "input", "meta"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | None
"""`Html` as it is, any other text escaped, None is nothing."""


def element(name: str, /, *contents: Content, **attributes: str | bool | None) -> Html:
    """Return an element.

    Args:
        name: of the element.
        contents: what is in it.
        attributes: ``for_`` is ``for``, ``data_sort`` is ``data-sort``; True is an attribute
            without a value, None and False are none.

    Example:
        >>> element("td", "a<b", class_="number")
        '<td class="number">a&lt;b</td>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(*contents)}</{name}>")


def joined(*contents: Content) -> Html:
    """Return several contents, one after another."""
    return Html("".join(_text(part) for part in contents if part is not None))


def _text(content: str) -> str:
    if isinstance(content, Html):
        return content
    clean = escape(harmless(content))
    if not clean:
        return " " if content else ""
    # The space that parts text from the element beside it.
    return f"{' ' * content[0].isspace()}{clean}{' ' * content[-1].isspace()}"
