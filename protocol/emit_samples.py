# SPDX-License-Identifier: Apache-2.0
"""emit_samples.py - the samples in C, for tests and fuzzers

Makes a header and a source with a table of samples: each has its fields as a constant struct, made from the
same values as the golden bytes, and three functions by which a test need not know the message: encode it,
decode a packet and name the first field that differs from the sample, and decode a packet and encode again
what came.
"""
from emit_c import C_TYPES, Names, function, listed, opening, wrapped
import samples

TYPES = """struct wire_spoil {
	size_t at;
	size_t bytes;
	uint64_t value;
	const char *why;
};

/* @message and the functions belong together; a packet is one of the sample's message and version. */
struct wire_sample {
	const char *sort; /* "request", "reply", "event" */
	const char *name;
	uint16_t version;
	struct PREFIX_header header;
	const void *message;
	size_t (*encode)(const void *message, uint16_t version, const struct PREFIX_header *header,
		void *out, size_t room);

	/* Return: the name of the first field that is not as in @message; NULL: all are. */
	const char *(*differs)(const void *message, const void *packet, size_t bytes,
		uint16_t version, ww_status *out_status);

	/* Decodes a packet and encodes what came. Not for threads. Return: the length; 0: refused. */
	size_t (*again)(const void *packet, size_t bytes, uint16_t version, void *out, size_t room,
		ww_status *out_status);
	const struct wire_spoil *spoils;
	size_t spoil_count;
};

struct wire_record_sample {
	const char *name;
	size_t bytes;
	const void *record;
	void (*encode)(const void *record, uint8_t *out);
	const char *(*differs)(const void *record, const uint8_t *bytes);

	/* Decodes and encodes again. */
	void (*again)(const uint8_t *bytes, uint8_t *out);
};

extern const struct wire_sample wire_samples[];
extern const size_t wire_sample_count;
extern const struct wire_record_sample wire_record_samples[];
extern const size_t wire_record_sample_count;
"""


def header(protocol, prefix, include, name):
    """The text of the header."""
    lines = opening(protocol, name, "samples of every message and record")
    lines += ["#ifndef WW_WIRE_SAMPLES_H", "#define WW_WIRE_SAMPLES_H", "", "#include <stddef.h>",
              "#include <stdint.h>", "", f"#include \"{include}\"", "",
              "/* A number at a place of a sample's bytes that every decoder has to refuse. */",
              TYPES.replace("PREFIX", prefix), "#endif", ""]
    return "\n".join(lines)


# --- values ---

def bytes_text(raw):
    """Bytes as an initialiser."""
    return "{" + ", ".join(f"0x{byte:02x}" for byte in raw) + "}"


def number_text(field, value):
    """A number as an initialiser."""
    if field.type[0] == "u":
        return f"UINT64_C(0x{value:x})" if field.type == "u64" else f"0x{value:x}"
    return f"INT64_C({value})" if field.type == "i64" else str(value)


def field_values(fields, values, lists):
    """Initialisers, one string for each member; lists gives the names of lists' items."""
    found = []
    for field in fields:
        if field.name not in values:
            continue
        value = values[field.name]
        if field.type in C_TYPES:
            found.append(f".{field.name} = {number_text(field, value)}")
        elif field.type == "bytes":
            found.append(f".{field.name} = {bytes_text(value)}")
        elif field.type in ("string", "text"):
            found.append(f".{field.name} = \"{value.decode()}\"")
        elif field.type == "blob":
            found.append(f".{field.name}_bytes = {len(value)}")
            found.append(f".{field.name} = {bytes_text(value)}")
        elif field.type == "list":
            found.append(f".{field.name} = {{.count = {len(value)}, .items = {lists[field.name]}}}")
        elif field.type == "dims":
            pairs = (f"{{INT64_C({shape}), INT64_C({stride})}}"
                     for shape, stride in zip(value[::2], value[1::2]))
            found.append(f".{field.name} = {{{', '.join(pairs)}}}")
        else:
            inner = field_values(field.of.fields, value, lists)
            found.append(f".{field.name} = {{{', '.join(inner)}}}")
    return found or [".empty = 0"]


def object_lines(kind, name, members):
    """A constant struct."""
    lines = [f"static const {kind} {name} = {{"]
    for member in members:
        lines += wrapped(f"\t{member},")
    return lines + ["};", ""]


