# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the reference of the Python package from its docstrings: `make docs-python`."""
import warpway
from sphinx.util import logging

project = "Warpway"
project_copyright = "the Warpway authors"
version = release = warpway.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "alabaster"
html_theme_options = {"description": "Memory, arrays and fences that processes share"}
html_show_sourcelink = False
html_copy_source = False

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
    """Each public name has a place in a page of this folder."""
    known = {name for name, *_ in env.get_domain("py").get_objects()}
    for name in warpway.__all__:
        if f"warpway.{name}" not in known:
            logging.getLogger(__name__).warning("%s is on no page: name it in one of %s/*.rst", name, app.srcdir)


def setup(app):
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", end_sections, priority=100)  # before napoleon
    app.connect("env-check-consistency", check_names)
