# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from operator import index

from warpway._core import (
    MAX_DIMS,
    Array,
    Device,
    Error,
    InvalidArgument,
    Memory,
    NoDevice,
    Unsupported,
    copy_in,
    from_dlpack,
    itemsize,
)


def _layout(shape, dtype):
    """The shape as a tuple, and the bytes of such an array, at least 1."""
    lengths = tuple(map(index, shape)) if isinstance(shape, Iterable) else (index(shape),)
    count = 1
    for length in lengths:
        count *= length
    return lengths, max(count * itemsize(dtype), 1)


def empty(shape, dtype="float32", *, device=None, pool=None, kind="device"):
    """An Array in new memory, or in a slice of a pool.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : str or a dtype of NumPy, ml_dtypes or torch
    device : Device or what it takes, optional
        Without `pool`: where the memory is to be; None: the default device.
    pool : Pool, optional
        The array is a slice of it, which costs microseconds; its bytes are not cleared. Without a
        pool the memory is zero, and at least 2 MiB, also on the host device; of kind 'host' 4 KiB.
    kind : 'device' or 'host'
        Without `pool`: memory of the device, or of the CPU that a GPU uses in place.

    Raises
    ------
    OutOfMemory, LimitReached
        The device, or the pool, has no room.
    """
    if pool is not None:
        return pool.empty(shape, dtype)
    shape, nbytes = _layout(shape, dtype)
    return Array(Memory(nbytes, device, kind), shape, dtype)


def zeros(shape, dtype="float32", *, device=None, pool=None, kind="device"):
    """An Array as of `empty`, which has the same parameters, with all bytes zero."""
    array = empty(shape, dtype, device=device, pool=pool, kind=kind)
    if pool is not None and array.nbytes:
        array.copy_from(bytes(array.nbytes))
    return array


def share(x, *, copy=False, device=None):
    """An Array of an array of another library, to be sent to other processes.

    Parameters
    ----------
    x : array of torch, CuPy, Numba, JAX, NumPy, pandas, xarray, ...
        It has ``__dlpack__`` or ``__cuda_array_interface__``, or is a buffer; with `copy` also what
        has ``__array__``. Nothing is copied if its memory can be shared. `x` is kept then: until the
        result is released, and no other process uses the memory or has a token of it in flight.
    copy : bool
        Copy where the memory of `x` cannot be shared, such as that of NumPy. An Array is returned as
        it is: `from_dlpack` with ``copy=True`` copies it. A GPU copies after what
        the other library has been asked to write into `x`; the call waits for the copy.
        Elements that only NumPy knows, such as structured ones, text and datetime64, travel by
        a pickle of the Array; by name, token or channel as bytes: ``array.view('u1')``.
    device : Device or what it takes, optional
        Of the copy; None: that of `x`.

    Raises
    ------
    Unsupported
        The memory cannot be shared, and `copy` is false; or `x` has masked elements, objects of Python,
        or values that torch has yet to compute. The message says why.
    """
    if isinstance(x, Array):
        return x
    _refuse_mask(x)
    _refuse_unresolved(x)
    try:
        with _current_gpu_of(x):
            return from_dlpack(x) if _is_tensor(x) else _from_cuda(x)
    except _REFUSALS as error:
        reason = _reason(x, error)
    if copy:
        return _copy_of(x, device, reason)
    _check_copyable(x)
    raise _unsupported(
        f"cannot share {_kind_of(x)} without a copy: {_text(reason)}. Pass copy=True, or make the array with warpway.empty()"
    ) from reason


# What __dlpack__ and the like raise, and this package of what they say. InvalidArgument is a ValueError.
_REFUSALS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError, Unsupported)


def _reason(x, error):
    """Why `x` cannot be shared, or copied. Raises again what a copy does not help against."""
    if isinstance(error, Error) and not isinstance(error, (InvalidArgument, Unsupported)):
        raise error
    return error if _is_exchanged(x) else AttributeError("it has neither __dlpack__ nor __cuda_array_interface__")


def _is_exchanged(x):
    return hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")


def _unsupported(text):
    error = Unsupported(text)
    error.message = text
    return error


def _text(error):
    return str(error).rstrip(".")


def _kind_of(x):
    return f"this {type(x).__module__}.{type(x).__qualname__}"


