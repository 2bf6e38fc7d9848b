#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generator_test.py GENERATE BROKER.XML NEW.XML - the generator refuses what is wrong, by its name

Each case is a right file with one thing changed and what the message must say of it. Speaks TAP.
"""
import contextlib
import io
import os
import runpy
import subprocess
import sys
import tempfile

GENERATE, BROKER, NEW = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(GENERATE))  # of its modules

# In new.xml: what is replaced, by what, and what is said.
WRONG_MESSAGES = [
    ("<protocol name", "<protocoll name", "mismatched tag"),
    ('version="2" least="1"', 'version="2"', "protocol sample: has no attribute least"),
    ('version="2" least="1"', 'version="2" least="3"', 'least="3" is not from 1 to 2'),
    ('version="2" least="1"', 'version="two" least="1"', 'version="two" is not a decimal number'),
    ('version="2" least="1"', 'version="2" least="1" author="me"', "unknown attribute author"),
    ('<header bytes="16">', '<header bytes="20">', "header: its fields have 16 bytes together"),
    ('<field name="serial" type="u32"/>', '<field name="serial" type="u64"/>', "header: its fields are not"),
    ("<enum name=\"colour\">", "<enum name=\"colour\">words", "enum colour: text where none belongs: words"),
    ('<entry name="green" value="2"/>', '<entry name="green" value="1"/>',
     "enum colour: entry green: value 1 is red's already"),
    ('<entry name="green" value="2"/>', '<entry name="red" value="2"/>',
     "enum colour: entry red: there is another of this name"),
    ('<entry name="green" value="2"/>', '<entry name="Green" value="2"/>', "entry Green: a name is"),
    ('<entry name="green" value="2"/>', '<entry name="green" value="0"/>', 'value="0" is not from 1'),
    ('<entry name="again" value="1"/>', '<entry name="again" value="3"/>',
     "enum header_flag: entry again: 3 is not a single bit"),
    ('<enum name="header_flag" bits="yes">', '<enum name="header_flags" bits="yes">',
     "there is no enum header_flag of bits"),
    ('<enum name="colour">', '<enum name="colour" bits="yes">', "enum colour is of bits"),
    ('<enum name="colour">', '<enum name="colour" bits="no">', 'bits="no" is not "yes"'),
    ('<constant name="packet_bytes" value="4096"/>', "", "there is no constant packet_bytes"),
    ('value="4096"', 'value="64"', "request ship: may have"),
    ('<request name="ship" code="2"', '<request name="ship" code="1"',
     "request ship: code 1 is hello's already"),
    ('<request name="ship" code="2"', '<request name="hello" code="2"',
     "request hello: there is another of this name"),
    ('<request name="ship" code="2"', '<request name="item" code="2"',
     "request item: there is another of this name"),
    ('<request name="ship" code="2"', '<request name="double" code="2"', "request double: a name is"),
    ('<request name="ship" code="2"', '<request name="header" code="2"',
     "request header: the codec has a struct of this name"),
    ('<request name="ship" code="2"', '<request name="colour_red" code="2"',
     "its name in C, WW_WIRE_COLOUR_RED, is that of"),
    ('<request name="ship" code="2"', '<request name="ship" code="2" fds="0..9"', 'fds="0..9" is not'),
    ('<request name="ship" code="2"', '<request name="ship" code="2" fds="3..2"', 'fds="3..2" is not'),
    ('<request name="ship" code="2"', '<request name="ship" code="2" fds="few"', 'fds="few" is neither'),
    ('<request name="ship" code="2"', '<request name="ship" code="65536"', 'code="65536" is not from'),
    ('<request name="ship" code="2" reply="done">', '<request name="ship" code="2" reply="gone">',
     "request ship: there is no reply gone"),
    ('<reply name="done" code="102"/>', '<reply name="done" code="102" since="2"/>',
     "its reply is since 2"),
    ('<field name="most" type="u16"/>', '<field name="most" type="u16" since="2"/>',
     "request hello: field most: cannot be since a version"),
    ('<field name="status" type="i32"/>', '<field name="status" type="i32" since="2"/>',
     "reply error: field status: cannot be since a version"),
    ('<reply name="error" code="103">', '<reply name="err" code="103">', "there is no reply error"),
    ('type="u8" enum="colour" since="2"', 'type="u8" enum="colour" since="3"', 'since="3" is not'),
    ('type="blob" max="31" since="2"', 'type="blob" max="31"', "field note: since ever, behind"),
    ('<field name="weight" type="u32"/>', '<field name="weight" type="u32" since="2"/>',
     "field label: since ever, behind"),
    ('<list name="items" of="item" max="8"/>', '<list name="items" of="thing" max="8"/>',
     "list items: there is no thing above it"),
    ('<list name="items" of="item" max="8"/>', '<list name="items" of="item"/>',
     "list items: has no attribute max"),
    ('<list name="items" of="item" max="8"/>', '<list name="items" of="item" max="200"/>',
     "and a packet has at most 4096"),
    ('<list name="items" of="item" max="8"/>', '<list name="items" of="item" max="0"/>',
     'max="0" is not from 1'),
    ('<field name="number" type="u32"/>', '<field name="number" type="u24"/>', "unknown type u24"),
    ('<field name="number" type="u32"/>', '<field name="number" type="u32" max="3"/>',
     "request ship: field number: a u32 has no max"),
    ('<field name="number" type="u32"/>', '<field name="number" type="bytes"/>', "a bytes needs a size"),
    ('<field name="number" type="u32"/>', '<field name="number" type="string"/>', "a string needs a max"),
    ('<field name="number" type="u32"/>', '<field name="number" type="u64" enum="colour"/>',
     "a u64 is of no enum"),
    ('<field name="number" type="u32"/>', '<field name="number" type="u32" none="yes"/>',
     "none is for what is of an enum"),
    ('<field name="number" type="u32"/>', '<field name="colour" type="u32"/>',
     "request ship: field colour: there is another of this name"),
    ('<field name="number" type="u32"/>', '<field name="note_bytes" type="u32"/>',
     "field note: its note_bytes in C is taken"),
    ('<field name="number" type="u32"/>', '<field name="number" type="u32"> */ </field>',
     "field number: */ would end a comment in C"),
    ('enum="colour"/>', 'enum="shape"/>', "field colour: there is no shape above it"),
    ('<part name="first" of="item"/>', '<part name="first"/>', "part first: has no attribute of"),
    ('<part name="first" of="item"/>', '<bit name="first"/>', "request ship: unknown element bit"),
]

# In broker.xml: records and layouts.
WRONG_PLACES = [
    ('<field at="12" name="checksum"', '<field at="11" name="checksum"',
     "record token: field checksum: at 11 overlaps"),
    ('<field at="12" name="checksum"', '<field at="13" name="checksum"',
     "record token: field checksum: at 13 leaves a gap"),
    ('<record name="token" bytes="512"', '<record name="token" bytes="520"',
     "record token: its fields end at 512, not at 520"),
    ('magic="WWTOKEN1"', 'magic="WWTOKEN"', "record token: its first field has no room"),
    ('type="array" size="272"', 'type="array" size="264"', "has 272 bytes, not 264"),
    ('type="array" size="272"', 'type="matrix" size="272"', "unknown type matrix"),
    ('type="text" size="112"', 'type="text"', "a text needs a size"),
    ('<field at="0" name="state" type="u32">1: used; 0: free</field>\n    <field at="4" name="pid" type="u32"/>',
     '<field at="0" name="state" type="u16"/>\n    <field at="2" name="pid" type="u32"/>',
     "layout holder_record: field pid: a u32 cannot be at 2"),
    ('<field at="88" name="reserved_1" type="u64"/>', '<field at="88" name="number" type="u64"/>',
     "field number: there is another of this name"),
    ('<error status="exists">', '<error status="wrong">', "there is no WW_ERR_WRONG"),
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def generate(text, folder):
    """Runs the generator on this text, asking for everything; (status, what it said, what it wrote).

    It runs in this process: to start another one takes much longer than it does.
    """
    source, out = os.path.join(folder, "it.xml"), os.path.join(folder, "out")
    statuses = os.path.join(folder, "statuses.h")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    with open(statuses, "w", encoding="utf-8") as file:
        for number, name in enumerate(["ACCESS", "DESCRIPTOR", "EXISTS", "INVALID", "NOT_FOUND", "PEER_LOST",
                                       "QUOTA", "STATE", "VERSION", "GIVEN_UP", "LIMIT"], 1):
            file.write(f"\tWW_ERR_{name} = -{number}, /* x */\n")
    sys.argv = [GENERATE, source, "--header", out, "--samples-source", out, "--doc", out, "--statuses", statuses]
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(told):
        try:
            runpy.run_path(GENERATE, run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code or 0
    return status, told.getvalue(), os.path.exists(out)


def is_refused(base, before, after, said):
    """What is wrong with how the generator takes this change; None: nothing."""
    if before not in base:
        return f"the test replaces what is not there: {before}"
    with tempfile.TemporaryDirectory() as folder:
        status, told, has_written = generate(base.replace(before, after, 1), folder)
    if status != 1 or has_written:
        return f"ended with {status}, {'files' if has_written else 'no file'} written: {told}"
    if said not in told or len(told.splitlines()) != 1:
        return f"said: {told}"
    return None


def is_taken(base):
    with tempfile.TemporaryDirectory() as folder:
        status, told, has_written = generate(base, folder)
    return None if status == 0 and has_written and not told else f"ended with {status}: {told}"


def is_seen_as_stale(folder):
    """Whether --check tells a file that is as it should be from one that is not."""
    path = os.path.join(folder, "golden.txt")
    command = [GENERATE, BROKER, "--golden", path]
    outcomes = [subprocess.run(command + more, capture_output=True, check=False).returncode
                for more in (["--check"], [], ["--check"])]
    with open(path, "a", encoding="utf-8") as file:
        file.write("more\n")
    outcomes.append(subprocess.run(command + ["--check"], capture_output=True, check=False).returncode)
    return None if outcomes == [1, 0, 0, 1] else f"ended with {outcomes}"


def main():
    new, broker = read(NEW), read(BROKER)
    results = [("takes new.xml", is_taken(new)), ("takes broker.xml", is_taken(broker))]
    for base, wrong in ((new, WRONG_MESSAGES), (broker, WRONG_PLACES)):
        results += [(f"refuses: {case[-1]}", is_refused(base, *case)) for case in wrong]
    with tempfile.TemporaryDirectory() as folder:
        results.append(("sees what is stale", is_seen_as_stale(folder)))
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {name.replace('#', '')}")
        if wrong:
            print(f"# {wrong}")
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
