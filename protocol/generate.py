#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py - makes from a protocol's XML file what must agree with it

  generate.py FILE.xml --header OUT.h --source OUT.c [--prefix ww_wire] [--include wire/protocol.h]
      the codec
  generate.py FILE.xml --samples-header OUT.h --samples-source OUT.c
      one sample of each message and record, for tests
  generate.py FILE.xml --dictionary OUT --corpus OUT_LIST
      words and first inputs for fuzzers; the inputs lie beside the list that names them
  generate.py FILE.xml --doc docs/protocol.md --statuses include/warpway/base.h
      the document for people
  generate.py FILE.xml --golden protocol/golden.txt
      the samples' bytes

With --check nothing is written: the command fails if a file is not what it would be. The last two are
committed, and after a change of broker.xml they are made anew by running the command without --check.

model.py reads and checks the file. A file that is wrong is refused with the element at fault.
"""
import argparse
import os
import shlex
import sys

sys.dont_write_bytecode = True  # a build leaves the sources as they are

import emit_c
import emit_doc
import emit_samples
import model
import samples

# The first byte of an input says how to use the rest: as it is, with the descriptors it says it has; see
# tests/fuzz/wire.c.
FUZZ_AS_IT_IS = b"\2"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--prefix", default="ww_wire", help="what names in C begin with")
    parser.add_argument("--include", default="wire/protocol.h", help="how the codec's header is included")
    for name in ("header", "source", "samples-header", "samples-source", "dictionary", "corpus", "doc",
                 "statuses", "golden"):
        parser.add_argument(f"--{name}", metavar="PATH")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    return parser.parse_args()


def corpus(protocol, list_path):
    """The first inputs: (path, bytes) of each, and of the list of them, as libFuzzer reads it."""
    inputs = []
    for sample in samples.of_messages(protocol):
        path = f"{list_path}-{sample.message.name}-{sample.version}"
        inputs.append((path, FUZZ_AS_IT_IS + sample.bytes))
    return inputs + [(list_path, ",".join(path for path, _ in inputs).encode())]


def outputs(protocol, arguments):
    """(path, bytes) of everything that is asked for."""
    prefix, include = arguments.prefix, arguments.include
    name = os.path.basename(arguments.samples_header or "")
    makers = [
        (arguments.header, lambda: emit_c.header(protocol, prefix, include)),
        (arguments.source, lambda: emit_c.source(protocol, prefix, include)),
        (arguments.samples_header, lambda: emit_samples.header(protocol, prefix, include, name)),
        (arguments.samples_source, lambda: emit_samples.source(protocol, prefix, name)),
        (arguments.dictionary, lambda: samples.dictionary(protocol)),
        (arguments.golden, lambda: samples.golden(protocol)),
        (arguments.doc, lambda: emit_doc.document(protocol, read_statuses(arguments.statuses))),
    ]
    found = [(path, make().encode()) for path, make in makers if path]
    return found + (corpus(protocol, arguments.corpus) if arguments.corpus else [])


def read_statuses(path):
    """The statuses in the public header."""
    if not path:
        raise model.Fault("--doc needs --statuses")
    with open(path, encoding="utf-8") as header:
        return emit_doc.statuses(header.read())


def is_same(path, content):
    """Whether a file has this content."""
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except FileNotFoundError:
        return False


def main():
    arguments = parse_arguments()
    try:
        made = outputs(model.read(arguments.file), arguments)
    except (model.Fault, OSError) as fault:
        print(f"generate.py: {fault}", file=sys.stderr)
        return 1
    status = 0
    for path, content in made:
        if not arguments.check:
            with open(path, "wb") as out:
                out.write(content)
        elif not is_same(path, content):
            again = shlex.join(argument for argument in sys.argv if argument != "--check")
            print(f"{path} is not what is made of {arguments.file}; make it again: {again}")
            status = 1
    return status


sys.exit(main())
