#!/usr/bin/env python3
"""cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION - what the command prints and which exit codes it ends with

Runs the command as a user would, right and wrong, and kills and stops its processes. Speaks TAP.
A case returns why it was skipped, or nothing. A DEVICE that is a GPU is one of the driver for
tests, whose settings some cases change.
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import DEVICE, LIMIT_S, WARPWAY, expect, main  # noqa: E402

# What hides every GPU; and what a case says that needs the settings of the driver for tests.
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
NEEDS_GPU = "needs the driver for tests"

# Wrong uses: each ends with 2 and says why in one line.
WRONG = [
    ["nonsense"], ["--nonsense"],
    ["demo", "word"], ["demo", "--nonsense"], ["demo", "-x"], ["demo", "--json=1"],
    ["demo", "--elements"], ["demo", "--elements", ""], ["demo", "--elements", "0"],
    ["demo", "--elements", "-1"], ["demo", "--elements", "4x"], ["demo", "--elements", "1e6"],
    ["demo", "--elements", "18446744073709551617"],
    ["demo", "--device", DEVICE, "--elements", "2305843009213693951"],
    ["demo", "--processes", "0"], ["demo", "--processes", "257"],
    ["demo", "--timeout", "0"], ["demo", "--device", "nonsense"], ["demo", "--device", ""],
    ["demo", "--device", "cuda:99"], ["demo-child"], ["demo-child", "nonsense", DEVICE, "1"],
    ["demo-child", "ring", DEVICE, "1", "4", "4"],
    ["bench", "nonsense"], ["bench", "--sizes", ""], ["bench", "--sizes", "4K,"],
    ["bench", "--sizes", "4Q"], ["bench", "--sizes", "0"], ["bench", "--iterations", "0"],
    ["bench", "--device", "nonsense"], ["bench-child"], ["bench-child", "broker", "nonsense", "x"],
    ["bench-child", "sync"], ["bench-child", "sync", "nonsense", DEVICE, "x"],
    ["bench-child", "pool"], ["bench-child", "pool", "nonsense", DEVICE, "x", "y"],
    ["bench-child", "foreign"], ["bench-child", "foreign", DEVICE, "x", "0", "1", "pools"],
    ["bench", "--kills", "0"], ["bench", "--objects", "3"], ["bench", "--clients", "0"],
    ["bench", "--slices", "0"], ["bench", "--slices", "1000000001"],
    ["bench", "--mpi", "nonsense"], ["bench", "--ranks", "1"], ["bench", "--ranks", "33"],
    ["bench-child", "channel", "nonsense", DEVICE, "x"],
    ["bench-child", "calls", "nonsense", DEVICE, "x"],
]

STEPS = ["round trip", "ring", "survival", "protection", "broker", "pool slice", "array view",
         "CUDA pointer", "plain CUDA", "ping-pong", "channel", "lost peer"]
STEPS_WITHOUT_MEMORY = ["ping-pong", "channel", "lost peer"]
# What CUDA allocates: nothing without a GPU.
STEPS_OF_CUDA = ["CUDA pointer", "plain CUDA"]
BENCH_KEYS = ["complete", "date", "device", "driver", "host", "mps", "quick", "results", "suites", "version"]
RESULT_KEYS = ["floor_p50", "goal", "met", "name", "p50", "p99", "ratio", "unit"]
WITH_SAMPLES = ["broker.release", "sync.release.cpu", "sync.release.stream", "sync.release.after_report"]


def run(*arguments, fds=None, **settings):
    """Runs the command with more in its environment; fds: soft and hard limit of descriptors."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, fds)
    program = WARPWAY + "-bench" if arguments[:1] == ("bench-child",) else WARPWAY
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          env={**os.environ, **settings}, preexec_fn=limit if fds else None)


def wrong_use_is_refused():
    for arguments in WRONG:
        result = run(*arguments)
        told = f"{arguments}: {result}"
        expect(result.returncode == 2, told)
        expect(result.stderr.count("\n") == 1 and result.stderr.startswith("warpway"), told)


