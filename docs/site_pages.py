# SPDX-License-Identifier: Apache-2.0
"""What the documentation site adds to Sphinx: pages from files that exist elsewhere.

- A page of Markdown that consists of the line `<!-- the text of PATH -->` shows that file.
- A link in Markdown to a file of the repository becomes a link to the page that shows the file; to a program, one that
  downloads it; to a folder, plain text.
- `c-header`, `cpp-header` and `man-page` show a public header and a manual page.
"""
import importlib.machinery
import importlib.util
import os
import posixpath
import re
import subprocess

from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
TEXT_OF = re.compile(r"\s*<!-- the text of (\S+) -->\s*\Z")
LINK = re.compile(r"\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)")
FOLDERS = {"@CONFDIR@": "/usr/local/etc/warpway", "@LIBDIR@": "/usr/local/lib"}  # of `sudo make install`
logger = logging.getLogger(__name__)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def load_make_man():
    path = os.path.join(ROOT, "scripts/make-man")
    loader = importlib.machinery.SourceFileLoader("make_man", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_man", loader))
    loader.exec_module(module)
    return module


make_man = load_make_man()


def find_shown():
    """{file of the repository: the page that shows it}, paths from the root of each."""
    shown = {}
    for folder, _, names in os.walk(DOCS):
        for name in names:
            path = os.path.join(folder, name)
            page = os.path.relpath(path, DOCS)
            if name.endswith((".md", ".rst")):
                shown[os.path.relpath(path, ROOT)] = page
                found = TEXT_OF.match(read(path))
                if found:
                    shown[os.path.relpath(os.path.join(folder, found[1]), ROOT)] = page
                for header in re.findall(r"(?:c-header::|cpp-header::|man-page\}) (\S+)", read(path)):
                    shown[header] = page
    shown["README.md"] = "index.md"
    shown["examples"] = "examples.md"
    return shown


def rebased(target, base, page, shown):
    """Where a link of a text in folder @base goes on the site, if @page shows the text; None: nowhere."""
    if re.match(r"[a-z]+:|#|/", target):
        return target
    path, hash_, anchor = target.partition("#")
    path = os.path.relpath(os.path.normpath(os.path.join(base, path)), ROOT)
    if path.rstrip("/") in shown:
        return "/" + shown[path.rstrip("/")] + hash_ + anchor
    if not os.path.exists(os.path.join(ROOT, path)):
        logger.warning("%s: there is no file %s, to which a link goes", page, path)
        return None
    if os.path.isdir(os.path.join(ROOT, path)):
        return None
    return posixpath.relpath(os.path.join(ROOT, path), os.path.dirname(os.path.join(DOCS, page)))


def rebase_links(text, base, page, shown):
    """@text with links that hold on @page; blocks of code stay as they are."""
    def replace(found):
        target = rebased(found[2], base, page, shown)
        return f"[{found[1]}]({target})" if target else found[1]

    parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def read_page(app, name, content):
    """The text of a page of Markdown, as the site has it."""
    path = str(app.env.doc2path(name))
    if not path.endswith(".md"):
        return
    base = os.path.dirname(path)
    text = content[0]
    found = TEXT_OF.match(text)
    if found:
        path = os.path.normpath(os.path.join(base, found[1]))
        app.env.note_dependency(path, docname=name)
        text, base = read(path), os.path.dirname(path)
    content[0] = rebase_links(text, base, os.path.relpath(str(app.env.doc2path(name)), DOCS), app.env.site_shown)


class Shown(SphinxDirective):
    """A directive with one argument: the file that it shows, from the root of the repository."""
    required_arguments = 1

    def run(self):
        path = os.path.join(ROOT, self.arguments[0])
        self.env.note_dependency(path)
        return self.parse_text_to_nodes(self.text(path), allow_section_headings=True)


class CHeader(Shown):
    """What scripts/make-man reads in a public header of C."""

    def text(self, path):
        self.env.note_dependency(make_man.__file__)
        return make_man.render_rst(path)


class CppHeader(Shown):
    """A public header of C++: what its first comment says, and what it declares for programs."""

    def text(self, path):
        source = read(path)
        comment = re.search(r"/\*\n( \* warpway/.*?) \*/\n", source, re.S)
        brief, *lines = "\n".join(make_man.strip_stars(comment[1])).split("\n\n", 1)
        out = [make_man.rst_inline(" ".join(brief.split())) + "\n"]
        for run in make_man.paragraphs(lines):
            out += make_man.rst_flow(run)
        body = re.sub(r"\nnamespace detail\n\{.*?\n\} ?//\s?namespace detail\n", "", source[comment.end():], flags=re.S)
        body = re.sub(r"^#(ifndef|define|endif).*WARPWAY_\w*HPP.*\n|^#endif\n\Z", "", body, flags=re.M)
        return "\n".join([*out, "", ".. code-block:: cpp", "",
                          *("   " + line.expandtabs(4) for line in body.strip("\n").split("\n")), ""])


class ManPage(Shown):
    """A manual page, by mandoc."""

    def text(self, path):
        source = read(path)
        for word, folder in FOLDERS.items():
            source = source.replace(word, folder)
        made = subprocess.run(["mandoc", "-T", "markdown"], input=source, capture_output=True, text=True, check=True)
        lines = made.stdout.split("\n")[2:]
        while lines and not lines[-1].strip():
            lines.pop()
        return re.sub(r"^(#+) ", r"\1# ", "\n".join(lines[:-1]), flags=re.M)


def setup(app):
    """What Sphinx calls."""
    app.add_directive("c-header", CHeader)
    app.add_directive("cpp-header", CppHeader)
    app.add_directive("man-page", ManPage)
    app.connect("builder-inited", lambda app: setattr(app.env, "site_shown", find_shown()))
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
