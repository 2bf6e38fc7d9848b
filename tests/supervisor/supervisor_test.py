#!/usr/bin/env python3
"""supervisor_test.py WARPWAYD - that the supervisor keeps, whoever is killed

WARPWAYD is the daemon with a broker process that does as it is told, see server.c. Every case has a folder
of its own; whatever it started is killed at its end. Nothing sleeps: deaths are awaited by pidfd, answers by
a socket with a limit. Speaks TAP.
"""
import contextlib
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WARPWAYD = os.path.realpath(sys.argv[1])
LIMIT_S = 60 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))

DONE, CANNOT, AGAIN = 0, 2, 75


def expect(what, told):
    if not what:
        raise AssertionError(told)


def wait_for_end(*pids):
    """Waits until processes that are no children of ours have ended."""
    for pid in pids:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = select.select([pidfd], [], [], LIMIT_S)[0]
        os.close(pidfd)
        expect(ended, f"process {pid} has not ended")


def kill(*pids):
    """Kills processes with SIGKILL and waits until they are gone."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for_end(*pids)


class Info:
    """What the broker says of itself and of what it keeps."""

    def __init__(self, text):
        words = [int(word) for word in text.split()]
        self.broker, self.supervisor, self.restarts, self.idle_s = words[:4]
        self.kept = words[4:]


class Daemon:
    """One daemon at an address of its own, and whatever it becomes."""

    def __init__(self, folder, program=WARPWAYD):
        self.program, self.folder = program, folder
        self.path = os.path.join(folder, "run", "s")
        self.config = os.path.join(folder, "conf")
        self.process = None

    def command(self, *options):
        return [self.program, "--socket", self.path, *options]

    def launch(self, *command, folder=None, **settings):
        """In the foreground. Returns when it says to its service manager that it serves."""
        notify = os.path.join(self.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(notify)
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env={**os.environ, "NOTIFY_SOCKET": notify, **settings})
            pidfd = os.pidfd_open(self.process.pid)
            heard = select.select([manager, pidfd], [], [], LIMIT_S)[0]
            os.close(pidfd)
            expect(manager in heard, "it does not serve")
            expect(b"READY=1" in manager.recv(1000), "it says something else")
        os.unlink(notify)
        return self.ask("info")

    def start(self, *options, **settings):
        return self.launch(*self.command(*options), **settings)

    def start_as_client(self, *options, program=None, **settings):
        """As the library does. Returns all that the daemon wrote before it closed the pipe."""
        ours, theirs = os.pipe()
        command = [program or self.program, "--socket", self.path, "--ready-fd", str(theirs), *options]
        done = subprocess.run(command, pass_fds=[theirs], timeout=LIMIT_S, check=False,
                              stderr=subprocess.DEVNULL, env={**os.environ, **settings})
        os.close(theirs)
        line = b""
        while True:
            expect(select.select([ours], [], [], LIMIT_S)[0], f"silence after {line}")
            more = os.read(ours, 1000)
            if not more:
                break
            line += more
        os.close(ours)
        return done.returncode, line.decode()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(LIMIT_S)
        connection.connect(self.path)
        return connection

    def tell(self, text):
        """Says something that has no answer: the connection's end is one."""
        with self.connect() as connection:
            connection.send(text.encode())
            expect(connection.recv(10) == b"", "an answer where the end was expected")

    def ask(self, text):
        """Says something and returns the answer. A broker that dies meanwhile is followed by another."""
        while True:
            with self.connect() as connection:
                try:
                    connection.send(text.encode())
                    answer = connection.recv(300000)
                except (BrokenPipeError, ConnectionResetError):
                    continue
            if answer:
                return Info(answer.decode())

    def another(self, info):
        """Waits for a broker that is not this one any more."""
        while True:
            now = self.ask("info")
            if now.broker != info.broker:
                return now

    def processes(self):
        """Every process of this address, by its role's command line."""
        found = set()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as line:
                    words = line.read().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if words[0] == b"warpwayd" and self.path.encode() in words:
                found.add(int(name))
        return found

    def clean(self):
        """Stops them all before it kills one: who is left would take the place of who is killed."""
        stopped = set()
        while self.processes() - stopped:
            for pid in self.processes() - stopped:
                with contextlib.suppress(ProcessLookupError):  # it ends meanwhile
                    os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process:
            self.process.kill()
            self.process.stderr.close()
            self.process.wait()