def help_is_there():
    for arguments in (["--help"], ["-h"], ["demo", "--help"], ["bench", "--help"], ["demo", "-h"]):
        result = run(*arguments)
        expect(result.returncode == 0 and result.stdout.startswith("Usage: warpway"), str(result))
        expect(result.stderr == "", str(result))
    for words in ([], ["demo"], ["channel"], ["channel", "pub"], ["put"], ["bench"]):
        told, asked = run("help", *words), run(*words, "--help")
        expect(told.returncode == 0 and told.stdout == asked.stdout and told.stderr == "", str(told))
    refused = run("help", "nonsense")
    expect(refused.returncode == 2 and "unknown verb 'nonsense'" in refused.stderr, str(refused))
    expect(run().returncode == 2, "no verb")
    expect(run("--version").stdout.startswith("warpway "), "version")


def demo_shows_all_steps():
    for extra in ([], ["--elements", "1"], ["--processes", "1"],
                  ["--elements", "1048577", "--processes", "33"]):
        result = run("demo", "--device", DEVICE, *extra)
        expect(result.returncode == 0 and result.stderr == "", str(result))
        table = result.stdout.split("\n\n")[-1].splitlines()
        expect(len(table) == 1 + len(STEPS), str(result))
        for step, line in zip(STEPS, table[1:]):
            expect(line.startswith(step) and "FAILED" not in line, str(result))


def demo_speaks_json():
    result = run("demo", "--device", DEVICE, "--json", "--elements", "1000")
    expect(result.returncode == 0, str(result))
    report = json.loads(result.stdout)
    expect(report["device"] == DEVICE and report["passed"] is True, result.stdout)
    expect(report["elements"] == 1000 and report["processes"] == 4, result.stdout)
    expect([step["step"] for step in report["steps"]] == STEPS, result.stdout)
    for step in report["steps"]:
        expect(step["passed"], str(step))
        without = STEPS_WITHOUT_MEMORY + (STEPS_OF_CUDA if DEVICE == "host" else [])
        expect(bool(step["routes"]) != (step["step"] in without), str(step))
        if step["step"] in STEPS_OF_CUDA:
            expect(step["shown"].startswith("nothing: ") == (DEVICE == "host"), str(step))
    expect(re.search(r"told that pid [0-9]+ \(warpway\) died: [0-9.]+ ms after the kill",
                     report["steps"][-1]["shown"]), result.stdout)
    expect("as expected" in result.stderr, result.stderr)
    expect(report["mps"] == "off", result.stdout)


def demo_says_whether_mps_is_on():
    if DEVICE == "host":
        return NEEDS_GPU
    for setting, name in (("0", "off"), ("1", "on"), ("2", "unknown")):
        result = run("demo", "--device", DEVICE, *SMALL, FAKECUDA_MPS=setting)
        expect(result.returncode == 0, str(result))
        expect(result.stdout.splitlines()[0].endswith(f", MPS {name}"), str(result))
    return None


def well_formed(entry):
    """Whether it has the keys of a row, and samples if it is to have them."""
    return sorted(set(entry) - {"samples"}) == RESULT_KEYS and ("samples" in entry) == (entry["name"] in WITH_SAMPLES)


def bench_speaks_json():
    result = run("bench", "memory", "--device", DEVICE, "--json", "--quick", "--sizes", "2M,900T")
    expect(result.returncode == 0, str(result))
    report = json.loads(result.stdout)
    expect(sorted(report) == BENCH_KEYS and report["mps"] == "off", result.stdout)
    expect([entry["name"] for entry in report["results"]] ==
           [f"memory.{what}.2MiB" for what in
            ("create", "release", "export", "import_map", "unmap")], result.stdout)
    for entry in report["results"]:
        expect(sorted(entry) == RESULT_KEYS, result.stdout)
        expect(0 < entry["p50"] <= entry["p99"] and entry["unit"] == "us", str(entry))
    expect("memory.*.900TiB is skipped" in result.stderr, result.stderr)


