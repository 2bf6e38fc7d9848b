# SPDX-License-Identifier: Apache-2.0
"""samples.py - one sample of each message and record, and its bytes

A sample is made by counting: each byte of each field is the next number, so that every field differs from
its neighbours and a wrong place or order of bytes shows. It depends on nothing but its own fields, so it
is the same for as long as the message is. A message that has grown has a sample for each version that
changed it.

The bytes are encoded here, a second time beside the codec in C: what the two agree on is what the file says.
Spoils are changes of these bytes that every decoder has to refuse.
"""
import model

SERIAL = 0x01020304


class Spoil:
    """A number at a place of a packet, and why it is wrong there."""

    def __init__(self, at, size, value, why):
        self.at, self.size, self.value, self.why = at, size, value, why


class Counter:
    """Gives the numbers 1, 2, ... 255, 1, ..."""

    def __init__(self):
        self.last = self.enums = 0

    def next(self, count):
        numbers = [(self.last + i) % 255 + 1 for i in range(count)]
        self.last += count
        return bytes(numbers)


class Sample:
    """A message in one version: values by the names of fields, its bytes and what spoils them."""

    def __init__(self, message, version, flags):
        self.message, self.version = message, version
        self.spoils, self.body = [], bytearray()
        self.at = sum(model.NUMBERS[kind] for _, kind in model.HEADER)
        self.header = {"code": message.value, "fd_count": message.fds[1],
                       "serial": 0 if message.tag == "event" else SERIAL,
                       "flags": flags if message.tag == "request" else 0}
        self.values = self.make(message.fields, Counter())
        self.header["bytes"] = self.at + len(self.body)
        head = b"".join(self.header[name].to_bytes(model.NUMBERS[kind], "little")
                        for name, kind in model.HEADER)
        self.bytes = head + bytes(self.body)

    def spoil(self, size, value, why):
        """What is wrong where the next byte will be."""
        self.spoils.append(Spoil(self.at + len(self.body), size, value, why))

    def make(self, fields, counter):
        """Values for these fields, their bytes appended."""
        return {field.name: self.make_one(field, counter)
                for field in fields if field.since <= self.version}

    def make_one(self, field, counter):
        if field.type in model.NUMBERS:
            return self.make_number(field, counter)
        if field.type == "bytes":
            value = counter.next(field.size)
            self.body += value
            return value
        if field.type == "part":
            return self.make(field.of.fields, counter)
        if field.type == "list":
            self.spoil(model.COUNT_BYTES, field.max + 1, f"too many {field.name}")
            self.body += min(2, field.max).to_bytes(model.COUNT_BYTES, "little")
            return [self.make(field.of.fields, counter) for _ in range(min(2, field.max))]
        return self.make_text(field, counter)

    def make_number(self, field, counter):
        size = model.NUMBERS[field.type]
        value = number(field, counter)
        if field.enum:
            self.spoil(size, (1 << 8 * size) - 1, f"{field.name} is no {field.enum.name}")
        self.body += (value % (1 << 8 * size)).to_bytes(size, "little")
        return value

    def make_text(self, field, counter):
        """A string or a blob."""
        value = text(field, counter) if field.type == "string" else counter.next(min(5, field.max))
        if field.max < 0xffff:
            self.spoil(model.LENGTH_BYTES, field.max + 1, f"{field.name} is too long")
        self.body += len(value).to_bytes(model.LENGTH_BYTES, "little")
        if field.type == "string":
            self.spoil(1, 0, f"{field.name} has a zero inside")
        self.body += value
        return value


def number(field, counter):
    """The next number of a field's type, below zero if that can be; for an enum its first or second
    value, in turn, so that another value added behind changes nothing."""
    size = model.NUMBERS[field.type]
    half = 1 << (8 * size - 1)
    value = int.from_bytes(counter.next(size), "little")
    if getattr(field, "enum", None):
        counter.enums += 1
        return field.enum.entries[:2][counter.enums % min(2, len(field.enum.entries))].value
    return value % half - half if field.type[0] == "i" else value


def text(field, counter):
    """A short text that says whose it is."""
    most = (field.size - 1) if field.size else field.max
    return f"{field.name}-{counter.next(1)[0]}".encode()[:most]


class RecordSample:
    """A record: values by the names of fields, and its bytes."""

    def __init__(self, record, counter=None):
        self.record = record
        counter = counter or Counter()
        self.values, self.bytes = {}, b""
        for field in record.fields:
            self.values[field.name] = self.make_one(field, counter)

    def make_one(self, field, counter):
        if field.type in model.NUMBERS:
            value = number(field, counter)
            self.bytes += (value % (1 << 8 * field.bytes)).to_bytes(field.bytes, "little")
        elif field.type == "bytes":
            value = counter.next(field.size)
            if field.name == "magic" and self.record.magic:
                value = self.record.magic.encode()
            self.bytes += value
        elif field.type == "text":
            value = text(field, counter)
            self.bytes += value.ljust(field.size, b"\0")
        elif field.type == "record":
            inner = RecordSample(field.of, counter)
            value, self.bytes = inner.values, self.bytes + inner.bytes
        else:
            value = []
            for _ in range(2 * field.count):
                raw = counter.next(7) + b"\xff"
                value.append(int.from_bytes(raw, "little", signed=True))
                self.bytes += raw
        return value


def versions_of(message, protocol):
    """The versions that are spoken in which a message is not what it was in the one before."""
    changes = {field.since for field in model.all_fields(message.fields)} | {message.since}
    first = max(message.since, protocol.least)
    return [version for version in range(first, protocol.version + 1)
            if version in changes or version == first]


def of_messages(protocol):
    """A sample of every message, in every version that changed it."""
    flags = next(enum for enum in protocol.enums if enum.name == "header_flag")
    return [Sample(message, version, flags.entries[0].value) for message in protocol.messages
            for version in versions_of(message, protocol)]


def of_records(protocol):
    """A sample of every record."""
    return [RecordSample(record) for record in protocol.records]


def golden(protocol):
    """The text of the file of golden bytes."""
    lines = [f"# One sample of each message and record of protocol/{protocol.file}: sort, name, version,",
             "# bytes. Made by protocol/generate.py. A line that is here never changes, or old and new",
             "# would not understand each other: lines are added only."]
    lines += [f"{sample.message.tag} {sample.message.name} {sample.version} {sample.bytes.hex()}"
              for sample in of_messages(protocol)]
    lines += [f"record {sample.record.name} 1 {sample.bytes.hex()}" for sample in of_records(protocol)]
    return "\n".join(lines) + "\n"


def dictionary(protocol):
    """Words for a fuzzer: what numbers the messages begin with, the values of enums, the magics."""
    words = [f'code_{message.name}="{escaped(message.value.to_bytes(2, "little"))}"'
             for message in protocol.messages]
    words += [f'{enum.name}_{entry.name}="{escaped(entry.value.to_bytes(1 if entry.value < 256 else 4, "little"))}"'
              for enum in protocol.enums for entry in enum.entries]
    words += [f'magic_{record.name}="{escaped(record.magic.encode())}"'
              for record in protocol.records if record.magic]
    return "\n".join(words) + "\n"


def escaped(raw):
    """Bytes as a fuzzer's dictionary has them."""
    return "".join(f"\\x{byte:02x}" for byte in raw)
