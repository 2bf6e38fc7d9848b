# SPDX-License-Identifier: Apache-2.0
"""What a shared memory keeps stays until no other process uses it."""

import gc
import sys
import threading
import time
import weakref

import pytest
import warpway
from children import run_python
from waits import until


class Owner:
    """Owns bytes, as an allocator of another library does."""


def wrap(device):
    """A Memory, and a weak reference to what it keeps."""
    owner = Owner()
    owner.base = warpway.Memory(1 << 21, device)
    return warpway.Memory.wrap(owner.base.pointer, 4096, device, keep=owner), weakref.ref(owner)


def until_gone(reference):
    """Until what a memory keeps is gone."""
    until(lambda: reference() is None)


def use(parent, memory):
    """Uses a memory, which came as a token, until the test says more."""
    parent.send(memory.read(nbytes=3))
    while parent.recv() == "read":
        parent.send(memory.read(nbytes=3))
    memory.close()
    parent.recv()


@pytest.mark.parametrize("how", ["close", "with", "del"])
def test_importer_keeps_what_was_shared(device, spawn, how):
    memory, reference = wrap(device)
    memory.write(b"abc")
    child = spawn(use, memory.token(uses=1))
    assert child.receive() == b"abc"
    identity, broker = memory.object_id, warpway.Broker()
    if how == "close":
        memory.close()
    elif how == "with":
        with memory:
            pass
    del memory
    gc.collect()
    time.sleep(0.1)  # long enough for a thread that asks too little
    child.send("read")
    assert child.receive() == b"abc" and reference() is not None
    assert any(identity in process.objects for process in broker.who() if process.pid == child.pid)
    child.send("close")
    until_gone(reference)


def test_importer_that_dies(device, spawn):
    memory, reference = wrap(device)
    children = [spawn(use, memory.token(uses=1)) for _ in range(2)]
    for child in children:
        child.receive()
    memory.close()
    children[0].kill()
    time.sleep(0.1)
    assert reference() is not None
    children[1].kill()
    until_gone(reference)


def test_token_in_flight(device):
    for escrow in (0.3, 3, 30):  # it may be over before this process looks
        began = time.monotonic()
        memory, reference = wrap(device)
        token = memory.token(escrow=escrow)
        memory.close()
        if reference() is not None:
            break
        assert time.monotonic() - began >= escrow
    until_gone(reference)
    with pytest.raises((warpway.NotFound, warpway.PeerLost)):
        token.open()


def test_token_opened_after_the_release(device, spawn):
    memory, reference = wrap(device)
    memory.write(b"xyz")
    token = memory.token(uses=1)
    memory.close()
    child = spawn(use, token)
    assert child.receive() == b"xyz" and reference() is not None
    child.send("close")
    until_gone(reference)


def test_name_that_others_got(device, spawn):
    memory, reference = wrap(device)
    broker = warpway.Broker()
    broker.put("lent/name", memory, state="shared")
    child = spawn(use_name, "lent/name")
    child.receive()
    memory.close()
    time.sleep(0.1)
    assert reference() is not None
    child.send("close")
    until_gone(reference)


def use_name(parent, name):
    memory = warpway.Broker().get(name)
    parent.send(None)
    parent.recv()
    memory.close()
    parent.recv()


def test_memory_that_was_not_shared(device):
    memory, reference = wrap(device)
    memory.close()
    assert reference() is None


def test_many_use_one_thread(device, spawn):
    made = [wrap(device) for _ in range(100)]
    threads = threading.active_count()
    child = spawn(use_all, [memory.token(uses=1) for memory, _ in made])
    child.receive()
    for memory, _ in made:
        memory.close()
    assert threading.active_count() <= threads + 1
    assert all(reference() is not None for _, reference in made)
    child.send("close")
    for _, reference in made:
        until_gone(reference)


def use_all(parent, memories):
    parent.send([memory.read(nbytes=1) for memory in memories])
    parent.recv()
    for memory in memories:
        memory.close()
    parent.recv()


def test_end_of_python_does_not_wait(device):
    program = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        import warpway
        from test_lent import wrap
        for memory in [wrap({device!r})[0] for _ in range(2)]:
            memory.token()
        memory.close()
    """
    assert run_python(program) == ""


# --- tensors in slices of a pool ---


class Tensor:
    """Of an allocator that places it in a slice."""

    def __init__(self, array):
        self.array, self.device = array, array.__dlpack_device__()

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, max_version=None, **_):
        return self.array.__dlpack__(max_version=max_version)


def read_bytes(parent, array):
    def content():
        places = [array.offset + i * array.strides[0] for i in range(array.shape[0])]
        return b"".join(array.memory.read(place, 1) for place in places)

    parent.send((content(), array.memory.is_slice))
    parent.recv()
    return content()


@pytest.mark.parametrize("step", [1, -2])
def test_tensor_in_a_slice(device, spawn, step):
    with warpway.Pool(device, bytes_max=2 << 20) as pool:
        whole = pool.empty(100, "uint8")
        whole.copy_from(bytes(range(100)))
        part = whole[90:50:step] if step < 0 else whole[50:90:step]
        shared = warpway.share(Tensor(part))
        assert shared.memory.is_slice and (shared.pointer, shared.strides) == (part.pointer, part.strides)
        expected = bytes(range(100))[90:50:step] if step < 0 else bytes(range(50, 90))
        child = spawn(read_bytes, shared)
        assert child.receive() == (expected, True)
        whole.close()
        part.close()
        shared.close()
        del whole, part, shared
        with pytest.raises(warpway.LimitReached):
            pool.empty(2 << 20, "uint8")
        child.send("again")
        assert child.result() == expected


def test_read_only_tensor_in_a_slice(device):
    with warpway.Pool(device) as pool:
        array = pool.empty(100, "uint8")
        opened = array.memory.token(access="read", uses=1).open()
        with pytest.raises(warpway.Unsupported):
            warpway.share(Tensor(opened.array(100, "uint8")))
