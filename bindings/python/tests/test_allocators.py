# SPDX-License-Identifier: Apache-2.0
"""The allocators of warpway.torch, warpway.cupy and warpway.numba, with these libraries.

Each test runs in a process of its own, since such an allocator is set once. On fakecuda, CuPy and Numba are told
which GPU is current, since their own start needs more than it has; torch cannot be used there.
"""

import ctypes
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest

import warpway
from frameworks import is_installed

CHUNK = 16 << 20


def index_of(device):
    return int(device.removeprefix("cuda:"))


@pytest.fixture(autouse=True)
def needs_gpu(device):
    if device == "host":
        pytest.skip("these allocators are for GPUs")


def need(library):
    if not is_installed(library):
        pytest.skip(f"{library} is not installed")


@pytest.fixture
def torch_gpu():
    need("torch")
    code = "import torch; raise SystemExit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode:
        pytest.skip("torch finds no GPU here")


def pool_has_settings(_, device):
    from warpway._pools import pool

    index = index_of(device)
    made = pool(index, bytes_max=CHUNK)
    assert made is pool(index) and made.device == warpway.Device(device) and made.info().bytes_max == CHUNK
    with pytest.raises(ValueError, match="before its first use"):
        pool(index, bytes_max=CHUNK)
    with pytest.raises(warpway.NoDevice):
        pool(77)


def test_pool_of_a_gpu(spawn, device):
    spawn(pool_has_settings, device).result()


def read(connection):
    return connection.recv().read()


# --- Numba ---


def numba_manager(device):
    """The manager of a context, and the context."""
    from numba import cuda

    import warpway.numba

    cuda.set_memory_manager(warpway.numba.MemoryManager)
    try:
        cuda.select_device(index_of(device))
        context = cuda.current_context()
    except Exception:  # of any kind: it does not start with fakecuda
        context = SimpleNamespace(device=SimpleNamespace(id=0, get_device_identity=lambda: {"bus": 0}))
        manager = warpway.numba.MemoryManager(context=context)
        manager.initialize()
        return manager, context
    return context.memory_manager, context


def as_numba(array, context):
    """As an array of Numba has the memory of one that is not its own."""
    from numba import cuda

    return cuda.MemoryPointer(context, ctypes.c_void_p(array.pointer), array.nbytes, owner=array)


def allocate_by_numba(parent, device):
    import warpway.numba

    manager, context = numba_manager(device)
    assert isinstance(manager, warpway.numba.MemoryManager)
    pointer = manager.memalloc(1000)
    memory, offset = warpway.Memory.find(pointer.device_ctypes_pointer.value)
    assert memory.is_slice and offset == 0 and pointer.size == 1000 and memory.pointer % 512 == 0
    memory.write(bytes(range(100)) * 10)
    memory.close()
    whole, part = manager.get_ipc_handle(pointer), manager.get_ipc_handle(pointer.view(10, 20))
    assert whole.base is pointer
    parent.send(whole)
    parent.send(part)
    parent.send(warpway.numba._bytes_of(part.handle))
    del whole, part  # which keep the slice
    assert manager.memalloc(0).size == 0
    with pytest.raises(NotImplementedError, match="bytes_max"):
        manager.get_memory_info()
    assert parent.recv() == "opened"
    pool = warpway.numba.pool(index_of(device))
    before = pool.info().slice_count
    of_another = warpway.Pool(device)
    other = of_another.empty(8, "uint8")
    manager.get_ipc_handle(as_numba(other, context)).handle  # pylint: disable=expression-not-assigned
    assert len(warpway.Broker().list()) == 2  # what the handles name
    del pointer, other
    assert not warpway.Broker().list()
    warpway.Stream.wrap(1, device).synchronize()
    assert pool.info().slice_count == before - 1
    assert context.device.id == index_of(device)


def open_by_numba(parent, device):
    from numba.cuda.cudadrv import driver

    import warpway.numba

    _, context = numba_manager(device)
    whole, part, data = parent.recv(), parent.recv(), parent.recv()
    assert (whole.size, part.size, part.base) == (1000, 10, None)
    again = pickle.loads(pickle.dumps(part))
    assert warpway.numba._bytes_of(again.handle) == warpway.numba._bytes_of(part.handle) == data
    named = driver.IpcHandle(None, warpway.numba._make_handle(data), 8, offset=2)  # as open_ipc_array() makes it
    for each, first in ((part, 10), (again, 10), (named, 12)):
        for call in (each.open, each.open_direct, each.open_staged):
            pointer = call(context)
            with pytest.raises(ValueError, match="IpcHandle is already opened"):
                call(context)
            memory, offset = warpway.Memory.find(pointer.device_ctypes_pointer.value)
            assert memory.read(offset, pointer.size) == bytes(range(first, 20))
            each.close()
    with pytest.raises(ValueError, match="IpcHandle not opened"):
        part.close()
    whole.open(context)
    whole.close()


def test_numba(spawn, device):
    need("numba.cuda")
    maker, user = spawn(allocate_by_numba, device), spawn(open_by_numba, device)
    for _ in range(3):
        user.send(maker.receive())
    user.result()
    maker.send("opened")
    maker.result()


