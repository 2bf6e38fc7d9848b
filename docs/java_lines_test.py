#!/usr/bin/env python3
"""java_lines_test.py JAVAC JAR PAGE... - that the lines of Java on pages compile

Each block of Java becomes the body of a method, and each part of it that is of another process does,
too. What a part does not declare itself is declared below, as the page calls it. Speaks TAP.
"""
import os
import re
import subprocess
import sys
import tempfile

JAVAC, JAR, *PAGES = sys.argv[1:]

DECLARED = """
import java.nio.*;
import java.time.Duration;
import java.util.concurrent.*;
import warpway.*;

abstract class NAME {
    static final Duration FOREVER = Warpway.FOREVER;
    Device device;
    Broker broker;
    Stream stream;
    Executor executor;
    Memory memory, x, y;
    Timeline full;
    Layout image, matrix;
    byte[] pixels;

    void part() throws Exception {
"""
# A line of its own that begins what another process does.
OTHER = re.compile(r"(?m)^// (?:another process|each of).*:.*$")


def parts(page):
    """The parts of its blocks of Java: page, where each begins, and its lines."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```java\n(.*?)^```$", text, re.S | re.M):
        block = found.group(1)
        begins = [0, *(other.start() for other in OTHER.finditer(block))]
        for begin, end in zip(begins, [*begins[1:], len(block)]):
            line = text.count("\n", 0, found.start(1) + begin) + 1
            yield page, line, block[begin:end]


def complaints(folder, found):
    """{number of the part: what the compiler says of it}."""
    files = []
    for number, (_, _, code) in enumerate(found):
        files.append(os.path.join(folder, f"Part{number}.java"))
        with open(files[-1], "w", encoding="utf-8") as file:
            file.write(DECLARED.replace("NAME", f"Part{number}") + code + "    }\n}\n")
    result = subprocess.run([JAVAC, "--release", "17", "-cp", JAR, "-d", folder, *files],
                            capture_output=True, text=True, check=False)
    said = {}
    number = None
    for line in result.stderr.splitlines():
        names = re.match(r".*Part(\d+)\.java:\d+: ", line)
        number = int(names.group(1)) if names else number
        said.setdefault(number, []).append(line)
    return said if result.returncode else {}


def main():
    found = [part for page in PAGES for part in parts(page)]
    with tempfile.TemporaryDirectory() as folder:
        said = complaints(folder, found)
    print(f"1..{len(found)}")
    for number, (page, line, _) in enumerate(found):
        for text in said.get(number, []):
            print("# " + text)
        result = "not ok" if number in said else "ok"
        print(f"{result} {number + 1} - {os.path.basename(page)}, line {line}")
    return 1 if said or not found else 0


sys.exit(main())
