# SPDX-License-Identifier: Apache-2.0
# warpway.WorkQueue: frames from several producers, each for one of the consumers
#
# WorkQueue(...) makes a queue and opens it, as a producer unless another role is given; get(), a token and a pickle open
# it. It is laid out as struct channel_handle, and frames are taken by the calls of a Channel (channel.h).
from cpython.ref cimport Py_CLEAR

cdef extern from "channel.h":
    struct channel_state:
        ww_device *device
        ww_channel_info form
        ww_work_queue_info queue_form
        ww_work_queue *queue
    struct channel_handle:
        PyObject *given
        PyObject *kept
    ctypedef ww_status (*state_fn)(channel_state *, void *, uint64_t, ww_cancel *) noexcept nogil
    ww_status channel_state_run(channel_state *, state_fn, void *, uint64_t, ww_cancel *) nogil
    channel_state *work_queue_state_new(ww_work_queue *, ww_device *)
    const channel_state *channel_open_state(object) except NULL
    object channel_take(object, bint acquires, object stream, uint64_t timeout_ns, PyObject *cancel)
    bint frame_set_size(object frame, object shape, object nbytes) except 0
    object channel_next(object, tuple, dict)
    object channel_iter(object)
    object channel_put_back(object, object frame)
    object channel_fileno(object, PyObject *)
    object channel_close(object, PyObject *)
    bint channel_is_closed(object)
    c_bool convert_count(object, const char *what, uint32_t *) except 0
    c_bool describe_frames(core *, object shape, object dtype, ww_array *, c_bool *out_given) except 0
    c_bool convert_metadata_type(const char *, char *out, size_t room) except 0
    c_bool convert_slot_bytes(object, const ww_array *, uint64_t *) except 0

cdef extern from "work_queue.h":
    const handle_class work_queue_class

QUEUE_ROLES = ("keeper", "producer", "consumer", "failed")


cdef enum:
    QUEUE_SHUT_DOWN, QUEUE_EXPORT, QUEUE_GET_INFO


cdef struct QueueCall:
    int what
    channel_state *state # borrowed
    ww_token_params params
    uint32_t access
    ww_token token
    ww_work_queue_info info


cdef struct QueueOpen:
    ww_device *device
    ww_broker *broker # borrowed
    const char *name # NULL: it has none, or there is a token
    const ww_token *token
    bint is_new
    ww_work_queue_params params # of a new one
    ww_work_member_params member # of one that is opened
    ww_array array
    ww_work_queue *queue


