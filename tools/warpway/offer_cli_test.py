#!/usr/bin/env python3
"""offer_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION MODULE - `warpway offer`

With the helpers of broker_cli_test.py, and a broker of its own. MODULE has the kernels of offer_cli_module.c, which run
on the host device. Speaks TAP.
"""
import os
import re
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    LIMIT_S, completed, done, end, expect, line_of, main, path_of, refused, spoken, start, write)

DEVICE = sys.argv[2]
MODULE = sys.argv[5]
NAME = "lab/kernels"
KERNELS = b"""# of the test
scale: u8 factor = 2, u8[n] x read, u8[n] y write, u64 n; grid n / 256; block 256

geometry: u32[n] y write, any[*, m] x read, i32 k = 3; grid m/3, k, 2; block 4, 5; shared 99  # three axes
crash: ; grid 1; block 1
hold: u8[*] x readwrite; grid 1; block 1
"""
FUNCTIONS = b"""total: u8[n] x read -> u64 sum; function; idempotent
make: u64 count -> u8[n] x; function
"""

# Lines that are refused, and a word of the reason.
WRONG_LINES = [
    (b"scale", "a line such as"), (b"scale: u8 a", "a line such as"), (b": u8 a; grid 1; block 1", "needs a name"),
    (b"scale: f33 a; grid 1; block 1", "column 1,"), (b"scale: u8 a -> u8 b; grid 1; block 1", "no results"),
    (b"scale: bytes a; grid 1; block 1", "scalars and arrays only"), (b"scale: u8 a; grid 1", "grid and block"),
    (b"scale: u8 a; grid 1; block 0", "'block ... 0'"), (b"scale: u8 a; grid n; block 1", "'grid ... n'"),
    (b"scale: u8[n] a read; grid n/0; block 1", "'grid ..."), (b"scale: u8 a; grid 1,1,1,1; block 1", "'grid ... 1'"),
    (b"scale: u8 a; grid 1; grid 1; block 1", "each once"), (b"scale: u8 a; grid 1; block 1; shared x", "shared x"),
    (b"scale: u8 a; grid 1; block 1", "takes 4 arguments, and its signature has 1"),
    (b"scale: u16 a, u8[n] x read, u8[n] y write, u64 n; grid 1; block 1",
     "takes 1 bytes as argument 1, and 'a' of its signature, u16, has 2"),
    (b"scale: u8 a, u8[n] x read, u8[n] y write, u32 n; grid 1; block 1", "takes 8 bytes as argument 4"),
    (b"scale: u8[n] a read, u8[n] x read, u8[n] y write, u64 n; grid 1; block 1", "argument 1, and 'a' of its signature, u8[n]"),
    (b"none: u8 a; grid 1; block 1", "no module has a kernel 'none'"),
    (b"# nothing", "no kernel and no function is in it"), (b"total: ; function; grid 1", "grid, block or"),
    (b"scale: u8 a; grid 1; block 1; idempotnt", "each once, or idempotent"), (b"total: ; idempotent", "grid and block"),
    (b"scale: u8 a; grid 1; block 1; shared 1; shared 1; shared 1", "each once"),
    (b"none: bytes a; function", "no module has a C function 'none'"),
]


def offered(*options, count=4, **settings):
    """A server of NAME that is ready, and its process."""
    command = start("offer", "--signature", write("kernels.txt", KERNELS), *options, NAME, MODULE, **settings)
    return command, ready(command, count)


def ready(command, count=4):
    told = re.fullmatch(rf"(?:warpway offer: )?{NAME} is ready, {count} functions, process (\d+)\n", line_of(command))
    expect(told, "it is not ready")
    return int(told[1])


