#!/usr/bin/python3
"""upgrade_test.py NEXT VERSION - what an upgrade and a purge of the Debian packages do to brokers and their clients

It runs as root in a scratch installation without systemd, in which the packages are installed; NEXT is a folder with
packages of the later VERSION. The broker of the machine is started as systemd would: as its user, with its socket. First
the library alone is upgraded, so that new libraries meet the former broker, then the rest, so that a process with the
former library meets the new broker. Speaks TAP. A case needs the ones before it.
"""
import glob
import json
import os
import pwd
import signal
import socket
import subprocess
import sys

NEXT, VERSION = sys.argv[1:3]
SOCKET = "/run/warpway/broker.sock"
CONFIGURATION = "/etc/warpway/warpwayd.conf"
ALICE, BOB = 2001, 2002
BOB_FOLDER = "/tmp/bob"
BOB_SETTINGS = {"XDG_RUNTIME_DIR": BOB_FOLDER, "WARPWAY_BROKER": BOB_FOLDER + "/warpway/broker.sock"}
LIBRARIES = ["libwarpway0", "libwarpway-dev", "python3-warpway"]
NEW_CLIENT = """
import numpy, warpway
broker = warpway.Broker()
array = broker.get("live/kept", device="host", access="write", timeout=60)
fresh = warpway.zeros(10, "int64", device="host")
broker.put("new/array", fresh)
assert broker.get("new/array", device="host").shape == (10,)
timeline = warpway.Timeline()
broker.put("new/timeline", timeline)
timeline.signal(1)
print(warpway.library_version())
"""
STATE = {}


def expect(what, told):
    if not what:
        raise AssertionError(told)