def _refuse_unresolved(x):
    """Torch's tensors whose memory alone does not say what they are."""
    if getattr(x, "requires_grad", None) is None:
        return
    reasons, calls = [], []
    for is_so, reason, call in (
        (x.requires_grad, "it requires grad", "detach()"),
        (str(getattr(x, "layout", "torch.strided")) != "torch.strided", "it is not dense", "to_dense()"),
        (getattr(x, "is_conj", bool)(), "its values are yet to be conjugated", "resolve_conj()"),
        (getattr(x, "is_neg", bool)(), "its values are yet to be negated", "resolve_neg()"),
    ):
        if is_so:
            reasons.append(reason)
            calls.append(call)
    if calls:
        raise _unsupported(f"cannot share {_kind_of(x)}: {' and '.join(reasons)}. Give x.{'.'.join(calls)}")


def _check_copyable(x):
    """Before a copy is advised."""
    if not _is_exchanged(x) and not hasattr(x, "__array__") and not _is_buffer(x):
        raise _unsupported(_no_array(x))
    if hasattr(x, "__cuda_array_interface__"):
        return
    try:
        array = _converted(x) if hasattr(x, "__array__") else _read_buffer(x)
    except (ImportError, RuntimeError, TypeError, ValueError):
        if not hasattr(x, "__dlpack__"):
            raise
        return  # such as torch's bfloat16, or where NumPy is not installed: DLPack copies them
    if array.ndim > MAX_DIMS:
        raise _unsupported(f"cannot share an array of {array.ndim} dimensions: {MAX_DIMS} are possible")
    if hasattr(array, "dtype"):
        from warpway import _numpy

        _numpy.check(array.dtype)


def _is_buffer(x):
    try:
        memoryview(x)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _no_array(x):
    advice = "; make an array of it first, such as numpy.asarray(x)" if isinstance(x, _NUMBERS) else ""
    return (
        f"a {type(x).__name__} is no array: it has neither __dlpack__ nor __cuda_array_interface__ nor __array__, and is "
        f"no buffer{advice}"
    )


_NUMBERS = (list, tuple, range, int, float, complex)


def _copy_of(x, device, reason):
    if _is_exchanged(x):
        try:
            with _current_gpu_of(x):
                return from_dlpack(x, copy=True, device=device) if _is_tensor(x) else _copy_of_cuda(x, device)
        except _REFUSALS as error:
            reason = _reason(x, error)
    try:
        if hasattr(x, "__array__") or not _is_buffer(x):  # as a buffer, a datetime64 is eight bytes
            x = _converted(x)
        return _copy_of_buffer(x, device)
    except (RuntimeError, TypeError, ValueError) as error:
        if not _is_exchanged(x) or isinstance(error, Error):
            raise
    raise _unsupported(f"cannot copy {_kind_of(x)}: {_text(reason)}") from reason


def _converted(x):
    if not hasattr(x, "__array__"):
        raise TypeError(_no_array(x))
    import numpy

    return numpy.asarray(x)


def _current_gpu_of(x):
    """Torch exports a tensor only while its GPU is the current one."""
    torch = sys.modules.get("torch")
    if torch and isinstance(x, torch.Tensor) and x.is_cuda:
        return torch.cuda.device(x.device)
    return nullcontext()


def _is_tensor(x):
    return hasattr(x, "__dlpack__") or not hasattr(x, "__cuda_array_interface__")


def _refuse_mask(x):
    """Of NumPy's masked arrays: their buffer and tensor are all elements."""
    ma = sys.modules.get("numpy.ma")
    if ma and isinstance(x, ma.MaskedArray) and (x.dtype.names or ma.is_masked(x)):
        raise Unsupported(
            "this array has masked elements, and its mask would be lost: give x.filled(value), or x.data and "
            "numpy.ma.getmaskarray(x) as two arrays"
        )


def _read_buffer(x):
    """A memoryview; or NumPy's array, if its type of elements has no name of one letter in the buffer protocol."""
    try:
        view = memoryview(x)
    except ValueError:  # NumPy's bfloat16, datetime64
        if not hasattr(x, "dtype"):
            raise
        return x
    if view.format.lstrip("@=<") in _FORMATS:
        return view
    import numpy

    array = numpy.asarray(x)
    # NumPy takes "8x" for a struct without fields, and would copy nothing of it.
    return array if array.dtype.names != () else array.view(f"V{array.itemsize}")


