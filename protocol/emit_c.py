# SPDX-License-Identifier: Apache-2.0
"""emit_c.py - the codec in C: a header with the structs, a source with what reads and writes them

What is the same for every field stands in src/wire/reader.h and writer.h, by hand; made here is only
what follows from the file: the order of fields, their bounds, and which version has them. header()
and source() return the text of the two files. prefix is what every name begins with, such as "ww_wire".
"""
import re
import textwrap

import model

C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
           "i32": "int32_t", "i64": "int64_t"}
COLUMNS = 100
LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */"


def width(line):
    """Columns a line takes, a tab being eight."""
    return len(line.expandtabs(8))


def comment(text, indent=""):
    """The lines of a comment."""
    if width(f"{indent}/* {text} */") <= COLUMNS:
        return [f"{indent}/* {text} */"]
    room = COLUMNS - width(indent) - 3
    return ([f"{indent}/*"] + [f"{indent} * {line}" for line in textwrap.wrap(text, room)]
            + [f"{indent} */"])


def noted(line, text):
    """A line with a comment behind it, or before it where that is too long."""
    if not text:
        return [line]
    if width(f"{line} /* {text} */") <= COLUMNS:
        return [f"{line} /* {text} */"]
    return comment(text, line[:len(line) - len(line.lstrip("\t"))]) + [line]


def last_break(line):
    """The last place where a line of code may be broken and then fits; 0: nowhere."""
    return max((at for at in range(1, len(line)) if line[at] == " " and line[at - 1] in ",|&"
                and line.count('"', 0, at) % 2 == 0 and width(line[:at]) <= COLUMNS), default=0)


def wrapped(line):
    """A long line of code, broken behind commas and operators and indented once more."""
    indent = line[:len(line) - len(line.lstrip("\t"))]
    lines, rest = [], line
    while width(rest) > COLUMNS and last_break(rest):
        cut = last_break(rest)
        lines.append(rest[:cut])
        rest = f"{indent}\t{rest[cut + 1:]}"
    return lines + [rest]


def aligned(lines):
    """The same lines; comments behind neighbouring ones begin in one column, where they fit."""
    done, run = [], []
    for line in lines + [""]:
        match = re.match(r"(.*[^\s*].*\S) (/\* .* \*/)\Z", line)
        if match:
            run.append(match.groups())
            continue
        most = max((width(code) for code, _ in run), default=0)
        fits = all(most + 1 + len(text) <= COLUMNS for _, text in run)
        done += [code + " " * (most - width(code) if fits else 0) + " " + text for code, text in run]
        done.append(line)
        run = []
    return done[:-1]


def function(head, *lines):
    """A function and the empty line behind it."""
    body = [part for line in lines for part in wrapped(line)]
    return wrapped(head) + ["{"] + body + ["}", ""]


class Names:
    """How things of the file are called in C."""

    def __init__(self, protocol, prefix):
        self.prefix = prefix
        self.upper = prefix.upper()
        self.layout = prefix.rsplit("_", 1)[0] + "_layout"
        self.check(protocol)

    def struct(self, thing):
        return f"struct {self.layout if thing.tag == 'layout' else self.prefix}_{thing.name}"

    def code(self, message):
        return f"{self.upper}_{message.name.upper()}"

    def entry(self, enum, entry):
        return f"{self.upper}_{enum.name.upper()}_{entry.name.upper()}"

    def bytes(self, placed):
        prefix = self.layout.upper() if placed.tag == "layout" else self.upper
        return f"{prefix}_{placed.name.upper()}_BYTES"

    def check(self, protocol):
        """No two things may have the same name in C, though they are of different sorts in the file."""
        taken = {name: "the codec" for name in ("VERSION", "LEAST", "HEADER_BYTES")}
        claims = [(one.name, one) for one in protocol.constants + protocol.messages]
        claims += [(f"{enum.name}_{entry.name}", entry)
                   for enum in protocol.enums for entry in enum.entries]
        claims += [(f"{one.name}_{end}", one) for one in protocol.records for end in ("bytes", "magic")]
        for name, thing in claims:
            if name.upper() in taken:
                raise thing.fault(f"its name in C, {self.upper}_{name.upper()}, is that of "
                                  f"{taken[name.upper()]}")
            taken[name.upper()] = thing.where
        for thing in protocol.structs + protocol.messages + protocol.records:
            if thing.name in ("header", "handlers"):
                raise thing.fault("the codec has a struct of this name")


