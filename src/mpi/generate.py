#!/usr/bin/env python3
"""generate.py - the wrappers of MPI functions, made from table.txt and a preprocessed mpi.h

  generate.py wrappers TABLE MPI.I --abi NAME --header OUT.h --source OUT.c
  generate.py check TABLE MPI.I... [--page docs/mpi-calls.md]
                                       every function that the table must have is there, and fits;
                                       the page is that of the table
  generate.py doc TABLE                the page docs/mpi-calls.md

table.txt says what a row is.
"""
import argparse
import re
import sys

ROLES = {"at root": "WW_MPI_AT_ROOT(role)", "at others": "WW_MPI_AT_OTHERS(role)",
         "at each": "WW_MPI_AT_EACH(role)"}
GROUPS = ("ranks", "members", "sources", "destinations")
# What makes a function one that needs a row: a buffer, a request, a status or a message.
RELEVANT = re.compile(r"\bvoid\s*\*|\bMPI_(Request|Status|Message|F08_status)\b")
# A status as an array of integers.
RELEVANT_NAME = re.compile(r"_[fc]2?(f08)?_?\d*[fc]?$")


class Buffer:
    """One buffer argument: its shape, and for each direction when it applies."""

    def __init__(self, name, shape):
        self.name, self.shape, self.uses, self.received = name, shape, [], False


class Row:
    """One row: functions that do the same with the same arguments."""

    def __init__(self, names, arguments, line):
        self.names, self.arguments, self.line = names, arguments, line
        self.buffers, self.kind, self.detail = [], "blocking", ""
        self.in_place = None
        self.marks = set()

    def add_use(self, direction, text):
        name, _, rest = text.partition(" = ")
        shape, *conditions = [part.strip() for part in rest.split(",")]
        buffer = next((one for one in self.buffers if one.name == name), None)
        if buffer is None:
            buffer = Buffer(name, shape)
            self.buffers.append(buffer)
        elif buffer.shape != shape:
            raise SystemExit(f"table.txt:{self.line}: {name} has two shapes")
        if "received" in conditions:
            conditions.remove("received")
            buffer.received = True
        buffer.uses.append((direction, conditions[0] if conditions else None))

    def add_line(self, text):
        word, _, rest = text.partition(" ")
        if text.startswith("in place "):
            self.in_place = text[len("in place "):]
        elif word in ("in", "out", "inout"):
            self.add_use(word, rest)
        elif word in ("nonblocking", "persistent", "partitioned"):
            self.kind = word
        elif word in ("direct", "agreed", "uncounted", "counted"):
            self.marks.add(word)
        elif word in ("refuse", "pass", "own"):
            self.kind, self.detail = word, rest
        else:
            raise SystemExit(f"table.txt: what is '{text}'?")

    def copy(self, names, kind, more):
        row = Row(names, self.arguments + more, self.line)
        row.marks = self.marks
        row.buffers, row.kind, row.in_place = self.buffers, kind, self.in_place
        return row


def base(name):
    """What a function is called in names of ours."""
    return name[4:] if name.startswith("MPI_") else "X_" + name[5:]


def expand(row):
    """The three forms of a collective."""
    plain = [name[4:] for name in row.names]
    yield row
    yield row.copy([f"MPI_I{name[0].lower()}{name[1:]}" for name in plain], "nonblocking",
                   ["request"])
    yield row.copy([f"MPI{x}_{name}_init" for name in plain for x in ("", "X")], "persistent",
                   ["info", "request"])


def read_table(path):
    """All rows, in their order; before each the heading it stands under."""
    rows, row, is_collective, heading = [], None, False, ""

    def finish():
        if row:
            rows.extend((heading, one) for one in (expand(row) if is_collective else [row]))

    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text.startswith("# ---"):
                finish()
                row, heading = None, text.strip("# -")
            elif not text or text.startswith("#"):
                continue
            elif line[0].isspace():
                row.add_line(text)
            else:
                finish()
                match = re.fullmatch(r"(collective )?(.*?) ?\((.*)\)", text)
                if not match:
                    raise SystemExit(f"table.txt:{number}: no row: {text}")
                is_collective = bool(match.group(1))
                row = Row(match.group(2).split(), match.group(3).split(), number)
    finish()
    return rows