def _view_buffer(x, numpys=False):
    """A memoryview of a buffer, and the name of its elements' type.

    The buffer protocol cannot name types such as bfloat16: NumPy's arrays of them are seen as
    integers, and say the name themselves. `numpys`: also of types that NumPy alone knows.
    """
    _refuse_mask(x)
    try:
        view = _read_buffer(x)
    except TypeError:
        raise TypeError(_no_array(x)) from None
    if isinstance(view, memoryview):
        return view, _name_type(view)
    from warpway import _numpy

    return _numpy.view_of(view, numpys)


def _name_type(view):
    """Of the elements of a buffer."""
    view = _read_buffer(view)
    if isinstance(view, memoryview):
        return _FORMATS[view.format.lstrip("@=<")]
    from warpway import _numpy

    return _numpy.name_of(view.dtype)


def _copy_of_buffer(x, device):
    view = _read_buffer(x)
    if hasattr(view, "dtype"):
        from warpway import _numpy

        if _numpy.check(view.dtype):
            return _numpy.share(view, device)
    view, dtype = _view_buffer(view)
    array = empty(view.shape, dtype, device=device or "host")
    array.copy_from(view if view.c_contiguous else view.tobytes())
    return array


class _CudaSpan:
    """Which bytes an object with the CUDA array interface reaches, and what they mean."""

    def __init__(self, x):
        interface = x.__cuda_array_interface__
        self.dtype, self.shape = interface["typestr"], interface["shape"]
        address, self.is_read_only = interface["data"]
        self.strides, self.stream = interface.get("strides"), interface.get("stream")
        item, self.below, above = itemsize(self.dtype), 0, 0
        if self.strides is None:
            above = (_layout(self.shape, self.dtype)[1] if 0 not in self.shape else item) - item
        else:
            for length, stride in zip(self.shape, self.strides):
                self.below += max(-stride * (length - 1), 0)
                above += max(stride * (length - 1), 0)
        self.nbytes = 0 if 0 in self.shape else self.below + above + item
        self.start = address - self.below

    def array(self, memory):
        return Array(memory, self.shape, self.dtype, self.strides if self.nbytes else None, self.below)


def _from_cuda(x):
    """Without a copy."""
    span = _CudaSpan(x)
    if span.is_read_only:
        raise BufferError("it is for reading only, and an importer could write to its memory")
    if not span.nbytes:
        return empty(span.shape, span.dtype, device=0)  # which GPU has nothing is not said
    array = span.array(_wrap_somewhere(span, x))
    return array if span.stream is None else array.ready(span.stream)


def _wrap_somewhere(span, x):
    """The interface does not say which GPU has the bytes: each is asked."""
    refusal = NoDevice("there is no GPU")
    for index in range(Device.count("cuda")):
        try:
            return Memory.wrap(span.start, span.nbytes, index, keep=x)
        except InvalidArgument as error:
            refusal = error
        except Unsupported:
            return _slice_of(span)
    raise refusal


def _gpus_of(span):
    """The GPU that has the bytes, whether they can be shared or not; else all, since they may be the CPU's."""
    gpus = [Device(index) for index in range(Device.count("cuda"))]
    for gpu in gpus:
        try:
            Memory.wrap(span.start, span.nbytes, gpu).close()
        except InvalidArgument:
            continue
        except Unsupported:
            pass
        return [gpu]
    return gpus


def _slice_of(span):
    """A part of a slice, where an allocator of this package has put the bytes."""
    memory, offset = Memory.find(span.start)
    if not memory.is_slice or span.nbytes > memory.nbytes - offset:
        raise Unsupported("the bytes are not those of one slice")
    span.below += offset
    return memory


def _copy_of_cuda(x, device):
    """In the order of the stream that the interface names, else of CUDA's legacy default stream."""
    span = _CudaSpan(x)
    if not span.nbytes:
        return empty(span.shape, span.dtype, device=0 if device is None else device)
    refusal = NoDevice("there is no GPU")
    for gpu in _gpus_of(span):
        try:
            array = span.array(copy_in(span.start, span.nbytes, gpu, 1 if span.stream is None else span.stream))
        except InvalidArgument as error:  # its stream is of another GPU
            refusal = error
            continue
        return array if device is None or Device(device) == gpu else from_dlpack(array, device=device)
    raise refusal


_FORMATS = {
    "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64",
    "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "Q": "uint64",
    "e": "float16", "f": "float32", "d": "float64", "Zf": "complex64", "Zd": "complex128",
    "?": "bool",
}  # fmt: skip
