"""The window as a person uses it, on a screen that nobody sees: what it shows, and what clicks do.

With WW_TEST_IMAGES=FOLDER the picture of the documentation is written there.
"""
import functools
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import warpway
from conftest import FOLDER, LIMIT_S, Heatd, wait_until
from screen import Window


SETTINGS = ("rows=64", "columns=64", "columns_max=1200", "steps_per_second_max=200")


@pytest.fixture(scope="module")
def daemon():
    """The daemons of the window that most tests share."""
    made = Heatd("heat-window")
    yield made
    made.end()


@pytest.fixture(scope="module")
def shared_window(display, daemon, tmp_path_factory):
    daemon.start(*SETTINGS)
    made = Window(display, daemon.name, tmp_path_factory.mktemp("window"))
    yield made
    made.close()


@pytest.fixture
def heatd(daemon, shared_window):
    """A daemon that computes, slowly, on a cold plate without sources; the window shows it."""
    if daemon.process.poll() is not None:
        daemon.start(*SETTINGS)
    daemon.call("clear_sources")
    daemon.call("reset")
    daemon.call("resolution", 64, 64)
    daemon.call("parameters", 0.1, 200.0)
    daemon.call("pause", False)
    shared_window.wait_title(f"heatd-c (process {daemon.pid}) computes.")
    return daemon


@pytest.fixture
def shown(shared_window, heatd):
    """The window. It shows the cold plate."""
    wait_until(lambda: mean(shared_window.plate()) < 2, lambda: str(mean(shared_window.plate())))
    return shared_window


@pytest.fixture
def open_window(display, tmp_path):
    """Opens windows of other daemons: open_window(name)."""
    made = []

    def start(name, *options, **keywords):
        made.append(Window(display, name, tmp_path, *options, **keywords))
        return made[-1]

    yield start
    for one in made:
        one.close()


@functools.cache
def scale(degrees):
    """The colour that the window has for a temperature."""
    import matplotlib

    return [round(255 * part) for part in matplotlib.colormaps["inferno"](degrees / 100)[:3]]


def degrees_of(pixel):
    """The temperature whose colour is nearest."""
    return min(range(101), key=lambda degrees: sum((a - b) ** 2 for a, b in zip(scale(degrees), pixel)))


def is_near(colour, wanted, by=12):
    return max(abs(int(a) - int(b)) for a, b in zip(colour, wanted)) <= by


def mean(plate):
    return float(plate.mean())


# --- what it shows ---