def split_arguments(text):
    """[(type, array suffix)] of a prototype's arguments."""
    arguments = []
    for part in re.split(r",(?![^()]*\))", text):
        part = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", part).strip()
        if part in ("", "void"):
            continue
        match = re.fullmatch(r"(.*?)\b(\w+)\s*((?:\[\w*\])*)", part)
        if not match or not match.group(1).strip():
            match = re.match(r"(.*)()()", part)
        arguments.append((match.group(1).strip(), match.group(3)))
    return arguments


def read_prototypes(path):
    """{name: (type of its value, arguments)} of all functions of a preprocessed mpi.h."""
    with open(path, encoding="utf-8") as stream:
        text = re.sub(r"\s+", " ", stream.read())
    pattern = re.compile(r"([\w ]+?\*?) ?\b(P?MPIX?_\w+) ?\(((?:[^()]|\([^()]*\))*)\)(?=[^;{}]*;)")
    found = {}
    for match in pattern.finditer(text):
        if "typedef" not in match.group(1):
            found.setdefault(match.group(2), (match.group(1).split()[-1],
                                              split_arguments(match.group(3)), match.group(3)))
    return found


class Function:
    """One function of an MPI, with its row."""

    def __init__(self, name, row, arguments):
        self.name, self.row, self.base = name, row, base(name)
        self.types = arguments
        self.names = self.name_arguments(len(arguments))

    def name_arguments(self, count):
        names = list(self.row.arguments)
        if "..." in names:
            at = names.index("...")
            middle = [f"a{i}" for i in range(count - len(names) + 1)]
            names[at:at + 1] = middle
        return names

    def declaration(self):
        return ", ".join(f"{kind}{'' if kind.endswith('*') else ' '}{name}{suffix}"
                         for (kind, suffix), name in zip(self.types, self.names)) or "void"

    def call(self, replaced=None):
        replaced = replaced or {}
        return ", ".join(replaced.get(name, name) for name in self.names)

    def has(self, name):
        return name in self.names


def find_functions(rows, prototypes):
    """A Function for each name of the table that this MPI has."""
    functions = []
    for _, row in rows:
        for name in row.names:
            for form in (name, name + "_c"):
                if form in prototypes and "P" + form in prototypes or form.startswith("MPIX_") \
                   and form in prototypes:
                    functions.append(Function(form, row, prototypes[form][1]))
    return functions


# --- the wrappers ---


def number(group):
    return f"ww_mpi_{group}(comm)" if group in GROUPS else group


def array(name):
    return f"WW_MPI_NUMBERS_OF({name})"


def type_of(shape):
    """The argument that is the one datatype of a shape, or None."""
    match = re.search(r"\* (\w+)(?: at \w+)?$", shape)
    return match.group(1) if match and not shape.startswith("bytes") else None


def shape_call(function, shape):
    """The C statement that gives a buffer its shape."""
    match = re.fullmatch(r"bytes from (\w+) to (\w+)", shape)
    if match:
        return f"ww_mpi_shape_bytes(shaped, *{match[1]}, {match[2]});"
    match = re.fullmatch(r"(\w+)\[(\w+)\] \* (\w+)\[\] at (\w+)", shape)
    if match:
        return (f"ww_mpi_shape_w(shaped, {number(match[2])}, {array(match[1])},\n"
                f"\t\t\t{array(match[4])}, {match[3]});")
    match = re.fullmatch(r"(\w+)\[(\w+)\] \* (\w+) at (\w+)", shape)
    if match:
        return (f"ww_mpi_shape_v(shaped, {number(match[2])}, {array(match[1])},\n"
                f"\t\t\t{array(match[4])}, {match[3]});")
    match = re.fullmatch(r"sum\((\w+)\) \* (\w+)", shape)
    if match:
        return (f"ww_mpi_shape_plain(shaped,\n\t\t\tww_mpi_sum({array(match[1])}, "
                f"ww_mpi_members(comm)), {match[2]});")
    match = re.fullmatch(r"(\w+)\[self\] \* (\w+)", shape)
    if match:
        return (f"ww_mpi_shape_plain(shaped,\n\t\t\tww_mpi_number({array(match[1])}, "
                f"ww_mpi_self(comm)), {match[2]});")
    factors = shape.split(" * ")
    if len(factors) == 2:
        return f"ww_mpi_shape_plain(shaped, {factors[0]}, {factors[1]});"
    if function.row.kind == "partitioned":
        return f"ww_mpi_shape_parts(shaped, {', '.join(factors)});"
    if len(factors) != 3 or factors[0] not in GROUPS:
        raise SystemExit(f"table.txt:{function.row.line}: what is the shape '{shape}'?")
    return (f"ww_mpi_shape_plain(shaped, {number(factors[0])} * (MPI_Count){factors[1]}, "
            f"{factors[2]});")