def descriptors(pid):
    """The open descriptors of a process, with what they stand for."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def kept_by(pid, numbers):
    """Every one of these is open there, and is the file that was kept under this number."""
    for number in numbers:
        with open(f"/proc/{pid}/fd/{number}", encoding="ascii") as kept:
            text = kept.read()
        expect(text == str(number), f"process {pid} has {text!r} as {number}")


def check_all(info, numbers):
    """Both processes have exactly these."""
    expect(info.kept == numbers, f"{info.kept} and not {numbers}")
    for pid in (info.broker, info.supervisor):
        kept_by(pid, numbers)
    first = min(numbers)
    expect([n for n in sorted(descriptors(info.supervisor)) if n >= first] == numbers,
           "the supervisor has others too")


# --- cases -------------------------------------------------------------------------------------------------------


def command_lines(daemon):
    for wrong in (["--nonsense"], ["word"], ["--socket"], ["--socket", ""], ["--socket-mode", "9"],
                  ["--socket-mode", "01777"], ["--socket", "/" + "a" * 108], ["--ready-fd", "77"],
                  ["--ready-fd", "x"], ["--ready-fd", "1"], ["--role", "supervisor"], ["--role", "x"],
                  ["--config"], ["--restarts", "-1"], ["--role", "broker", "--program", "/x"]):
        done = subprocess.run([WARPWAYD, *wrong], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        expect(done.returncode == 2, f"{wrong}: status {done.returncode}")
        expect(re.fullmatch(r"warpwayd: [^\n]+\n", done.stderr), f"{wrong}: {done.stderr!r}")
    for right, word in (("--help", "Usage: warpwayd"), ("--version", "warpwayd 0.")):
        done = subprocess.run([WARPWAYD, right], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        expect(done.returncode == 0 and word in done.stdout and not done.stderr, f"{right}: {done}")
    code, line = daemon.start_as_client("--nonsense")
    expect(code == 2 and line.startswith("failed: there is no option --nonsense"), line)


def serves_and_ends(daemon):
    for number in (signal.SIGTERM, signal.SIGINT):
        info = daemon.start()
        expect(info.supervisor == daemon.process.pid and info.restarts == 0, "it is its own supervisor")
        expect(os.stat(daemon.path).st_mode & 0o777 == 0o600, "the socket's mode")
        os.kill(info.supervisor, number)
        expect(daemon.process.wait(LIMIT_S) == 0, "the exit status")
        wait_for_end(info.broker)
        expect(not os.path.exists(daemon.path), "the socket is left")
        daemon.process.stderr.close()


def mode_of_the_socket(daemon):
    daemon.start("--socket-mode", "0666")
    expect(os.stat(daemon.path).st_mode & 0o777 == 0o666, "the socket's mode")


def relative_path(daemon):
    info = daemon.launch(WARPWAYD, "--socket", "run/s", folder=daemon.folder)
    os.kill(info.supervisor, signal.SIGTERM)
    expect(daemon.process.wait(LIMIT_S) == 0, "the exit status")
    expect(not os.path.exists(daemon.path), "the socket is left")


def started_by_a_client(daemon):
    stray = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(stray, True)
    code, line = daemon.start_as_client()
    os.close(stray)
    expect((code, line) == (0, "ready\n"), f"{code} {line!r}")
    info = daemon.ask("info")
    expect(os.getsid(info.supervisor) == info.supervisor, "a session of its own")
    for pid in (info.supervisor, info.broker):
        expect(os.readlink(f"/proc/{pid}/cwd") == "/", "the folder")
        for stream in range(3):
            expect(descriptors(pid)[stream] == "/dev/null", "standard streams")
    expect([n for n in sorted(descriptors(info.supervisor)) if n < 16] == [0, 1, 2, 3, 4, 5],
           f"the supervisor has {descriptors(info.supervisor)}")
    expect(daemon.start_as_client() == (0, "ready\n"), "it serves already")
    expect(daemon.ask("info").supervisor == info.supervisor, "the same one")


def runtime_folder(daemon):
    daemon.path = os.path.join(daemon.folder, "warpway", "broker.sock")
    daemon.launch(WARPWAYD, XDG_RUNTIME_DIR=daemon.folder)
    expect(os.stat(os.path.dirname(daemon.path)).st_mode & 0o777 == 0o700, "the folder's mode")


def failed(daemon, word, *options, **settings):
    code, line = daemon.start_as_client(*options, **settings)
    expect(code == 0 and line.startswith("failed: ") and line.endswith("\n") and word in line,
           f"{code} {line!r} without {word!r}")
    done = subprocess.run(daemon.command(*options), capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, env={**os.environ, **settings})
    expect(done.returncode == 1 and word in done.stderr, f"{done}")


def limits_that_are_too_low(daemon):
    for which, told in [(resource.RLIMIT_FSIZE, "ulimit -f"), (resource.RLIMIT_AS, "ulimit -v"),
                        (resource.RLIMIT_NOFILE, "ulimit -n")]:
        if which == resource.RLIMIT_NOFILE and os.geteuid() == 0:
            continue  # the daemon raises it
        if which == resource.RLIMIT_AS and "WW_TEST_SLOWNESS" in os.environ:
            continue  # sanitizers need more than any limit
        low = 64 if which == resource.RLIMIT_NOFILE else 512 << 10
        if which == resource.RLIMIT_AS:
            low = 512 << 20
        done = subprocess.run(daemon.command(), check=False, capture_output=True, timeout=LIMIT_S,
                              preexec_fn=lambda: resource.setrlimit(which, (low, low)))
        text = done.stderr.decode()
        expect(done.returncode == 1 and told in text, f"{told}: {done.returncode}, {text}")


def reasons_not_to_start(daemon):
    folder = os.path.dirname(daemon.path)
    with open(daemon.config, "w", encoding="ascii") as config:
        config.write("[limits]\nbytes = many\n")
    failed(daemon, ":2: \"many\"", "--config", daemon.config)
    expect(not os.path.exists(folder), "something was made before the configuration was read")
    failed(daemon, "cannot read the configuration", "--config", daemon.config + "x")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    failed(daemon, "others may write")
    os.chmod(folder, 0o700)
    if os.geteuid() == 0:
        os.chown(folder, 4242, 4242)
        failed(daemon, "belongs to user 4242")
        os.chown(folder, 0, 0)
    with open(daemon.path, "w", encoding="ascii"):
        pass
    failed(daemon, "is no socket")
    os.unlink(daemon.path)
    os.unlink(daemon.path + ".lock")
    os.symlink("/nowhere", daemon.path + ".lock")
    failed(daemon, "cannot open the lock")
    os.unlink(daemon.path + ".lock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(daemon.path)
        other.listen()
        failed(daemon, "not a broker")
    os.unlink(daemon.path)
    shutil.rmtree(folder)
    os.symlink("/tmp", folder)
    failed(daemon, "is no folder")


def many_at_once(daemon):
    pipes = [os.pipe() for _ in range(30)]
    starters = []
    for _, theirs in pipes:
        command = daemon.command("--ready-fd", str(theirs))
        starters.append(subprocess.Popen(command, pass_fds=[theirs], stderr=subprocess.DEVNULL))
    for (ours, theirs), starter in zip(pipes, starters):
        expect(starter.wait(LIMIT_S) == 0, "the exit status")
        os.close(theirs)
        expect(select.select([ours], [], [], LIMIT_S)[0], "silence")
        expect(os.read(ours, 100) == b"ready\n", "not ready")
    for ours, _ in pipes:
        os.close(ours)
    info = daemon.ask("info")
    deadline = time.monotonic() + LIMIT_S
    while daemon.processes() != {info.supervisor, info.broker}:  # the others end after their word
        expect(time.monotonic() < deadline, f"{daemon.processes()}")


def broker_killed(daemon):
    daemon.start()
    info = daemon.ask("keep 20")
    kept = info.kept
    for count in range(1, 31):
        kill(info.broker)
        info = daemon.another(info)
        expect(info.restarts == count, f"{info.restarts} restarts")
        check_all(info, kept)
        expect(info.supervisor == daemon.process.pid, "the same supervisor")


def supervisor_killed(daemon):
    info = daemon.start()
    kept = daemon.ask("keep 20").kept
    for count in range(1, 16):
        heir = info.broker
        os.kill(info.supervisor, signal.SIGKILL)
        if count == 1:
            daemon.process.wait(LIMIT_S)
        else:
            wait_for_end(info.supervisor)
        info = daemon.another(info)
        expect(info.supervisor == heir, "the broker has become the supervisor")
        expect(info.restarts == count, f"{info.restarts} restarts")
        check_all(info, kept)
        # Six always, the signals' one and two of the thread that closes. Others are open for a moment: while the service
        # manager is told, and until that thread has closed what the broker had.
        deadline = time.monotonic() + LIMIT_S
        while True:
            low = [number for number in sorted(descriptors(heir)) if number < min(kept)]
            if low[:6] == [0, 1, 2, 3, 4, 5] and len(low) <= 9:
                break
            expect(time.monotonic() < deadline, f"the heir has {low}")
            time.sleep(0.01)
    os.kill(info.supervisor, signal.SIGTERM)
    wait_for_end(info.supervisor, info.broker)
    expect(not os.path.exists(daemon.path), "the socket is left")


def killed_in_turns(daemon):
    info = daemon.start()
    expected = daemon.ask("keep 4").kept
    for turn in range(20):
        os.kill(info.supervisor if turn % 2 else info.broker, signal.SIGKILL)
        if info.supervisor == daemon.process.pid and turn % 2:
            daemon.process.wait(LIMIT_S)
        info = daemon.another(info)
        check_all(info, expected)
        info = daemon.ask("keep 3")
        expect(len(info.kept) == len(expected) + 3, "three more")
        expected = info.kept


def both_killed(daemon):
    info = daemon.start()
    daemon.ask("keep 5")
    os.kill(info.supervisor, signal.SIGSTOP)  # or it would start another
    kill(info.broker)
    os.kill(info.supervisor, signal.SIGKILL)
    daemon.process.wait(LIMIT_S)
    expect(os.path.exists(daemon.path), "the socket is there still")
    try:
        daemon.connect()
        raise AssertionError("somebody listens")
    except ConnectionRefusedError:
        pass
    daemon.process.stderr.close()
    info = daemon.start()
    expect(info.kept == [] and info.restarts == 0, "nothing is left")


def dropped(daemon):
    daemon.start()
    info = daemon.ask("keep 10")
    first = info.kept[0]
    info = daemon.ask(f"drop {first + 2} {first + 5}")
    expected = [first, first + 1, *range(first + 6, first + 10)]
    kill(info.broker)
    info = daemon.another(info)
    check_all(info, expected)
    info = daemon.ask("keep 1")
    expect(info.kept[2] == first + 2, "the lowest free number is used again")
    kept = info.kept
    kill(info.broker)
    check_all(daemon.another(info), kept)


def switches(pid):
    """How often the threads of a process but its first have waited."""
    count = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        if int(thread) != pid:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as status:
                count += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read(), re.M)[1])
    return count


def large_is_closed_by_a_thread(daemon):
    info = daemon.start()
    expect(len(os.listdir(f"/proc/{info.supervisor}/task")) == 2, "the supervisor has no thread that closes")
    first = daemon.ask("keep 4").kept[0]
    deadline = time.monotonic() + LIMIT_S
    while switches(info.supervisor) == 0:
        expect(time.monotonic() < deadline, "the thread does not wait")
    # The thread may have waited for something else first, as for a lock: one of several rounds has to be quiet.
    for count in range(1, 51):
        before = switches(info.supervisor)
        daemon.ask(f"drop {first} {first + 3}")
        kept = daemon.ask("keep 4").kept  # behind the former; and what it says is in the supervisor's queue
        kill(info.broker)
        info = daemon.another(info)  # by now the supervisor has read all of that
        check_all(info, kept)
        if switches(info.supervisor) == before:
            break
        expect(count < 50, "what is small is closed aside")
    daemon.ask(f"drop {first} {first + 3}")
    for _ in range(3):
        before = switches(info.supervisor)
        kept = daemon.ask("large 4").kept
        daemon.ask(f"drop {first} {first + 3}")
        expect(kept == daemon.ask("keep 4").kept, "the numbers are used again")
        deadline = time.monotonic() + LIMIT_S
        while switches(info.supervisor) == before:
            expect(time.monotonic() < deadline, "what is large is closed by the supervisor itself")
        kill(info.broker)
        info = daemon.another(info)
        check_all(info, kept)
        daemon.ask(f"drop {first} {first + 3}")


def thousands(daemon):
    daemon.start()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    info = daemon.ask(f"keep {min(5000, limit // 2)}")
    kept = info.kept
    kill(info.broker)
    check_all(daemon.another(info), kept)


def nonsense(daemon):
    info = daemon.start()
    kept = daemon.ask("keep 3").kept
    for which in range(10):
        daemon.tell(f"nonsense {which}")
        info = daemon.another(info)
        check_all(info, kept)
        expect(info.supervisor == daemon.process.pid, "the same supervisor")


def deaf_broker(daemon):
    info = daemon.start()
    kept = daemon.ask("keep 3").kept
    daemon.tell("deafen")
    check_all(daemon.another(info), kept)


def set_mode(program, mode):
    if mode:
        with open(program + ".mode", "w", encoding="ascii") as file:
            file.write(mode + "\n")
    else:
        os.unlink(program + ".mode")


def install(daemon, name="warpwayd"):
    """A copy of the program in the case's folder, put there as a package manager does."""
    program = os.path.join(daemon.folder, name)
    shutil.copy(WARPWAYD, program + ".new")
    os.rename(program + ".new", program)
    return program


