"""Brokers: objects under names, and what happens when processes end."""
import os
import pathlib
import pickle
import select
import signal
import threading
import uuid

import pytest

import warpway
from broker_peers import Caller, LIMIT, Peer, memory_of, until_waits


@pytest.fixture
def broker():
    with warpway.Broker() as opened:
        yield opened


@pytest.fixture
def name(broker):
    """A name that nothing has; what gets it is removed."""
    chosen = f"test/{uuid.uuid4().hex}"
    yield chosen
    for info in broker.list(chosen):
        try:
            broker.remove(info.name)
        except warpway.NotFound:
            pass


@pytest.fixture
def start():
    """Starts a function in a process of its own, which is gone after the test."""
    peers = []

    def begin(function, *arguments):
        peers.append(Peer(function, *arguments))
        return peers[-1]

    yield begin
    for peer in peers:
        peer.kill()


# --- the connection ---


def test_a_broker_is_one_however_often_it_is_opened(broker):
    with warpway.Broker(broker.address) as other:
        assert other == broker and hash(other) == hash(broker)
        assert other is not broker
    assert other != broker
    assert other == other
    assert broker != broker.address


def test_an_address_may_be_a_path(broker):
    with warpway.Broker(pathlib.Path(broker.address)) as other:
        assert other.address == broker.address


def test_info_describes_the_broker(broker):
    info = broker.info()
    assert info.address == broker.address
    assert info.uid == os.getuid()
    assert info.pid != os.getpid() and info.supervisor_pid != info.pid
    assert info.holders >= 1
    assert info.age > 0
    assert info.version.startswith(warpway.__version__.split(".", maxsplit=1)[0])


def test_totals_are_those_of_the_lists(broker, name, device):
    memory = memory_of(device, b"bytes")
    before = broker.totals()
    broker.put(name, memory)
    with pytest.raises(warpway.NotFound):
        broker.stat(f"{name}/none")
    totals = broker.totals()
    objects = [each for each in broker.list(unnamed=True) if each.state != "removed"]
    [user] = [each for each in totals["users"] if each["uid"] == os.getuid()]
    assert totals["broker"]["is_all"]
    assert user["objects"] == len(objects)
    assert user["bytes"] == sum(each.bytes for each in objects)
    assert sum(each["objects"] for each in totals["devices"]) == len(objects)
    assert sum(each["bytes"] for each in totals["devices"]) == sum(each.bytes for each in objects)

    def count(totals, request, refused):
        return sum(each["count"] for each in totals["requests"]
                   if (each["request"], each["refused"]) == (request, refused))

    assert count(totals, "put", None) == count(before, "put", None) + 1
    assert count(totals, "stat", "WW_ERR_NOT_FOUND") == count(before, "stat", "WW_ERR_NOT_FOUND") + 1


def test_no_broker_listens(tmp_path):
    with pytest.raises(warpway.NoBroker) as caught:
        warpway.Broker(tmp_path / "none.sock", start=False, timeout=1)
    assert isinstance(caught.value, ConnectionError)


@pytest.mark.parametrize("arguments, error", [
    ({"timeout": 0}, ValueError),
    ({"timeout": -1}, ValueError),
    ({"timeout": float("nan")}, ValueError),
    ({"timeout": "5"}, TypeError),
    ({"address": 5}, TypeError),
    ({"address": "a\0b"}, ValueError),
    ({"address": "relative.sock"}, ValueError),
    ({"address": "/" + "long/" * 100}, ValueError),
    ({"other": 1}, TypeError),
])
def test_arguments_of_a_broker_are_checked(arguments, error):
    with pytest.raises(error):
        warpway.Broker(**arguments)