def sample_lines(names, sample):
    """The constants of one sample: the items of its lists, itself, its spoils."""
    own = f"{sample.message.name}_{sample.version}"
    lines, lists = [], {}
    for field in sample.message.fields:
        if field.type != "list" or field.name not in sample.values:
            continue
        lists[field.name] = f"{own}_{field.name}"
        items = [f"{{{', '.join(field_values(field.of.fields, item, {}))}}}"
                 for item in sample.values[field.name]]
        lines += object_lines(names.struct(field.of), f"{lists[field.name]}[]", items)
    lines += object_lines(names.struct(sample.message), own,
                          field_values(sample.message.fields, sample.values, lists))
    if sample.spoils:
        lines += object_lines("struct wire_spoil", f"{own}_spoils[]", [
            f"{{{spoil.at}, {spoil.size}, UINT64_C(0x{spoil.value:x}), \"{spoil.why}\"}}"
            for spoil in sample.spoils])
    return lines


# --- functions ---

def differs_lines(field):
    """The statements that compare one member of a and b."""
    a, b = f"a->{field.name}", f"b->{field.name}"
    if field.type in C_TYPES:
        return [f"\tif ({a} != {b})", f"\t\treturn \"{field.name}\";"]
    if field.type in ("string", "text"):
        return [f"\tif (strcmp({a}, {b}) != 0)", f"\t\treturn \"{field.name}\";"]
    if field.type == "blob":
        return [f"\tif ({a}_bytes != {b}_bytes || memcmp({a}, {b}, sizeof({a})) != 0)",
                f"\t\treturn \"{field.name}\";"]
    if field.type in ("bytes", "dims"):
        return [f"\tif (memcmp({a}, {b}, sizeof({a})) != 0)", f"\t\treturn \"{field.name}\";"]
    compare = f"differs_{field.of.name}{'_list' if field.type == 'list' else ''}"
    return [f"\tif ({compare}(&{a}, &{b}))", f"\t\treturn \"{field.name}\";"]


def differs_function(names, thing):
    """Compares two structs."""
    kind = f"const {names.struct(thing)}"
    body = [line for field in thing.fields for line in differs_lines(field)]
    return function(f"static const char *differs_{thing.name}({kind} *a, {kind} *b)",
                    *(body or ["\t(void)a;", "\t(void)b;"]), "\treturn NULL;")


def differs_list_function(names, struct):
    """Compares the items of a list that is to be encoded with those of a decoded one."""
    kind = f"const {names.struct(struct)}_list"
    return function(
        f"static const char *differs_{struct.name}_list({kind} *a, {kind} *b)",
        f"\t{names.struct(struct)}_list left = *b;", f"\t{names.struct(struct)} item;", "",
        "\tif (a->count != b->count)", "\t\treturn \"count\";",
        "\tfor (uint32_t i = 0; i < a->count; i++) {",
        f"\t\tif (!{names.prefix}_{struct.name}_next(&left, &item))", "\t\t\treturn \"end\";",
        f"\t\tif (differs_{struct.name}(&a->items[i], &item))", "\t\t\treturn \"item\";", "\t}",
        f"\treturn {names.prefix}_{struct.name}_next(&left, &item) ? \"end\" : NULL;")


def message_functions(names, message):
    """What the table has of a message."""
    kind, name = names.struct(message), message.name
    statics, walks = [], []
    for field in message.fields:
        if field.type != "list":
            continue
        items = f"{field.name}_items"
        statics.append(f"\tstatic {names.struct(field.of)} {items}[{field.max}];")
        walks += ["\tcount = 0;",
                  f"\twhile ({names.prefix}_{field.of.name}_next(&message.{field.name}, &{items}[count]))",
                  "\t\tcount++;", f"\tmessage.{field.name}.items = {items};"]
    statics += [f"\tstruct {names.prefix}_header header;", f"\t{kind} message;"]
    statics += ["\tuint32_t count;"] if walks else []
    return function(
        f"static size_t encode_{name}(const void *message, uint16_t version, "
        f"const struct {names.prefix}_header *header, void *out, size_t room)",
        f"\treturn {names.prefix}_encode_{name}(message, version, header, out, room);"
    ) + function(
        f"static const char *differs_packet_{name}(const void *expected, const void *packet, "
        "size_t bytes, uint16_t version, ww_status *out_status)",
        f"\t{kind} message;", "",
        f"\t*out_status = {names.prefix}_decode_{name}(packet, bytes, version, &message);",
        f"\treturn *out_status == WW_OK ? differs_{name}(expected, &message) : \"status\";"
    ) + function(
        f"static size_t again_{name}(const void *packet, size_t bytes, uint16_t version, void *out, "
        "size_t room, ww_status *out_status)", *statics, "",
        f"\t*out_status = {names.prefix}_decode_{name}(packet, bytes, version, &message);",
        "\tif (*out_status != WW_OK)", "\t\treturn 0;", *walks,
        f"\t(void){names.prefix}_read_header(packet, bytes, 0, &header);",
        f"\treturn {names.prefix}_encode_{name}(&message, version, &header, out, room);")