def bench_measures_a_broker():
    result = run("bench", "broker", "--device", DEVICE, "--json", "--quick", "--objects", "1000")
    expect(result.returncode == 0, str(result))
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["results"]}
    for name in ("put", "put.further", "get", "stat", "library.put", "library.put.export",
                 "library.get", "library.get_mapped", "release", "release.slowest", "restart",
                 "restart.slowest", "restart.full", "list.250", "list.500", "list.1000", "lookup.empty",
                 "lookup.full", "lookup.full.p99", "lookup.all", "memory_per_object", "watched"):
        entry = entries.pop("broker." + name)
        expect(well_formed(entry) and entry["p50"] >= 0, str(entry))
        expect((entry["goal"] is None) == (entry["met"] is None), str(entry))
    expect(not entries, str(entries))
    expect("all 401 objects are there" in result.stderr, result.stderr)


def bench_measures_synchronisation():
    result = run("bench", "sync", "--device", DEVICE, "--json", "--quick", "--kills", "3")
    expect(result.returncode == 0, str(result))
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["results"]}
    floors = ["gpu_gpu", "gpu_cpu", "cpu_cpu.spin", "cpu_cpu.sleep", "event", "enqueue.signal",
              "enqueue.wait", "register", "release.cpu", "release.stream"]
    # The driver for tests has two GPUs.
    floors += [] if DEVICE == "host" else ["gpu_gpu.two_gpus", "turn.kernel.one_gpu",
                                           "turn.kernel.two_gpus"]
    for name in floors + ["release.after_report", "release.slowest"]:
        entry = entries.pop("sync." + name)
        expect(well_formed(entry) and entry["p50"] >= 0, str(entry))
        expect((entry["goal"] is None) == (entry["met"] is None), str(entry))
        expect((entry["floor_p50"] is not None) == (name in floors), str(entry))
    expect(not entries, str(entries))
    expect(("turn.kernel.one_gpu is skipped on host: it runs no kernels" in result.stderr) ==
           (DEVICE == "host"), result.stderr)


def bench_says_why_no_kernel_is_measured():
    if DEVICE == "host":
        return NEEDS_GPU
    result = run("bench", "sync", "--device", DEVICE, "--json", "--quick", "--kills", "1",
                 FAKECUDA_FAIL="cuModuleLoadData:1:221", FAKECUDA_DEVICES="1", FAKECUDA_MPS="1")
    expect(result.returncode == 0, str(result))
    report = json.loads(result.stdout)
    expect(report["mps"] == "on", result.stdout)
    expect(not [entry for entry in report["results"] if "kernel" in entry["name"]], result.stdout)
    expect("the driver answers CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221)" in result.stderr and
           "turn.kernel.one_gpu is skipped on cuda:0: it runs no kernels" in result.stderr,
           result.stderr)
    return None


def rows(result, group):
    """The results of a group by their names, without the group's; each is well formed."""
    entries = {}
    for entry in json.loads(result.stdout)["results"]:
        expect(sorted(entry) == RESULT_KEYS and entry["p50"] >= 0, str(entry))
        expect((entry["goal"] is None) == (entry["met"] is None), str(entry))
        expect(entry["name"].startswith(group + "."), str(entry))
        entries[entry["name"][len(group) + 1:]] = entry
    return entries


def bench_measures_pools():
    result = run("bench", "pool", "--device", DEVICE, "--json", "--quick", "--slices", "5000")
    expect(result.returncode == 0, str(result))
    entries = rows(result, "pool")
    floors = ["alloc_free", "alloc_free.mixed", "hand_over", "pass"]
    driver = ["hand_over.driver", "export", "import", "release", "release.stream"]
    names = [*floors, *driver, "unused", "import_mapped"]
    if DEVICE == "host":
        names.remove("hand_over.driver")
    else:
        floors += driver
    expect(sorted(entries) == sorted(names), str(entries))
    for name, entry in entries.items():
        expect((entry["floor_p50"] is not None) == (name in floors), str(entry))
        expect((entry["goal"] is not None) == (name in ("alloc_free", "hand_over", "import_mapped")),
               str(entry))
    expect(entries["unused"]["p50"] < 50, str(entries["unused"]))
    expect(re.search("5005 slices over 8 processes in .*every byte as expected", result.stderr),
           result.stderr)