def condition(when):
    """C for the condition of a use, or None if it always applies."""
    if when is None:
        return None
    if when in ROLES:
        return ROLES[when]
    return f"{when.split()[1]} != MPI_PROC_NULL"


def flags(row, buffer):
    """C for the flags of a buffer."""
    terms = []
    senders = [one.name for one in row.buffers if one is not buffer and one.uses[0][0] == "in"]
    for direction, when in buffer.uses:
        value = f"WW_MPI_{direction.upper()}"
        if direction == "out" and senders and not buffer.shape.startswith("bytes"):
            value = f"({senders[0]} == MPI_IN_PLACE ? WW_MPI_INOUT : WW_MPI_OUT)"
        test = condition(when)
        terms.append(f"({test} ? {value} : 0)" if test else value)
    return " | ".join(terms)


def look(row, buffer):
    """C for whether a buffer may be device memory."""
    kind = type_of(buffer.shape)
    if kind is None:
        return f"ww_mpi_look_at({buffer.name})"
    tests = [condition(when) for _, when in buffer.uses]
    if row.buffers and any(test and "role" in test for test in tests):
        return f"ww_mpi_look_if({' || '.join(tests)}, {buffer.name}, {kind})"
    return f"ww_mpi_look({buffer.name}, {kind})"


def add_buffer(function, buffer):
    """The lines that add a buffer to the call."""
    row = function.row
    lines = [f"\tshaped = ww_mpi_call_buffer(&call, {buffer.name}, {flags(row, buffer)});"]
    shape = shape_call(function, buffer.shape)
    sender = next((one.name for one in row.buffers if one is not buffer), None)
    if row.in_place and sender and buffer.uses[0][0] == "out":
        lines += [f"\tif (shaped->flags && {sender} == MPI_IN_PLACE)",
                  "\t\t" + shape_call(function, row.in_place),
                  "\telse if (shaped->flags)", "\t\t" + shape]
    elif "?" in flags(row, buffer) or buffer.uses[0][0] == "in":
        lines += ["\tif (shaped->flags)", "\t\t" + shape]
    else:
        lines += ["\t" + shape]
    return lines


def receives(row):
    """The buffer that is received into, or None."""
    return next((one for one in row.buffers if one.received or
                 "uncounted" in row.marks and one.uses[-1][0] in ("out", "inout")), None)


def message(row, buffer, staged):
    """C for the members of a message: buffer, count, type."""
    count, kind = buffer.shape.split(" * ")
    return f"{staged[buffer.name]}, {count}, {kind}"


