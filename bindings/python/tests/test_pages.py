"""The code of the pages about Python runs: whole programs by themselves, the other blocks in their order."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpway
from children import LIMIT_S

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs/tutorial/python.md"
SERVICES = ROOT / "docs/tutorial/one-server-owns-the-gpu.md"


def blocks(page):
    """(line, code) of each block of Python."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start()) + 2, found[1])
            for found in re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M)]


def programs():
    """Where each begins, and its code; all fragments of a page together are one program."""
    for page in (ROOT / "README.md", TUTORIAL, SERVICES):
        rest = ""
        for line, code in blocks(page):
            if "__main__" in code:
                yield pytest.param(code, id=f"{page.name}-{line}")
            else:
                rest += code
        if rest:
            yield pytest.param(rest, id=page.name)


@pytest.mark.parametrize("code", list(programs()))
def test_code_of_a_page_runs(code, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    result = subprocess.run([sys.executable, "-B", path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=2 * LIMIT_S, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    printed = re.findall(r"^ *print\(.*\) +# ((?:\(|\d|[TF]).*)$", code, re.M)
    assert [line for line in printed if line not in result.stdout.splitlines()] == []


def test_the_table_of_errors_is_complete():
    rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`)? *\| (.*) \|$", TUTORIAL.read_text(encoding="utf-8"), re.M)
    assert {name for name, _, _ in rows} == {name for name in warpway.__all__
                                             if isinstance(getattr(warpway, name), type)
                                             and issubclass(getattr(warpway, name), Exception)}
    for name, base, statuses in rows:
        error = getattr(warpway, name)
        assert [other.__name__ for other in error.__bases__ if other is not warpway.Error] == ([base] if base else [])
        assert name == "Error" or f"`{error.status_name}`" in statuses


@pytest.mark.parametrize("page", [TUTORIAL, SERVICES], ids=lambda page: page.stem)
def test_the_page_names_files_that_exist(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []
