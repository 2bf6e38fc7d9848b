# SPDX-License-Identifier: Apache-2.0
"""Arrays by handle, as users of Numba know them."""

from warpway._core import Array, Token, open_handle


class IpcArrayHandle:
    """A handle of an Array, which can be pickled: ``array.get_ipc_handle()``.

    Any process can open it while the array lives, one `open` at a time for each handle object. If the
    array is not a slice of a pool, other processes can also open it while one that did has it open.
    The handle of another process's array keeps no bytes: when nobody has the array, they are free.
    As a context manager it opens the array, and closes it at the end.
    """

    def __init__(self, array):
        self._token = array.token(uses=0, escrow=None)
        self._own = array
        self._opened = None

    def open(self):
        """The Array; in the process that made the handle it is the same object.

        Raises
        ------
        ValueError
            It is open already.
        """
        if self._opened is not None:
            raise ValueError("this IpcArrayHandle is open already")
        self._opened = self._token.open() if self._own is None else self._own
        return self._opened

    def close(self):
        """End what `open` began. The array of the process that made the handle stays.

        Raises
        ------
        ValueError
            It is not open.
        """
        if self._opened is None:
            raise ValueError("this IpcArrayHandle is not open")
        if self._own is None:
            self._opened.close()
        self._opened = None

    def __enter__(self):
        return self.open()

    def __exit__(self, *unused):
        self.close()

    def __reduce__(self):
        if self._own is not None:
            self._own.wait()  # it may have been written since: the bytes of a token carry no ready point
        return _receive, (self._token.to_bytes(),)


def _receive(data):
    handle = IpcArrayHandle.__new__(IpcArrayHandle)
    handle._token, handle._own, handle._opened = Token(data), None, None
    return handle


class open_ipc_array:
    """An array of another program by its bare 64-byte handle, as a context manager.

    ::

        with warpway.open_ipc_array(handle, shape=(1000,), dtype="float32") as array:
            ...

    Parameters
    ----------
    handle : bytes, or a sequence of 64 ints
        A CUipcMemHandle, as of ``numba.cuda``, CuPy, torch or cudaIpcGetMemHandle().
    shape, dtype, strides
        As of `Array`; strides in bytes.
    offset : int
        Bytes from the start of the allocation, which the handle names as a whole.
    device : Device or what it takes, optional

    Raises
    ------
    InvalidArgument
        This is no such handle, or the array does not fit into the allocation.
    PeerLost
        The process that made it has ended.
    """

    def __init__(self, handle, shape, dtype, strides=None, offset=0, *, device=None):
        data = handle if isinstance(handle, bytes) else bytes(byte & 0xFF for byte in handle)
        self._array: Array = open_handle(data, shape, dtype, strides, offset, "write", device)

    def __enter__(self):
        return self._array

    def __exit__(self, *unused):
        self._array.close()