def receive(function, staged):
    """The lines that receive: what a probe took out comes first (probe.h)."""
    row, buffer = function.row, receives(function.row)
    call = f"next({function.call(staged)})"
    result = "status" if row.kind == "blocking" else "request"
    if function.has("message"):
        name = "mreceive" if row.kind == "blocking" else "mpost"
        return [f"\tif (!ww_mpi_probe_{name}(&call, message, {result}, &code))", f"\t\tcode = {call};"]
    tag = "recvtag" if function.has("recvtag") else "tag"
    asked = f"&(struct ww_mpi_receive){{{message(row, buffer, staged)},\n\t\t\tsource, {tag}, comm}}"
    if row.kind == "persistent":
        return ["\tcall.is_persistent_receive = true;", "\tcall.source = source;", "\tcall.tag = tag;",
                f"\tcode = {call};"]
    name, sent = {"blocking": "receive", "nonblocking": "post"}[row.kind], ""
    if function.has("dest"):
        name = {"receive": "exchange", "post": "post_exchange"}[name]
        sender = row.buffers[0]
        sent = (f"&(struct ww_mpi_send){{{message(row, sender, staged)},\n\t\t\tdest, sendtag, "
                f"{str(sender is buffer).lower()}}}, ")
    lines = [f"\tif (!ww_mpi_probe_{name}(&call, {sent}{asked},", f"\t\t\t{result}, &code))", f"\t\tcode = {call};"]
    if row.kind == "nonblocking":
        lines = ["\tww_mpi_probe_lock();", *lines, "\tww_mpi_probe_unlock();"]
    return lines


def begin_messages(function):
    """The lines that prepare a receive for a control message, and send one in the place of the data (direct.h)."""
    row, receiver, lines = function.row, receives(function.row), []
    if receiver:
        lines += ["\tcall.is_host = !is_device;"]
        lines += ["\tcall.is_uncounted = true;"] if "uncounted" in row.marks else []
        lines += ["\tww_mpi_direct_expect(&call);"]
    if receiver and not function.has("message"):
        count, kind = receiver.shape.split(" * ")
        most, number = ("INT64_MAX", "MPI_Count") if function.name.endswith("_c") else ("INT32_MAX", "int")
        lines += [f"\tif (ww_mpi_direct_pack(&call, {most})) {{",
                  f"\t\t{count} = ({number})call.buffers[call.buffer_count - 1].bytes;",
                  f"\t\t{kind} = MPI_PACKED;", "\t}"]
    if "direct" in row.marks:
        count, kind = row.buffers[0].shape.split(" * ")
        lines += ["\tww_mpi_direct_send(&call, dest);", "\tif (call.buffers[0].control) {",
                  f"\t\t{count} = WW_MPI_CONTROL_BYTES;", f"\t\t{kind} = MPI_BYTE;", "\t}"]
    return lines


def staged_body(function):
    """The body of a wrapper that stages."""
    row = function.row
    plain = f"next({function.call()})"
    agreed = "agreed" in row.marks and row.kind == "blocking"
    done = "ww_mpi_collective_done({})".format if agreed else "{}".format
    if row.kind == "blocking":
        plain = done(f"ww_mpi_passed({plain})")
    receiver = receives(row)
    has_role = any(when in ROLES for buffer in row.buffers for _, when in buffer.uses)
    has_status = function.has("status")
    packed = next((buffer for buffer in row.buffers if buffer.shape.startswith("bytes") and
                   buffer.uses[0][0] == "out"), None)
    lines = ["\tstruct ww_mpi_call call;", "\tstruct ww_mpi_buffer *shaped;"]
    lines += ["\tenum ww_mpi_role role;"] if has_role else []
    lines += ["\tMPI_Status own;"] if has_status else []
    lines += ["\tMPI_Count start;"] if packed else []
    lines += ["\tbool is_device;"] if receiver else []
    lines += ["\tint code;", ""]
    if agreed:
        agreed = f"ww_mpi_collective_{function.base.removesuffix('_c')}({function.call()}, &code)"
        lines += [f"\tif ({agreed})", "\t\treturn code;"]
    looks = " || ".join(look(row, buffer) for buffer in row.buffers)
    if has_role:
        lines += ["\tif (!ww_mpi_may_stage())", f"\t\treturn {plain};",
                  "\trole = ww_mpi_role(comm, root);", f"\tif (!({looks}))"]
    elif receiver:
        lines += [f"\tis_device = {looks};",
                  "\tif (!is_device && !ww_mpi_may_watch())"]
    else:
        lines += [f"\tif (!({looks}))"]
    comm = "comm" if function.has("comm") else "MPI_COMM_WORLD"
    lines += [f"\t\treturn {plain};", f'\tww_mpi_call_begin(&call, "{function.name}", {comm});']
    for buffer in row.buffers:
        lines += add_buffer(function, buffer)
    lines += begin_messages(function)
    lines += ["\tcode = ww_mpi_call_stage(&call);", "\tif (code != MPI_SUCCESS)",
              f"\t\treturn {done('code')};"]
    staged = {buffer.name: f"call.buffers[{i}].staged" for i, buffer in enumerate(row.buffers)}
    lines += ["\tstatus = WW_MPI_STATUS(status, &own);"] if has_status else []
    lines += ["\tstart = *position;"] if packed else []
    if receiver and not function.name.startswith("MPIX_"):
        lines += receive(function, staged)
    else:
        lines += [f"\tcode = next({function.call(staged)});"]
    lines += ["\tcall.most = ww_mpi_received(status);", "\tcall.status = status;"] if has_status else []
    lines += ["\tcall.most = *position - start;"] if packed else []
    if row.kind == "blocking":
        return lines + [f"\treturn {done('ww_mpi_call_end(&call, code)')};"]
    kind = {"nonblocking": "ONCE", "persistent": "PERSISTENT", "partitioned": "PARTITIONED"}
    received = str(any(buffer.received for buffer in row.buffers)).lower()
    return lines + [f"\treturn ww_mpi_call_pend(&call, code, request, "
                    f"WW_MPI_KIND_{kind[row.kind]}, {received});"]


