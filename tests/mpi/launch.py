"""launch.py - starts MPI programs and compares what their ranks say"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

LAUNCHERS = {"openmpi": ("mpirun.openmpi", "mpirun"), "mpich": ("mpiexec.hydra", "mpiexec.mpich")}
# Many ranks on few cores, as root in a container, no network.
OPTIONS = {"openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"], "mpich": []}
MORE = {"openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1",
                    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                    "OMPI_MCA_plm_rsh_agent": "false"},
        "mpich": {}}

# Two ranks are on each node, as far as the library can see.
NODES = ["sh", "-c", 'WARPWAY_MPI_NODE=$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2)) exec "$0" "$@"']


def surviving(count):
    """A rank that is killed does not end its job: the launcher sees this shell, which ends when the first ranks are done."""
    done = " && ".join(f'grep -qs "^ok$" $MPI_TEST_TRANSCRIPT.{rank}' for rank in range(count))
    return ["sh", "-c", f'"$0" "$@"; for i in $(seq 1000); do {done} && break; sleep 0.1; done']


class Launcher:
    """Starts programs of one MPI; the library is the file to be preloaded, or None."""

    def __init__(self, abi, library, fakecuda, warpwayd):
        self.abi, self.library, self.fakecuda, self.warpwayd = abi, library, fakecuda, warpwayd
        self.warpway = None  # the command: what jobs leave in their broker is in self.left
        self.left = None
        self.seconds = 300  # before a job counts as hanging
        self.command = next((found for name in LAUNCHERS[abi] if (found := shutil.which(name))), None)

    def environment(self, folder, more):
        """The ranks start a broker in a folder of their own, if they need one."""
        environment = dict(os.environ, **MORE[self.abi])
        environment.update({"WARPWAY_MPI_ROUTE": "staged", "WARPWAY_MPI_DIRECT": "1K",
                            "WARPWAY_MPI_DIVIDED_BCAST": "2K", "WARPWAYD": self.warpwayd,
                            "WARPWAY_MPI_COLLECTIVES": "direct", "XDG_RUNTIME_DIR": folder, **more})
        if self.fakecuda:
            environment["FAKECUDA_KERNELS"] = os.path.join(self.fakecuda, "..", "mpi", "libmpi_kernels.so")
            environment["LD_LIBRARY_PATH"] = ":".join(
                [self.fakecuda] + [p for p in [environment.get("LD_LIBRARY_PATH")] if p])
        return environment

    def parts(self, ranks, command, with_library):
        """What the launcher is told to start. None in the place of with_library: every other rank has
        device memory and the library, the others host memory and the bare MPI."""
        preload = ["env", f"LD_PRELOAD={self.library}"]
        if with_library is not None:
            return ["-n", str(ranks), *(preload if with_library else []), *command]
        parts = []
        for rank in range(ranks):
            parts += [":"] if rank else []
            parts += ["-n", "1", *(preload if rank % 2 else [])]
            parts += [word or ("device" if rank % 2 else "host") for word in command]
        return parts

    def run(self, ranks, command, with_library, **more):
        """Return: the exit code, and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [self.command, *OPTIONS[self.abi], *self.parts(ranks, command, with_library)],
                env=self.environment(folder, more), stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=self.seconds, check=False)
            self.left = self.left_in_broker(folder) if self.warpway else None
        return done.returncode, done.stdout

    def left_in_broker(self, folder):
        """What is in the ranks' broker after their end, in words; None: nothing. It keeps messages for some seconds."""
        environment = self.environment(folder, {})
        for _ in range(600):
            done = subprocess.run([self.warpway, "who", "--json"], env=environment, text=True, capture_output=True,
                                  check=False)
            # No process holds anything, or there is no broker.
            if not done.stdout or not any(json.loads(done.stdout).values()):
                return None
            time.sleep(0.1)
        return f"this is left in the broker: {done.stdout}"

    def transcript(self, ranks, command, with_library, **more):
        """What every rank said; a job that fails says why."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "said")
            code, output = self.run(ranks, command, with_library, MPI_TEST_TRANSCRIPT=path, **more)
            said = []
            for rank in range(ranks):
                try:
                    with open(f"{path}.{rank}", encoding="utf-8") as stream:
                        said.append(stream.read().splitlines())
                except FileNotFoundError:
                    said.append([])
            return code, output, said


# What WARPWAY_MPI_REPORT=1 prints of the direct route.
SENT = re.compile(r"(\d+) messages sent directly with (\d+) bytes, (\d+) received with (\d+) bytes, "
                  r"no room for \d+, (\d+) collectives went directly, (\d+) were hierarchical")


def direct_problem(output, collectives=False, hierarchical=False):
    """Why a run did not go by the direct route, in words; None: every message that was sent by it came.
    @collectives, hierarchical: some of these must have gone directly, too."""
    rows = [tuple(map(int, row)) for row in SENT.findall(output)]
    if not sum(row[0] for row in rows):
        return f"no message went by the direct route: {output}"
    if sum(row[0] for row in rows) < sum(row[2] for row in rows):
        return f"more messages were received than sent: {output}"
    if collectives and not sum(row[4] for row in rows):
        return f"no collective went directly: {output}"
    if hierarchical and not all(row[5] for row in rows):
        return f"no collective was hierarchical: {output}"
    return None


def difference(expected, said):
    """Where two transcripts differ, in words; None: nowhere."""
    for rank, (left, right) in enumerate(zip(expected, said)):
        case = "?"
        for number in range(max(len(left), len(right))):
            one = left[number] if number < len(left) else "(the end)"
            other = right[number] if number < len(right) else "(the end)"
            if one.startswith("# "):
                case = one[2:]
            if one != other:
                return f"rank {rank}, case {case}:\n  bare MPI:  {one}\n  with ours: {other}"
    return None


def python_of(abi):
    """A Python that has mpi4py of this MPI, or None."""
    vendor = {"openmpi": "Open MPI", "mpich": "MPICH"}[abi]
    for path in (sys.executable, "/usr/bin/python3"):
        probe = subprocess.run([path, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
                               capture_output=True, text=True, check=False, env=dict(os.environ, **MORE[abi]))
        if vendor in probe.stdout:
            return path
    return None


def undefined_symbols(path):
    """The MPI functions that a program calls."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, capture_output=True,
                             text=True)
    return set(re.findall(r"\b(P?MPIX?_\w+)", listing.stdout))