def test_colours_are_those_of_the_field(heatd, shown):
    """Hot where the source is, cold at the edges; left is left, and the top is the top."""
    heatd.call("source", 0.25, 0.3, 0.1, 100.0)
    start = heatd.status().step
    wait_until(lambda: heatd.status().step > start + 200, "heat has spread")
    heatd.call("pause", True)
    shown.wait_title("is paused.")
    header, cells = heatd.frame()
    wait_until(lambda: is_near(shown.colour(0.29, 0.33), scale(100)), lambda: str(shown.colour(0.29, 0.33)))
    # Cell by cell, but for the ring around the source: what is drawn is the frame, with one colour for one degree.
    plate = shown.plate()
    wrong = []
    for row in range(1, 63):
        for column in range(1, 63):
            x, y = (column + 0.5) / 64, (row + 0.5) / 64
            if math.hypot(x - 0.25, y - 0.3) < 0.04:
                continue
            seen = degrees_of(plate[int(y * plate.shape[0]), int(x * plate.shape[1])])
            around = [cells[row + i][column + j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
            if not min(around) - 2 <= seen <= max(around) + 2:
                wrong.append((row, column, seen, cells[row][column]))
    assert not wrong, f"{len(wrong)} of 3844 cells: {wrong[:3]}"
    for x, y in ((0.004, 0.5), (0.996, 0.5), (0.5, 0.004), (0.5, 0.996), (0.9, 0.9)):
        assert is_near(shown.colour(x, y), scale(0), 25), "the edges are cold, and what is far away"


def test_picture_moves_while_the_daemon_computes(heatd, shown):
    assert mean(shown.plate()) < 5, "all is cold, so the picture is black"
    heatd.call("source", 0.5, 0.5, 0.05, 100.0)
    bright = [wait_until(lambda: mean(shown.plate()), "it becomes brighter")]
    for _ in range(4):
        bright.append(wait_until(lambda: _brighter(shown, bright[-1] + 1), lambda: str(bright)))
    assert len({tuple(pixel) for pixel in shown.plate().reshape(-1, 3)}) > 50, "there are many colours"
    # The curves to the right of it have moved, too.
    edge = shown.places["plate"][0] + shown.places["plate"][2] + 120 - shown.places["window"][0]
    before = shown.screenshot()[:480, edge:]
    wait_until(lambda: (shown.screenshot()[:480, edge:] != before).any(), "the curves move")

    heatd.call("pause", True)
    shown.wait_title("is paused.")
    still = shown.plate()
    published = heatd.status().frames
    wait_until(lambda: heatd.status().frames > published + 1, "frames come all the same")
    assert not (shown.plate() != still).any(), "but the picture stands still"


def _brighter(shown, least):
    now = mean(shown.plate())
    return now if now >= least else None


def test_field_that_is_no_square_and_larger_than_the_picture(heatd, shown):
    heatd.call("resolution", 100, 1200)
    heatd.call("source", 0.75, 0.25, 0.08, 100.0)
    wait_until(lambda: is_near(shown.colour(0.80, 0.25), scale(100)), lambda: str(shown.colour(0.80, 0.25)))
    assert is_near(shown.colour(0.25, 0.75), scale(0), 25)


# --- what a person does ---


def test_pause_button(heatd, shown):
    shown.click("pause")
    shown.wait_title("is paused.")
    step = heatd.status().step
    assert heatd.status().paused and heatd.status().step == step
    shown.click("pause")
    shown.wait_title("computes.")
    wait_until(lambda: heatd.status().step > step, "it computes again")
    shown.try_until(lambda: shown.key("space"), lambda: "is paused." in shown.title())


def test_click_in_the_picture_sets_a_source(heatd, shown):
    assert is_near(shown.colour(0.7, 0.2), scale(0))
    shown.click_plate(0.7, 0.2)
    header = wait_until(lambda: _header_if(heatd, lambda h: h.source_x), "the source is set")
    assert header.source_x == pytest.approx(0.7, abs=0.01)
    assert header.source_y == pytest.approx(0.2, abs=0.01)
    assert header.maximum == 90, "as the control beside the picture says"
    # Below the ring that marks it.
    wait_until(lambda: is_near(shown.colour(0.7, 0.235), scale(90)), lambda: str(shown.colour(0.7, 0.235)))

    # Another temperature for the next one.
    shown.enter("degrees", "40")
    shown.click_plate(0.3, 0.8)
    wait_until(lambda: _header_if(heatd, lambda h: abs(h.source_x - 0.3) < 0.01), "the second source")
    wait_until(lambda: is_near(shown.colour(0.3, 0.835), scale(40)), lambda: str(shown.colour(0.3, 0.835)))


def _header_if(heatd, condition):
    header = heatd.header()
    return header if condition(header) else None


def test_clear_and_reset(heatd, shown):
    heatd.call("source", 0.5, 0.5, 0.1, 100.0)
    wait_until(lambda: is_near(shown.colour(0.5, 0.56), scale(100)), lambda: str(shown.colour(0.5, 0.56)))
    shown.click("clear")
    wait_until(lambda: _header_if(heatd, lambda h: h.maximum < 100), "without a source it cools down")
    shown.click("reset")
    wait_until(lambda: _header_if(heatd, lambda h: h.maximum == 0), "all is cold")
    wait_until(lambda: is_near(shown.colour(0.5, 0.56), scale(0)), lambda: str(shown.colour(0.5, 0.56)))


def test_sliders(heatd, shown):
    # 0.1 is in the middle of 0.001 to 10.
    shown.wait_report(lambda report: abs(report["diffusivity"] - 0.1) < 0.001 and abs(report["speed"] - 200) < 1)
    shown.drag("diffusivity", 0.5, 0.9)
    changed = wait_until(lambda: _status_if(heatd, lambda s: s.diffusivity > 1), lambda: str(heatd.status()))
    assert changed.diffusivity == pytest.approx(0.001 * 10000**0.9, rel=0.3)
    # 200 is at 0.575 of 1 to 10000, 20 is at 0.325.
    shown.drag("speed", 0.575, 0.325)
    header = wait_until(lambda: _header_if(heatd, lambda h: h.steps_per_second_max < 100), "another speed")
    assert header.steps_per_second_max == pytest.approx(20, rel=0.5)
    assert header.diffusivity == pytest.approx(changed.diffusivity, rel=0.3), "it stays"
    # As fast as it can is at the right end.
    shown.drag("speed", 0.325, 1.1)
    wait_until(lambda: heatd.header().steps_per_second_max == 0, "no limit")

    # What another user interface sets is shown here.
    heatd.call("parameters", 0.002, 50.0)
    shown.wait_report(lambda report: abs(report["diffusivity"] - 0.002) < 1e-4 and abs(report["speed"] - 50) < 1)


def _status_if(heatd, condition):
    status = heatd.status()
    return status if condition(status) else None


def test_choice_of_cells(heatd, shown):
    shown.wait_report(lambda report: report["cells"] == "64 x 64")

    def choose():
        if not shown.report()["list_is_open"]:
            shown.click("cells")
            shown.wait_report(lambda report: report["list_is_open"])
        # The list opens at what is chosen: one up is 32, the first.
        shown.key("Up", "Return")

    changed = shown.try_until(choose, lambda: _status_if(heatd, lambda s: s.rows != 64))
    assert (changed.rows, changed.columns) == (32, 32)
    shown.wait_title("computes.")


def test_stop_button_asks(heatd, shown):
    shown.click("stop")
    shown.wait_report(lambda report: report["stop"] == "Really stop?")
    shown.wait_report(lambda report: report["stop"] == "Stop daemon")
    assert heatd.process.poll() is None, "one click is not enough"
    for _ in range(10):
        shown.click("stop")
        shown.wait_report(lambda report: report["stop"] == "Really stop?" or "ended" in report["sentence"])
        shown.click("stop")
        # On a slow machine the second click may come too late, and is a first one then.
        shown.wait_report(lambda report: report["stop"] == "Stop daemon")
        if heatd.status_or_end() is None:
            break
    assert heatd.process.wait(LIMIT_S) == 0
    title = shown.wait_title("ended at")
    assert f"(process {heatd.pid})" in title and "killed" not in title


# --- when the daemon ends ---


def test_killed_daemon_is_shown_and_recovered_from(heatd, shown):
    heatd.call("source", 0.5, 0.5, 0.1, 100.0)
    shown.wait_title("computes.")
    before = heatd.status()
    first = heatd.pid
    wait_until(lambda: (lamp := _lamp(shown))[1] > lamp[0] + 30, "the lamp is green")
    heatd.kill()
    title = shown.wait_title("it was killed, or it crashed")
    assert f"heatd-c (process {first}) ended at " in title
    wait_until(lambda: (lamp := _lamp(shown))[0] > 150 and lamp[0] > lamp[1] + 60, "the lamp is red")
    if "WW_TEST_IMAGES" in os.environ:
        shown.save(Path(os.environ["WW_TEST_IMAGES"]) / "heat-window-ended.png")
    assert is_near(shown.colour(0.5, 0.56), scale(100)), "the last picture stays"

    heatd.start(*SETTINGS)
    title = shown.wait_title("computes.")
    assert f"(process {heatd.pid})" in title and heatd.pid != first
    after = heatd.status()
    assert after.run == before.run and after.step >= before.step and after.restarts == before.restarts + 1
    assert "continues the same simulation at step" in shown.wait_note(f"(process {heatd.pid})")
    shown.click("pause")
    shown.wait_title("is paused.")
    assert heatd.status().paused, "it steers the new one"


def _lamp(shown):
    """The strongest colour left of the state's line."""
    window = shown.places["window"]
    top = shown.places["diffusivity"][1] + shown.places["diffusivity"][3] - window[1]
    box = shown.screenshot()[top + 5 : window[3], 5:32].reshape(-1, 3)
    return box[(box.max(axis=1) - box.min(axis=1)).argmax()]


@pytest.fixture
def late():
    """A daemon that is not started yet."""
    made = Heatd("heat-late")
    yield made
    made.end()


def test_window_before_the_daemon_and_without_a_place(open_window, late):
    """First there is no daemon, then there is no place: the window says so, and goes on when there is."""
    opened = open_window(late.name)
    opened.wait_title("Waiting for a heat daemon.")
    opened.stop()
    late.start(*SETTINGS)
    others = [warpway.Channel.get(f"{late.name}/field", timeout=LIMIT_S) for _ in range(32)]
    opened.go_on()
    title = opened.wait_title("All 32 places to watch")
    assert str(os.getpid()) in title, "it names who holds them"
    others.pop().close()
    opened.wait_title(f"heatd-c (process {late.pid}) computes.")
    for other in others:
        other.close()


# --- for the documentation ---


def test_screenshot(display, heatd, tmp_path):
    """A file for the documentation; small, and of a window that works."""
    from PIL import Image

    heatd.call("resolution", 128, 128)
    heatd.call("parameters", 0.1, 2000.0)
    for x, y, degrees in ((0.3, 0.35, 100.0), (0.7, 0.3, 60.0), (0.55, 0.75, 85.0)):
        heatd.call("source", x, y, 0.05, degrees)
    folder = Path(os.environ.get("WW_TEST_IMAGES", tmp_path))
    file = folder / "heat-window.png"
    command = [sys.executable, "-B", str(FOLDER / "heat_window.py"), "--name", heatd.name]
    frames = "500" if "WW_TEST_IMAGES" in os.environ else "40"
    subprocess.run(
        [*command, "--screenshot", str(file), "--after", frames],
        check=True,
        env={**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8"},
        timeout=LIMIT_S,
    )
    assert file.stat().st_size < 100_000
    with Image.open(file) as image:
        colours = image.convert("RGB").getcolors(1 << 24)
        assert image.width >= 900 and image.height >= 520
    assert len(colours) > 500


def test_wrong_options_are_refused():
    pytest.importorskip("tkinter", reason="the Python module tkinter is missing: scripts/setup --all installs it")
    pytest.importorskip("matplotlib", reason="the Python module matplotlib is missing: scripts/setup --all installs it")
    command = [sys.executable, "-B", str(FOLDER / "heat_window.py")]
    for options, said in (
        (["--range", "5", "5"], "the second number must be larger"),
        (["--after", "0"], "write a number from 1 on"),
    ):
        done = subprocess.run(command + options, capture_output=True, text=True)
        assert done.returncode == 2 and said in done.stderr
    no_screen = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    done = subprocess.run(command, capture_output=True, text=True, env=no_screen)
    assert done.returncode == 1 and "display" in done.stderr