def listed(protocol):
    """The structs that are items of a list."""
    return [struct for struct in protocol.structs
            if any(field.type == "list" and field.of is struct
                   for message in protocol.messages for field in message.fields)]


def checked(protocol):
    """The enums whose values the codec checks."""
    fields = [field for thing in protocol.structs + protocol.messages for field in thing.fields]
    return [enum for enum in protocol.enums if any(field.enum is enum for field in fields)]


# --- the header ---

def field_lines(names, field):
    """The members of a struct for one field."""
    text = field.text
    if field.type in C_TYPES:
        array = f"[{field.count}]" if getattr(field, "count", None) else ""
        if field.enum:
            text = f"of enum {field.enum.name}" + (f": {text}" if text else "")
        return noted(f"\t{C_TYPES[field.type]} {field.name}{array};", text)
    if field.type == "bytes":
        return noted(f"\tuint8_t {field.name}[{field.size}];", text)
    if field.type == "text":
        return noted(f"\tchar {field.name}[{field.size}];", text)
    if field.type == "string":
        return noted(f"\tchar {field.name}[{field.max + 1}];", text)
    if field.type == "blob":
        return [f"\tuint16_t {field.name}_bytes;"] + noted(
            f"\tuint8_t {field.name}[{field.max}];", text)
    if field.type == "dims":
        return comment(text, "\t") + ["\tstruct {", "\t\tint64_t shape;", "\t\tint64_t stride;",
                                      f"\t}} {field.name}[{field.count}];"]
    if field.type == "list":
        text = f"at most {field.max}" + (f": {text}" if text else "")
        return noted(f"\t{names.struct(field.of)}_list {field.name};", text)
    return noted(f"\t{names.struct(field.of)} {field.name};", text)


def struct_lines(names, thing):
    """A struct with its members."""
    lines = comment(thing.summary) if thing.summary else []
    lines.append(f"{names.struct(thing)} {{")
    for field in thing.fields:
        lines += field_lines(names, field)
    if not thing.fields:
        lines.append("\tuint8_t empty;")
    return lines + ["};", ""]


def list_lines(names, struct):
    """The list of a struct: an array to encode, a cursor over the packet once decoded."""
    return [f"{names.struct(struct)}_list {{", "\tuint32_t count;",
            f"\tconst {names.struct(struct)} *items; /* to encode; borrowed */",
            "\tconst uint8_t *at; /* decoded: what is left to walk, in the packet */",
            "\tconst uint8_t *end;", "\tuint16_t version;", "};", ""]


def enum_lines(names, protocol):
    """Each enum, then the codes of the messages."""
    lines = []
    for enum in protocol.enums:
        said = f"{enum.name}" + (f": {enum.summary}" if enum.summary else "")
        lines += comment(said) + ["enum {"]
        for entry in enum.entries:
            comma = "" if entry is enum.entries[-1] else ","
            lines += noted(f"\t{names.entry(enum, entry)} = {entry.value}{comma}", entry.text)
        lines += ["};", ""]
    lines += comment("The messages.") + ["enum {"]
    for message in protocol.messages:
        comma = "" if message is protocol.messages[-1] else ","
        lines += noted(f"\t{names.code(message)} = {message.value}{comma}", message.summary)
    return lines + ["};", ""]


