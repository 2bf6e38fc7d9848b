#!/usr/bin/env python3
"""heat_test.py [BACKEND] - a heat daemon, as its operator and its watchers see it

The environment names the programs: heat_case.py. BACKEND: cpu, or gpu with HEAT_OFFER in the environment, the
arguments of `warpway offer`, with @NAME@ for the name of the service. HEAT_ONLY is a part of the names of the cases to
run. Speaks TAP.
"""
import array
import math
import os
import re
import shlex
import shutil
import signal
import socket
import sys

sys.dont_write_bytecode = True  # the sources may be another user's

import heat_case  # noqa: E402
from heat_case import (  # noqa: E402
    HEATD, HERE, IS_GPU, IS_LAST, IS_PAUSED, WARPWAY, WARPWAYD, Daemon, Watcher, expect, listens, main, newest, path_of, run,
    start, wait_until, write)

BACKEND = sys.argv[1] if len(sys.argv) > 1 else "cpu"
GPU = BACKEND == "gpu"

WRONG_FILES = [
    ("rows = 20\n", 1, "write [heat] above it"), ("[heat]\nrows = 15\n", 2, "from 16 to"),
    ("[heat]\n# good\nrow = 20\n", 3, "the keys are name"), ("[heat]\nrows\n", 2, "key = value"),
    ("[heat]\nbackend = quick\n", 2, "write openmp or gpu"), ("[heat]\nrows = 20.5\n", 2, "a whole number"),
    ("[heat]\ngroup = no such group\n", 2, "groupadd"), ("[heat]\ndiffusivity = nan\n", 2, "a number from"),
    ("[heat]\nname =\n", 2, "needs a name"), ("[heat]\nname = " + "x" * 120 + "\n", 2, "more than"),
    ("[heat]\nframes_per_second = -1\n", 2, "from 0 to"), ("[heat]\nrows = 300\nrows_max = 200\n", 3, "lower one"),
    ("[heat]\nname = " + "x" * 400 + "\n", None, "too long"), ("[other]\nrows = 20\n", 1, "there is no section [other]"),
    ("[heat]\nrows = 20\n[heta]\n", 3, "there is [heat]"), ("[heat]\ngroup = 0\n", 2, "group 0 cannot be"),
    ("[heat]\n\nname = a//b\n", 3, "one / between them"), ("[heat]\nname = ../heat\n", 2, "one / between them"),
    ("[heat]\nbroker = here/broker.sock\n", 2, "no absolute path"), ("[heat]\n\noperators = 1\n", 3, "set group too"),
]


def start_kernels(name):
    """A kernel server, and the process that runs its kernels."""
    command = start(WARPWAY, "offer", "--replace", *shlex.split(os.environ["HEAT_OFFER"].replace("@NAME@", name)))
    return command, served_by(command)


def served_by(command):
    told = re.search(r"is ready, 7 functions, process (\d+)", command.stdout.readline())
    expect(told, "the kernel server is not ready")
    return int(told[1])


def daemon(name, *options, **settings):
    if GPU:
        start_kernels(name + "-kernels")
        settings = {"backend": "gpu", "kernels": name + "-kernels", **settings}
    return Daemon(name, *options, **settings)


def command_line():
    done = run(HEATD, "--help")
    expect(done.returncode == 0 and "Exit codes" in done.stdout and not done.stderr, str(done))
    expect(all(len(line) <= 100 for line in done.stdout.splitlines()), done.stdout)
    done = run(HEATD, "--version")
    expect(re.fullmatch(r"heatd of Warpway \d+\.\d+\.\d+\n", done.stdout), str(done))
    for arguments, words in ((["--nonsense"], "nonsense"), (["word"], "unknown argument 'word'"),
                             (["--set", "rows"], "KEY=VALUE"), (["--set", "rows=1"], "from 16"), (["--set", "rows=600"], "rows is 600 and rows_max 512"),
                             (["--config", path_of("none")], "No such file"), (["--config"], "requires an argument")):
        done = run(HEATD, *arguments)
        expect(done.returncode == 2 and words in done.stderr and not done.stdout, f"{arguments}: {done}")
    done = run(HEATD, "--status", "--name", "nobody")
    expect(done.returncode == 3 and "no daemon runs as nobody" in done.stderr, str(done))


