# SPDX-License-Identifier: Apache-2.0
"""emit_doc.py - the protocol for people, above all for those who write a client in another language

Everything about single messages comes from the XML file; what holds for every protocol of this kind
(how values are written, how old and new meet, how it may change) is said here. statuses() takes the numbers
of errors from the public header, and a status in the file that is not there is a fault.
"""
import re
import textwrap

import model
import samples

STATUS = re.compile(r"^\s*WW_ERR_([A-Z_]+) = (-\d+),?\s*/\*\s*(.*?)\s*\*/", re.MULTILINE)
WIDTH = 110

VALUES = """## How values are written

Numbers are little-endian. Nothing is aligned and there is no padding: a field begins where the field before
it ends. Offsets in the tables count from the first byte of the packet, or of the part. A field after a field
of variable length has no fixed offset (`...`).

| type | bytes | |
| --- | --- | --- |
| `u8` `u16` `u32` `u64` | 1, 2, 4, 8 | a number without sign |
| `i32` `i64` | 4, 8 | a number in two's complement |
| `bytes[N]` | N | N bytes as they are |
| `string[N]` | 2 + length | a `u16`, the length, at most N; then this number of bytes of UTF-8, none of them zero |
| `blob[N]` | 2 + length | a `u16`, the length, at most N; then this number of bytes |
| a part | its fields | the fields of the part, one after another; see [Parts](#parts) |
| `list of PART, at most N` | 4 + items | a `u32`, the number of items, at most N; then the items, each a part |

If a field has an enum in brackets, `(state)`, the receiver refuses a packet with another value. If the text
says "of enum", a request with another value is well formed, and the answer refuses it.
"""

HANDSHAKE = """## Handshake

The client connects to the socket and sends `{hello}` with the lowest and the highest version of this
protocol that it supports. The broker chooses the highest version that both support and answers `{welcome}`,
which names it. All later messages, in both directions, are in that version. If there is no common version,
the broker answers `error` with the status VERSION and closes the connection. If it refuses the connection
itself, its answer is `error` with serial 0.

This document is of version {version}. The oldest version that the program still supports is {least}.

`{hello}`, `{welcome}` and `error` are the same in all versions, because by them both sides agree on a version.
"""

CHANGE = """## How the protocol changes

* A code, a field's place and its meaning never change, and no code is used twice.
* A message or a part grows only at its end. A new field says "since version N": on a connection with an
  older version it is neither written nor read, and the program takes it as zero.
* A new message says the same; an older connection refuses its code.
* The lines of `protocol/golden.txt` never change, lines are only added. They are the bytes of one sample of
  every message in every version that changed it. A client in another language can be tested against them.
"""

RECORDS = """## Records

Stored bytes with fixed places, little-endian. `text[N]` is UTF-8, ended by a zero, in a place of N bytes.
"""

LAYOUTS = """## Layouts of shared memory

What the broker keeps in memory that survives its process, in the machine's own byte order. No client sees
it; it stands here since a broker of another version may find it.
"""


def statuses(text):
    """(name, number, meaning) of every error in the public header."""
    return [(name, int(value), said) for name, value, said in STATUS.findall(text)]


def anchor(name):
    """What a heading's link looks like on the usual sites."""
    return re.sub(r"[^a-z0-9_ -]", "", name.lower()).replace(" ", "-")


def cell(text):
    """A text that does not end a table's cell."""
    return text.replace("|", "\\|")


