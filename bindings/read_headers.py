# SPDX-License-Identifier: Apache-2.0
"""read_headers - what the public headers declare, for the programs that write the bindings' declarations

Functions, structs and enums are read by pycparser from the preprocessed headers; the other constants come
from the preprocessor's list of macros. mpi.h is left out: it needs the headers of an MPI. So are macros with
arguments. Without pycparser, c_parser is None.
"""
import os
import re
import subprocess
import sys
import tempfile

try:
    from pycparser import c_ast, c_parser
except ImportError:
    c_ast = c_parser = None

# Stands for the system's headers: all that the public headers take from these.
STDINT = "\n".join(
    [f"typedef {c} {name};" for name, c in (
        ("int8_t", "signed char"), ("uint8_t", "unsigned char"), ("uint16_t", "unsigned short"),
        ("int32_t", "int"), ("uint32_t", "unsigned int"), ("int64_t", "long"),
        ("uint64_t", "unsigned long"), ("size_t", "unsigned long"))] +
    ["#define UINT32_C(x) x##U", "#define UINT64_C(x) x##UL", "#define UINT32_MAX 0xffffffffU",
     "#define UINT64_MAX 0xffffffffffffffffUL", "#define INT64_MIN (-0x7fffffffffffffffL - 1)", ""])


class Headers:
    """What the public headers declare."""

    def __init__(self, include):
        self.include = include
        names = sorted(name for name in os.listdir(os.path.join(include, "warpway"))
                       if name.endswith(".h") and name != "mpi.h")
        self.text = "".join(f"#include <warpway/{name}>\n" for name in names)
        self.briefs = self.read_briefs(names)
        self.functions, self.callbacks, self.structs, self.enums, self.opaque = {}, {}, {}, [], []
        with tempfile.TemporaryDirectory() as folder:
            for name in ("stdint.h", "stddef.h"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                    stream.write(STDINT if name == "stdint.h" else "#include <stdint.h>\n")
            self.flags = ["-nostdinc", "-I", folder, "-I", include]
            for node in c_parser.CParser().parse(self.preprocess(self.text, "-P")).ext:
                self.declaration(node)
            self.constants = self.enum_constants() | self.macro_constants()

    def read_briefs(self, names):
        """{name: sentence} of the documented functions and structs."""
        briefs = {}
        for name in names:
            with open(os.path.join(self.include, "warpway", name), encoding="utf-8") as stream:
                text = stream.read()
            briefs |= dict(re.findall(r"^ \* (?:struct )?(ww_\w+)(?:\(\))? - (.*)$", text, re.M))
        return briefs

    def preprocess(self, text, *flags):
        command = os.environ.get("CC", "cc").split() + ["-E", *flags, *self.flags, "-D__extension__=",
                                                "-D__attribute__(x)=", "-x", "c", "-"]
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

    def declaration(self, node):
        kind = node.type
        if isinstance(node, c_ast.Typedef):
            if isinstance(kind, c_ast.PtrDecl) and isinstance(kind.type, c_ast.FuncDecl):
                self.callbacks[node.name] = kind.type
            elif isinstance(kind.type, c_ast.Struct):
                self.opaque.append(node.name)
        elif isinstance(kind, c_ast.FuncDecl):
            self.functions[node.name] = kind
        elif isinstance(kind, c_ast.Struct) and kind.decls:
            self.structs[kind.name] = kind.decls
        elif isinstance(kind, c_ast.Enum):
            self.enums += [(item.name, item.value) for item in kind.values.enumerators]

    def enum_constants(self):
        return {name: (number(value), "c_int32_t") for name, value in self.enums}

    def macro_constants(self):
        """{name: (value, kind)} of the macros that stand for a number or a text."""
        macros = re.findall(r"^#define (WW_\w+) ", self.preprocess(self.text, "-dM"), re.M)
        macros = sorted(name for name in macros if not name.endswith("_H") and name != "WW_API")
        lines = self.preprocess(self.text + "".join(f'@"{m}" {m}\n' for m in macros), "-P")
        found = {}
        for name, text in re.findall(r'^ ?@ ?"(\w+)" +(.+)$', lines, re.M):
            if text.startswith('"'):
                found[name] = (text[1:-1], None)
                continue
            plain = re.sub(r"\b(0x[0-9a-f]+|\d+)(?:U|L|UL)\b", r"\1", text)
            if not re.fullmatch(r"[\s0-9a-fx()<+\-]+", plain):
                sys.exit(f"read_headers: {name} is no number: {text}")
            wide = bool(re.search(r"[0-9a-f]U?L\b", text))
            found[name] = (eval(plain), "c_int64_t" if wide else "c_int32_t")  # pylint: disable=eval-used
        missing = set(macros) - set(found)
        if missing:
            sys.exit(f"read_headers: not understood: {sorted(missing)}")
        return found


def number(node):
    if isinstance(node, c_ast.UnaryOp):
        return -number(node.expr)
    return int(node.value.rstrip("UL"), 0)


def dimension(node):
    """How many elements: the preprocessor has left a number."""
    return number(node.dim)


def base_name(node):
    """The name of a type without pointers: "ww_memory", "struct ww_array", "void"."""
    kind = node.type
    if isinstance(kind, c_ast.Struct):
        return "struct " + kind.name
    return " ".join(kind.names)