def brokers_that_cannot_start(daemon):
    daemon.program = install(daemon)
    for mode in ("cannot", "abort"):
        set_mode(daemon.program, mode)
        failed(daemon, "")
        expect(not os.path.exists(daemon.path), "the socket is left")


def brokers_that_cannot_start_again(daemon):
    daemon.program = install(daemon)
    info = daemon.start()
    kept = daemon.ask("keep 3").kept
    for mode in ("abort", "cannot"):
        set_mode(daemon.program, mode)
        kill(info.broker)
        for _ in range(3):
            read_until(daemon, b"before it was ready")
        kept_by(info.supervisor, kept)
        set_mode(daemon.program, None)
        info = daemon.another(info)
        check_all(info, kept)
        expect(info.supervisor == daemon.process.pid, "the same supervisor")


def idle_end(daemon):
    info = daemon.start()
    daemon.tell(f"exit {DONE}")
    expect(daemon.process.wait(LIMIT_S) == 0, "the exit status")
    wait_for_end(info.broker)
    expect(not os.path.exists(daemon.path), "the socket is left")


def idle_end_while_a_client_waits(daemon):
    info = daemon.start()
    with daemon.connect() as first, daemon.connect() as second:
        second.send(b"info")
        first.send(f"exit {DONE}".encode())
        text = second.recv(1000).decode()
    expect(Info(text).broker != info.broker, "another broker answers")
    daemon.tell(f"exit {AGAIN}")
    daemon.another(Info(text))


