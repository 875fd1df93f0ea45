"""Templates: what they print is text, and a field that is not given is an error."""

from __future__ import annotations

import pytest
from formalbench.documents.templates import Latex, Markdown, Templates
from jinja2 import UndefinedError
from markupsafe import Markup

HOSTILE = "<b>|`_*&#x7c;{}\\input{x}%$\n# head\u202e\x1b[0m"


@pytest.fixture
def render(tmp_path):
    """Render a text as a template of some format."""

    def render(form, text, **fields):
        (tmp_path / f"it{form}.j2").write_text(text, encoding="utf-8")
        return Templates(tmp_path).render(f"it{form}.j2", **fields)

    return render


ESCAPED = {
    ".md": "&lt;b&gt;&#124;&#96;&#95;&#42;&amp;&#35;x7c;{}&#92;input{x}%&#36; "
    "&#35; head��&#91;0m\n",
    ".tex": r"\ensuremath{<}b\ensuremath{>}\textbar{}\textasciigrave{}\_*\&\#x7c;"
    r"\{\}\textbackslash{}input\{x\}\%\$ \# head��[0m" + "\n",
    ".html": "&lt;b&gt;|`_*&amp;#x7c;{}\\input{x}%$ # head��[0m",
}
ESCAPED[".svg"] = ESCAPED[".html"]


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("way", ["{{ x }}", "{% for y in [x] %}{{ y }}{% endfor %}"])
def test_what_is_printed_is_text(render, form, way):
    assert render(form, way, x=HOSTILE) == ESCAPED[form]


@pytest.mark.parametrize("form", ESCAPED)
def test_what_is_printed_is_no_template(render, form):
    told = render(form, "{{ x }}", x="{{ 7 * 7 }}{% include 'it.md.j2' %}{# y #}")
    assert "49" not in told
    assert "include" in told
    assert "y" in told


@pytest.mark.parametrize(
    ("form", "kind"), [(".md", Markdown), (".tex", Latex), (".html", Markup), (".svg", Markup)]
)
def test_what_is_written_in_the_format_already_stays(render, form, kind):
    assert render(form, "{{ x }}", x=kind("<b>_|")).strip() == "<b>_|"


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("kind", [Markdown, Latex])
def test_what_is_written_in_another_format_is_text(render, form, kind):
    if (form, kind) not in {(".md", Markdown), (".tex", Latex)}:
        assert render(form, "{{ x }}", x=kind(HOSTILE)) == ESCAPED[form]


@pytest.mark.parametrize("form", ESCAPED)
def test_put_together_it_is_text_again(render, form):
    ways = "{{ [x, ''] | join }}", "{{ x ~ '' }}", "{{ x + '' }}"
    for way in ways:
        assert render(form, way, x=HOSTILE) == ESCAPED[form]


@pytest.mark.parametrize("form", ESCAPED)
def test_a_field_that_is_not_given_is_an_error(render, form):
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        render(form, "{{ x }}")
    with pytest.raises(UndefinedError, match="y"):
        render(form, "{{ x.y }}", x={})
    assert render(form, "a{{ x }}b", x=None).strip() == "ab"


def test_blank_lines_in_a_row_are_one(render):
    airy = "\n\na\n\n\n{% if x %}\nb\n{% endif %}\n\n \n\nc\n\n"
    assert render(".md", airy, x=False) == "a\n\nc\n"
    assert render(".md", airy, x=True) == "a\n\nb\n\nc\n"
    assert render(".html", airy, x=True) == airy.replace("{% if x %}\n", "").replace(
        "{% endif %}\n", ""
    )


