#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A window that shows the field of a heat daemon, and steers it.

It draws the newest frame as often as it can, from the bytes that the daemon has written, and says how often that is.
A click in the picture sets a source of heat there. When the daemon ends the window says so, and goes on with the next.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import signal
import sys
import time
import tkinter
import traceback
from tkinter import ttk

import matplotlib

matplotlib.use("TkAgg")

import numpy as np
from matplotlib.backends.backend_tkagg import FigureCanvasTkAgg
from matplotlib.figure import Figure

try:
    import warpway
except ModuleNotFoundError as error:
    if error.name != "warpway":
        raise
    sys.exit(
        "heat_window.py: Python has no package warpway: export PYTHONPATH=BUILD/bindings/python with BUILD for the build "
        f"folder, or `pip install .` in the folder of the sources. This is the Python of {sys.executable}."
    )
from heat_model import Model, Picture, call_process
from heat_steering import Steering

LOOK_MS = 200  # for what comes without a frame: the end of a daemon, answers
PIXELS_MOST = 512  # of the picture, in each direction: a larger field is drawn with every second cell, or fewer
HISTORY_S = 60.0
HISTORY_EVERY_S = 0.05
CURVES_EVERY_S = 0.1
RESOLUTIONS = (32, 64, 128, 256, 512, 1024, 2048)
DIFFUSIVITY = (0.001, 10.0)
SPEED = (1.0, 10000.0)  # steps a second; the right end of the slider: as fast as it can
CONFIRM_MS = 4000
COLOURS = {
    "running": "#2e8b57",
    "draining": "#2e8b57",
    "paused": "#d08a00",
    "waiting": "#7a7a7a",
    "ended": "#c62828",
    "full": "#c62828",
    "refused": "#c62828",
    "failed": "#c62828",
}
PAPER, INK, GRID = "#fbfbfa", "#303030", "#d8d8d4"


