# SPDX-License-Identifier: Apache-2.0
# warpway.Service: functions that this process runs for others. See offer.pxi for how it runs them.

SERVICE_STATES = ("", "starting", "ready", "draining", "stopped", "lost")

cdef extern from *:
    """
    #include <unistd.h>
    static _Thread_local void *serving_now;
    #define LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
    #define STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
    """
    void *serving_now # the Serving of this thread; NULL: it does not serve
    void *LOAD_POINTER "LOAD"(void *) nogil
    int LOAD(int) nogil
    void STORE(int, int)
    int close_fd "close"(int)

cdef enum:
    SERVE_NS = 40000000 # so soon a thread that serves learns that it is to stop


# --- what services and functions tell ---

cdef service_info(const ww_service_info *info):
    return ServiceInfo((
        word(info.state, SERVICE_STATES), info.functions, info.clients, info.clients_max, info.calls_max,
        info.arguments_bytes, info.results_bytes, info.pid, info.uid, info.calls, info.age_ns / 1e9,
        text(info.version), text(info.program)))


cdef function_info(const ww_function_info *info):
    latency = tuple([info.latency[i] for i in range(WW_SERVICE_LATENCIES)])
    return FunctionInfo((
        text(info.name), text(info.signature), info.calls, info.failed, info.not_started, info.run_ns / 1e9,
        info.flags & WW_FUNCTION_IDEMPOTENT != 0, info.flags & WW_FUNCTION_ENQUEUES != 0, latency, info.batches,
        info.batch_calls_max))


# --- making one ---

cdef struct CreateService:
    broker_call on
    const char *name
    ww_service_params params
    ww_service *service


