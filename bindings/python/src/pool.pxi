# SPDX-License-Identifier: Apache-2.0
# warpway.Pool: many small memories at the cost of a token

cdef struct PoolExport:
    ww_pool *pool
    ww_export_params params
    ww_token token


cdef struct PoolImport:
    ww_device *device
    const ww_token *token
    ww_pool *pool


cdef struct PoolAlloc:
    ww_pool *pool
    uint64_t bytes
    uint64_t alignment
    ww_memory *memory


cdef ww_status run_pool_export(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <PoolExport *>call
    return ww_pool_export(args.pool, NULL, &args.params, cancel, &args.token)


cdef ww_status run_pool_import(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <PoolImport *>call
    return ww_pool_import(args.device, NULL, args.token, cancel, &args.pool)


cdef ww_status run_pool_alloc(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <PoolAlloc *>call
    return ww_pool_alloc(args.pool, args.bytes, args.alignment, timeout_ns, cancel, &args.memory)


cdef public ww_status pool_import(const ww_token *token, ww_device *device, ww_pool **out_pool) except? -0x80000000:
    cdef PoolImport call
    call.device = device
    call.token = token
    call.pool = NULL
    status = wait_brief(python_core, run_pool_import, &call, NULL)
    out_pool[0] = call.pool
    return status


cdef public object pool_object(ww_pool *pool, const ww_token_info *info):
    """That of a token, which takes over the reference. It is this process's own if its token came home."""
    cdef ww_pool_info described
    cdef ww_status status
    cdef Pool self = Pool.__new__(Pool)
    self.object = pool
    CLEAR(described)
    with nogil:
        status = ww_pool_info_get(pool, &described)
    self.is_imported = status == WW_OK and described.is_imported
    memcpy(self.home_uuid, info.home_uuid, WW_DEVICE_UUID_BYTES)
    return self


cdef uint64_t pool_limit(value, str what, most) except? 0:
    """None: 0, the library's default. 0 is not said to mean that."""
    cdef uint64_t number = 0
    convert_bytes(value, &number)
    if value is not None and not 0 < number <= most:
        raise ValueError(f"{what} is 1 to {most}, or None, not {value!r}")
    return number


@cython.final
@cython.no_gc
cdef class Pool:
    """Pool(device=None, *, bytes_max=None, chunk_bytes=None, slices_max=None, kind='device')\n--\n
    Device memory in large chunks, of which slices are allocated.

    Parameters
    ----------
    device : Device or what it takes, optional
    bytes_max : int, optional
        Limit for all chunks together; None: the device's.
    chunk_bytes : int, optional
        None: 64 MiB, or `bytes_max` if that is less.
    slices_max : int, optional
        Most slices at one time; None: 65536.
    kind : 'device' or 'host'
        As of Memory.

    A slice is a Memory like any other, but to allocate it, to hand it to another process and
    to release it costs a few stores into shared memory. Its bytes are allocated again when
    this process has released it, it has no name (`Broker.put`), no token of it is in flight,
    and no process uses it. No memory is taken before the first slice is allocated.

    A pickled Pool arrives as one that `is_mapped`: a process that has it opens slices as they
    come, without asking the broker for each chunk that it has mapped. Only the process that
    made the pool allocates; in others `alloc`, `empty`, `trim`, `info` and `holders` raise
    AccessDenied.
    """
    cdef object __weakref__
    cdef void *object
    cdef Device shown # None: not asked for yet
    cdef bint is_imported
    cdef uint8_t home_uuid[WW_DEVICE_UUID_BYTES] # of an imported one

    def __init__(self, device=None, *, bytes_max=None, chunk_bytes=None, slices_max=None, kind="device"):
        cdef ww_pool_params params
        cdef ww_status status
        cdef ww_pool *pool
        CLEAR(params)
        convert_kind(kind, &params.kind)
        params.bytes_max = pool_limit(bytes_max, "bytes_max", 2**64 - 1)
        params.chunk_bytes = pool_limit(chunk_bytes, "chunk_bytes", 2**64 - 1)
        params.slices_max = <uint32_t>pool_limit(slices_max, "slices_max", WW_POOL_SLICES_MAX)
        shown = Device(device)
        with nogil:
            status = ww_pool_create(<ww_device *>shown.object, &params, &pool)
        check(status)
        handle_close(self, &pool_class)
        self.object = pool
        self.shown = shown
        self.is_imported = False

    def __dealloc__(self):
        handle_close(self, &pool_class)

    def alloc(self, nbytes, alignment=0, timeout=0.0, *, cancel=None):
        """A slice of the pool, as a Memory. Its bytes are not cleared.

        Parameters
        ----------
        nbytes : int
            At least 1; rounded up to 256.
        alignment : int
            Bytes, a power of two; 0: 256.
        timeout : float or None
            Seconds to wait until slices are free; 0: only use what is free now.

        Raises
        ------
        LimitReached
            The pool is full; the message says who holds most. Also with a timeout, if waiting
            cannot free anything.
        Timeout
            There was no room within `timeout` seconds.
        OutOfMemory
            The device or the machine has no more for a new chunk.
        """
        cdef PoolAlloc call
        call.bytes = call.alignment = 0
        convert_bytes(nbytes, &call.bytes)
        convert_bytes(alignment, &call.alignment)
        return alloc_slice(self, &call, timeout, cancel)

    def empty(self, shape, dtype="float32", *, timeout=0.0, cancel=None):
        """An Array in a slice of its own. Its elements are not set.

        Parameters
        ----------
        shape : int or sequence of int
        dtype : str or a dtype of NumPy, ml_dtypes or torch
        timeout : float or None
            Seconds to wait until slices are free; 0: only use what is free now.
        cancel : Cancel, optional

        Raises
        ------
        LimitReached, Timeout, OutOfMemory
            As `alloc`.
        """
        cdef PoolAlloc call
        cdef ww_array array
        call.alignment = 0
        describe_array(shape, dtype, &array)
        check(ww_array_bytes(&array, &call.bytes))
        call.bytes = call.bytes or 1 # of an array without elements: a slice has bytes
        return array_object(python_core, alloc_slice(self, &call, timeout, cancel), &array)

    def trim(self, keep_bytes=0):
        """Free chunks that contain no slice, but keep that many bytes of the pool.

        Returns how many bytes were freed.
        """
        cdef uint64_t kept = 0, freed = 0
        cdef ww_status status
        convert_bytes(keep_bytes, &kept)
        pool = <ww_pool *>handle_borrow(self, &pool_class)
        try:
            with nogil:
                status = ww_pool_trim(pool, kept, &freed)
            check(status)
        finally:
            handle_return(&pool_class, pool)
        return freed

    def info(self):
        """The state of the pool, after slices that no process uses any more were freed. Returns
        PoolInfo.
        """
        cdef ww_pool_info info
        cdef ww_status status
        CLEAR(info)
        pool = <ww_pool *>handle_borrow(self, &pool_class)
        try:
            with nogil:
                status = ww_pool_info_get(pool, &info)
            check(status)
        finally:
            handle_return(&pool_class, pool)
        if info.is_imported:
            refuse(WW_ERR_ACCESS, "this pool is another process's: only the process that made it knows its state")
        return PoolInfo((
            None if info.bytes_max == <uint64_t>-1 else info.bytes_max, info.chunk_bytes, info.bytes_reserved,
            info.bytes_used, info.bytes_waiting, info.bytes_free, info.bytes_largest, info.bytes_peak,
            info.allocations, info.chunk_count, info.slice_count, info.waiting_count, info.slices_max,
            info.holder_count))

    def holders(self):
        """The other processes that use slices of this pool, as a list of PoolHolder."""
        cdef ww_pool_holder_info info
        cdef ww_status status = WW_OK
        cdef uint32_t count = 0
        found = []
        pool = <ww_pool *>handle_borrow(self, &pool_class)
        try:
            while True:
                CLEAR(info)
                with nogil:
                    status = ww_pool_holder_get(pool, count, &info)
                if status == WW_END:
                    return found
                check(status)
                count += 1
                found.append(PoolHolder((info.pid, info.uid, text(info.program), info.slice_count, info.slice_bytes,
                                         info.is_lost != 0)))
        finally:
            handle_return(&pool_class, pool)

    def token(self, access=None, *, uses=1, escrow=60.0):
        """A Token by which other processes get to know the pool, as by a pickle.

        Parameters
        ----------
        access : 'read' or 'write'
            Of the slices that are expected; None: 'write', or as the pool came.
        uses : int
            How often it may be opened; 0: any number.
        escrow : float or None
            Seconds that the broker keeps it; with `uses` after the end of this process.
        """
        cdef PoolExport call
        CLEAR(call.params)
        if access is not None:
            convert_access(access, &call.params.access)
        convert_uses(uses, &call.params.uses)
        convert_escrow(escrow, &call.params.escrow_ns)
        token_deliver(&call.params)
        export_pool(self, &call)
        return token_object(python_core, &call.token)

    def __reduce__(self):
        try:
            return reduce_pool(self)
        except Exception as error:
            note_late("Pool", error)
            raise

    def close(self):
        """Release the pool. May be called twice. The pool ends with its last slice."""
        handle_close(self, &pool_class)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        handle_close(self, &pool_class)

    @property
    def device(self):
        """Device: where its memory is."""
        if self.shown is None:
            # That of an imported pool is opened when it is first asked for: a pool of a GPU may be only passed on.
            self.shown = device_object(python_core, token_device(python_core, self.home_uuid, None))
        return self.shown

    @property
    def is_mapped(self):
        """bool: it is a pool of another process. This one opens its slices, and cannot allocate."""
        return self.is_imported

    @property
    def closed(self):
        """bool: `close` was called."""
        return self.object == NULL

    def __repr__(self):
        # Asks nobody: info() may wait for the broker.
        owner = " of another process" if self.is_imported else f" of {self.shown!r}" if self.shown else ""
        return f"<warpway.Pool{owner}{'' if self.object else ' closed'}>"


cdef object alloc_slice(Pool self, PoolAlloc *call, timeout, cancel):
    """A Memory. Usually there is room. So the first try is without signals and flags, and has no time to wait: 1 ns, if
    there is any at all, since the library waits less for a broker then."""
    cdef uint64_t timeout_ns
    cdef ww_status status
    convert_timeout(timeout, &timeout_ns)
    call.pool = <ww_pool *>handle_borrow(self, &pool_class)
    try:
        with nogil:
            status = run_pool_alloc(call, timeout_ns > 0, NULL)
        if status == WW_TIMED_OUT and timeout_ns > 1:
            status = wait_run(python_core, run_pool_alloc, call, timeout_ns, <PyObject *>cancel)
        check(status)
    finally:
        handle_give_back(self, &pool_class, call.pool)
    return memory_object(python_core, call.memory)


cdef int export_pool(Pool self, PoolExport *call) except -1:
    """Without an access: for writing, unless the pool came for reading."""
    cdef bint is_chosen = call.params.access != 0
    if not is_chosen:
        call.params.access = WW_ACCESS_WRITE
    call.pool = <ww_pool *>handle_borrow(self, &pool_class)
    try:
        status = wait_brief(python_core, run_pool_export, call, NULL)
        if status == WW_ERR_ACCESS and not is_chosen:
            call.params.access = WW_ACCESS_READ
            status = wait_brief(python_core, run_pool_export, call, NULL)
        return check(status)
    finally:
        handle_give_back(self, &pool_class, call.pool)


cdef object reduce_pool(Pool self):
    cdef PoolExport call
    if not self.object:
        raise ValueError("this Pool is closed, so it cannot be pickled. multiprocessing.Queue pickles in a thread, after "
                         "put() has returned: keep it open until the other process has it")
    CLEAR(call.params)
    call.params.uses = 1
    call.params.flags = WW_EXPORT_DELIVERY
    export_pool(self, &call)
    return token_pickle(python_core, &call.token)
