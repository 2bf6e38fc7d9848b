"""What the tests of brokers, watches and pools share: other processes, and waiting for them."""
import multiprocessing
import os
import signal
import threading
import traceback

import warpway

LIMIT = 60  # seconds after which a test fails that would wait for ever
SPAWN = multiprocessing.get_context("spawn")


class Peer:
    """A process that runs function(connection, *arguments); what it sends is read by receive()."""

    def __init__(self, function, *arguments):
        self.connection, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=run_peer, args=(function, theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def pid(self):
        return self.process.pid

    def send(self, message):
        self.connection.send(message)

    def receive(self):
        assert self.connection.poll(LIMIT), "the other process sends nothing"
        answer = self.connection.recv()
        if isinstance(answer, PeerFailed):
            raise AssertionError(f"in the other process:\n{answer.text}")
        return answer

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def kill(self):
        self.process.kill()
        self.process.join(LIMIT)

    def end(self):
        """Waits until it ends by itself."""
        self.process.join(LIMIT)
        assert self.process.exitcode == 0


class PeerFailed:
    def __init__(self, text):
        self.text = text


def run_peer(function, connection, *arguments):
    try:
        function(connection, *arguments)
    except BaseException:
        connection.send(PeerFailed(traceback.format_exc()))
        raise


class Caller:
    """Calls function(*arguments) in a thread: result() returns what it returned, or raises."""

    def __init__(self, function, *arguments):
        self.returned = self.raised = None
        self.thread = threading.Thread(target=self.run, args=(function, *arguments), daemon=True)
        self.thread.start()

    def run(self, function, *arguments):
        try:
            self.returned = function(*arguments)
        except BaseException as error:
            self.raised = error

    def result(self):
        self.thread.join(LIMIT)
        assert not self.thread.is_alive(), "the call does not end"
        if self.raised is not None:
            raise self.raised
        return self.returned


def until_waits(broker, count=1):
    """Until so many calls wait in the broker."""
    while broker.info().waits < count:
        pass


def memory_of(device, data, kind="device"):
    """A Memory that begins with these bytes."""
    memory = warpway.Memory(len(data), device, kind)
    memory.write(data)
    return memory