def config_is_kept(daemon):
    with open(daemon.config, "w", encoding="ascii") as config:
        config.write("[broker]\nidle_s = 5\n")
    info = daemon.start("--config", daemon.config)
    expect(info.idle_s == 5, "as configured")
    for text in ("[broker]\nidle_s = wrong\n", None):
        if text:
            with open(daemon.config, "w", encoding="ascii") as config:
                config.write(text)
        else:
            os.unlink(daemon.config)
        kill(info.broker)
        info = daemon.another(info)
        expect(info.idle_s == 5, "as before")
    os.kill(info.supervisor, signal.SIGKILL)
    info = daemon.another(info)
    expect(info.idle_s == 5, "as before")


def read_until(daemon, word):
    while True:
        line = daemon.process.stderr.readline()
        expect(line, f"it ended without {word}")
        if word in line:
            return line


def config_is_read_again(daemon):
    def write(idle_s):
        with open(daemon.config, "w", encoding="ascii") as config:
            config.write(f"[broker]\nidle_s = {idle_s}\n")

    write(5)
    info = daemon.start("--config", daemon.config)
    kept = daemon.ask("keep 3").kept
    for text, idle_s, word in (("6", 6, b"upgraded"), ("wrong", 6, b"failed"), ("7", 7, b"upgraded")):
        write(text)
        os.kill(info.supervisor, signal.SIGHUP)
        read_until(daemon, word)
        info = daemon.another(info)
        expect(info.idle_s == idle_s, f"{info.idle_s} and not {idle_s}")
        check_all(info, kept)
        expect(info.supervisor == daemon.process.pid, "the same supervisor")
    os.unlink(daemon.config)
    os.kill(info.supervisor, signal.SIGHUP)
    read_until(daemon, b"the configuration stays as it is")
    expect(daemon.another(info).idle_s == 7, "as before")