def test_a_closed_broker_serves_no_call(broker):
    closed = warpway.Broker()
    assert not closed.closed
    closed.close()
    closed.close()
    assert closed.closed
    assert closed.address == broker.address
    assert repr(closed) == f"<warpway.Broker {broker.address} closed>"
    memory = warpway.Memory(1, "host")
    for call in [closed.list, closed.who, closed.info, closed.in_flight, closed.watch,
                 lambda: closed.get("a"), lambda: closed.stat("a"), lambda: closed.remove("a"),
                 lambda: closed.put("a", memory)]:
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_broker_is_not_pickled(broker):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="address"):
            pickle.dumps(broker, protocol)


# --- put and get ---


def test_what_is_put_can_be_got(broker, name, device):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory)
    assert memory.broker == broker
    got = broker.get(name, device=device)
    assert got.read(0, 5) == b"bytes"
    assert got.access == "read"
    info = broker.stat(name)
    assert (info.name, info.kind, info.state, info.life) == (name, "memory", "sealed", "held")
    assert (info.mode, info.uid, info.pid) == (0o600, os.getuid(), os.getpid())
    assert info.is_own and info.time_left is None and info.shape is None
    assert info.object_id == got.object_id
    assert memory.name == got.name == name and f"'{name}', " in repr(got)
    assert memory_of(device, b"bytes").name is None


def test_without_a_device_it_is_the_one_that_holds_the_bytes(broker, name, device):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory)
    assert broker.get(name).device == warpway.Device(device)
    assert broker.get(name, timeout=None).device == warpway.Device(device)


def get_bytes(connection, name, access, device):
    memory = warpway.Broker().get(name, access=access, device=device, timeout=LIMIT)
    connection.send(memory.read(0, 5))
    if access == "write":
        memory.write(b"reply")
    connection.send(memory.access)
    connection.recv()


def test_another_process_reads_and_writes(broker, name, device, start):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory, state="shared")
    peer = start(get_bytes, name, "write", device)
    assert peer.receive() == b"bytes"
    assert peer.receive() == "write"
    assert memory.read(0, 5) == b"reply"


def get_array(connection, name):
    array = warpway.Broker().get(name, timeout=LIMIT)
    connection.send((array.shape, str(array.dtype), array.memory.read(4, 8)))
    if array.memory.host_pointer:
        import numpy

        numbers = numpy.frombuffer(memoryview(array.memory), numpy.float32)
        connection.send(numbers[1:7].reshape(2, 3).sum())


def test_an_array_arrives_as_an_array(broker, name, device, start):
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(7, dtype=numpy.float32)
    memory = memory_of(device, numbers.tobytes())
    array = memory.array((2, 3), "float32", offset=4)
    broker.put(name, array)
    info = broker.stat(name)
    assert info.shape == (2, 3) and info.dtype == "float32"
    peer = start(get_array, name)
    assert peer.receive() == ((2, 3), "float32", numbers[1:3].tobytes())
    if memory.host_pointer:
        assert peer.receive() == 21
    peer.end()


def test_a_timeline_and_a_barrier_have_names(broker, name):
    timeline = warpway.Timeline()
    broker.put(name, timeline)
    for got in (broker.get(name), broker.get(name, device="host"), broker.get(name, timeout=1)):
        assert type(got) is warpway.Timeline
    with pytest.raises(warpway.AlreadyExists):
        broker.put(name, warpway.Timeline())
    other = warpway.Timeline()
    broker.put(name, other, replace=True, mode=0o640)
    assert broker.stat(name).mode == 0o640
    barrier = warpway.Barrier(2, name + "/barrier")
    assert type(broker.get(name + "/barrier")) is warpway.Barrier
    with pytest.raises(warpway.Unsupported):
        broker.get(name, owner=os.getuid())
    del barrier


@pytest.mark.parametrize("arguments", [
    {"life": "held"}, {"state": "shared"}, {"ttl": 1}, {"timeout": 1}])
def test_a_timeline_is_not_put_like_memory(broker, name, arguments):
    with pytest.raises(warpway.InvalidArgument, match="mode, group and replace"):
        broker.put(name, warpway.Timeline(), **arguments)
    with pytest.raises(warpway.InvalidArgument, match="token"):
        broker.put(None, warpway.Timeline())


