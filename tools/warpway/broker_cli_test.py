#!/usr/bin/env python3
"""broker_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION - the verbs that work with a broker

Runs them as a user would, right and wrong, with a broker of its own in a folder of its own, which
it starts, kills and stops. Speaks TAP. A case returns why it was skipped, or nothing.
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

WARPWAY, DEVICE, WARPWAYD, COMPLETION = sys.argv[1:5]
LIMIT_S = 120 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))
FOLDER = tempfile.mkdtemp(prefix="warpway-test-")
ADDRESS = os.path.join(FOLDER, "warpway", "broker.sock")
ENVIRONMENT = {**os.environ, "XDG_RUNTIME_DIR": FOLDER, "WARPWAY_BROKER": ADDRESS,
               "WARPWAYD": WARPWAYD}
ENVIRONMENT.pop("WARPWAY_NO_START", None)
# A shell without job control has what it starts with "&" ignore SIGINT, which ends commands here.
signal.signal(signal.SIGINT, signal.default_int_handler)

VERBS = ["serve", "ls", "stat", "who", "put", "get", "export", "rm", "watch"]

# Wrong uses: each ends with 2 and says why in one line.
WRONG = [
    *[[verb, "--nonsense"] for verb in VERBS], *[[verb, "--broker"] for verb in VERBS],
    *[[verb, "--broker", "relative/path", *(["x"] if verb not in ("serve", "who") else [])]
      for verb in VERBS if verb != "put"],
    ["serve", "word"], ["serve", "--stop", "--status"], ["serve", "--foreground", "--json"],
    ["serve", "--reload", "--stop"], ["serve", "--reload", "--foreground"],
    ["serve", "--socket", "/tmp/x"], ["serve", "--config", "/tmp/x"], ["serve", "--force"],
    ["serve", "--socket-mode", "0666"], ["serve", "--foreground", "--socket-mode", "9"],
    ["ls", "a", "b"], ["ls", "--json=1"], ["stat"], ["stat", "a", "b"], ["who", "a"],
    ["rm"], ["watch", "a", "b"], ["watch", "--count", "0"], ["watch", "--count", "x"],
    ["get"], ["get", "a", "b", "c"], ["get", "--wait", "x", "a"], ["get", "--wait", "-1", "a"],
    ["get", "--token", "nonsense"], ["get", "--token", "ww1_", "-"], ["get", "--token", "-"],
    ["get", "--token", "x", "a", "b"], ["get", "--token", "x", "--wait", "1"],
    ["export"], ["export", "a", "b"], ["export", "--access", "all", "a"],
    ["export", "--uses", "0", "a"], ["export", "--escrow", "-1", "a"],
    ["put"], ["put", "a", "b", "c"], ["put", "--mode", "0", "a"], ["put", "--mode", "888", "a"],
    ["put", "--mode", "1777", "a"], ["put", "--mode", "", "a"], ["put", "--life", "long", "a"],
    ["put", "--ttl", "0", "a"], ["put", "--ttl", "1", "--life", "held", "a"],
    ["put", "--group", "no such group", "a"], ["put", "--wait", "soon", "a"],
    ["put", "--device", "nonsense", "a"], ["put", "", "-"], ["put", "a//b", "-"],
    ["put", "../a", "-"], ["put", "a\nb", "-"], ["put", "x" * 192, "-"],
]

OBJECT_KEYS = sorted("name id kind memory device state life mode uid gid user group access pid"
                     " holders escrows bytes fds age_ns left_ns generation array slice".split())
PROCESS_KEYS = sorted("pid program uid gid user attached held held_bytes put put_bytes age_ns"
                      " holds".split())
STATUS_KEYS = sorted("address version protocol pid supervisor_pid uid restarts broker_id up_ns objects"
                     " processes holds waits bytes fds open_fds memory_bytes".split())


STARTED = []  # by the case that runs


def start(*arguments, stdin=subprocess.DEVNULL, **settings):
    STARTED.append(subprocess.Popen([WARPWAY, *arguments], stdin=stdin, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env={**ENVIRONMENT, **settings}))
    return STARTED[-1]


def end_started():
    """What a case that failed has left would start a broker again when a later case has ended it."""
    while STARTED:
        with STARTED.pop() as process:
            process.kill()


def run(*arguments, data=None, before=None, **settings):
    """Runs the command; data: what it reads; before: called in the process first."""
    source = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([WARPWAY, *arguments], capture_output=True, timeout=LIMIT_S,
                          env={**ENVIRONMENT, **settings}, preexec_fn=before, **source)


def expect(what, told):
    if not what:
        raise AssertionError(told)


def done(*arguments, **more):
    """Runs the command, which must do its work without a word of complaint; returns its output."""
    result = run(*arguments, **more)
    expect(result.returncode == 0 and result.stderr == b"", f"{arguments}: {result}")
    return result.stdout


def refused(code, words, *arguments, **more):
    """Runs the command, which must end with that code and say these words in one line."""
    result = run(*arguments, **more)
    told = f"{arguments}: {result}"
    expect(result.returncode == code and result.stdout == b"", told)
    expect(result.stderr.count(b"\n") == 1 and result.stderr.startswith(b"warpway"), told)
    expect(words.encode() in result.stderr, told)


def spoken(*arguments):
    return json.loads(done(*arguments, "--json"))


def path_of(name):
    return os.path.join(FOLDER, name)


def write(name, data):
    with open(path_of(name), "wb") as file:
        file.write(data)
    return path_of(name)


def read(name):
    with open(path_of(name), "rb") as file:
        return file.read()


def pattern(count, seed=1):
    """Bytes that repeat nowhere near a piece's or a page's size."""
    unit = bytes((i * i + seed * i) % 251 for i in range(65521))
    return (unit * (count // len(unit) + 1))[:count]


def npy(descr, shape, data, fortran=False):
    """A .npy file, as NumPy writes it."""
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def clear():
    names = done("ls", "--names").decode().splitlines()
    if names:
        done("rm", *names)


def line_of(process, limit_s=None):
    """The next line of a process's output; "" at its end."""
    ready, _, _ = select.select([process.stdout], [], [], limit_s or LIMIT_S)
    expect(ready, "no line came")
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(process.stdout.fileno(), 1)
        if not more:
            break
        line += more
    return line.decode()