def sentence(text):
    """A text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""


def paragraph_lines(text):
    """A paragraph and the empty line behind it."""
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False) + [""]


def intro_lines(thing):
    """The summary and the description of a thing, a paragraph each."""
    lines = []
    for paragraph in [sentence(thing.summary)] + thing.description:
        lines += paragraph_lines(paragraph) if paragraph else []
    return lines


def type_of(field):
    """A field's type as the tables write it."""
    if field.type in ("bytes", "text"):
        return f"`{field.type}[{field.size}]`"
    if field.type in ("string", "blob"):
        return f"`{field.type}[{field.max}]`"
    if field.type == "part":
        return f"part [{field.of.name}](#{anchor(field.of.name + ' (part)')})"
    if field.type == "list":
        return f"list of [{field.of.name}](#{anchor(field.of.name + ' (part)')}), at most {field.max}"
    if field.type == "record":
        return f"record [{field.of.name}](#{anchor(field.of.name + ' (record)')})"
    if field.type == "dims":
        return f"{field.count} x (`i64`, `i64`)"
    count = f"[{field.count}]" if getattr(field, "count", None) else ""
    enum = getattr(field, "enum", None)
    none = " or 0" if getattr(field, "may_be_none", False) else ""
    link = f" ([{enum.name}](#{anchor(enum.name + ' (enum)')}){none})" if enum else ""
    return f"`{field.type}{count}`{link}"


def about(field):
    """What the tables say of a field."""
    said = field.text
    if getattr(field, "since", 1) > 1:
        said = f"since version {field.since}" + (f": {said}" if said else "")
    return cell(said)


def field_lines(fields, at):
    """A table of fields, the first at this offset."""
    lines = ["| offset | field | type | |", "| --- | --- | --- | --- |"]
    for field in fields:
        place = "..." if at is None else at
        lines.append(f"| {place} | `{field.name}` | {type_of(field)} | {about(field)} |")
        least = model.least_bytes([field])
        at = None if at is None or least != model.most_bytes([field]) else at + least
    return lines + [""]


def placed_lines(fields):
    """A table of fields at fixed places."""
    lines = ["| offset | field | type | |", "| --- | --- | --- | --- |"]
    lines += [f"| {field.at} | `{field.name}` | {type_of(field)} | {about(field)} |"
              for field in fields]
    return lines + [""]


def opening_lines(protocol):
    """What comes before the messages."""
    packet_bytes = protocol.constant("packet_bytes")
    lines = [f"<!-- Made by protocol/generate.py from protocol/{protocol.file}: change that. -->", "",
             f"# The protocol: {protocol.title}", ""]
    for paragraph in protocol.description:
        lines += paragraph_lines(paragraph)
    lines += ["## The header", "", "Every packet begins with the header. A packet has at most "
              f"{packet_bytes} bytes.", ""]
    lines += field_lines(protocol.header.fields, 0)
    lines += VALUES.split("\n")
    welcome = next(message.reply for message in protocol.messages if message.name == "hello")
    return lines + HANDSHAKE.format(hello="hello", welcome=welcome, version=protocol.version,
                                    least=protocol.least).split("\n")


def example_lines(protocol):
    """The bytes of a hello."""
    hello = next(sample for sample in samples.of_messages(protocol) if sample.message.name == "hello")
    lines = ["## An example", "", f"The `hello` of `protocol/golden.txt`, {len(hello.bytes)} bytes:", "",
             "```"]
    for at in range(0, len(hello.bytes), 16):
        part = hello.bytes[at:at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:04x}  {part.hex(' '):47}  {shown}".rstrip())
    return lines + ["```", ""]


def limit_lines(protocol):
    """The constants."""
    lines = ["## Limits", "", "| name | value | |", "| --- | --- | --- |"]
    lines += [f"| `{constant.name}` | {constant.value} | {cell(constant.text)} |"
              for constant in protocol.constants]
    return lines + [""]


def fds_text(message):
    """How many descriptors come with a message."""
    least, most = message.fds
    return str(most) if least == most else f"{least} to {most}"


def index_lines(protocol):
    """All messages on one screen."""
    lines = ["## Messages", "", "| code | name | sort | answer | descriptors | |",
             "| --- | --- | --- | --- | --- | --- |"]
    for message in protocol.messages:
        answer = f"`{message.reply}`" if message.reply else ""
        lines.append(f"| {message.value} | [{message.name}](#{anchor(heading(message))}) | {message.tag} "
                     f"| {answer} | {fds_text(message) if message.fds[1] else ''} "
                     f"| {cell(message.summary)} |")
    return lines + [""]