def configuration_files():
    sample = os.path.join(HERE, "heatd.conf")
    done = run(HEATD, "--check-config", "--config", sample)
    expect(done.returncode == 0 and "is right" in done.stdout and not done.stderr, str(done))
    with open(sample, encoding="utf-8") as stream:
        text = stream.read()
    shown = re.sub(r"(?m)^#(?=\w+ =)", "", text)
    expect(shown.count("\n#") < text.count("\n#") - 10, "nothing is switched on")
    done = run(HEATD, "--check-config", "--config", write("all.conf", shown))
    expect(done.returncode == 0, str(done))
    for text, line, words in WRONG_FILES:
        path = write("wrong.conf", text)
        done = run(HEATD, "--check-config", "--config", path)
        place = f"{path}:{line}: " if line else f"{path}: "
        expect(done.returncode == 2 and place in done.stderr and words in done.stderr, f"{text!r}: {done}")


def frames_are_whole_for_several():
    one = daemon("whole", frames_per_second=0, rows=64)
    watchers = [Watcher("whole", 300) for _ in range(4)]
    for watcher in watchers:
        counts = watcher.counts()
        expect(counts["frames"] == 300 and counts["torn"] == counts["wrong"] == counts["backwards"] == 0, str(counts))
        expect(counts["pid"] == one.process.pid and counts["runs"] == 1, str(counts))
        expect(bool(counts["flags"] & IS_GPU) == GPU, str(counts))
    expect(one.end() == 0, one.said())


def a_daemon_is_steered():
    one = daemon("steer", steps_per_second_max=2000)
    one.call("source", x=0.25, y=0.75, radius=0.1, temperature=80)
    wait_until(lambda: newest("steer")["maximum"] == 80, "the source in a frame")
    frame = newest("steer")
    expect(frame["source_x"] == 0.25 and frame["source_y"] == 0.75 and 0 < frame["mean"] < 80, str(frame))
    expect(frame["rows"] == 32 and frame["columns"] == 48 and frame["diffusivity"] == 0.1, str(frame))
    expect(frame["steps_per_second_max"] == 2000, str(frame))
    one.call("pause", paused=True)
    wait_until(lambda: newest("steer")["flags"] & IS_PAUSED, "the pause in a frame")
    first, second = one.status(), newest("steer")
    expect(first["step"] == second["step"] and first["paused"] and second["steps_per_second"] == 0, f"{first} {second}")
    one.call("resolution", rows=64, columns=20)
    wait_until(lambda: newest("steer")["rows"] == 64, "the resolution in a frame")
    frame = newest("steer")
    expect(frame["columns"] == 20 and frame["maximum"] == 80 and frame["step"] == first["step"], str(frame))
    one.call("clear_sources")
    one.call("reset")
    wait_until(lambda: newest("steer")["maximum"] == 0, "the reset in a frame")
    one.call("parameters", diffusivity=0.5)
    wait_until(lambda: newest("steer")["diffusivity"] == 0.5, "the diffusivity in a frame")
    expect(newest("steer")["steps_per_second_max"] == 2000, "a limit that was left out stays")
    expect(one.status()["diffusivity"] == 0.5 and one.status()["step"] == first["step"], str(one.status()))
    one.call("pause", paused=False)
    wait_until(lambda: one.status()["step"] > first["step"], "further steps")
    for _ in range(40):
        one.call("source", x=0.5, y=0.5, radius=0, temperature=7)
    wait_until(lambda: newest("steer")["maximum"] == 7, "a source of one cell")
    expect(one.end() == 0, one.said())


