"""A window of heat_window.py as a person uses it: what it looks like, and where to click."""
import json
import os
import signal
import subprocess
import sys

from conftest import FOLDER, LIMIT_S, wait_until


class Window:
    """heat_window.py in a process of its own, on a screen of Xvfb."""

    def __init__(self, display, name, folder, *options, prefix=()):
        self.display, self.name = display, name
        self.environment = {**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8"}
        self.file = folder / "report.json"
        command = [*prefix, sys.executable, "-B", str(FOLDER / "heat_window.py"), "--name", name]
        command += ["--report", str(self.file)]
        self.process = subprocess.Popen(command + list(options), env=self.environment, stderr=subprocess.PIPE, text=True)
        wait_until(self._is_there, "a window")

    def _is_there(self):
        assert self.process.poll() is None, self.process.stderr.read()
        return self.file.exists()

    def report(self):
        """What the window says that it shows."""
        return json.loads(self.file.read_text())

    @property
    def places(self):
        return self.report()["places"]

    def wait_report(self, condition):
        return wait_until(lambda: condition(self.report()), lambda: str(self.report()))

    def xdotool(self, *arguments):
        done = subprocess.run(["xdotool", *arguments], env=self.environment, capture_output=True, text=True)
        return done.stdout.strip()

    def title(self):
        """It says how the daemon is: what the window list of a desktop shows."""
        for number in self.xdotool("search", "--onlyvisible", "--class", "heat-window").split():
            title = self.xdotool("getwindowname", number)
            if title.startswith(f"{self.name}: "):
                return title
        return ""

    def wait_title(self, part):
        return wait_until(lambda: part in self.title() and self.title(), self.title)

    def wait_note(self, part):
        self.wait_report(lambda report: part in report["note"])
        return self.report()["note"]

    # --- what a person sees ---

    def screenshot(self):
        """The window, as an array of rows x columns x (red, green, blue)."""
        import numpy

        return numpy.asarray(self._grab()).astype(int)

    def save(self, file):
        self._grab().quantize(128).save(file, optimize=True)

    def _grab(self):
        from PIL import ImageGrab

        left, top, width, height = self.places["window"]
        return ImageGrab.grab((left, top, left + width, top + height), xdisplay=self.display).convert("RGB")

    def plate(self):
        """The picture of the plate alone."""
        left, top, width, height = self.places["plate"]
        window = self.places["window"]
        top, left = top - window[1], left - window[0]
        return self.screenshot()[top : top + height, left : left + width]

    def colour(self, x, y):
        """At a place of the plate."""
        plate = self.plate()
        return plate[min(int(y * plate.shape[0]), plate.shape[0] - 1), min(int(x * plate.shape[1]), plate.shape[1] - 1)]

    # --- what a person does ---

    def click_at(self, x, y):
        self.xdotool("mousemove", str(x), str(y), "click", "1")

    def click(self, control):
        left, top, width, height = self.places[control]
        self.click_at(left + width // 2, top + height // 2)

    def click_plate(self, x, y):
        left, top, width, height = self.places["plate"]
        self.click_at(left + round(x * width), top + round(y * height))

    def drag(self, slider, start, end):
        """From one part of a slider to another: 0 is its left end, 1 its right."""
        left, top, width, height = self.places[slider]
        middle = str(top + height // 2)
        # A slider's knob is 30 pixels wide, so its middle is between the 15th and the 15th from the end.
        start, end = (str(left + 15 + round(place * (width - 30))) for place in (start, end))
        self.xdotool("mousemove", start, middle, "mousedown", "1", "mousemove", end, middle, "mouseup", "1")

    def key(self, *names):
        self.xdotool("key", *names)

    def try_until(self, action, condition):
        """Keys that are typed while the focus moves are lost: a person sees that, and types again."""
        for _ in range(20):
            action()
            try:
                return wait_until(condition, lambda: str(self.report()), limit_s=LIMIT_S / 20)
            except AssertionError as error:
                last = error
        raise last

    def enter(self, control, digits):
        """A number into a field."""
        left, top, width, height = self.places[control]

        def type_it():
            self.click_at(left + 15, top + height // 2)
            self.key("End", *["BackSpace"] * 8, *digits)

        self.try_until(type_it, lambda: self.report()[control] == digits)

    def stop(self):
        """The window's process does nothing until go_on()."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        said = self.process.communicate(timeout=LIMIT_S)[1]
        assert self.process.returncode == 0, said
        # Matplotlib says this if a user's first list of fonts takes it more than 5 s.
        said = [line for line in said.splitlines() if "building the font cache" not in line]
        assert not said, said
