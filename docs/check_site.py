#!/usr/bin/env python3
"""check_site.py FOLDER - that each link of the pages in FOLDER goes to a file and an anchor that exist

Links to other sites are not followed. Javadoc's and FORD's pages count as targets; their own links are theirs.
"""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

FOLDER = os.path.abspath(sys.argv[1])
OTHERS = ("java", "fortran")  # made by other programs


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.targets = {"", "top"}, set()
        with open(path, encoding="utf-8", errors="replace") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.targets.add(value)


def find_pages():
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            if name.endswith(".html"):
                yield os.path.join(folder, name)


def dead_links(path, pages, load):
    """What a page links to that is not there."""
    for target in sorted(pages[path].targets):
        if target.startswith(("http:", "https:", "mailto:", "data:", "javascript:", "//")):
            continue
        file, anchor = urldefrag(target)
        file = unquote(file.partition("?")[0])
        there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(there) or os.path.isdir(there):
            yield target
        elif there.endswith(".html") and anchor and unquote(anchor) not in load(there).anchors:
            yield target


def main():
    pages = {path: Page(path) for path in find_pages()
             if os.path.relpath(path, FOLDER).split(os.sep)[0] not in OTHERS}
    others = {}

    def load(path):
        if path not in pages and path not in others:
            others[path] = Page(path)
        return pages.get(path) or others[path]

    dead = [(path, target) for path in sorted(pages) for target in dead_links(path, pages, load)]
    for path, target in dead[:50]:
        print(f"{os.path.relpath(path, FOLDER)}: the link to {target} goes nowhere")
    count = sum(len(page.targets) for page in pages.values())
    print(f"{len(pages)} pages, {count} different links on them, {len(dead)} go nowhere")
    return 1 if dead or not pages else 0


sys.exit(main())