def wrong_use_is_refused():
    file = write("kernels.txt", KERNELS)
    for words, arguments in (
            ("--signature FILE is needed", [NAME, MODULE]),
            ("No such file", ["--signature", path_of("missing"), NAME, MODULE]),
            ("a MODULE is needed", ["--signature", file, NAME]), ("nonsense", ["--nonsense"]),
            ("NAME [MODULE...]", []), ("--data or --alloc", [NAME]), ("--data or --alloc", ["--data", NAME, MODULE]),
            ("--alloc-max 1x", ["--alloc", "--alloc-max", "1x", NAME]),
            ("'--keep 1x'", ["--data", "--keep", "1x", NAME]),
            ("'--after-streams 5'", ["--data", "--after-streams", "5", NAME]),
            ("module '", ["--signature", file, NAME, path_of("missing.so")]),
            ("device 'nonsense'", ["--signature", file, "--device", "nonsense", NAME, MODULE])):
        refused(2, words, "offer", *arguments)
    for line, words in WRONG_LINES:
        refused(2, words, "offer", "--signature", write("wrong.txt", line), NAME, MODULE)
    text = done("offer", "--help").decode()
    expect(text.startswith("Usage: warpway offer ") and "Exit codes" in text, text)
    expect(all(len(line) <= 100 for line in text.splitlines()), text)
    expect(completed("warpway offe") == ["offer"], "completion of the verb")
    expect("--signature" in completed("warpway offer --"), "completion of an option")


def kernels_run():
    command, _ = offered("--mode", "0640")
    names = [function["name"] for function in spoken("functions", NAME)["functions"]]
    expect(names == ["scale", "geometry", "crash", "hold"], str(names))
    expect(spoken("stat", NAME)["mode"] == "0640", "the mode")
    done("put", "lab/x", "-", data=bytes(range(80)))
    done("put", "--shared", "lab/y", "-", data=bytes(80))
    done("call", NAME, "scale", "factor=3", "x=@lab/x", "y=@lab/y")
    expect(done("get", "lab/y") == bytes(3 * i for i in range(80)), "what the kernel wrote")
    done("rm", "lab/x", "lab/y")
    code, _, errors = end(command, signal.SIGTERM)
    expect(code == 0 and errors == b"", f"{code} {errors}")
    refused(1, f"no object '{NAME}'", "functions", NAME)


def functions_of_c_run():
    command = start("offer", "--signature", write("functions.txt", FUNCTIONS), "--device", DEVICE, NAME, MODULE)
    expect(f"{NAME} is ready, 2 functions" in line_of(command), "it is not ready")
    offers = {function["name"]: function["idempotent"] for function in spoken("functions", NAME)["functions"]}
    expect(offers == {"total": True, "make": False}, str(offers))
    done("put", "--device", DEVICE, "lab/x", "-", data=bytes(range(80)))
    expect(spoken("call", NAME, "total", "x=@lab/x")["results"] == {"sum": sum(range(80))}, "the sum")
    made = spoken("call", NAME, "make", "count=70")["results"]
    expect(made == {"x": {"array": "uint8[70]"}}, str(made))
    done("rm", "lab/x")
    end(command)
    both = start("offer", "--signature", write("both.txt", KERNELS + FUNCTIONS), NAME, MODULE)
    expect(f"{NAME} is ready, 6 functions" in line_of(both), "kernels and functions of one file")
    end(both)


def built_in_functions_are_offered():
    command = start("offer", "--data", "--alloc", "--alloc-max", "2MiB", "--keep", "forever", "--after-streams", "4", NAME)
    expect(re.search(f"{NAME} is ready, 6 functions, ", line_of(command)), "it is not ready")
    text = done("functions", NAME).decode()
    expect(re.search(r"^warpway\.read .* any\[\.\.\.\] source read, u64 bytes, .* -> bytes data$", text, re.M), text)
    done("put", "lab/x", "-", data=bytes(range(80)))
    kept = f"{NAME}/kept"
    done("call", NAME, "warpway.alloc", "bytes=80", f"name={kept}", "mode=416", "kept=true")
    expect(spoken("stat", kept)["life"] == "kept" and spoken("stat", kept)["mode"] == "0640", str(spoken("stat", kept)))
    refused(1, "alloc_bytes_max", "call", NAME, "warpway.alloc", "bytes=1")
    refused(1, "does not begin with", "call", NAME, "warpway.alloc", "bytes=1", "name=lab/other")
    done("call", NAME, "warpway.copy", "source=@lab/x", f"destination=@{kept}", "bytes=70", "source_offset=10")
    done("call", NAME, "warpway.fill", f"destination=@{kept}", "value=7", "count=2")
    done("call", NAME, "warpway.write", f"destination=@{kept}", "data=abc", "offset=2")
    told = spoken("call", NAME, "warpway.read", f"source=@{kept}", "bytes=6")
    expect(told["results"]["data"] == {"hex": b"\x07\x07abc\x0f".hex()}, str(told))
    done("call", NAME, "warpway.free", f"memory=@{kept}")
    refused(1, f"no object '{kept}'", "stat", kept)
    done("call", NAME, "warpway.alloc", "bytes=1")
    done("rm", "lab/x")
    end(command, signal.SIGTERM)
    command, _ = offered("--data", count=8)
    names = [function["name"] for function in spoken("functions", NAME)["functions"]]
    expect(names[3:5] == ["warpway.write", "scale"], str(names))
    end(command, signal.SIGTERM)