def begun(*arguments, **settings):
    """Starts a command, and waits for its first line."""
    process = start(*arguments, **settings)
    line_of(process)
    return process


def until(is_so, told):
    """Waits for what comes a moment later; told() says how it is."""
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        expect(time.monotonic() < deadline, told() if callable(told) else told)


def halt(process):
    """Stops a process that was started here; returns when none of its threads runs any more."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    output, errors = process.communicate(timeout=LIMIT_S)
    return process.returncode, output, errors


# Nothing runs yet

def wrong_use_is_refused():
    for arguments in WRONG:
        refused(2, "", *arguments)


def help_is_there():
    for verb in VERBS:
        text = done(verb, "--help").decode()
        expect(text.startswith(f"Usage: warpway {verb}") and "Exit codes" in text, text)
        expect("--broker" in text and f"\n  warpway {verb}" in text or "| warpway" in text
               or "| xargs" in text, text)
        expect(done(verb, "-h").decode() == text, verb)
        expect(all(len(line) <= 100 for line in text.splitlines()), text)
    for verb in VERBS:
        expect(f"\n  {verb} " in done("--help").decode(), verb)


def looking_around_starts_nothing():
    """Where the user's own broker does not run there are no objects; one that is named must run."""
    expect(done("ls") == b"0 objects, 0 bytes\n" and spoken("ls") == [], "ls")
    expect(done("ls", "--names") == b"" and done("ls", "x") == b"0 objects, 0 bytes\n", "ls x")
    expect(done("who") == b"No process holds anything.\n", "who")
    expect(spoken("who") == {"processes": [], "objects": []}, "who --json")
    expect(done("ls", "--names", WARPWAY_NO_START="1") == b"", "WARPWAY_NO_START")
    for arguments in (["stat", "x"], ["rm", "x"], ["get", "x"], ["export", "x"]):
        refused(1, "there is no object 'x'", *arguments)
        refused(2, "nobody.sock", *arguments, WARPWAY_BROKER=path_of("nobody.sock"))
        refused(2, "nobody.sock", *arguments, "--broker", path_of("nobody.sock"))
    for arguments in (["serve", "--status"], ["serve", "--stop"], ["serve", "--reload"]):
        refused(2, "no broker listens", *arguments)
    refused(2, "", "put", "x", "-", data=b"x", WARPWAY_NO_START="1")
    refused(2, "", "watch", WARPWAY_NO_START="1")
    for verb in ("ls", "who"):
        refused(2, "nobody.sock", verb, "--broker", path_of("nobody.sock"))
        refused(2, "nobody.sock", verb, WARPWAY_BROKER=path_of("nobody.sock"))
    expect(not os.path.exists(ADDRESS), "a broker was started")


def a_daemon_that_is_not_there_is_told():
    refused(2, "no/such/program", "serve", WARPWAYD="/no/such/program")
    refused(2, "no/such/program", "serve", "--foreground", WARPWAYD="/no/such/program")


def advice_for_serve_helps():
    nowhere = path_of("nobody.sock")
    refused(2, "unset WARPWAY_BROKER, or serve there: warpway serve --foreground --socket",
            "serve", WARPWAY_BROKER=nowhere)
    refused(2, "name another, or serve there: warpway serve --foreground --socket",
            "serve", "--broker", nowhere)
    refused(2, "unset WARPWAY_NO_START, or run warpway serve --foreground",
            "serve", WARPWAY_NO_START="1", XDG_RUNTIME_DIR=FOLDER + "/none",
            WARPWAY_BROKER=FOLDER + "/none/warpway/broker.sock")


# In a mount namespace of its own: the machine's broker is gone and has left its socket.
LEFT_BEHIND = """
mount --make-rprivate / && mount -t tmpfs none /run && mkdir /run/warpway || exit 77
"$1" -c 'import socket; socket.socket(1, 5).bind("/run/warpway/broker.sock")'
unset WARPWAY_BROKER
"$2" serve && exit 1
export "$3"
"$2" serve && "$2" serve --stop --force
"""


