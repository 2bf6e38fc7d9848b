# SPDX-License-Identifier: Apache-2.0
"""The C functions by which torch allocates, called as torch calls them, without torch."""

import ctypes
import mmap
import os
import platform
import random
import threading

import pytest

import warpway
from children import run_python
from warpway import _core
from waits import when_main_thread_sleeps

CHUNK = 2 << 20


def functions():
    """alloc, free and record, as torch finds them."""
    library = ctypes.CDLL(_core.__file__)
    alloc, free, record = (getattr(library, f"warpway_torch_{name}") for name in ("alloc", "free", "record_stream"))
    alloc.restype = ctypes.c_void_p
    alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    free.restype = None
    free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    record.restype = None
    record.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return alloc, free, record


def prepare(device, **settings):
    """The pool of the device, and the functions. In a child, since a pool is never replaced."""
    pool = warpway.Pool(device, **settings)
    _core.set_torch_pool(0, pool)
    return pool, *functions()


def many_sizes(_, device):
    pool, alloc, free, _ = prepare(device, chunk_bytes=CHUNK)
    stream = warpway.Stream(device)
    spans = []
    for nbytes in (1, 511, 512, 513, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7):
        pointer = alloc(nbytes, 0, stream.native)
        assert pointer and pointer % 512 == 0
        assert all(pointer >= other + size or pointer + nbytes <= other for other, size in spans)
        spans.append((pointer, nbytes))
    assert pool.info().slice_count == len(spans)
    for pointer, nbytes in spans:
        free(pointer, nbytes, 0, stream.native)
    stream.synchronize()
    assert (pool.info().slice_count, pool.info().bytes_waiting) == (0, 0)


def test_sizes_and_alignment(spawn, gpu):
    spawn(many_sizes, gpu).result()


def odd_calls(_, device):
    pool, alloc, free, record = prepare(device, bytes_max=CHUNK)
    assert alloc(0, 0, None) is None and alloc(-1, 0, None) is None
    assert alloc(16, 1, None) is None and alloc(16, -1, None) is None and alloc(16, 1 << 20, None) is None
    assert "has no pool" in _core.torch_failure()
    free(None, 0, 0, None)
    free(0x1234000, 16, 0, None)
    record(0x1234000, None)
    pointer = alloc(CHUNK, 0, None)
    assert pointer and alloc(512, 0, None) is None
    assert f"{CHUNK}" in _core.torch_failure()
    free(pointer, CHUNK, 0, None)
    free(pointer, CHUNK, 0, None)  # the second time, it is no allocation any more
    assert alloc(512, 0, None)
    _core.set_torch_pool(0, pool)
    with pytest.raises(warpway.WrongState, match="another pool"):
        _core.set_torch_pool(0, warpway.Pool(device))
    for index in (-1, 64):
        with pytest.raises(ValueError):
            _core.set_torch_pool(index, pool)
    pool.close()
    assert alloc(512, 0, None), "the allocator has a reference of its own"
    with pytest.raises(ValueError, match="closed"):
        _core.set_torch_pool(1, pool)


def test_odd_calls(spawn, gpu):
    assert _core.torch_failure() is None
    spawn(odd_calls, gpu).result()


def ordered_release(_, device):
    pool, alloc, free, _ = prepare(device, bytes_max=CHUNK)
    gate, stream = warpway.Timeline(), warpway.Stream(device)
    gate.wait(1, stream=stream, unsubmitted=True)
    pointer = alloc(CHUNK, 0, stream.native)
    free(pointer, CHUNK, 0, stream.native)
    assert (pool.info().bytes_used, pool.info().bytes_waiting) == (0, CHUNK)
    when_main_thread_sleeps(gate.signal, 1)
    assert alloc(CHUNK, 0, stream.native) == pointer, "it waits for the stream"


def test_free_is_ordered_by_the_stream(spawn, gpu):
    spawn(ordered_release, gpu).result()


def recorded_release(_, device):
    pool, alloc, free, record = prepare(device, bytes_max=CHUNK)
    gate, own, other = warpway.Timeline(), warpway.Stream(device), warpway.Stream(device)
    pointer = alloc(512, 0, own.native)
    gate.wait(1, stream=other, unsubmitted=True)
    for _ in range(3):
        record(pointer, other.native)
    free(pointer, 512, 0, own.native)
    own.synchronize()
    assert pool.info().waiting_count == 1
    gate.signal(1)
    other.synchronize()
    assert pool.info().waiting_count == 0


