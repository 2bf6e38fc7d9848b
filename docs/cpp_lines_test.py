#!/usr/bin/env python3
"""cpp_lines_test.py PAGE INCLUDE... -- COMPILER... - that the lines of C++ on a page compile

Each block of C++ becomes the body of a function, and each part of it that is of another process does, too: a comment at
the start of a line begins one. What a part does not declare itself is declared below, as the page calls it; a line
`...` stands for what the page leaves out. Speaks TAP.
"""
import os
import re
import subprocess
import sys

AT = sys.argv.index("--")
PAGE, *INCLUDES = sys.argv[1:AT]
COMPILER = sys.argv[AT + 1:]

DECLARED = """
#include <chrono>
#include <cstdio>
#include <future>
#include <iostream>
#include <numeric>
#include <thread>
#include <utility>
#include <warpway/warpway.hpp>
using namespace std::chrono_literals;
using warpway::memory;
extern const warpway::broker broker;
extern const warpway::device device;
extern warpway::pool pool;
extern const warpway::stream stream;
extern warpway::memory memory_of_the_page;
extern warpway::timeline timeline, full;
extern const warpway::token token;
extern std::promise<void> promise;
extern std::shared_ptr<int> tensor;
extern void *pointer;
extern std::uint32_t *copy, value;
extern std::uint64_t bytes;
extern std::size_t count;
extern DLManagedTensorVersioned *in;
constexpr std::int64_t rows = 2, columns = 3;
template <class T> void use(const T &) {}
"""
# Of the function around the part, which may declare them anew: names that are types or functions elsewhere.
LOCAL = """	[[maybe_unused]] const warpway::memory &memory = memory_of_the_page;
	[[maybe_unused]] const std::uint32_t round = 1;
	[[maybe_unused]] warpway::channel_options options;
	[[maybe_unused]] warpway::frame frame;
"""


def parts():
    """Each part of a block: where it begins, and its lines."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.S | re.M):
        begins = [0, *(other.start() for other in re.finditer(r"(?m)^/\*.*\*/$", found[1]) if other.start())]
        for begin, end in zip(begins, [*begins[1:], len(found[1])]):
            yield text.count("\n", 0, found.start(1) + begin) + 1, found[1][begin:end]


def function(number, line, code):
    """A part as a function."""
    body = re.sub(r"(?m)^(\s*)\.\.\.$", r"\1;", code)
    return (f"int part_{number}();\nint part_{number}()\n{{\n{LOCAL}\t{{\n#line {line} \"{PAGE}\"\n{body}\t}}\n"
            "\treturn 0;\n}\n")


def complaint(functions):
    """What the compiler says of functions; "" if they compile."""
    result = subprocess.run([*COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Wno-unused-variable", "-fsyntax-only",
                             *(f"-I{folder}" for folder in INCLUDES), "-xc++", "-"],
                            input=DECLARED + "".join(functions), capture_output=True, text=True, check=False)
    return result.stderr if result.returncode else ""


def main():
    cases = list(parts())
    functions = [function(number, *case) for number, case in enumerate(cases)]
    all_compile = not complaint(functions)  # at once: the headers take longest; one by one only to tell which is wrong
    print(f"1..{len(cases)}")
    for number, (line, _) in enumerate(cases):
        said = "" if all_compile else complaint([functions[number]])
        print("".join(f"# {row}\n" for row in said.splitlines()), end="")
        print(f"{'not ok' if said else 'ok'} {number + 1} - {os.path.basename(PAGE)}, line {line}", flush=True)
    return 0 if cases else 1


sys.exit(main())
