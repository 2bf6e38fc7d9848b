# SPDX-License-Identifier: Apache-2.0
# warpway.Token; token_pickle.c has pickles
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.string cimport memcmp, strlen

cdef extern from "received.h":
    struct sent:
        pass

cdef extern from "token.h":
    object token_pickle_ready(core *, const ww_token *, const ready_point *, const sent *)

cdef extern from "array.h":
    void array_set_ready(object array, PyObject *timeline, uint64_t value) # takes over the timeline

cdef extern from "memory.h":
    object memory_object_imported(core *, ww_memory *)

cdef extern from "channel.h":
    object channel_open_token(core *, const ww_token *, object which)

TOKEN_KINDS = ("", "memory", "timeline", "event", "barrier", "channel", "service", "pool", "work-queue")

# Of the memory that was opened last: what is received one after the other is usually on the same device.
cdef uint8_t home_uuid[WW_DEVICE_UUID_BYTES]
cdef bytes home_name = b"" # for ww_device_open(); b"": not known


cdef struct TokenImport:
    ww_device *device
    const ww_token *token
    ww_import_params params
    bint may_read # instead, if the memory was sealed: no access was asked for
    ww_memory *memory
    ww_timeline *timeline
    ww_event *event


cdef ww_status run_memory_import(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <TokenImport *>call
    status = ww_memory_import(args.device, NULL, args.token, &args.params, cancel, &args.memory, NULL)
    if status != WW_ERR_ACCESS or not args.may_read or args.params.access == WW_ACCESS_READ:
        return status
    args.params.access = WW_ACCESS_READ
    return ww_memory_import(args.device, NULL, args.token, &args.params, cancel, &args.memory, NULL)


cdef ww_status run_timeline_import(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <TokenImport *>call
    return ww_timeline_import(NULL, args.token, cancel, &args.timeline)


cdef ww_status run_event_import(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <TokenImport *>call
    return ww_event_import(args.device, NULL, args.token, cancel, &args.event)


# --- for the files in C: see token.h ---

cdef public object token_object(core *unused, const ww_token *token):
    cdef Token self = Token.__new__(Token)
    self.token = token[0]
    return self


cdef public object token_object_sent(core *unused, const ww_token *token, const sent *sent):
    cdef Token self = Token.__new__(Token)
    self.token = token[0]
    self.sent = sent[0]
    return self


cdef public void token_set_ready(object token, const ready_point *point) noexcept:
    (<Token>token).ready = point[0]
    Py_XINCREF(point.timeline)


cdef public const ww_token *token_of(core *unused, object value) except NULL:
    if not isinstance(value, Token):
        raise TypeError(f"this argument is a warpway.Token, not {value!r}")
    return &(<Token>value).token


cdef public c_bool token_info(core *unused, const ww_token *token, ww_token_info *info) except 0:
    CLEAR(info[0])
    check(ww_token_info_get(token, info))
    return True


cdef public void token_deliver(ww_export_params *params) noexcept:
    if params.uses > 0 and params.escrow_ns != WW_ESCROW_NONE:
        params.flags = WW_EXPORT_DELIVERY


cdef public int convert_escrow(object value, void *out_ns) except 0:
    ns = <uint64_t *>out_ns
    if value is None:
        ns[0] = WW_ESCROW_NONE
    else:
        convert_timeout(value, ns)
        ns[0] = ns[0] or 1 # 0 means the default to the library
    return 1


cdef public int convert_uses(object value, void *out_uses) except 0:
    number = index(value)
    if not 0 <= number < 2**32:
        raise ValueError(f"uses is 0 to 2**32 - 1, not {value!r}")
    (<uint32_t *>out_uses)[0] = number
    return 1


cdef public c_bool read_name_or_token(core *unused, object value, const char **out_name, const ww_token **out_token,
                                      PyObject **out_text) except 0:
    cdef char *name
    out_text[0] = NULL
    if isinstance(value, str):
        data = text_bytes(value, &name)
        Py_INCREF(data)
        out_text[0] = <PyObject *>data
        out_name[0] = name
    else:
        out_token[0] = token_of(python_core, value)
    return True


cdef ww_device *open_quietly(const char *name) noexcept:
    """NULL without an exception. Opening a GPU may load its driver."""
    cdef ww_device *device
    with nogil:
        ww_device_open(name, &device)
    if device:
        device_keep(device)
    return device


cdef bint is_home(const uint8_t *uuid) noexcept:
    return home_name != b"" and memcmp(home_uuid, uuid, WW_DEVICE_UUID_BYTES) == 0


cdef public ww_device *token_device(core *unused, const uint8_t *uuid, object which) except NULL:
    """Without a device: that which holds the bytes; one that this process does not see: the default device."""
    global home_name
    cdef ww_device_info info
    if which is not None:
        return convert_device(python_core, which)
    name = home_name
    if not is_home(uuid):
        host = open_quietly("host")
        if not host:
            return convert_device(python_core, None)
        CLEAR(info)
        is_host = ww_device_info_get(host, &info) == WW_OK and memcmp(info.uuid, uuid, WW_DEVICE_UUID_BYTES) == 0
        handle_return(&device_class, host)
        name = b"host" if is_host else b"cuda:GPU-" + uuid_text(uuid).encode()
        memcpy(home_uuid, uuid, WW_DEVICE_UUID_BYTES)
        home_name = name
    return open_quietly(name) or convert_device(python_core, None)


cdef public ww_device *token_used_device(const core *unused, const ww_token_info *info) noexcept:
    name = home_name # another thread may replace it meanwhile
    return open_quietly(name) if is_home(info.home_uuid) else NULL


cdef public ww_memory *token_map_at_once(const core *unused, const ww_token *token, const ww_token_info *info) noexcept:
    cdef TokenImport call
    cdef ww_status status
    if not info.flags & WW_TOKEN_SLICE or not is_home(info.home_uuid):
        return NULL
    name = home_name
    cdef const char *device = name
    call.token = token
    CLEAR(call.params)
    call.params.access = info.access
    call.may_read = False
    call.memory = NULL
    with nogil:
        status = ww_device_open(device, &call.device)
        if status == WW_OK:
            status = run_memory_import(&call, 0, ww_cancel_nowait())
        ww_device_unref(call.device)
    return call.memory if status == WW_OK else NULL


cdef public ww_status token_timeline(core *unused, const ww_token *token,
                                     ww_timeline **out_timeline) except? -0x80000000:
    cdef TokenImport call
    call.token = token
    call.timeline = NULL
    status = wait_brief(python_core, run_timeline_import, &call, NULL)
    out_timeline[0] = call.timeline
    return status


cdef public object token_open_timeline(core *unused, const ww_token *token):
    cdef ww_timeline *timeline
    check(token_timeline(python_core, token, &timeline))
    return timeline_object(python_core, timeline)


cdef public object token_fail_kind(core *unused):
    refuse(WW_ERR_UNSUPPORTED, "a token of this kind of object cannot be opened from Python")


@cython.final
cdef class Token:
    """Token(data)\n--\n
    Plain bytes that name an object to any process, and contain a secret.

    Parameters
    ----------
    data : bytes-like or str
        What `to_bytes` or `text` gave.

    A process that has the token has the access that it was made for. A pickled Token arrives
    as the object that it names.
    """
    cdef object __weakref__
    cdef ww_token token
    cdef sent sent
    cdef ready_point ready # of the array that it names, in the process that made it

    def __init__(self, data):
        self.token = read_token(data)

    def __dealloc__(self):
        Py_XDECREF(self.ready.timeline)

    @classmethod
    @cython.binding(True)
    def from_bytes(cls, data, /):
        """The token of bytes that may come from anywhere; or of its text.

        Raises
        ------
        ProtocolError
            These bytes are no token, or damaged.
        """
        return Token(data)

    def open(self, access=None, device=None):
        """What the token names: a Memory, Array, Timeline, Event, Barrier, Pool, a Channel or WorkQueue
        of which this process is a consumer then, or a Client of a service.

        Parameters
        ----------
        access : 'read' or 'write'
            Of memory; None: what the token grants, and 'read' once the memory is sealed.
        device : Device or what it takes, optional
            The device that is to reach the bytes; None: the one that holds them.

        Raises
        ------
        NotFound
            The object has ended.
        AccessDenied
            For writing, of a token for reading or of sealed memory; or it was revoked.
        """
        cdef TokenImport call
        cdef ww_token_info info
        CLEAR(call.params)
        if access is not None:
            convert_access(access, &call.params.access)
        token_info(python_core, &self.token, &info)
        call.token = &self.token
        kind = kind_of(&info)
        if kind == WW_OBJECT_MEMORY:
            return open_memory(self, &call, &info, device)
        if kind == WW_OBJECT_TIMELINE:
            return token_open_timeline(python_core, &self.token)
        if kind == WW_OBJECT_EVENT:
            import_on(&call, run_event_import, convert_device(python_core, device))
            return event_object(python_core, call.event)
        if kind == WW_OBJECT_BARRIER:
            return barrier_object(python_core, &self.token)
        if kind == WW_OBJECT_POOL:
            return open_pool(&self.token, &info, device)
        if kind == WW_OBJECT_CHANNEL:
            return channel_open_token(python_core, &self.token, device)
        if kind == WW_OBJECT_WORK_QUEUE:
            return work_queue_open_token(python_core, &self.token, device)
        return client_open_token(python_core, &self.token) if kind == WW_OBJECT_SERVICE else token_fail_kind(python_core)

    def to_bytes(self):
        """The token as 512 bytes, to be sent by any means. Keep them as secret as a password.

        They say nothing of a ready point: if the array has one, the call waits for it.

        Between processes that do not trust each other send these bytes, and no pickle: reading a
        pickle runs code of its sender.
        """
        wait_until_ready(self)
        return token_bytes(self)

    def __reduce__(self):
        try:
            return token_pickle_ready(python_core, &self.token, &self.ready, &self.sent)
        except Exception as error:
            note_late("Token", error)
            raise

    def __eq__(self, other):
        if not isinstance(other, Token):
            return NotImplemented
        return memcmp(self.token.bytes, (<Token>other).token.bytes, WW_TOKEN_BYTES) == 0

    def __hash__(self):
        return hash(token_bytes(self))

    @property
    def text(self):
        """str: the token in characters that are safe in a command line, a file or JSON; as secret as `to_bytes`."""
        cdef char text[WW_TOKEN_TEXT_BYTES]
        wait_until_ready(self)
        check(ww_token_to_text(&self.token, text))
        return text.decode()

    @property
    def kind(self):
        """str: 'memory', 'timeline', 'event', 'barrier', 'pool', 'channel' or 'work-queue'."""
        info = own_info(self)
        return word(kind_of(&info), TOKEN_KINDS)

    @property
    def access(self):
        """str: 'read' or 'write', the most that it grants."""
        return word(own_info(self).access, ("", "read", "write"))

    @property
    def nbytes(self):
        """int: bytes of the span."""
        return own_info(self).bytes

    @property
    def shape(self):
        """tuple of int, or None: of the array in it."""
        info = own_info(self)
        return info_numbers(info.array.shape, info.array.ndim) if info.has_array else None

    @property
    def dtype(self):
        """str or None: of the array in it."""
        info = own_info(self)
        return info_dtype(&info.array.dtype) if info.has_array else None

    def __repr__(self):
        # Does not show the secret.
        info = own_info(self)
        array = f"shape={self.shape} dtype={self.dtype}, " if info.has_array else ""
        return (f"<warpway.Token {self.kind or '?'}, {array}{'write' if info.access == WW_ACCESS_WRITE else 'read'}, "
                f"{info.bytes} bytes, broker {text(info.address)}>")


cdef ww_token read_token(data) except *:
    cdef ww_token_info info
    cdef ww_token token
    cdef Py_buffer buffer
    if isinstance(data, str):
        data = data.encode()
        check(ww_token_from_text(data, &token))
        check(WW_OK if len(data) == <Py_ssize_t>strlen(data) else WW_ERR_PROTOCOL) # more after a zero
        return token
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    memset(&token, 0, sizeof(token))
    if buffer.len <= WW_TOKEN_BYTES:
        memcpy(token.bytes, buffer.buf, buffer.len)
    PyBuffer_Release(&buffer)
    token_info(python_core, &token, &info)
    return token


cdef inline uint32_t kind_of(const ww_token_info *info) noexcept:
    return WW_OBJECT_MEMORY if info.flags & WW_TOKEN_SLICE else info.kind


cdef ww_token_info own_info(Token self) except *:
    cdef ww_token_info info
    token_info(python_core, &self.token, &info)
    return info


cdef inline token_bytes(Token self):
    return (<char *>self.token.bytes)[:WW_TOKEN_BYTES]


cdef int wait_until_ready(Token self) except -1:
    """The bytes of a token have no room for a ready point: what they name is ready."""
    return check(ready_point_wait(python_core, &self.ready, NULL, WW_FOREVER, NULL))


cdef int import_on(TokenImport *call, wait_fn run, ww_device *device) except -1:
    call.device = device
    try:
        return check(wait_brief(python_core, run, call, NULL))
    finally:
        handle_return(&device_class, device)


cdef object open_memory(Token self, TokenImport *call, const ww_token_info *info, which):
    # In a child made by fork() nobody can wait for the bytes: the token keeps its use.
    if ready_point_query(&self.ready) == WW_ERR_FORKED:
        check(WW_ERR_FORKED)
    call.may_read = call.params.access == 0
    call.params.access = call.params.access or info.access
    import_on(call, run_memory_import, token_device(python_core, info.home_uuid, which))
    memory = memory_object_imported(python_core, call.memory)
    if not info.has_array:
        return memory
    array = array_object(python_core, memory, &info.array)
    if self.ready.timeline:
        Py_XINCREF(self.ready.timeline)
        array_set_ready(array, self.ready.timeline, self.ready.value)
    return array


cdef object open_pool(const ww_token *token, const ww_token_info *info, which):
    """Its chunks are mapped now."""
    cdef ww_pool *pool
    device = token_device(python_core, info.home_uuid, which)
    try:
        check(pool_import(token, device, &pool))
    finally:
        handle_return(&device_class, device)
    return pool_object(pool, info)
