#!/usr/bin/env python3
"""mpi_test.py - programs with device memory say what they say with host memory and the bare MPI

  mpi_test.py ABI LIBRARY FAKECUDA TABLE PREPROCESSED WARPWAY WARPWAYD SUPPORT CALLS DIRECT ERRORS NODES PASS SHARE SPAWN THREADS [SESSION]

ABI: openmpi or mpich; then the library, the folder of the fake driver, the table of functions, the
preprocessed mpi.h, the command warpway, the broker, what Fortran programs link, and the programs. The results are printed
as TAP. With MPI_TEST_ONLY=direct only the cases of the direct route run.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import launch

NAMES = ("abi", "library", "fakecuda", "table", "preprocessed", "warpway", "warpwayd", "support", "calls", "direct",
         "errors", "nodes", "pass", "share", "spawn", "threads", "session")
GIVEN = dict(zip(NAMES, sys.argv[1:]))
# More ranks than cores take long in MPICH, whose ranks never sleep.
MANY = {"openmpi": 4, "mpich": 3}
FAILURES = []
COUNT = 0


def case(name, problem, skipped=None):
    """Reports one case; problem is None if it is good, skipped says why it did not run."""
    global COUNT
    COUNT += 1
    print(f"{'not ok' if problem else 'ok'} {COUNT} - {name}{' # SKIP ' + skipped if skipped else ''}")
    if problem:
        FAILURES.append(name)
        print("\n".join("# " + line for line in str(problem).splitlines()))
    sys.stdout.flush()


def compare(launcher, name, ranks, program, modes=("device", "mixed", "host", "device directly", "mixed directly"), **more):
    """Runs a program with the bare MPI, then in some modes with the library."""
    code, output, expected = launcher.transcript(ranks, [program, "host"], False)
    if code or not all(expected):
        case(f"{name}: {ranks} ranks, bare MPI", f"exit code {code}: {output}")
        return
    for mode in modes:
        route = "direct" if "directly" in mode else "staged"
        code, output, said = launcher.transcript(ranks, [program, mode.split()[0]], True, WARPWAY_MPI_ROUTE=route,
                                                 WARPWAY_MPI_REPORT="1", **more)
        problem = f"exit code {code}: {output}" if code else launch.difference(expected, said)
        if route == "direct":
            problem = problem or launch.direct_problem(output)
        case(f"{name}: {ranks} ranks, {mode} memory", problem)


def load_generator():
    """The generator, as a module: it knows the table."""
    path = os.path.join(os.path.dirname(GIVEN["table"]), "generate.py")
    spec = importlib.util.spec_from_file_location("generate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def untested(module):
    """The functions that are staged or ours, and that no program calls."""
    prototypes = module.read_prototypes(GIVEN["preprocessed"])
    rows = [(heading, row) for heading, row in module.read_table(GIVEN["table"])
            if row.kind not in ("pass", "refuse")]
    called = set()
    for program in ("calls", "direct", "errors", "session", "threads"):
        called |= launch.undefined_symbols(GIVEN[program]) if program in GIVEN else set()
    wanted = {function.name for function in module.find_functions(rows, prototypes)}
    # A program that is there calls it, with another answer for each MPI.
    wanted.discard("MPIX_GPU_query_support")
    missing = sorted(wanted - called)
    return f"no test calls {', '.join(missing)}" if missing else None


def report(launcher):
    """What WARPWAY_MPI_REPORT prints, for each rank once."""
    for route, words in (("staged", ["bytes from devices"]), ("direct", ["bytes from devices", "messages sent directly"]),
                         ("auto", ["bytes from devices", "messages sent directly"])):
        code, output = launcher.run(2, [GIVEN["calls"], "device", "--only", "sizes"], True, WARPWAY_MPI_ROUTE=route,
                                    WARPWAY_MPI_REPORT="1", MPI_TEST_TRANSCRIPT="/dev/null/none")
        lines = [line for line in output.splitlines() if "warpway: rank" in line]
        good = code == 0 and len(lines) == 2 * len(words) and all(
            sum(word in line for line in lines) == 2 for word in words)
        good = good and (route == "staged" or not launch.direct_problem(output))
        case(f"the report at the end: {route}", None if good else output)


def errors(launcher):
    code, output, said = launcher.transcript(2, [GIVEN["errors"], "device"], False,
                                             WARPWAY_MPI_STAGING="1M")
    case("errors, in a program that is linked with the library",
         None if code == 0 and said[0] else f"exit code {code}: {output}")


def session(launcher):
    """A program that uses sessions alone, by which the MPI has no MPI_COMM_WORLD."""
    if "session" not in GIVEN:
        case("sessions alone", None, f"{GIVEN['abi']} 4 has no sessions")
        return
    for kind in ("host", "device"):
        code, output, _ = launcher.transcript(2, [GIVEN["session"], kind], kind == "device")
        case(f"sessions alone: {kind} memory", None if code == 0 and output.count(": ok") == 2 else
             f"exit code {code}: {output}")
    if GIVEN["fakecuda"]:
        code, output = launcher.run(2, [GIVEN["session"], "device", "fatal"], True)
        good = code != 0 and "MPI_Irecv: cannot copy the device memory" in output and "goes on" not in output
        case("sessions alone: the copy of a request fails, and the job ends", None if good else f"exit code {code}: {output}")


def passed_through(launcher):
    """Device memory goes to an MPI that takes it: it says so, or the user does."""
    aware = os.path.join(os.path.dirname(os.path.abspath(GIVEN["calls"])), "libmpi_aware.so")
    library = launcher.library
    for route, preloaded in (("auto", f"{library}:{aware}"), ("mpi", library)):
        launcher.library = preloaded
        code, output = launcher.run(2, [GIVEN["pass"], "device"], True, WARPWAY_MPI_ROUTE=route, WARPWAY_MPI_REPORT="1")
        good = code == 0 and output.count(": 0 buffers staged") == 2
        case(f"an MPI that takes device memory gets it: {route}", None if good else f"exit code {code}: {output}")
    launcher.library = library


def direct(launcher):
    """What the direct route does, and what happens where there is none."""
    failing = os.path.join(os.path.dirname(os.path.abspath(__file__)), "failing_broker.sh")
    for cases, more in (("all", {}), ("full", {"WARPWAY_MPI_POOL": "2M"}), ("broker_killed", {}),
                        ("threaded", {"WARPWAY_MPI_POOL": "2M"}), ("alone", {"WARPWAYD": "/bin/false"}),
                        ("announcing_fails", {"WARPWAYD": failing})):
        code, output, said = launcher.transcript(2, [GIVEN["direct"], "device", cases], False, WARPWAY_MPI_ROUTE="direct",
                                                 **more)
        good = code == 0 and said == [["ok"], ["ok"]]
        case(f"the direct route: {cases}", None if good else f"exit code {code}: {output}{said}")


def probe_fails(launcher):
    """An MPI that cannot receive a message that a probe has found."""
    lossy = os.path.join(os.path.dirname(os.path.abspath(GIVEN["direct"])), f"libmpi_lossy_{GIVEN['abi']}.so")
    library = launcher.library
    launcher.library = f"{library}:{lossy}"
    code, output, said = launcher.transcript(2, [GIVEN["direct"], "device", "probe_fails"], True, WARPWAY_MPI_ROUTE="direct")
    launcher.library = library
    case("the direct route: probe_fails", None if code == 0 and said == [["ok"]] * 2 else f"exit code {code}: {output}{said}")


def unordered(launcher):
    """A message in an order that the library does not know is not packed: the pool, which is too small, is not asked for
    room. A receive fails, and the message stays."""
    if not GIVEN["fakecuda"]:
        return
    code, output, said = launcher.transcript(2, [GIVEN["direct"], "device", "halves_of_2_gib"], False,
                                             WARPWAY_MPI_ROUTE="direct", WARPWAY_MPI_POOL="2M",
                                             WARPWAY_MPI_STAGING="1M", WARPWAY_MPI_REPORT="1")
    good = code == 0 and said == [["ok"], ["ok"]] and output.count("no room for 0,") == 2
    case("an element of more than 2 GiB, in an unknown order, is staged, and not received",
         None if good else f"exit code {code}: {output}{said}")


def divided(launcher):
    """Reductions of which each rank combines a part."""
    for ranks, more in ((MANY[GIVEN["abi"]], {}), (8, {"MPI_TEST_SPREAD": "1", "FAKECUDA_DEVICES": "8"})):
        code, output, said = launcher.transcript(ranks, [GIVEN["direct"], "device", "divided"], False,
                                                 WARPWAY_MPI_ROUTE="direct", **more)
        good = code == 0 and said == [["ok"]] * ranks
        case(f"collectives divided among {ranks} ranks", None if good else f"exit code {code}: {output}{said}")
    if not GIVEN["fakecuda"]:
        return
    _, output, said = launcher.transcript(3, [*launch.surviving(2), GIVEN["direct"], "device", "divided_killed"], False,
                                          WARPWAY_MPI_ROUTE="direct")
    case("reductions divided among 3 ranks, one is killed", None if said[:2] == [["ok"], ["ok"]] else f"{output}{said}")


def broadcasts_killed(launcher):
    """What ranks 0 and 1 get when another rank is killed in a divided MPI_Bcast(), and what the ranks leave in the broker."""
    if not GIVEN["fakecuda"]:
        return
    launcher.warpway = GIVEN["warpway"]
    # The seven kill points of killed.c have a rank each.
    for cases, ranks in (("divided_bcast_killed", 9), ("divided_bcast_unanswered", 3), ("divided_bcast_root_unanswered", 3)):
        _, output, said = launcher.transcript(ranks, [*launch.surviving(2), GIVEN["direct"], "device", cases], False,
                                              WARPWAY_MPI_ROUTE="direct", FAKECUDA_DEVICES=str(ranks),
                                              MPI_TEST_SPREAD="1")
        good = said[:2] == [["ok"], ["ok"]]
        case(f"broadcasts divided among 3 ranks: {cases}", launcher.left if good else f"{output}{said}")
    launcher.warpway = None


def spawned(launcher):
    """Messages and collectives with ranks that the program spawns. The bare MPI must be able to do it with host memory."""
    _, output, said = launcher.transcript(2, [GIVEN["spawn"], "host"], False, WARPWAY_MPI_ROUTE="mpi")
    if all(lines and lines[0].startswith("cannot spawn") for lines in said):
        case("spawned ranks", None, "this MPI, with its launcher, cannot spawn; nor can it without the library")
        return
    case("spawned ranks: host memory", None if said == [["ok"]] * 2 else f"{output}{said}")
    for route in ("staged", "direct"):
        code, output, said = launcher.transcript(2, [GIVEN["spawn"], "device"], False, WARPWAY_MPI_ROUTE=route)
        good = code == 0 and said == [["ok"]] * 2
        case(f"spawned ranks: device memory, {route}", None if good else f"exit code {code}: {output}{said}")


def nodes(launcher):
    """Hierarchical collectives."""
    code, output, said = launcher.transcript(4, [*launch.NODES, GIVEN["nodes"], "device"], False, WARPWAY_MPI_ROUTE="direct",
                                             WARPWAY_MPI_COLLECTIVES="hierarchical")
    good = code == 0 and said == [["ok"]] * 4
    case("collectives between two nodes", None if good else f"exit code {code}: {output}{said}")


def rank_killed(launcher):
    """What the other rank does when one is killed, and what they leave in the broker."""
    launcher.warpway = GIVEN["warpway"]
    for cases in ("sender_killed", "sender_killed_long_ago", "member_killed", "aborted"):
        shell = [] if cases == "aborted" else launch.surviving(1)
        _, output, said = launcher.transcript(2, [*shell, GIVEN["direct"], "device", cases], False,
                                              WARPWAY_MPI_ROUTE="direct")
        good = said[0] == ["ok"]
        case(f"the direct route: {cases}", launcher.left if good else f"{output}{said}")
    launcher.warpway = None


def share(launcher):
    """Memories and timelines that all ranks have, by a broker that the ranks start."""
    for device, ranks in (("host", 2), ("cuda:0", 2), ("cuda:0", MANY[GIVEN["abi"]])):
        code, output, said = launcher.transcript(ranks, [GIVEN["share"], "host"], False, WW_TEST_DEVICE=device)
        good = code == 0 and all(lines[-1:] == ["ok"] and lines == said[0] for lines in said)
        case(f"shared by {ranks} ranks on {device}", None if good else f"exit code {code}: {output}{said}")
    code, output, said = launcher.transcript(MANY[GIVEN["abi"]], [*launch.NODES, GIVEN["share"], "host"], False,
                                             WW_TEST_DEVICE="host")
    good = code == 0 and all(lines == ["ok"] for lines in said)
    case("shared by the ranks of each of two nodes", None if good else f"exit code {code}: {output}{said}")


def run_by_command(launcher, name, command, **more):
    """Two ranks of a program under `warpway run --mpi`, each of which prints that it is good."""
    code, output = launcher.run(2, [GIVEN["warpway"], "run", "--mpi", "--", *command], False,
                                WARPWAY_MPI_LIBRARY=GIVEN["library"], **more)
    case(name, None if code == 0 and output.count(": ok") == 2 else f"exit code {code}: {output}")


def refusals():
    """What `warpway run` says when it cannot do what it is asked for."""
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("OMPI_", "PMI_", "WARPWAY_MPI_"))}
    for words, more, status, text in (
            (["--mpi", "ls"], {}, 2, "say --mpi=openmpi or --mpi=mpich"),
            (["--mpi=other", "ls"], {}, 2, "the MPIs are openmpi and mpich"),
            (["ls"], {}, 2, "say --mpi"),
            (["--mpi"], {}, 2, "a program is missing"),
            (["--fast", "ls"], {}, 2, "unknown option '--fast'"),
            (["--mpi", GIVEN["calls"]], {"WARPWAY_MPI_LIBRARY": "/no/file"}, 2, "cannot read /no/file"),
            (["--mpi=" + GIVEN["abi"], "/no/program"], {"WARPWAY_MPI_LIBRARY": GIVEN["library"]}, 127,
             "cannot start /no/program"),
            (["--mpi", "/no/program"], {}, 127, "there is no such file"),
            (["--mpi=" + {"openmpi": "mpich", "mpich": "openmpi"}[GIVEN["abi"]], GIVEN["calls"]], {}, 2,
             "is linked with " + GIVEN["abi"]),
            (["--help"], {}, 0, "Usage: warpway run")):
        done = subprocess.run([GIVEN["warpway"], "run", *words], env=dict(plain, **more), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        good = done.returncode == status and text in done.stdout
        case(f"warpway run {' '.join(words[:1])}: {text[:30]}", None if good else f"{done.returncode}: {done.stdout}")


def python(launcher):
    """mpi4py, if it is of this MPI."""
    name = "mpi4py with arrays on a device"
    interpreter = launch.python_of(GIVEN["abi"])
    if not interpreter:
        case(name, None, f"there is no mpi4py of {GIVEN['abi']}")
        return
    here = os.path.dirname(os.path.abspath(__file__))
    run_by_command(launcher, name, [interpreter, "-B", os.path.join(here, "array.py")])
    package = os.path.join(os.path.dirname(GIVEN["warpway"]), "..", "bindings", "python")
    for device in ("host", "cuda:0"):
        name = f"warpway.mpi shares arrays on {device}"
        if not os.path.exists(os.path.join(package, "warpway", "mpi.py")):
            case(name, None, "the Python package is not built")
            continue
        run_by_command(launcher, name, [interpreter, "-B", os.path.join(here, "share.py")], PYTHONPATH=package,
                       WW_TEST_DEVICE=device)


def fortran(launcher):
    """`use mpi` and `use mpi_f08`; the compiler's command of this MPI makes the programs."""
    compiler = shutil.which("mpif90." + GIVEN["abi"])
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "fortran.f90.in"), encoding="utf-8") as stream:
        text = stream.read()
    for module, request in (("mpi", "integer"), ("mpi_f08", "type(MPI_Request)")):
        name = f"a Fortran program that uses {module}"
        if not compiler:
            case(name, None, f"mpif90.{GIVEN['abi']} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "a.f90"), os.path.join(folder, "a")
            with open(source, "w", encoding="utf-8") as stream:
                stream.write(text.replace("@MODULE@", module).replace("@REQUEST@", request))
            made = subprocess.run([compiler, "-w", "-fallow-argument-mismatch", source, GIVEN["support"],
                                   "-ldl", "-o", program], capture_output=True, text=True, check=False)
            if made.returncode:
                case(name, None, "mpif90 cannot make it: " + (made.stderr.splitlines() or ["?"])[-1])
                continue
            run_by_command(launcher, name, [program])


def main():
    if "library" not in GIVEN:
        print(f"1..0 # SKIP libwarpway_mpi is not built for {GIVEN['abi']}: its headers are not "
              "installed, or a sanitizer is used")
        return 0
    launcher = launch.Launcher(GIVEN["abi"], GIVEN["library"], GIVEN["fakecuda"], GIVEN["warpwayd"])
    if not launcher.command:
        print(f"1..0 # SKIP no launcher of {GIVEN['abi']} is installed")
        return 0
    if os.environ.get("MPI_TEST_ONLY") == "direct":
        direct(launcher)
        print(f"1..{COUNT}")
        return 1 if FAILURES else 0
    compare(launcher, "calls", 2, GIVEN["calls"])
    compare(launcher, "calls", MANY[GIVEN["abi"]], GIVEN["calls"], ("mixed", "device directly"))
    compare(launcher, "calls beyond the bound of pinned memory", 2, GIVEN["calls"], ("device",), WARPWAY_MPI_STAGING="8K")
    compare(launcher, "calls with buffers on two GPUs", 2, GIVEN["calls"], ("mixed", "device directly"),
            MPI_TEST_ALL_GPUS="1")
    compare(launcher, "threads", 2, GIVEN["threads"], ("device", "mixed", "host", "device directly"))
    direct(launcher)
    probe_fails(launcher)
    unordered(launcher)
    divided(launcher)
    broadcasts_killed(launcher)
    spawned(launcher)
    nodes(launcher)
    rank_killed(launcher)
    report(launcher)
    errors(launcher)
    session(launcher)
    passed_through(launcher)
    share(launcher)
    refusals()
    python(launcher)
    fortran(launcher)
    case("every function of the table is called by a test", untested(load_generator()))
    print(f"1..{COUNT}")
    return 1 if FAILURES else 0


sys.exit(main())