def upgrade(daemon):
    daemon.program = install(daemon)
    info = daemon.start()
    kept = daemon.ask("keep 3").kept
    old = os.stat(f"/proc/{info.supervisor}/exe").st_ino
    for mode in ("abort", "cannot", None):
        install(daemon)
        new = os.stat(daemon.program).st_ino
        set_mode(daemon.program, mode)
        os.kill(info.supervisor, signal.SIGHUP)
        read_until(daemon, b"upgrade failed" if mode else b"upgraded")
        info = daemon.another(info)
        check_all(info, kept)
        for pid in (info.broker, info.supervisor):
            expect(os.stat(f"/proc/{pid}/exe").st_ino == (old if mode else new), "which program")
        expect(info.supervisor == daemon.process.pid, "the same supervisor")
    kill(info.broker)
    info = daemon.another(info)
    check_all(info, kept)
    heir = info.broker
    os.kill(info.supervisor, signal.SIGKILL)
    daemon.process.wait(LIMIT_S)
    info = daemon.another(info)
    expect(info.supervisor == heir, "the broker has become the supervisor")
    check_all(info, kept)


def upgrade_to_nothing(daemon):
    daemon.program = install(daemon)
    info = daemon.start()
    kept = daemon.ask("keep 3").kept
    os.unlink(daemon.program)
    os.kill(info.supervisor, signal.SIGHUP)
    read_until(daemon, b"upgrade failed")
    check_all(daemon.another(info), kept)


