"""Brokers: objects under names, and what happens when processes end."""
import contextlib
import os
import pathlib
import pickle
import signal
import threading
import uuid
import warnings

import numpy
import pytest

import warpway
from arrays import memory_of
from children import LIMIT_S
from waits import in_thread, interrupted, until, until_waits


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

    def count(totals, request, refused):
        return sum(each["count"] for each in totals["requests"]
                   if (each["request"], each["refused"]) == (request, refused))

    def agree():
        """What earlier tests have left may end between the calls."""
        totals = broker.totals()
        objects = [each for each in broker.list(unnamed=True) if each.state != "removed"]
        [user] = [each for each in totals["users"] if each["uid"] == os.getuid()]
        number, nbytes = len(objects), sum(each.bytes for each in objects)
        return (user["objects"], user["bytes"], sum(each["objects"] for each in totals["devices"]),
                sum(each["bytes"] for each in totals["devices"])) == (number, nbytes, number, nbytes)

    until(agree, broker.totals)
    totals = broker.totals()
    assert totals["broker"]["is_all"]
    for request, refused in (("put", None), ("stat", "WW_ERR_NOT_FOUND")):
        assert count(totals, request, refused) > count(before, request, refused)


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


def sockets():
    """How many sockets this process has."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the folder's own
            pass
    return sum(link.startswith("socket:") for link in links)


def use_and_close(_, device):
    warpway.Stream(device).close()  # the driver keeps a socket from its first use on
    before = sockets()
    with warpway.Broker() as broker:
        connected = sockets()
        warpway.Channel(None, slot_bytes=8, device=device, broker=broker).close()
        warpway.WorkQueue(None, slot_bytes=8, device=device, broker=broker).close()
        warpway.Service(device=device, broker=broker).close()
    until(lambda: sockets() == before, sockets)
    return connected - before


def test_the_connection_ends_with_its_last_use(broker, device, spawn):
    assert spawn(use_and_close, device).result() == 1


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
                 lambda: closed.end("a"), lambda: closed.end(object_id="0" * 32),
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


def get_array(connection, name):
    array = warpway.Broker().get(name, timeout=LIMIT_S)
    connection.send((array.shape, str(array.dtype), array.memory.read(4, 8)))
    if array.memory.host_pointer:
        numbers = numpy.frombuffer(memoryview(array.memory), numpy.float32)
        connection.send(numbers[1:7].reshape(2, 3).sum())


def test_an_array_arrives_as_an_array(broker, name, device, spawn):
    numbers = numpy.arange(7, dtype=numpy.float32)
    memory = memory_of(device, numbers.tobytes())
    array = memory.array((2, 3), "float32", offset=4)
    broker.put(name, array)
    info = broker.stat(name)
    assert info.shape == (2, 3) and info.dtype == "float32"
    peer = spawn(get_array, name)
    assert peer.receive() == ((2, 3), "float32", numbers[1:3].tobytes())
    if memory.host_pointer:
        assert peer.receive() == 21
    peer.result()


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


def test_a_get_waits_for_a_name(broker, name, device):
    """Other threads run meanwhile; one of them puts it, or sets the Cancel."""
    memory, stop = memory_of(device, b"later"), warpway.Cancel()
    waiting = [in_thread(broker.get, each, timeout=None, cancel=stop) for each in (name, name + "/never")]
    until_waits(broker, 2)
    broker.put(name, memory)
    assert waiting[0]().read(0, 5) == b"later"
    stop.set()
    with pytest.raises(warpway.Cancelled):
        waiting[1]()


@pytest.mark.parametrize("is_named", [False, True])
def test_ctrl_c_ends_a_get(broker, name, device, is_named):
    interrupted(broker.get, name, timeout=None, device=device if is_named else None)
    assert broker.list(name) == []


def test_a_get_goes_on_after_a_signal(broker, name):
    memory, handled = memory_of("host", b"bytes"), []

    def send():
        until_waits(broker)
        for count in range(1, 4):
            os.kill(os.getpid(), signal.SIGUSR1)
            until(lambda: len(handled) == count)
        broker.put(name, memory)

    former = signal.signal(signal.SIGUSR1, lambda *unused: handled.append(1))
    try:
        sending = in_thread(send)
        assert broker.get(name, timeout=None).read(0, 5) == b"bytes"
        sending()
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_what_a_handler_raises_during_a_call_that_fails_is_not_lost(broker, name):
    class Alarm(Exception):
        pass

    handled = []

    def handle(*unused):
        handled.append(True)
        raise Alarm

    def fail_until_alarm():
        handled.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while not handled:
            with contextlib.suppress(warpway.NotFound):
                broker.stat(name)

    former = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(5):
            with pytest.raises(Alarm):
                fail_until_alarm()
    finally:
        signal.signal(signal.SIGALRM, former)


def test_a_get_waits_for_what_another_thread_puts(broker, name):
    for i in range(10):
        timeline = warpway.Timeline()
        putting = in_thread(lambda: (until_waits(broker), broker.put(f"{name}/{i}", timeline)))
        assert type(broker.get(f"{name}/{i}", timeout=LIMIT_S)) is warpway.Timeline
        putting()


def test_a_get_ends_with_its_time(broker, name):
    with pytest.raises(warpway.NotFound) as caught:
        broker.get(name)
    assert isinstance(caught.value, LookupError)
    for timeout in (1e-9, 0.01):
        with pytest.raises(TimeoutError):
            broker.get(name, timeout=timeout)
        with pytest.raises(warpway.Timeout):
            broker.get(name, timeout=timeout, device="host")


def test_a_broker_may_be_closed_while_a_get_waits(broker, name):
    memory = memory_of("host", b"bytes")
    used = warpway.Broker()
    waiting = in_thread(lambda: used.get(name, timeout=None))
    until_waits(broker)
    used.close()
    broker.put(name, memory)
    assert waiting().read(0, 5) == b"bytes"


# --- states and lives ---


def test_what_is_written_is_published(broker, name, device):
    memory = memory_of(device, b"draft")
    broker.put(name, memory, state="writing")
    assert broker.stat(name).state == "writing"
    with pytest.raises(warpway.WrongState):
        broker.get(name)
    memory.write(b"final")
    memory.publish(broker=broker)
    assert broker.get(name).read(0, 5) == b"final" and broker.stat(name).state == "sealed"
    with pytest.raises(warpway.WrongState):
        memory.publish("shared")


@pytest.mark.parametrize("life", ["held", "owner", "kept"])
def test_lives(broker, name, device, life):
    """What each means: tests/integration/broker_life.c."""
    memory = memory_of(device, b"bytes")
    broker.put(name, memory, life=life)
    assert broker.stat(name).life == life
    memory.close()
    assert [info.name for info in broker.list(name)] == ([name] if life != "held" else [])


def test_what_nobody_keeps_is_warned_of(broker, name, device):
    """It leaves the broker at once."""
    with pytest.warns(ResourceWarning, match=f"'{name}' has left the broker again.*life='kept'"):
        broker.put(name, warpway.zeros(3, device=device))
    assert broker.list(name) == []
    with warnings.catch_warnings(record=True) as others, warpway.Pool("host") as pool:
        warnings.simplefilter("always")
        array = warpway.zeros((2, 3), device=device)
        broker.put(name, array[0])
        broker.put(f"{name}/kept", warpway.zeros(3, device=device), life="kept")
        broker.put(f"{name}/owner", pool.empty(3, "uint8"))
        other = warpway.zeros(3, device=device)
        broker.put(f"{name}/found", warpway.Memory.find(other.pointer)[0])
        del array, other
        assert len(broker.list(name)) == 2 and others == []


def test_a_time_to_live_ends(broker, name):
    memory = memory_of("host", b"bytes")
    with broker.watch(name) as watch:
        broker.put(name, memory, life="kept", ttl=0.05)
        events = [watch.next(LIMIT_S) for _ in range(3)]
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
    old, new = memory_of("host", b"old"), memory_of("host", b"new")
    broker.put(name, old)
    with pytest.raises(warpway.AlreadyExists) as caught:
        broker.put(name, new)
    assert isinstance(caught.value, FileExistsError)
    broker.put(name, new, replace=True)
    assert broker.get(name).read(0, 3) == b"new"


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
    ("a//b", ValueError),
    ("a\0b", ValueError),
    ("\ud800", ValueError),
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
    ({"mode": -1}, ValueError),
    ({"mode": "rw"}, TypeError),
    ({"life": "long"}, ValueError),
    ({"life": 1}, TypeError),
    ({"state": "removed"}, ValueError),
    ({"state": 1}, TypeError),
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
    assert set(memories) <= {info.name for info in broker.list()}
    broker.remove(name + "/0")
    with pytest.raises(warpway.NotFound):
        broker.remove(name + "/0")
    with pytest.raises(warpway.NotFound):
        broker.stat(name + "/0")
    assert [info.name for info in broker.list(name)] == sorted(memories)[1:]
    assert memories[name + "/0"].read(0, 5) == b"bytes"
    unnamed = {info.object_id: info.state for info in broker.list(unnamed=True) if not info.name}
    assert unnamed[memories[name + "/0"].object_id] == "sealed"


def test_lists_leave_out_what_is_inside_other_objects(broker, name):
    with warpway.Channel(name, 3, "float32", device="host", broker=broker):
        inner = f"@{broker.stat(name).object_id}/"
        assert not [info.name for info in broker.list() if info.name.startswith(inner)]
        assert [info.name for info in broker.list(inner)] == [inner + "slots"]
        assert inner + "slots" in [info.name for info in broker.list(unnamed=True)]


def test_a_memory_goes_on_without_its_name(broker, name):
    memory = memory_of("host", b"bytes")
    broker.put(name, memory)
    other = memory_of("host", b"other")
    broker.put(name, other, replace=True)
    assert memory.token().open().read(0, 5) == b"bytes"
    with pytest.raises(warpway.NotFound, match="id and name"):
        broker.end(name, object_id=memory.object_id)  # the name is another one's
    token = memory.token(uses=2)
    broker.end(object_id=memory.object_id)
    with pytest.raises(warpway.NotFound):
        broker.end(object_id=memory.object_id)
    with pytest.raises(warpway.NotFound, match="does not hold"):
        memory.token()
    assert memory.read(0, 5) == b"bytes"
    broker.put(name + "/again", memory)
    broker.end(name + "/again")
    with pytest.raises(warpway.NotFound):
        broker.stat(name + "/again")
    del token


def test_end_says_what_it_needs(broker, name):
    for arguments, kind, words in (({}, TypeError, "a name, an object_id or both"),
                                   ({"object_id": "12"}, ValueError, "32 hexadecimal digits"),
                                   ({"object_id": 3}, ValueError, "32 hexadecimal digits"),
                                   ({"name": 3}, TypeError, "a name is a str")):
        with pytest.raises(kind, match=words):
            broker.end(**arguments)


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
    assert broker.stat(f"{name}/000").holders == 1


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
    callers = [in_thread(use, name, brokers[i % 2], memories[i], stop) for i in range(4)]
    for i in range(50):
        brokers[i % 2][0].close()
        memories[i % 4][0].close()
        memories[i % 4][0] = memory_of("host", b"bytes")
        brokers[i % 2][0] = warpway.Broker()
        broker.list()
    stop.set()
    for caller in callers:
        caller()
