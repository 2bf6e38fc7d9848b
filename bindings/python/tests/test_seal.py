"""What sealing means: to processes that write, to tokens in flight, and to the process that seals."""
import io
import pickle
import uuid

import numpy
import pytest
import warpway
from waits import until


@pytest.fixture
def name(broker):
    """A name that nothing has; what gets it is removed."""
    chosen = f"seal/{uuid.uuid4().hex}"
    yield chosen
    for info in broker.list(chosen):
        broker.remove(info.name)


def ones(device, kind="device"):
    """An array of ones."""
    array = warpway.empty(4, device=device, kind=kind)
    array.copy_from(numpy.ones(4, "float32"))
    return array


def values(array):
    """The values of an array, as a list."""
    copy = numpy.empty(4, "float32")
    array.copy_to(copy)
    return copy.tolist()


def must_be_read_only(array):
    """Nothing of this process writes the array."""
    assert array.access == array.memory.access == "read"
    with pytest.raises(warpway.AccessDenied):
        array.memory.write(b"x")
    with pytest.raises(warpway.AccessDenied):
        array.copy_from(numpy.zeros(4, "float32"))
    if array.memory.host_pointer:
        assert not numpy.asarray(array).flags.writeable
        assert memoryview(array.memory).readonly
    assert values(array) == [1, 1, 1, 1]


def must_be_writable(array):
    """This process writes the array."""
    assert array.access == "write"
    array.copy_from(numpy.full(4, 3, "float32"))
    assert values(array) == [3, 3, 3, 3]


# --- other processes ---


def write_until_told(parent, array):
    """Writes, and has the array until the test says more."""
    array.copy_from(numpy.full(4, 2, "float32"))
    parent.send(array.access)
    parent.recv()
    array.close()
    parent.send("closed")
    parent.recv()


def test_a_process_that_writes_hinders_sealing_and_is_named(broker, device, name, spawn):
    array = ones(device)
    child = spawn(write_until_told, array)
    assert child.receive() == "write"
    with pytest.raises(warpway.WrongState, match=rf"process {child.pid} \(.+\) .*for writing"):
        broker.put(name, array)
    assert array.access == "write"
    child.send("close")
    assert child.receive() == "closed"
    until(lambda: [info.holders for info in broker.list(unnamed=True)
                   if info.object_id == array.memory.object_id] == [1])
    broker.put(name, array)
    child.send("end")
    assert values(broker.get(name)) == [2, 2, 2, 2]


def open_sealed(parent, token, pickled):
    """Opens what was in flight when it was sealed."""
    parent.recv()
    token = warpway.Token.from_bytes(token)
    try:
        token.open("write")
    except warpway.AccessDenied as error:
        parent.send(str(error))
    for array in token.open(), pickle.loads(pickled):
        parent.send((array.access, array.token().access, values(array)))


def test_a_token_in_flight_is_for_reading_once_it_is_sealed(broker, device, name, spawn):
    array = ones(device)
    child = spawn(open_sealed, array.token("write").to_bytes(), pickle.dumps(array))
    broker.put(name, array)
    child.send("sealed")
    assert "sealed" in child.receive()
    assert child.receive() == child.receive() == ("read", "read", [1, 1, 1, 1])
    child.result()


# --- this process ---


def test_sealed_is_read_only_here(broker, device, name):
    array = ones(device)
    broker.put(name, array)
    must_be_read_only(array)
    broker.put(name, array)
    must_be_read_only(array[:])


def test_published_is_read_only_here(broker, device, name):
    array = ones(device)
    broker.put(name, array, state="writing")
    assert array.access == "write"
    array.memory.publish()
    must_be_read_only(array)


def test_shared_and_refused_stay_writable(broker, device, name):
    array, other = ones(device), ones(device)
    broker.put(name, other, state="shared")
    with pytest.raises(warpway.AlreadyExists):
        broker.put(name, array)
    must_be_writable(array)
    must_be_writable(other)


def test_memory_that_cannot_change_stays_writable(broker, gpu, name):
    array = ones(gpu, kind="host")
    broker.put(name, array)
    must_be_writable(array)


@pytest.mark.parametrize("lend", [
    lambda array: array.__dlpack__(max_version=(1, 0)),
    lambda array: array.memory.pointer,
    lambda array: array.memory.host_pointer,
    lambda array: array.token("write").open(),
    lambda array: pickle.loads(pickle.dumps(array)).memory.access,
    lambda array: warpway.Memory.find(array.memory.pointer),
], ids=["capsule", "pointer", "host pointer", "token", "pickle", "found"])
def test_what_others_may_write_stays_writable(broker, device, name, lend):
    array = ones(device)
    kept = lend(array)
    broker.put(name, array)
    must_be_writable(array)
    del kept


@pytest.mark.parametrize("make", [numpy.asarray, memoryview, lambda array: memoryview(array.memory),
                                  lambda array: numpy.ndarray(array.nbytes, "u1", buffer=memoryview(array))],
                         ids=["numpy", "memoryview", "memory", "base"])
def test_a_view_keeps_it_writable_as_long_as_it_is_out(broker, device, name, make):
    if device != "host":
        pytest.skip("a GPU's memory has no buffer")
    array = ones(device)
    view = make(array)
    broker.put(name, array)
    memoryview(view).cast("B")[0] = 0
    must_be_writable(array)
    del view
    array = ones(device)
    io.BytesIO(b"").readinto(array.memory)  # as torch.frombuffer(), which keeps the address of such a buffer
    broker.put(f"{name}/filled", array)
    must_be_writable(array)
    array = ones(device)
    view = make(array)
    del view
    broker.put(f"{name}/again", array)
    must_be_read_only(array)