def a_socket_the_machines_broker_left_locks_out_nobody():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return "it takes root, and unshare(1)"
    if os.path.exists("/run/warpway/broker.sock"):
        return "there is a broker of this machine"
    advice = f"WARPWAY_BROKER={ADDRESS}"
    result = subprocess.run(["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", LEFT_BEHIND,
                             "sh", sys.executable, WARPWAY, advice], env=ENVIRONMENT,
                            capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    if result.returncode == 77:
        return "no mount namespace"
    expect(result.returncode == 0 and ADDRESS.encode() in result.stdout, str(result))
    expect(b"root starts it, or removes that socket" in result.stderr
           and f"until then {advice} stands for your own".encode() in result.stderr, str(result))


def serve_starts_one():
    text = done("serve").decode()
    expect(ADDRESS in text and text.count("\n") == 1, text)
    report = spoken("serve")
    expect(sorted(report) == STATUS_KEYS, str(report))
    expect(report["address"] == ADDRESS and report["objects"] == 0, str(report))
    expect(report["uid"] == os.getuid() and report["restarts"] == 0, str(report))
    expect(str(report["pid"]) in text and str(report["supervisor_pid"]) in text, text)
    status = done("serve", "--status").decode()
    expect(status.startswith("address ") and status.count("\n") == 7, status)


def serves(address):
    return run("serve", "--status", "--broker", address).returncode == 0


def serving(process, address):
    """Waits until the broker of that process serves; returns what it says of itself."""
    until(lambda: process.poll() is not None or serves(address), "it does not serve")
    expect(process.poll() is None, "it ended")
    return spoken("serve", "--status", "--broker", address)


def foreground_becomes_the_daemon():
    address = path_of("other.sock")
    process = start("serve", "--foreground", "--socket", address, "--socket-mode", "0660")
    try:
        serving(process, address)
        expect(os.stat(address).st_mode & 0o777 == 0o660, oct(os.stat(address).st_mode))
        done("put", "--broker", address, "there", "-", data=b"x")
        expect(done("ls", "--names", "--broker", address) == b"there\n", "object")
        expect(b"there\n" not in done("ls", "--names"), "in the other broker")
        refused(2, "1 object would be lost", "serve", "--stop", "--broker", address)
        done("serve", "--stop", "--force", "--broker", address)
        process.wait(timeout=LIMIT_S)
    finally:
        process.kill()
        process.communicate()
    refused(2, "", "ls", "--broker", address)


def install(program, path):
    """As a package manager does it: another file takes the name."""
    shutil.copy(program, path + ".new")
    os.rename(path + ".new", path)


def reload_takes_the_program_that_is_installed():
    address, program = path_of("renewed.sock"), path_of("warpwayd-installed")
    install(WARPWAYD, program)
    process = start("serve", "--foreground", "--socket", address, WARPWAYD=program)
    holder = None
    try:
        before = serving(process, address)
        done("put", "--broker", address, "kept", "-", data=b"bytes")
        holder = begun("put", "--broker", address, "--life", "owner", "mine", "/proc/self/status")
        install(WARPWAYD, program)
        after = spoken("serve", "--reload", "--broker", address)
        expect(after["pid"] != before["pid"] and after["supervisor_pid"] == before["supervisor_pid"], str(after))
        expect(after["broker_id"] == before["broker_id"] and after["objects"] == 2, str(after))
        expect(os.readlink(f"/proc/{after['supervisor_pid']}/exe") == program, "the supervisor's program")

        install("/bin/false", program)
        refused(1, "goes on with its former program", "serve", "--reload", "--broker", address)
        expect(done("get", "--broker", address, "kept") == b"bytes", "bytes")
        expect(holder.poll() is None and process.poll() is None, "a client or the broker ended")
        expect(spoken("stat", "--broker", address, "mine")["life"] == "owner", "the client's object")
    finally:
        for each in filter(None, (holder, process)):
            end(each)


def reload_tells_of_a_configuration_that_does_not_work():
    address, config = path_of("configured.sock"), write("warpwayd.conf", b"[limits]\nobjects = 1\n")
    process = start("serve", "--foreground", "--socket", address, "--config", config)
    try:
        serving(process, address)
        done("put", "--broker", address, "one", "-", data=b"bytes")
        write("warpwayd.conf", b"[limits]\nobjects = many\n")
        refused(1, "goes on with its former program and configuration", "serve", "--reload", "--broker", address)
        refused(1, "limit", "put", "--broker", address, "two", "-", data=b"bytes")
        write("warpwayd.conf", b"[limits]\nobjects = 2\n")
        spoken("serve", "--reload", "--broker", address)
        done("put", "--broker", address, "two", "-", data=b"bytes")
    finally:
        end(process)


def reload_ends_no_broker_on_a_terminal():
    address = path_of("terminal.sock")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(WARPWAY, [WARPWAY, "serve", "--foreground", "--socket", address], ENVIRONMENT)
    try:
        until(lambda: serves(address), "it does not serve")
        refused(2, "has a terminal", "serve", "--reload", "--broker", address)
        done("serve", "--stop", "--broker", address)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


# Bytes

SIZES = [0, 1, 4095, 4096, 4097, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, (24 << 20) + 5]


def bytes_come_back():
    for size in SIZES:
        data = pattern(size, size % 7)
        done("put", "--device", DEVICE, "bytes/file", write("in", data))
        done("put", "--device", DEVICE, "bytes/pipe", "-", data=data)
        for name in ("bytes/file", "bytes/pipe"):
            entry = spoken("stat", name)
            expect(entry["array"] == {"dtype": "uint8", "shape": [size], "strides": [1],
                                      "offset": 0}, str(entry))
            expect(entry["bytes"] >= max(size, 1), str(entry))
            expect((entry["device"] == "host") == (DEVICE == "host"), str(entry))
            done("get", name, path_of("out"))
            expect(read("out") == data, f"{name}: {size} bytes")
            expect(done("get", name) == data and done("get", name, "-") == data, name)
        done("rm", "bytes/file", "bytes/pipe")


def standard_input_that_is_a_file_is_measured():
    path = write("in", b"header" + pattern(5000))
    with open(path, "rb") as file:
        file.seek(6)
        expect(subprocess.run([WARPWAY, "put", "seek"], stdin=os.dup(file.fileno()),
                              env=ENVIRONMENT, timeout=LIMIT_S).returncode == 0, "put")
    expect(done("get", "seek") == pattern(5000), "from where it stood")
    done("put", "proc", "/proc/self/cmdline")
    expect(done("get", "proc").startswith(WARPWAY.encode()), "a file of unknown length")
    done("rm", "seek", "proc")


def files_that_cannot_be_read_are_told():
    refused(1, "No such file", "put", "x", path_of("missing"))
    refused(1, "directory", "put", "x", FOLDER)
    expect(b"x\n" not in done("ls", "--names"), "an object was left")


def host_memory_is_reached_by_gpus_too():
    if DEVICE == "host":
        return "needs the driver for tests"
    done("put", "near", "-", data=pattern(70000))
    expect(done("get", "--device", DEVICE, "near") == pattern(70000), "by the GPU")
    done("put", "--device", DEVICE, "far", "-", data=pattern(70000))
    refused(1, "GPU", "get", "--device", "host", "far")
    refused(2, "cuda:99", "get", "--device", "cuda:99", "far")
    until(lambda: spoken("stat", "far")["holders"] == 0, "a refused get still holds it")
    done("rm", "near", "far")
    return None


def a_pipe_of_two():
    """get waits for what put brings; nothing is told before it is whole."""
    data = pattern((9 << 20) + 3)
    getter = start("get", "--wait", "forever", "late/x", "-")
    done("put", "--device", DEVICE, "late/x", "-", data=data)
    output, errors = getter.communicate(timeout=LIMIT_S)
    expect(getter.returncode == 0 and errors == b"" and output == data, str(errors))
    refused(1, "in time", "get", "--wait", "0.05", "late/y")
    refused(1, "late/y", "get", "late/y")
    done("rm", "late/x")


def files_appear_whole():
    done("put", "whole", "-", data=b"new")
    write("keep", b"old")
    os.chmod(path_of("keep"), 0o640)
    refused(1, "", "get", "missing", path_of("keep"))
    expect(read("keep") == b"old", "the old file is gone")
    done("get", "whole", path_of("keep"))
    expect(read("keep") == b"new", "the new one is not there")
    expect(stat.S_IMODE(os.stat(path_of("keep")).st_mode) == 0o640, "its mode")
    os.symlink("keep", path_of("link"))
    done("put", "--replace", "whole", "-", data=b"newer")
    done("get", "whole", path_of("link"))
    expect(os.path.islink(path_of("link")) and read("keep") == b"newer", "through a link")
    done("get", "whole", "/dev/null")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
    refused(1, "No such file", "get", "whole", path_of("no/folder/file"))
    expect(not [name for name in os.listdir(FOLDER) if ".keep" in name or "keep." in name],
           str(os.listdir(FOLDER)))
    done("rm", "whole")


def an_interrupt_leaves_no_file():
    def interrupt():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getpid(), signal.SIGINT)
    done("put", "stopped", "-", data=pattern(100000))
    before = sorted(os.listdir(FOLDER))
    result = run("get", "stopped", path_of("never"), before=interrupt)
    expect(result.returncode == 1 and result.stderr == b"", str(result))
    expect(sorted(os.listdir(FOLDER)) == before, str(os.listdir(FOLDER)))
    done("rm", "stopped")


