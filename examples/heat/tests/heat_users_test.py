#!/usr/bin/env python3
"""heat_users_test.py - who may watch a heat daemon and who may steer it, with accounts of several users

Needs root: it makes a mount namespace with accounts of its own, and a broker of the machine at a path of its own. Else
it is skipped. The environment names the programs: heat_case.py; HEAT_JAVA: the command of the client in Java, if that is
to be tested. Speaks TAP.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources may be another user's

INSIDE = "HEAT_USERS_INSIDE"
# Names, numbers and further groups; all but steve are in group heat.
USERS = {"hilda": (61010, 61020, [61021]), "wanda": (61011, 61030, [61020]), "olga": (61012, 61030, [61020, 61021]),
         "steve": (61013, 61030, [])}
GROUPS = {"heat": (61020, "hilda,wanda,olga"), "heat-operators": (61021, "hilda,olga"), "plain": (61030, "")}


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def enter():
    """Runs this program again where these accounts are."""
    if os.geteuid() != 0:
        skip("accounts of several users need root")
    if not shutil.which("unshare") or subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode:
        skip("a mount namespace is not allowed here")
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
                          env={**os.environ, INSIDE: "1"}, check=False)
    sys.exit(done.returncode)


def make_accounts():
    with tempfile.TemporaryDirectory(prefix="warpway-accounts-") as folder:
        lines = {"passwd": [f"{name}:x:{uid}:{gid}::/:/bin/sh" for name, (uid, gid, _) in USERS.items()],
                 "group": [f"{name}:x:{gid}:{members}" for name, (gid, members) in GROUPS.items()]}
        for name, added in lines.items():
            path = os.path.join(folder, name)
            shutil.copy("/etc/" + name, path)
            with open(path, "a", encoding="utf-8") as stream:
                stream.write("\n".join(added) + "\n")
            os.chmod(path, 0o644)
            subprocess.run(["mount", "--bind", path, "/etc/" + name], check=True)


if INSIDE not in os.environ:
    enter()
make_accounts()

import heat_case  # noqa: E402
from heat_case import (  # noqa: E402
    ENVIRONMENT, FOLDER, HEAT_WATCH, HEATD, WARPWAY, WARPWAYD, Daemon, expect, listens, main, path_of, run, start, wait_until, write)

ADDRESS = path_of("machine.sock")


def as_user(name):
    uid, gid, groups = USERS[name]
    return {"user": uid, "group": gid, "extra_groups": groups}


def begin():
    """The broker of the machine; why it was skipped, or nothing."""
    os.chmod(FOLDER, 0o755)
    for name in ("XDG_RUNTIME_DIR", INSIDE):
        ENVIRONMENT.pop(name, None)
    ENVIRONMENT["WARPWAY_BROKER"] = ADDRESS
    for program in (HEATD, HEAT_WATCH, WARPWAY):
        try:
            run(program, "--help", **as_user("steve"))
        except OSError as error:
            return f"another user cannot run {program}: {error}"
    broker = subprocess.Popen([WARPWAYD, "--socket", ADDRESS, "--socket-mode", "0666"], env=ENVIRONMENT)
    begin.broker = broker
    while not listens(ADDRESS):
        expect(broker.poll() is None, "the broker has ended")
        time.sleep(0.01)
    return None


def daemon(name, **settings):
    path = write(name + ".conf", f"[heat]\ngroup = heat\noperators = heat-operators\n"
                 + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    with open(path_of(name + ".log"), "w", encoding="utf-8"):
        pass
    plain = heat_case.start
    heat_case.start = lambda *command, **more: plain(*command, **more, **as_user("hilda"))
    try:
        return Daemon(name, f"--config={path}")
    finally:
        heat_case.start = plain


def call(user, name, function, *arguments):
    return run(WARPWAY, "call", f"{name}/steer", function, *arguments, **as_user(user))


def watch(user, name, frames):
    return run(HEAT_WATCH, f"{name}/field", str(frames), **as_user(user))


def members_of_the_group_watch():
    one = daemon("watched")
    for user in ("hilda", "wanda", "olga"):
        done = watch(user, "watched", 5)
        expect(done.returncode == 0 and '"torn": 0' in done.stdout, f"{user}: {done}")
        done = run(HEATD, "--status", "--name", "watched", **as_user(user))
        expect(done.returncode == 0 and f"process {one.process.pid}," in done.stdout, f"{user}: {done}")
    expect(one.end() == 0, one.said())


def others_do_not_watch():
    one = daemon("hidden")
    done = watch("steve", "hidden", 1)
    expect(done.returncode == 1 and "WW_ERR_ACCESS" in done.stderr, str(done))
    done = run(HEATD, "--status", "--name", "hidden", **as_user("steve"))
    expect(done.returncode == 1 and "does not say its status" in done.stderr, str(done))
    for user in ("wanda", "olga", "steve"):
        done = run(WARPWAY, "get", "hidden/state", "-", **as_user(user))
        expect(done.returncode == 1 and not done.stdout, f"{user}: {done}")
    expect(one.end() == 0, one.said())


def only_operators_steer():
    one = daemon("steered")
    for user in ("hilda", "olga"):
        done = call(user, "steered", "source", "x=0.5", "y=0.5", "radius=0.1", "temperature=9")
        expect(done.returncode == 0, f"{user}: {done}")
    for function, *arguments in (["pause", "paused=true"], ["source", "x=0.5", "y=0.5", "radius=0.1", "temperature=1"],
                                 ["clear_sources"], ["reset"], ["parameters", "diffusivity=1"],
                                 ["resolution", "rows=20", "columns=20"], ["stop"]):
        done = call("wanda", "steered", function, *arguments)
        expect(done.returncode == 1 and "user wanda may watch, not steer: only group heat-operators and user hilda may "
               "steer" in done.stderr, f"{function}: {done}")
    done = watch("wanda", "steered", 1)
    expect('"maximum": 9,' in done.stdout and '"flags": 0,' in done.stdout and '"rows": 32' in done.stdout, str(done))
    done = call("olga", "steered", "stop")
    expect(done.returncode == 0 and one.process.wait(timeout=heat_case.LIMIT_S) == 0, f"{done}{one.said()}")


def operators_change_by_a_reload():
    one = daemon("changed")
    write("changed.conf", "[heat]\ngroup = heat\noperators = 61030\n")
    one.process.send_signal(heat_case.signal.SIGHUP)
    wait_until(lambda: "operators has changed" in one.said(), "the reload")
    done = call("wanda", "changed", "pause", "paused=false")
    expect(done.returncode == 0, f"its group steers now: {done}")
    write("changed.conf", "[heat]\ngroup = heat\n")
    one.process.send_signal(heat_case.signal.SIGHUP)
    wait_until(lambda: one.said().count("operators has changed") == 2, "the second reload")
    done = call("olga", "changed", "pause", "paused=false")
    expect(done.returncode == 1 and "only user hilda may steer" in done.stderr, str(done))
    expect(one.end() == 0, one.said())


def a_user_has_a_share_of_the_places():
    one = daemon("shared", consumers_per_uid_max=2)
    watchers = [start(HEAT_WATCH, "shared/field", "0", **as_user("wanda")) for _ in range(2)]
    for watcher in watchers:
        expect(watcher.stdout.readline() == "first\n", "no frame")
    done = watch("wanda", "shared", 1)
    expect(done.returncode == 1 and "WW_ERR_LIMIT" in done.stderr, str(done))
    done = watch("olga", "shared", 1)
    expect(done.returncode == 0, str(done))
    expect(one.end() == 0, one.said())


def a_killed_daemon_is_continued_by_its_user_only():
    one = daemon("owned")
    one.kill()
    path = path_of("owned.conf")
    done = run(HEATD, f"--config={path}", *one.settings, **as_user("olga"))
    expect(done.returncode == 1 and not done.stdout, str(done))
    done = call("wanda", "owned", "status")
    expect(done.returncode == 1, "somebody serves")


def the_client_in_java_says_refusals():
    one = daemon("java")

    command = [*shlex.split(os.environ["HEAT_JAVA"]), "--name", "java"]

    def client(user, *words):
        return run(*command, *words, **as_user(user))

    for user in ("wanda", "olga"):
        done = client(user, "--frames", "3")
        expect(done.returncode == 0 and "3 frames checked, 0 damaged" in done.stdout, f"{user}: {done}")
    done = client("wanda", "--pause")
    expect(done.returncode == 1 and "User wanda may watch, not steer: only group heat-operators and user hilda may steer." in done.stderr, str(done))
    expect(not one.status()["paused"], "it is paused")
    done = client("olga", "--pause")
    expect(done.returncode == 0 and one.status()["paused"], str(done))
    refused = start(*command, "--frames", "1", **as_user("steve")).stdout
    said = refused.readline()
    while "may not watch" not in said:
        expect(said, "the client has ended")
        said = refused.readline()
    expect("User steve may not watch java/field: only members of group heat and user hilda may." in said, said)
    expect(one.end() == 0, one.said())


reason = begin()
if reason:
    skip(reason)
try:
    main([the_client_in_java_says_refusals] if os.environ.get("HEAT_JAVA") else
         [members_of_the_group_watch, others_do_not_watch, only_operators_steer, operators_change_by_a_reload,
          a_user_has_a_share_of_the_places, a_killed_daemon_is_continued_by_its_user_only])
finally:
    begin.broker.terminate()
    begin.broker.wait()
