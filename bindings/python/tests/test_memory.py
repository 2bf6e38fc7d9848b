# SPDX-License-Identifier: Apache-2.0
"""Memory: its bytes, its life, and what it says about itself."""

import ctypes
import gc
import os
import socket
import threading
import weakref

import pytest

import warpway
from waits import in_thread


@pytest.fixture
def memory(device):
    with warpway.Memory(5000, device) as made:
        yield made


def test_says_what_it_is(memory, device):
    assert memory.nbytes == 2 << 20
    assert memory.kind == "device"
    assert memory.access == "write"
    assert memory.route in ("local", "host")
    assert memory.device == warpway.Device(device)
    assert len(memory.object_id) == 32
    assert memory.offset == 0 and memory.total_bytes == memory.nbytes
    assert not memory.is_slice and not memory.is_wrapped and not memory.is_mapped
    assert memory.broker is None
    assert "2097152 bytes" in repr(memory)


def test_write_and_read(memory):
    memory.write(b"some bytes", 100)
    assert memory.read(100, 10) == b"some bytes"
    assert memory.read(memory.nbytes - 3) == bytes(3)
    buffer = bytearray(5)
    memory.readinto(buffer, 102)
    assert buffer == b"me by"
    memory.write(memoryview(b"abc")[1:], 0)
    assert memory.read(0, 3) == b"bc\0"


@pytest.mark.parametrize("offset, data", [(-1, b"a"), (1 << 21, b"a"), (1 << 64, b"a")])
def test_write_outside_is_refused(memory, offset, data):
    with pytest.raises(ValueError):
        memory.write(data, offset)


def test_read_outside_is_refused(memory):
    with pytest.raises(warpway.InvalidArgument):
        memory.read(0, memory.nbytes + 1)
    assert memory.read(memory.nbytes) == b""


def test_host_memory_is_a_buffer(device):
    memory = warpway.Memory(4096, device, kind="host")
    view = memoryview(memory)
    view[3:6] = b"xyz"
    assert memory.read(3, 3) == b"xyz"
    memory.close()
    assert bytes(view[3:6]) == b"xyz"  # the view keeps the bytes


def test_memory_of_a_gpu_is_no_buffer(memory, device):
    if device == "host":
        memoryview(memory)
    else:
        with pytest.raises(BufferError, match="read"):
            memoryview(memory)


def test_closed_memory(memory):
    memory.close()
    memory.close()
    assert memory.closed
    assert "closed" in repr(memory)
    for use in (
        lambda: memory.nbytes,
        lambda: memory.read(),
        lambda: memory.write(b"a"),
        lambda: memory.token(),
        lambda: memoryview(memory),
        lambda: memory.array(1, "uint8"),
        lambda: memory.revoke(),
        lambda: memory.publish(),
    ):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_weak_reference(device):
    memory = warpway.Memory(1, device)
    seen = weakref.ref(memory)
    assert seen() is memory
    of_token = weakref.ref(memory.token())
    del memory
    gc.collect()
    assert seen() is None and of_token() is None