def output_that_is_lost_is_failure():
    done("put", "full", "-", data=b"x" * 5000)
    with open("/dev/full", "w", encoding="utf-8") as full:
        for arguments in (["get", "full"], ["ls"], ["stat", "full"], ["who", "--json"],
                          ["watch", "--existing", "--count", "1"], ["put", "--help"]):
            result = subprocess.run([WARPWAY, *arguments], stdout=full, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=LIMIT_S)
            expect(result.returncode == 1 and b"No space left" in result.stderr,
                   f"{arguments}: {result}")
    done("rm", "full")


# Arrays

TYPES = [("|b1", "bool", 1), ("|i1", "int8", 1), ("<i2", "int16", 2), ("<i4", "int32", 4),
         ("<i8", "int64", 8), ("|u1", "uint8", 1), ("<u2", "uint16", 2), ("<u4", "uint32", 4),
         ("<u8", "uint64", 8), ("<f2", "float16", 2), ("<f4", "float32", 4), ("<f8", "float64", 8),
         ("<c8", "complex64", 8), ("<c16", "complex128", 16), ("|V3", "opaque24", 3)]


def arrays_come_back():
    for descr, dtype, size in TYPES:
        whole = npy(descr, (3, 5), pattern(15 * size))
        done("put", "--device", DEVICE, "array", write("in.npy", whole))
        entry = spoken("stat", "array")
        expect(entry["array"] == {"dtype": dtype, "shape": [3, 5], "strides": [5 * size, size],
                                  "offset": 0}, str(entry))
        expect(f"{dtype}[3,5]".encode() in done("ls"), dtype)
        done("get", "array", path_of("out.npy"))
        expect(read("out.npy") == whole, descr)
        expect(done("get", "array") == pattern(15 * size), descr)
        expect(done("get", "--raw", "array", path_of("raw.npy")) == b"", descr)
        expect(read("raw.npy") == pattern(15 * size), descr)
        done("rm", "array")