def record_functions(names, record):
    """What the table has of a record."""
    kind, name = names.struct(record), record.name
    return function(
        f"static void encode_{name}(const void *record, uint8_t *out)",
        f"\t{names.prefix}_encode_{name}(record, out);"
    ) + function(
        f"static const char *differs_bytes_{name}(const void *expected, const uint8_t *bytes)",
        f"\t{kind} record;", "", f"\t{names.prefix}_decode_{name}(bytes, &record);",
        f"\treturn differs_{name}(expected, &record);"
    ) + function(
        f"static void again_{name}(const uint8_t *bytes, uint8_t *out)",
        f"\t{kind} record;", "", f"\t{names.prefix}_decode_{name}(bytes, &record);",
        f"\t{names.prefix}_encode_{name}(&record, out);")


# --- the table ---

def row_lines(sample):
    """A sample's row."""
    name, own = sample.message.name, f"{sample.message.name}_{sample.version}"
    head = ", ".join(f".{key} = 0x{value:x}" for key, value in sample.header.items())
    lines = ["\t{", f"\t\t.sort = \"{sample.message.tag}\",", f"\t\t.name = \"{name}\",",
             f"\t\t.version = {sample.version},", *wrapped(f"\t\t.header = {{{head}}},"),
             f"\t\t.message = &{own},", f"\t\t.encode = encode_{name},",
             f"\t\t.differs = differs_packet_{name},", f"\t\t.again = again_{name},"]
    if sample.spoils:
        lines += [f"\t\t.spoils = {own}_spoils,", f"\t\t.spoil_count = {len(sample.spoils)},"]
    return lines + ["\t},"]


def record_row_lines(names, sample):
    name = sample.record.name
    return ["\t{", f"\t\t.name = \"{name}\",", f"\t\t.bytes = {names.bytes(sample.record)},",
            f"\t\t.record = &record_{name},", f"\t\t.encode = encode_{name},",
            f"\t\t.differs = differs_bytes_{name},", f"\t\t.again = again_{name},", "\t},"]


def table_lines(kind, name, rows):
    """A table and how long it is."""
    return [f"const struct {kind} {name}s[] = {{", *rows, "};", "",
            f"const size_t {name}_count = sizeof({name}s) / sizeof({name}s[0]);", ""]


def source(protocol, prefix, name):
    """The text of the source; name is that of the header."""
    names = Names(protocol, prefix)
    messages, records = samples.of_messages(protocol), samples.of_records(protocol)
    lines = opening(protocol, name.replace(".h", ".c"), "samples of every message and record")
    lines += [f"#include \"{name}\"", "", "#include <string.h>", ""]
    for sample in messages:
        lines += sample_lines(names, sample)
    for sample in records:
        lines += object_lines(names.struct(sample.record), f"record_{sample.record.name}",
                              field_values(sample.record.fields, sample.values, {}))
    for struct in protocol.structs:
        lines += differs_function(names, struct)
        lines += differs_list_function(names, struct) if struct in listed(protocol) else []
    for message in protocol.messages:
        lines += differs_function(names, message) + message_functions(names, message)
    for record in protocol.records:
        lines += differs_function(names, record) + record_functions(names, record)
    lines += table_lines("wire_sample", "wire_sample",
                         [line for sample in messages for line in row_lines(sample)])
    lines += table_lines("wire_record_sample", "wire_record_sample",
                         [line for sample in records for line in record_row_lines(names, sample)])
    return "\n".join(lines[:-1]) + "\n"