def service(daemon):
    os.mkdir(os.path.dirname(daemon.path))
    notify = os.path.join(daemon.folder, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        manager.bind(notify)
        manager.settimeout(LIMIT_S)
        listener.bind(daemon.path)
        listener.listen()

        def hear(word):
            text = manager.recv(1000).decode()
            expect(word in text.split("\n"), f"{word} is not in {text!r}")

        def activate():
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", NOTIFY_SOCKET=notify)
            os.dup2(listener.fileno(), 3)
            os.execv(WARPWAYD, [WARPWAYD])

        pid = os.fork()
        if pid == 0:
            try:
                activate()
            finally:
                os._exit(99)
        hear("READY=1")
        info = daemon.ask("info")
        expect(info.supervisor == pid, "the supervisor")
        kept = daemon.ask("keep 2").kept
        os.kill(info.supervisor, signal.SIGKILL)
        os.waitpid(pid, 0)
        hear(f"MAINPID={info.broker}")
        info = daemon.another(info)
        expect(info.kept == kept, "what was kept")
        os.kill(info.supervisor, signal.SIGHUP)
        hear("RELOADING=1")
        hear("READY=1")
        info = daemon.another(info)
        os.kill(info.supervisor, signal.SIGTERM)
        hear("STOPPING=1")
        wait_for_end(info.supervisor, info.broker)
    expect(os.path.exists(daemon.path), "the socket is systemd's, and stays")


CASES = [command_lines, serves_and_ends, mode_of_the_socket, relative_path, started_by_a_client,
         runtime_folder, reasons_not_to_start, limits_that_are_too_low, many_at_once, broker_killed, supervisor_killed,
         killed_in_turns, both_killed, dropped,
         large_is_closed_by_a_thread, thousands, nonsense, deaf_broker,
         brokers_that_cannot_start, brokers_that_cannot_start_again, idle_end,
         idle_end_while_a_client_waits, config_is_kept, config_is_read_again, upgrade,
         upgrade_to_nothing, service]


def run_case(case):
    """Why it failed, or None."""
    folder = tempfile.mkdtemp(prefix="warpway-")
    daemon = Daemon(folder)
    try:
        case(daemon)
        return None
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        daemon.clean()
        shutil.rmtree(folder)


def main():
    chosen = [case for case in CASES if len(sys.argv) < 3 or case.__name__ in sys.argv[2:]]
    print(f"1..{len(chosen)}")
    for number, case in enumerate(chosen, 1):
        why = run_case(case)
        if why:
            print("# " + why.replace("\n", "\n# "))
        print(f"{'not ' if why else ''}ok {number} - {case.__name__.replace('_', ' ')}", flush=True)


main()