def test_a_recorded_stream_is_waited_for(spawn, gpu):
    spawn(recorded_release, gpu).result()


def allocate_often(functions_of, stream, live, lock, seed):
    alloc, free, record = functions_of
    choose, mine = random.Random(seed), []
    for _ in range(400):
        if len(mine) < 20 and choose.random() < 0.6:
            nbytes = choose.randrange(1, 100_000)
            pointer = alloc(nbytes, 0, stream)
            with lock:
                assert pointer not in live
                live[pointer] = nbytes
            mine.append(pointer)
        elif mine:
            pointer = mine.pop(choose.randrange(len(mine)))
            record(pointer, stream)
            with lock:
                nbytes = live.pop(pointer)
            free(pointer, nbytes, 0, stream)
    return mine


def many_threads(_, device):
    pool, *functions_of = prepare(device, chunk_bytes=CHUNK)
    streams = [warpway.Stream(device) for _ in range(4)]
    live, lock, ended = {}, threading.Lock(), []

    def work(number):
        ended.append(allocate_often(functions_of, streams[number % 4].native, live, lock, number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 8 and pool.info().slice_count == len(live)
    for stream in streams:
        stream.synchronize()
    spans = sorted(live.items())
    assert all(pointer + nbytes <= after for (pointer, nbytes), (after, _) in zip(spans, spans[1:]))


def test_many_threads(spawn, gpu):
    spawn(many_threads, gpu).result()


def read_slice(connection):
    memory = connection.recv()
    assert memory.nbytes == 4
    connection.send("opened")
    connection.recv()
    return memory.read(0, 4)


def allocate_and_share(parent, device):
    pool, alloc, free, _ = prepare(device, bytes_max=CHUNK)
    stream = warpway.Stream(device)
    pointer = alloc(4096, 0, stream.native)
    memory, offset = warpway.Memory.find(pointer + 100)
    assert memory.is_slice and offset == 100 and memory.pointer == pointer
    memory.write(b"live", 100)
    parent.send(memory.token(offset=100, nbytes=4))
    memory.close()
    assert parent.recv() == "opened"
    free(pointer, 4096, 0, stream.native)
    stream.synchronize()
    assert pool.info().bytes_waiting == 4096, "another process uses it"
    assert alloc(4096, 0, stream.native) != pointer
    parent.send("freed")
    parent.recv()


def test_what_was_shared_is_not_allocated_again(spawn, gpu):
    owner, reader = spawn(allocate_and_share, gpu), spawn(read_slice)
    reader.send(owner.receive())
    owner.send(reader.receive())
    reader.send(owner.receive())
    assert reader.result() == b"live"
    owner.send("end")
    owner.result()


def fork_after_use(_, device):
    _, alloc, free, _ = prepare(device)
    pointer = alloc(512, 0, None)
    child = os.fork()
    if child == 0:
        free(pointer, 512, 0, None)
        os._exit(0 if alloc(512, 0, None) is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    free(pointer, 512, 0, None)
    assert alloc(512, 0, None)


def test_forked_child_has_no_pool(spawn, gpu):
    spawn(fork_after_use, gpu).result()


FREE_AT_EXIT = """
import ctypes, mmap, sys
sys.path.insert(0, sys.argv[1])
import test_torch_allocator as tests
pool, alloc, free, _ = tests.prepare(sys.argv[2])
c = ctypes.CDLL(None)
for number in range(3):
    pointer = alloc(1000, 0, None)
    assert c.__cxa_atexit(ctypes.c_void_p(tests.machine_code(free)), ctypes.c_void_p(pointer), None) == 0
print("end of Python")
"""


def machine_code(function):
    """The address of code that calls function(its argument, 0, 0, NULL): exit() passes one argument."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    address = ctypes.cast(function, ctypes.c_void_p).value
    # xor esi, esi; xor edx, edx; xor ecx, ecx; mov rax, address; jmp rax
    page.write(bytes.fromhex("31f631d231c948b8") + address.to_bytes(8, "little") + bytes.fromhex("ffe0"))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(page))  # it is never unmapped
    return ctypes.addressof(ctypes.c_char.from_buffer(page))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its machine code is for x86-64")
def test_free_after_the_end_of_python(gpu):
    assert run_python(FREE_AT_EXIT, os.path.dirname(__file__), gpu) == "end of Python\n"
