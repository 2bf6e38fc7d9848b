# SPDX-License-Identifier: Apache-2.0
"""DLPack: copies, other devices, and what comes from other libraries."""

import ctypes
import gc
import os
import pickle
import sys
import types
from contextlib import contextmanager

import numpy as np
import pytest
import warpway
from arrays import array_of, same
from children import run_python


def filled(shape, dtype, device):
    """An Array of that device, and NumPy's array of the same numbers."""
    numbers = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    array = warpway.empty(shape, dtype, device=device)
    array.copy_from(numbers)
    return array, numbers


class OnCpu:
    """Passes a capsule of an Array, for the CPU, to NumPy."""

    def __init__(self, array, **arguments):
        self.array, self.arguments = array, arguments

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **arguments):
        arguments.update(self.arguments)
        arguments["dl_device"] = (1, 0)
        return self.array.__dlpack__(**arguments)


def test_copy_is_fresh(device):
    array, numbers = filled((3, 4), "float32", device)
    for copy in (True, None) if device != "host" else (True,):
        copied = np.from_dlpack(OnCpu(array, copy=copy))
        array.copy_from(np.zeros((3, 4), "float32"))
        assert (copied == numbers).all()
        array.copy_from(numbers)


def test_copy_of_views(device):
    array, numbers = filled((4, 6), "int16", device)
    for key in (np.s_[::2, ::3], np.s_[::-1, 1], np.s_[3:1:-1, ::-2], np.s_[2:2], np.s_[0, 0]):
        copied = np.from_dlpack(OnCpu(array[key], copy=True))
        assert copied.shape == numbers[key].shape and (copied == numbers[key]).all()
    copied = np.from_dlpack(OnCpu(array[0].broadcast_to((5, 6)).T, copy=True))
    assert (copied == np.broadcast_to(numbers[0], (5, 6)).T).all()


def test_copy_on_the_same_device(device):
    array, numbers = filled((5, 2), "int32", device)
    copy = warpway.from_dlpack(array, copy=True)
    assert copy.device == array.device and copy.pointer != array.pointer
    array.copy_from(bytes(40))
    found = np.empty((5, 2), "int32")
    copy.copy_to(found)
    assert (found == numbers).all()
    assert "versioned" in repr(array.__dlpack__(copy=True, max_version=(1, 1)))


def test_copy_false(device):
    array, numbers = filled(4, "uint8", device)
    array.__dlpack__(copy=False)
    if device != "host":
        with pytest.raises(BufferError, match="copy=False"):
            array.__dlpack__(copy=False, dl_device=(1, 0))
        with pytest.raises(BufferError, match="copy=False"):
            warpway.from_dlpack(array, device="host", copy=False)
    assert warpway.from_dlpack(array, copy=False).pointer == array.pointer


def test_copy_to_another_device(device):
    array, numbers = filled((2, 3), "float64", device)
    there = warpway.from_dlpack(array, device="host")
    same(there, numbers)
    if device == "host":
        assert np.shares_memory(np.asarray(there), np.asarray(array))
        return
    back = warpway.from_dlpack(there, device=device)
    assert back.device == warpway.Device(device)
    found = np.empty((2, 3))
    back.copy_to(found)
    assert (found == numbers).all()


def test_copy_of_what_may_only_be_read(device):
    array, _ = filled(4, "uint8", device)
    opened = array.token("read").open()
    opened.__dlpack__(copy=True)
    assert warpway.from_dlpack(opened, copy=True).access == "write"


def test_copy_of_numpys_array(device):
    numbers = np.arange(12, dtype="int64").reshape(3, 4)
    with pytest.raises(warpway.Unsupported):
        warpway.from_dlpack(numbers)
    for source in (numbers, numbers.T, numbers[::-1, ::2], numbers[:0], numbers[2, 3, ...]):
        same(warpway.from_dlpack(source, copy=True), source)
    with pytest.raises(AttributeError):
        warpway.from_dlpack(5, copy=True)
    there = warpway.from_dlpack(numbers, device=device, copy=True)
    found = np.empty((3, 4), "int64")
    there.copy_to(found)
    assert there.device == warpway.Device(device) and (found == numbers).all()


