# SPDX-License-Identifier: Apache-2.0
"""Arrays by handle: those of this library, and the bare 64 bytes of CUDA."""

import ctypes
import pickle

import numpy as np
import pytest
from waits import until

import warpway


def numbers_of(array):
    out = np.zeros(array.shape, array.dtype)
    array.copy_to(out)
    return out.tolist()


def test_handle_in_its_own_process(device):
    array = warpway.zeros(3, "int32", device=device)
    handle = array.get_ipc_handle()
    assert handle.open() is array
    with pytest.raises(ValueError, match="open already"):
        handle.open()
    handle.close()
    with pytest.raises(ValueError, match="not open"):
        handle.close()
    with handle as opened:
        assert opened is array
    assert not array.closed


def use_handle(connection):
    handle = connection.recv()
    with handle as array:
        before = numbers_of(array)
        array.copy_from(np.array([7, 8, 9], "int32"))
    with pytest.raises(ValueError):
        handle.close()
    assert array.closed
    with handle as again:
        return before, numbers_of(again)


def test_handle_in_another_process(spawn, device):
    array = warpway.zeros(3, "int32", device=device)
    child = spawn(use_handle)
    child.send(array.get_ipc_handle())
    assert child.result() == ([0, 0, 0], [7, 8, 9])
    assert numbers_of(array) == [7, 8, 9]


def test_handle_of_a_closed_array(device):
    array = warpway.zeros(3, "int32", device=device)
    array.close()
    with pytest.raises(ValueError, match="closed"):
        array.get_ipc_handle()
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(warpway.IpcArrayHandle))(5, 6)


def open_and_wait(connection):
    with connection.recv() as array:
        connection.send(numbers_of(array))
        connection.recv()


def test_handle_keeps_its_array_for_nobody(spawn, device, broker):
    """It is good as long as its array or an importer lives. Then the bytes are free, and no time passes before."""
    array = warpway.zeros(3, "int32", device=device)
    sent, name = pickle.dumps(array.get_ipc_handle()), array.memory.object_id
    first, second = spawn(open_and_wait), spawn(open_and_wait)
    first.send(pickle.loads(sent))
    assert first.receive() == [0, 0, 0]
    array.close()
    second.send(pickle.loads(sent))
    assert second.receive() == [0, 0, 0]
    first.send("end")
    first.result()
    assert name in {found.object_id for found in broker.list(unnamed=True)} - {found.object_id for found in broker.in_flight()}
    second.send("end")
    second.result()
    until(lambda: name not in {found.object_id for found in broker.list(unnamed=True)})
    with pytest.raises(warpway.NotFound):
        pickle.loads(sent).open()


@pytest.mark.parametrize("handle", [b"", bytes(63), bytes(65), range(3)])
def test_what_is_no_handle(handle, device):
    with pytest.raises(ValueError, match="64 bytes"):
        warpway.open_ipc_array(handle, 1, "int8", device=device)


class Cuda:
    """The driver, as a program without this library uses it."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0

    def allocate(self, data):
        pointer, handle = ctypes.c_uint64(), (ctypes.c_byte * 64)()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(2 << 20))
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        self.call("cuIpcGetMemHandle", handle, pointer)
        return bytes(handle)


def allocate_and_wait(connection):
    connection.send(Cuda().allocate(bytes(range(100))))
    connection.recv()


def test_bare_handle(spawn, gpu):
    child = spawn(allocate_and_wait)
    handle = child.receive()
    for form in (handle, tuple(handle), tuple(byte - 256 if byte > 127 else byte for byte in handle)):
        with warpway.open_ipc_array(form, (2, 3), "uint8", offset=10, device=gpu) as array:
            assert numbers_of(array) == [[10, 11, 12], [13, 14, 15]]
    with warpway.open_ipc_array(handle, 3, "uint8", strides=2, device=gpu) as array:
        assert array.strides == (2,)
    with pytest.raises(ValueError):
        warpway.open_ipc_array(handle, 3 << 20, "uint8", device=gpu)
    child.send("end")
    child.result()
