"""Several users' accounts at a broker for the whole machine: who may watch, who may steer, and what the others read.

The daemon is of the user daemon; users is the group of those who may watch, staff that of those who may steer. Only
root can be several users, so these tests are skipped for others.
"""
import grp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import FOLDER, LIMIT_S, wait_until
from screen import Window
from terminal import Terminal

OWNER, STRANGER = "daemon", "nobody"


def as_user(user, group, *others):
    """The start of a command that another user runs, in these groups."""
    groups = ["--groups", ",".join(others)] if others else ["--clear-groups"]
    return ["setpriv", "--reuid", user, "--regid", group, *groups, "env", f"PYTHONPATH={os.environ['PYTHONPATH']}"]


@pytest.fixture
def open_folder():
    """A folder that all users can use; those of pytest are closed to others, at each start of a pytest anew."""
    folder = Path(tempfile.mkdtemp(prefix="heat-users-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def machine(monkeypatch):
    """A broker for all users at a path of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can be several users")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is missing: it is part of util-linux")
    try:
        for name in "users", "staff":
            grp.getgrnam(name)
    except KeyError as error:
        pytest.skip(f"this machine lacks a group: {error}")
    can_read = [*as_user(STRANGER, "users"), sys.executable, "-c", "import warpway"]
    if subprocess.run(can_read, capture_output=True, cwd="/").returncode != 0:
        pytest.skip("other users cannot read the build folder")
    folder = tempfile.mkdtemp(prefix="heat-machine-")
    os.chmod(folder, 0o755)
    ready, done = os.pipe()
    command = [os.environ["WARPWAYD"], "--socket", f"{folder}/broker.sock", "--socket-mode", "0666", "--ready-fd", str(done)]
    process = subprocess.Popen(command, pass_fds=[done], stderr=subprocess.DEVNULL)
    os.close(done)
    with os.fdopen(ready) as file:
        file.read(1)
    monkeypatch.setenv("WARPWAY_BROKER", f"{folder}/broker.sock")
    yield folder
    # The process that was started ends when the broker serves.
    subprocess.run([os.environ["WARPWAY"], "serve", "--stop", "--force"], check=True, stdout=subprocess.DEVNULL)
    process.wait(LIMIT_S)
    shutil.rmtree(folder)


@pytest.fixture
def shared(machine, heatd):
    """A daemon that group users may watch, and group staff may steer."""
    heatd.prefix = as_user(OWNER, OWNER, "users", "staff")
    heatd.start("rows=64", "columns=64", "steps_per_second_max=500", "group=users", "operators=staff")
    return heatd


def once(shared, prefix):
    command = [*prefix, sys.executable, "-B", str(FOLDER / "heat-top"), "--name", shared.name, "--once", "--wait", "5"]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


def test_only_the_group_may_watch(shared):
    done = once(shared, as_user(STRANGER, "users"))
    assert done.returncode == 0, done.stderr
    assert f"heat-top of {STRANGER}" in done.stdout
    done = once(shared, as_user(STRANGER, "nogroup"))
    assert done.returncode == 1
    assert done.stderr == (
        f"heat-top: {STRANGER} may not watch {shared.name}/field: only members of group users and user {OWNER} may.\n"
    )


def test_share_of_a_user(machine, heatd):
    """Another user's places do not count."""
    heatd.prefix = as_user(OWNER, OWNER, "users", "staff")
    heatd.start("rows=64", "columns=64", "group=users", "consumers_per_uid_max=1")
    watch = "import time, warpway; c = warpway.Channel.get('NAME', timeout=600); print(1, flush=True); time.sleep(3600)"
    command = [*as_user(STRANGER, "users"), sys.executable, "-c", watch.replace("NAME", f"{heatd.name}/field")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        done = once(heatd, as_user(STRANGER, "users"))
        assert done.returncode == 1
        assert f"All 1 places that {STRANGER} may have at {heatd.name}/field are taken: 1 python3" in done.stderr
        assert once(heatd, as_user(OWNER, "users")).returncode == 0
        other.kill()


def test_refusal_in_the_terminal(shared, tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("tmux is missing: scripts/setup --all installs it")
    for number, (prefix, may) in enumerate(
        ((as_user(STRANGER, "users"), False), (as_user(STRANGER, "staff", "users"), True))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        terminal = Terminal(folder, shared.name, prefix=prefix)
        terminal.wait_text("computes.")
        terminal.keys("Space")
        if may:
            terminal.wait_text("is paused.")
        else:
            terminal.wait_text(
                f"Pause: user {STRANGER} may watch, not steer: only group staff and user {OWNER} may steer."
            )
            assert not shared.status().paused
        terminal.close()


def test_refusal_in_the_window(shared, display, open_folder):
    prefix = [*as_user(STRANGER, "users"), f"MPLCONFIGDIR={open_folder}"]
    window = Window(display, shared.name, open_folder, prefix=prefix)
    window.wait_title("computes.")
    window.click("pause")
    said = window.wait_note("may watch, not steer")
    assert said == f"Pause: user {STRANGER} may watch, not steer: only group staff and user {OWNER} may steer."
    window.click_plate(0.5, 0.5)
    window.wait_note(f"Source: user {STRANGER} may watch, not steer")
    wait_until(lambda: shared.header().maximum == 0 and not shared.status().paused, "nothing has changed")
    window.close()
