#!/usr/bin/env python3
"""lines_test.py INCLUDE PAGE... -- COMPILER... - that the lines of C on a page compile

Each block of C becomes the body of a function; what it does not declare itself is declared below, as pages call
it. Speaks TAP.
"""
import os
import re
import subprocess
import sys

AT = sys.argv.index("--")
INCLUDE, *PAGES = sys.argv[1:AT]
COMPILER = sys.argv[AT + 1:]

DECLARED = """
#include <stdio.h>
#include <string.h>
#include <warpway/warpway.h>
#include <warpway/dlpack.h>
#if __has_include(<mpi.h>)
#include <warpway/mpi.h>
#endif
void check(ww_status status);
void use(void *pointer);
extern ww_status status;
extern ww_device *device;
extern ww_stream *stream, *host_stream;
extern ww_broker *broker;
extern ww_memory *memory, *slice;
extern ww_pool *pool;
extern ww_timeline *full, *mine, *theirs;
extern ww_barrier *barrier;
extern ww_channel *channel;
extern struct ww_frame frame;
extern ww_work_queue *queue;
extern ww_service *service;
extern ww_client *client;
extern struct ww_value arguments[3];
extern uint32_t function;
ww_status saxpy(void *context, ww_call *call);
void launch_graph(ww_stream *stream);
void compute_first_half(ww_stream *stream);
void compute_second_half(ww_stream *stream);
extern ww_graph_node *node;
extern void *executable;
extern struct ww_frame job;
extern struct { int camera; } stamp;
extern struct ww_token token;
extern struct ww_object_info info;
extern struct ww_put_params put;
extern struct ww_memory_params params;
extern struct ww_dtype dtype;
extern struct ww_array array, whole, view, one, other;
extern struct DLManagedTensorVersioned *tensor;
extern int64_t shape[2];
extern struct ww_memory_handle *handle;
extern void *pointer, *copy, *image;
extern uint64_t bytes, bytes_of_the_memory, offset, round;
extern uint32_t overlap, rank, value;
extern int socket, fd;
enum { RANKS = 4 };
extern ww_timeline *written[RANKS], *done[RANKS];
extern ww_memory *halos[RANKS];
extern int left, right;
extern void *edge;
extern uint64_t step;
"""


def blocks(page):
    """Its blocks of C: where each begins, and its lines."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```c\n(.*?)^```$", text, re.S | re.M):
        yield text.count("\n", 0, found.start()) + 2, found.group(1)


def complaint(page, line, code):
    """What the compiler says of it; "" if it compiles."""
    includes = "".join(re.findall(r"(?m)^#include .*\n", code))
    body = re.sub(r"(?m)^#include .*$", "", code)
    source = (f'{includes}{DECLARED}int on_a_page(void);\nint on_a_page(void)\n{{\n'
              f'#line {line} "{page}"\n{body}\treturn 0;\n}}\n')
    result = subprocess.run([*COMPILER, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-builtin",
                             "-fsyntax-only", f"-I{INCLUDE}", "-xc", "-"],
                            input=source, capture_output=True, text=True, check=False)
    return result.stderr if result.returncode else ""


def main():
    cases = [(page, *block) for page in PAGES for block in blocks(page)]
    print(f"1..{len(cases)}")
    for number, (page, line, code) in enumerate(cases, 1):
        said = complaint(page, line, code)
        print("# " + said.strip().replace("\n", "\n# ") if said else "", end="\n" if said else "")
        print(f"{'not ok' if said else 'ok'} {number} - {os.path.basename(page)}, line {line}")
    return 0 if cases else 1


sys.exit(main())