def test_copy_needs_a_device_that_exists():
    array = array_of(np.arange(3))
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 77))
    with pytest.raises(warpway.NoDevice):
        warpway.from_dlpack(array, device="cuda:77")


def test_array_api_strict():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed: pip install array-api-strict")
    if not hasattr(strict, "from_dlpack"):
        pytest.skip("this array-api-strict has no from_dlpack")
    array = array_of(np.arange(6, dtype="float32").reshape(2, 3))
    taken = strict.from_dlpack(array)
    assert taken.shape == (2, 3) and taken.dtype == strict.float32
    assert bool(strict.all(taken == strict.asarray(np.arange(6, dtype="float32").reshape(2, 3))))
    array.close()
    gc.collect()
    assert float(strict.sum(taken)) == 15
    copied = warpway.from_dlpack(strict.asarray([1, 2, 3], dtype=strict.int16), copy=True)
    same(copied, np.array([1, 2, 3], "int16"))


# --- a consumer in C ---


class Description(ctypes.Structure):
    """As in dlpack_consumer.c."""

    _fields_ = (
        [(name, ctypes.c_uint64) for name in ("major", "minor", "flags")]
        + [(name, ctypes.c_int64) for name in ("device_type", "device_id", "ndim")]
        + [(name, ctypes.c_uint64) for name in ("code", "bits", "lanes", "byte_offset", "data")]
        + [("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]
    )


class Tensor:
    """A tensor that the consumer in C has taken out of a capsule."""

    def __init__(self, consumer, array, *, versioned=True, **arguments):
        capsule = array.__dlpack__(max_version=(1, 1) if versioned else None, **arguments)
        name = b"dltensor_versioned" if versioned else b"dltensor"
        get, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.used_name = b"used_" + name  # the capsule does not copy it
        self.library, self.pointer, self.versioned = consumer, ctypes.c_void_p(get(capsule, name)), versioned
        rename(capsule, self.used_name)

    def describe(self):
        found = Description()
        self.library.consumer_describe(self.pointer, self.versioned, ctypes.byref(found))
        return found

    def sum(self):
        return self.library.consumer_sum(self.pointer, self.versioned)

    def release(self):
        self.library.consumer_release(self.pointer, self.versioned)

    def release_in_thread(self):
        assert self.library.consumer_release_in_thread(self.pointer, self.versioned) == 0


@pytest.fixture(scope="session")
def consumer():
    """The library of dlpack_consumer.c, which meson builds."""
    if "WW_TEST_CONSUMER" not in os.environ:
        pytest.skip("WW_TEST_CONSUMER does not name the consumer in C: it is built by meson, for the tests of a clone")
    library = ctypes.CDLL(os.environ["WW_TEST_CONSUMER"])
    library.consumer_sum.restype = ctypes.c_int64
    return library


@pytest.mark.parametrize("versioned", [True, False])
def test_consumer_reads_what_an_array_is(consumer, device, versioned):
    array = warpway.empty((4, 6), "float32", device=device)
    view = array[1::2, ::-3]
    tensor = Tensor(consumer, view, versioned=versioned)
    found = tensor.describe()
    assert (found.major, found.minor) == ((1, 1) if versioned else (0, 0))
    assert (found.device_type, found.device_id) == array.__dlpack_device__()
    assert (found.ndim, found.code, found.bits, found.lanes) == (2, 2, 32, 1)
    assert tuple(found.shape[:2]) == (2, 2) and tuple(found.strides[:2]) == (12, -3)
    assert found.data + found.byte_offset == view.pointer and found.byte_offset == 0
    assert found.flags == 0
    tensor.release()


def test_consumer_reads_flags(consumer, device):
    array = warpway.zeros(4, "uint8", device=device)
    read_only, copied = array.token("read").open(), Tensor(consumer, array, copy=True)
    tensor = Tensor(consumer, read_only)
    assert tensor.describe().flags == 1 and copied.describe().flags == 2
    assert copied.describe().data != array.pointer
    tensor.release()
    copied.release()
    with pytest.raises(BufferError):
        read_only.__dlpack__()
    copied = Tensor(consumer, read_only, copy=True, versioned=False)
    copied.release()


@pytest.mark.parametrize("versioned", [True, False])
def test_consumer_outlives_the_array(consumer, versioned):
    array = array_of(np.arange(10, dtype="int32"))
    tensor = Tensor(consumer, array[::-2], versioned=versioned)
    array.close()
    del array
    gc.collect()
    assert tensor.sum() == 9 + 7 + 5 + 3 + 1
    tensor.release_in_thread()


def test_consumer_of_no_elements(consumer, device):
    tensor = Tensor(consumer, warpway.empty((0, 3), "int32", device=device))
    assert tensor.describe().data == 0 and tensor.describe().shape[0] == 0
    tensor.release()


@pytest.mark.parametrize("versioned", [True, False])
def test_consumer_releases_after_python(consumer, device, versioned):
    program = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        import warpway
        from test_dlpack import Tensor, ctypes
        tensor = Tensor(ctypes.CDLL({os.environ["WW_TEST_CONSUMER"]!r}), warpway.zeros(9, device={device!r}),
                        versioned={versioned})
        assert tensor.library.consumer_release_at_exit(tensor.pointer, tensor.versioned) == 0
    """
    assert run_python(program) == "released at exit\n"


# --- share() of what has the CUDA array interface only ---


class CudaArray:
    """As Numba's arrays: no __dlpack__."""

    def __init__(self, array, **changed):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changed}


@pytest.fixture
def cuda_array(gpu):
    return filled((4, 6), "int32", gpu)


def read(array):
    found = np.empty(array.shape, array.dtype)
    array.copy_to(found)
    return found


def test_share_a_cuda_array(cuda_array):
    array, numbers = cuda_array
    shared = warpway.share(CudaArray(array))
    assert shared.pointer == array.pointer and (read(shared) == numbers).all()
    view = warpway.share(CudaArray(array[::-1, 1::2]))
    assert view.strides == array[::-1, 1::2].strides and view.pointer == array[::-1, 1::2].pointer
    assert warpway.share(CudaArray(array[:0])).shape == (0, 6)
    stream = warpway.Stream(array.device)
    assert warpway.share(CudaArray(array, stream=stream.native)).wait() is None


def test_share_keeps_the_cuda_array(cuda_array):
    array, numbers = cuda_array
    shared = warpway.share(CudaArray(array))
    del array, cuda_array
    gc.collect()
    assert (read(shared) == numbers).all()


def test_share_copies_a_cuda_array(cuda_array):
    array, numbers = cuda_array
    with pytest.raises(warpway.Unsupported, match="reading only"):
        warpway.share(CudaArray(array, data=(array.pointer, True)))
    for view in (np.s_[:], np.s_[::-1, ::3], np.s_[2:2]):
        copied = warpway.share(CudaArray(array[view], data=(array[view].pointer, True)), copy=True)
        there = warpway.from_dlpack(copied, device="host")
        assert (np.asarray(there) == numbers[view]).all() and copied.pointer != array[view].pointer
    copied = warpway.share(CudaArray(array, data=(array.pointer, True)), copy=True, device="host")
    same(copied, numbers)


def test_share_copies_in_the_order_of_the_stream(cuda_array):
    array, numbers = cuda_array
    stream, memory = warpway.Stream(array.device), warpway.zeros((4, 6), "int32", device=array.device, kind="host")
    stream.call(lambda: np.asarray(memory).__setitem__(..., 5))
    source = CudaArray(memory, data=(memory.pointer, True), stream=stream.native)
    assert (read(warpway.share(source, copy=True)) == 5).all()


class TorchTensor:
    """As torch's tensors of a GPU: exported only while it is the current one."""

    is_cuda, device, current = True, "cuda:7", None

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        if self.current != self.device:
            raise BufferError("another GPU is the current one")
        return self.array.__dlpack__(**arguments)


@contextmanager
def torch_device(name):
    TorchTensor.current = name
    yield
    TorchTensor.current = None


def test_share_of_a_tensor_of_another_gpu(device, monkeypatch):
    array, numbers = filled((4, 6), "int32", device)
    torch = types.SimpleNamespace(Tensor=TorchTensor, cuda=types.SimpleNamespace(device=torch_device))
    with pytest.raises(warpway.Unsupported, match="current one"):
        warpway.share(TorchTensor(array))
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert (read(warpway.share(TorchTensor(array), copy=True)) == numbers).all()
    assert TorchTensor.current is None


class Wrong:
    """Says another device than its tensor."""

    def __init__(self, array, place):
        self.array, self.place = array, place

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **_):
        return self.array.__dlpack__(max_version=(1, 1))