def wrong_steering_is_refused():
    one = daemon("wrong")
    for words, function, arguments in (
            ("x and y are from 0 to 1", "source", {"x": 1.5, "y": 0, "radius": 0, "temperature": 1}),
            ("x and y are from 0 to 1", "source", {"x": 0.5, "y": "nan", "radius": 0, "temperature": 1}),
            ("radius", "source", {"x": 0.5, "y": 0, "radius": -1, "temperature": 1}),
            ("temperature", "source", {"x": 0.5, "y": 0, "radius": 0, "temperature": "inf"}),
            ("rows are from 16 to 64", "resolution", {"rows": 65, "columns": 20}),
            ("columns from 16 to 64", "resolution", {"rows": 20, "columns": 15}),
            ("diffusivity is from", "parameters", {"diffusivity": 0}),
            ("steps_per_second_max", "parameters", {"diffusivity": 1, "steps_per_second_max": -2})):
        one.refuses(words, function, **arguments)
    expect(newest("wrong")["maximum"] == 0, "something was changed")
    expect(one.end() == 0, one.said())


def computed(rows, columns, steps, source):
    """The same in Python, with doubles: a field after so many steps from zeros."""
    x, y, radius, temperature = source
    per_dx2, per_dy2 = (columns - 1) ** 2, (rows - 1) ** 2
    time_step = 0.9 / (2 * (per_dx2 + per_dy2))
    held = [(row, column) for row in range(1, rows - 1) for column in range(1, columns - 1)
            if (column / (columns - 1) - x) ** 2 + (row / (rows - 1) - y) ** 2 <= radius ** 2]
    field = [[0.0] * columns for _ in range(rows)]
    for row, column in held:
        field[row][column] = temperature
    for _ in range(steps):
        former = field
        field = [[0.0] * columns for _ in range(rows)]
        for row in range(1, rows - 1):
            for column in range(1, columns - 1):
                here = former[row][column]
                field[row][column] = (
                    here + time_step * per_dx2 * (former[row][column - 1] - 2 * here + former[row][column + 1])
                    + time_step * per_dy2 * (former[row - 1][column] - 2 * here + former[row + 1][column]))
        for row, column in held:
            field[row][column] = temperature
    return field


def numbers_are_those_of_the_equation():
    rows, columns, source = 20, 24, (0.3, 0.6, 0.15, 100)
    one = daemon("numbers", rows=rows, columns=columns, steps_per_second_max=100)
    one.call("pause", paused=True)
    first = one.status()["step"]
    one.call("source", **dict(zip(("x", "y", "radius", "temperature"), source)))
    one.call("pause", paused=False)
    wait_until(lambda: one.status()["step"] >= first + 5, "some steps")
    one.call("pause", paused=True)
    last = one.status()["step"]
    wait_until(lambda: newest("numbers", path_of("field"))["step"] == last, "the frame of the last step")
    with open(path_of("field"), "rb") as stream:
        shown = array.array("f", stream.read())
    wanted = computed(rows, columns, last - first, source)
    worst = max(abs(shown[row * columns + column] - wanted[row][column])
                for row in range(rows) for column in range(columns))
    expect(worst < 1e-3, f"after {last - first} steps a cell differs by {worst}")
    expect(math.isclose(newest("numbers")["mean"], sum(map(sum, wanted)) / rows / columns, rel_tol=1e-4), "the mean")
    expect(one.end() == 0, one.said())


def status_is_told():
    one = daemon("told")
    watcher = Watcher("told")
    expect(watcher.line() == "first", "no frame")
    done = run(HEATD, "--status", "--name", "told")
    expect(done.returncode == 0 and not done.stderr, str(done))
    backend = one.status()["backend"]
    backend = backend if isinstance(backend, str) else bytes.fromhex(backend["hex"]).decode()
    for words in (f"process {one.process.pid},", "step ", "32 rows, 48 columns", "watchers: 1 of 32", f"by {backend}"):
        expect(words in done.stdout, f"{words}: {done.stdout}")
    expect(backend == ("gpu" if GPU else "c" if HEATD.endswith("-c") else "openmp"), backend)
    watcher.stop()
    expect(one.end() == 0, one.said())