def arrays_of_all_shapes():
    for shape, count in (((), 1), ((0,), 0), ((7,), 7), ((1,) * 16, 1), ((2, 0, 3), 0)):
        whole = npy("<f4", shape, pattern(4 * count))
        done("put", "--npy", "shape", "-", data=whole)
        expect(done("get", "--npy", "shape") == whole, str(shape))
        done("rm", "shape")


def fortran_order_stays():
    values = list(range(6))
    columns = struct.pack("<6i", 0, 3, 1, 4, 2, 5)
    rows = struct.pack("<6i", *values)
    whole = npy("<i4", (2, 3), columns, fortran=True)
    done("put", "--device", DEVICE, "fortran", write("in.npy", whole))
    expect(spoken("stat", "fortran")["array"]["strides"] == [4, 8], "strides")
    done("get", "fortran", path_of("out.npy"))
    expect(read("out.npy") == whole, "as .npy")
    expect(done("get", "fortran") == rows, "elements in C order")
    done("rm", "fortran")


def a_large_fortran_array_is_gathered():
    height, width = 3000, 1201
    columns = b"".join(struct.pack(f"<{height}i", *range(x, height * width, width))
                       for x in range(width))
    done("put", "--device", DEVICE, "--npy", "large", "-",
         data=npy("<i4", (height, width), columns, fortran=True))
    expect(done("get", "large") == struct.pack(f"<{height * width}i", *range(height * width)),
           "elements in C order")
    done("rm", "large")


def files_that_are_no_npy_are_refused():
    cases = [(b"", "does not begin"), (b"plain text, long enough", "does not begin"),
             (npy("|O", (3,), b"x" * 24), "pickled Python objects"),
             (npy(">f4", (3,), b"x" * 12), "big-endian"),
             (npy("<f16", (3,), b"x" * 48), "long doubles"),
             (npy("<U3", (3,), b"x" * 36), "text"),
             (npy("<f4", (3,), b"x" * 11), "ends before all its bytes"),
             (npy("<f4", (3,), b"x" * 13), "goes on behind"),
             (npy("<f4", (3,), b"x" * 12)[:100], "ends inside the header"),
             (npy("<f4", (1 << 62, 8), b""), "63 bits")]
    for data, told in cases:
        refused(1, told, "put", "bad", write("bad.npy", data))
        refused(1, told, "put", "--npy", "bad", "-", data=data)
        refused(1, told, "put", "--npy", "--replace", "bad", "-", data=data)
    done("put", "--raw", "bad", write("bad.npy", b"plain"))
    expect(done("get", "bad") == b"plain", "--raw")
    done("rm", "bad")


def bytes_become_npy_when_asked():
    done("put", "plain", "-", data=b"abc")
    done("get", "plain", path_of("plain.npy"))
    expect(read("plain.npy") == npy("|u1", (3,), b"abc"), str(read("plain.npy")))
    done("put", "again", path_of("plain.npy"))
    expect(done("get", "again") == b"abc", "again")
    done("rm", "plain", "again")


# What is told

def ls_lists():
    clear()
    expect(done("ls") == b"0 objects, 0 bytes\n" and spoken("ls") == [], "empty")
    done("put", "--mode", "640", "list/b", "-", data=b"x" * 5000)
    done("put", "--shared", "list/a", "-", data=b"y")
    done("put", "other", "-", data=b"z")
    expect(done("ls", "--names") == b"list/a\nlist/b\nother\n", "names")
    expect(done("ls", "--names", "list/") == b"list/a\nlist/b\n", "prefix")
    lines = done("ls", "-n").decode().splitlines()
    expect(lines[0].split() == "MODE OWNER BYTES KIND DEVICE HOLDERS AGE NAME".split(), lines[0])
    expect(re.fullmatch(rf"-rw------- +{os.getuid()} +4096 +memory +host +0 +[0-9]+ (ms|s) +list/a"
                        r"  uint8\[1\]", lines[1]), lines[1])
    expect(lines[2].startswith("srw-r-----") and " 8192 " in lines[2], lines[2])
    expect(lines[-1] == "3 objects, 16384 bytes", lines[-1])
    expect("3 objects, 16.0 KiB" in done("ls", "--human").decode(), "human")
    listing = spoken("ls")
    expect([entry["name"] for entry in listing] == ["list/a", "list/b", "other"], str(listing))
    for entry in listing:
        expect(sorted(entry) == OBJECT_KEYS, str(entry))
    clear()


def stat_tells_all():
    done("put", "--mode", "0664", "--ttl", "1000", "--group", str(os.getgid()), "told", "-",
         data=b"x" * 10)
    entry = spoken("stat", "told")
    expect(sorted(entry) == OBJECT_KEYS, str(entry))
    wanted = {"name": "told", "kind": "memory", "memory": "host", "device": "host",
              "state": "sealed", "life": "kept", "mode": "0664", "uid": os.getuid(),
              "gid": os.getgid(), "access": "read", "holders": 0, "escrows": 0, "bytes": 4096}
    expect({key: entry[key] for key in wanted} == wanted, str(entry))
    expect(0 < entry["left_ns"] <= 1000 * 10**9 and entry["age_ns"] > 0, str(entry))
    text = done("stat", "told").decode()
    for words in ("name        told\n", f"id          {entry['id']}\n", "dtype       uint8\n",
                  "shape       10\n", "mode        0664\n", "life        kept\n"):
        expect(words in text, text)
    refused(1, "missing", "stat", "missing")
    done("rm", "told")