def heading(message):
    return f"{message.name} ({message.tag} {message.value})"


def message_lines(protocol, message):
    """One message."""
    most = protocol.header_bytes + model.most_bytes(message.fields)
    least = protocol.header_bytes + model.least_bytes(message.fields)
    size = f"{least} bytes" if least == most else f"{least} to {most} bytes"
    facts = [f"Code {message.value}", size]
    facts += [f"{fds_text(message)} descriptors"] if message.fds[1] else []
    facts += [f"since version {message.since}"] if message.since > 1 else []
    facts += [f"answered by [{message.reply}](#{anchor(reply_heading(protocol, message))})"] \
        if message.reply else []
    facts += ["with serial 0 there is no answer"] if message.is_silent else []
    lines = [f"### {heading(message)}", ""] + intro_lines(message) + ["; ".join(facts) + ".", ""]
    lines += field_lines(message.fields, protocol.header_bytes) if message.fields else \
        ["It has no fields.", ""]
    for charge in message.charges:
        lines += [f"Charged: {charge}.", ""]
    if message.errors:
        lines += ["Refused with:", ""]
        lines += [f"* `{status.upper()}`" + (f": {said}" if said else "")
                  for status, said in message.errors] + [""]
    return lines


def reply_heading(protocol, message):
    return heading(next(one for one in protocol.messages if one.name == message.reply))


def enum_lines(protocol):
    """Every enum."""
    lines = ["## Enums", ""]
    for enum in protocol.enums:
        lines += [f"### {enum.name} (enum)", ""] + intro_lines(enum)
        lines += ["Bits, any of them together.", ""] if enum.is_bits else []
        lines += ["| value | name | |", "| --- | --- | --- |"]
        lines += [f"| {entry.value} | `{entry.name}` | {cell(entry.text)} |" for entry in enum.entries]
        lines.append("")
    return lines


def status_lines(protocol, known):
    """The numbers in an error's status."""
    names = {name for name, _, _ in known}
    for message in protocol.messages:
        for status, _ in message.errors:
            if status.upper() not in names:
                raise message.fault(f"error {status}: there is no WW_ERR_{status.upper()}")
    lines = ["## Statuses", "", "What `status` of an `error` can be; a receiver takes a number it does "
             "not know as SYSTEM.", "", "| status | name | |", "| --- | --- | --- |"]
    lines += [f"| {value} | `{name}` | {cell(said)} |" for name, value, said in known]
    return lines + [""]


def placed_section(things, opening):
    """The records, or the layouts."""
    lines = opening.split("\n") if things else []
    for thing in things:
        version = f", version {thing.version}" if thing.version else ""
        lines += [f"### {thing.name} ({thing.tag})", ""] + intro_lines(thing)
        lines += [f"{thing.bytes} bytes{version}.", ""] + placed_lines(thing.fields)
    return lines


def document(protocol, known):
    """The whole text; known are the statuses."""
    lines = opening_lines(protocol) + example_lines(protocol) + limit_lines(protocol) + index_lines(protocol)
    for tag, title in (("request", "Requests"), ("reply", "Answers"), ("event", "Events")):
        lines += [f"## {title}", ""]
        for message in protocol.of(tag):
            lines += message_lines(protocol, message)
    lines += ["## Parts", ""]
    for struct in protocol.structs:
        lines += [f"### {struct.name} (part)", ""] + intro_lines(struct) + field_lines(struct.fields, 0)
    lines += enum_lines(protocol) + status_lines(protocol, known)
    lines += placed_section(protocol.records, RECORDS) + placed_section(protocol.layouts, LAYOUTS)
    lines += CHANGE.rstrip("\n").split("\n")
    return "\n".join(lines) + "\n"