def refuse_body(function):
    """The body of a wrapper that takes no device memory."""
    names, _, handle = function.row.detail.partition(" by ")
    looks = " || ".join(f"ww_mpi_cuda_owns({name})" for name in names.split())
    kind = {"win": "win", "fh": "file"}.get(handle, "comm")
    return [f"\tif (ww_mpi_may_stage() && ({looks}))",
            f'\t\treturn ww_mpi_refuse_{kind}({handle}, "{function.name}");',
            f"\treturn next({function.call()});"]


def pass_body(function):
    return [f"\treturn next({function.call()});"]


# They have a request that was made before.
USES_REQUEST = re.compile(r"MPI_(Cancel|Start|Request_free|Grequest_complete)|MPIX_(Request|Grequest_complete)")


def makes_request(function):
    return (bool(function.types) and function.types[-1][0].replace(" ", "") == "MPI_Request*" and
            not USES_REQUEST.match(function.name))


def counted(function):
    """The lines around a call that opens or ends a request, or may wait in a receive (peer.h)."""
    row, last = function.row, function.names[-1] if function.names else ""
    if re.match(r"MPI_(Wait|Test|Request_free)", function.name):
        requests = ("1, request" if function.has("request") else
                    f"{'incount' if function.has('incount') else 'count'}, array_of_requests")
        return ([f"\tint before = ww_mpi_open_before({requests});"], [f"\tww_mpi_open_after(before, {requests});"])
    if row.kind == "own" and "counted" not in row.marks:
        return None
    begin = ["\tint code;", "", "\tww_mpi_open_begin();"]
    if makes_request(function):
        # MPICH 5 returns MPI_SUCCESS after an error handler of the program, and then there is no request.
        begin += [f"\tif ({last})", f"\t\t*{last} = MPI_REQUEST_NULL;"]
        end = f"code == MPI_SUCCESS && *{last} != MPI_REQUEST_NULL"
    elif "counted" in row.marks or row.kind == "blocking" and receives(row):
        end = "false"
    else:
        return None
    return (begin, [f"\tww_mpi_open_end({end});"])


def own_body(function):
    more = f", {function.call()}" if function.names else ""
    return [f"\treturn ww_mpi_call_{function.base}(next{more});"]