def bench_measures_memory_of_others():
    result = run("bench", "foreign", "--device", DEVICE, "--json", "--quick")
    entries = rows(result, "foreign")
    if DEVICE == "host":
        expect(result.returncode == 2 and not entries, str(result))
        expect("foreign.* is skipped" in result.stderr, str(result))
        expect("cannot be measured here" in result.stderr, str(result))
        return
    expect(result.returncode == 0, str(result))
    names = ["wrap", "wrap.again", "export", "import", "release", "import.token", "release.token",
             "import.again", "release.again", "pool.import", "pool.release"]
    expect(list(entries) == names, str(entries))
    for name, entry in entries.items():
        expect((entry["floor_p50"] is not None) == (name != "export"), str(entry))
        expect((entry["goal"] is not None) == (name in ("import", "import.again")), str(entry))


def bench_measures_channels():
    result = run("bench", "channel", "--device", DEVICE, "--json", "--quick", "--iterations", "5")
    expect(result.returncode == 0, str(result))
    entries = {name: entry for name, entry in rows(result, "channel").items() if ".zmq" not in name}
    names = ["one_way.cpu", "one_way.cpu.word", "one_way.stream", "cycle.stream", "cpu_time.64MiB",
             "slow.drop_oldest", "slow.latest"]
    for size in ("64B", "1MiB"):
        names += [f"rate.{size}.{way}" for way in ("x1", "x1.work_queue", "x1.socket", "x1.pipe", "x2")]
        names += [f"latency.{size}.{way}"
                  for way in ("x1", "x1.latest", "x1.work_queue", "x1.socket", "x1.pipe", "x2")]
    names += [] if DEVICE == "host" else ["one_way.stream.two_gpus"]
    names += [f"enqueue.{call}.x{count}" for call in ("publish", "receive") for count in (1, 2, 4, 8)]
    floors = list(names)
    names += [f"{name}.p99_9" for name in names if name.startswith("latency")]
    expect(sorted(entries) == sorted(names), str(entries))
    for name, entry in entries.items():
        expect((entry["floor_p50"] is not None) == (name in floors), str(entry))
    with_goal = ["cpu_time.64MiB", "one_way.cpu", "slow.drop_oldest", "slow.latest"]
    if DEVICE == "host":
        with_goal.append("rate.64B.x1")
    else:
        with_goal += [name for name in names if name.startswith(("enqueue", "one_way.stream"))]
    expect(sorted(name for name in entries if entries[name]["goal"] is not None) == sorted(with_goal),
           str(entries))


def bench_measures_calls():
    # Without the package, so that it depends on the build alone what is measured.
    result = run("bench", "calls", "--device", DEVICE, "--json", "--quick", "--iterations", "5", "--clients", "20",
                 PYTHONPATH="")
    expect(result.returncode == 0, str(result))
    has_grpc = os.access(WARPWAY + "-bench-grpc", os.X_OK)
    entries = {name: entry for name, entry in rows(result, "calls").items()
               if not name.endswith(("grpc_python", "multiprocessing"))}
    alike = ["empty", "array.16MiB", "array.16MiB.copied"] if has_grpc else []
    beside, theirs = [f"{name}.beside_grpc" for name in alike], [f"{name}.grpc" for name in alike]
    turns = ["turn.lanes", "turn.clients"]
    memory = ["gpu_memory.x1", "gpu_memory.x4", "gpu_memory.x16"]
    with_goal = ["empty.awake", "empty.asleep", "in_flight.x64", "idle.awake", "idle.asleep", "stream.call",
                 "stream.wait", *beside]
    if DEVICE != "host":
        with_goal += turns + memory
    names = {*with_goal, "array.64B", "array.64B.copied", "array.16MiB", "array.16MiB.copied", "chain.x100", *theirs,
             "clients.x1", "clients.x4", "clients.x16", "clients.x64", *turns}
    expect(set(entries) == names, str(entries))
    for name, entry in entries.items():
        expect((entry["floor_p50"] is None) == (name in ("stream.wait", *theirs)), str(entry))
        expect(entry["p50"] == 0 if name in memory else entry["p50"] > 0, str(entry))
        expect((entry["goal"] is not None) == (name in with_goal), str(entry))
    for name in alike:
        expect(entries[f"{name}.beside_grpc"]["floor_p50"] == entries[f"{name}.grpc"]["p50"], str(entries))
    expect(("warpway-bench-grpc is not beside" in result.stderr) == (not has_grpc), result.stderr)


