"""All recipes, by name."""

from __future__ import annotations

from formalbench.contracts.errors import unknown

from formalbench_text.fetch.debian import DEBIAN
from formalbench_text.fetch.libreoffice import LIBREOFFICE
from formalbench_text.fetch.recipe import CorpusRecipe
from formalbench_text.fetch.sotu import SOTU
from formalbench_text.fetch.wikipedia import WIKIPEDIA

RECIPES = {recipe.name: recipe for recipe in (SOTU, WIKIPEDIA, LIBREOFFICE, DEBIAN)}


def recipe_of(name: str) -> CorpusRecipe:
    """Return the recipe of a name.

    Raises:
        RequestError: if there is none, naming the nearest.
    """
    if name not in RECIPES:
        raise unknown("corpus", name, RECIPES)
    return RECIPES[name]