def test_copy_of_a_tensor_on_another_device_than_said(gpu):
    for array, place in ((warpway.zeros(4, device=gpu), (1, 0)), (warpway.zeros(4, device="host"), (2, 0))):
        with pytest.raises(BufferError, match="the tensor of __dlpack__ is on"):
            warpway.from_dlpack(Wrong(array, place), copy=True)


def test_copy_of_pinned_memory_that_its_tensor_calls_that_of_the_cpu(gpu):
    """As torch."""
    array = warpway.zeros(4, device="host")
    np.asarray(array)[:] = 7
    copy = warpway.from_dlpack(Wrong(array, (3, 0)), copy=True)
    assert copy.device.selector == gpu and (read(copy) == 7).all()


@pytest.mark.parametrize("place", [(3, 0), (1, 0)])
def test_share_of_pinned_memory(gpu, place):
    """Torch says the device that has it pinned, and its tensor is one of the CPU."""
    array = warpway.zeros(4, device="host")
    assert warpway.share(Wrong(array, place)).pointer == array.pointer
    pinned = warpway.zeros(4, device=gpu, kind="host")
    assert warpway.share(OnGpu(pinned)).pointer == pinned.pointer
    numbers = types.SimpleNamespace(__dlpack__=np.ones(4).__dlpack__, __dlpack_device__=lambda: place)
    with pytest.raises(warpway.Unsupported, match="without a copy: cannot wrap .* Pass copy=True"):
        warpway.share(numbers)
    assert (read(warpway.share(numbers, copy=True)) == 1).all()


