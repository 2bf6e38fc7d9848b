#!/usr/bin/env python3
"""commands_test.py WARPWAY - that the commands that pages and messages name are there, with the options that they name

In a page a command is `warpway VERB ...` in a line of code or between backticks, also where it is not run, since it
needs a GPU or changes the machine. In sources it is one in a string, and of words without backticks only options are
looked at. What commands do is for snippets_test.py. Speaks TAP.
"""
import re
import subprocess
import sys
from pathlib import Path

WARPWAY = sys.argv[1]
ROOT = Path(__file__).parents[1]
PAGES = [path for place in ("*.md", "docs/**/*.md", "docs/**/*.rst", "examples/**/*.md") for path in ROOT.glob(place)]
SOURCES = [path for folder in ("src", "tools") for path in (ROOT / folder).rglob("*.c")]
BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$|((?:^(?: {4}|\t)[^\n]*\n)+)", re.S | re.M)
NO_COMMANDS = ("text", "yaml", "ini")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SPAN = re.compile(r"`([^`]*)`")
OPTION = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]*|-[a-z]\b)")
COMMAND = re.compile(r"(?<![\w/.-])(`?)(?:bin/|tools/)?warpway ([a-z][a-z-]*)(?![\w.-])((?:(?!\bwarpway )[^\n|;&#])*)")
WITH_VERBS = ("channel",)  # verbs that have verbs
HELP = {}


def help_of(*verb):
    """What the help of a verb says; None: there is no such verb."""
    if verb not in HELP:
        done = subprocess.run([WARPWAY, *verb, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        HELP[verb] = done.stdout if done.returncode == 0 else None
    return HELP[verb]


def codes(text):
    """The code of a page, each piece in one line."""
    for block in BLOCK.finditer(text):
        if block[1] not in NO_COMMANDS:
            yield from re.sub(r"\\\n\s*", " ", block[2] or block[3] or "").splitlines()
    for span in SPAN.findall(BLOCK.sub("", text)):
        yield " ".join(span.split())


def complaints(path):
    text = path.read_text(encoding="utf-8")
    for code in codes(text) if path in PAGES else STRING.findall(text):
        for mark, verb, rest in COMMAND.findall(code):
            rest = rest.partition(" -- ")[0]  # behind it are the words of another program
            words = re.findall(r"[a-z]+", rest)
            verbs = [verb, words[0]] if verb in WITH_VERBS and words else [verb]
            known = help_of(*verbs)
            if known is None:
                if mark or path in PAGES:
                    yield f"there is no command: warpway {' '.join(verbs)}"
                continue
            for option in OPTION.findall(rest):
                if option != "--help" and not re.search(rf"(?<![\w-]){option}(?![\w-])", known):
                    yield f"warpway {' '.join(verbs)} has no option {option}: {code.strip()}"


def main():
    print("1..3")
    for number, (what, paths) in enumerate((("pages", PAGES), ("messages", SOURCES)), 1):
        said = [f"{path.relative_to(ROOT)}: {complaint}" for path in sorted(paths) for complaint in complaints(path)]
        print("".join(f"# {line}\n" for line in said), end="")
        print(f"{'not ok' if said or not paths else 'ok'} {number} - {what} name commands that are there")
    print(f"{'ok' if len(HELP) > 20 else 'not ok'} 3 - most commands are named somewhere")


main()
