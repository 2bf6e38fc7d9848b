# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the documentation site of the pages of this folder: `make docs`."""
import os
import sys

import warpway
from sphinx.util import logging

sys.path.insert(0, os.path.dirname(__file__))

project = "Warpway"
project_copyright = "the Warpway authors"
version = release = warpway.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "site_pages"]
root_doc = "index"
exclude_patterns = ["requirements.txt", "man"]
nitpicky = True
nitpick_ignore_regex = [
    ("c:identifier", r"(?!ww_).*"),  # types of C itself, of CUDA, MPI and DLPack
    ("py:.*", r"(?!warpway\b).*"),  # what docstrings say of other packages
]
highlight_language = "none"

html_theme = "furo"
html_title = f"Warpway {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
extra = os.environ.get("WW_DOCS_EXTRA", "")  # a folder with pages that other programs made: java/ and fortran/
html_extra_path = [extra] if extra else []
copybutton_prompt_text = "$ "
toc_object_entries_show_parents = "hide"

myst_heading_anchors = 4
myst_enable_extensions = ["substitution"]
myst_substitutions = {
    name: f'<a href="../{name}/index.html">the pages of {maker}</a>, and the [tutorial](/tutorial/{name}.md)'
    if os.path.exists(os.path.join(extra, name)) else f"the [tutorial](/tutorial/{name}.md)"
    for name, maker in [("fortran", "FORD"), ("java", "Javadoc")]}
suppress_warnings = [
    "ref.python",  # a word in backticks that several classes have as a member is no link
]

default_role = "py:obj"  # a name in backticks, as help() shows it, is a link if there is such a thing
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_mock_imports = ["torch", "cupy", "numba"]  # they need not be installed
autodoc_typehints = "none"  # the docstrings say it in words


def end_sections(_app, _what, _name, _object, _options, lines):
    """A blank line more before text that follows a section, by which napoleon knows that the section has ended."""
    for i in range(len(lines) - 1, 0, -1):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        is_text = lines[i] and not lines[i].startswith(" ") and not after.startswith((" ", "---"))
        if is_text and not lines[i - 1]:
            lines.insert(i, "")


def check_names(app, env):
    """Each public name of the Python package has a place in a page of python/."""
    known = {name for name, *_ in env.get_domain("py").get_objects()}
    for name in warpway.__all__:
        if f"warpway.{name}" not in known:
            logging.getLogger(__name__).warning("%s is on no page: name it in one of %s/python/*.rst", name, app.srcdir)


def setup(app):
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", end_sections, priority=100)  # before napoleon
    app.connect("env-check-consistency", check_names)
