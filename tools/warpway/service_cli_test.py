#!/usr/bin/env python3
"""service_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION SERVER - the verbs that are clients of a service

With the helpers of broker_cli_test.py, and a broker of its own. SERVER is service_cli_server. Speaks TAP.
"""
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    DEVICE, ENVIRONMENT, LIMIT_S, completed, done, end, expect, line_of, main, refused, spoken, start,
    until)

SERVER = sys.argv[5]
NAME = "lab/service"

SERVICE_KEYS = sorted("name version state pid uid user program clients clients_max calls age_ns functions".split())
FUNCTION_KEYS = sorted("name signature hash idempotent calls failed not_started batches batch_calls_max run_ns"
                       " p50_ns p90_ns p99_ns latency".split())

# Wrong uses: each ends with 2 and says why in one line.
WRONG = [
    ["functions"], ["functions", "--nonsense", "a"], ["functions", "a", "b"], ["functions", "--timeout", "x", "a"],
    ["functions", "--json", "--prometheus", "a"], ["functions", "--broker", "relative/path", "a"],
    ["call"], ["call", "a"], ["call", "--nonsense", "a", "b"], ["call", "--timeout", "-1", "a", "b"],
]


class Server:
    """A server of NAME, ready unless told otherwise. It drains at the end."""

    def __init__(self, ready=True):
        self.ready = ready

    def __enter__(self):
        self.process = subprocess.Popen([SERVER, DEVICE, NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=ENVIRONMENT)
        expect(line_of(self.process) == "there\n", "the name")
        if self.ready:
            self.start()
        return self

    def start(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        expect(line_of(self.process) == "ready\n", "the server's start")

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.wait(timeout=LIMIT_S) != 0:
            raise AssertionError(f"the server ended with {self.process.returncode}")


def wrong_use_is_refused():
    for arguments in WRONG:
        refused(2, "", *arguments)


def help_is_there():
    for verb in ("functions", "call"):
        text = done(verb, "--help").decode()
        expect(text.startswith(f"Usage: warpway {verb} ") and "Exit codes" in text, text)
        expect(f"\n  warpway {verb} " in text and "--broker" in text and "--json" in text, text)
        expect(all(len(line) <= 100 for line in text.splitlines()), text)


def what_is_not_there_is_told():
    refused(1, "there is no object 'none'", "functions", "none")
    refused(1, "there is no object 'none'", "call", "none", "f")
    done("put", "--shared", "file", "-", data=b"x")
    refused(1, "no object 'none'", "functions", "none")
    refused(1, "not there in time", "functions", "--wait-ready", "--timeout", "0.001", "none")
    for words in (["functions", "file"], ["call", "file", "f"]):
        refused(1, "it is no service", *words)
    done("rm", "file")


# Functions

def functions_are_listed():
    with Server() as server:
        text = done("functions", NAME).decode()
        expect(re.search(rf"^name +{NAME}, version 1\.5$", text, re.M), text)
        expect(re.search(rf"^server +pid {server.process.pid} .*, ready$", text, re.M), text)
        expect(re.search(r"^FUNCTION +CALLS +FAILED +NOT RUN +P50 +P99 +SIGNATURE$", text, re.M), text)
        expect(re.search(r"^bytes +0 +0 +0 +- +- +bytes\[8\] b -> bytes\[8\] same$", text, re.M), text)
        told = spoken("functions", NAME)
        expect(sorted(told) == SERVICE_KEYS and told["state"] == "ready" and told["version"] == "1.5", str(told))
        expect(told["pid"] == server.process.pid and told["name"] == NAME, str(told))
        names = [function["name"] for function in told["functions"]]
        expect(names == ["scale", "scalars", "bytes", "fail", "hold", "reached"], str(names))
        for function in told["functions"]:
            expect(sorted(function) == FUNCTION_KEYS and re.fullmatch("[0-9a-f]{16}", function["hash"]), str(function))


def calls_are_counted():
    with Server():
        for _ in range(3):
            done("call", NAME, "scalars")
        refused(1, "the function says why", "call", NAME, "fail")
        functions = {function["name"]: function for function in spoken("functions", NAME)["functions"]}
        expect(functions["scalars"]["calls"] == 3 and functions["scalars"]["failed"] == 0, str(functions))
        expect(functions["fail"]["calls"] == 1 and functions["fail"]["failed"] == 1, str(functions))
        counted = functions["scalars"]
        expect(sum(entry["count"] for entry in counted["latency"]) == 3, str(counted))
        expect(0 < counted["p50_ns"] <= counted["p90_ns"] <= counted["p99_ns"], str(counted))
        expect(counted["p99_ns"] == max(entry["below_ns"] for entry in counted["latency"]), str(counted))
        text = done("functions", "--prometheus", NAME).decode()
        label = f'{{service="{NAME}",function="scalars"'
        expect(f"\nwarpway_function_calls_total{label}}} 3\n" in text, text)
        expect(f"\nwarpway_function_run_seconds_count{label}}} 3\n" in text, text)
        expect(f'\nwarpway_function_run_seconds_bucket{label},le="+Inf"}} 3\n' in text, text)
        expect(all(re.fullmatch(r'# TYPE \w+ (counter|histogram)|\w+\{[^}]*\} [0-9.]+', line)
                   for line in text.splitlines()), text)


def waits_until_it_is_ready():
    """From before the name is there; and of one that is starting."""
    early = start("functions", "--wait-ready", "--json", NAME)
    with Server(ready=False) as server:
        expect(spoken("functions", NAME)["state"] == "starting", "the state")
        refused(1, "was not ready in time", "functions", "--wait-ready", "--timeout", "0.001", NAME)
        late = start("functions", "--wait-ready", "--timeout", "forever", "--json", NAME)
        server.start()
        for process in (early, late):
            output, errors = process.communicate(timeout=LIMIT_S)
            expect(process.returncode == 0 and errors == b"" and b'"ready"' in output, f"{output} {errors}")
    waiting = start("functions", "--wait-ready", "none")
    end(waiting, signal.SIGKILL)


# Calls

def scalars_go_there_and_back():
    with Server():
        expect(done("call", NAME, "scalars") ==
               b"b = true\ni = -1\nu = 18446744073709551615\nf = 0.1\n", "the defaults")
        expect(done("call", NAME, "scalars", "f=-inf", "b=false", "i=127") ==
               b"b = false\ni = 127\nu = 18446744073709551615\nf = -inf\n", "by name, in any order")
        told = spoken("call", NAME, "scalars", "u=7", "f=2.5")
        expect(told == {"service": NAME, "function": "scalars", "results": {"b": True, "i": -1, "u": 7, "f": 2.5}},
               str(told))
        expect(spoken("call", NAME, "scalars", "f=nan")["results"]["f"] == "nan", "what JSON has no number for")


def bytes_go_there_and_back():
    with Server():
        expect(done("call", NAME, "bytes", "b=a=b c") == b"same = a=b c\n", "text")
        expect(done("call", NAME, "bytes", "b=") == b"same = \n", "nothing")
        expect(done("call", NAME, "bytes", "b=a\nb") == b"same = 610a62 in hexadecimal\n", "no text")
        expect(spoken("call", NAME, "bytes", "b=x")["results"] == {"same": "x"}, "JSON")
        expect(spoken("call", NAME, "bytes", "b=\t")["results"] == {"same": {"hex": "09"}}, "JSON")


def arrays_stay_where_they_are():
    with Server():
        done("put", "--device", DEVICE, "lab/x", "-", data=bytes(range(80)))
        done("put", "--device", DEVICE, "--shared", "lab/y", "-", data=bytes(80))
        expect(done("call", NAME, "scale", "x=@lab/x", "y=@lab/y") == b"n = 80\n", "by name")
        expect(done("get", "lab/y") == bytes(2 * i for i in range(80)), "what was written")
        token = done("export", "--access", "write", "lab/y").decode().strip()
        done("call", NAME, "scale", "factor=3", "x=@lab/x", f"y={token}")
        expect(done("get", "lab/y") == bytes(3 * i for i in range(80)), "by a token")
        until(lambda: spoken("stat", "lab/x")["holders"] == 0, "something is held")
        refused(1, "lab/x", "call", NAME, "scale", "x=@lab/x", "y=@lab/x")
        refused(1, "no object 'lab/none'", "call", NAME, "scale", "x=@lab/none", "y=@lab/y")
        token = done("export", "lab/y").decode().strip()
        refused(1, "argument 3, y, is u8[80] with a token for reading only", "call", NAME, "scale", "x=@lab/x",
                f"y={token}")
        done("put", "lab/short", "-", data=bytes(79))
        refused(1, "argument 3, y, is u8[80] and must be u8[n] where n is 79", "call", NAME, "scale",
                "x=@lab/short", "y=@lab/y")
        done("rm", "lab/x", "lab/y", "lab/short")


def timelines_are_passed():
    with Server():
        expect(done("call", NAME, "reached", "t=@served/timeline", "value=41") == b"reached = true\n", "reached")
        expect(done("call", NAME, "reached", "t=@served/timeline", "value=42") == b"reached = false\n", "not yet")
        refused(1, "lab/none", "call", NAME, "reached", "t=@lab/none", "value=1")


def wrong_arguments_are_refused():
    with Server():
        for words, arguments in (
                ("has no function 'none'", ["none"]),
                ("argument 2, x, is missing and must be u8[n]", ["scale"])):
            refused(1, words, "call", NAME, *arguments)
        for words, arguments in (
                ("'2': arguments are NAME=VALUE; the function's signature is u8 factor = 2, u8[n] x read,", ["scale", "2"]),
                ("no such parameter; its signature is u8 factor = 2, u8[n] x read,", ["scale", "z=1"]),
                ("x is of type u8[n]; @NAME, or a token, is needed", ["scale", "x=1"]),
                ("'256' is no value of the type u8", ["scale", "factor=256"]),
                ("factor is given twice", ["scale", "factor=1", "factor=1"]),
                ("9 bytes are more than 8", ["bytes", "b=123456789"]),
                ("x: ", ["scale", "x=ww1_nonsense"])):
            refused(2, words, "call", NAME, *arguments)


def calls_end_by_time_and_by_interrupt():
    with Server():
        refused(1, "did not end in time", "call", "--timeout", "0.05", NAME, "hold")
    with Server() as server:
        call = start("call", NAME, "hold")
        expect(line_of(server.process) == "held\n", "it was not started")
        code, output, errors = end(call)
        expect(code == 1 and output == b"" and b"was cancelled" in errors, f"{code} {errors}")


def a_server_that_ends_is_told():
    with Server() as server:
        call = start("call", NAME, "hold")
        expect(line_of(server.process) == "held\n", "it was not started")
        server.process.kill()
        output, errors = call.communicate(timeout=LIMIT_S)
        expect(call.returncode == 1 and output == b"" and errors.count(b"\n") == 1, f"{output} {errors}")
        server.process.wait(timeout=LIMIT_S)
        server.process.returncode = 0


def completion_completes():
    with Server():
        done("put", "lab/array", "-", data=b"x")
        expect(completed("warpway fun") == ["functions"], "a verb")
        expect(NAME in completed("warpway functions "), "a service")
        expect("scale" in completed(f"warpway call {NAME} "), str(completed(f"warpway call {NAME} ")))
        expect(completed(f"warpway call {NAME} sca") == ["scale", "scalars"], "a function")
        expect(completed(f"warpway call {NAME} scale x=@lab/a") == ["@lab/array"], "an object")
        expect("--wait-ready" in completed("warpway functions --"), "an option")
        done("rm", "lab/array")


sys.exit(main([wrong_use_is_refused, help_is_there, what_is_not_there_is_told, functions_are_listed, calls_are_counted,
               waits_until_it_is_ready, scalars_go_there_and_back, bytes_go_there_and_back, arrays_stay_where_they_are,
               timelines_are_passed, wrong_arguments_are_refused, calls_end_by_time_and_by_interrupt,
               a_server_that_ends_is_told, completion_completes]))