def put_later(connection, name, device):
    connection.recv()
    memory = memory_of(device, b"later")
    warpway.Broker().put(name, memory)
    connection.send("put")
    connection.recv()


def test_a_get_waits_for_a_name(broker, name, device, start):
    peer = start(put_later, name, device)
    waiting = Caller(lambda: broker.get(name, timeout=None))
    until_waits(broker)
    peer.send("go")
    assert waiting.result().read(0, 5) == b"later"
    assert peer.receive() == "put"


def test_a_get_ends_with_its_time(broker, name):
    with pytest.raises(warpway.NotFound) as caught:
        broker.get(name)
    assert isinstance(caught.value, LookupError)
    for timeout in (1e-9, 0.01):
        with pytest.raises(TimeoutError):
            broker.get(name, timeout=timeout)
        with pytest.raises(warpway.Timeout):
            broker.get(name, timeout=timeout, device="host")


def test_a_get_is_cancelled(broker, name):
    stop = warpway.Cancel()
    waiting = Caller(lambda: broker.get(name, timeout=None, cancel=stop))
    until_waits(broker)
    stop.set()
    with pytest.raises(warpway.Cancelled):
        waiting.result()


def test_a_broker_may_be_closed_while_a_get_waits(broker, name):
    memory = memory_of("host", b"bytes")
    used = warpway.Broker()
    waiting = Caller(lambda: used.get(name, timeout=None))
    until_waits(broker)
    used.close()
    broker.put(name, memory)
    assert waiting.result().read(0, 5) == b"bytes"


# --- states and lives ---


def test_what_is_written_can_be_got_when_it_is_published(broker, name, device, start):
    memory = memory_of(device, b"draft")
    broker.put(name, memory, state="writing")
    peer = start(get_bytes, name, "read", device)
    with pytest.raises(warpway.WrongState):
        broker.get(name, device=device)
    for timeout in (1e-9, 0.01):
        with pytest.raises(warpway.Timeout):
            broker.get(name, timeout=timeout)
    until_waits(broker)
    memory.write(b"final")
    memory.publish(broker=broker)
    assert peer.receive() == b"final"
    assert broker.stat(name).state == "sealed"
    with pytest.raises(warpway.WrongState):
        memory.publish("shared")


def write_and_wait(connection, name, device):
    memory = warpway.Memory(5, device)
    warpway.Broker().put(name, memory, state="writing")
    connection.send("put")
    connection.recv()


def test_a_writer_that_is_killed_ends_the_waits(broker, name, device, start):
    peer = start(write_and_wait, name, device)
    assert peer.receive() == "put"
    waiting = Caller(lambda: broker.get(name, timeout=None))
    until_waits(broker)
    peer.kill()
    with pytest.raises(warpway.PeerLost):
        waiting.result()


def put_and_wait(connection, name, device, life):
    memory = memory_of(device, b"bytes")
    warpway.Broker().put(name, memory, life=life)
    connection.send("put")
    connection.recv()


@pytest.mark.parametrize("life", ["held", "owner", "kept"])
def test_objects_end_by_their_life(broker, name, device, start, life):
    with broker.watch(name) as watch:
        peer = start(put_and_wait, name, device, life)
        assert peer.receive() == "put"
        assert broker.stat(name).life == life
        got = broker.get(name)
        assert [watch.next(LIMIT).what for _ in range(2)] == ["put", "ready"]
        peer.kill()
        if life == "held":
            got.close()
        if life == "kept":
            broker.remove(name)
        assert watch.next(LIMIT).what == ("removed" if life == "kept" else "gone")
    if life != "held":
        assert got.read(0, 5) == b"bytes"
    with pytest.raises(warpway.NotFound):
        broker.get(name)