def wrapper(function, prototypes):
    """All C of one function."""
    body = {"own": own_body, "refuse": refuse_body, "pass": pass_body}.get(function.row.kind, staged_body)
    declaration = function.declaration()
    own = "" if declaration == "void" else ", " + declaration
    lines = [f"static int wrap_{function.base}(ww_mpi_fn_{function.base} *next{own})", "{"]
    lines += body(function) + ["}", ""]
    more = f", {function.call()}" if function.names else ""
    around = counted(function)
    for is_profiling, letter in enumerate(("", "P")):
        if letter + function.name not in prototypes:
            continue
        call = f"wrap_{function.base}(ww_mpi_next(WW_MPI_NUMBER_{function.base}, {is_profiling}){more})"
        lines += [f"WW_MPI_EXPORT int {letter}{function.name}({declaration})", "{"]
        if around is None:
            lines += [f"\treturn {call};", "}", ""]
        elif "int code;" in around[0][0]:
            lines += [*around[0], f"\tcode = {call};", *around[1], "\treturn code;", "}", ""]
        else:
            lines += [*around[0], f"\tint code = {call};", "", *around[1], "\treturn code;", "}", ""]
    return lines


def write_header(path, abi, functions, prototypes):
    lines = ["/* Made by src/mpi/generate.py. */", "#ifndef WW_MPI_CALLS_H_", "#define WW_MPI_CALLS_H_",
             "", f'#define WW_MPI_ABI "{abi}"', "", "enum {"]
    lines += [f"\tWW_MPI_NUMBER_{function.base}," for function in functions]
    lines += ["\tWW_MPI_NUMBERS", "};", "", "#define WW_MPI_NAMES \\"]
    lines += [f'\t"{function.name}", \\' for function in functions] + ["", ""]
    parts = prototypes.get("MPI_Pready_list", (0, [0, ("const int", "")]))[1][1][0]
    lines += [f"#define WW_MPI_PARTS {parts.rstrip(' *')} *", ""]
    for function in functions:
        lines.append(f"typedef int ww_mpi_fn_{function.base}({function.declaration()});")
    for function in functions:
        if function.row.kind == "own":
            more = "" if not function.names else ", " + function.declaration()
            lines.append(f"#define WW_MPI_HAS_{function.base} 1")
            lines.append(f"int ww_mpi_call_{function.base}(ww_mpi_fn_{function.base} *next{more});")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines + ["", "#endif", ""]))


def write_source(path, functions, prototypes):
    lines = ["/* Made by src/mpi/generate.py. */", '#include "mpi/collective.h"', '#include "mpi/direct.h"',
             '#include "mpi/next.h"',
             '#include "mpi/probe.h"', "",
             '#define WW_MPI_EXPORT __attribute__((visibility("default")))', ""]
    for function in functions:
        lines += wrapper(function, prototypes)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines))


def make_wrappers(options):
    prototypes = read_prototypes(options.headers[0])
    rows = [(heading, row) for heading, row in read_table(options.table)
            if row.kind != "pass" or "counted" in row.marks]
    functions = find_functions(rows, prototypes)
    write_header(options.header, options.abi, functions, prototypes)
    write_source(options.source, functions, prototypes)
    return 0


# --- the check ---


def misfits(rows, path):
    """What the table does not say, or says differently from one mpi.h."""
    prototypes = read_prototypes(path)
    known = {form: row for _, row in rows for name in row.names for form in (name, name + "_c")}
    for name, (_, arguments, text) in sorted(prototypes.items()):
        if name.startswith("P"):
            continue
        row = known.get(name)
        if row is None:
            if RELEVANT.search(text):
                yield f"{name}({text}) has no row"
            continue
        if "..." not in row.arguments and len(arguments) != len(row.arguments):
            yield f"{name} has {len(arguments)} arguments, its row {len(row.arguments)}"
        if row.kind != "pass" and "P" + name not in prototypes and not name.startswith("MPIX_"):
            yield f"{name} has no P{name}"
        if row.kind == "pass" and "counted" not in row.marks and makes_request(Function(name, row, arguments)):
            yield f"{name} makes a request, and its row is not counted"