def defines(names, protocol):
    """Every number that has a name: the name, the number, what is said about it."""
    yield f"{names.upper}_VERSION", protocol.version, ""
    yield f"{names.upper}_LEAST", protocol.least, "the oldest version that is spoken"
    yield f"{names.upper}_HEADER_BYTES", protocol.header_bytes, ""
    for constant in protocol.constants:
        yield f"{names.upper}_{constant.name.upper()}", constant.value, constant.text
    for record in protocol.records:
        yield names.bytes(record), record.bytes, ""
        if record.magic:
            yield f"{names.upper}_{record.name.upper()}_MAGIC", f"\"{record.magic}\"", ""
    for layout in protocol.layouts:
        yield names.bytes(layout), layout.bytes, ""
        if layout.version:
            yield f"{names.layout.upper()}_{layout.name.upper()}_VERSION", layout.version, ""


def define_lines(names, protocol):
    """The numbers in one column."""
    found = list(defines(names, protocol))
    most = max(len(name) for name, _, _ in found)
    lines = []
    for name, value, text in found:
        lines += noted(f"#define {name:{most}} {value}", text)
    return lines + [""]


def assert_lines(names, layout):
    """Where the members of a layout are."""
    struct = names.struct(layout)
    lines = [f"_Static_assert(sizeof({struct}) == {layout.bytes}, \"size\");"]
    lines += [f"_Static_assert(offsetof({struct}, {field.name}) == {field.at}, \"{field.name}\");"
              for field in layout.fields]
    return lines + [""]


def encode_head(names, message):
    return (f"size_t {names.prefix}_encode_{message.name}(const {names.struct(message)} *message, "
            f"uint16_t version, const struct {names.prefix}_header *header, void *out, size_t room)")


def encode_code_head(names):
    return (f"size_t {names.prefix}_encode(uint16_t code, const void *message, uint16_t version, "
            f"const struct {names.prefix}_header *header, void *out, size_t room)")


def decode_head(names, message):
    return (f"ww_status {names.prefix}_decode_{message.name}(const void *packet, size_t bytes, "
            f"uint16_t version, {names.struct(message)} *out_message)")


def read_header_head(names):
    return (f"ww_status {names.prefix}_read_header(const void *packet, size_t bytes, "
            f"size_t fd_count, struct {names.prefix}_header *out_header)")


def dispatch_head(names):
    return (f"ww_status {names.prefix}_dispatch(const struct {names.prefix}_handlers *handlers, "
            "void *context, uint16_t version, const void *packet, size_t bytes, size_t fd_count)")


def next_head(names, struct):
    return (f"bool {names.prefix}_{struct.name}_next({names.struct(struct)}_list *list, "
            f"{names.struct(struct)} *out)")


def encode_record_head(names, record):
    return (f"void {names.prefix}_encode_{record.name}(const {names.struct(record)} *record, "
            f"uint8_t out[{record.bytes}])")


def decode_record_head(names, record):
    return (f"void {names.prefix}_decode_{record.name}(const uint8_t bytes[{record.bytes}], "
            f"{names.struct(record)} *out_record)")


def function_lines(names, protocol):
    """The declarations."""
    lines = comment("The name of a message, such as \"hello\"; NULL: there is none of this code.")
    lines += [f"const char *{names.prefix}_name(uint16_t code);", ""]
    lines += comment(
        "Looks at a packet as far as that needs no version: its length, code, flags, and whether it "
        "has as many descriptors as it says and may. On failure @out_header is what could be read, or "
        "zeros. Return: WW_OK; WW_ERR_TRUNCATED (shorter than it says, or than a header); "
        "WW_ERR_PROTOCOL.")
    lines += wrapped(read_header_head(names) + ";") + [""]
    lines += comment(
        "Encoders: of @header, serial, flags and fd_count are written as they are, code and bytes are "
        "filled in. Return: the packet's length; 0 when it does not fit into @room or a field has more "
        "than it may.")
    for message in protocol.messages:
        lines += wrapped(encode_head(names, message) + ";")
    lines += [""] + comment("The encoder of a code. @message: the struct of that code.")
    lines += wrapped(encode_code_head(names) + ";")
    lines += [""] + comment(
        "Decoders: every field is in its bounds, strings have no zeros inside, nothing is left over. "
        "Lists point into @packet. On failure @out_message is zeros. Return: WW_OK; WW_ERR_TRUNCATED; "
        "WW_ERR_PROTOCOL.")
    for message in protocol.messages:
        lines += wrapped(decode_head(names, message) + ";")
    lines += [""] + comment("Walks a decoded list. Return: whether there was another item.")
    for struct in listed(protocol):
        lines += wrapped(next_head(names, struct) + ";")
    return lines + [""] + handler_lines(names, protocol) + record_function_lines(names, protocol)