def test_a_time_to_live_ends(broker, name):
    memory = memory_of("host", b"bytes")
    with broker.watch(name) as watch:
        broker.put(name, memory, life="kept", ttl=0.05)
        events = [watch.next(LIMIT) for _ in range(3)]
    assert [event.what for event in events] == ["put", "ready", "expired"]
    assert 0 < events[0].object.time_left <= 0.05
    memory = memory_of("host", b"bytes")
    broker.put(name, memory, life="kept", ttl=float("inf"))
    assert broker.stat(name).time_left is None


def test_memory_without_a_name(broker, device):
    memory = memory_of(device, b"bytes")
    broker.put(None, memory, state="shared")
    found = [info for info in broker.list(unnamed=True) if info.object_id == memory.object_id]
    assert [info.name for info in found] == [""]
    assert memory.object_id not in [info.object_id for info in broker.list()]


def test_replace_takes_the_name_over(broker, name):
    old, new, newest = (memory_of("host", text) for text in (b"old", b"new", b"newest"))
    broker.put(name, old)
    broker.put(name, old)
    with pytest.raises(warpway.AlreadyExists) as caught:
        broker.put(name, new)
    assert isinstance(caught.value, FileExistsError)
    broker.put(name, new, replace=True)
    assert broker.get(name).read(0, 3) == b"new"
    broker.put(name, newest, replace=True, state="writing")
    assert broker.get(name).read(0, 3) == b"new"
    newest.publish()
    assert broker.get(name).read(0, 6) == b"newest"


# --- who may ---


def test_access_is_denied(broker, name):
    memory = memory_of("host", b"bytes")
    broker.put(name, memory)
    with pytest.raises(warpway.AccessDenied) as caught:
        broker.get(name, access="write")
    assert isinstance(caught.value, PermissionError)
    assert broker.get(name, owner=os.getuid()).read(0, 5) == b"bytes"
    for device in (None, "host"):
        with pytest.raises(warpway.AccessDenied):
            broker.get(name, owner=os.getuid() + 1, device=device)
    other = memory_of("host", b"bytes")
    if os.getuid() != 0:
        with pytest.raises(warpway.AccessDenied):
            broker.put(f"~{os.getuid() + 1}/name", other)
        with pytest.raises(warpway.AccessDenied):
            broker.put(name + "/2", other, group=max(os.getegid(), *os.getgroups()) + 1)
    broker.put(name + "/2", other, group=os.getegid(), mode=0o640)
    assert broker.stat(name + "/2").gid == os.getegid()


def test_a_mapping_of_its_own(broker, name):
    memory = memory_of("host", b"bytes")
    broker.put(name, memory, state="shared")
    mappings = [broker.get(name, device="host", own_mapping=True) for _ in range(2)]
    assert mappings[0].pointer != mappings[1].pointer
    assert broker.get(name, device="host", no_slow_route=True).read(0, 5) == b"bytes"


# --- arguments ---


@pytest.mark.parametrize("bad, error", [
    ("", ValueError),
    ("a//b", ValueError),
    ("../a", ValueError),
    ("/a", ValueError),
    ("a\nb", ValueError),
    ("a\0b", ValueError),
    ("\ud800", ValueError),
    ("n" * 192, ValueError),
    (5, TypeError),
    (b"a", TypeError),
])
def test_names_are_checked(broker, bad, error):
    memory = warpway.Memory(1, "host")
    for call in (broker.get, broker.stat, broker.remove, lambda name: broker.put(name, memory),
                 lambda name: broker.get(name, timeout=1)):
        with pytest.raises(error):
            call(bad)