class Plots:
    """The picture and the curves. What does not change is drawn once; a new frame is drawn over it."""

    def __init__(self, parent: tkinter.Misc, low: float, high: float):
        self.low, self.high = low, high
        matplotlib.rcParams.update({"font.size": 9, "axes.edgecolor": "#909090", "text.color": INK})
        self.figure = Figure(figsize=(10.6, 5.2), dpi=100, facecolor=PAPER)
        self.canvas = FigureCanvasTkAgg(self.figure, parent)
        self.history: collections.deque[tuple[float, float, float, float]] = collections.deque()
        self._backgrounds: dict = {}  # what is below the parts that change
        self._make_picture()
        self._make_curves()
        self._curves_at = 0.0
        self.canvas.mpl_connect("draw_event", self._keep_background)
        self.canvas.mpl_connect("resize_event", self._arrange)

    def _make_picture(self) -> None:
        self.picture_axes = self.figure.add_axes((0.04, 0.08, 0.4, 0.84))
        self.picture_axes.set_title("temperature on the plate, degrees", loc="left")
        self.picture_axes.set(xlim=(0, 1), ylim=(1, 0), aspect="equal", anchor="W", facecolor="#000004")
        # Row 0 is the top of the plate, y = 0.
        self.image = self.picture_axes.imshow(
            np.zeros((2, 2), "float32"),
            cmap="inferno",
            vmin=self.low,
            vmax=self.high,
            extent=(0, 1, 1, 0),
            interpolation="nearest",
            animated=True,
        )
        (self.source,) = self.picture_axes.plot(
            [], [], marker="o", markersize=11, markerfacecolor="none", markeredgecolor="white", animated=True
        )
        self.bar_axes = self.figure.add_axes((0.46, 0.08, 0.02, 0.84))
        bar = self.figure.colorbar(self.image, cax=self.bar_axes)
        bar.outline.set_visible(False)

    def _make_curves(self) -> None:
        self.curve_axes = self.figure.add_axes((0.6, 0.08, 0.38, 0.84))
        self.curve_axes.set_title(f"in the last {HISTORY_S:g} seconds", loc="left")
        self.curve_axes.set(xlim=(-HISTORY_S, 0), facecolor="white")
        margin = (self.high - self.low) * 0.05
        self.curve_axes.set_ylim(self.low - margin, self.high + margin)
        self.curve_axes.grid(color=GRID, linewidth=0.6)
        self.curve_axes.spines[["top", "right"]].set_visible(False)
        styles = (("maximum", "#d1495b"), ("mean", "#303030"), ("minimum", "#2e6f9e"))
        self.curves = [
            self.curve_axes.plot([], [], color=colour, linewidth=1.6, label=name, animated=True)[0]
            for name, colour in styles
        ]
        legend = [matplotlib.lines.Line2D([], [], color=colour, linewidth=1.6, label=name) for name, colour in styles]
        self.curve_axes.legend(handles=legend, loc="upper left", frameon=False, ncols=3)

    def _arrange(self, event) -> None:
        """The picture is a square; the colours stand beside it, and the curves have the rest."""
        width, height = event.width, event.height
        side = max(min(height - 70, width * 0.5), 50)
        bottom = (height - 34 - side) / height
        for axes, left, wide in (
            (self.picture_axes, 44, side),
            (self.bar_axes, 44 + side + 14, 14),
            (self.curve_axes, 44 + side + 96, max(width - side - 44 - 96 - 18, 50)),
        ):
            axes.set_position((left / width, bottom, wide / width, side / height))

    def _keep_background(self, event: object) -> None:
        for axes in (self.picture_axes, self.curve_axes):
            self._backgrounds[axes] = self.canvas.copy_from_bbox(axes.bbox.padded(2))
        self._draw(self.picture_axes, self.image, self.source)
        self._draw(self.curve_axes, *self.curves)

    def _draw(self, axes, *artists) -> None:
        """Into the canvas' bytes, not yet onto the screen."""
        self.canvas.restore_region(self._backgrounds[axes])
        for artist in artists:
            axes.draw_artist(artist)

    def show(self, picture: Picture) -> None:
        """Draws a frame; its bytes are not used afterwards."""
        header = picture.header
        step = max(1, math.ceil(max(header.rows, header.columns) / PIXELS_MOST))
        # A copy of the cells that are drawn: the picture may have to be drawn again without a new frame.
        self.image.set_data(np.array(np.asarray(picture.view)[::step, ::step]))
        is_there = header.source_x or header.source_y
        self.source.set_data(([header.source_x], [header.source_y]) if is_there else ([], []))
        self._add_to_history(time.monotonic(), header.minimum, header.mean, header.maximum)
        if not self._backgrounds:
            self.canvas.draw()
            return
        self._draw(self.picture_axes, self.image, self.source)
        self.canvas.blit(self.picture_axes.bbox.padded(2))
        self.show_curves()

    def show_curves(self) -> None:
        """They move as time does, also without a frame; ten times a second is enough."""
        now = time.monotonic()
        if not self._backgrounds or now - self._curves_at < CURVES_EVERY_S:
            return
        self._curves_at = now
        points = np.array(self.history).reshape(-1, 4)
        for curve, column in zip(self.curves, (3, 2, 1)):
            curve.set_data(points[:, 0] - now, points[:, column])
        self._draw(self.curve_axes, *self.curves)
        self.canvas.blit(self.curve_axes.bbox.padded(2))

    def _add_to_history(self, now: float, *values: float) -> None:
        if self.history and now - self.history[-1][0] < HISTORY_EVERY_S:
            return
        if self.history and now - self.history[-1][0] > 2.5:
            self.history.append((now, math.nan, math.nan, math.nan))  # nothing came: the curves have a gap
        self.history.append((now, *values))
        while now - self.history[0][0] > HISTORY_S + 1:
            self.history.popleft()


class Slider:
    """A logarithmic slider with its value beside it. It follows the daemon, except while it is moved."""

    def __init__(self, parent, text, low, high, show, changed):
        self.low, self.high, self._show, self._changed = low, high, show, changed
        self.frame = ttk.Frame(parent)
        ttk.Label(self.frame, text=text).pack(side="left")
        self.scale = ttk.Scale(self.frame, from_=0.0, to=1.0, length=150, command=self._moved)
        self.scale.pack(side="left", padx=6)
        self.label = ttk.Label(self.frame, width=15, anchor="w")
        self.label.pack(side="left")
        self._is_following = False
        self._moved_at = -10.0

    def get(self) -> float:
        return self.low * (self.high / self.low) ** float(self.scale.get())

    @property
    def is_at_end(self) -> bool:
        return float(self.scale.get()) >= 0.999

    def follow(self, value: float) -> None:
        """Shows what the daemon says."""
        if time.monotonic() - self._moved_at < 1.5:
            return
        place = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        self._is_following = True
        self.scale.set(min(max(place, 0.0), 1.0))
        self._is_following = False
        self.label["text"] = self._show(self)

    def _moved(self, place: str) -> None:
        self.label["text"] = self._show(self)
        if not self._is_following:
            self._moved_at = time.monotonic()
            self._changed()