def a_killed_daemon_is_continued():
    one = daemon("killed")
    watcher = Watcher("killed")
    expect(watcher.line() == "first", "no frame")
    for kills in range(1, 6):
        one.call("source", x=0.1 * kills, y=0.5, radius=0.1, temperature=50)
        before = newest("killed")
        one.kill()
        one.start()
        after = one.status()
        expect(after["run"] == before["run"] and after["step"] >= before["step"], f"{before} {after}")
        expect(after["restarts"] == kills and after["pid"] == one.process.pid, f"{before} {after}")
        wait_until(lambda: newest("killed")["pid"] == one.process.pid, "a frame of the next daemon")
        expect(newest("killed")["maximum"] == 50, "the source is lost")
    wait_until(lambda: newest("killed")["step"] > before["step"], "further steps")
    counts = watcher.stop()
    expect(counts["runs"] == 1 and counts["torn"] == counts["wrong"] == counts["backwards"] == 0, str(counts))
    expect(one.end() == 0, one.said())


def a_new_simulation_is_another_one():
    one = daemon("new")
    run_before = one.status()["run"]
    expect(one.end() == 0, one.said())
    one.start()
    expect(one.status()["run"] == run_before, "it was not continued")
    expect(one.end() == 0, one.said())
    one.start("--new")
    expect(one.status()["run"] != run_before and one.status()["restarts"] == 0, str(one.status()))
    expect(one.end() == 0, one.said())


def a_kept_field_fits_into_other_limits():
    one = daemon("fits")
    one.call("source", x=0.5, y=0.5, radius=0.3, temperature=60)
    run_before = one.status()["run"]
    one.kill()
    for most, rows, columns in ((256, 32, 48), (24, 24, 24), (64, 24, 24)):
        one.settings += [f"--set=rows_max={most}", f"--set=columns_max={most}", "--set=rows=16", "--set=columns=16"]
        one.start()
        status = one.status()
        expect((status["run"], status["rows"], status["columns"]) == (run_before, rows, columns), str(status))
        expect(newest("fits")["maximum"] == 60, "the field is lost")
        expect(one.end() == 0, one.said())


def a_drain_has_a_last_frame():
    one = daemon("drain")
    watchers = [Watcher("drain") for _ in range(3)]
    for watcher in watchers:
        expect(watcher.line() == "first", "no frame")
    step = one.status()["step"]
    expect(one.end() == 0, one.said())
    for watcher in watchers:
        expect(watcher.line() == "end", "the end was not told")
        counts = watcher.stop()
        expect(counts["flags"] & IS_LAST and counts["step"] >= step, str(counts))
    expect(re.search(r"the daemon ends at step \d+ of simulation \w+, which is kept", one.said()), one.said())
    done = run(HEATD, "--status", "--name", "drain")
    expect(done.returncode == 3 and "drain/state keeps a simulation: start heatd" in done.stderr, str(done))
    one.start()
    expect(one.status()["step"] >= counts["step"], "it goes on from an earlier step")
    one.call("stop")
    expect(one.process.wait(timeout=heat_case.LIMIT_S) == 0, one.said())


def a_reload_changes_what_can_change():
    path = write("reload.conf", "[heat]\nsteps_per_second_max = 50\ndiffusivity = 0.2\n")
    one = daemon("reload", f"--config={path}")
    expect(one.status()["diffusivity"] == 0.2, str(one.status()))
    one.call("parameters", diffusivity=0.3, steps_per_second_max=50)
    write("reload.conf", "[heat]\nsteps_per_second_max = 50\ndiffusivity = 0.2\nframes_per_second = 30\nrows_max = 600\n"
          "rows = 100\n")
    one.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "read again" in one.said(), "the reload")
    expect("frames_per_second has changed" in one.said() and "rows_max has changed in the file: it needs a restart" in
           one.said(), one.said())
    expect("rows has changed in the file: it holds for the next new simulation (heatd --new); now: warpway call "
           "reload/steer resolution" in one.said(), one.said())
    expect(one.status()["diffusivity"] == 0.3 and one.status()["rows"] == 32, "steering was undone")
    write("reload.conf", "[heat]\ndiffusivity = 0.7\n")
    one.process.send_signal(signal.SIGHUP)
    wait_until(lambda: one.status()["diffusivity"] == 0.7, "the diffusivity")
    write("reload.conf", "[heat]\ndiffusivity = none\n")
    one.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reload.conf:2:" in one.said(), "the wrong file")
    expect("the former configuration goes on" in one.said() and one.status()["diffusivity"] == 0.7, one.said())
    expect(one.end() == 0, one.said())