class OnGpu:
    """Has an Array's DLPack, and nothing else of it."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_arrays_without_elements_arrive_on_their_device(device):
    array = warpway.zeros((0, 3), device=device)
    for copy in (False, True):
        shared = warpway.share(OnGpu(array), copy=copy)
        for arrived in (shared, pickle.loads(pickle.dumps(shared))):
            assert arrived.shape == (0, 3) and arrived.__dlpack_device__() == array.__dlpack_device__()
    if device != "host":
        shared = warpway.share(CudaArray(array))
        assert shared.shape == (0, 3) and shared.__dlpack_device__() == array.__dlpack_device__()


class Reversed:
    """As CuPy's: negative strides are divided as unsigned numbers."""

    def __init__(self, array):
        self.array, self.__dlpack_device__ = array, array.__dlpack_device__

    def __dlpack__(self, *, stream=None):
        capsule = self.array.__dlpack__(stream=stream)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        strides = ctypes.c_void_p.from_address(get(capsule, b"dltensor") + 32).value
        for i, stride in enumerate(self.array.strides):
            ctypes.c_uint64.from_address(strides + 8 * i).value = stride % 2**64 // self.array.itemsize
        return capsule


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex128"])
def test_strides_of_cupy(device, dtype):
    array, numbers = filled((4, 6), dtype, device)
    for key in (np.s_[::-1], np.s_[:, ::-2], np.s_[::-3, 4:1:-1], np.s_[1:]):
        for made in (warpway.share(Reversed(array[key])), warpway.from_dlpack(Reversed(array[key]), copy=True)):
            assert made.strides == array[key].strides
            assert (np.asarray(warpway.from_dlpack(made, device="host")) == numbers[key]).all()


def test_strides_that_are_too_large(device):
    array = warpway.zeros((4, 6), "float32", device=device)

    class Wrong(Reversed):
        """Nothing makes sense of its strides."""

        def __dlpack__(self, *, stream=None):
            self.array = types.SimpleNamespace(__dlpack__=array.__dlpack__, strides=(1 << 63, 4), itemsize=1)
            return super().__dlpack__(stream=stream)

    for copy in (False, True):
        with pytest.raises((warpway.InvalidArgument, warpway.Unsupported), match="too large to compute with"):
            warpway.share(Wrong(array), copy=copy)


