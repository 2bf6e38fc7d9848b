"""What a user interface knows of a daemon, without a window."""
import os
import re
import subprocess
import zlib

import heat_steering
import pytest

import warpway
from conftest import FOLDER, LIMIT_S, wait_until
from heat_model import METADATA, Header, Model, Rate, name_holders, user_name
from heat_steering import Steering


@pytest.fixture
def model(heatd):
    made = Model(heatd.name)
    yield made
    made.close()


def next_header(model, condition=lambda header: True):
    """The first one for which the condition holds."""

    def look():
        picture = model.poll()
        if not picture:
            return None
        with picture:
            assert zlib.crc32(picture.view) == picture.header.checksum
            return picture.header if condition(picture.header) else None

    return wait_until(look, model.sentence)


def test_there_is_no_daemon(model):
    assert model.poll() is None
    assert (model.state, model.fileno()) == ("waiting", None)
    assert model.sentence() == f"There is no {model.name} yet. Waiting for a heat daemon."


def test_the_lines_of_the_readme_run(heatd, python):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    code, = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
    code = code.replace('"heat/', f'"{heatd.name}/') + "print(status)\n"
    done = subprocess.run([*python, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *frames, status = done.stdout.splitlines()
    steps = [int(line.split()[0]) for line in frames]
    assert len(steps) == 100 and steps == sorted(set(steps))
    assert "'step': " in status


def test_newest_frame(heatd, model):
    heatd.start("rows=64", "columns=32")
    first = next_header(model)
    assert (first.rows, first.columns, first.pid) == (64, 32, heatd.pid)
    assert model.state == "running"
    assert model.sentence() == f"heatd-c (process {heatd.pid}) computes."

    # Frames come that this consumer does not look at; the next one that it gets is the last one of all.
    seen = heatd.status().frames
    wait_until(lambda: heatd.status().frames > seen + 5, "more frames")
    heatd.call("pause", True)
    paused = heatd.status()
    wait_until(lambda: heatd.status().frames > paused.frames, "a frame of the pause")
    picture = model.poll()
    with picture:
        assert picture.header.step == paused.step and picture.header.is_paused
    assert model.torn == 0


def test_view_has_rows_and_columns(heatd, model):
    """x goes with the columns, y with the rows."""
    heatd.start("rows=40", "columns=80")
    heatd.call("pause", True)
    heatd.call("reset")
    heatd.call("source", 0.75, 0.25, 0.05, 100.0)
    # The first frame that it shows was drawn after that.
    next_header(model, lambda header: header.is_paused and header.source_x == 0.75)
    heatd.call("pause", True)
    picture = wait_until(model.poll, "a frame")
    with picture:
        assert picture.view.shape == (40, 80)
        assert picture.view[10, 60] == 100
        assert picture.view[30, 20] == 0 == picture.view[10, 20]
    assert model.state == "paused"


def test_killed_daemon_is_named_and_the_next_one_continues(heatd, model):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    first = next_header(model, lambda header: header.step > 10)
    heatd.kill()
    wait_until(lambda: _drain(model), model.sentence)
    said = model.sentence()
    assert f"heatd-c (process {heatd.pid}) ended at " in said
    assert "it was killed, or it crashed" in said and said.endswith("Waiting for the next one.")

    last = model.header
    heatd.start()
    after = next_header(model)
    assert after.run == first.run and after.pid == heatd.pid != last.pid
    assert after.step >= last.step and model.gap == after.step - last.step
    assert f"continues the same simulation at step {after.step:,}" in model.notes[-1][1]
    assert model.state == "running"


def test_daemon_that_is_stopped_has_a_last_frame(heatd, model):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    next_header(model)
    heatd.process.terminate()
    wait_until(lambda: _drain(model), model.sentence)
    assert model.sentence().startswith(f"heatd-c (process {heatd.pid}) ended at ")
    assert "killed" not in model.sentence()
    assert heatd.process.wait(LIMIT_S) == 0


def _drain(model):
    """Looks at one more frame: whether that was the end."""
    picture = model.poll()
    if picture:
        picture.release()
    return model.state == "ended"


def test_new_simulation_is_told_from_the_old_one(heatd, model):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    first = next_header(model)
    heatd.process.terminate()
    wait_until(lambda: _drain(model), model.sentence)
    heatd.process.wait(LIMIT_S)
    warpway.Broker().remove(f"{heatd.name}/state")
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    assert next_header(model).run != first.run
    assert "has begun a new simulation" in model.notes[-1][1] and model.gap == 0


def test_all_places_are_taken(heatd, model):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    others = [warpway.Channel.get(model.name, timeout=LIMIT_S) for _ in range(32)]
    assert model.poll() is None and model.state == "full"
    said = model.sentence()
    assert said.startswith(f"All 32 places to watch {model.name} are taken: 32 ")
    assert str(os.getpid()) in said
    others.pop().close()
    next_header(model)
    assert model.state == "running"
    for other in others:
        other.close()


def test_share_of_a_user_is_taken(heatd, model):
    heatd.start("rows=32", "columns=32", "consumers_per_uid_max=1")
    with warpway.Channel.get(model.name, timeout=LIMIT_S):
        assert model.poll() is None and model.state == "full"
        whose = f"All 1 places that {user_name(os.geteuid())} may have at {model.name} are taken"
        assert model.sentence().startswith(whose)
    next_header(model)


def test_damaged_frame_is_not_shown(heatd, model):
    """A producer that is no heat daemon: one frame is right, one has another checksum, one has no header."""
    cells = bytes(16 * 16 * 4)

    def header(checksum):
        values = (7, 1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, checksum, 16, 16, 0, 0, os.getpid(), 0.0, 0.0, 0.0)
        return METADATA.pack(*values)

    with warpway.Channel(
        model.name, (16, 16), "float32", policy="latest", metadata_bytes=128, metadata_type="heat-frame/1", device="host"
    ) as channel:
        channel.send(memoryview(cells).cast("f", (16, 16)), header(zlib.crc32(cells)))
        assert next_header(model).run == 7
        channel.send(memoryview(cells).cast("f", (16, 16)), header(1))
        assert model.wait(LIMIT_S) is None
        assert model.torn == 1 and "checksum is wrong" in model.notes[-1][1]
        channel.send(memoryview(cells).cast("f", (16, 16)), b"short")
        assert model.wait(LIMIT_S) is None
        assert model.state == "failed" and "the metadata has 5 bytes" in model.sentence()


def test_channel_of_something_else(heatd, model):
    with warpway.Channel(model.name, slot_bytes=64, device="host"):
        assert model.poll() is None
        assert model.state == "failed" and "heat-frame/1" in model.sentence()


def test_header():
    with pytest.raises(ValueError, match="has 3 bytes, not 128"):
        Header.from_bytes(b"abc")


def test_rate():
    rate = Rate()
    assert rate.get(0.0) == 0
    for i in range(100):
        rate.add(2 * i, i / 10)
    assert rate.get(9.9) == pytest.approx(20)
    assert rate.get(20.0) == 0, "nothing has come for long"


def test_holders_are_grouped():
    def consumer(pid, program):
        return warpway.ChannelConsumer((0, pid, 0, program, 0, 0, 0, 0.0, False, False, False))

    there = [consumer(pid, "heat-window") for pid in (5, 6, 7, 8)] + [consumer(9, "heat-top")]
    said = name_holders(there)
    assert said == "4 heat-window of root (processes 5, 6, 7 and 1 more), 1 heat-top of root (process 9)"


# --- steering ---


@pytest.fixture
def steering(heatd):
    made = Steering(heatd.name, asks=False)
    yield made
    made.close()


def _if(value, condition):
    return value if condition(value) else None


def test_calls_are_made_in_order(heatd, steering):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    steering.pause(True)
    for value in (0.2, 0.3, 0.4):
        steering.parameters(value, 100.0)
    steering.resolution(48, 64)
    steering.source(0.5, 0.25, 0.1, 60.0)
    wait_until(lambda: steering.is_idle, "the calls are done")
    status = heatd.status()
    assert (status.paused, status.diffusivity, status.rows, status.columns) == (True, 0.4, 48, 64)
    header = wait_until(lambda: _if(heatd.header(), lambda h: h.source_x), "a frame with the source")
    assert (header.source_x, header.source_y, header.steps_per_second_max) == (0.5, 0.25, 100.0)
    steering.parameters(0.5)
    header = wait_until(lambda: _if(heatd.header(), lambda h: h.diffusivity == 0.5), "the diffusivity in a frame")
    assert header.steps_per_second_max == 100.0, "a limit that is left out stays"
    assert steering.take_answers() == []


def test_failure_is_a_sentence(heatd, steering):
    steering.pause(True)
    wait_until(lambda: steering.is_idle, "the call has failed")
    assert steering.take_answers() == ["pause: there is no daemon that could do it."]
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    steering.resolution(1, 1)
    wait_until(lambda: steering.is_idle, "the call has failed")
    (said,) = steering.take_answers()
    assert said.startswith("resolution: rows are from 16 to ")


def test_calls_go_to_the_next_daemon(heatd, steering):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    steering.pause(True)
    wait_until(lambda: heatd.status().paused, "it is paused")
    heatd.kill()
    heatd.start()
    steering.pause(False)
    wait_until(lambda: not heatd.status().paused, "it goes on")
    assert steering.take_answers() == []


def test_calls_do_not_wait(heatd, steering, monkeypatch):
    """Not even for a daemon that does not answer: a call that did would not return before the test is ended."""
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    monkeypatch.setattr(heat_steering, "CALL_S", 1e6)
    heatd.process.send_signal(19)  # SIGSTOP
    try:
        steering.pause(True)
        steering.reset()
        assert steering.take_answers() == []
    finally:
        heatd.process.send_signal(18)
    wait_until(lambda: heatd.status().paused, "it is paused")


def test_a_daemon_that_does_not_answer(heatd, steering):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    heatd.process.send_signal(19)  # SIGSTOP
    try:
        steering.pause(True)
        said = wait_until(steering.take_answers, "the daemon does not answer")
        assert said[0] == "pause: the daemon did not answer within 2 seconds."
    finally:
        heatd.process.send_signal(18)


def test_who_watches(heatd):
    heatd.start("rows=32", "columns=32", "steps_per_second_max=500")
    steering = Steering(heatd.name)
    with warpway.Channel.get(f"{heatd.name}/field", timeout=LIMIT_S):
        wait_until(lambda: steering.watchers, "a watcher")
        assert steering.watchers[0].pid == os.getpid()
        assert wait_until(lambda: steering.status, "a status").pid == heatd.pid
    steering.close()
