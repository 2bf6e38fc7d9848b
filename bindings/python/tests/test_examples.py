"""The examples, and the programs of the package, as users start them."""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from children import LIMIT_S
from warpway._bench_row import take_turns

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run(*arguments):
    """What a new Python prints. AssertionError: it failed, complained, or did not end."""
    # PyTorch warns of a driver that it cannot use, such as fakecuda.
    with subprocess.Popen([sys.executable, "-B", "-W", "ignore::UserWarning", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            said, complaint = process.communicate(timeout=2 * LIMIT_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # and its children
    assert (process.returncode, complaint) == (0, "")
    return said


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    assert run(str(path))
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80, "an example is short"


def test_the_examples_are_there():
    assert len(EXAMPLES) >= 7


def test_demo_runs(device):
    assert "no byte copied" in run("-m", "warpway", "demo", "--device", device)


def test_demo_without_its_device_says_why(device):
    """Which is no failure of the demo."""
    result = subprocess.run([sys.executable, "-B", "-m", "warpway", "demo", "--device", "cuda:63"], capture_output=True, text=True,
                            timeout=2 * LIMIT_S, check=False)
    assert (result.returncode, result.stdout) == (0, "")
    assert "this platform cannot run the demo" in result.stderr


def test_bench_runs(device):
    rows = json.loads(run("-m", "warpway.bench", "--device", device, "--rounds", "3", "--json"))["rows"]
    assert {"queue.pool", "pipe.memory", "token.pool", "channel.frame", "work_queue.frame", "iceoryx2.frame", "queue.copy"} <= {row["name"] for row in rows}
    by_name = {row["name"]: row for row in rows}
    assert {f"{peer}.{what}" for peer in ("grpc", "connection") for what in ("empty", "token", "copy")} <= set(by_name)
    assert all(by_name[name]["goal"] > 0 for name in ("queue.pool", "pipe.pool", "process.token_open_dlpack", "import.warpway"))
    assert by_name["process.token_open_dlpack"]["ratio"] > 0
    assert by_name["call.empty"]["ratio"] > 0 and by_name["call.array"]["ratio"] > 0
    assert {f"{transport}.{library}" for transport in ("queue", "pipe") for library in
            ("bare", "torch", "cuda_core", "numba", "cupy")} <= {row["name"] for row in rows}
    assert all(row["p50_us"] > 0 if "p50_us" in row else row["missing"] for row in rows)


def test_bench_in_c_measures_the_peers_in_python(tool):
    """multiprocessing.connection, and gRPC where there is no program for that."""
    if not Path(tool).with_name("warpway-bench").exists():
        pytest.skip("warpway-bench is not beside warpway")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with_path = {**os.environ, "PATH": path}
    result = subprocess.run([tool, "bench", "calls", "--device", "host", "--json", "--quick", "--iterations", "1", "--clients", "4"],
                            env=with_path, capture_output=True, text=True, timeout=2 * LIMIT_S)
    assert result.returncode == 0, result.stderr
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["results"]}
    for call in ("empty", "array.16MiB", "array.16MiB.copied"):
        theirs = entries[f"calls.{call}.multiprocessing"]
        assert entries[f"calls.{call}.beside_multiprocessing"]["floor_p50"] == theirs["p50"] > 0
    has_grpc = "calls.empty.grpc" in entries
    assert not (has_grpc and "calls.empty.grpc_python" in entries)
    if not has_grpc and "calls.empty.grpc_python" not in entries:
        assert "calls by gRPC in Python are not measured" in result.stderr


def test_rows_of_the_bench_take_turns():
    calls = []

    def fail():
        calls.append("b")
        if calls.count("b") == 8:
            raise RuntimeError("no more")

    results = take_turns({"a": lambda: calls.append("a"), "b": fail, "c": lambda: calls.append("c")}, 25)
    assert str(results["b"]) == "no more"
    assert [len(results[name]) for name in "ac"] == [25, 25] and min(results["a"]) >= 0
    assert "".join(calls) == "aaabbbccc" + "a" * 10 + "b" * 5 + "c" * 10 + "a" * 10 + "c" * 10 + "a" * 5 + "c" * 5