def check(options):
    rows = read_table(options.table)
    failures, seen = [], {}
    for path in options.headers:
        failures += [f"{path}: {text}" for text in misfits(rows, path)]
        seen.update(read_prototypes(path))
    names = [name for _, row in rows for name in row.names]
    failures += [f"{name} is twice in the table" for name in sorted(set(names))
                 if names.count(name) > 1]
    if len(seen) < 300:
        failures.append(f"only {len(seen)} functions were found in mpi.h")
    if options.page:
        with open(options.page, encoding="utf-8") as stream:
            if stream.read() != "\n".join(page(options)) + "\n":
                failures.append(f"{options.page} is not that of the table; make it anew: "
                                "src/mpi/generate.py doc src/mpi/table.txt")
    print("\n".join(failures) or
          f"ok: {len(rows)} rows, {len(names)} names; {len(seen)} functions of mpi.h looked at")
    return 1 if failures else 0


# --- the page ---


def describe_when(when):
    """The condition of a use, in words."""
    if when is None:
        return ""
    if when in ROLES:
        return {"at root": " at the root", "at others": " at the other ranks",
                "at each": " at each rank that takes part"}[when]
    return f" unless `{when.split()[1]}` is `MPI_PROC_NULL`"


def describe(row):
    """What a row does with device memory, in a cell of the page."""
    if row.kind == "pass":
        return "no wrapper: " + row.detail
    if row.kind == "refuse":
        return "an error if `" + "`, `".join(row.detail.partition(" by ")[0].split()) + \
            "` is device memory"
    if row.kind == "own":
        return row.detail
    words = {"in": "read", "out": "written", "inout": "read and written"}
    parts = []
    for buffer in row.buffers:
        uses = " and ".join(words[direction] + describe_when(when) for direction, when in buffer.uses)
        limit = ", as much as was received" if buffer.received else ""
        parts.append(f"`{buffer.name}` ({buffer.shape}) is {uses}{limit}")
    if "direct" in row.marks:
        parts.append("a large message may go directly")
    if "agreed" in row.marks and row.kind == "blocking":
        parts.append("with `WARPWAY_MPI_COLLECTIVES` large data may go directly")
    return "; ".join(parts)


def page(options):
    """The lines of the page."""
    yield ("# MPI calls with device pointers\n\n"
           "This page says what `libwarpway_mpi` does with device memory in each function.\n"
          "`src/mpi/generate.py doc` makes it from `src/mpi/table.txt`. A function with large counts (`_c`)\n"
          "does the same as the function without.\n\n"
          "- A buffer that is read is copied to host memory when the call is made. For a persistent request\n"
          "  this happens when the request is started.\n"
          "- A buffer that is written is copied to the device when the operation is complete. Calls on\n"
          "  requests write the buffers of operations that have become complete.\n"
          "- If a buffer is read and written, all of it is read at the call and written at the end.\n"
          "- With `MPI_IN_PLACE` the receive buffer is read, too.\n"
          "- `ranks` are the ranks of the group that the call communicates with, `members` the ranks of the\n"
          "  caller's own group; `sources` and `destinations` are the neighbours of a topology.\n"
          "- Sections 4 to 6 of [the tutorial](tutorial/mpi.md) say which messages go directly, and when.\n\n"
          "Functions that are not in the table have no buffer, request, status or message.")
    last = None
    for heading, row in read_table(options.table):
        if heading != last:
            yield (f"\n## {heading[0].upper()}{heading[1:]}\n\n| functions | device memory |\n| --- | --- |")
            last = heading
        text = describe(row).replace("|", "\\|")
        yield (f"| {' '.join(f'`{name}`' for name in row.names)} | {text} |")


def write_page(options):
    print("\n".join(page(options)))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("verb", choices=["wrappers", "check", "doc"])
    parser.add_argument("table")
    parser.add_argument("headers", nargs="*")
    parser.add_argument("--abi")
    parser.add_argument("--header")
    parser.add_argument("--source")
    parser.add_argument("--page")
    options = parser.parse_args()
    return {"wrappers": make_wrappers, "check": check, "doc": write_page}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main())