cdef ww_status queue_call(channel_state *state, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <QueueCall *>call
    if args.what == QUEUE_SHUT_DOWN:
        return ww_work_queue_close(state.queue)
    if args.what == QUEUE_EXPORT:
        return ww_work_queue_export(state.queue, args.access, &args.params, cancel, &args.token)
    CLEAR(args.info)
    return ww_work_queue_info_get(state.queue, &args.info)


cdef ww_status run_queue_call(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return channel_state_run((<QueueCall *>call).state, queue_call, call, timeout_ns, cancel)


cdef ww_status run_queue_open(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <QueueOpen *>call
    if args.is_new:
        return ww_work_queue_create(args.device, args.broker, args.name, &args.params, cancel, &args.queue)
    if args.token:
        return ww_work_queue_import(args.device, args.broker, args.token, &args.member, cancel, &args.queue)
    return ww_work_queue_get(args.device, args.broker, args.name, &args.member, timeout_ns, cancel, &args.queue)


cdef public object work_queue_open_token(core *unused, const ww_token *token, object device):
    """A consumer. Without a device: of the default one."""
    return WorkQueue.get(token_object(python_core, token), device=device)


cdef public object work_queue_refuse_role(object self, const channel_state *state, c_bool acquires):
    """Raises that a member of this role cannot acquire, or receive."""
    refuse(WW_ERR_ACCESS, f"this WorkQueue was opened with role='{queue_role(state)}', which does not "
                          f"{'acquire' if acquires else 'receive'} frames: open it with "
                          f"role='{'producer' if acquires else 'consumer'}'")


cdef ww_work_queue_info AT # for the place of each field


def queue_number(size_t address, int size, str doc, bint fixed=False, kind=int):
    """A property: the number of 4 or 8 bytes at an address in AT. A fixed one does not change."""
    cdef size_t offset = address - <size_t>&AT

    def get(WorkQueue self not None):
        cdef QueueCall call
        cdef const char *info = <const char *>&call.info
        if fixed:
            info = <const char *>&channel_open_state(self).queue_form
        else:
            ask_queue(self, QUEUE_GET_INFO, &call, None)
        return kind((<const uint64_t *>(info + offset))[0] if size == 8 else (<const uint32_t *>(info + offset))[0])

    return property(get, doc=doc)


@cython.final
@cython.no_gc_clear
cdef class WorkQueue:
    """WorkQueue(name=None, shape=None, dtype=None, *, slot_bytes=None, role='producer', slots=None,\
 producers_max=None, consumers_max=None, attempts_max=None, failed_max=None, held_max=2, end_after_producers=None,\
 metadata_bytes=0, metadata_type='', device=None, kind='device', mode=0o600, group=None, replace=False, broker=None,\
 cancel=None)\n--\n
    Frames from several producers, each for exactly one of several consumers, used in place.

    Parameters
    ----------
    name : str, optional
        By which others get it; None: by its tokens, or a pickle.
    shape, dtype : optional
        Of the largest frame. Both or none; without them frames are bytes.
    slot_bytes : int, optional
        Room for a frame; None: that of `shape`.
    role : 'keeper', 'producer', 'consumer' or 'failed'
        What this process does: nothing but keep the queue; acquire and publish frames; receive
        and acknowledge them; the same with frames that have failed.
    slots : int, optional
        Of each producer, at most 1024; None: 16.
    producers_max, consumers_max : int, optional
        At one time, at most 64; None: 8, 16.
    attempts_max : int, optional
        How often a frame is given out before it has failed, at most 64; None: 3.
    failed_max : int, optional
        Failed frames of each producer that are kept when it needs a slot. None: a quarter of
        `slots`.
    held_max : int, optional
        Frames that one consumer may hold; 2, so that the variable of a loop may still have a
        view of the frame before.
    end_after_producers : int, optional
        Of a consumer: its loop also ends when so many producers have joined since the queue was
        made, none is left, and all frames are done; 1: when the first ones have left. If another
        producer joins later, a further loop gets its frames. None: it ends by `shutdown` only.
    metadata_bytes : int
        Room for bytes of the program in each frame, at most 4096.
    metadata_type : str
        What the program calls the type of these, such as 'job/1'.
    device : Device or what it takes, optional
        Where this process's frames are.
    kind : 'device' or 'host'
        As of Memory.
    mode : int
        Permission bits: who may read consumes, who may write produces, too. 0o600: this
        user alone.
    group : int, optional
        A group id; None: this process's own.
    replace : bool
        A queue that has the name loses it to this one.
    broker : Broker, optional
    cancel : Cancel, optional

    A consumer is an iterator: ``for frame in queue`` gives each WorkFrame, acknowledges it when
    the next one is asked for, and ends as `receive` says, when all work is done;
    ``async for`` does the same. When a loop ends otherwise, by ``break`` or an exception, its
    last frame is not acknowledged: it is rejected when the program forgets it. A frame whose
    consumer ends without having acknowledged it is given to another one, with
    `WorkFrame.attempts` above 1; after `attempts_max` times it has failed.

    The frames of a producer outlive it. The queue ends with the last process that has it open.
    Several threads or tasks may use a WorkQueue: their calls take turns, each frame goes to one of
    them, and each loop acknowledges its own frames alone. `close` ends the loops. The frames of
    all count together: `held_max` is to be the number of threads that hold frames, twice that if
    views last until the next frame is asked for. ``next(queue)`` acknowledges the frame that it
    gave last, also if it gave it to another thread.

    Raises
    ------
    AlreadyExists
        The name is taken, and `replace` is false.
    InvalidArgument
        The frames do not fit into the slots, or a number is too large.
    """
    cdef object __weakref__
    cdef void *object # a struct channel_state
    cdef object given # both belong to the files in C, which take NULL for none
    cdef object kept

    def __cinit__(self):
        handle = <channel_handle *><void *>self
        Py_CLEAR(handle.given)
        Py_CLEAR(handle.kept)

    def __init__(self, name=None, shape=None, dtype=None, *, slot_bytes=None, role="producer", slots=None,
                 producers_max=None, consumers_max=None, attempts_max=None, failed_max=None, held_max=2,
                 end_after_producers=None, metadata_bytes=0, metadata_type="", device=None, kind="device", mode=0o600,
                 group=None, bint replace=False, broker=None, cancel=None):
        cdef QueueOpen call
        cdef const char *type_text
        cdef uint64_t metadata = 0
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        call.is_new = True
        params = &call.params
        params.role = queue_role_of(role)
        params.array = frames_of(shape, dtype, &call.array)
        convert_slot_bytes(slot_bytes, params.array, &params.slot_bytes)
        convert_count(slots, "slots", &params.slots)
        convert_count(producers_max, "producers_max", &params.producers_max)
        convert_count(consumers_max, "consumers_max", &params.consumers_max)
        convert_count(attempts_max, "attempts_max", &params.attempts_max)
        params.failed_max = queue_failed_max(failed_max)
        params.held_max = 2
        convert_count(held_max, "held_max", &params.held_max)
        convert_count(end_after_producers, "end_after_producers", &params.end_after_producers)
        convert_bytes(metadata_bytes, &metadata)
        params.metadata_bytes = <uint32_t>min(metadata, <uint64_t>0xffffffff)
        type_bytes = text_of(metadata_type, &type_text)
        convert_metadata_type(type_text, params.metadata_type, sizeof(params.metadata_type))
        convert_kind(kind, &params.kind)
        convert_mode(mode, &params.mode)
        convert_group(group, &params.gid)
        params.flags = WW_PUT_REPLACE if replace else 0
        name_bytes = text_of(name, &call.name)
        open_queue(self, &call, device, broker, 0, cancel)

    def __dealloc__(self):
        channel_close(self, NULL)

    @classmethod
    @cython.binding(True)
    def get(cls, name, *, role="consumer", end_after_producers=None, shape=None, dtype=None, metadata_type=None,
            device=None, timeout=0.0, broker=None, cancel=None):
        """Open a work queue.

        Parameters
        ----------
        name : str or Token
        role : 'keeper', 'producer', 'consumer' or 'failed'
            As of WorkQueue.
        end_after_producers : int, optional
            As of WorkQueue.
        shape, dtype : optional
            What the queue's frames must be; both or none.
        metadata_type : str, optional
            What the type of the metadata must be called.
        device : Device or what it takes, optional
            Of a producer: where its slots are. Of a consumer: that reads the frames.
        timeout : float or None
            Seconds to wait for the name.
        broker : Broker, optional
        cancel : Cancel, optional

        Raises
        ------
        NotFound, Timeout
            There is no such name.
        InvalidArgument
            The frames or the metadata are of another type; the message names both.
        LimitReached
            The queue has as many producers or consumers as it may have.
        WrongState
            A producer: the queue was shut down.
        AccessDenied
            Its mode, or the token, does not allow it.
        """
        cdef QueueOpen call
        cdef uint64_t timeout_ns
        memset(&call, 0, sizeof(call))
        CLEAR(call.member)
        call.member.role = queue_role_of(role)
        convert_count(end_after_producers, "end_after_producers", &call.member.end_after_producers)
        call.member.array = frames_of(shape, dtype, &call.array)
        type_bytes = text_of(metadata_type, &call.member.metadata_type)
        convert_timeout(timeout, &timeout_ns)
        if isinstance(name, str):
            name_bytes = text_of(name, &call.name)
        else:
            call.token = token_of(python_core, name)
        self = WorkQueue.__new__(WorkQueue)
        open_queue(self, &call, device, broker, timeout_ns, cancel)
        return self

    def acquire(self, stream=None, timeout=None, *, shape=None, nbytes=None, cancel=None):
        """A slot to write a frame into, as a WorkFrame. A ``with`` block publishes it.

        Its bytes are those of an earlier frame, until they are written. Waits until a frame of
        this producer is done, if all its slots have frames.

        Parameters
        ----------
        stream : Stream or what it takes, optional
            It writes the frame. None: the CPU writes.
        timeout : float or None
            Seconds.
        shape : int or sequence of int, optional
            Of a frame that is smaller than the queue's; with as many dimensions.
        nbytes : int, optional
            The same for a queue of bytes. None: all of the slot.
        cancel : Cancel, optional

        Raises
        ------
        EndOfChannel
            The queue was shut down.
        Timeout
            No slot was free; the message says what the frames wait for.
        WrongState
            This producer holds all its slots.
        AccessDenied
            This is no producer.
        BufferError
            Views of an earlier frame of this slot still exist.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        frame = channel_take(self, True, stream, timeout_ns, <PyObject *>cancel)
        frame_set_size(frame, shape, nbytes)
        return frame

    def acquire_async(self, stream=None, timeout=None, **keywords):
        """A coroutine that does what `acquire` does; with a stream in a thread of its own."""
        return aio().acquire(self, stream, timeout, **keywords)

    def send(self, data, metadata=b"", **keywords):
        """Publish a copy of an array, or of bytes.

        Parameters
        ----------
        data : Array, bytes-like, or array of NumPy, torch, ...
            Of the queue's dtype, and not larger than its shape; in a queue of bytes anything.
        metadata : bytes-like
        timeout : float or None
            Seconds to wait for a slot.
        cancel : Cancel, optional

        Returns
        -------
        int
            The number of the frame.
        """
        from warpway import _channels
        return _channels.send(self, data, metadata, **keywords)

    def receive(self, stream=None, timeout=None, *, cancel=None):
        """A frame that no other consumer has, as a WorkFrame. A ``with`` block acknowledges it.

        Parameters
        ----------
        stream : Stream or what it takes, optional
            It reads the frame: its further work waits until the frame is complete. None: the frame
            is complete when this returns.
        timeout : float or None
            Seconds.
        cancel : Cancel, optional

        Raises
        ------
        EndOfChannel
            No frame can come any more: the queue was shut down and no producer holds a slot, or the
            producers have left as `end_after_producers` says.
        PeerLost
            Once: a frame that was acknowledged before it was complete never was. Or always: the
            others were told that this consumer ended, since its connection to the broker broke.
        Timeout
            `timeout` seconds passed first.
        WrongState
            This consumer holds `held_max` frames. A frame is held until it has ended and no view
            of it exists.
        AccessDenied
            This is no consumer.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        return channel_take(self, False, stream, timeout_ns, <PyObject *>cancel)

    def receive_async(self, stream=None, timeout=None, **keywords):
        """A coroutine that does what `receive` does; with a stream in a thread of its own.

        When it is cancelled, no frame is lost: the next call gives the one that came meanwhile.
        """
        return aio().receive(self, stream, timeout, **keywords)

    def fileno(self):
        """A descriptor for event loops: readable while `receive`, or `acquire` of a producer, can go
        on without waiting, and when the WorkQueue was closed. Only poll it.

        It becomes unreadable by a call, so make calls with ``timeout=0`` until one raises Timeout: a
        consumer may also be woken for a frame that another one gets. The WorkQueue closes it.

        Raises
        ------
        AccessDenied
            This is a keeper.
        """
        return channel_fileno(self, NULL)

    def shutdown(self):
        """Say that no more work comes, from any producer: no producer gets a slot any more. One that
        has finished while others go on calls `close` only.

        When no producer holds a slot, and all frames are done or have failed, consumers get the end.

        Raises
        ------
        AccessDenied
            This is a consumer that did not make the queue.
        """
        cdef QueueCall call
        ask_queue(self, QUEUE_SHUT_DOWN, &call, None)

    def token(self, access="read", *, uses=0, escrow=60.0, cancel=None):
        """A token by which any process can open the queue.

        Parameters
        ----------
        access : 'read' or 'write'
            'read': as a consumer; 'write': as a producer, too.
        uses : int
            Imports after which the token's escrow ends; 0: only its time ends it.
        escrow : float or None
            Seconds for which the broker keeps its entry for the token alone; None: not at all.
        cancel : Cancel, optional

        Returns
        -------
        Token
        """
        cdef QueueCall call
        CLEAR(call.params)
        convert_access(access, &call.access)
        convert_uses(uses, &call.params.uses)
        convert_escrow(escrow, &call.params.escrow_ns)
        ask_queue(self, QUEUE_EXPORT, &call, cancel)
        return token_object(python_core, &call.token)

    def close(self):
        """Leave the queue. May be called twice, and while another thread waits.

        The frames of a producer stay, and are given out. Frames that a consumer holds are given
        back when no view of them exists any more. Waits up to 1 s for a GPU that has yet to use a
        view which has ended.
        """
        channel_close(self, NULL)

    def _next(self, **keywords):
        """The next frame of an iteration."""
        return channel_next(self, (), keywords)

    def _put_back(self, frame, /):
        """Have the next call receive this frame."""
        channel_put_back(self, frame)

    def __reduce__(self):
        cdef QueueCall call
        CLEAR(call.params)
        call.params.uses = 1
        call.access = WW_ACCESS_READ
        try:
            ask_queue(self, QUEUE_EXPORT, &call, None)
            return token_pickle(python_core, &call.token)
        except Exception as error:
            note_late("WorkQueue", error)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        channel_close(self, NULL)

    def __iter__(self):
        return channel_iter(self)

    def __aiter__(self):
        return channel_iter(self)

    def __next__(self):
        if not channel_is_closed(self):
            try:
                return channel_next(self, (), {})
            except <object>error_class(python_core, WW_END):
                pass
            except ValueError:
                if not channel_is_closed(self):
                    raise
        raise StopIteration

    def __anext__(self):
        return aio().next_frame(self)

    published = queue_number(<size_t>&AT.published, 8, "int: of a producer: frames that it has published.")
    dropped = queue_number(<size_t>&AT.dropped, 8, "int: of a producer: failed frames that it has dropped.")
    received = queue_number(<size_t>&AT.received, 8, "int: of a consumer: frames that it has received.")
    lost = queue_number(<size_t>&AT.lost, 8, "int: of a consumer: frames that were never complete, since their "
                        "producer ended.")
    available = queue_number(<size_t>&AT.available, 4, "int: frames that wait for a consumer; of a producer: its own. "
                             "So are `claimed` and `failed`.")
    claimed = queue_number(<size_t>&AT.claimed, 4, "int: frames that consumers have.")
    failed = queue_number(<size_t>&AT.failed, 4, "int: frames that have failed, and are kept.")
    held = queue_number(<size_t>&AT.held, 4, "int: slots, or frames, that this member holds.")
    producers = queue_number(<size_t>&AT.producers, 4, "int: of a consumer or keeper: those whose frames it knows, "
                             "with those that have ended.")
    consumers = queue_number(<size_t>&AT.consumers, 4, "int: how many there are.")
    published_total = queue_number(<size_t>&AT.published_total, 8, "int: frames that all producers have published "
                                   "since the queue was made. This and the other totals include members that have "
                                   "ended.")
    acknowledged_total = queue_number(<size_t>&AT.acknowledged_total, 8, "int: frames that were acknowledged, "
                                      "including failed ones.")
    repeated_total = queue_number(<size_t>&AT.repeated_total, 8, "int: how often a consumer received a frame that had "
                                  "been given out before.")
    failed_total = queue_number(<size_t>&AT.failed_total, 8, "int: frames that have failed.")
    dropped_total = queue_number(<size_t>&AT.dropped_total, 8, "int: frames that were dropped: failed ones, and those "
                                 "that a producer described wrongly.")
    lost_total = queue_number(<size_t>&AT.lost_total, 8, "int: frames that were never complete, since their producer "
                              "ended.")
    uncounted = queue_number(<size_t>&AT.uncounted, 4, "int: of a keeper: producers about which the broker did not "
                             "answer. Their frames are missing in `available`, `claimed` and `failed`.")
    is_shutdown = queue_number(<size_t>&AT.is_closed, 4, "bool: `shutdown` was called.", kind=bool)
    slots = queue_number(<size_t>&AT.slots, 4, "int: of each producer.", True)
    slot_bytes = queue_number(<size_t>&AT.slot_bytes, 8, "int: room for the bytes of a frame.", True)
    producers_max = queue_number(<size_t>&AT.producers_max, 4, "int: at one time.", True)
    consumers_max = queue_number(<size_t>&AT.consumers_max, 4, "int: at one time.", True)
    attempts_max = queue_number(<size_t>&AT.attempts_max, 4, "int: how often a frame is given out before it has "
                                "failed.", True)
    failed_max = queue_number(<size_t>&AT.failed_max, 4, "int: failed frames that each producer keeps.", True)
    held_max = queue_number(<size_t>&AT.held_max, 4, "int: frames that one consumer may hold.", True)
    metadata_bytes = queue_number(<size_t>&AT.metadata_bytes, 4, "int: room for the metadata of a frame.", True)

    @property
    def role(self):
        """str: 'keeper', 'producer', 'consumer' or 'failed'."""
        return queue_role(channel_open_state(self))

    @property
    def metadata_type(self):
        """str: as the queue was made."""
        return text(channel_open_state(self).queue_form.metadata_type)

    @property
    def device(self):
        """Device: the one that uses the frames here."""
        return device_object(python_core, ww_device_ref(channel_open_state(self).device))

    @property
    def closed(self):
        """bool: `close` was called."""
        return channel_is_closed(self)

    @property
    def shape(self):
        """tuple of int, or None: the largest of a frame."""
        form = &channel_open_state(self).queue_form
        return info_numbers(form.array.shape, form.array.ndim) if form.has_array else None

    @property
    def dtype(self):
        """str or None: of every frame."""
        form = &channel_open_state(self).queue_form
        return info_dtype(&form.array.dtype) if form.has_array else None

    def __repr__(self):
        if not self.object:
            return "<warpway.WorkQueue closed>"
        form = &channel_open_state(self).queue_form
        return f"<warpway.WorkQueue {self.role}, {form.slots} slots of {form.slot_bytes} bytes per producer>"


cdef int ask_queue(WorkQueue self, int what, QueueCall *call, cancel) except -1:
    call.what = what
    call.state = <channel_state *>handle_borrow(self, &work_queue_class)
    try:
        status = wait_run(python_core, run_queue_call, call, 0, <PyObject *>cancel)
        if status == STATUS_CLOSED:
            raise ValueError("this WorkQueue is closed")
        return check(status)
    finally:
        handle_return(&work_queue_class, call.state)


cdef inline str queue_role(const channel_state *state):
    return QUEUE_ROLES[state.queue_form.role - WW_WORK_QUEUE_KEEPER]


cdef inline uint32_t queue_role_of(value) except? 0:
    return index_of(value, "role", QUEUE_ROLES) + WW_WORK_QUEUE_KEEPER


cdef uint32_t queue_failed_max(value) except? 0:
    """None: 0, the library's default, to which all ones mean none."""
    cdef uint64_t count = 0
    convert_bytes(value, &count)
    return 0 if value is None else <uint32_t>(min(count, <uint64_t>0xffffffff) or 0xffffffff)


cdef ww_array *frames_of(shape, dtype, ww_array *array) except? NULL:
    """What frames are; NULL: bytes."""
    cdef c_bool is_given
    describe_frames(python_core, shape, dtype, array, &is_given)
    return array if is_given else NULL


cdef bytes text_of(value, const char **out_text):
    """Bytes of a str, to which out_text points as long as they are there; None: NULL."""
    cdef char *found = NULL
    made = None if value is None else text_bytes(value, &found)
    out_text[0] = found
    return made


cdef int open_queue(WorkQueue self, QueueOpen *call, device, broker, uint64_t timeout_ns, cancel) except -1:
    cdef ww_status status = STATUS_RAISED
    call.device = convert_device(python_core, device)
    try:
        borrow_broker(python_core, broker, &call.broker)
        status = wait_run(python_core, run_queue_open, call, timeout_ns, <PyObject *>cancel)
        if status != WW_OK and not call.is_new:
            error_raise_join(python_core, status, call.name)
        check(status)
    finally:
        handle_return(&broker_class, call.broker)
        if status != WW_OK:
            handle_return(&device_class, call.device)
    state = work_queue_state_new(call.queue, call.device)
    if not state:
        raise MemoryError()
    channel_close(self, NULL)
    self.object = state
    return 0