@pytest.mark.parametrize("arguments, error", [
    ({"mode": 0}, ValueError),
    ({"mode": 0o1000}, ValueError),
    ({"mode": -1}, ValueError),
    ({"mode": "rw"}, TypeError),
    ({"life": "long"}, ValueError),
    ({"life": 1}, TypeError),
    ({"state": "removed"}, ValueError),
    ({"state": None}, TypeError),
    ({"ttl": 1}, ValueError),
    ({"ttl": 0, "life": "kept"}, ValueError),
    ({"ttl": -1, "life": "kept"}, ValueError),
    ({"group": -1}, ValueError),
    ({"group": 2 ** 32}, ValueError),
    ({"group": 2 ** 64}, OverflowError),
    ({"group": "video"}, TypeError),
    ({"timeout": -1}, ValueError),
    ({"timeout": "1"}, TypeError),
    ({"cancel": 1}, TypeError),
    ({"obj": None}, TypeError),
    ({"obj": b"bytes"}, TypeError),
    ({"other": 1}, TypeError),
])
def test_arguments_of_put_are_checked(broker, name, arguments, error):
    with pytest.raises(error):
        broker.put(**{"name": name, "obj": warpway.Memory(1, "host"), **arguments})
    assert broker.list(name) == []


@pytest.mark.parametrize("arguments, error", [
    ({"access": "all"}, ValueError),
    ({"access": None}, TypeError),
    ({"device": "none"}, warpway.Error),
    ({"device": 1.5}, TypeError),
    ({"owner": -1}, ValueError),
    ({"owner": "root"}, TypeError),
    ({"timeout": -1}, ValueError),
    ({"timeout": float("nan")}, ValueError),
    ({"cancel": object()}, TypeError),
    ({"other": 1}, TypeError),
])
def test_arguments_of_get_are_checked(broker, name, arguments, error):
    memory = warpway.Memory(1, "host")
    broker.put(name, memory)
    with pytest.raises(error):
        broker.get(name, **arguments)


def test_closed_memory_is_not_put(broker, name):
    memory = warpway.Memory(4, "host")
    array = memory.array(4, "uint8")
    memory.close()
    for obj in (memory, array):
        with pytest.raises(ValueError, match="closed"):
            broker.put(name, obj)


# --- lists ---


def test_lists_are_in_order_of_names(broker, name):
    memories = {f"{name}/{i}": memory_of("host", b"bytes") for i in (2, 0, 1)}
    for each, memory in memories.items():
        broker.put(each, memory)
    assert [info.name for info in broker.list(name)] == sorted(memories)
    assert [info.name for info in broker.list(name + "/1")] == [name + "/1"]
    assert set(memories) <= {info.name for info in broker.list()}
    broker.remove(name + "/0")
    with pytest.raises(warpway.NotFound):
        broker.remove(name + "/0")
    with pytest.raises(warpway.NotFound):
        broker.stat(name + "/0")
    assert [info.name for info in broker.list(name)] == sorted(memories)[1:]
    assert memories[name + "/0"].read(0, 5) == b"bytes"
    removed = [info for info in broker.list(unnamed=True) if info.state == "removed"]
    assert memories[name + "/0"].object_id in [info.object_id for info in removed]


def test_many_objects_and_holders_are_listed_once(broker, name):
    memories = [memory_of("host", b"bytes") for _ in range(200)]
    for i, memory in enumerate(memories):
        broker.put(f"{name}/{i:03}", memory)
    assert [info.name for info in broker.list(name)] == [f"{name}/{i:03}" for i in range(200)]
    own = [process for process in broker.who() if process.pid == os.getpid()]
    assert len(own) == 1
    assert {memory.object_id for memory in memories} <= set(own[0].objects)
    assert own[0].held == len(own[0].objects) and own[0].put >= 200
    assert own[0].attached and own[0].uid == os.getuid()


def test_who_names_the_processes_that_hold_an_object(broker, name, device, start):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory)
    peer = start(get_bytes, name, "read", device)
    assert peer.receive() == b"bytes"
    holders = [process.pid for process in broker.who() if memory.object_id in process.objects]
    assert sorted(holders) == sorted([os.getpid(), peer.pid])
    assert broker.stat(name).holders == 2


def open_token(connection, token):
    memory = warpway.Token(token).open()
    connection.send(memory.read(0, 5))
    connection.recv()