def fill_by_numba(_, device):
    import warpway.numba

    warpway.numba.pool(index_of(device), bytes_max=CHUNK, chunk_bytes=CHUNK)
    manager, _ = numba_manager(device)
    held = manager.memalloc(CHUNK)
    with pytest.raises(MemoryError, match="in a pool of"):
        manager.memalloc(1)
    assert manager.get_memory_info() == (0, CHUNK)
    old = warpway.numba.pool(index_of(device))
    manager.reset()
    assert old.closed and manager.get_memory_info() == (CHUNK, CHUNK)
    del held


def test_numba_with_a_full_pool(spawn, device):
    need("numba.cuda")
    spawn(fill_by_numba, device).result()


# --- CuPy ---


def cupy_module(device):
    """CuPy; where it does not find the GPU, with device 0 and the default stream as the current ones."""
    import cupy

    try:
        cupy.cuda.Device(index_of(device)).use()
    except cupy.cuda.runtime.CUDARuntimeError:
        cupy.cuda.runtime.getDevice = lambda: 0
        cupy.cuda.get_current_stream = lambda: cupy.cuda.Stream.null
    return cupy


def allocate_by_cupy(parent, device):
    cupy = cupy_module(device)
    import warpway.cupy

    pool = warpway.cupy.pool(index_of(device), bytes_max=3 * CHUNK, chunk_bytes=CHUNK)
    sizes = (1, 512, 1000, CHUNK + 1)
    held = [warpway.cupy.allocator(nbytes) for nbytes in sizes]
    assert [place.mem.size for place in held] == list(sizes) and all(place.ptr % 512 == 0 for place in held)
    assert pool.info().slice_count == 4 and warpway.cupy.allocator(0).ptr == 0
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError) as raised:
        warpway.cupy.allocator(2 * CHUNK)
    assert isinstance(raised.value.__cause__, warpway.LimitReached)
    memory, _ = warpway.Memory.find(held[2].ptr)
    memory.write(b"cupy", 8)
    parent.send(memory.token(offset=8, nbytes=4))
    assert parent.recv() == "opened"
    memory.close()
    del held, raised
    warpway.Stream.wrap(0, device).synchronize()
    assert pool.info().slice_count == 0


def test_cupy(spawn, device):
    need("cupy")
    maker, reader = spawn(allocate_by_cupy, device), spawn(read)
    reader.send(maker.receive())
    assert reader.result() == b"cupy"
    maker.send("opened")
    maker.result()


# --- torch ---


def numbers_of(connection):
    array = connection.recv()
    out = bytearray(array.nbytes)
    array.copy_to(out)
    connection.send("done")
    connection.recv()
    return bytes(out), array.memory.is_slice


def allocate_by_torch(parent, device):
    import torch

    import warpway.torch

    torch.cuda.set_device(device)
    assert warpway.torch.allocator() is warpway.torch.allocator()
    with torch.cuda.use_mem_pool(warpway.torch.mem_pool()):
        first = torch.arange(1000, dtype=torch.uint8, device=device)
        large = torch.zeros(CHUNK + 1, dtype=torch.uint8, device=device)
    assert not warpway.Memory.find(large.data_ptr())[1]
    part = first[100:200]
    array = warpway.share(part)
    assert array.memory.is_slice and array.pointer == part.data_ptr()
    parent.send(array)
    assert parent.recv() == "done"
    outside = torch.zeros(4, device=device)
    with pytest.raises(warpway.NotFound):
        warpway.Memory.find(outside.data_ptr())


def test_torch_mem_pool(spawn, device, torch_gpu):
    maker, reader = spawn(allocate_by_torch, device), spawn(numbers_of)
    reader.send(maker.receive())
    maker.send(reader.receive())
    maker.result()
    reader.send("end")
    assert reader.result() == (bytes(range(100, 200)), True)


def fill_by_torch(_, device):
    import torch

    import warpway.torch

    torch.cuda.set_device(device)
    warpway.torch.pool(index_of(device), bytes_max=CHUNK)
    most = CHUNK - (4 << 20)
    with torch.cuda.use_mem_pool(warpway.torch.mem_pool()):
        held = torch.zeros(most, dtype=torch.uint8, device=device)
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.zeros(most, dtype=torch.uint8, device=device)
        assert f"in a pool of {CHUNK}" in warpway.torch.failure()
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.zeros(2 * CHUNK, dtype=torch.uint8, device=device)
        assert f"from a pool of at most {CHUNK}" in warpway.torch.failure()
        torch.zeros(1000, device=device)
    del held


def test_torch_with_a_full_pool(spawn, device, torch_gpu):
    spawn(fill_by_torch, device).result()


def replace_torch_allocator(_, device):
    import torch

    import warpway.torch

    torch.cuda.memory.change_current_allocator(warpway.torch.allocator())
    torch.cuda.set_device(device)
    tensor = torch.zeros(1000, device=device)
    other = torch.cuda.Stream()
    torch.cuda._sleep(1)  # pylint: disable=protected-access
    tensor.fill_(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        torch.cuda._sleep(3_000_000_000)  # pylint: disable=protected-access
        tensor.fill_(7)
        tensor.record_stream(other)
    assert warpway.share(tensor).memory.is_slice
    del tensor
    assert warpway.torch.pool(index_of(device)).info().waiting_count == 1, "the other stream still uses it"
    other.synchronize()
    torch.cuda.synchronize()
    assert warpway.torch.pool(index_of(device)).info().waiting_count == 0


def test_torch_with_another_current_allocator(spawn, device, torch_gpu):
    spawn(replace_torch_allocator, device).result()
