"""How Sphinx makes the site (`make docs`): of the Markdown here, and of some beside this folder.

Pages are found from the root of the repository, so that their links are the same as on GitHub.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from formalbench import __version__

sys.path.insert(0, str(Path(__file__).parent))

from address import address

project = "formalbench"
author = "formalbench contributors"
copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "formalbench_site"]
root_doc = "docs/index"
include_patterns = ["docs/**", "CONTRIBUTING.md", "CHANGELOG.md", "speed/README.md"]
exclude_patterns = ["**/__pycache__", ".*", "benchmark", "build", "leaderboard", "plugins", "tests"]

# Where links that leave the site lead: the project's address. Without one they lead to the files on
# this disk.
repository = address()
commit = os.environ.get("GITHUB_SHA", "main")

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

highlight_language = "text"
default_role = "code"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "formalbench"
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_sidebars = {
    "**": [
        *("sidebar/brand.html", "sidebar/search.html", "sidebar/scroll-start.html"),
        *("sidebar/navigation.html", "sidebar/board.html", "sidebar/scroll-end.html"),
    ]
}