def timelines_are_told():
    """That of a process that the demo starts, whose parent is this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    signaller = subprocess.Popen(
        [WARPWAY, "demo-child", "signaller", DEVICE, "1"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, env=ENVIRONMENT, close_fds=False,
        preexec_fn=lambda: os.dup2(theirs.fileno(), 3))  # where a child finds its link
    theirs.close()
    expect("demo/line" in line_of(signaller), "it says so")
    entry = spoken("stat", "demo/line")
    told = entry.pop("timeline")
    expect(sorted(entry) == OBJECT_KEYS and entry["memory"] is None, str(entry))
    expect(entry["kind"] == "timeline" and entry["array"] is None, str(entry))
    expect(told["state"] == "live" and told["pid"] == signaller.pid, str(told))
    expect(told["program"] == "warpway" and told["submitted"] == 1, str(told))
    expect(0 <= told["completed"] <= 1, str(told))
    text = done("stat", "demo/line").decode()
    expect(f"signaller   pid {signaller.pid} (warpway), live\n" in text, text)
    expect(" timeline " in done("ls", "demo/").decode(), "its kind")
    refused(1, "timeline", "get", "demo/line", path_of("x"))
    signaller.kill()
    signaller.communicate(timeout=LIMIT_S)
    ours.close()


def who_says_why():
    done("put", "why/kept", "-", data=b"x")
    holder = start("put", "--life", "owner", "why/owned", "/proc/self/status")
    expect("until this command is interrupted" in line_of(holder), "it says so")
    report = spoken("who")
    expect(sorted(report) == ["objects", "processes"], str(report))
    mine = [entry for entry in report["processes"] if entry["pid"] == holder.pid]
    expect(len(mine) == 1 and sorted(mine[0]) == PROCESS_KEYS, str(report))
    expect(mine[0]["held"] == 1 and mine[0]["put"] == 1, str(mine))
    expect(mine[0]["program"] == "warpway" and mine[0]["attached"] is True, str(mine))
    expect([hold["name"] for hold in mine[0]["holds"]] == ["why/owned"], str(mine))
    expect(mine[0]["holds"][0]["maker"] is True, str(mine))
    why = {entry["name"]: entry["why"] for entry in report["objects"]}
    expect(why["why/kept"] == "kept, no time to live", str(why))
    expect(why["why/owned"].startswith(f"until pid {holder.pid} (warpway) ends"), str(why))
    text = done("who").decode()
    expect(f"pid {holder.pid} (warpway) of " in text and "put by it" in text, text)
    expect("kept, no time to live" in text, text)
    end(holder)
    done("rm", "why/kept")


def removed_objects_are_told_while_they_are_held():
    holder = begun("put", "--life", "owner", "held", "/proc/self/status")
    halt(holder)
    told = done("rm", "held")
    expect(told.startswith(b"held: the name is free; its ") and
           told.endswith(f"held by pid {holder.pid} (warpway)\n".encode()), told.decode())
    expect(done("ls", "--names") == b"" and spoken("ls") == [], "it still has a name")
    expect(b"\n1 more without a name, inside others or ended, " in done("ls"), done("ls").decode())
    listing = spoken("ls", "--all")
    expect([(entry["state"], entry["name"]) for entry in listing] == [("sealed", "")], str(listing))
    refused(1, "no object 'held'", "rm", "--end", "held")
    refused(1, f"warpway rm --end {listing[0]['id']}", "rm", listing[0]["id"])
    expect(done("rm", "--end", listing[0]["id"]) == b"", "it says who holds it")
    refused(1, listing[0]["id"], "rm", "--end", listing[0]["id"])
    listing = spoken("ls", "--all")
    expect([entry["state"] for entry in listing] == ["removed"], str(listing))
    expect(listing[0]["holders"] == 1 and listing[0]["fds"] == 0, str(listing))
    expect(b"\nxrw-------" in done("ls", "-a"), "its state")
    expect(done("ls", "--all", "--names") == b"", "a name that nobody finds")
    expect(spoken("who")["objects"][0]["why"] ==
           f"ended, but held by pid {holder.pid} (warpway)", done("who").decode())
    end(holder, signal.SIGKILL)
    until(lambda: done("who") == b"No process holds anything.\n", "it is still there")


# Lives

def objects_of_a_command_go_with_it():
    for life in ("owner", "held"):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            watch = start("watch", "--json", "--existing", "live/")
            holder = begun("put", "--device", DEVICE, "--life", life, "live/x", "/proc/self/status")
            while line_event(watch) != "put":  # it may have begun to watch after the put
                pass
            expect(spoken("stat", "live/x")["life"] == life, life)
            expect(done("get", "live/x") != b"", "it is not there")
            code, _, _ = end(holder, number)
            expect(code == -number, str(code))
            while line_event(watch) != "gone":
                pass
            refused(1, "live/x", "get", "live/x")
            end(watch)


def line_event(watch):
    line = line_of(watch)
    expect(line, "the watch ended")
    return json.loads(line)["event"]


def a_command_ends_when_its_object_is_removed():
    holder = begun("put", "--life", "owner", "away", "/proc/self/status")
    done("rm", "away")
    output, errors = holder.communicate(timeout=LIMIT_S)
    expect(holder.returncode == 0 and errors == b"" and b"away is gone" in output, str(output))


def a_command_ends_when_its_object_is_replaced():
    done("put", "away/before", "-", data=b"x")
    watch = start("watch", "--json", "--existing", "away")
    expect(line_event(watch) == "put", "it watches")
    holder = begun("put", "--life", "owner", "away", "/proc/self/status")
    former = spoken("stat", "away")["id"]
    done("put", "--replace", "away", "-", data=b"next")
    output, errors = holder.communicate(timeout=LIMIT_S)
    expect(holder.returncode == 0 and errors == b"" and b"away is gone" in output, str(output))
    events = [json.loads(line_of(watch)) for _ in range(3)]
    expect([event["event"] for event in events] == ["put", "ready", "replaced"], str(events))
    expect([event["former"] for event in events] == [None, None, former], str(events))
    end(watch)
    done("rm", "away")
    done("rm", "away/before")


def time_to_live_ends():
    done("put", "short/before", "-", data=b"x")
    watch = start("watch", "--json", "--existing", "short/")
    expect(line_event(watch) == "put", "it watches")
    done("put", "--ttl", "0.05", "short/lived", "-", data=b"x")
    while line_event(watch) != "expired":
        pass
    refused(1, "short/lived", "stat", "short/lived")
    end(watch)
    done("rm", "short/before")


def a_name_is_taken_once():
    done("put", "once", "-", data=b"old")
    pid = spoken("stat", "once")["pid"]
    refused(1, f"'once' is taken: process {pid} (ended) of user {os.getuid()} put it; remove it "
            "first, or replace it (WW_PUT_REPLACE, --replace)", "put", "once", "-", data=b"new")
    expect(done("get", "once") == b"old", "the old one is not there")
    done("put", "--replace", "once", "-", data=b"new")
    expect(done("get", "once") == b"new", "the new one is not there")
    done("put", "--replace", "--mode", "0644", "--shared", "once", "-", data=b"shared")
    entry = spoken("stat", "once")
    expect(entry["state"] == "shared" and entry["access"] == "write", str(entry))
    done("rm", "once")


def rm_goes_through_all_names():
    done("put", "rm/a", "-", data=b"x")
    done("put", "rm/b", "-", data=b"x")
    refused(1, "rm/missing", "rm", "rm/a", "rm/missing", "rm/b")
    expect(done("ls", "--names", "rm/") == b"", "they are still there")


def watch_prints_changes():
    done("put", "watch/a", "-", data=b"x")
    watch = start("watch", "--existing", "--json", "watch/")
    first = json.loads(line_of(watch))
    expect(sorted(first) == ["event", "former", "object", "time"], str(first))
    expect(first["event"] == "put" and sorted(first["object"]) == OBJECT_KEYS, str(first))
    text = start("watch", "--existing", "--count", "4", "watch/")
    expect(line_of(text).rstrip().endswith("watch/a  uint8[1]"), "text")
    done("put", "unwatched", "-", data=b"x")
    done("put", "watch/b", "-", data=b"x")
    done("rm", "watch/b", "unwatched")
    expect([line_event(watch) for _ in range(3)] == ["put", "ready", "removed"], "events")
    output, errors = text.communicate(timeout=LIMIT_S)
    expect(text.returncode == 0 and errors == b"", str(errors))
    events = [line.split()[1] for line in output.decode().splitlines()]
    expect(events == ["put", "ready", "removed"], str(output))
    code, output, errors = end(watch)
    expect(code == -signal.SIGINT and output == b"" and errors == b"", f"{code} {output} {errors}")
    done("rm", "watch/a")


def a_killed_broker_loses_nothing():
    done("put", "--device", DEVICE, "safe", "-", data=pattern(100000))
    holder = begun("put", "--life", "owner", "mine", "/proc/self/status")
    before = spoken("serve", "--status")
    os.kill(before["pid"], signal.SIGKILL)
    expect(done("get", "safe") == pattern(100000), "bytes")
    after = spoken("serve", "--status")
    expect(after["restarts"] == before["restarts"] + 1, str(after))
    expect(after["broker_id"] == before["broker_id"], str(after))
    expect(spoken("stat", "mine")["life"] == "owner", "the command's object")
    until(lambda: any(entry["pid"] == holder.pid and entry["attached"] for entry in spoken("who")["processes"]),
          "it did not come back")
    end(holder)
    done("rm", "safe")


# Terminals

def on_terminal(*arguments, data=None):
    """Runs the command with output and errors on a terminal; returns its code and the text."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([WARPWAY, *arguments], stdin=subprocess.PIPE, stdout=theirs,
                               stderr=theirs, env=ENVIRONMENT)
    os.close(theirs)
    text = b""
    if data is not None:
        process.stdin.write(data)
    process.stdin.close()
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(ours)
    return process.wait(timeout=LIMIT_S), text.decode()