MPIS = {"openmpi": ("mpirun.openmpi", "mpirun"), "mpich": ("mpiexec.hydra", "mpiexec.mpich")}
# Few cores; a container without ptrace.
MPI_SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                "OMPI_MCA_plm_rsh_agent": "false"}


def mpi_names(sizes):
    """The rows of one MPI, with two ranks, and without NCCL, which does not start on the driver for tests."""
    names = {f"host_call.{call}.{when}" for call in ("isend", "irecv", "wait") for when in ("no_context", "context")}
    both = ["bandwidth", "bidirectional", "multi_pair", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce",
            "allreduce"]
    for size in sizes:
        names |= {f"latency.{kind}.{size}" for kind in ("dd", "dh", "hd", "hh")} | {f"latency.dd.{size}.beside_pull"}
        names |= {f"{name}.{kind}.{size}" for name in both for kind in ("dd", "hh")}
    return names


def bench_measures_mpi():
    for mpi, launchers in MPIS.items():
        result = run("bench", "mpi", "--device", DEVICE, "--json", "--quick", "--iterations", "2", "--mpi", mpi,
                     "--sizes", "8,4KiB,4097,2G", **MPI_SETTINGS)
        program = os.access(f"{WARPWAY}-bench-mpi-{mpi}", os.X_OK)
        if DEVICE == "host" or not program or not any(map(shutil.which, launchers)):
            expect(result.returncode == 2, str(result))
            expect("is skipped" in result.stderr and "cannot be measured here" in result.stderr, str(result))
            continue
        expect(result.returncode == 0, str(result))
        for size in (4097, 2 << 30):
            expect(f"messages of {size} bytes are left out" in result.stderr, str(result))
        entries = rows(result, f"mpi.{mpi}")
        expect(set(entries) == mpi_names(["8B", "4KiB"]), str(entries))
        for name, entry in entries.items():
            expect(min(entry[key] for key in ("p50", "p99", "floor_p50", "ratio")) > 0, f"{name}: {entry}")
            has_goal = name.startswith(("host_call.", "latency.dd.")) and "beside" not in name
            expect((entry["goal"] is not None) == has_goal, f"{name}: {entry}")


def bench_fails_when_a_rank_does():
    if DEVICE == "host":
        return NEEDS_GPU
    for mpi, launchers in MPIS.items():
        if os.access(f"{WARPWAY}-bench-mpi-{mpi}", os.X_OK) and any(map(shutil.which, launchers)):
            result = run("bench", "mpi", "--device", DEVICE, "--quick", "--sizes", "8", "--mpi", mpi,
                         FAKECUDA_FAIL="cuMemcpyAsync:9:999", **MPI_SETTINGS)
            expect(result.returncode == 1 and "have failed" in result.stderr, str(result))
    return None


def programs_that_bench_starts_refuse_users():
    programs = [f"{WARPWAY}-bench-{name}" for name in ("grpc", "mpi-openmpi", "mpi-mpich")]
    programs = [program for program in programs if os.access(program, os.X_OK)]
    if not programs:
        return "no gRPC and no MPI was found when this was built"
    for program in programs:
        for arguments in ([], ["--help"], ["client"], ["nonsense", "x"], ["2", "1", "1", "0", "1", "6"]):
            result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT_S)
            expect(result.returncode == 2 and "starts it itself" in result.stderr, str(result))


def a_broker_that_cannot_be_started_is_named():
    for verb in (["bench", "broker", "--quick"], ["bench", "sync", "--quick"],
                 ["bench", "pool", "--quick"], ["bench", "channel", "--quick"], ["bench", "calls", "--quick"],
                 ["demo", *SMALL]):
        result = run(*verb, "--device", DEVICE, WARPWAYD="/nonexistent/warpwayd")
        expect(result.returncode == 1, str(result))
        expect("cannot start /nonexistent/warpwayd" in result.stderr, str(result))


