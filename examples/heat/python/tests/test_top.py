"""heat-top as a person uses it: in a terminal with colours and without, and by --once."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import warpway
from conftest import FOLDER, LIMIT_S, wait_until
from heat_model import user_name
from terminal import Terminal


@pytest.fixture
def terminal(heatd, tmp_path):
    """Opens terminals: terminal(*options, term="vt100")."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is missing: scripts/setup --all installs it")
    made = []

    def start(*options, **keywords):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Terminal(folder, heatd.name, *options, **keywords))
        return made[-1]

    yield start
    for one in made:
        one.close()


def run_once(heatd, *options, **keywords):
    command = [sys.executable, "-B", str(FOLDER / "heat-top"), "--name", heatd.name, "--once", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **keywords)


# --- in a terminal ---


def test_plain_picture(heatd, terminal):
    """80 x 24, without colours: the picture has more of the ramp where it is hotter."""
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    heatd.call("pause", True)
    heatd.call("source", 0.25, 0.25, 0.12, 100.0)
    shown = terminal(term="vt100")
    shown.wait_text("is paused.")
    wait_until(lambda: "@@" in shown.text(), shown.text)
    lines = shown.lines()
    assert len(lines) <= 25 and max(len(line) for line in lines) <= 80
    picture = [line[:34] for line in lines[3:20]]
    hot = [(row, column) for row, line in enumerate(picture) for column, char in enumerate(line) if char == "@"]
    assert all(1 <= row <= 7 and 3 <= column <= 13 for row, column in hot) and len(hot) > 15, shown.text()
    assert picture[8].find("X") in (16, 17), "the cursor is in the middle"
    assert not re.search("\x1b\\[([0-9;]*;)?[34][0-8]", shown.coloured()), "there are no colours"
    assert shown.number("highest") == "100.00"
    assert shown.number("cells") == "64 x 64"
    assert "q quit" in shown.text() and "diffusivity" in shown.text(), "the keys are shown"
    assert shown.end() == 0


def test_colours(heatd, terminal):
    """The nearest of 256 colours, two cells in a character."""
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    heatd.call("pause", True)
    heatd.call("source", 0.5, 0.25, 0.12, 100.0)
    shown = terminal()
    shown.wait_text("is paused.")
    hottest, coldest = "38;5;229", "38;5;16"
    wait_until(lambda: hottest in shown.coloured(), shown.text)
    lines = shown.coloured().split("\n")
    assert "\N{UPPER HALF BLOCK}" in lines[7]
    assert any(hottest in line for line in lines[5:10]), "hot above the middle"
    assert not any(hottest in line for line in lines[13:20]), "cold below it"
    assert coldest in "".join(lines[13:20])