def a_kept_simulation_keeps_its_values():
    one = daemon("keeps", "--set=diffusivity=0.1")
    one.call("pause", paused=True)
    expect(one.end() == 0 and "the kept simulation" not in one.said(), one.said())
    expect(all(line.startswith("heatd: ") for line in one.said().splitlines()), one.said())
    one.settings += ["--set=rows=20", "--set=diffusivity=0.2"]
    one.start()
    wait_until(lambda: one.said().count("for a new one") == 2, "what differs")
    expect(", which is paused, as keeps\n" in one.said(), one.said())
    said = re.findall("the kept simulation has (.*) is for a new one", one.said())
    expect(said == ["rows = 32; rows = 20 of the configuration", "diffusivity = 0.1; diffusivity = 0.2 of the "
                    "configuration"], one.said())
    expect(one.status()["rows"] == 32 and one.end() == 0, one.said())


def stop_broker(address):
    done = run(WARPWAY, "serve", "--stop", "--force", env={"WARPWAY_BROKER": address})
    expect(done.returncode == 0, str(done))


def the_loss_of_the_simulation_is_told():
    """It is in the broker. Each daemon here has a broker of its own, which ends, or is replaced by another one."""
    for name, is_replaced, is_stopped in (("gone", False, False), ("stopped", False, True), ("replaced", True, False)):
        address = path_of(name + ".sock")
        broker = start(WARPWAYD, "--socket", address)
        wait_until(lambda: listens(address), "a broker")
        one = daemon(name, broker=address) if not GPU else Daemon(name, broker=address, backend="gpu")
        stop_broker(address)
        broker.wait()
        if is_replaced:
            start(WARPWAYD, "--socket", address)
        if is_stopped:
            one.process.send_signal(signal.SIGTERM)
        expect(one.process.wait(timeout=heat_case.LIMIT_S) == 1, one.said())
        told = re.search(r"the broker at (.*) has ended; the simulation \(step \d+\) is not kept there any more", one.said())
        expect(told and told[1] == address and "which is kept" not in one.said(), one.said())
        if is_replaced:
            stop_broker(address)
    one = daemon("removed")
    expect(run(WARPWAY, "rm", "removed/state").returncode == 0, "the state is not removed")
    expect(one.end() == 0 and "which is not kept" in one.said(), one.said())


def one_daemon_for_a_name():
    one = daemon("one")
    second = run(HEATD, *one.settings)
    expect(second.returncode == 1 and "runs as one" in second.stderr, str(second))
    expect(re.fullmatch(rf"heatd: another daemon, process {one.process.pid} of \S+, runs as one: end it \(warpway call "
                        r"one/steer stop\), or take another --name\n", second.stderr), second.stderr)
    expect(one.status()["pid"] == one.process.pid and newest("one")["pid"] == one.process.pid, "it was replaced")
    expect(one.end() == 0, one.said())


