"""Tables in Markdown: what fits on a page stands in one, what does not in several."""

import pytest
from formalbench.documents.markup import (
    MOST_COLUMNS,
    PAGE,
    least_width,
    name,
    table,
)
from formalbench.documents.table import Column, Sheet


def sheet(*columns):
    """Return a table of one row: a model, and what is given."""
    first = Column("rank", "", lambda item: "1")
    model = Column("model", "", lambda item: "rnn[chunk=3]", form="name")
    return Sheet([first, model, *columns], [None])


def column(heading, text="1.0", form="number"):
    return Column(heading, "", lambda item: text, form=form)


def parts(shown):
    """Return the headings of each table."""
    heads = [part.splitlines()[0] for part in table(shown).split("\n\n")]
    return [[cell.strip() for cell in head.strip("|").split("|")] for head in heads]


def test_more_columns_than_fit_begin_again_with_what_tells_rows_apart():
    names = [f"t{number}" for number in range(25)]
    found = parts(sheet(*map(column, names)))
    assert [len(part) for part in found] == [12, 12, 7]
    assert MOST_COLUMNS == 12
    assert all(part[:2] == ["rank", "model"] for part in found)
    assert [one for part in found for one in part[2:]] == names


def test_columns_of_long_words_begin_again_sooner():
    wide = [column(f"{'n' * 30}{number}") for number in range(4)]
    found = parts(sheet(*wide))
    assert [len(part) for part in found] == [4, 4]
    assert parts(sheet(column("few words " * 40, "long lines of short words " * 40))) == [
        ["rank", "model", " ".join(["few words"] * 40)]
    ]


def test_one_word_that_is_too_long_for_any_page_stands_alone():
    found = parts(sheet(column("a"), column("b", "n" * 500), column("c")))
    assert found == [["rank", "model", one] for one in ("a", "b", "c")]


def test_a_command_to_copy_goes_below_where_it_makes_a_table_too_wide():
    command = "formalbench run --model transformer[positions=relative] --task parity:classify"
    rest = [column(f"column {number}", "80.2 … 100.0") for number in range(8)]
    found = parts(sheet(*rest, column("command", command, "command")))
    assert found[-1] == ["rank", "model", "command"]
    assert "column 7" in found[0]


@pytest.mark.parametrize(
    ("text", "as_wide_as"),
    [
        ("100.0 (100.0)", "(100.0)"),
        ("cycle-navigation", "navigation"),
        ("[100.0](../results/far/away/quick-lr0.001-seed0.json) [9](b.json)", "100.0"),
    ],
)
def test_a_column_is_as_wide_as_its_longest_word(text, as_wide_as):
    widths = [least_width(column("", one), [None]) for one in (text, as_wide_as)]
    assert widths[0] == widths[1] > least_width(column("", "1"), [None])
    assert least_width(column("", "tomita-3"), [None]) > least_width(column("", "tomita"), [None])
    assert widths[0] < PAGE


def test_a_name_may_break_before_its_options_and_nowhere_else():
    assert name("rnn[chunk=[3]]") == "rnn<wbr>&#91;chunk=&#91;3&#93;&#93;"
    assert name("[click](http://e.org)") == "&#91;click&#93;(http&#58;//e.org)"
    assert "<wbr>" not in name("a[b") + name("[a]b[c]")
    assert name("<b>[x]") == "&lt;b&gt;<wbr>&#91;x&#93;"
    assert name("a\n# b[c|d]") == "a &#35; b<wbr>&#91;c&#124;d&#93;"