def bench_fails_without_what_it_is_to_measure():
    for extra in ([], ["--check"]):
        result = run("bench", "memory", "--device", DEVICE, "--sizes", "900T", *extra)
        expect(result.returncode == 2 and "nothing was measured" in result.stderr, str(result))
    quick = ["bench", "memory", "--device", DEVICE, "--quick", "--check", "--sizes"]
    result = run(*quick, "4K")
    expect(result.returncode == 2 and "has a goal" in result.stderr, str(result))
    if DEVICE != "host":
        result = run(*quick, "4K,16G", FAKECUDA_BYTES="4G")
        expect(result.returncode == 2 and "1 of the sizes that have a goal" in result.stderr,
               str(result))
        result = run(*quick, "4K", FAKECUDA_FAIL="cuMemGetInfo:2:999")
        expect(result.returncode == 1 and "for its free memory" in result.stderr, str(result))


SMALL = ["--elements", "1000", "--processes", "2"]


def expect_cpu(settings, *reasons):
    """Both verbs say so many reasons, in that order, and do their work on the CPU."""
    for verb in (["demo", *SMALL], ["bench", "memory", "--quick", "--sizes", "4K"]):
        result = run(*verb, **settings)
        told = f"{verb} {settings}: {result}"
        expect(result.returncode == 0 and result.stderr == "", told)
        lines = result.stdout.splitlines()
        for line, reason in zip(lines, reasons):
            expect(reason in line, told)
        last = lines[len(reasons)]
        expect(last.startswith("No GPU is used: "), told)
        expect(last.endswith("Using the CPU (device host)."), told)


def takes_the_cpu_where_no_gpu_is():
    expect_cpu(NO_GPU)


def takes_the_cpu_where_no_gpu_is_usable():
    if DEVICE == "host":
        return NEEDS_GPU
    expect_cpu({"FAKECUDA_NO_FD": "1"}, "cuda:0 is left out: it cannot share memory by descriptor",
               "cuda:1 is left out: it cannot share memory by descriptor")
    expect_cpu({"FAKECUDA_DEVICES": "1", "FAKECUDA_FAIL": "cuDevicePrimaryCtxRetain:1:46"},
               "CUDA_ERROR_DEVICE_UNAVAILABLE")
    expect_cpu({"FAKECUDA_COMPUTE_MODE": "2"}, "cuda:0 is left out: ", "cuda:1 is left out: ")
    expect_cpu({"FAKECUDA_COMPUTE_MODE": "3"},
               "cuda:0 is left out: its compute mode",
               "cuda:1 is left out: its compute mode")
    return None


def takes_the_next_gpu_when_one_is_not_usable():
    if DEVICE == "host":
        return NEEDS_GPU
    # The children have the same first call fail, so only what the parent says first is looked at.
    result = run("demo", *SMALL, FAKECUDA_FAIL="cuDevicePrimaryCtxRetain:1:46")
    lines = result.stdout.splitlines()
    expect(result.returncode != 2 and lines[0].startswith("cuda:0 is left out: "), str(result))
    expect(" on cuda:1: " in lines[1], str(result))
    return None


def a_device_that_is_named_is_not_replaced():
    settings = NO_GPU if DEVICE == "host" else {"FAKECUDA_NO_FD": "1"}
    for verb in (["demo", *SMALL], ["bench", "--quick"]):
        result = run(*verb, "--device", "cuda:0", **settings)
        expect(result.returncode == 2 and result.stderr.count("\n") == 1, str(result))


def contexts_need_room_too():
    if DEVICE == "host":
        return NEEDS_GPU
    result = run("demo", "--device", DEVICE, *SMALL, FAKECUDA_BYTES="512M")
    expect(result.returncode == 2 and "and a context" in result.stderr, str(result))
    return None


def a_large_ring_needs_descriptors():
    ring = ["demo", "--device", DEVICE, "--elements", "1000", "--processes", "33"]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    result = run(*ring, fds=(64, hard))
    expect(result.returncode == 0 and result.stderr == "", str(result))
    result = run(*ring, fds=(64, 64))
    expect(result.returncode == 2 and result.stderr.count("\n") == 1, str(result))
    expect(re.search("33 processes needs [0-9]+ file descriptors", result.stderr), str(result))


