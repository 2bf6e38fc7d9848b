#!/usr/bin/env python3
"""monitor_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION MAKER - the verbs that watch over a broker: ping, metrics, top

With the helpers of broker_cli_test.py, and a broker of its own. DEVICE is not used. Speaks TAP.
"""
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    ADDRESS, ENVIRONMENT, FOLDER, LIMIT_S, WARPWAY, WARPWAYD, expect, main, path_of, refused, until)

MAKER = sys.argv[5]
DAEMON = None


def run(*arguments, **settings):
    return subprocess.run([WARPWAY, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **settings})


def good(*arguments, **settings):
    done = run(*arguments, **settings)
    expect(done.returncode == 0, f"{arguments}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def start_broker(config=None):
    """A daemon whose log goes to a file, in place of the one before it."""
    global DAEMON
    stop_broker()
    os.makedirs(os.path.dirname(ADDRESS), exist_ok=True)
    path = path_of("warpwayd.conf")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(config or "")
    with open(path_of("log"), "w", encoding="utf-8") as log:
        DAEMON = subprocess.Popen([WARPWAYD, "--socket", ADDRESS, "--config", path], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, env=ENVIRONMENT)
    until(lambda: run("ping").returncode == 0, "the broker does not answer")


def stop_broker():
    global DAEMON
    if DAEMON:
        DAEMON.terminate()
        DAEMON.wait(LIMIT_S)
    DAEMON = None


def put(name, count):
    done = subprocess.run([WARPWAY, "put", "--device", "host", "--life", "kept", name, "-"], input=b"x" * count,
                          capture_output=True, timeout=LIMIT_S, check=False, env=ENVIRONMENT)
    return done.returncode


def unless(reason):
    """A case that is skipped for this reason, if there is one."""
    def decorated(case):
        @functools.wraps(case)
        def run_case():
            return reason or case()
        return run_case
    return decorated


# --- ping ---

def ping_says_how_fast_a_broker_answers():
    start_broker()
    said = good("ping")
    expect(ADDRESS in said and "warpwayd" in said and said.endswith(" us\n"), said)
    lines = [json.loads(line) for line in good("ping", "--json", "--count", "3", "--interval", "0").splitlines()]
    expect(len(lines) == 3, lines)
    for line in lines:
        expect(sorted(line) == sorted("address time_ns version client_version protocol restarts up_ns".split()), line)
        expect(line["time_ns"] > 0 and line["version"] == line["client_version"], line)
    refused(2, "count", "ping", "--count", "0")
    refused(2, "word", "ping", "word")


def ping_without_a_broker():
    refused(2, "broker", "ping", "--broker", path_of("none.sock"))
    stop_broker()
    refused(2, "broker", "ping")
    expect(run("ping").returncode == 2, "it started a broker")


def ping_of_a_broker_that_hangs():
    start_broker()
    pid = json.loads(good("serve", "--status", "--json"))["pid"]
    ping = subprocess.Popen([WARPWAY, "ping", "--count", "1000000", "--interval", "0.01", "--timeout", "2"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        ping.stdout.readline()
        os.kill(pid, signal.SIGSTOP)
        said = ping.stderr.readline()
        expect("does not answer" in said, said)
        ping.send_signal(signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        ping.communicate(timeout=LIMIT_S)
        expect(ping.returncode == 1, ping.returncode)
    finally:
        ping.kill()
        os.kill(pid, signal.SIGCONT)


# --- metrics ---

METRICS = os.path.join(os.path.dirname(WARPWAY), "warpway-metrics")
NOT_BUILT = "warpway-metrics is not built here" if not os.path.exists(METRICS) else None


def metric(text, line):
    """The value in a line that begins so."""
    values = [each.rpartition(" ")[2] for each in text.splitlines() if each.rpartition(" ")[0] == line]
    expect(len(values) == 1, f"{line}: {values}")
    return float(values[0])


@unless(NOT_BUILT)
def metrics_once():
    start_broker()
    expect(put("secret/name", 10) == 0, "put")
    run("get", "none", "-")
    text = good("metrics", "--once")
    expect("secret" not in text, "a name of an object")
    expect(metric(text, "warpway_up") == 1, text)
    labels = f'{{uid="{os.getuid()}",device="host",kind="memory"}}'
    expect(metric(text, "warpway_objects" + labels) == 1, text)
    expect(metric(text, "warpway_object_bytes" + labels) >= 10, text)
    expect(metric(text, 'warpway_requests_total{request="put"}') == 1, text)
    expect(metric(text, f'warpway_user_used_objects{{uid="{os.getuid()}"}}') == 1, text)
    path = path_of("warpway.prom")
    good("metrics", "--once", "--output", path)
    with open(path, encoding="utf-8") as stream:
        expect("warpway_up 1" in stream.read(), "the file")
    expect([name for name in os.listdir(FOLDER) if "prom" in name] == ["warpway.prom"], os.listdir(FOLDER))
    text = good("metrics", "--once", "--broker", path_of("none.sock"))
    expect(metric(text, "warpway_up") == 0 and "warpway_objects" not in text, text)


@unless(NOT_BUILT)
def metrics_of_an_older_broker():
    """One that speaks version 6 has no sums, but it runs."""
    path = path_of("older.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(LIMIT_S)
        with subprocess.Popen([WARPWAY, "metrics", "--once", "--broker", path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as metrics:
            with listener.accept()[0] as link:
                link.settimeout(LIMIT_S)
                while packet := link.recv(4096):
                    code, _, serial = struct.unpack_from("<HHI", packet)
                    if code == 1:
                        reply, body = 101, struct.pack("<HHHB16sI", 6, 1, 6, 0, bytes(range(16)), 0)
                    else:
                        expect(code == 17, f"it was asked {code}")
                        reply, body = 111, bytes(88) + struct.pack("<H5s", 5, b"0.1.0")
                    link.send(struct.pack("<HHIII", reply, 0, serial, 16 + len(body), 0) + body)
            text = metrics.communicate(timeout=LIMIT_S)[0]
    expect(metric(text, "warpway_up") == 1 and "warpway_objects" not in text, text)


@unless(NOT_BUILT)
def metrics_by_promtool():
    if not shutil.which("promtool"):
        return "there is no promtool here"
    done = subprocess.run(["promtool", "check", "metrics"], input=good("metrics", "--once"), capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)
    expect(done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr)
    rules = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../units/warpway-alerts.yml")
    done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)
    text = good("metrics", "--once")
    with open(rules, encoding="utf-8") as stream:
        named = set(re.findall(r"\bwarpway_\w+", "".join(line for line in stream if "expr" in line or line[:12] == " " * 10)))
    for name in named:
        expect(f"# TYPE {name} " in text, f"the rules name {name}, which is no metric")
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`warpway metrics --listen`, until the end of a block. @where: a path; None: a port"""

    def __init__(self, where, *arguments):
        self.where, self.arguments = where, arguments
        self.start()

    def start(self):
        self.where = self.where or f"127.0.0.1:{free_port()}"
        self.process = subprocess.Popen([WARPWAY, "metrics", "--listen", self.where, *self.arguments],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)

    def __enter__(self):
        while True:
            until(lambda: self.process.poll() is not None or self.is_there(), "it does not listen")
            if self.process.poll() is None:
                return self
            errors = self.process.stderr.read()
            self.process.stderr.close()
            # Another process has the port that was free.
            expect(not self.where.startswith("/") and b"in use" in errors, errors)
            self.where = None
            self.start()

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT_S)
        self.process.stderr.close()

    def connect(self):
        if self.where.startswith("/"):
            link = socket.socket(socket.AF_UNIX)
            link.connect(self.where)
        else:
            link = socket.create_connection(("127.0.0.1", int(self.where.rpartition(":")[2])))
        link.settimeout(LIMIT_S)
        return link

    def is_there(self):
        try:
            self.connect().close()
            return True
        except OSError:
            return False

    def ask(self, request):
        """The answer to these bytes, read to its end."""
        with self.connect() as link:
            link.sendall(request)
            answer = b""
            while True:
                more = link.recv(65536)
                if not more:
                    return answer.decode()
                answer += more

    def status(self, method, path, host="127.0.0.1"):
        answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return int(answer.split()[1]), answer


@unless(NOT_BUILT)
def metrics_over_http():
    with Server(None) as server:
        status, answer = server.status("GET", "/metrics")
        expect(status == 200 and "warpway_up 1" in answer and "version=0.0.4" in answer, answer)
        for method, path, wanted in [("POST", "/metrics", 405), ("PUT", "/metrics", 405), ("DELETE", "/metrics", 405),
                                     ("GET", "/", 404), ("GET", "/metrics/", 404), ("GET", "/../metrics", 404),
                                     ("POST", "/other", 404)]:
            status, answer = server.status(method, path)
            expect(status == wanted, f"{method} {path}: {answer}")
            expect(wanted != 405 or "Allow: GET" in answer, answer)
        expect(server.status("GET", "/metrics", "attacker.example")[0] == 403, "a foreign host")
        expect(server.status("GET", "/metrics", "localhost:1")[0] == 200, "localhost")
        server.ask(b"nonsense\r\n\r\n")
        expect(server.status("GET", "/metrics")[0] == 200, "after nonsense")
        stop_broker()
        until(lambda: "warpway_up 0" in server.status("GET", "/metrics")[1], "the broker has ended")
        start_broker()
        until(lambda: "warpway_up 1" in server.status("GET", "/metrics")[1], "the broker is there again")


@unless(NOT_BUILT)
def metrics_on_a_socket():
    path = path_of("metrics.sock")
    with Server(path, "--mode", "0640") as server:
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o640, oct(os.stat(path).st_mode))
        expect(server.status("GET", "/metrics", "any")[0] == 200, "get")
        refused(2, "another process", "metrics", "--listen", path)
    expect(not os.path.exists(path), "the socket is left")
    server = Server(path)
    with server:
        server.process.kill()
        server.process.wait(LIMIT_S)
    with Server(path) as server: # over what the killed one has left
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
    with open(path, "w", encoding="utf-8"):
        pass
    refused(2, "no socket", "metrics", "--listen", path)
    os.unlink(path)
    for kind in [socket.SOCK_SEQPACKET, socket.SOCK_DGRAM]: # of other types, such as a broker's
        with socket.socket(socket.AF_UNIX, kind) as other:
            other.bind(path)
            if kind == socket.SOCK_SEQPACKET:
                other.listen()
            refused(2, "another process", "metrics", "--listen", path)
            expect(os.path.exists(path), "the socket of another process was removed")
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as first:
        other.bind(path)
        other.listen(0)
        first.connect(path) # nobody accepts it, and there is no room for another one
        refused(2, "another process", "metrics", "--listen", path)
    os.unlink(path)


class RawProcess:
    """A process of the broker that names any device, which the library would not do. @uid: whose"""

    def __init__(self, uid):
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.link.settimeout(LIMIT_S)
        os.seteuid(uid)
        try:
            self.link.connect(ADDRESS)
        finally:
            os.seteuid(os.getuid())
        self.ask(1, struct.pack("<HH16sBH3s", 1, 1, os.urandom(16), 0, 3, b"raw"))

    def ask(self, code, body):
        self.link.send(struct.pack("<HHIII", code, 0, 1, 16 + len(body), 0) + body)
        answer = struct.unpack_from("<H", self.link.recv(65536))[0]
        expect(answer in (101, 102), f"request {code} is answered by {answer}")

    def put(self, device):
        self.ask(3, struct.pack("<16s16sHBBIIIQQ8sHH", os.urandom(16), device, 1, 3, 1, 0, 0o600, 2 ** 32 - 1, 4096, 0,
                                bytes(8), 0, 0))


@unless(NOT_BUILT)
def metrics_with_devices_that_are_none():
    """A user that names devices again and again gets no series without end, and takes no other user's."""
    start_broker()
    os.chmod(FOLDER, 0o711)
    os.chmod(ADDRESS, 0o666)
    users = [os.getuid()] if os.getuid() else [65534, 0]
    with Server(path_of("metrics.sock")) as server:
        def page():
            time.sleep(1.1) # an earlier page is given again for a second
            return server.status("GET", "/metrics")[1]

        seen = set()
        for _ in range(6):
            noise = RawProcess(users[0])
            for _ in range(16):
                noise.put(os.urandom(16))
            seen |= set(re.findall(r'^warpway_objects\{(uid="\d+",device="\w[^"]*")', page(), re.M))
            noise.link.close()
        seen.discard(f'uid="{users[0]}",device="other"')
        expect(0 < len(seen) <= 64, len(seen))
        expect(put("memory", 10) == 0, "put")
        others = RawProcess(users[-1])
        if len(users) > 1:
            others.put(b"\xab" * 16)
        text = page()
        others.link.close()
        expect(metric(text, f'warpway_objects{{uid="{users[-1]}",device="host",kind="memory"}}') == 1, text)
        expect(len(users) == 1 or f'warpway_objects{{uid="0",device="GPU-{"ab" * 4}-' in text, text)
    os.chmod(FOLDER, 0o700)


@unless(NOT_BUILT)
def metrics_for_slow_clients():
    """A silent client, and one that sends a byte now and then, lose their connections; others are served."""
    with Server(None) as server:
        begun = time.monotonic()
        links = [server.connect() for _ in range(15)]
        with contextlib.suppress(OSError):
            links[0].sendall(b"GET /metrics HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            while time.monotonic() - begun < LIMIT_S:
                links[1].sendall(b"G")
                time.sleep(0.5)
        expect(5 <= time.monotonic() - begun < LIMIT_S, time.monotonic() - begun)
        expect(links[2].recv(1000) == b"", "the silent one is still connected")
        for link in links:
            link.close()
        until(lambda: server.status("GET", "/metrics")[0] == 200, "others are served")
        crowd = [server.connect() for _ in range(150)] # new ones end the oldest
        expect(server.status("GET", "/metrics")[0] == 200, "others are served beside a crowd")
        expect(crowd[0].recv(1000) == b"", "the oldest of the crowd is still connected")
        for link in crowd:
            link.close()


@unless(NOT_BUILT)
def metrics_wrong_use():
    refused(2, "either --once", "metrics")
    refused(2, "either --once", "metrics", "--once", "--listen", "127.0.0.1:1")
    refused(2, "goes with --once", "metrics", "--listen", "127.0.0.1:1", "--output", "x")
    refused(2, "goes with --listen", "metrics", "--once", "--mode", "0660")
    refused(2, "permission bits", "metrics", "--listen", "127.0.0.1:1", "--mode", "999")
    for where in ["0.0.0.0:9917", "9917", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "example.com:80", "[::]:1",
                  "127.0.0.1:80x"]:
        refused(2, "for this machine", "metrics", "--listen", where)
    refused(2, "absolute path", "metrics", "--listen", "unix:relative")
    refused(2, "absolute path", "metrics", "--listen", "/" + "x" * 200)
    refused(2, "word", "metrics", "--once", "word")


# --- top ---

TOP = os.path.join(os.path.dirname(WARPWAY), "warpway-top")
NO_TOP = "warpway-top is not built here" if not os.path.exists(TOP) else None
NO_SCREEN = NO_TOP or (None if shutil.which("tmux") else "there is no tmux here")


class Terminal:
    """`warpway top` in tmux, until the end of a block."""

    def __init__(self, *arguments, columns=80, lines=24, term="vt100"):
        self.socket = path_of("tmux")
        settings = {"TERM": term, "NO_COLOR": "1", "WARPWAY_BROKER": ADDRESS, "XDG_RUNTIME_DIR": FOLDER,
                    "LC_ALL": "C.UTF-8"}
        command = ["env", *(f"{name}={value}" for name, value in settings.items()), WARPWAY, "top", "--interval", "0.2",
                   *arguments]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *command)

    def tmux(self, *arguments, may_fail=False):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False, env={**ENVIRONMENT, "TERM": "xterm"})
        expect(may_fail or done.returncode == 0, f"tmux {arguments}: {done.stderr}")
        return done

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.tmux("kill-server", may_fail=True)

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def see(self, *words, without=()):
        """Waits until all of these words are on the screen."""
        end = time.monotonic() + LIMIT_S
        while True:
            screen = self.screen()
            if all(word in screen for word in words) and not any(word in screen for word in without):
                return screen
            expect(time.monotonic() < end, f"no {words} without {without} in:\n{screen}")
            time.sleep(0.05)

    def has_ended(self):
        return self.tmux("has-session", may_fail=True).returncode != 0


@unless(NO_SCREEN)
def top_in_a_terminal():
    """As a person uses it: by keys alone, 80 columns, no colour."""
    start_broker()
    for number in range(60):
        expect(put(f"many/{number:02}", 4096 * (number + 1)) == 0, "put")
    expect(put("alone", 5) == 0, "put")
    with Terminal() as terminal:
        screen = terminal.see("61 objects", "objects, by size", "many/59")
        rows = [line for line in screen.splitlines() if "many/" in line]
        expect(len(rows) == 19 and all(len(line) <= 80 for line in screen.splitlines()), screen)
        expect(rows[0].startswith(">") and "many/41" in rows[-1], screen)
        terminal.keys("NPage")
        terminal.see("page 2", "many/40", "many/22", without=["many/41", "many/21"])
        terminal.keys("p")
        terminal.see("page 1", "many/59")
        terminal.keys("n", "n")
        terminal.see("page 3", "many/03")
        terminal.keys("g", "/")
        terminal.keys("-l", "many/1")
        terminal.see("/many/1_")
        terminal.keys("Enter")
        screen = terminal.see("many/19", "many/10", without=["many/20", "many/59"])
        terminal.keys("Down", "Down", "Enter")
        terminal.see("name      many/17", "Its memory is not freed", "its life is kept", "any key goes back")
        terminal.keys("x", "s")
        terminal.see("by BYTES")
        terminal.keys("S", "S")
        screen = terminal.see("by NAME")
        rows = [line for line in screen.splitlines() if " - many/" in line]
        expect([row.split()[-1] for row in rows] == [f"many/{number}" for number in range(10, 20)], screen)
        terminal.keys("r")
        terminal.see("reversed")
        terminal.keys("3")
        terminal.see("BYTES/LIMIT", "61/65536", "users")
        terminal.keys("2")
        terminal.see("PROGRAM", "warpway-top")
        terminal.keys("4")
        terminal.see("DEVICE", "host", "memory", "ENDED")
        terminal.keys("5")
        terminal.see("OF THESE REFUSED FOR", "totals")
        terminal.keys("h")
        terminal.see("Tab", "any key goes back")
        terminal.keys("x", "Tab")
        terminal.see("objects, by size", "many/59")
        terminal.keys("q")
        until(terminal.has_ended, "it has not ended")


@unless(NO_SCREEN)
def top_tells_who_holds_an_object():
    start_broker()
    channel = subprocess.Popen([WARPWAY, "channel", "pub", "--bytes", "4K", "--rate", "200", "--policy", "latest",
                                "camera"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        until(lambda: run("stat", "camera").returncode == 0, "there is no channel")
        with Terminal(columns=100, lines=30, term="xterm") as terminal:
            terminal.see("camera")

            def rate():
                rows = [line.split() for line in terminal.screen().splitlines() if line.endswith(" camera")]
                return rows and rows[0][-2] != "-" and float(rows[0][-2]) > 0

            until(rate, "no rate of the channel's frames")
            terminal.keys("/")
            terminal.keys("-l", "camera")
            terminal.keys("Enter")
            terminal.see("> ", "camera", "/camera")
            terminal.keys("Enter")
            terminal.see("name      camera", f"pid {channel.pid}", "its creator", "- 1 process holds it", "warpway-top (this program)")
            terminal.keys("x")
            channel.send_signal(signal.SIGKILL)
            channel.wait(LIMIT_S)
            # What top looks at does not stay for that.
            until(lambda: run("stat", "camera").returncode == 1, "the channel is still there")
            terminal.see("nothing to show here")
            stop_broker()
            terminal.see("no answer")
            start_broker()
            terminal.see("0 objects")
            terminal.keys("q")
            until(terminal.has_ended, "it has not ended")
    finally:
        channel.kill()
        channel.wait()


@unless(NO_TOP)
def top_once():
    start_broker()
    expect(put("large", 9999) == 0 and put("small", 9) == 0, "put")
    lines = good("top", "--once", "--interval", "0.1").splitlines()
    expect(lines[0].startswith("warpway top: ") and "2 objects" in lines[1], lines)
    expect("broker's own memory " in lines[1] and len(lines[1]) <= 80, lines)
    expect([line.split()[-1] for line in lines[3:]] == ["NAME", "large", "small"], lines)
    for view, word in [("processes", "PROGRAM"), ("users", "OBJECTS"), ("devices", "host"), ("requests", "put")]:
        expect(word in good("top", "--once", "--interval", "0.1", "--view", view), view)
    told = json.loads(good("top", "--once", "--json", "--interval", "0.1", "--rows", "1"))
    expect(sorted(told) == sorted("broker users devices requests objects processes".split()), told)
    expect([each["name"] for each in told["objects"]] == ["large"] and told["objects"][0]["rate_per_s"] is None, told)
    [user] = told["users"]
    expect(user["objects"] == {"used": 2, "limit": 65536} and user["bytes"]["limit"] is None, user)
    expect(told["broker"]["objects"] == 2 and told["broker"]["requests_per_s"] > 0, told)
    # For no list of everything.
    asked = {row["request"] for row in told["requests"]}
    expect({"totals", "largest", "largest_holders"} <= asked and not {"list", "holders", "holds"} & asked, asked)
    refused(2, "--once", "top")
    refused(2, "goes with --once", "top", "--json")
    refused(2, "no view", "top", "--once", "--view", "none")
    refused(2, "interval", "top", "--once", "--interval", "0.01")
    refused(2, "rows", "top", "--once", "--rows", "0")
    refused(2, "word", "top", "word")
    refused(2, "broker", "top", "--once", "--broker", path_of("none.sock"))


@unless(NO_TOP)
def top_tells_the_rate_of_calls():
    start_broker()
    subprocess.run([WARPWAY, "put", "--device", "host", "--shared", "--life", "kept", "bytes", "-"], input=b"x",
                   timeout=LIMIT_S, check=True, env=ENVIRONMENT)

    def rate():
        """Of the service, while this process calls."""
        with subprocess.Popen([WARPWAY, "top", "--once", "--json", "--interval", "0.3"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as top:
            while top.poll() is None:
                good("call", "compute", "warpway.fill", "destination=@bytes", "value=1", "count=1")
            [service] = [each for each in json.load(top.stdout)["objects"] if each["name"] == "compute"]
            return service["rate_per_s"]

    with subprocess.Popen([WARPWAY, "offer", "--data", "--device", "host", "compute"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, env=ENVIRONMENT) as server:
        try:
            good("functions", "--wait-ready", "compute")
            until(lambda: rate() > 0, "no rate of the service's calls")
        finally:
            server.terminate()


@unless(NO_TOP)
def top_shows_work_queues():
    start_broker()
    with subprocess.Popen([MAKER, "host", "jobs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=ENVIRONMENT) as maker:
        try:
            expect(maker.stdout.readline().strip() == "ready", "the queue is there")
            objects = json.loads(good("top", "--once", "--json", "--interval", "0.1"))["objects"]
            [queue] = [each for each in objects if each["name"] == "jobs"]
            parts = [each["work_queue"] for each in objects if each["kind"] == queue["kind"] and each is not queue]
            expect(len(parts) >= 3 and not any(parts), parts)
            expect(queue["rate_per_s"] == 0, queue)
            told = {key: queue["work_queue"][key] for key in ("available", "claimed", "failed", "producers", "consumers",
                                                              "published_total", "acknowledged_total")}
            expect(told == {"available": 2, "claimed": 1, "failed": 1, "producers": 1, "consumers": 1,
                            "published_total": 5, "acknowledged_total": 1}, told)
            if shutil.which("tmux"):
                with Terminal(columns=100, lines=30, term="xterm") as terminal:
                    terminal.keys("/")
                    terminal.keys("-l", "jobs")
                    terminal.keys("Enter")
                    terminal.see("> ", " jobs", "/jobs")
                    terminal.keys("Enter")
                    terminal.see("members   1 of 8 producers, 1 of 16 consumers",
                                 "frames    2 available, 1 claimed, 1 failed and kept",
                                 "totals    5 published, 1 acknowledged, 1 repeated, 1 failed, 0 dropped, 0 lost")
                    terminal.keys("x")
                    maker.communicate(timeout=LIMIT_S)
                    # What top looks at does not stay for that.
                    until(lambda: run("stat", "jobs").returncode == 1, "the queue is still there")
                    terminal.see("nothing to show here")
                    terminal.keys("q")
                    until(terminal.has_ended, "it has not ended")
        finally:
            maker.stdin.close()


def help_ends_the_programs():
    for verb, reason in (("ping", None), ("metrics", NOT_BUILT), ("top", NO_TOP)):
        for option in () if reason else ("--help", "-h"):
            said = good(verb, option)
            expect(said.startswith(f"Usage: warpway {verb} "), said)


# --- refusals in the log ---

def refusals_are_in_the_log():
    start_broker("[limits]\nobjects = 2\n")
    expect(put("one", 10) == 0 and put("two", 10) == 0, "put")
    for name in range(20):
        expect(put(f"more{name}", 10) == 1, "over the quota")
    with open(path_of("log"), encoding="utf-8") as log:
        lines = [line for line in log if "refused" in line]
    expect(1 <= len(lines) <= 10 and f"uid {os.getuid()} " in lines[0] and "put WW_ERR_QUOTA" in lines[0], lines)


def a_user_that_connects_anew_does_not_fill_the_log():
    """Between two connections the user has nothing in the broker, which forgets it."""
    start_broker()
    begun = time.monotonic()
    for _ in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.connect(ADDRESS)
            link.settimeout(LIMIT_S)
            link.send(b"\1" * 40)
            while link.recv(4096):
                pass
    may_be = 1 + (time.monotonic() - begun) // 10
    with open(path_of("log"), encoding="utf-8") as log:
        lines = [line for line in log if "refused" in line]
    expect(1 <= len(lines) <= may_be, lines)


CASES = [ping_says_how_fast_a_broker_answers, ping_without_a_broker, ping_of_a_broker_that_hangs, metrics_once,
         metrics_of_an_older_broker, metrics_by_promtool, metrics_over_http, metrics_on_a_socket,
         metrics_with_devices_that_are_none, metrics_for_slow_clients, metrics_wrong_use,
         top_once, top_in_a_terminal, top_tells_who_holds_an_object, top_tells_the_rate_of_calls,
         top_shows_work_queues, help_ends_the_programs, refusals_are_in_the_log, a_user_that_connects_anew_does_not_fill_the_log]

try:
    sys.exit(main(CASES))
finally:
    stop_broker()