class Unresolved(OnGpu):
    """As torch's tensors that are more than their memory."""

    def __init__(self, array, *calls):
        super().__init__(array)
        self.array, self.calls = array, calls
        self.requires_grad = "detach" in calls
        self.layout = "torch.sparse_coo" if "to_dense" in calls else "torch.strided"

    def is_conj(self):
        return "resolve_conj" in self.calls

    def is_neg(self):
        return "resolve_neg" in self.calls

    def __getattr__(self, name):
        if name not in self.__dict__.get("calls", ()):
            raise AttributeError(name)
        return lambda: Unresolved(self.array, *(call for call in self.calls if call != name))


@pytest.mark.parametrize("calls", [("detach",), ("to_dense",), ("resolve_conj",), ("resolve_neg",),
                                   ("detach", "to_dense", "resolve_conj", "resolve_neg")])  # fmt: skip
def test_tensors_that_are_more_than_their_memory(device, calls):
    array, numbers = filled(4, "float32", device)
    for copy in (False, True):
        with pytest.raises(warpway.Unsupported, match="cannot share this test_dlpack.Unresolved: it") as refused:
            warpway.share(x := Unresolved(array, *calls), copy=copy)
        advice = str(refused.value).partition(" Give ")[2]
        assert advice.count("()") == len(calls)
        assert (read(warpway.share(eval(advice), copy=copy)) == numbers).all()


class Refusing(OnGpu):
    """Its library cannot export it."""

    def __dlpack__(self, **_):
        raise self.error


@pytest.mark.parametrize("error", [BufferError, RuntimeError, TypeError, ValueError])
def test_what_the_library_of_a_tensor_says_is_told(device, error):
    tensor = Refusing.__new__(Refusing)
    tensor.error, tensor.__dlpack_device__ = error("it is lazy."), warpway.zeros(1, device=device).__dlpack_device__
    with pytest.raises(warpway.Unsupported, match="without a copy: it is lazy. Pass"):
        warpway.share(tensor)
    with pytest.raises(warpway.Unsupported, match="cannot copy this test_dlpack.Refusing: it is lazy$"):
        warpway.share(tensor, copy=True)


class NotForNumpy:
    """As torch's tensors of bfloat16."""

    def __init__(self, numbers):
        self.__dlpack__, self.__dlpack_device__ = numbers.__dlpack__, numbers.__dlpack_device__

    def __array__(self, *_, **__):
        raise TypeError("Got unsupported ScalarType")


def test_copy_is_advised_of_what_numpy_cannot_convert():
    with pytest.raises(warpway.Unsupported, match="Pass copy=True"):
        warpway.share(NotForNumpy(np.ones(3)))
    same(warpway.share(NotForNumpy(np.ones(3)), copy=True), np.ones(3))


def test_dlpack_of_a_memory(device):
    memory = warpway.Memory(4, device)
    memory.write(b"abcd")
    array = warpway.share(memory)
    assert memory.__dlpack_device__() == array.__dlpack_device__() and array.dtype == "uint8"
    assert array.shape == (memory.nbytes,) and array.pointer == memory.pointer
    assert bytes(np.from_dlpack(OnCpu(memory))[:4]) == b"abcd"
    with pytest.raises(BufferError):
        memory.token("read").open().__dlpack__()


@pytest.mark.parametrize("dtype", ["float32", [("x", "f4")]], ids=str)
def test_masked_elements(dtype):
    masked = np.ma.zeros(3, dtype)
    masked[1] = np.ma.masked
    array = warpway.zeros(3, device="host")
    refused = [warpway.share, warpway.from_dlpack, array.copy_from, array.copy_to, lambda x: warpway.share(x, copy=True),
               lambda x: warpway.from_dlpack(x, copy=True)]  # fmt: skip
    with warpway.Channel(None, 3, "float32", device="host") as channel:
        for call in (*refused, channel.send):
            with pytest.raises(warpway.Unsupported, match="its mask would be lost"):
                call(masked)
    same(warpway.share(np.ma.ones(3), copy=True), np.ones(3))