def handler_lines(names, protocol):
    """The requests' handlers and what calls them."""
    lines = comment("What to do with each request; a handler that is NULL refuses it.")
    lines.append(f"struct {names.prefix}_handlers {{")
    for message in protocol.of("request"):
        lines += wrapped(f"\tww_status (*{message.name})(void *context, const struct {names.prefix}"
                         f"_header *header, const {names.struct(message)} *message);")
    lines += ["};", ""] + comment(
        "Checks a packet, decodes it and hands it to its handler, whose status is returned. Requests "
        "only; one without a serial only where its sender may want no answer. Return: else "
        "WW_ERR_PROTOCOL or WW_ERR_TRUNCATED.")
    return lines + wrapped(dispatch_head(names) + ";") + [""]


def record_function_lines(names, protocol):
    """The records' encoders and decoders."""
    if not protocol.records:
        return []
    lines = comment("Records: bytes to fields and back, without judgement; texts are always ended.")
    for record in protocol.records:
        lines += wrapped(encode_record_head(names, record) + ";")
        lines += wrapped(decode_record_head(names, record) + ";")
    return lines + [""]


def opening(protocol, name, said):
    """How a made file begins."""
    return [LICENCE, "/*", f" * {name} - {said}", " *",
            f" * Made by protocol/generate.py from protocol/{protocol.file}, which says what everything means.",
            " */"]


def header(protocol, prefix, name):
    """The text of the header."""
    names = Names(protocol, prefix)
    guard = f"WW_{name.rsplit('.')[0].upper().replace('/', '_')}_H"
    lines = opening(protocol, name.rsplit("/")[-1], protocol.title)
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>",
              "#include <stddef.h>", "#include <stdint.h>", "", "#include <warpway/base.h>", ""]
    lines += define_lines(names, protocol) + enum_lines(names, protocol)
    lines += comment("Begins every packet.") + [f"struct {prefix}_header {{"]
    for field in protocol.header.fields:
        lines += field_lines(names, Member(field))
    lines += ["};", ""]
    for struct in protocol.structs:
        lines += struct_lines(names, struct)
        lines += list_lines(names, struct) if struct in listed(protocol) else []
    for thing in protocol.messages + protocol.records:
        lines += struct_lines(names, thing)
    for layout in protocol.layouts:
        lines += struct_lines(names, layout) + assert_lines(names, layout)
    return "\n".join(aligned(lines) + function_lines(names, protocol) + ["#endif", ""])


class Member:
    """A field of the header, which is a number of no enum."""

    def __init__(self, field):
        self.name, self.type, self.text, self.enum = field.name, field.type, field.text, None


# --- the source ---

def only_since(field, before, lines):
    """These statements, for connections that know the field."""
    if field.since == 1:
        return [f"\t{line}" for line in lines]
    head = f"\tif ({before}version >= {field.since})"
    if len(lines) == 1:
        return [head, f"\t\t{lines[0]}"]
    return [head + " {"] + [f"\t\t{line}" for line in lines] + ["\t}"]


def write_lines(field, writer, owner):
    """The statements that write a field; writer is an expression of a pointer."""
    value = f"{owner}->{field.name}"
    if field.type in C_TYPES:
        signed = f"(uint{model.NUMBERS[field.type] * 8}_t)" if field.type[0] == "i" else ""
        return [f"ww_write_number({writer}, {signed}{value}, {model.NUMBERS[field.type]});"]
    if field.type == "bytes":
        return [f"ww_write_bytes({writer}, {value}, {field.size});"]
    if field.type == "string":
        return [f"ww_write_string({writer}, {value}, {field.max});"]
    if field.type == "blob":
        return [f"ww_write_blob({writer}, {value}, {value}_bytes, {field.max});"]
    if field.type == "list":
        return [f"write_{field.of.name}_list({writer}, &{value}, {field.max});"]
    return [f"write_{field.of.name}({writer}, &{value});"]