class Window:
    """The window: plots above, controls below them, and two lines that say how it is."""

    def __init__(self, root: tkinter.Tk, options: argparse.Namespace, broker: warpway.Broker | None):
        self.root, self.options = root, options
        self.model = Model(options.name, broker)
        self.steering = Steering(options.name, broker)
        self.controls: dict[str, tkinter.Widget] = {}
        self.exit_code = 0
        self._watched: int | None = None  # the descriptor that wakes the window
        self._said = (0.0, "")
        root.configure(background=PAPER)
        style = ttk.Style(root)
        style.theme_use("clam")
        style.configure(".", background=PAPER, foreground=INK, font=("DejaVu Sans", 10))
        self.plots = Plots(root, *options.range)
        self._make_status()
        self._make_controls()
        self.plots.canvas.get_tk_widget().pack(side="top", fill="both", expand=True)
        self.plots.canvas.mpl_connect("button_press_event", self._click)
        root.bind("<space>", lambda event: isinstance(event.widget, ttk.Entry) or self._pause())
        root.protocol("WM_DELETE_WINDOW", root.quit)
        root.report_callback_exception = self._fail
        root.minsize(900, 520)
        self._look()

    # --- what is there ---

    def _make_status(self) -> None:
        box = tkinter.Frame(self.root, background=PAPER)
        box.pack(side="bottom", fill="x", padx=12, pady=(2, 8))
        self.lamp = tkinter.Label(box, text="\N{BLACK CIRCLE}", background=PAPER, font=("DejaVu Sans", 13))
        self.lamp.grid(row=0, column=0, padx=(0, 8))
        self.state_line = ttk.Label(box, anchor="w", font=("DejaVu Sans", 10, "bold"))
        self.state_line.grid(row=0, column=1, sticky="ew")
        self.note_line = ttk.Label(box, anchor="w")
        self.note_line.grid(row=2, column=1, sticky="ew")
        box.columnconfigure(1, weight=1)
        box.bind("<Configure>", lambda event: self._wrap(event.width - 60))
        self.number_line = ttk.Label(box, anchor="w", font=("DejaVu Sans Mono", 9))
        self.number_line.grid(row=1, column=1, sticky="ew")

    def _wrap(self, width: int) -> None:
        self.state_line["wraplength"] = self.note_line["wraplength"] = max(width, 300)

    def _make_controls(self) -> None:
        box = ttk.Frame(self.root)
        box.pack(side="bottom", fill="x", padx=12, pady=4)
        # The rows are as wide as what is in them: left the daemon as a whole, right what the plate is made of.
        upper, lower = ttk.Frame(box), ttk.Frame(box)
        upper.pack(side="top", anchor="w", pady=3)
        lower.pack(side="top", anchor="w", pady=3)
        for name, text, command in (
            ("pause", "Pause", self._pause),
            ("clear", "Clear sources", self.steering.clear_sources),
            ("reset", "Reset", self.steering.reset),
            ("stop", "Stop daemon", self._stop),
        ):
            button = ttk.Button(upper, text=text, command=command, width=13, takefocus=False)
            button.pack(side="left", padx=(0, 6))
            self.controls[name] = button
        ttk.Label(upper, text="Cells").pack(side="left", padx=(14, 4))
        self.cells = ttk.Combobox(upper, width=11, state="readonly", values=[f"{n} x {n}" for n in RESOLUTIONS])
        self.cells.bind("<<ComboboxSelected>>", self._choose_cells)
        self.cells.pack(side="left")
        self.controls["cells"] = self.cells
        ttk.Label(upper, text="Click in the picture: a source of").pack(side="left", padx=(20, 4))
        self.degrees = self._spin(upper, "degrees", *self.options.range, 5, 90, " degrees, radius ")
        self.radius = self._spin(upper, "radius", 0.01, 0.3, 0.01, 0.05, "")
        self.diffusivity = Slider(lower, "Diffusivity", *DIFFUSIVITY, lambda s: f"{s.get():.3g}", self._parameters)
        self.speed = Slider(lower, "Speed", *SPEED, self._speed_text, self._parameters)
        for name, slider in (("diffusivity", self.diffusivity), ("speed", self.speed)):
            slider.frame.pack(side="left", padx=(0, 10))
            self.controls[name] = slider.scale

    def _spin(self, parent, name, low, high, step, value, after) -> tkinter.StringVar:
        text = tkinter.StringVar(value=f"{value:g}")
        box = ttk.Spinbox(parent, from_=low, to=high, increment=step, width=5, textvariable=text)
        box.pack(side="left")
        ttk.Label(parent, text=after).pack(side="left")
        self.controls[name] = box
        return text

    def _fail(self, *error) -> None:
        """An exception that nobody has expected ends the program: a window that stands still would look as if it went."""
        traceback.print_exception(*error)
        self.exit_code = 1
        self.root.quit()

    # --- what the user does ---

    def _pause(self) -> None:
        header = self.model.header
        self.steering.pause(not (header and header.is_paused))

    def _stop(self) -> None:
        """The second click within a few seconds counts."""
        button = self.controls["stop"]
        if button["text"] == "Stop daemon":
            button["text"] = "Really stop?"
            self.root.after(CONFIRM_MS, lambda: button.configure(text="Stop daemon"))
        else:
            button["text"] = "Stop daemon"
            self.steering.stop()

    def _choose_cells(self, event: object) -> None:
        rows = int(self.cells.get().split()[0])
        self.cells.selection_clear()
        self.steering.resolution(rows, rows)

    @staticmethod
    def _speed_text(slider: Slider) -> str:
        return "as fast as it can" if slider.is_at_end else f"{slider.get():.0f} steps/s"

    def _parameters(self) -> None:
        self.steering.parameters(self.diffusivity.get(), 0.0 if self.speed.is_at_end else self.speed.get())

    def _click(self, event) -> None:
        if event.inaxes is not self.plots.picture_axes or event.button != 1:
            return
        try:
            degrees, radius = float(self.degrees.get()), float(self.radius.get())
        except ValueError:
            degrees = radius = math.nan
        low, high = self.options.range
        if not (low <= degrees <= high and 0 <= radius <= 1):
            self._say(f"A source needs degrees from {low:g} to {high:g}, and a radius from 0 to 1, such as 0.05.")
            return
        self.steering.source(min(max(event.xdata, 0), 1), min(max(event.ydata, 0), 1), radius, degrees)

    def _say(self, text: str) -> None:
        self._said = (time.monotonic(), text)

    # --- frames ---

    def _look(self) -> None:
        """What comes without a frame; and frames, until there is a descriptor that says when they come."""
        self._draw_newest()
        self._watch()
        self.plots.show_curves()
        for answer in self.steering.take_answers():
            self._say(answer[:1].upper() + answer[1:])
        self._show_state()
        if self.options.report and self.root.winfo_viewable():
            self._write_report()
        self.root.after(LOOK_MS, self._look)

    def _watch(self) -> None:
        found = self.model.fileno()
        if found == self._watched:
            return
        if self._watched is not None:
            self.root.deletefilehandler(self._watched)
        if found is not None:
            self.root.createfilehandler(found, tkinter.READABLE, self._frame_is_there)
        self._watched = found

    def _frame_is_there(self, *unused: object) -> None:
        self._draw_newest()
        # While frames come faster than they are drawn Tk is never idle: what it does when it is must not wait.
        self.root.update_idletasks()

    def _draw_newest(self) -> None:
        picture = self.model.poll()
        if not picture:
            return
        with picture:
            self.plots.show(picture)
        self.model.count_drawn()
        self._show_numbers()
        if self.options.screenshot and self.model.drawn == self.options.after:
            self.root.after_idle(self._take_screenshot)

    # --- what it says ---

    def _show_numbers(self) -> None:
        header, model, status = self.model.header, self.model, self.steering.status
        watch = f"  watched by {status.watchers} of {status.watchers_max}" if status else ""
        self.number_line["text"] = (
            f"step {header.step:,}  time {header.time:.4g}  {header.rows} x {header.columns}  "
            f"{header.steps_per_second:,.0f} steps/s  {model.frame_rate:.0f} frames/s  "
            f"{model.draw_rate:.0f} drawn/s{watch}"
        )

    def _show_state(self) -> None:
        model, header = self.model, self.model.header
        self.lamp["foreground"] = COLOURS[model.state]
        self.state_line["text"] = model.sentence()
        said_at, said = self._said
        when, note = model.notes[-1] if model.notes else (0.0, "")
        if time.monotonic() - said_at > 10:
            said = ""
        self.root.title(f"{self.options.name}: {model.sentence()}")
        # What is said of the daemon's end stands above already.
        if not said and model.state != "ended" and time.time() - when < 30:
            said = note
        self.note_line["text"] = said
        is_there = model.state in ("running", "paused")
        for name, control in self.controls.items():
            control.state(["!disabled" if is_there or name in ("degrees", "radius") else "disabled"])
        if header and not is_there:
            self.number_line["text"] = (
                f"the last frame: step {header.step:,}  time {header.time:.4g}  {header.rows} x {header.columns}"
            )
        if header and is_there:
            self._show_numbers()
            self.controls["pause"]["text"] = "Continue" if header.is_paused else "Pause"
            self.cells.set(f"{header.rows} x {header.columns}")
            self.diffusivity.follow(header.diffusivity)
            self.speed.follow(header.steps_per_second_max or SPEED[1])

    # --- for tests and for documentation ---

    def _take_screenshot(self) -> None:
        from PIL import ImageGrab

        self._show_state()
        self.root.update()
        left, top = self.root.winfo_rootx(), self.root.winfo_rooty()
        box = (left, top, left + self.root.winfo_width(), top + self.root.winfo_height())
        try:
            ImageGrab.grab(box, xdisplay=self.root.winfo_screen()).save(self.options.screenshot)
        except OSError as error:
            print(f"heat_window: cannot take a screenshot: {error}", file=sys.stderr)
            self.exit_code = 1
        self.root.quit()

    def _write_report(self) -> None:
        """What the window shows, and where: [left, top, width, height] on the screen."""
        self.root.update_idletasks()

        def place(widget: tkinter.Misc) -> list[int]:
            return [widget.winfo_rootx(), widget.winfo_rooty(), widget.winfo_width(), widget.winfo_height()]

        places = {name: place(widget) for name, widget in self.controls.items()}
        places["window"] = place(self.root)
        canvas = place(self.plots.canvas.get_tk_widget())
        box = self.plots.picture_axes.get_window_extent()
        places["plate"] = [
            round(canvas[0] + box.x0),
            round(canvas[1] + canvas[3] - box.y1),
            round(box.width),
            round(box.height),
        ]
        cell_list = self.root.tk.call("ttk::combobox::PopdownWindow", self.cells)
        report = {
            "places": places,
            "drawn": self.model.drawn,
            "sentence": self.state_line["text"],
            "note": self.note_line["text"],
            "numbers": self.number_line["text"],
            "cells": self.cells.get(),
            "list_is_open": bool(self.root.tk.call("winfo", "ismapped", cell_list)),
            "diffusivity": self.diffusivity.get(),
            "speed": 0.0 if self.speed.is_at_end else self.speed.get(),
            "degrees": self.degrees.get(),
            "radius": self.radius.get(),
            "pause": self.controls["pause"]["text"],
            "stop": self.controls["stop"]["text"],
        }
        with open(f"{self.options.report}.new", "w") as file:
            json.dump(report, file)
        os.replace(f"{self.options.report}.new", self.options.report)

    def close(self) -> None:
        self.model.close()
        self.steering.close()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="heat_window", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--name", default="heat", help="prefix of the daemon's names in the broker (default: heat)")
    parser.add_argument("--broker", help="address of the broker; else as always")
    parser.add_argument(
        "--range", nargs=2, type=float, default=(0.0, 100.0), metavar=("LOW", "HIGH"), help="degrees of the colours"
    )
    parser.add_argument("--screenshot", metavar="FILE", help="write the window to a PNG file, and end")
    parser.add_argument("--after", type=int, default=30, metavar="N", help="with --screenshot: when N frames were drawn")
    parser.add_argument("--report", metavar="FILE", help="write what the window shows, and where, as JSON: for tests")
    options = parser.parse_args(arguments)
    if not options.range[0] < options.range[1]:
        parser.error(f"--range {options.range[0]:g} {options.range[1]:g}: the second number must be larger")
    if options.after < 1:
        parser.error(f"--after {options.after}: write a number from 1 on")
    return options


def quit_on_signals(root: tkinter.Tk) -> None:
    """Tk sleeps until an event comes: a signal is one by the descriptor that Python writes to."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *unused: None)
    root.createfilehandler(reading, tkinter.READABLE, lambda *unused: root.quit())


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    call_process("heat-window")
    try:
        broker = warpway.Broker(options.broker) if options.broker else None
        root = tkinter.Tk(className="heat-window")
    except (warpway.Error, tkinter.TclError) as error:
        print(f"heat_window: {error}", file=sys.stderr)
        return 1
    window = Window(root, options, broker)
    quit_on_signals(root)
    root.mainloop()
    window.close()
    root.destroy()
    return window.exit_code


if __name__ == "__main__":
    sys.exit(main())
