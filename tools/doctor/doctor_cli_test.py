#!/usr/bin/env python3
"""doctor_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION FAKECUDA NODRIVER LIBRARY OWN - `warpway doctor`

FAKECUDA is the folder of the driver for tests, NODRIVER that of a libcuda.so.1 that is none, LIBRARY any shared object,
which plays a driver that is too old, OWN Warpway's own. DEVICE is not used. Each run gets a folder for temporary files and a mark in its
environment, and must leave nothing in the one and no process with the other. Speaks TAP.
"""
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid

sys.dont_write_bytecode = True  # the sources may be another user's
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../warpway"))

from broker_cli_test import FOLDER, LIMIT_S, WARPWAY, WARPWAYD, completed, expect, main, refused, until  # noqa: E402

FAKECUDA, NODRIVER, LIBRARY, OWN_LIBRARY = sys.argv[5:9]
TEMPORARY = os.path.join(FOLDER, "tmp")
OLD_DRIVER = os.path.join(FOLDER, "old")
PROGRAMS = os.path.join(FOLDER, "bin")
MARK = "WW_DOCTOR_MARK=" + uuid.uuid4().hex
# So long that only a probe that hangs needs it.
PATIENCE = ["--time-limit", str(LIMIT_S)]
VERSION = subprocess.run([WARPWAY, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]

# What every GPU of the driver for tests comes to. Fabric handles need a daemon that is not there.
PROBES = ("context mig mps compute-mode memory vmm descriptors read-only legacy pools events stream-values host-memory"
          " host-read-only fabric share timeline slice").split()
HEALTHY = {**{probe: "works" for probe in PROBES}, "fabric": "limited"}
SHARED = ["share", "timeline", "slice"]
KEYS = ["cause", "check", "device", "finds", "found", "group", "lost", "remedy", "state"]

# Settings of the driver, exit status, the check whose remedy is looked at, its cause, words of the remedy, and
# what each GPU then comes to.
LACKS = [
    ({"FAKECUDA_LACKS": "vmm"}, 1, "vmm", None, "compute capability",
     {"vmm": "fails", "descriptors": "skipped", "read-only": "skipped", "share": "fails", "timeline": "limited",
      "slice": "limited"}),
    ({"FAKECUDA_NO_FD": "1"}, 1, "descriptors", None, "WW_MEMORY_HOST",
     {"descriptors": "fails", "pools": "limited", "share": "fails", "slice": "limited"}),
    ({"FAKECUDA_LACKS": "read-only"}, 0, "read-only", None, "processes that you trust", {"read-only": "limited"}),
    ({"FAKECUDA_LACKS": "legacy"}, 0, "legacy", None, "ww_memory_copy_in()", {"legacy": "limited"}),
    ({"FAKECUDA_LACKS": "pools"}, 0, "pools", None, "ww_pool_alloc()", {"pools": "limited"}),
    ({"FAKECUDA_NO_FOREIGN": "1"}, 0, "pools", "function", "nvidia-driver", {"pools": "limited"}),
    ({"FAKECUDA_LACKS": "events"}, 0, "events", None, "timelines", {"events": "limited"}),
    ({"FAKECUDA_LACKS": "values"}, 0, "stream-values", None, "ww_timeline_wait()",
     {"stream-values": "limited", "timeline": "limited"}),
    ({"FAKECUDA_NO_SYNC": "1"}, 0, "timeline", None, "ww_timeline_wait()",
     {"events": "limited", "stream-values": "limited", "timeline": "limited"}),
    ({"FAKECUDA_LACKS": "host"}, 0, "host-memory", None, "WW_MEMORY_VMM",
     {"host-memory": "limited", "host-read-only": "limited", "timeline": "limited"}),
    ({"FAKECUDA_LACKS": "host-read-only"}, 0, "host-read-only", None, "on the CPU", {"host-read-only": "limited"}),
    ({}, 0, "fabric", None, "nvidia-imex", {}),
    ({"FAKECUDA_MIG": "1"}, 0, "mig", None, "-mig 0", {"mig": "limited"}),
    ({"FAKECUDA_MPS": "1"}, 0, "mps", None, "echo quit | nvidia-cuda-mps-control", {"mps": "limited"}),
    ({"FAKECUDA_MPS": "2"}, 0, "mps", "unknown", None, {"mps": "skipped"}),
    ({"FAKECUDA_BYTES": "64M"}, 0, "memory", None, "which processes hold memory", {"memory": "limited"}),
    ({"FAKECUDA_COMPUTE_MODE": "3"}, 1, "compute-mode", None, "-c DEFAULT", {"compute-mode": "fails"}),
    ({"FAKECUDA_COMPUTE_MODE": "3", "FAKECUDA_MPS": "1"}, 0, "compute-mode", "exclusive-mps", "-c DEFAULT",
     {"compute-mode": "limited", "mps": "limited"}),
    ({"FAKECUDA_COMPUTE_MODE": "2"}, 1, "context", "compute-mode", "-c DEFAULT",
     {**{probe: "skipped" for probe in PROBES}, "context": "fails"}),
    ({"FAKECUDA_FAIL": "cuDevicePrimaryCtxRetain:1:2"}, 1, "context", "memory", "end one",
     {**{probe: "skipped" for probe in PROBES}, "context": "fails"}),
    ({"FAKECUDA_FAIL": "cuDevicePrimaryCtxRetain:1:805"}, 1, "context", "mps", "nvidia-cuda-mps-control -d",
     {**{probe: "skipped" for probe in PROBES}, "context": "fails"}),
    ({"FAKECUDA_FAIL": "cuDevicePrimaryCtxRetain:1:999"}, 1, "context", None, "nvidia-smi -i GPU-",
     {**{probe: "skipped" for probe in PROBES}, "context": "fails"}),
    # A probe that crashes, in either process; the others are tried all the same.
    ({"FAKECUDA_FAIL": "cuIpcGetMemHandle:1:crash"}, 0, "legacy", "crash", "dmesg", {"legacy": "fails"}),
    ({"FAKECUDA_FAIL": "cuIpcOpenMemHandle:1:crash"}, 0, "legacy", "crash", "dmesg", {"legacy": "fails"}),
    ({"FAKECUDA_FAIL": "cuDevicePrimaryCtxRetain:1:crash"}, 1, "context", "crash", "dmesg",
     {**{probe: "skipped" for probe in PROBES}, "context": "fails"}),
]

# What cuInit() answers, the cause and words of the remedy.
STARTS = [
    ("803", "mismatch", "reboot"), ("802", "fabric-manager", "nvidia-fabricmanager"), ("304", "proc", "--mount-proc"),
    ("805", "mps", "nvidia-cuda-mps-control -d"), ("2", None, "nvidia-smi"), ("crash", "crash", "install the driver"),
]


def environment(driver, **settings):
    cleared = {name: value for name, value in os.environ.items()
               if not name.startswith(("FAKECUDA", "CUDA_", "WARPWAY"))}
    library = driver + ":" + os.environ["LD_LIBRARY_PATH"] if "LD_LIBRARY_PATH" in os.environ else driver
    return {**cleared, "LD_LIBRARY_PATH": library, "TMPDIR": TEMPORARY, "WARPWAYD": WARPWAYD,
            "XDG_RUNTIME_DIR": FOLDER, "FAKECUDA_BYTES": "64G", **dict([MARK.split("=")]), **settings}


def marked():
    """The processes that have the mark, and still run."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if MARK.encode() in file.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def nothing_is_left(told):
    """What was killed may take a moment to be gone."""
    until(lambda: not marked(), lambda: f"{told}: processes are left: {marked()}")
    expect(os.listdir(TEMPORARY) == [], f"{told}: files are left: {os.listdir(TEMPORARY)}")


def run(*options, driver=FAKECUDA, before=None, command=(), **settings):
    """Runs the doctor, which must leave nothing behind."""
    result = subprocess.run([*command, WARPWAY, "doctor", *(options if "--time-limit" in options else
                                                            [*PATIENCE, *options])],
                            capture_output=True, text=True, timeout=20 * LIMIT_S, stdin=subprocess.DEVNULL,
                            env=environment(driver, **settings), preexec_fn=before)
    nothing_is_left(str(settings))
    return result


def examine(*options, code=None, **settings):
    """Its results, by check and device; and all of what it said."""
    result = run("--json", *options, **settings)
    expect(result.stderr == "" and (code is None or result.returncode == code), f"{settings}: {result}")
    said = json.loads(result.stdout)
    expect(said["sharing"] is (result.returncode == 0), result.stdout)
    return {(row["check"], row["device"]): row for row in said["results"]}, said


def expect_row(row, state, cause, words, told):
    expect(row["state"] == state and row["cause"] == cause, f"{told}: {row}")
    if state in ("limited", "fails"):
        expect(row["lost"] and row["remedy"] and (words or "") in row["remedy"], f"{told}: {row}")
        expect("{" not in row["remedy"], f"{told}: {row}")
    else:
        expect(row["lost"] is None and row["remedy"] is None and words is None, f"{told}: {row}")


def wrong_use_is_refused():
    for words, options in (("nonsense", ["--nonsense"]), ("word", ["word"]), ("--time-limit", ["--time-limit", "0"]),
                           ("--time-limit", ["--time-limit", "soon"]), ("--report", ["--report"])):
        refused(2, words, "doctor", *options)
    for arguments in ([], ["nonsense"], ["device"], ["peer", "nonsense"], ["route", "0", "0"]):
        result = subprocess.run([WARPWAY, "doctor-child", *arguments], capture_output=True, text=True, check=False,
                                stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        expect(result.returncode != 0 and result.stdout == "", str(result))
    text = subprocess.run([WARPWAY, "doctor", "--help"], capture_output=True, text=True, check=True).stdout
    expect(text.startswith("Usage: warpway doctor ") and "Exit codes" in text, text)
    expect(all(len(line) <= 100 for line in text.splitlines()), text)
    expect(completed("warpway doct") == ["doctor"], "completion of the verb")
    expect("--report" in completed("warpway doctor --"), "completion of an option")


def a_healthy_machine_shares():
    rows, said = examine(code=0)
    for device in ("cuda:0", "cuda:1"):
        expect({probe: rows[probe, device]["state"] for probe in PROBES} == HEALTHY, str(rows))
    for probe in SHARED:
        expect(rows[probe, "host"]["state"] == "works", str(rows))
    for check in ("memfd", "sockets", "pidfd", "broker-program", "broker-trial", "driver"):
        expect(rows[check, None]["state"] == "works", str(rows[check, None]))
    expect([device["selector"] for device in said["devices"]] == ["host", "cuda:0", "cuda:1"], str(said["devices"]))
    expect(said["devices"][1]["uuid"].startswith("GPU-") and said["devices"][1]["bytes"] == 64 << 30,
           str(said["devices"]))
    expect(said["routes"] == [{"from": near, "to": far, "route": "peer", "bytes_per_s": None}
                              for near, far in (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"))], str(said["routes"]))


def the_json_has_its_schema():
    rows, said = examine(FAKECUDA_NO_PEER="1", FAKECUDA_NO_FD="1", code=1)
    expect(sorted(said) == ["date", "devices", "driver", "results", "routes", "schema", "sharing", "version"],
           str(sorted(said)))
    expect(said["schema"] == 1 and said["version"] == VERSION and said["driver"].startswith("CUDA "), str(said))
    for row in rows.values():
        expect(sorted(row) == KEYS and row["finds"] and row["found"], str(row))
        expect(row["group"] in ("machine", "broker", "programs", "driver", "device", "routes"), str(row))
        expect_row(row, row["state"], row["cause"], None, "schema")
    for device in said["devices"]:
        expect(sorted(device) == ["bytes", "name", "selector", "uuid"], str(device))


def text_and_json_say_the_same():
    _, said = examine(FAKECUDA_LACKS="legacy,vmm", code=1)
    text = run(FAKECUDA_LACKS="legacy,vmm")
    expect(text.returncode == 1 and text.stderr == "", str(text))
    words = [line.split() for line in text.stdout.splitlines()]
    spoken = [(line[0], line[1]) for line in words if line and line[0] in ("works", "limited", "fails")]
    expected = [(row["state"], row["check"]) for row in said["results"] if row["state"] != "skipped"]
    expect(spoken == expected, f"{spoken} {expected}")
    for row in said["results"]:
        if row["state"] in ("limited", "fails") and row["check"] != "route":
            expect("lost: " + row["lost"] in text.stdout and "do:   " + row["remedy"] in text.stdout, str(row))
    expect("Sharing does not work here" in text.stdout, text.stdout)


def each_lack_has_its_remedy():
    for settings, code, check, cause, words, changes in LACKS:
        rows, _ = examine(code=code, **settings)
        for device in ("cuda:0", "cuda:1"):
            states = {probe: rows[probe, device]["state"] for probe in PROBES}
            expect(states == {**HEALTHY, **changes}, f"{settings}: {states}")
            expect_row(rows[check, device], {**HEALTHY, **changes}[check], cause, words, str(settings))
        expect(rows["share", "host"]["state"] == "works", str(settings))


def gpus_without_peer_access_copy():
    rows, said = examine(code=0, FAKECUDA_NO_PEER="1")
    for pair in ("cuda:0>cuda:1", "cuda:1>cuda:0"):
        expect_row(rows["route", pair], "limited", "copy", "nvidia-smi topo -p2p r", pair)
    expect([route["route"] for route in said["routes"]] == ["copy", "copy"], str(said["routes"]))


def bandwidth_is_measured_when_asked():
    _, said = examine("--bandwidth", code=0)
    expect(sorted((route["from"], route["to"]) for route in said["routes"]) ==
           sorted((near, far) for near in ("host", "cuda:0", "cuda:1") for far in ("host", "cuda:0", "cuda:1")
                  if near != far), str(said["routes"]))
    expect(all(route["bytes_per_s"] > 0 for route in said["routes"]), str(said["routes"]))
    _, said = examine("--bandwidth", code=0, FAKECUDA_BYTES="64M")
    expect(len(said["routes"]) == 6, "it takes more memory than it says")


def has_gpu():
    """As the kernel shows it."""
    for folder in glob.glob("/sys/bus/pci/devices/*"):
        with open(folder + "/vendor", encoding="ascii") as vendor, open(folder + "/class", encoding="ascii") as kind:
            if vendor.read().startswith("0x10de") and kind.read().startswith("0x03"):
                return True
    return os.path.exists("/dev/nvidia0") or os.path.exists("/dev/dxg")


def in_container():
    rows, _ = examine(driver=NODRIVER)
    return rows["container", None]["state"] == "limited"


def without_a_driver_the_host_works():
    rows, said = examine(driver=NODRIVER)
    expect([device["selector"] for device in said["devices"]] == ["host"], str(said["devices"]))
    expect(all(rows[probe, "host"]["state"] == "works" for probe in SHARED), str(rows))
    driver = rows["driver", None]
    if not has_gpu():
        expect(said["sharing"], str(said))
        expect_row(driver, "skipped", "none", None, "no driver")
        expect("works on the host device" in driver["found"], str(driver))
    else:
        cause = "container" if in_container() else "missing"
        expect_row(driver, "fails", cause, "--gpus all" if cause == "container" else "nvidia-driver", "no driver")
    rows, said = examine(code=0, CUDA_VISIBLE_DEVICES="-1")
    expect_row(rows["driver", None], "skipped", "hidden", None, "hidden")
    expect("CUDA_VISIBLE_DEVICES=-1" in rows["driver", None]["found"], str(rows["driver", None]))
    rows, said = examine(FAKECUDA_DEVICES="0")
    expect(rows["driver", None]["cause"] in ("no-device", "container"), str(rows["driver", None]))
    expect(said["sharing"] is not has_gpu(), str(said))


def a_driver_that_does_not_start_is_told():
    for answer, cause, words in STARTS:
        rows, _ = examine(code=1, FAKECUDA_FAIL=f"cuInit:1:{answer}")
        expect_row(rows["driver", None], "fails", cause, words, answer)
        expect(rows["share", "host"]["state"] == "works", answer)
    rows, _ = examine(code=1, FAKECUDA_FAIL="cuInit:1:999")
    uvm = os.path.exists("/dev/nvidia-uvm")
    expect_row(rows["driver", None], "fails", None if uvm else "uvm", "nvidia-smi" if uvm else "nvidia-modprobe", "999")
    os.makedirs(OLD_DRIVER, exist_ok=True)
    shutil.copy(LIBRARY, os.path.join(OLD_DRIVER, "libcuda.so.1"))
    rows, _ = examine(code=1, driver=OLD_DRIVER)
    expect_row(rows["driver", None], "fails", "old", "nvidia-driver", "old")


def a_probe_that_hangs_is_a_result():
    """A machine that needs longer than the limit for what comes before shows an earlier probe as late."""
    limit = ["--time-limit", str(3 * LIMIT_S // 120)]
    rows, _ = examine(*limit, FAKECUDA_FAIL="cuIpcGetMemHandle:1:hang", code=1)
    for device in ("cuda:0", "cuda:1"):
        late = [probe for probe in PROBES if rows[probe, device]["cause"] == "late"]
        expect(len(late) == 1 and PROBES.index(late[0]) <= PROBES.index("legacy"), str(rows))
        expect_row(rows[late[0], device], "fails", "late", "--time-limit 60", "hang")
        behind = PROBES[PROBES.index(late[0]) + 1:]
        expect({rows[probe, device]["state"] for probe in behind} == {"skipped"}, str(rows))
    expect(rows["route", None]["state"] == "skipped", str(rows["route", None]))
    rows, _ = examine(*limit, FAKECUDA_FAIL="cuInit:1:hang", code=1)
    expect_row(rows["driver", None], "fails", "late", "--time-limit 60", "hang")


def interrupts_leave_nothing():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([WARPWAY, "doctor", *PATIENCE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, start_new_session=True,
                              env=environment(FAKECUDA, FAKECUDA_FAIL="cuIpcGetMemHandle:1:hang")) as doctor:
            deadline = time.monotonic() + LIMIT_S
            while not any("peer" in command_of(pid) for pid in marked()):
                expect(time.monotonic() < deadline and doctor.poll() is None, "no second process was started")
                time.sleep(0.01)
            os.killpg(doctor.pid, number)  # as a terminal does, to the broker too if it is in this group
            output, errors = doctor.communicate(timeout=LIMIT_S)
            expect(doctor.returncode == 2 and output == "" and errors == "warpway doctor: interrupted\n",
                   f"{doctor.returncode} {output} {errors}")
        nothing_is_left(str(number))


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def limits_are_told():
    def limit(which, value):
        return lambda: resource.setrlimit(which, (value, value))
    rows, _ = examine(driver=NODRIVER, before=limit(resource.RLIMIT_NOFILE, 512))
    expect_row(rows["open-files", None], "limited", None, "ulimit -n", "files")
    rows, _ = examine(driver=NODRIVER, before=limit(resource.RLIMIT_MEMLOCK, 65536))
    expect_row(rows["locked-memory", None], "limited", None, "ulimit -l", "locked memory")
    few = limit(resource.RLIMIT_AS, 8 << 30)
    if subprocess.run([WARPWAY, "--version"], capture_output=True, preexec_fn=few, check=False).returncode:
        return "no address space can be limited: the sanitizers reserve more"
    rows, _ = examine(driver=NODRIVER, before=few)
    expect_row(rows["address-space", None], "fails", None, "ulimit -v", "address space")
    return None


def containers_and_namespaces_are_told():
    rows, _ = examine(driver=NODRIVER, container="oci")
    expect_row(rows["container", None], "limited", None, "docker run -v", "container")
    inside = ["unshare", "--user", "--map-root-user", "--mount", "--ipc", "--pid", "--fork", "--mount-proc", "sh", "-c"]
    if subprocess.run([*inside, "mount -t tmpfs -o size=16m tmpfs /dev/shm"], capture_output=True,
                      check=False).returncode:
        return "no namespaces can be made here"
    rows, _ = examine(driver=NODRIVER, command=[*inside, 'mount -t tmpfs -o size=16m tmpfs /dev/shm && exec "$0" "$@"'])
    for check, words in (("pid-namespace", "--pid=host"), ("user-namespace", "--userns=host"),
                         ("ipc-namespace", "--ipc=host"), ("shm", "--shm-size")):
        expect_row(rows[check, None], "limited", None, words, check)
    kernel = os.path.join(FOLDER, "version")
    with open(kernel, "w", encoding="ascii") as file:
        file.write("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f)\n")
    if not os.path.exists("/dev/dxg"):
        expect_row(rows["wsl", None], "works", None, None, "no WSL")
    rows, _ = examine(driver=NODRIVER, command=[*inside, f'mount --bind {kernel} /proc/version && exec "$0" "$@"'])
    expect_row(rows["wsl", None], "limited", None, "run on Linux", "WSL")
    rows, _ = examine(driver=NODRIVER, command=[*inside, 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$0" "$@"'])
    expect_row(rows["shm", None], "fails", "read-only", "remount,rw", "shm")
    # The machine's broker was killed: programs find its socket, and start no broker of their own.
    left = ("mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/warpway && "
            "%s -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/run/warpway/broker.sock\")' && "
            'chmod 666 /run/warpway/broker.sock && exec "$0" "$@"' % sys.executable)
    rows, _ = examine(driver=NODRIVER, command=[*inside, left], WARPWAY_BROKER="", XDG_RUNTIME_DIR=FOLDER)
    expect_row(rows["broker", None], "fails", "left", "rm /run/warpway/broker.sock", "a socket that nobody serves")
    return None


def program(name, text):
    os.makedirs(PROGRAMS, exist_ok=True)
    path = os.path.join(PROGRAMS, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def programs_are_compared():
    only = {"driver": NODRIVER, "PATH": PROGRAMS}
    shutil.rmtree(PROGRAMS, ignore_errors=True)
    rows, _ = examine(**only)
    expect_row(rows["python", None], "skipped", "none", None, "no python3")
    expect_row(rows["mpi", None], "skipped", "none", None, "no MPI")
    for text, state, cause, words in (
            (f"echo {VERSION} /lib/warpway/__init__.py", "works", None, None), ("exit 3", "skipped", "none", None),
            ("echo 0.0.1 /lib/warpway/__init__.py", "limited", "version", "pip install . in the folder of"),
            ("echo ImportError: boom >&2; exit 1", "fails", "broken", "import warpway"),
            ("kill -SEGV $$", "fails", "broken", "import warpway")):
        program("python3", text)
        rows, _ = examine(**only)
        expect_row(rows["python", None], state, cause, words, text)
        told = f"{rows['python', None]['found']} {rows['python', None]['remedy']}"
        expect("pip install warpway" not in told, f"no registry of packages has it: {told}")
        expect(cause != "none" or "pip install . in the folder of" in told, told)
    libraries = os.path.join(FOLDER, "libraries")
    os.makedirs(libraries, exist_ok=True)
    place = os.path.join(libraries, "libwarpway.so.0")
    os.symlink(OWN_LIBRARY, place)
    rows, _ = examine(**{**only, "driver": f"{NODRIVER}:{libraries}"})
    expect_row(rows["library", None], "works", None, None, "library")
    expect(f"version {VERSION}" in rows["library", None]["found"], str(rows["library", None]))
    for wrong in (b"no library", b""):
        os.unlink(place)
        with open(place, "wb") as file:
            file.write(wrong)
        rows, _ = examine(**{**only, "driver": f"{NODRIVER}:{libraries}"})
        expect_row(rows["library", None], "fails", "broken", "ldconfig", "library")
    program("mpirun.openmpi", "")
    os.symlink("mpirun.openmpi", os.path.join(PROGRAMS, "mpirun"))
    rows, _ = examine(**only, WARPWAY_MPI_LIBRARY=LIBRARY)
    expect_row(rows["mpi", None], "works", None, None, "MPI")
    rows, _ = examine(**only, WARPWAY_MPI_LIBRARY="/nonexistent")
    expect_row(rows["mpi", None], "limited", None, "libopenmpi-dev", "MPI")
    older = program("warpwayd", f'[ "$1" != --version ] || exec /bin/echo warpwayd 0.0.1\nexec "{WARPWAYD}" "$@"')
    rows, _ = examine(code=0 if not has_gpu() else 1, **only, WARPWAYD=older)
    expect_row(rows["broker-program", None], "limited", "version", "of one version", "daemon")
    rows, _ = examine(code=1, **only, WARPWAYD="/nonexistent")
    expect_row(rows["broker-program", None], "fails", None, "WARPWAYD", "no daemon")
    expect_row(rows["broker-trial", None], "fails", None, "warpwayd --socket", "no daemon")
    expect_row(rows["share", "host"], "fails", "broker", "broker-trial", "no daemon")


def the_running_broker_is_looked_at():
    address = os.path.join(FOLDER, "looked-at.sock")
    rows, _ = examine(driver=NODRIVER, WARPWAY_BROKER=address)
    expect_row(rows["broker", None], "fails", "named", f"--socket {address}", "none")
    for options, settings, source in ((["--broker", address], {}, "--broker"),
                                      ([], {"WARPWAY_BROKER": address}, "WARPWAY_BROKER")):
        result = run(*options, driver=FAKECUDA, **settings)
        expect(result.returncode == 1 and result.stderr == "", str(result))
        expect(f"but not through the broker that {source} names: see the line of broker" in result.stdout, result.stdout)
    with subprocess.Popen([WARPWAYD, "--socket", address], stdin=subprocess.DEVNULL) as daemon:
        named = {**os.environ, "WARPWAY_BROKER": address}
        while subprocess.run([WARPWAY, "put", "--life", "kept", "lab/secret-name", "-"], input=b"x", env=named,
                             capture_output=True, check=False).returncode:
            expect(daemon.poll() is None, "the broker has ended")
        rows, _ = examine(driver=NODRIVER, WARPWAY_BROKER=address)
        expect_row(rows["broker", None], "works", None, None, "running")
        expect(VERSION in rows["broker", None]["found"] and address in rows["broker", None]["found"], str(rows))
        rows, _ = examine("--broker", address, driver=NODRIVER)
        expect_row(rows["broker", None], "works", None, None, "--broker")
        listed = subprocess.run([WARPWAY, "ls", "--names"], env=named, capture_output=True, text=True, check=True)
        expect(listed.stdout == "lab/secret-name\n", listed.stdout)
        the_report_has_all(address)
        daemon.terminate()
    rows, _ = examine(driver=NODRIVER)
    expect_row(rows["broker", None], "skipped", "none", None, "none")


def the_report_has_all(address):
    path = os.path.join(FOLDER, "report.txt")
    result = run("--report", path, WARPWAY_BROKER=address, LAB_PASSWORD="hidden-word",
                 FAKECUDA_FAIL="cuIpcGetMemHandle:1:crash")
    expect(result.returncode == 0 and result.stderr == "", str(result))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(result.stdout in text, "the text is missing")
    expect("secret-name" not in text and "hidden-word" not in text, "it tells what it must not")
    expect("Max open files" in text and f"WARPWAY_BROKER={address}" in text and "last errors" in text, text)
    said = json.loads(text.partition("results as JSON\n")[2])
    expect(said["sharing"] is True and len(said["results"]) > 50, str(said))
    result = run("--report", os.path.join(FOLDER, "no/such/folder"))
    expect(result.returncode == 2 and "no/such/folder" in result.stderr, str(result))
    expect(result.stdout == "", f"all was tried before: {result}")


def what_is_no_broker_is_told():
    address = os.path.join(FOLDER, "nobody.sock")
    with subprocess.Popen([sys.executable, "-c", f"""
import socket
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind({address!r})
    listener.listen()
    print("listens", flush=True)
    while True:
        connection, _ = listener.accept()
        connection.send(b"nonsense")
"""], stdout=subprocess.PIPE) as listener:
        expect(listener.stdout.readline() == b"listens\n", "it does not listen")
        rows, _ = examine(driver=NODRIVER, WARPWAY_BROKER=address)
        expect_row(rows["broker", None], "fails", "protocol", "of one version", "nonsense")
        listener.kill()


os.makedirs(TEMPORARY)
sys.exit(main([wrong_use_is_refused, a_healthy_machine_shares, the_json_has_its_schema, text_and_json_say_the_same,
               each_lack_has_its_remedy, gpus_without_peer_access_copy, bandwidth_is_measured_when_asked,
               without_a_driver_the_host_works, a_driver_that_does_not_start_is_told, a_probe_that_hangs_is_a_result,
               interrupts_leave_nothing, limits_are_told, containers_and_namespaces_are_told, programs_are_compared,
               the_running_broker_is_looked_at, what_is_no_broker_is_told]))