def run(*command, user=None, settings=None, data=None):
    """Runs a command, which must succeed; returns what it prints."""
    done = subprocess.run(command, user=user, group=user, extra_groups=[] if user else None, input=data,
                          stdin=subprocess.DEVNULL if data is None else None, capture_output=True, text=True, check=False,
                          env={**os.environ, **(settings or {})}, timeout=600, cwd="/")
    expect(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def status(**more):
    return json.loads(run("warpway", "serve", "--status", "--json", **more))


def upgrade(*packages):
    run("apt-get", "-y", "-o", "Dpkg::Use-Pty=0", "install",
        *(file for package in packages for file in glob.glob(f"{NEXT}/{package}_*.deb")))


def is_there(name):
    return subprocess.run(["getent", "passwd", name], stdout=subprocess.DEVNULL, check=False).returncode == 0


def live_client_is_well():
    client = STATE["client"]
    client.stdin.write("go\n")
    client.stdin.flush()
    answer = client.stdout.readline()
    expect(answer.startswith("ok "), f"the live client: {answer}")
    return answer


def nothing_runs_before_it_is_enabled():
    expect(is_there("warpway"), "the user is missing")
    expect(os.path.exists(CONFIGURATION), "the configuration is missing")
    expect(not os.path.exists(SOCKET), "something serves the machine already")
    expect(glob.glob("/lib/systemd/system/warpwayd.socket") and glob.glob("/usr/lib/systemd/user/warpwayd.socket"),
           "units are missing")
    expect(not glob.glob("/etc/systemd/*/*/warpwayd*"), "a unit is enabled")


def the_broker_of_the_machine_serves():
    user = pwd.getpwnam("warpway")
    os.makedirs(os.path.dirname(SOCKET), mode=0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(SOCKET)
        os.chmod(SOCKET, 0o666)
        listener.listen(64)
        STATE["broker"] = os.fork()
        if STATE["broker"] == 0:
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)  # it may have had that number already
            os.setsid()
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            os.execve("/usr/bin/warpwayd", ["warpwayd", "--config", CONFIGURATION],
                      {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
    STATE["before"] = status()
    expect(STATE["before"]["uid"] == user.pw_uid and STATE["before"]["supervisor_pid"] == STATE["broker"],
           str(STATE["before"]))


def clients_of_the_former_version_use_it():
    # Alice may not read the folder of this file.
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_client.py"), encoding="utf-8") as program:
        STATE["client"] = subprocess.Popen(
            ["/usr/bin/python3", "-c", program.read()], user=ALICE, group=ALICE, extra_groups=[], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, cwd="/")
    expect(STATE["client"].stdout.readline() == "ok\n", "the live client did not start")
    live_client_is_well()
    os.mkdir(BOB_FOLDER, 0o700)
    os.chown(BOB_FOLDER, BOB, BOB)
    run("warpway", "put", "--life", "kept", "of-bob", "-", user=BOB, settings=BOB_SETTINGS, data="bytes of bob")
    STATE["bob"] = status(user=BOB, settings=BOB_SETTINGS)
    expect(STATE["bob"]["uid"] == BOB, str(STATE["bob"]))


def a_new_library_works_with_the_former_broker():
    upgrade(*LIBRARIES)
    said = run("/usr/bin/python3", "-c", NEW_CLIENT, user=ALICE).strip()
    expect(said == VERSION, f"the library is of version {said}")
    now = status()
    expect(now["pid"] == STATE["before"]["pid"] and now["version"] == STATE["before"]["version"] != VERSION, str(now))
    live_client_is_well()


def an_upgrade_renews_the_broker_and_loses_nothing():
    upgrade("warpway")
    now = status()
    expect(now["version"] == VERSION, f"the broker is of version {now['version']}")
    for what in "supervisor_pid", "broker_id", "uid":
        expect(now[what] == STATE["before"][what], f"{what}: {now}")
    expect(os.readlink(f"/proc/{STATE['broker']}/exe") == "/usr/bin/warpwayd", "the supervisor has its former program")
    names = run("warpway", "ls", "--names").split()
    expect({"live/kept", "live/mine"} <= set(names), f"of all objects these are left: {names}")


def a_former_library_works_with_the_new_broker():
    answer = live_client_is_well()
    expect("(deleted)" in answer, f"the live client uses the new library: {answer}")
    held = {hold["name"] for process in json.loads(run("warpway", "who", "--json"))["processes"]
            if process["pid"] == STATE["client"].pid for hold in process["holds"]}
    expect({"live/kept", "live/mine"} <= held, f"the live client holds {held}")
    run("/usr/bin/python3", "-c", NEW_CLIENT.replace("new/", "newer/"), user=ALICE)


def a_users_broker_goes_on_until_it_is_reloaded():
    now = status(user=BOB, settings=BOB_SETTINGS)
    expect(now["pid"] == STATE["bob"]["pid"] and now["version"] == STATE["bob"]["version"] != VERSION, str(now))
    run("warpway", "serve", "--reload", user=BOB, settings=BOB_SETTINGS)
    now = status(user=BOB, settings=BOB_SETTINGS)
    expect(now["version"] == VERSION and now["broker_id"] == STATE["bob"]["broker_id"], str(now))
    expect(run("warpway", "get", "of-bob", "-", user=BOB, settings=BOB_SETTINGS) == "bytes of bob", "bytes are lost")
    run("warpway", "serve", "--stop", "--force", user=BOB, settings=BOB_SETTINGS)


def purging_leaves_nothing():
    packages = run("dpkg-query", "-W", "-f", "${Package}\n", "*warpway*").split()
    run("apt-get", "-y", "-o", "Dpkg::Use-Pty=0", "purge", *packages)
    expect(os.waitpid(STATE["broker"], os.WNOHANG)[0] == STATE["broker"], "the broker of the machine still runs")
    STATE["client"].send_signal(signal.SIGKILL)
    STATE["client"].wait()
    expect(not is_there("warpway"), "the user is still there")
    left = run("find", "/", "-xdev", "(", "-path", "/tmp", "-o", "-path", "/root", "-o", "-path", "/var/log", "-o",
               "-path", "/var/cache", "-o", "-path", "/proc", ")", "-prune", "-o", "-name", "*warpway*", "-print")
    expect(left == "", f"these are left: {left}")


CASES = [nothing_runs_before_it_is_enabled, the_broker_of_the_machine_serves, clients_of_the_former_version_use_it,
         a_new_library_works_with_the_former_broker, an_upgrade_renews_the_broker_and_loses_nothing,
         a_former_library_works_with_the_new_broker, a_users_broker_goes_on_until_it_is_reloaded, purging_leaves_nothing]


def main():
    print(f"1..{len(CASES)}")
    for number, case in enumerate(CASES, 1):
        try:
            case()
            print(f"ok {number} - {case.__name__}", flush=True)
        except (AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
            print(f"not ok {number} - {case.__name__}\n# " + "\n# ".join(str(error).splitlines()), flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
