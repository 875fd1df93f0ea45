"""Figures of panels: their axes, their texts, and both themes."""

import math
import re

import pytest
from formalbench.documents.charts import RED, on_dark
from formalbench.documents.figures import MARKERS, Figure, Panel, Series, chart, picture

pytest.importorskip("altair")
HOSTILE = "</text><script>alert(1)</script>\"\\u2028$'{datum}"


def texts(svg: bytes) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)<", svg.decode())


def domains(figure: Figure) -> list[tuple[list[float], list[float]]]:
    rows = chart(figure).to_dict()["vconcat"][: len(figure.grid)]
    panels = [panel for row in rows for panel in row["hconcat"]]
    axes = [panel["layer"][0]["encoding"] for panel in panels]
    return [(axis["x"]["scale"]["domain"], axis["y"]["scale"]["domain"]) for axis in axes]


def test_the_same_figure_gives_the_same_bytes():
    figure = Figure([[Panel([Series([1, 2, 4], [0.1, 0.5, 1 / 3], RED, "a", "o-")], log="x")]])
    assert picture(figure, "svg") == picture(figure, "svg")
    assert picture(figure, "png").startswith(b"\x89PNG")
    numbers = re.findall(r'd="[^"]*"', picture(figure, "svg").decode())
    assert not re.search(r"\.\d{3}", " ".join(numbers))


def test_every_colour_has_one_for_dark_paper():
    svg = picture(Figure([[Panel([Series([0, 1], [0, 1], RED)])]]), "svg").decode()
    style = re.search(r"<style>(.*?)</style>", svg)[1]
    assert style.startswith("@media (prefers-color-scheme:dark)")
    assert f'[stroke="{RED}"]{{stroke:{on_dark(RED)}}}' in style
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg.replace(style, "")))
    assert all(f'"{colour}"' in style for colour in used)


def test_texts_stay_texts():
    panel = Panel(
        [Series([0, 1], [0, 1], RED, HOSTILE, style) for style in [*MARKERS, "-", "--", "o--"]],
        title=HOSTILE,
        x=HOSTILE,
        y=HOSTILE,
        xticks={0: HOSTILE, 1: "b"},
    )
    svg = picture(Figure([[panel]], legend=HOSTILE), "svg")
    assert b"<script" not in svg
    assert sum("alert(1)" in text for text in texts(svg)) == 6
    assert "b" in texts(svg)


def test_axes_are_shared_by_row_and_column():
    def panel(low: float, high: float) -> Panel:
        return Panel([Series([low, high], [low, high], RED)], "title", "across", "up")

    grid = [[panel(0, 1), panel(0, 10)], [panel(-5, 0), panel(0, 1)]]
    (a, b), (c, d) = (domains(Figure(grid))[at : at + 2] for at in (0, 2))
    assert a[0] == c[0]
    assert b[0] == d[0] != a[0]
    assert a[1] == b[1] != c[1] == d[1]
    assert texts(picture(Figure(grid), "svg")).count("across") == 2
    assert texts(picture(Figure(grid, share=False), "svg")).count("across") == 4


def test_the_ends_of_an_axis():
    points = [Series([1, 100], [0.5, math.nan], RED, bars=([1], [0.2], [0.9]))]
    ((across, up),) = domains(Figure([[Panel(points, level=1.0, log="x")]]))
    assert across == pytest.approx([100**-0.05, 100**1.05])
    assert up == pytest.approx([0.2 - 0.032, 1.032])
    ((_, up),) = domains(Figure([[Panel(points, ylim=(0, None))]]))
    assert up == pytest.approx([0, 0.9 + 0.028])
    figure = Figure([[Panel([Series([0, 1], [0, 8], RED)], equal=True)]], size=(200, 100))
    ((across, up),) = domains(figure)
    assert (across[1] - across[0]) / 200 == pytest.approx((up[1] - up[0]) / 100)


def test_a_band_is_drawn_around_its_line_and_within_the_axis():
    mean = Series([0, 1], [0.5, 0.5], RED, "mean", band=([0.2, 0.3], [0.9, 0.6]))
    svg = picture(Figure([[Panel([mean])]]), "svg").decode()
    assert svg.count("mark-area") == 1  # none in the legend
    assert f'fill="{RED}"' in svg
    ((_, up),) = domains(Figure([[Panel([mean])]]))
    assert up == pytest.approx([0.2 - 0.028, 0.9 + 0.028])


@pytest.mark.parametrize(
    ("low", "high"), [(8, 12), (2.1, 2.2), (1, 1e6), (1e-300, 1e-296), (1.0, 3)]
)
def test_a_logarithmic_axis_has_a_few_round_numbers(low, high):
    figure = Figure([[Panel([Series([0, 1], [low, high], RED)], log="y", ylim=(low, high))]])
    (row,) = chart(figure).to_dict()["vconcat"]
    values = row["hconcat"][0]["layer"][0]["encoding"]["y"]["axis"]["values"]
    assert 2 <= len(values) <= 9
    assert all(low <= value <= high for value in values)


def test_a_label_stands_once_in_the_legend():
    lines = [Series([0, 1], [0, 1], RED, "twice"), Series((), (), RED, "without points")]
    found = texts(picture(Figure([[Panel(lines), Panel(lines[:1])]], legend="head"), "svg"))
    assert [found.count(text) for text in ("head", "twice", "without points")] == [1, 1, 1]