@pytest.mark.parametrize(
    "arguments, error",
    [
        ((0,), ValueError),
        ((-1,), ValueError),
        ((1 << 70,), ValueError),
        (("a",), TypeError),
        ((1 << 62,), (MemoryError, ValueError)),
        ((1, "none"), ValueError),
        ((1, "cuda:99"), warpway.NoDevice),
        ((1, object()), TypeError),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(error):
        warpway.Memory(*arguments)


def test_bad_kind(device):
    with pytest.raises(ValueError, match="device"):
        warpway.Memory(1, device, "vmm")


def test_find(memory):
    found, offset = warpway.Memory.find(memory.pointer + 7)
    assert (found.object_id, offset) == (memory.object_id, 7)
    with pytest.raises(warpway.NotFound):
        warpway.Memory.find(1)
    with pytest.raises(TypeError):
        warpway.Memory.find("1")


def test_token_opens_the_same_memory(memory):
    memory.write(b"abc")
    token = memory.token()
    assert token.kind == "memory" and token.access == "write" and token.shape is None
    opened = token.open()
    assert opened.object_id == memory.object_id
    assert opened.read(0, 3) == b"abc"
    assert warpway.Token(token.text) == token
    assert warpway.Token.from_bytes(token.to_bytes()) == token
    assert hash(warpway.Token(token.to_bytes())) == hash(token)


def test_token_of_a_span(memory):
    memory.write(b"0123456789")
    opened = memory.token(offset=4, nbytes=3).open()
    assert opened.nbytes == 3 and opened.read() == b"456"


def test_token_for_reading(memory):
    token = memory.token("read")
    assert token.open().access == "read"
    with pytest.raises(warpway.AccessDenied):
        token.open("write")
    with pytest.raises(PermissionError):
        token.open().write(b"a")


def test_repr_of_a_token_shows_no_secret(memory):
    token = memory.token()
    assert token.text[20:60] not in repr(token) + str(token)
    assert ", read, " in repr(memory.token("read"))
    assert "shape=(2, 2) dtype=int8, write" in repr(memory.array((2, 2), "int8").token())


def test_revoked_token(memory):
    token = memory.token(uses=1)
    memory.revoke()
    with pytest.raises(warpway.Error):
        memory_in_child = token.open("read")
        memory_in_child.write(b"a")


@pytest.mark.parametrize("data", [b"", b"abc", bytes(512), b"x" * 512, b"x" * 513, "ww1_", "abc", "\0"])
def test_what_is_no_token(data):
    with pytest.raises(warpway.ProtocolError):
        warpway.Token(data)


def test_token_of_other_types():
    with pytest.raises(TypeError):
        warpway.Token(5)


def test_send_and_receive(memory, device):
    memory.write(b"over a socket")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        memory.send(ours)
        received = warpway.Memory.receive(theirs, device=device)
        assert received.access == "read"
        assert received.read(0, 13) == b"over a socket"
        with pytest.raises(warpway.Timeout):
            warpway.Memory.receive(theirs, device=device, timeout=0.01)
        ours.close()
        with pytest.raises(warpway.PeerLost):
            warpway.Memory.receive(theirs, device=device)


def test_send_to_what_is_no_socket(memory):
    with open(os.devnull) as file, pytest.raises(warpway.InvalidArgument):
        memory.send(file)


def test_cancel_ends_a_wait(device):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    cancel = warpway.Cancel()
    with ours, theirs:
        result = in_thread(warpway.Memory.receive, theirs, device=device, cancel=cancel)
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            result()
    assert cancel.is_set()
    with pytest.raises(TypeError):
        warpway.Memory.receive(0, cancel=5)


def test_threads_close_while_others_use(device):
    for _ in range(50):
        memory = warpway.Memory(4096, device, kind="host")
        errors = []

        def use():
            try:
                for _ in range(20):
                    memory.write(b"abc")
                    memory.read(0, 3)
            except ValueError as error:
                errors.append(error)

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        memory.close()
        for thread in threads:
            thread.join()
        assert all("closed" in str(error) for error in errors)


def context_of_a_gpu_that_was_used(_, device):
    warpway.Memory(1, device).read(0, 1)
    gc.collect()
    flags, is_active = ctypes.c_uint(), ctypes.c_int()
    driver = ctypes.CDLL("libcuda.so.1")
    index = int(device.removeprefix("cuda:"))
    assert driver.cuDevicePrimaryCtxGetState(index, ctypes.byref(flags), ctypes.byref(is_active)) == 0
    return is_active.value


def test_a_gpu_stays_open(gpu, spawn):
    """A process that receives one array after the other makes no CUDA context for each."""
    assert spawn(context_of_a_gpu_that_was_used, gpu).result() == 1