def output_that_is_lost_is_failure():
    with open("/dev/full", "w", encoding="utf-8") as full:
        for arguments in (["--help"], ["demo", "--help"], ["demo", "--device", "host"]):
            code = subprocess.run([WARPWAY, *arguments], stdout=full, stderr=subprocess.DEVNULL,
                                  timeout=LIMIT_S).returncode
            expect(code == 1, f"{arguments}: {code}")


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listing:
            return [int(child) for child in listing.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def role_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as command:
            words = command.read().decode().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return words[2] if len(words) > 2 and words[1] == "demo-child" else None


def state_of(pid):
    """The letter of proc(5), "X" for what is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def find_child(demo, role):
    """A child of that role that has stopped itself."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and demo.poll() is None:
        for pid in children_of(demo.pid):
            if role_of(pid) == role and state_of(pid) == "T":
                return pid
    raise AssertionError(f"no child in the role {role}")


def start_demo(role, *extra):
    """A demo whose children in that role stop before they do anything."""
    return subprocess.Popen(
        [WARPWAY, "demo", "--device", DEVICE, "--elements", "1000", "--processes", "2", *extra],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "WARPWAY_DEMO_HOLD": role})


def must_go(*pids):
    """Waits until they are dead; a zombie that nobody has reaped yet counts, since its memory is given back."""
    deadline = time.monotonic() + LIMIT_S
    while not all(state_of(pid) in "ZX" for pid in pids):
        expect(time.monotonic() < deadline, f"left behind: {[(pid, state_of(pid)) for pid in pids]}")


def a_killed_child_is_named():
    cuda = () if DEVICE == "host" else ("attacker",)
    for role in ("receiver", "ring", "maker", "heir", "guest", "putter", "getter", "taker",
                 "viewer", *cuda, "player", "signaller"):
        demo = start_demo(role)
        pid = find_child(demo, role)
        siblings = children_of(demo.pid)
        os.kill(pid, signal.SIGKILL)
        _, errors = demo.communicate(timeout=LIMIT_S)
        expect(demo.returncode == 1, f"{role}: {demo.returncode} {errors}")
        expect(f"(pid {pid}) was killed by signal 9" in errors, f"{role}: {errors}")
        must_go(*siblings)


def a_stuck_child_is_ended():
    """The first child there is: nothing before it has to be done in that time."""
    demo = start_demo("receiver", "--timeout", "1")
    _, errors = demo.communicate(timeout=LIMIT_S)
    late = re.search(r"\(pid ([0-9]+)\) did not answer within 1 s and was killed", errors)
    expect(demo.returncode == 1 and late, f"{demo.returncode} {errors}")
    must_go(int(late.group(1)))


def children_die_with_the_parent():
    demo = start_demo("receiver")
    child = find_child(demo, "receiver")
    demo.kill()
    demo.communicate(timeout=LIMIT_S)
    must_go(child)


CASES = [wrong_use_is_refused, help_is_there, demo_shows_all_steps, demo_speaks_json, demo_says_whether_mps_is_on,
         bench_speaks_json, bench_measures_a_broker, bench_measures_synchronisation,
         bench_says_why_no_kernel_is_measured,
         bench_measures_pools, bench_measures_memory_of_others, bench_measures_channels, bench_measures_calls,
         bench_measures_mpi, bench_fails_when_a_rank_does,
         programs_that_bench_starts_refuse_users,
         a_broker_that_cannot_be_started_is_named,
         bench_fails_without_what_it_is_to_measure,
         takes_the_cpu_where_no_gpu_is, takes_the_cpu_where_no_gpu_is_usable,
         takes_the_next_gpu_when_one_is_not_usable,
         a_device_that_is_named_is_not_replaced, contexts_need_room_too,
         a_large_ring_needs_descriptors, output_that_is_lost_is_failure, a_killed_child_is_named,
         a_stuck_child_is_ended, children_die_with_the_parent]

sys.exit(main(CASES))