def read_lines(field, reader, owner):
    """The statements that read a field; owner's memory is zeros."""
    value, name = f"{owner}->{field.name}", f"\"{field.name}\""
    if field.type in C_TYPES:
        lines = [f"{value} = ww_read_{field.type}({reader}, {name});"]
        if field.enum:
            is_known = f"{value} == 0 || " if field.may_be_none else ""
            is_known += f"is_{field.enum.name}({value})"
            lines.append(f"ww_reader_check({reader}, {name}, {value}, {is_known});")
        return lines
    if field.type == "bytes":
        return [f"ww_read_bytes({reader}, {name}, {value}, {field.size});"]
    if field.type == "string":
        return [f"ww_read_string({reader}, {name}, {value}, {field.max});"]
    if field.type == "blob":
        return [f"{value}_bytes = ww_read_blob({reader}, {name}, {value}, {field.max});"]
    if field.type == "list":
        return [f"read_{field.of.name}_list({reader}, {name}, {field.max}, &{value});"]
    return [f"read_{field.of.name}({reader}, &{value});"]


def enum_functions(names, protocol):
    """Whether a number is an enum's."""
    lines = []
    for enum in checked(protocol):
        cases = [f"\tcase {names.entry(enum, entry)}:" for entry in enum.entries]
        lines += function(f"static bool is_{enum.name}(uint32_t value)", "\tswitch (value) {", *cases,
                          "\t\treturn true;", "\tdefault:", "\t\treturn false;", "\t}")
    return lines


def struct_functions(names, struct):
    """Writes and reads a part or an item."""
    write, read = [], []
    for field in struct.fields:
        write += only_since(field, "writer->", write_lines(field, "writer", "item"))
        read += only_since(field, "reader->", read_lines(field, "reader", "out"))
    kind = names.struct(struct)
    return (function(f"static void write_{struct.name}(struct ww_writer *writer, const {kind} *item)",
                     *write)
            + function(f"static void read_{struct.name}(struct ww_reader *reader, {kind} *out)",
                       "\tmemset(out, 0, sizeof(*out));", *read))


def list_functions(names, struct):
    """Writes and reads a list, and walks a decoded one."""
    name, kind = struct.name, names.struct(struct)
    return function(
        f"static void write_{name}_list(struct ww_writer *writer, const {kind}_list *list, uint32_t max)",
        "\tuint32_t count = ww_write_count(writer, list->count, max, list->items);", "",
        "\tfor (uint32_t i = 0; i < count; i++)", f"\t\twrite_{name}(writer, &list->items[i]);"
    ) + function(
        f"static void read_{name}_list(struct ww_reader *reader, const char *field, uint32_t max, "
        f"{kind}_list *out)",
        f"\t{kind} item;", "",
        "\tout->count = ww_read_count(reader, field, max);",
        "\tout->version = reader->version;", "\tout->at = reader->at;",
        "\tfor (uint32_t i = 0; i < out->count && reader->status == WW_OK; i++)",
        f"\t\tread_{name}(reader, &item);", "\tout->end = reader->at;"
    ) + function(
        next_head(names, struct),
        f"\tstruct ww_reader reader = {{.at = list->at,", "\t\t.end = list->end,",
        f"\t\t.message = \"{name}\",", "\t\t.version = list->version};", "",
        "\tif (list->at == list->end)", "\t\treturn false;", f"\tread_{name}(&reader, out);",
        "\tlist->at = reader.status == WW_OK ? reader.at : list->end;",
        "\treturn reader.status == WW_OK;")