def progress_is_for_terminals():
    path = write("in", pattern(17 << 20))
    code, text = on_terminal("put", "--device", DEVICE, "large", path)
    expect(code == 0 and "100%" in text and "17.0 MiB" in text and text.endswith("\n"), text)
    code, text = on_terminal("get", "large", path_of("out"))
    expect(code == 0 and "100%" in text, text)
    code, text = on_terminal("put", "piped", "-", data=pattern(17 << 20))
    expect(code == 0 and "standard input" in text and "100%" in text, text)
    code, text = on_terminal("put", "small", write("small", b"x"))
    expect(code == 0 and text == "", text)
    done("rm", "large", "piped", "small")


def bytes_are_not_for_terminals():
    done("put", "shown", "-", data=b"\x1b[31m")
    code, text = on_terminal("get", "shown")
    expect(code == 2 and "terminal" in text and "\x1b" not in text, text)
    done("rm", "shown")


def completed(line):
    """What bash would offer behind this line."""
    script = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_warpway "$3"
printf '%s\\n' "${COMPREPLY[@]}"
"""
    result = subprocess.run(["bash", "--norc", "-c", script, "bash", COMPLETION, line, WARPWAY],
                            capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT)
    expect(result.returncode == 0 and result.stderr == "", str(result))
    return result.stdout.split("\n")[:-1]


def completion_completes():
    if not shutil.which("bash"):
        return "there is no bash"
    done("put", "comp/a", "-", data=b"x")
    done("put", "comp/b:c", "-", data=b"x")
    expect(set(VERBS) <= set(completed("warpway ")), str(completed("warpway ")))
    expect(completed("warpway wat") == ["watch"], "a verb")
    expect(completed("warpway help wat") == ["watch"], "a verb to explain")
    expect(completed("warpway --ver") == ["--version"], "an option of the command")
    expect(completed("warpway bench mem") == ["memory"], "a suite")
    expect(completed("warpway bench pool --sl") == ["--slices"], "an option of a suite")
    expect(completed("warpway bench --slices 7 fo") == ["foreign"], "a suite behind an option")
    expect(completed("warpway put --li") == ["--life"], "an option")
    expect(completed("warpway put --life ") == ["kept", "owner", "held"], "a value")
    expect(completed("warpway put --life=o") == ["owner"], "a value behind =")
    expect(completed("warpway export --access ") == ["read", "write"], "an access")
    expect(completed("warpway get --tok") == ["--token"], "a token's option")
    for line in ("warpway get comp", "warpway export comp", "warpway rm comp", "warpway rm x comp", "warpway stat comp",
                 f"warpway ls --broker {ADDRESS} comp", "warpway get --wait 1 comp"):
        expect(completed(line) == ["comp/a", "comp/b:c"], f"{line}: {completed(line)}")
    expect(completed("warpway stat comp/b:") == ["c"], str(completed("warpway stat comp/b:")))
    expect(completed(f"warpway ls --broker {FOLDER}/nobody comp") == [""], "another broker")
    write("comp-file", b"")
    for line in (f"warpway get x {FOLDER}/comp", f"warpway get --token - {FOLDER}/comp",
                 f"warpway get --token=ww1_x {FOLDER}/comp"):
        expect(completed(line) == [path_of("comp-file")], f"{line}: {completed(line)}")
    done("rm", "comp/a", "comp/b:c")
    return None


def serve_stops():
    clear()
    expect(spoken("serve", "--status")["objects"] == 0, "objects are left")
    done("put", "last", "-", data=b"x")
    supervisor = spoken("serve", "--status")["supervisor_pid"]
    refused(2, "--force", "serve", "--stop")
    done("serve", "--stop", "--force")
    expect(not os.path.exists(f"/proc/{supervisor}") or "Z" in state_of(supervisor), "it is still there")
    expect(done("ls", "--names") == b"", "it lists something")


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


CASES = [help_is_there, looking_around_starts_nothing, a_daemon_that_is_not_there_is_told,
         wrong_use_is_refused, advice_for_serve_helps,
         a_socket_the_machines_broker_left_locks_out_nobody, serve_starts_one, foreground_becomes_the_daemon,
         reload_takes_the_program_that_is_installed, reload_tells_of_a_configuration_that_does_not_work,
         reload_ends_no_broker_on_a_terminal, bytes_come_back,
         standard_input_that_is_a_file_is_measured, files_that_cannot_be_read_are_told,
         host_memory_is_reached_by_gpus_too, a_pipe_of_two, files_appear_whole,
         an_interrupt_leaves_no_file, output_that_is_lost_is_failure, arrays_come_back,
         arrays_of_all_shapes, fortran_order_stays, a_large_fortran_array_is_gathered,
         files_that_are_no_npy_are_refused, bytes_become_npy_when_asked, ls_lists, stat_tells_all,
         timelines_are_told, who_says_why, removed_objects_are_told_while_they_are_held,
         objects_of_a_command_go_with_it, a_command_ends_when_its_object_is_removed,
         a_command_ends_when_its_object_is_replaced,
         time_to_live_ends, a_name_is_taken_once, rm_goes_through_all_names, watch_prints_changes,
         a_killed_broker_loses_nothing, progress_is_for_terminals, bytes_are_not_for_terminals,
         completion_completes, serve_stops]


def main(cases):
    failed = 0
    print(f"1..{len(cases)}", flush=True)
    for number, case in enumerate(cases, 1):
        try:
            skipped = case()
            print(f"ok {number} - {case.__name__}" + (f" # SKIP {skipped}" if skipped else ""),
                  flush=True)
        except (AssertionError, subprocess.SubprocessError, ValueError, KeyError, OSError) as error:
            failed += 1
            print(f"not ok {number} - {case.__name__}\n# " +
                  "\n# ".join(str(error)[:4000].splitlines()), flush=True)
        end_started()
    subprocess.run([WARPWAY, "serve", "--stop", "--force"], env=ENVIRONMENT, capture_output=True,
                   check=False)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(CASES))