def launches_are_as_the_file_says():
    command, _ = offered()
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 70)
    shapes = {"lab/g": ("<u4", "(7,)", 28), "lab/m": ("<u2", "(2, 10)", 40)}
    for name, (descr, shape, size) in shapes.items():
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(69) + b"\n"
        done("put", "--shared", name, "-", "--npy", data=header + text + bytes(size))
    done("call", NAME, "geometry", "y=@lab/g", "x=@lab/m")
    expect(struct.unpack("<7I", done("get", "--raw", "lab/g")) == (4, 3, 2, 4, 5, 1, 99), "grid, block, shared")
    done("rm", *shapes)
    end(command)


def a_server_is_started_again():
    command, first = offered()
    refused(1, "", "call", NAME, "crash")
    second = ready(command)
    expect(second != first, "it is the same process")
    done("functions", "--wait-ready", NAME)
    done("put", "lab/x", "-", data=bytes(range(80)))
    done("put", "--shared", "lab/y", "-", data=bytes(80))
    done("call", NAME, "scale", "x=@lab/x", "y=@lab/y")
    done("rm", "lab/x", "lab/y")
    code, _, errors = end(command)
    expect(code == 0 and b"was killed by signal 9" in errors and b"started again" in errors, f"{code} {errors}")


def not_for_ever():
    """Six ends in a minute are too many. A machine that needs longer for six starts cannot show it."""
    command, server = offered()
    begin = time.monotonic()
    for _ in range(5):
        os.kill(server, signal.SIGKILL)
        server = ready(command)
    os.kill(server, signal.SIGKILL)
    if line_of(command):
        expect(time.monotonic() - begin > 60, "it was started again")
        end(command)
        return "six servers take longer than a minute here"
    _, errors = command.communicate(timeout=LIMIT_S)
    expect(command.returncode == 1 and errors.count(b"\n") == 6 and b"not started again" in errors, str(errors))
    return None


def a_server_that_loads_ends_at_once():
    file = write("functions.txt", FUNCTIONS)
    command = start("offer", "--signature", file, NAME, MODULE, OFFER_SLOW_LOAD="1")
    expect(command.stderr.readline() == b"loading\n", "the module is not loaded")
    code, output, errors = end(command, signal.SIGTERM)
    expect((code, output, errors) == (0, b"", b""), f"{code} {output} {errors}")


def a_drain_lets_calls_end():
    """Also if the signal goes to the whole process group: then the server gets one of its own, before its parent's."""
    for is_group in (False, True):
        drain_lets_calls_end(is_group)


def drain_lets_calls_end(is_group):
    command, server = offered(OFFER_HOLD_FILE=path_of("go-on"))
    done("put", "--shared", "lab/h", "-", data=bytes(1))
    call = start("call", NAME, "hold", "x=@lab/h")
    while done("get", "lab/h") != b"\x01":
        pass
    if is_group:
        os.kill(server, signal.SIGTERM)
    else:
        command.send_signal(signal.SIGTERM)
    while spoken("functions", NAME)["state"] != "draining":
        pass
    if is_group:
        command.send_signal(signal.SIGTERM)
        time.sleep(0.1)  # if the server would end for this, it has
    refused(1, "", "call", NAME, "crash")
    write("go-on", b"")
    output, errors = call.communicate(timeout=LIMIT_S)
    expect(call.returncode == 0 and errors == b"", f"{output} {errors}")
    expect(command.wait(timeout=LIMIT_S) == 0, "the server did not end")
    expect(done("get", "lab/h") == b"\x02", "the kernel was not run to its end")
    done("rm", "lab/h")
    os.unlink(path_of("go-on"))


sys.exit(main([wrong_use_is_refused, kernels_run, functions_of_c_run, built_in_functions_are_offered,
               launches_are_as_the_file_says, a_server_is_started_again, not_for_ever,
               a_server_that_loads_ends_at_once, a_drain_lets_calls_end]))
