# SPDX-License-Identifier: Apache-2.0
"""model.py - a protocol's XML file, read and found to be sound

read() makes plain objects of the elements, in their order, and refuses whatever the emitters could
not turn into a codec that is right: an element or attribute nobody knows, a name or a number used
twice, a place that overlaps another, a reference to nothing, a message that would not fit into a
packet. A Fault names the element. Emitters trust what they get from here.

  Protocol ── header, constants, enums
           ├─ structs    Fields in order; parts and list items of messages
           ├─ messages   requests, replies, events: Fields in order, behind the header
           ├─ records    Fields at fixed places: stored bytes, little-endian
           └─ layouts    Fields at fixed places: shared memory, the machine's own order

On the wire a number takes its own size, bytes their size, a string or a blob two bytes of length and
then itself, a part its fields, a list four bytes of count and then its items.
"""
import os
import re
import xml.etree.ElementTree as ElementTree

NUMBERS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i32": 4, "i64": 8}
HEADER = [("code", "u16"), ("fd_count", "u16"), ("serial", "u32"), ("bytes", "u32"), ("flags", "u32")]
LENGTH_BYTES = 2  # before a string or a blob
COUNT_BYTES = 4   # before the items of a list
DIMS_BYTES = 16   # one dimension: shape and stride
FDS_MAX = 8       # what a packet carries, see src/wire/packet.h

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto
    if inline int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false empty""".split())

# What each element must have, may have, and may hold; "*" holds text. A field's rules depend on where it is.
SHAPES = {
    "protocol": ("name version least", "",
                 "summary description header constant enum struct request reply event record layout"),
    "summary": ("", "", "*"),
    "description": ("", "", "*"),
    "constant": ("name value", "", "*"),
    "header": ("bytes", "", "header/field"),
    "enum": ("name", "bits", "summary description entry"),
    "entry": ("name value", "", "*"),
    "struct": ("name", "", "summary description field"),
    "request": ("name code reply", "fds silent since",
                "summary description field part list charge error"),
    "reply": ("name code", "fds since", "summary description field part list"),
    "event": ("name code", "fds since", "summary description field part list"),
    "charge": ("", "", "*"),
    "error": ("status", "", "*"),
    "record": ("name bytes", "magic", "summary description placed/field"),
    "layout": ("name bytes", "version", "summary description placed/field"),
    "header/field": ("name type", "", "*"),
    "field": ("name type", "size max enum none since", "*"),
    "part": ("name of", "since", "*"),
    "list": ("name of max", "since", "*"),
    "placed/field": ("at name type", "size count", "*"),
}


class Fault(Exception):
    """What is wrong with the file, and in which element."""


class Thing:
    """An element: its name, what is said about it, and whatever else its reader sets."""

    def __init__(self, element, where):
        self.name = element.get("name")
        self.tag = element.tag
        self.where = where
        self.summary = text_of(element.find("summary"))
        self.description = paragraphs_of(element.find("description"))
        self.text = text_of(element)
        self.since = 1
        self.fields = []

    def fault(self, said):
        return Fault(f"{self.where}: {said}")


def text_of(element):
    """What an element says, on one line."""
    return " ".join((element.text or "").split()) if element is not None else ""


def paragraphs_of(element):
    """What an element says, one string for each paragraph."""
    if element is None:
        return []
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", element.text or "") if part.strip()]


def place_of(element, where):
    """How messages call an element: "request put: field name"."""
    said = element.get("name") or element.get("status") or ""
    own = f"{element.tag} {said}".strip()
    return f"{where}: {own}" if where else own


def check_shape(element, rule, where):
    """Refuses what SHAPES does not allow, here and below."""
    place = place_of(element, where)
    required, optional, children = (set(part.split()) for part in SHAPES[rule])
    for name in sorted(required - set(element.keys())):
        raise Fault(f"{place}: has no attribute {name}")
    for name in sorted(set(element.keys()) - required - optional):
        raise Fault(f"{place}: unknown attribute {name}")
    if "*" not in children and (element.text or "").strip():
        raise Fault(f"{place}: text where none belongs: {text_of(element)}")
    rules = {child.rsplit("/")[-1]: child for child in children if child != "*"}
    below = "" if rule == "protocol" else place
    for child in element:
        if child.tag not in rules:
            raise Fault(f"{place}: unknown element {child.tag}")
        if (child.tail or "").strip():
            raise Fault(f"{place}: text where none belongs: {child.tail.strip()}")
        check_shape(child, rules[child.tag], below)
    if "*/" in (element.text or ""):
        raise Fault(f"{place}: */ would end a comment in C")
    for once in ("summary", "description"):
        if len(element.findall(once)) > 1:
            raise Fault(f"{place}: more than one {once}")


def number(thing, element, name, least=0, most=(1 << 64) - 1, default=None):
    """The value of an attribute that is a number."""
    said = element.get(name)
    if said is None:
        return default
    if not re.fullmatch(r"0|[1-9][0-9]*", said):
        raise thing.fault(f"{name}=\"{said}\" is not a decimal number")
    if not least <= int(said) <= most:
        raise thing.fault(f"{name}=\"{said}\" is not from {least} to {most}")
    return int(said)


def choice(thing, element, name):
    """Whether an attribute that may only be "yes" is there."""
    if element.get(name) not in (None, "yes"):
        raise thing.fault(f"{name}=\"{element.get(name)}\" is not \"yes\"")
    return element.get(name) == "yes"


def check_names(things):
    """Names that C takes, and no two the same."""
    seen = set()
    for thing in things:
        if not NAME.match(thing.name) or thing.name in KEYWORDS:
            raise thing.fault("a name is lower-case words joined by _, and no word of C's")
        if thing.name in seen:
            raise thing.fault("there is another of this name")
        seen.add(thing.name)


def check_members(fields):
    """Names of fields that make members of a struct whose names differ too."""
    check_names(fields)
    names = {field.name for field in fields}
    for field in fields:
        if field.type == "blob" and f"{field.name}_bytes" in names:
            raise field.fault(f"its {field.name}_bytes in C is taken")


def check_values(things, what):
    """No two with the same number."""
    seen = {}
    for thing in things:
        if thing.value in seen:
            raise thing.fault(f"{what} {thing.value} is {seen[thing.value]}'s already")
        seen[thing.value] = thing.name


class Protocol:
    """The whole file."""

    def __init__(self, root, file):
        self.file = file
        self.name = root.get("name")
        self.title = text_of(root.find("summary"))
        self.description = paragraphs_of(root.find("description"))
        whole = Thing(root, "protocol")
        self.version = number(whole, root, "version", 1, 0xffff)
        self.least = number(whole, root, "least", 1, self.version)
        self.read_header(root.find("header"))
        self.constants = [self.read_constant(element) for element in root.findall("constant")]
        self.enums = [self.read_enum(element) for element in root.findall("enum")]
        self.structs = []
        for element in root.findall("struct"):
            self.structs.append(self.read_struct(element))
        self.messages = [self.read_message(element) for element in root
                         if element.tag in ("request", "reply", "event")]
        self.records = []
        for element in root.findall("record"):
            self.records.append(self.read_placed(element))
        self.layouts = [self.read_placed(element) for element in root.findall("layout")]
        self.check()

    def of(self, tag):
        """The messages of one sort."""
        return [message for message in self.messages if message.tag == tag]

    def constant(self, name):
        """The value of a constant, or None."""
        return next((one.value for one in self.constants if one.name == name), None)

    def read_header(self, element):
        if element is None:
            raise Fault("protocol: has no header")
        self.header = Thing(element, "header")
        for child in element:
            field = Thing(child, place_of(child, "header"))
            field.type = child.get("type")
            self.header.fields.append(field)
        if [(field.name, field.type) for field in self.header.fields] != HEADER:
            said = ", ".join(f"{name} {kind}" for name, kind in HEADER)
            raise self.header.fault(f"its fields are not {said}")
        self.header_bytes = sum(NUMBERS[kind] for _, kind in HEADER)
        if number(self.header, element, "bytes") != self.header_bytes:
            raise self.header.fault(f"its fields have {self.header_bytes} bytes together")

    def read_constant(self, element):
        constant = Thing(element, place_of(element, ""))
        constant.value = number(constant, element, "value", 0, 0x7fffffff)
        return constant

    def read_enum(self, element):
        enum = Thing(element, place_of(element, ""))
        enum.is_bits = choice(enum, element, "bits")
        enum.entries = []
        for child in element.findall("entry"):
            entry = Thing(child, place_of(child, enum.where))
            entry.value = number(entry, child, "value", 1, 0x7fffffff)
            if enum.is_bits and entry.value & (entry.value - 1):
                raise entry.fault(f"{entry.value} is not a single bit")
            enum.entries.append(entry)
        if not enum.entries:
            raise enum.fault("has no entry")
        check_names(enum.entries)
        check_values(enum.entries, "value")
        return enum

    def read_struct(self, element):
        struct = Thing(element, place_of(element, ""))
        struct.fields = [self.read_field(child, struct) for child in element
                         if child.tag == "field"]
        check_members(struct.fields)
        self.check_since(struct)
        if not struct.fields or struct.fields[0].since > 1:
            raise struct.fault("has no field that every version has")
        return struct

    def read_message(self, element):
        message = Thing(element, place_of(element, ""))
        message.value = number(message, element, "code", 1, 0xffff)
        message.since = number(message, element, "since", 2, self.version, 1)
        message.reply = element.get("reply")
        message.is_silent = choice(message, element, "silent")
        message.fds = self.read_fds(message, element.get("fds"))
        message.fields = [self.read_field(child, message) for child in element
                          if child.tag in ("field", "part", "list")]
        message.charges = [text_of(child) for child in element.findall("charge")]
        message.errors = [(child.get("status"), text_of(child)) for child in element.findall("error")]
        check_members(message.fields)
        self.check_since(message)
        return message

    @staticmethod
    def read_fds(message, said):
        """The least and the most descriptors of a message."""
        if said is None:
            return 0, 0
        match = re.fullmatch(r"(\d)(?:\.\.(\d))?", said)
        if not match:
            raise message.fault(f"fds=\"{said}\" is neither N nor N..M")
        least, most = int(match.group(1)), int(match.group(2) or match.group(1))
        if not least <= most <= FDS_MAX:
            raise message.fault(f"fds=\"{said}\" is not a range up to {FDS_MAX}")
        return least, most

    def read_field(self, element, parent):
        """A field, part or list of a message or struct."""
        field = Thing(element, place_of(element, parent.where))
        field.since = number(field, element, "since", 2, self.version, 1)
        field.type = element.get("type") if element.tag == "field" else element.tag
        field.size = number(field, element, "size", 1, 0xffff)
        field.max = number(field, element, "max", 1, 0xffff)
        field.enum = self.find(field, self.enums, element.get("enum"))
        field.may_be_none = choice(field, element, "none")
        field.of = self.find(field, self.structs, element.get("of"))
        if field.type not in set(NUMBERS) | {"bytes", "string", "blob", "part", "list"}:
            raise field.fault(f"unknown type {field.type}")
        self.check_needs(field, {"bytes": {"size"}, "string": {"max"}, "blob": {"max"},
                                 "list": {"max"}}.get(field.type, set()), ("size", "max"))
        if field.enum and field.type not in ("u8", "u16", "u32"):
            raise field.fault(f"a {field.type} is of no enum")
        if field.may_be_none and not field.enum:
            raise field.fault("none is for what is of an enum")
        if field.enum and field.enum.is_bits:
            raise field.fault(f"enum {field.enum.name} is of bits, which the codec does not check")
        return field

    @staticmethod
    def check_needs(field, needs, names):
        """Of the attributes with these names, those that are needed and no others are there."""
        for name in names:
            is_there = getattr(field, name) is not None
            if is_there and name not in needs:
                raise field.fault(f"a {field.type} has no {name}")
            if not is_there and name in needs:
                raise field.fault(f"a {field.type} needs a {name}")

    @staticmethod
    def find(field, things, name):
        """The thing of this name; None if there is no name."""
        if name is None:
            return None
        for thing in things:
            if thing.name == name:
                return thing
        raise field.fault(f"there is no {name} above it")

    def read_placed(self, element):
        """A record or a layout."""
        placed = Thing(element, place_of(element, ""))
        placed.bytes = number(placed, element, "bytes", 1, 0xffff)
        placed.magic = element.get("magic")
        placed.version = number(placed, element, "version", 1, 0xffff)
        for child in element.findall("field"):
            field = Thing(child, place_of(child, placed.where))
            field.at = number(field, child, "at", 0, 0xffff)
            field.type = child.get("type")
            field.size = number(field, child, "size", 1, 0xffff)
            field.count = number(field, child, "count", 1, 0xffff)
            field.enum = field.of = None
            field.may_be_none = False
            field.bytes = self.placed_bytes(field, placed.tag)
            placed.fields.append(field)
        check_names(placed.fields)
        self.check_places(placed)
        return placed

    def placed_bytes(self, field, tag):
        """How many bytes a field of a record or a layout takes."""
        if field.type in NUMBERS and (field.count is None or tag == "layout"):
            self.check_needs(field, set(), ("size",))
            return NUMBERS[field.type] * (field.count or 1)
        if field.type == "bytes" or (field.type == "text" and tag == "record"):
            self.check_needs(field, {"size"}, ("size", "count"))
            return field.size
        if field.type == "dims" and tag == "record":
            self.check_needs(field, {"count"}, ("size", "count"))
            return field.count * DIMS_BYTES
        for record in self.records:
            if record.name == field.type and tag == "record":
                self.check_needs(field, {"size"}, ("size", "count"))
                if field.size != record.bytes:
                    raise field.fault(f"{record.where} has {record.bytes} bytes, not {field.size}")
                field.of, field.type = record, "record"
                return field.size
        raise field.fault(f"unknown type {field.type}, or one that a {tag} cannot have")

    @staticmethod
    def check_places(placed):
        """One field after another without a gap; in shared memory each at a multiple of its size."""
        at = 0
        for field in placed.fields:
            if field.at != at:
                how = "overlaps the field before" if field.at < at else "leaves a gap before it"
                raise field.fault(f"at {field.at} {how}, which ends at {at}")
            if placed.tag == "layout" and at % NUMBERS.get(field.type, 1):
                raise field.fault(f"a {field.type} cannot be at {at}")
            at += field.bytes
        if at != placed.bytes:
            raise placed.fault(f"its fields end at {at}, not at {placed.bytes}")
        widest = max([NUMBERS.get(field.type, 1) for field in placed.fields])
        if placed.tag == "layout" and placed.bytes % widest:
            raise placed.fault(f"{placed.bytes} is not a multiple of {widest}")
        if placed.magic is None:
            return
        first = placed.fields[0]
        if first.type != "bytes" or first.size != len(placed.magic.encode()):
            raise placed.fault("its first field has no room for exactly its magic")

    @staticmethod
    def check_since(thing):
        """A message or struct grows at its end only."""
        so_far = thing.since
        for field in thing.fields:
            if field.since > 1 and field.since < so_far:
                raise field.fault(f"since {field.since}, behind what is since {so_far}")
            if field.since == 1 and so_far > thing.since:
                raise field.fault(f"since ever, behind what is since {so_far}")
            so_far = max(so_far, field.since)

    def check(self):
        """What concerns more than one element."""
        for things in (self.constants, self.enums, self.messages, self.records, self.layouts):
            check_names(things)
        check_names(self.structs + self.messages + self.records)
        check_values(self.messages, "code")
        self.check_replies()
        if not any(enum.name == "header_flag" and enum.is_bits for enum in self.enums):
            raise Fault("protocol: there is no enum header_flag of bits")
        used = {field.of.name for message in self.messages for field in message.fields if field.of}
        for struct in self.structs:
            if struct.name not in used:
                raise struct.fault("no message has it")
        packet_bytes = self.constant("packet_bytes")
        if packet_bytes is None:
            raise Fault("protocol: there is no constant packet_bytes")
        for message in self.messages:
            most = self.header_bytes + most_bytes(message.fields)
            if most > packet_bytes:
                raise message.fault(f"may have {most} bytes, and a packet has at most {packet_bytes}")

    def check_replies(self):
        """Requests name a reply; what old and new meet by is the same in all versions."""
        replies = {message.name: message for message in self.of("reply")}
        for request in self.of("request"):
            if request.reply not in replies:
                raise request.fault(f"there is no reply {request.reply}")
            if replies[request.reply].since > request.since:
                raise request.fault(f"its reply is since {replies[request.reply].since}")
        by_name = {message.name: message for message in self.messages}
        for name, tag in (("hello", "request"), ("error", "reply")):
            if name not in by_name or by_name[name].tag != tag:
                raise Fault(f"protocol: there is no {tag} {name}")
        for message in (by_name["hello"], by_name["error"], replies[by_name["hello"].reply]):
            for thing in [message] + all_fields(message.fields):
                if thing.since > 1:
                    raise thing.fault("cannot be since a version: by this message old and new meet")


def all_fields(fields):
    """These fields, and those of their parts and items."""
    found = []
    for field in fields:
        found.append(field)
        if field.of:
            found += all_fields(field.of.fields)
    return found


def least_bytes(fields):
    """The shortest these fields can be on the wire, in the newest version."""
    fixed = {"string": LENGTH_BYTES, "blob": LENGTH_BYTES, "list": COUNT_BYTES}
    return sum(NUMBERS.get(field.type) or fixed.get(field.type) or field.size
               or least_bytes(field.of.fields) for field in fields)


def most_bytes(fields):
    """The longest these fields can be on the wire."""
    total = 0
    for field in fields:
        if field.type in NUMBERS:
            total += NUMBERS[field.type]
        elif field.type == "bytes":
            total += field.size
        elif field.type == "part":
            total += most_bytes(field.of.fields)
        elif field.type == "list":
            total += COUNT_BYTES + field.max * most_bytes(field.of.fields)
        else:
            total += LENGTH_BYTES + field.max
    return total


def read(path):
    """The protocol in this file. Raises Fault."""
    file = os.path.basename(path)
    try:
        root = ElementTree.parse(path).getroot()
        if root.tag != "protocol":
            raise Fault(f"{root.tag}: the outermost element is not protocol")
        check_shape(root, "protocol", "")
        return Protocol(root, file)
    except (Fault, ElementTree.ParseError) as fault:
        raise Fault(f"{file}: {fault}") from fault