def test_tokens_in_flight_are_listed(broker, name, device, start):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory, state="shared")
    token = memory.token("read", escrow=LIMIT, uses=1)
    flights = [flight for flight in broker.in_flight() if flight.object_id == memory.object_id]
    assert [flight.access for flight in flights] == ["read"]
    assert flights[0].bytes >= memory.nbytes
    assert flights[0].time_left is None and flights[0].age >= 0  # its time starts when this process ends
    assert (flights[0].uses, flights[0].is_own) == (1, True)
    assert start(open_token, token.to_bytes()).receive() == b"bytes"
    assert memory.object_id not in [flight.object_id for flight in broker.in_flight()]


# --- signals ---


def get_until_interrupted(connection, name, device):
    try:
        warpway.Broker().get(name, timeout=None, device=device)
    except KeyboardInterrupt:
        connection.send("interrupted")


@pytest.mark.parametrize("is_named", [False, True])
def test_ctrl_c_ends_a_get(broker, name, device, start, is_named):
    peer = start(get_until_interrupted, name, device if is_named else None)
    until_waits(broker)
    peer.interrupt()
    assert peer.receive() == "interrupted"
    peer.end()


def get_despite_signals(connection, name):
    calls = []
    signal.signal(signal.SIGUSR1, lambda number, frame: (calls.append(1), connection.send("called")))
    memory = warpway.Broker().get(name, timeout=None)
    connection.send((memory.read(0, 5), len(calls)))


def test_a_get_goes_on_after_a_signal(broker, name, start):
    memory = memory_of("host", b"bytes")
    peer = start(get_despite_signals, name)
    until_waits(broker)
    for _ in range(3):
        os.kill(peer.pid, signal.SIGUSR1)
        assert peer.receive() == "called"
    broker.put(name, memory)
    assert peer.receive() == (b"bytes", 3)


# --- the broker is killed ---


def test_objects_survive_a_broker_that_is_killed(broker, name, device, start):
    memory = memory_of(device, b"bytes")
    broker.put(name, memory, state="shared")
    before = broker.info()
    peer = start(get_bytes, name, "write", device)
    assert peer.receive() == b"bytes"
    assert peer.receive() == "write"
    waiting = Caller(lambda: broker.get(name + "/later", timeout=None))
    until_waits(broker)
    end = os.pidfd_open(before.pid)
    os.kill(before.pid, signal.SIGKILL)
    assert select.select([end], [], [], LIMIT)[0]
    os.close(end)
    assert broker.stat(name).object_id == memory.object_id
    after = broker.info()
    assert after.pid != before.pid and after.supervisor_pid == before.supervisor_pid
    assert after.restarts == before.restarts + 1
    assert broker.get(name).read(0, 5) == b"reply"
    later = memory_of("host", b"later")
    broker.put(name + "/later", later)
    assert waiting.result().read(0, 5) == b"later"


# --- threads ---


def use(name, brokers, memories, stop):
    """Calls that may fail in every way, but only with an exception."""
    while not stop.is_set():
        for call in (lambda: brokers[0].put(name, memories[0], replace=True),
                     lambda: brokers[0].get(name), lambda: brokers[0].list(name),
                     lambda: memories[0].broker.info(), lambda: brokers[0].who()):
            try:
                call()
            except (warpway.Error, ValueError, AttributeError):
                pass


def test_threads_use_and_close_one_broker(broker, name):
    stop = threading.Event()
    memories = [[memory_of("host", b"bytes")] for _ in range(4)]
    brokers = [[warpway.Broker()] for _ in range(2)]
    callers = [Caller(use, name, brokers[i % 2], memories[i], stop) for i in range(4)]
    for i in range(50):
        brokers[i % 2][0].close()
        memories[i % 4][0].close()
        memories[i % 4][0] = memory_of("host", b"bytes")
        brokers[i % 2][0] = warpway.Broker()
        broker.list()
    stop.set()
    for caller in callers:
        caller.result()