cdef ww_status run_create_service(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <CreateService *>call
    return ww_service_create(args.on.device, args.on.broker, args.name, &args.params, cancel, &args.service)


cdef ww_status run_service_export(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Export *>call
    return ww_service_export(<ww_service *>args.object, args.access, &args.params, cancel, &args.token)


cdef uint32_t service_limit(value) except? 0:
    """None is the library's default, for which that takes 0."""
    cdef uint64_t number = 0
    convert_bytes(value, &number)
    if value is not None and not 0 < number < 2**32:
        raise ValueError(f"a limit of a Service is at least 1, or None, not {value!r}")
    return <uint32_t>number


cdef bytes read_ids(ids):
    """The numbers of users or groups, each as the uint32_t that it is to C."""
    made = b""
    for number in ids or ():
        if not 0 <= index(number) < 2**32 - 1:
            raise ValueError(f"these are no numbers of users or groups: {ids!r}")
        made += index(number).to_bytes(4, sys.byteorder)
    return made


@cython.final
cdef class Service:
    """Service(name=None, *, device=None, mode=0o600, group=None, version='', functions_max=None, clients_max=None, \
    clients_per_uid_max=None, calls_max=None, arguments_bytes=None, results_bytes=None, streams=None, \
    memory_bytes_max=None, builtin_data=False, builtin_alloc=False, alloc_bytes_max=None, keep=0.0, after_streams=None, \
    replace=False, broker=None, cancel=None)\n--\n
    Functions that this process runs for others, on arrays that stay where they are.

    Parameters
    ----------
    name : str, optional
        None: it is found by its token only.
    device : Device or what it takes, optional
        Where the arrays of calls are mapped; None: the default device.
    mode : int
        Permission bits: read: see functions and state; write: call. 0o600: this user alone.
    group : int, optional
        A group id; None: this process's own.
    version : str
        The program's own version.
    functions_max : int, optional
        At most 1024; None: 64.
    clients_max : int, optional
        At one time, at most 4096; None: 1024.
    clients_per_uid_max : int, optional
        Of one user; None: as many as `clients_max`.
    calls_max : int, optional
        Of one client that are not complete: a power of two, at most 1024; None: 64.
    arguments_bytes, results_bytes : int, optional
        Room for those of one client's calls that are not complete, at most 1 MiB; None: 64 KiB.
    streams : int, optional
        On which functions work at the same time; None: 4.
    memory_bytes_max : int, optional
        Arrays that are kept for one client as results until it has taken them; None: 1 GiB.
    builtin_data : bool
        Offer the functions ``warpway.copy``, ``warpway.fill``, ``warpway.read`` and ``warpway.write``.
    builtin_alloc : bool
        Offer ``warpway.alloc`` and ``warpway.free``, by which clients have memory made here.
    alloc_bytes_max : int, optional
        Of that memory, for all clients of one user; None: 1 GiB.
    keep : float or None
        Seconds for which an array stays mapped here after a call, so that the next call with it is
        faster. If its owner frees it, its bytes are free only then. None: until the client ends.
        Of a client the last 8 arrays; slices of pools never.
    after_streams : int, optional
        Streams of the GPU, at most 4, that may wait for values of timelines that calls start
        after, so that such a call starts as soon as its value is reached: for clients of this
        user, and values that a stream is about to signal. None, or under MPS: the timelines are
        polled.
    replace : bool
        A service that has the name ends, in one step.
    broker : Broker, optional
    cancel : Cancel, optional

    Only this process needs the GPU. A client's death harms nobody; if the server ends, each call
    ends with `PeerLost`. Use::

        service = warpway.Service('lab')

        @service.function('f32 a, f32[n] x read, f32[n] y readwrite')
        def saxpy(a, x, y):
            np.asarray(y)[:] += a * np.asarray(x)

        service.serve()

    Raises
    ------
    AlreadyExists
        The name is taken, and `replace` is false.
    """
    cdef object __weakref__
    cdef void *object
    cdef ww_device *device_
    cdef list offers # what the service calls: it stays until the last thread has ended that serves
    cdef int ready_fd

    def __cinit__(self):
        self.offers = []
        self.ready_fd = -1

    def __init__(self, name=None, *, device=None, mode=0o600, group=None, version="", functions_max=None,
                 clients_max=None, clients_per_uid_max=None, calls_max=None, arguments_bytes=None, results_bytes=None,
                 streams=None, memory_bytes_max=None, bint builtin_data=False, bint builtin_alloc=False,
                 alloc_bytes_max=None, keep=0.0, after_streams=None, bint replace=False, broker=None, cancel=None):
        cdef CreateService call
        cdef char *version_text
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        name_bytes = text_of(name, &call.name)
        convert_mode(mode, &call.params.mode)
        convert_group(group, &call.params.gid)
        version_bytes = text_bytes(version, &version_text)
        if len(version_bytes) >= <Py_ssize_t>sizeof(call.params.version):
            raise ValueError(f"version has at most {sizeof(call.params.version) - 1} bytes, not '{version}'")
        memcpy(call.params.version, version_text, len(version_bytes))
        call.params.functions_max = service_limit(functions_max)
        call.params.clients_max = service_limit(clients_max)
        call.params.clients_per_uid_max = service_limit(clients_per_uid_max)
        call.params.calls_max = service_limit(calls_max)
        call.params.arguments_bytes = service_limit(arguments_bytes)
        call.params.results_bytes = service_limit(results_bytes)
        call.params.streams = service_limit(streams)
        call.params.after_streams = service_limit(after_streams or None)
        convert_bytes(memory_bytes_max, &call.params.memory_bytes_max)
        convert_bytes(alloc_bytes_max, &call.params.alloc_bytes_max)
        convert_timeout(keep, &call.params.keep_ns)
        call.params.flags = WW_PUT_REPLACE if replace else 0
        call.params.builtin = ((WW_SERVICE_BUILTIN_DATA if builtin_data else 0)
                               | (WW_SERVICE_BUILTIN_ALLOC if builtin_alloc else 0))
        broker_call_run(python_core, run_create_service, &call.on, device, broker, <PyObject *>cancel)
        close_service(self)
        handle_return(&device_class, self.device_)
        self.device_, self.object = call.on.device, call.service

    def __dealloc__(self):
        close_service(self)
        handle_return(&device_class, self.device_)

    def function(self, signature, *, name=None, **options):
        """A decorator that offers a function.

        Parameters
        ----------
        signature : str
            Such as ``'f32 a, f32[n] x read, f32[n] y readwrite -> f64 sum'``.
        name : str, optional
            None: the function's ``__name__``.
        idempotent, enqueues, uids, gids, batch, batch_wait
            As of `offer`.
        """
        if not isinstance(signature, str):
            raise TypeError("the decorator needs a signature: @service.function('f32 a -> f32 b')")
        return lambda function: self.offer(function.__name__ if name is None else name, signature, function, **options)

    def offer(self, name, signature, function, *, bint idempotent=False, bint enqueues=False,
              uids=None, gids=None, batch=None, batch_wait=0.0):
        """Offer a function to clients.

        It gets the arguments by position: numbers, bool, bytes, None for what is left out, a Timeline,
        and an Array for each array, which NumPy, torch and CuPy use in place. If it has a parameter
        ``call``, that is the Call. It returns what the signature says: nothing, one result, or a tuple
        of results. An array as a result is an Array, Memory or Token; one of another library is copied.

        An exception is the call's failure. That of a warpway.Error arrives with its status and message,
        any other one as a `CallError` with its type and text, and its traceback goes to the logger
        'warpway'.

        Parameters
        ----------
        name : str
            Letters, digits, ``_``, ``.``, ``-`` and ``/``; not ``warpway.`` and more.
        signature : str
        function : callable
            No coroutine function: a thread that serves runs it.
        idempotent : bool
            To repeat a call does no harm.
        enqueues : bool
            It touches arrays only by work on ``call.stream``: so the next call of the lane starts when
            it has returned.
        uids, gids : sequence of int, optional
            Users and groups that may call it. None, None: all who may call
            the service.
        batch : int, optional
            It runs so many calls at once, at most 256, of different lanes. For each parameter it gets a
            tuple with the argument of each call, and as ``call`` a tuple of Calls. It returns a list of
            what it would return for each call; an exception in the list is the failure of that call
            alone, and one that is raised that of all. With no results it may return None.
        batch_wait : float
            Seconds for which a call waits for others, at most 60. 0: those are run together that have
            come while no thread was free.

        Raises
        ------
        AlreadyExists
            There is a function of this name.
        InvalidArgument
            The signature is none: the message says where.
        """
        cdef ww_function_params params
        cdef ww_service *service
        cdef Offer made
        cdef ww_status status
        cdef char *name_text
        cdef char *signature_text
        if batch is None and batch_wait:
            raise ValueError("batch_wait is for a function that runs several calls at once: it needs batch=N")
        CLEAR(params)
        params.flags = (WW_FUNCTION_IDEMPOTENT if idempotent else 0) | (WW_FUNCTION_ENQUEUES if enqueues else 0)
        params.batch_calls_max = service_limit(batch)
        convert_timeout(batch_wait, &params.batch_wait_ns)
        uid_bytes, gid_bytes = read_ids(uids), read_ids(gids)
        if uids is not None:
            params.uids = <const uint32_t *><const char *>uid_bytes
            params.uid_count = len(uid_bytes) // 4
        if gids is not None:
            params.gids = <const uint32_t *><const char *>gid_bytes
            params.gid_count = len(gid_bytes) // 4
        name_bytes, signature_bytes = text_bytes(name, &name_text), text_bytes(signature, &signature_text)
        service = <ww_service *>handle_borrow(self, &service_class)
        try:
            made = make_offer(self, name, signature_text, function, batch is not None)
            self.offers.append(made)
            if batch is None:
                status = ww_service_offer(service, name_text, signature_text, run_offer, <PyObject *>made, &params)
            else:
                status = ww_service_offer_batch(service, name_text, signature_text, run_offer_batch, <PyObject *>made,
                                                &params)
            if status != WW_OK:
                self.offers.remove(made)
            check(status)
        finally:
            handle_return(&service_class, service)
        return function

    def start(self):
        """Tell clients that all functions are offered."""
        apply_to_service(self, ww_service_start)

    def serve(self, timeout=None, *, threads=1, cancel=None):
        """Run functions for clients, in this thread or several others. Starts the service.

        Several threads may serve: then as many functions run at the same time, but of one lane of a
        client only one.

        Parameters
        ----------
        timeout : float or None
            Seconds; a function that runs then is not interrupted.
        threads : int
            1: this thread serves. More: so many others do, which end with this call, and this one
            waits. When it ends, by Ctrl-C, too, it waits for the functions that they run; a second
            Ctrl-C ends that. At most 1024.
        cancel : Cancel, optional

        Returns
        -------
        bool
            True: the service was drained and no call is left, or it was closed. False: the time is over.
        """
        cdef uint64_t timeout_ns
        cdef int is_over = 0, count = index(threads)
        convert_timeout(timeout, &timeout_ns)
        if not 1 <= count <= 1024:
            raise ValueError(f"threads is 1 to 1024, not {threads}")
        service = <ww_service *>handle_borrow(self, &service_class)
        try:
            if count > 1:
                return serve_by_threads(self, service, timeout_ns, count, cancel)
            return serve_here(self, service, timeout_ns, &is_over, cancel)
        finally:
            handle_give_back(self, &service_class, service)

    def serve_async(self, timeout=None, **keywords):
        """A coroutine that does what `serve` does, in a thread of its own."""
        return aio().run(self.serve, timeout, **keywords)

    def fileno(self):
        """A descriptor for event loops: readable while ``serve(0)`` has something to do. Only poll it.

        That is a call, or the end of one on a stream, a client that has come, or that the service was
        drained and no call is left. Each ``serve(0)`` runs the calls that are there, in the thread of
        the loop, and makes the descriptor unreadable until there is more. The Service closes it. With
        asyncio::

            service.start()
            loop.add_reader(service.fileno(), service.serve, 0)

        With `select`, which takes the Service itself::

            service.start()
            is_over = False
            while not is_over:
                readable, _, _ = select.select([service, sock], [], [])
                if service in readable:
                    is_over = service.serve(0)
        """
        cdef int fd = -1
        cdef ww_status status
        service = <ww_service *>handle_borrow(self, &service_class)
        try:
            if self.ready_fd < 0:
                with nogil:
                    status = ww_service_eventfd(service, &fd)
                check(status)
                if self.ready_fd < 0 and self.object == service:
                    self.ready_fd = fd
                else:
                    close_fd(fd) # another thread was faster, or has closed the Service
        finally:
            handle_return(&service_class, service)
        return self.ready_fd

    def drain(self):
        """Take no new calls: `serve` returns when those that have come are done.

        For a signal handler, too: ``signal.signal(signal.SIGTERM, lambda *_: service.drain())``.
        """
        apply_to_service(self, ww_service_drain)

    def token(self, access="write", *, uses=0, escrow=60.0, cancel=None):
        """A token by which any process can open the service.

        Parameters
        ----------
        access : 'read' or 'write'
            To see its functions, or to call them.
        uses : int
            How often it can be opened; 0: any number of times.
        escrow : float or None
            Seconds for which the token is valid after the service has ended.
        cancel : Cancel, optional
        """
        return make_token(self, &service_class, run_service_export, uses, escrow, None, cancel,
                          index_of(access, "access", ("read", "write")) + WW_ACCESS_READ)

    def info(self):
        """Its state, as a ServiceInfo."""
        cdef ww_service_info info
        CLEAR(info)
        service = <ww_service *>handle_borrow(self, &service_class)
        try:
            check(ww_service_info_get(service, &info))
        finally:
            handle_return(&service_class, service)
        return service_info(&info)

    def functions(self):
        """What it offers, as a list of FunctionInfo."""
        cdef ww_function_info info
        cdef ww_status status = WW_OK
        made = []
        service = <ww_service *>handle_borrow(self, &service_class)
        try:
            while True:
                CLEAR(info)
                status = ww_service_function_info_get(service, len(made), &info)
                if status == WW_END:
                    return made
                check(status)
                made.append(function_info(&info))
        finally:
            handle_return(&service_class, service)

    def close(self):
        """End the service. Calls that were not started end with `Unavailable`.

        Threads that serve end when the function that they run has returned.
        """
        close_service(self)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        close_service(self)

    @property
    def device(self):
        """Device: where arrays are mapped."""
        if not self.object:
            handle_borrow(self, &service_class) # says that it is closed
        return device_object(python_core, ww_device_ref(self.device_))

    @property
    def closed(self):
        """bool: this process has closed it."""
        return self.object == NULL


cdef void close_service(Service self) noexcept:
    fd, self.ready_fd = self.ready_fd, -1
    handle_close(self, &service_class)
    if fd >= 0:
        close_fd(fd)


cdef int apply_to_service(Service self, ww_status (*function)(ww_service *) noexcept nogil) except -1:
    service = <ww_service *>handle_borrow(self, &service_class)
    try:
        check(function(service))
    finally:
        handle_return(&service_class, service)
    return 0


# --- serving ---

cdef struct Serving:
    ww_service *service
    void **object # of its Service: another one there is, or none: it was closed
    int *is_over
    PyObject *error # what a function raised that ends the serving, such as KeyboardInterrupt


cdef bint serving_is_closed(const Serving *serving) noexcept nogil:
    return LOAD_POINTER(serving.object[0]) != serving.service


cdef ww_status run_serve(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    """For a slice of time, to learn that it is to stop."""
    cdef ww_status status
    global serving_now
    cdef void *outer = serving_now
    serving_now = serving = <Serving *>call
    status = ww_service_serve(serving.service, timeout_ns, cancel)
    serving_now = outer
    if serving.error:
        return STATUS_RAISED
    return STATUS_CLOSED if serving_is_closed(serving) or LOAD(serving.is_over[0]) else status


cdef bint serve_here(Service self, ww_service *service, uint64_t timeout_ns, int *is_over, cancel) except -1:
    cdef Serving serving
    cdef ww_status status
    serving.error = NULL
    serving.object = &self.object
    serving.is_over = is_over
    serving.service = service
    check(ww_service_start(service))
    try:
        status = wait_in_slices(python_core, run_serve, &serving, timeout_ns, <PyObject *>cancel)
        if serving.error:
            raise <object>serving.error
    finally:
        Py_XDECREF(serving.error)
    if status != WW_END and status != STATUS_CLOSED and status != WW_TIMED_OUT:
        check(status)
    return status != WW_TIMED_OUT


@cython.internal
@cython.final
cdef class ServeBeside:
    """What the threads of serve() call."""
    cdef Service owner
    cdef ww_service *service # a reference: they may outlast a serve() that a second Ctrl-C ends
    cdef uint64_t timeout_ns
    cdef object cancel
    cdef int is_over
    cdef bint is_complete
    cdef int begun, ended # threads that have
    cdef object bell # a lock, which is released when a thread ends
    cdef object error # the first that one of them raised

    def __dealloc__(self):
        handle_return(&service_class, self.service)

    def __call__(self):
        self.begun += 1
        try:
            if not self.is_over: # else Ctrl-C came while the threads were started
                self.is_complete |= serve_here(self.owner, self.service, self.timeout_ns, &self.is_over, self.cancel)
        except BaseException as error:
            if self.error is None:
                self.error = error
            STORE(self.is_over, 1)
        self.ended += 1
        if self.bell.locked():
            self.bell.release()


cdef int wait_for_end(ServeBeside beside) except -1:
    """Of a thread. Thread.join() would take a thread for ended once it was interrupted."""
    beside.bell.acquire(True, SERVE_NS / 1e9) # not for longer: another thread may have got a signal
    return PyErr_CheckSignals()


cdef bint serve_by_threads(Service self, ww_service *service, uint64_t timeout_ns, int threads, cancel) except -1:
    """This thread runs no function. If it is the main thread, Ctrl-C would leave logging with a lock that the other
    threads wait for."""
    from threading import Lock, Thread
    cdef ServeBeside beside = ServeBeside()
    beside.owner, beside.service, beside.timeout_ns, beside.cancel = self, ww_service_ref(service), timeout_ns, cancel
    beside.bell = Lock()
    made = [Thread(target=beside, name="warpway serve", daemon=True) for _ in range(threads)]
    try:
        for thread in made:
            thread.start()
        while beside.ended < threads:
            wait_for_end(beside)
    finally:
        STORE(beside.is_over, 1)
        while beside.ended < beside.begun:
            wait_for_end(beside)
        for thread in made:
            if thread.is_alive(): # one that was not started is not
                thread.join()
    if beside.error is not None:
        raise beside.error
    return beside.is_complete