def test_few_colours(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    heatd.call("pause", True)
    heatd.call("source", 0.5, 0.5, 0.2, 100.0)
    shown = terminal(term="xterm")
    shown.wait_text("is paused.")
    wait_until(lambda: "@@" in shown.text(), shown.text)
    assert re.search("\x1b\\[[0-9;]*37", shown.coloured()), "the hottest is white"
    assert "38;5" not in shown.coloured()


def test_keys(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal()
    shown.wait_text("computes.")
    first = shown.number("step")
    wait_until(lambda: shown.number("step") != first, "it computes")

    shown.keys("Space")
    shown.wait_text("is paused.")
    assert heatd.status().paused
    shown.keys("p")
    shown.wait_text("computes.")

    shown.keys("+")
    wait_until(lambda: heatd.status().diffusivity == pytest.approx(0.125), lambda: str(heatd.status()))
    wait_until(lambda: shown.number("diffusivity") == "0.125", shown.text)
    shown.keys("-")
    wait_until(lambda: heatd.status().diffusivity == pytest.approx(0.1), lambda: str(heatd.status()))
    shown.keys("[")
    wait_until(lambda: heatd.header().steps_per_second_max == 250, "half of it")
    shown.keys("[")
    wait_until(lambda: heatd.header().steps_per_second_max == 125, "a quarter")
    wait_until(lambda: shown.number("limit") == "at most 125", shown.text)
    shown.keys(*["]"] * 8)
    wait_until(lambda: heatd.header().steps_per_second_max == 0, "no limit")
    shown.keys("r")
    wait_until(lambda: heatd.status().rows == 32, "fewer cells")
    wait_until(lambda: shown.number("cells") == "32 x 32", shown.text)
    shown.keys("R")
    wait_until(lambda: heatd.status().rows == 64, "more cells")


def test_source_by_keys(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=100")
    shown = terminal(term="vt100")
    shown.wait_text("computes.")
    shown.keys("T", "T", "D")
    wait_until(lambda: shown.number("next source") == "100 degrees, radius 0.062", shown.text)
    shown.keys("Up", "Up", "Up", "Up", "Left", "Left")
    shown.keys("Enter")
    header = wait_until(lambda: _if(heatd.header(), lambda h: h.source_x), "a source")
    # The cursor was in the middle of 34 x 17: at column 17, line 8.
    assert header.source_x == pytest.approx(15.5 / 34, abs=0.02)
    assert header.source_y == pytest.approx(4.5 / 17, abs=0.04)
    assert header.maximum == 100
    wait_until(lambda: "@" in shown.text(), shown.text)
    shown.keys("c", "z")
    shown.wait_text("Set all cells to 0, for everybody? y or n")
    assert heatd.header().maximum > 0, "it asks first"
    shown.keys("y")
    wait_until(lambda: heatd.header().maximum == 0, "all is cold, and stays so")
    wait_until(lambda: "@" not in shown.text(), shown.text)


def _if(value, condition):
    return value if condition(value) else None


def test_stop_asks(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal()
    shown.wait_text("computes.")
    shown.keys("s")
    shown.wait_text("Stop the daemon, for everybody? y or n")
    shown.keys("s")
    shown.wait_text("Not stopped.")
    shown.keys("Space")
    shown.wait_text("is paused.")
    shown.wait_text("space go on")
    assert heatd.process.poll() is None
    shown.keys("s", "y")
    assert heatd.process.wait(LIMIT_S) == 0
    said = shown.wait_text(f"heatd-c (process {heatd.pid}) ended at ")
    assert "killed" not in said and "Waiting for the next one." in said


def test_killed_daemon_is_shown_and_recovered_from(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal()
    shown.wait_text("computes.")
    before, first = heatd.status(), heatd.pid
    heatd.kill()
    said = shown.wait_text("it was killed, or it crashed.")
    assert f"heatd-c (process {first}) ended at " in said and "Waiting for the next one." in said
    heatd.start()
    said = shown.wait_text(f"heatd-c (process {heatd.pid}) computes.")
    said = shown.wait_text("continues the same simulation")
    assert f"heatd-c (process {heatd.pid}) continues the same simulation at step " in said
    assert "after the last frame that was shown." in said
    assert heatd.status().run == before.run and heatd.status().step >= before.step


def test_failed_call_is_a_sentence(heatd, terminal):
    heatd.start("rows=512", "columns=512", "frames_per_second=20")
    shown = terminal()
    shown.wait_text("computes.")
    shown.keys("R")
    shown.wait_text("Resolution: rows are from 16 to 512")


def test_who_watches(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal()
    shown.wait_text("watched by 1 of 32:")
    shown.wait_text(f"heat-top of {user_name(os.getuid())}")
    others = [warpway.Channel.get(f"{heatd.name}/field", timeout=LIMIT_S) for _ in range(20)]
    shown.wait_text("watched by 21 of 32:")
    shown.wait_text("more")
    for other in others:
        other.close()


def test_33rd_watcher_is_told_who_is_there(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    others = [warpway.Channel.get(f"{heatd.name}/field", timeout=LIMIT_S) for _ in range(32)]
    shown = terminal()
    said = shown.wait_text("All 32 places to watch")
    assert str(os.getpid()) in said and "goes on by itself." in said
    others.pop().close()
    shown.wait_text("computes.")
    for other in others:
        other.close()


def test_resize(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal(term="vt100")
    shown.wait_text("computes.")
    shown.resize(120, 40)
    wait_until(lambda: any(line.startswith("+ - diffusivity") for line in shown.lines()[38:40]), shown.text)
    wait_until(lambda: re.search(r"^.{66}  step ", shown.text(), re.MULTILINE), shown.text)
    shown.resize(50, 10)
    shown.wait_text("heat-top needs 60 x 16; q quits")
    shown.resize(60, 16)
    shown.wait_text("computes.")
    shown.number("step")
    assert shown.end() == 0


def test_interrupted(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal()
    shown.wait_text("computes.")
    shown.keys("C-c")
    wait_until(lambda: shown.file.exists() and shown.file.read_text().strip() == "0", shown.text)
    assert (shown.folder / "errors").read_text() == ""


# --- without one ---


def test_once(heatd):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    heatd.call("pause", True)
    heatd.call("source", 0.25, 0.75, 0.1, 100.0)
    done = run_once(heatd)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert lines[0] == f"heatd-c (process {heatd.pid}) is paused."
    picture = lines[1:33]
    assert all(len(line) == 64 for line in picture)
    assert picture[24][16] == "@" and picture[8][16] == picture[24][48] == " "
    assert "highest      100.00" in done.stdout and "watched by 1 of 32:" in done.stdout
    assert "heat-top of " in done.stdout


def test_once_as_json(heatd):
    heatd.start("rows=48", "columns=64", "diffusivity=0.2")
    done = run_once(heatd, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said, status = json.loads(done.stdout), heatd.status()
    assert said["state"] == "running" and said["pid"] == heatd.pid and said["run"] == f"{status.run:016x}"
    assert (said["rows"], said["columns"], said["diffusivity"]) == (48, 64, 0.2)
    assert said["step"] <= status.step and said["watchers_max"] == 32 and said["backend"] == "c"
    (watcher,) = said["watchers"]
    assert watcher["program"] == "heat-top" and watcher["uid"] == os.getuid()


def test_once_without_a_daemon(heatd):
    done = run_once(heatd, "--wait", "0")
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr == f"heat-top: There is no {heatd.name}/field yet. Start heatd.\n"
    done = run_once(heatd, "--json", "--wait", "0")
    assert done.returncode == 3 and json.loads(done.stdout)["state"] == "waiting"


def test_help(heatd, terminal):
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500")
    shown = terminal(term="vt100")
    shown.wait_text("computes.")
    shown.resize(70, 16)
    wait_until(lambda: "? keys" in shown.text() and "d D radius" in shown.text(), shown.text)
    shown.keys("?")
    shown.wait_text("set all cells to 0 degrees; it asks first")
    assert "leave heat-top; the daemon goes on" in shown.text() and "Any key goes back." in shown.text()
    shown.keys("z")
    shown.wait_text("computes.")
    assert "everybody?" not in shown.text(), "that key was for going back"
    done = run_once(heatd, "--help")
    assert done.returncode == 0 and "pause, and go on" in done.stdout and "no daemon runs" in done.stdout


def test_output_that_nobody_reads(heatd):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    command = [sys.executable, "-B", str(FOLDER / "heat-top"), "--name", heatd.name, "--once", "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_without_the_package(tmp_path):
    """-I: neither PYTHONPATH nor this user's packages; -S: nor those of the machine."""
    command = [sys.executable, "-B", "-S", "-I", str(FOLDER / "heat-top"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "Python has no package warpway: export PYTHONPATH=" in done.stderr and sys.executable in done.stderr


def test_wrong_use(heatd):
    command = [sys.executable, "-B", str(FOLDER / "heat-top")]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1 and "this is no terminal: use --once" in done.stderr
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 2 and "--json is for --once" in done.stderr
    done = subprocess.run([*command, "--once", "--broker", "nonsense\n"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("heat-top: ") and "Traceback" not in done.stderr