def header_functions(names, protocol):
    """What is the same for the encoders, and for the decoders, of all messages."""
    at, puts = 0, []
    for field in protocol.header.fields:
        value = {"code": "code", "bytes": "bytes"}.get(field.name, f"header->{field.name}")
        puts.append(f"\tww_bytes_put_number(at + {at}, {value}, {model.NUMBERS[field.type]});")
        at += model.NUMBERS[field.type]
    start = function(
        "static struct ww_writer begin_packet(void *out, size_t room, uint16_t version)",
        "\tstruct ww_writer writer = {.at = out, .end = (uint8_t *)out + room, .version = version};",
        "", f"\tww_writer_take(&writer, {names.upper}_HEADER_BYTES);", "\treturn writer;")
    end = function(
        "static size_t end_packet(const struct ww_writer *writer, uint16_t code, "
        f"const struct {names.prefix}_header *header, uint8_t *at)",
        "\tsize_t bytes = (size_t)(writer->at - at);", "", "\tif (writer->has_failed)",
        "\t\treturn 0;", *puts, "\treturn bytes;")
    return start + end + get_header_function(names, protocol) + decoding_functions(names)


def get_header_function(names, protocol):
    """Bytes to header."""
    at, gets = 0, []
    for field in protocol.header.fields:
        size = model.NUMBERS[field.type]
        gets.append(f"\t\t.{field.name} = ({C_TYPES[field.type]})ww_bytes_number(at + {at}, {size}),")
        at += size
    return function(f"static struct {names.prefix}_header get_header(const uint8_t *at)",
                    f"\treturn (struct {names.prefix}_header){{", *gets, "\t};")


def decoding_functions(names):
    """The first and the last step of every decoder."""
    return function(
        "static struct ww_reader begin_decoding(const char *name, uint16_t code, const void *packet, "
        "size_t bytes, uint16_t version)",
        "\tstruct ww_reader reader = {.at = packet,", "\t\t.end = (const uint8_t *)packet + bytes,",
        "\t\t.message = name,", "\t\t.version = version};",
        f"\tconst uint8_t *at = ww_reader_take(&reader, \"header\", {names.upper}_HEADER_BYTES);",
        f"\tstruct {names.prefix}_header header;", "",
        "\tif (!at)", "\t\treturn reader;", "\theader = get_header(at);",
        "\tif (header.bytes > bytes)",
        "\t\treader.status = ww_fail(WW_ERR_TRUNCATED, \"refused a message %s of %zu bytes that says "
        "it has %u\", name, bytes, header.bytes);",
        "\telse if (header.bytes < bytes || header.code != code)",
        "\t\treader.status = ww_fail(WW_ERR_PROTOCOL, \"refused a message %s of %zu bytes whose header "
        "says code %u, %u bytes\", name, bytes, header.code, header.bytes);",
        "\treturn reader;"
    ) + function(
        "static ww_status end_decoding(struct ww_reader *reader, void *out, size_t out_bytes)",
        "\tif (reader->status == WW_OK && reader->at < reader->end)",
        "\t\treader->status = ww_fail(WW_ERR_PROTOCOL, \"refused a message %s with %zu bytes behind its "
        "last field\", reader->message, (size_t)(reader->end - reader->at));",
        "\tif (reader->status != WW_OK)", "\t\tmemset(out, 0, out_bytes);",
        "\treturn reader->status;")


def message_functions(names, message):
    """The encoder and the decoder of a message."""
    write, read = [], []
    for field in message.fields:
        write += only_since(field, "writer.", write_lines(field, "&writer", "message"))
        read += only_since(field, "reader.", read_lines(field, "&reader", "out_message"))
    if message.since > 1:
        write.insert(0, f"\tww_writer_since(&writer, {message.since});")
        read.insert(0, f"\tww_reader_since(&reader, {message.since});")
    if not message.fields:
        write.append("\t(void)message;")
    code = names.code(message)
    return function(encode_head(names, message),
                    "\tstruct ww_writer writer = begin_packet(out, room, version);", "", *write,
                    f"\treturn end_packet(&writer, {code}, header, out);") + function(
        decode_head(names, message),
        f"\tstruct ww_reader reader = begin_decoding(\"{message.name}\", {code}, packet, bytes, version);",
        "", "\tmemset(out_message, 0, sizeof(*out_message));", *read,
        "\treturn end_decoding(&reader, out_message, sizeof(*out_message));")