def systemd_is_told():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(path_of("notify"))
        told.settimeout(heat_case.LIMIT_S)
        path = write("notify.conf", "[heat]\n")
        journal = os.stat(write("notify.log", ""))
        one = daemon("notify", f"--config={path}", env={
            "NOTIFY_SOCKET": path_of("notify"), "WATCHDOG_USEC": "200000",
            "JOURNAL_STREAM": f"{journal.st_dev}:{journal.st_ino}"})
        begin = [told.recv(1000).decode() for _ in range(6)]
        expect(begin[0] == "READY=1" and set(begin[1:]) == {"WATCHDOG=1"}, str(begin))
        one.process.send_signal(signal.SIGHUP)
        heard = []
        while heard[-1:] != ["READY=1"]:
            heard += [text for text in [told.recv(1000).decode()] if text != "WATCHDOG=1"]
        expect(re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", heard[0]) and len(heard) == 2, str(heard))
        one.process.send_signal(signal.SIGTERM)
        while heard[-1:] != ["STOPPING=1"]:  # before the wait: a socket that nobody reads is full after 10 texts
            heard.append(told.recv(1000).decode())
        expect(one.process.wait(timeout=heat_case.LIMIT_S) == 0, one.said())
    expect(re.search(r"(?m)^<5>the daemon begins simulation", one.said()) and
           all(re.match(r"<[3-6]>", line) for line in one.said().splitlines()), one.said())


def systemd_accepts_the_unit():
    if not shutil.which("systemd-analyze"):
        return "there is no systemd-analyze here"
    with open(os.path.join(HERE, "heatd.service.in"), encoding="utf-8") as stream:
        text = stream.read()
    os.makedirs(path_of("bin"), exist_ok=True)
    if not os.path.exists(path_of("bin/heatd")):
        os.symlink(HEATD, path_of("bin/heatd"))
    text = text.replace("@BINDIR@", path_of("bin")).replace("@CONFDIR@", HERE)
    # Of another package: the broker's socket.
    text = re.sub(r"(?m)^(Wants|After)=.*\n", "", text)
    done = run("systemd-analyze", "verify", "--system", "--man=no", write("heatd.service", text))
    said = [line for line in (done.stdout + done.stderr).splitlines() if "heatd" in line]
    expect(done.returncode == 0 and not said, f"{done.stdout}{done.stderr}")
    return None


def a_kernel_server_may_end():
    if not GPU:
        return "the daemon computes on the CPU here"
    one = Daemon("server", backend="gpu", kernels="server-kernels")
    wait_until(lambda: "there is no kernel server server-kernels" in one.said(), "that it waits")
    watcher = Watcher("server")
    expect(watcher.line() == "first", "no frame while it waits")
    command, pid = start_kernels("server-kernels")
    wait_until(lambda: newest("server")["step"] > 0, "the first steps")
    one.call("source", x=0.5, y=0.5, radius=0.2, temperature=90)
    for count in range(1, 4):
        wait_until(lambda: one.said().count("the daemon computes by") == count, "that it has found the server")
        before = newest("server")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: one.said().count("is lost") == count, "the loss")
        pid = served_by(command)
        wait_until(lambda: newest("server")["step"] > before["step"] + 10, "further steps")
        after = newest("server")
        expect(after["run"] == before["run"] and after["maximum"] == 90, f"{before} {after}")
    counts = watcher.stop()
    expect(counts["backwards"] == counts["torn"] == 0 and counts["daemons"] == 1, str(counts))
    expect(one.end() == 0, one.said())
    return None


CASES = [command_line, configuration_files, frames_are_whole_for_several, a_daemon_is_steered, wrong_steering_is_refused,
         numbers_are_those_of_the_equation, status_is_told, a_killed_daemon_is_continued, a_new_simulation_is_another_one,
         a_kept_field_fits_into_other_limits, a_drain_has_a_last_frame, a_reload_changes_what_can_change,
         a_kept_simulation_keeps_its_values, the_loss_of_the_simulation_is_told, one_daemon_for_a_name,
         systemd_is_told, systemd_accepts_the_unit, a_kernel_server_may_end]
if GPU:  # what has nothing to do with where it computes is tested once
    CASES = [case for case in CASES if case not in (command_line, configuration_files, systemd_accepts_the_unit)]
main([case for case in CASES if os.environ.get("HEAT_ONLY", "") in case.__name__])
