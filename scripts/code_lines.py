"""code_lines - counts the lines of the sources by part, for `check-size --lines`

A line counts if it holds more than blanks and comments; the docstrings of Python count as comments. Files that a
program of the project makes say so in their first lines, and have a row of their own.
"""
import ast
import os
import re
from collections import Counter

C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.DOTALL)
HASH_COMMENT = re.compile(r"^\s*#.*", re.MULTILINE)
FORTRAN_COMMENT = re.compile(r"^\s*!.*", re.MULTILINE)
CYTHON_DOCSTRING = re.compile(r'^\s*"""(?:[^"]|"(?!""))*"""', re.MULTILINE)
C_LIKE = (".c", ".h", ".cpp", ".hpp", ".java", ".pml")
MADE = re.compile(r"^\W*Made by .* Do not edit|Do not edit\. \*/$", re.MULTILINE)

TEST_FOLDERS = re.compile(r"(^|/)tests?/")
TEST_FILES = re.compile(r"(_test|_fixture|_cli_module|_cli_server|_cli_maker)\.\w+$")

FUNCTION = re.compile(r"^(?:static )?[\w *]*?\b(\w+)\((?:[^;{}]|\n)*?\)\n\{", re.MULTILINE)
STATIC_FUNCTION = re.compile(r"^static (?:inline )?[\w *]*?\b(\w+)\((?:[^;{}]|\n)*?\)\n\{", re.MULTILINE)


def without_docstrings(text):
    """The lines of a Python file, those of its docstrings blanked."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and \
                ast.get_docstring(node, clean=False) is not None:
            string = node.body[0]
            lines[string.lineno - 1:string.end_lineno] = [""] * (string.end_lineno - string.lineno + 1)
    return "\n".join(lines)


def without_comments(path, text):
    """The text of a source file with its comments blanked; None for a file that is no source."""
    if path.endswith(C_LIKE):
        return C_COMMENT.sub(lambda match: match.group(1) or "\n" * match.group(0).count("\n"), text)
    if path.endswith(".f90"):
        return FORTRAN_COMMENT.sub("", text)
    head = text.split("\n", 1)[0] if text.startswith("#!") else ""
    if path.endswith((".py", ".pyi")) or "python" in head:
        return HASH_COMMENT.sub("", without_docstrings(text))
    if path.endswith((".pyx", ".pxi", ".pxd")):
        return HASH_COMMENT.sub("", CYTHON_DOCSTRING.sub(lambda match: "\n" * match.group(0).count("\n"), text))
    if path.endswith((".sh", "meson.build", "Makefile")) or head:
        return HASH_COMMENT.sub("", text)
    return None


def part_of(path, text):
    """The row in which a file counts."""
    if MADE.search(text[:300]):
        return "made and committed"
    if path.startswith("tests/fakecuda/"):
        return "tests: fakecuda"
    if path.startswith("tests/support/"):
        return "tests: support"
    if TEST_FOLDERS.search(path) or TEST_FILES.search(path):
        return "tests: all else"
    if path.startswith("src/mpi/"):
        return "src: mpi"
    folder = path.split("/")[0]
    if folder == "src":
        return "src: all else"
    if folder == "bindings":
        return "bindings: " + path.split("/")[1]
    return folder if folder in ("tools", "include", "examples", "scripts", "protocol") else "all else"


def called_once(files, folder):
    """(functions of the C files of a folder, how many of them are static and called at one place)"""
    functions = once = 0
    for path, code in files:
        if path.startswith(folder) and path.endswith(".c") and not TEST_FILES.search(path):
            functions += len(FUNCTION.findall(code))
            for name in STATIC_FUNCTION.findall(code):
                once += len(re.findall(rf"\b{name}\b", code)) == 2
    return functions, once


def print_lines(files):
    """Print the table for all (path, text)."""
    lines, codes = Counter(), []
    for path, text in files:
        code = without_comments(path, text)
        if code is None:
            continue
        codes.append((path, code))
        lines[part_of(path, text)] += sum(1 for line in code.split("\n") if line.strip())
    sums = Counter()
    for part, count in lines.items():
        path = part.split(": ") if part.startswith("tests") else ["everything but tests", *part.split(": ")]
        for depth in range(len(path)):
            sums[tuple(path[:depth + 1])] += count
    print("   lines  of code")
    for path, count in sorted(sums.items()):
        print(f"{count:8d}  {'    ' * (len(path) - 1)}{path[-1]}")
    for folder in ("src/", "tools/", "bindings/python/src/"):
        functions, once = called_once(codes, folder)
        print(f"{folder}: {once} of {functions} functions ({100 * once // max(functions, 1)} %) are static and called once")