def encode_function(names, protocol):
    """One encoder for the messages of all codes."""
    cases = [line for message in protocol.messages
             for line in (f"\tcase {names.code(message)}:", f"\t\treturn {names.prefix}_encode_"
                          f"{message.name}(message, version, header, out, room);")]
    return function(encode_code_head(names), "\tswitch (code) {", *cases, "\tdefault:",
                    "\t\treturn 0;", "\t}")


def name_function(names, protocol):
    cases = [line for message in protocol.messages
             for line in (f"\tcase {names.code(message)}:", f"\t\treturn \"{message.name}\";")]
    return function(f"const char *{names.prefix}_name(uint16_t code)", "\tswitch (code) {", *cases,
                    "\tdefault:", "\t\treturn NULL;", "\t}")


def fds_function(names, protocol):
    """How many descriptors a message may have."""
    cases = []
    for least, most in sorted({message.fds for message in protocol.messages} - {(0, 0)}):
        cases += [f"\tcase {names.code(message)}:" for message in protocol.messages
                  if message.fds == (least, most)]
        bounds = ([f"count >= {least}"] if least else []) + [f"count <= {most}"]
        cases.append(f"\t\treturn {' && '.join(bounds)};")
    if not cases:
        return function("static bool may_have_fds(uint16_t code, size_t count)", "\t(void)code;",
                        "\treturn count == 0;")
    return function("static bool may_have_fds(uint16_t code, size_t count)", "\tswitch (code) {",
                    *cases, "\tdefault:", "\t\treturn count == 0;", "\t}")


def read_header_function(names, protocol):
    flags = next(enum for enum in protocol.enums if enum.name == "header_flag")
    known = " | ".join(names.entry(flags, entry) for entry in flags.entries)
    return function(
        read_header_head(names), "\tconst char *name;", "",
        "\tmemset(out_header, 0, sizeof(*out_header));",
        f"\tif (bytes < {names.upper}_HEADER_BYTES)",
        "\t\treturn ww_fail(WW_ERR_TRUNCATED, \"refused a packet of %zu bytes: a header has %d\", bytes, "
        f"{names.upper}_HEADER_BYTES);",
        "\t*out_header = get_header(packet);",
        "\tif (out_header->bytes > bytes)",
        "\t\treturn ww_fail(WW_ERR_TRUNCATED, \"refused a packet of %zu bytes that says it has %u\", bytes, "
        "out_header->bytes);",
        "\tif (out_header->bytes < bytes)",
        "\t\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a packet of %zu bytes that says it has %u\", bytes, "
        "out_header->bytes);",
        f"\tname = {names.prefix}_name(out_header->code);",
        "\tif (!name)",
        "\t\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a message of unknown code %u\", out_header->code);",
        f"\tif (out_header->flags & ~(uint32_t)({known}))",
        "\t\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a message %s with unknown flags 0x%x\", name, "
        "out_header->flags);",
        "\tif (out_header->fd_count != fd_count || !may_have_fds(out_header->code, fd_count))",
        "\t\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a message %s with %zu descriptors that says it has "
        "%u\", name, fd_count, out_header->fd_count);",
        "\treturn WW_OK;")


def dispatch_functions(names, protocol):
    """One small function for each request, and the switch over them."""
    lines, cases = [], []
    arguments = (f"const struct {names.prefix}_handlers *handlers, void *context, uint16_t version, "
                 f"const struct {names.prefix}_header *header, const void *packet")
    for message in protocol.of("request"):
        silent = [] if message.is_silent else ["\tif (header->serial == 0)",
                                               f"\t\treturn refuse_silent(\"{message.name}\");"]
        lines += function(
            f"static ww_status dispatch_{message.name}({arguments})",
            f"\t{names.struct(message)} message;", "", f"\tif (!handlers->{message.name})",
            f"\t\treturn refuse_request(\"{message.name}\");", *silent,
            f"\tww_try({names.prefix}_decode_{message.name}(packet, header->bytes, version, &message));",
            f"\treturn handlers->{message.name}(context, header, &message);")
        cases += [f"\tcase {names.code(message)}:", f"\t\treturn dispatch_{message.name}(handlers, "
                  "context, version, &header, packet);"]
    return refuse_functions() + lines + function(
        dispatch_head(names), f"\tstruct {names.prefix}_header header;", "",
        f"\tww_try({names.prefix}_read_header(packet, bytes, fd_count, &header));",
        "\tswitch (header.code) {", *cases, "\tdefault:",
        f"\t\treturn refuse_request({names.prefix}_name(header.code));", "\t}")


def refuse_functions():
    return function(
        "static ww_status refuse_request(const char *name)",
        "\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a message %s: it is no request that is answered "
        "here\", name);") + function(
        "static ww_status refuse_silent(const char *name)",
        "\treturn ww_fail(WW_ERR_PROTOCOL, \"refused a request %s without a serial: it has an answer\", "
        "name);")


def record_write(names, field):
    """The statements that put a field of a record in its place."""
    value, at = f"record->{field.name}", f"out + {field.at}"
    if field.type in C_TYPES:
        return [f"\tww_bytes_put_number({at}, {value}, {field.bytes});"]
    if field.type == "bytes":
        return [f"\tmemcpy({at}, {value}, {field.bytes});"]
    if field.type == "text":
        return [f"\tww_bytes_put_text({at}, {value}, {field.bytes});"]
    if field.type == "record":
        return [f"\t{names.prefix}_encode_{field.of.name}(&{value}, {at});"]
    return [f"\tfor (size_t i = 0; i < {field.count}; i++) {{",
            f"\t\tww_bytes_put_number({at} + i * {model.DIMS_BYTES}, (uint64_t){value}[i].shape, 8);",
            f"\t\tww_bytes_put_number({at} + i * {model.DIMS_BYTES} + 8, (uint64_t){value}[i].stride, 8);",
            "\t}"]


def record_read(names, field):
    """The statements that take a field of a record from its place."""
    value, at = f"out_record->{field.name}", f"bytes + {field.at}"
    if field.type in C_TYPES:
        return [f"\t{value} = ({C_TYPES[field.type]})ww_bytes_number({at}, {field.bytes});"]
    if field.type == "bytes":
        return [f"\tmemcpy({value}, {at}, {field.bytes});"]
    if field.type == "text":
        return [f"\tww_bytes_text({at}, {value}, {field.bytes});"]
    if field.type == "record":
        return [f"\t{names.prefix}_decode_{field.of.name}({at}, &{value});"]
    return [f"\tfor (size_t i = 0; i < {field.count}; i++) {{",
            f"\t\t{value}[i].shape = (int64_t)ww_bytes_number({at} + i * {model.DIMS_BYTES}, 8);",
            f"\t\t{value}[i].stride = (int64_t)ww_bytes_number({at} + i * {model.DIMS_BYTES} + 8, 8);",
            "\t}"]


def record_functions(names, record):
    write = [line for field in record.fields for line in record_write(names, field)]
    read = [line for field in record.fields for line in record_read(names, field)]
    return function(encode_record_head(names, record), *write) + function(
        decode_record_head(names, record), *read)


def source(protocol, prefix, name):
    """The text of the source; name is that of the header it includes."""
    names = Names(protocol, prefix)
    lines = opening(protocol, name.rsplit("/")[-1].replace(".h", ".c"),
                    "encodes, checks and decodes: " + protocol.title)
    lines += [f"#include \"{name}\"", "", "#include <string.h>", "", "#include \"base/error.h\"",
              "#include \"wire/reader.h\"", "#include \"wire/writer.h\"", ""]
    lines += enum_functions(names, protocol)
    for struct in protocol.structs:
        lines += struct_functions(names, struct)
        lines += list_functions(names, struct) if struct in listed(protocol) else []
    lines += header_functions(names, protocol) + name_function(names, protocol)
    lines += fds_function(names, protocol) + read_header_function(names, protocol)
    for message in protocol.messages:
        lines += message_functions(names, message)
    lines += encode_function(names, protocol) + dispatch_functions(names, protocol)
    for record in protocol.records:
        lines += record_functions(names, record)
    return "\n".join(lines)
