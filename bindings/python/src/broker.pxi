# SPDX-License-Identifier: Apache-2.0
# warpway.Broker: a connection to the process that keeps objects under names
#
# A broker that is opened twice is one object of the library, so such instances are equal. What no cancel ends is called
# without the GIL, and not by wait_run().

cdef extern from "broker.h":
    # The arguments of a call that makes something of a device, and puts it into a broker, begin so.
    struct broker_call:
        ww_device *device # on success, it is the caller's
        ww_broker *broker # borrowed, during the call; NULL: the default one

OBJECT_KINDS = ("", "memory", "timeline", "event", "barrier", "channel", "service", "pool", "work-queue")
OBJECT_STATES = ("", "writing", "sealed", "shared", "removed")
LIVES = ("", "held", "owner", "kept")


cdef bytes utf8_of(value, str what):
    """A str that C can read; `what` names the argument."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {value!r}")
    data = value.encode()
    if b"\0" in data:
        raise ValueError("embedded null byte")
    return data


cdef inline time_left(uint64_t left_ns):
    return None if left_ns == WW_FOREVER else left_ns / 1e9


cdef object_info(const ww_object_info *info):
    cdef char dtype[WW_DTYPE_NAME_BYTES]
    shape = name = None
    if info.has_array:
        shape = info_numbers(info.array.shape, info.array.ndim)
        name = text(dtype) if ww_dtype_name(&info.array.dtype, dtype) == WW_OK else "unknown"
    return ObjectInfo((text(info.name), word(info.kind, OBJECT_KINDS), word(info.state, OBJECT_STATES),
                       word(info.life, LIVES), info.bytes, info.mode, info.uid, info.gid, word(info.access, ACCESSES),
                       info.pid, info.holders, info.escrows, info.is_own != 0, info.age_ns / 1e9,
                       time_left(info.left_ns), hex_of(info.object_id), shape, name, info.is_slice != 0))


cdef dict fields_of(dict fields, changes=()):
    """What is told of a struct: its fields, of which some are not told as they are."""
    del fields["struct_size"]
    fields.update(changes)
    return fields


# --- for the other nouns ---

cdef public int borrow_broker(core *unused, object where, ww_broker **out_broker) except 0:
    out_broker[0] = NULL
    if where is not None:
        out_broker[0] = <ww_broker *>convert_handle(python_core, CORE_BROKER, &broker_class, where)
    return 1


cdef public int broker_call_run(core *unused, wait_fn fn, broker_call *call, object which, object where,
                                PyObject *cancel) except 0:
    call.device = convert_device(python_core, which)
    try:
        borrow_broker(python_core, where, &call.broker)
        check(wait_run(python_core, fn, call, 0, cancel))
    except:
        handle_return(&device_class, call.device)
        raise
    finally:
        handle_return(&broker_class, call.broker)
    return 1


cdef public object broker_object(core *unused, ww_broker *broker):
    """A Broker, which takes over the reference."""
    cdef Broker self = Broker.__new__(Broker)
    self.object = broker
    address = ww_broker_address(broker)
    if not address:
        refuse(WW_ERR_FORKED, "a child made by fork() has no broker of its parent")
    self.where = os.fsdecode(address)
    return self


@cython.final
cdef class Broker:
    """Broker(address=None, *, start=True, timeout=None)\n--\n
    A connection to a broker: the process that keeps objects under names.

    Parameters
    ----------
    address : str or path, optional
        The path of its socket. None: as the environment variable WARPWAY_BROKER says, else the
        machine's, else the user's own.
    start : bool
        Start the user's own broker if none runs.
    timeout : float, optional
        Seconds for connecting, and for each answer of a call without a limit of its own; None:
        5 seconds.

    If the broker is restarted, nothing is lost: the next call connects again.

    Raises
    ------
    NoBroker
        None listens there, none could be started, or it did not answer in time.
    """
    cdef object __weakref__
    cdef void *object
    cdef str where # its address, also when it is closed

    def __init__(self, address=None, *, bint start=True, timeout=None):
        cdef Broker opened
        cdef ww_broker_params params
        cdef ww_broker *broker
        cdef ww_status status
        CLEAR(params)
        params.flags = 0 if start else WW_BROKER_NO_START
        if timeout is not None:
            convert_timeout(timeout, &params.timeout_ns)
            if not params.timeout_ns:
                raise ValueError("the timeout of a broker is seconds > 0, or None: 5 s")
        if address is not None:
            address = os.fsencode(address)
            if b"\0" in address:
                raise ValueError("embedded null byte")
            params.address = address
        with nogil:
            status = ww_broker_open(&params, &broker)
        check(status)
        opened = broker_object(python_core, broker)
        self.object, opened.object = opened.object, self.object
        self.where = opened.where

    def __dealloc__(self):
        handle_close(self, &broker_class)

    def put(self, name, obj, *, mode=0o600, life=None, state=None, ttl=None, group=None, bint replace=False, timeout=0.0,
            cancel=None):
        """Put an object under a name, by which other processes get it.

        A memory may have several names: each further call gives it one, with its own life, time
        to live and array. `mode`, `group` and `state` have to be those of the first.

        Parameters
        ----------
        name : str or None
            Such as 'model/layer0/w'. None: no name; processes open it by tokens.
        obj : Memory, Array or Timeline
            Of an Array its memory is put, with its shape, strides and type. If the array has a ready
            point, the call waits for it first, without a limit on time.
        mode : int
            Who may: permission bits, as of a file. 0o600: this user alone.
        life : 'held', 'owner' or 'kept', optional
            When the object ends by itself: with its last user, with this process, or not before its
            name is removed or `ttl` is over. None: 'held'; for memory that was wrapped 'owner':
            the name ends when the Memory does; for a slice of a Pool 'owner', too: see below.
        state : 'sealed', 'shared' or 'writing', optional
            For reading only; for writing, too; or still being written: then `Memory.publish` makes
            it ready, and until then no process can get it. A memory that is sealed becomes
            read-only in this process, too, if nothing here can write it: no writable view is out, and
            no capsule or address was given away. Streams must have ended to write it. None:
            'sealed'; for a slice of a Pool 'shared'.
        ttl : float, optional
            Seconds to live, of life 'kept'.
        group : int, optional
            A group id; None: this process's own.
        replace : bool
            The object that has the name loses it, in one step, as by `remove`.
        timeout : float or None
            Seconds to wait for room in the quota.

        Of a Timeline only `mode`, `group` and `replace` can be given.

        A slice of a Pool is put by the process that made the pool. Its bytes are not allocated again
        while it has a name, also if it was closed here. The name ends when that process ends, or
        has closed the pool and its slices: keep the Pool. Processes that have got the slice keep it.
        All named slices of a pool have one mode and group, and a process that may get one of them
        may read the whole pool, and write it if `mode` lets it.

        Raises
        ------
        AlreadyExists
            The name is taken, or the memory or pool has names with another mode, group or state.
        QuotaExceeded
            The user's share is used up; the message says how much.
        WrongState
            To be sealed, while another process holds it for writing.
        Timeout
            There was no room within `timeout` seconds.
        """
        cdef Put call
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        call.params.gid = WW_GID_OWN
        call.params.flags = WW_PUT_REPLACE if replace else 0
        if name is not None:
            name = utf8_of(name, "a name")
            call.name = name
        convert_mode(mode, &call.params.mode)
        if life is not None:
            call.params.life = WW_LIFE_HELD + index_of(life, "life", LIVES[1:])
        if state is not None:
            call.params.state = WW_STATE_WRITING + index_of(state, "state", OBJECT_STATES[1:4])
        if ttl is not None:
            convert_timeout(ttl, &call.params.ttl_ns)
            if not call.params.ttl_ns:
                raise ValueError("a ttl is seconds > 0, or None for no end")
            if call.params.ttl_ns == WW_FOREVER:
                call.params.ttl_ns = 0
        convert_group(group, &call.params.gid)
        convert_timeout(timeout, &call.timeout_ns)
        call.broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            put_object(&call, obj, cancel)
        finally:
            handle_return(&broker_class, call.broker)

    def get(self, name, *, access="read", device=None, timeout=0.0, owner=None, bint no_slow_route=False,
            bint own_mapping=False, cancel=None):
        """The object of a name: a Memory, Array, Timeline, Barrier, Channel or WorkQueue.

        Parameters
        ----------
        name : str
        access : 'read' or 'write'
            Of memory.
        device : Device or what it takes, optional
            The device that is to reach the bytes; None: the one that holds them.
        timeout : float or None
            Seconds to wait for the name to appear and its object to be ready; None: no limit.
        owner : int, optional
            Only memory that the user of this id has put.
        no_slow_route : bool
            Refuse memory that the device reaches only by a slow route.
        own_mapping : bool
            Map the memory at an address of its own.

        Of a Barrier this process is no member yet; see `Barrier.join`.

        Raises
        ------
        NotFound
            There is no such name, and `timeout` is 0.
        Timeout
            It was not ready within `timeout` seconds.
        WrongState
            It is still being written, and `timeout` is 0.
        AccessDenied
            Its mode does not allow it, it is sealed, or another user's.
        PeerLost
            While waiting: the process that wrote it ended.
        """
        cdef Get call
        cdef int64_t uid
        cdef uint64_t timeout_ns
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        CLEAR(call.info)
        data = utf8_of(name, "a name")
        call.name = data
        convert_access(access, &call.params.access)
        convert_timeout(timeout, &timeout_ns)
        call.params.flags = ((WW_IMPORT_NO_SLOW_ROUTE if no_slow_route else 0)
                             | (WW_IMPORT_OWN_MAPPING if own_mapping else 0))
        if owner is not None:
            uid = index(owner)
            if not 0 <= uid < UINT32_MAX:
                raise ValueError(f"owner is the id of a user, not {owner!r}")
            call.params.owner = uid
            call.params.flags |= WW_GET_FROM_OWNER
        call.broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            status = get_object(&call, device, timeout_ns, cancel)
            if status == WW_TIMED_OUT:
                refuse(status, f"'{name}' has not come within the time limit; `warpway ls` shows what the broker at "
                               f"{self.where} has")
            check(status)
            return object_of_call(self, name, &call)
        finally:
            handle_return(&device_class, call.device)
            handle_return(&broker_class, call.broker)

    def get_async(self, name, **keywords):
        """A coroutine that does what `get` does, in a thread of its own.

        When it is cancelled, the wait ends.
        """
        return aio().run(self.get, name, **keywords)

    def list(self, prefix="", *, bint unnamed=False):
        """The objects whose names begin with `prefix`, in order of names, as a list of ObjectInfo.

        Parameters
        ----------
        prefix : str
            Objects inside others, such as the slots of a channel, have names that begin with '@'. They
            are listed only if `prefix` does, too, or with `unnamed`.
        unnamed : bool
            Also those without a name, removed ones and those inside others; only without a prefix.
        """
        cdef ww_object_info info
        cdef size_t i = 0
        data = utf8_of(prefix, "a prefix")
        snapshot = take_snapshot(self, data, WW_SNAPSHOT_OBJECTS | (WW_SNAPSHOT_UNNAMED if unnamed else 0))
        CLEAR(info)
        found = []
        try:
            while ww_snapshot_object(snapshot, i, &info) == WW_OK:
                i += 1
                if unnamed or prefix or info.name[0] != b"@":
                    found.append(object_info(&info))
        finally:
            ww_snapshot_free(snapshot)
        return found

    def stat(self, name, /):
        """Describe the object of a name. Returns ObjectInfo.

        Raises
        ------
        NotFound
            There is no such name.
        """
        cdef ww_object_info info
        cdef ww_status status
        data = utf8_of(name, "a name")
        cdef const char *bytes_of_name = data
        CLEAR(info)
        broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            with nogil:
                status = ww_broker_stat(broker, bytes_of_name, &info)
            check(status)
        finally:
            handle_return(&broker_class, broker)
        return object_info(&info)

    def remove(self, name, /):
        """Remove a name. An array or memory goes on without it: a process that has it can still send
        it, tokens and pickles in flight arrive, and it can be put again. Any other object ends.

        Raises
        ------
        NotFound
            There is no such name.
        AccessDenied
            It is another user's.
        """
        cdef ww_status status
        data = utf8_of(name, "a name")
        cdef const char *bytes_of_name = data
        broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            with nogil:
                status = ww_broker_remove(broker, bytes_of_name)
            check(status)
        finally:
            handle_return(&broker_class, broker)

    def end(self, name=None, *, object_id=None):
        """End an object: its name is free, its tokens and pickles in flight end, and no process can get
        it any more. Processes that hold it keep what they have mapped.

        Parameters
        ----------
        object_id : str
            32 hexadecimal digits in lower case, as Memory.object_id: for an object
            without a name; with `name`, only if the object has both. Memory.object_id of a slice of a
            Pool is the id of a chunk, ObjectInfo.object_id that of the pool: its end is the end of
            all slices in it for other processes, and their names open nothing any more.

        Raises
        ------
        NotFound
            There is no such object.
        AccessDenied
            It is another user's.
        InvalidArgument
            It is the name of a slice of a Pool: use `remove`.
        ValueError
            `object_id` is not 32 hexadecimal digits.
        """
        cdef uint8_t id[16]
        cdef const uint8_t *given_id = NULL
        cdef const char *given_name = NULL
        cdef ww_status status
        if name is None and object_id is None:
            raise TypeError("end() takes a name, an object_id or both")
        if object_id is not None:
            read_id(object_id, id)
            given_id = id
        if name is not None:
            data = utf8_of(name, "a name")
            given_name = data
        broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            with nogil:
                status = ww_broker_end(broker, given_name, given_id)
            check(status)
        finally:
            handle_return(&broker_class, broker)

    def who(self):
        """The processes that are connected or hold something, as a list of ProcessInfo."""
        cdef ww_holder_info info
        snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS)
        CLEAR(info)
        ids, found = {}, []
        try:
            for hold in holds_of(snapshot):
                ids.setdefault(hold["holder"], []).append(hold["object_id"])
            while ww_snapshot_holder(snapshot, len(found), &info) == WW_OK:
                found.append(ProcessInfo((info.pid, info.uid, info.gid, text(info.program), info.is_attached != 0,
                                          info.held, info.held_bytes, info.put, info.put_bytes, info.age_ns / 1e9,
                                          tuple(ids.get(info.number, ())))))
        finally:
            ww_snapshot_free(snapshot)
        return found

    def _held_elsewhere(self):
        """The ids of objects that are held by others than their maker, or by a token, as a set."""
        snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDS)
        try:
            return {hold["object_id"] for hold in holds_of(snapshot) if not hold["is_creator"]}
        finally:
            ww_snapshot_free(snapshot)

    def in_flight(self):
        """The tokens and pickles that keep an object until they are opened, as a list of InFlight."""
        snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDS)
        try:
            return [InFlight((hold["object_id"], hold["bytes"], word(hold["access"], ACCESSES), hold["age_ns"] / 1e9,
                              time_left(hold["left_ns"]), hold["uses"], hold["delivery"], False, bool(hold["is_own"]),
                              "")) for hold in holds_of(snapshot) if hold["is_escrow"]]
        finally:
            ww_snapshot_free(snapshot)

    def watch(self, prefix="", *, bint existing=False):
        """A Watch of the changes of objects whose names begin with `prefix`.

        Parameters
        ----------
        existing : bool
            Begin with an event 'put' for each object that is there.

        `what` of a WatchEvent is 'put'; 'ready': the object can be got now, in state 'sealed' or
        'shared'; 'removed', 'expired' or 'gone': it has lost its name or ended; 'lost': its writer
        ended before it was ready; 'overflow': events were missed; 'replaced', in the place of
        'removed' and 'put': it got the name of another object, `former_id`, or of another part of
        itself, and 'ready' follows.
        """
        return make_watch(self, utf8_of(prefix, "a prefix"), WW_WATCH_EXISTING if existing else 0)

    def info(self):
        """The state of the broker. Returns BrokerInfo."""
        cdef ww_broker_info info
        cdef ww_status status
        CLEAR(info)
        broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            with nogil:
                status = ww_broker_info_get(broker, &info)
            check(status)
        finally:
            handle_return(&broker_class, broker)
        return BrokerInfo((self.where, text(info.version), info.pid, info.supervisor_pid, info.uid, info.restarts,
                           info.objects, info.holders, info.holds, info.bytes, info.fds, info.memory_bytes,
                           info.up_ns / 1e9, info.waits))

    def totals(self):
        """The sums that the broker keeps, as a dict; the request costs the broker next to nothing.

        'broker' is a dict of sums over all users, 'users' a list of one dict for each user with
        what it uses and its limits (0: none), 'devices' a list of objects and bytes by user, device
        and kind (`WW_OBJECT_...`), 'requests' a list of how often something was requested, or
        refused for a reason. The names are those of <warpway/monitor.h>. Root, and the user that
        the broker runs as, see all users; another user sees itself.

        Raises
        ------
        Unsupported
            The broker is older.
        """
        cdef ww_totals *totals
        cdef ww_status status
        broker = <ww_broker *>handle_borrow(self, &broker_class)
        try:
            with nogil:
                status = ww_totals_create(broker, &totals)
            check(status)
        finally:
            handle_return(&broker_class, broker)
        try:
            return totals_of(totals)
        finally:
            ww_totals_free(totals)

    def close(self):
        """Release the broker. May be called twice.

        The connection stays open as long as this process has an object of this broker. When it
        closes, the objects of life 'owner' that this process has put end.
        """
        handle_close(self, &broker_class)

    def __reduce__(self):
        error = TypeError("a Broker cannot be pickled: send its address, and have the receiver call Broker(address)")
        note_late("Broker", error)
        raise error

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        handle_close(self, &broker_class)

    @property
    def address(self):
        """str: the path of its socket."""
        return self.where

    @property
    def closed(self):
        """bool: `close` was called."""
        return self.object == NULL

    def __repr__(self):
        return f"<warpway.Broker {self.where}{'' if self.object else ' closed'}>"

    def __eq__(self, other):
        if not isinstance(other, Broker):
            return NotImplemented
        return self is other or (self.object != NULL and self.object == (<Broker>other).object)

    def __hash__(self):
        return hash(self.where)


cdef ww_snapshot *take_snapshot(Broker self, const char *prefix, uint64_t contents) except NULL:
    cdef ww_snapshot *snapshot
    cdef ww_status status
    broker = <ww_broker *>handle_borrow(self, &broker_class)
    try:
        with nogil:
            status = ww_snapshot_create(broker, prefix, contents, &snapshot)
        check(status)
    finally:
        handle_return(&broker_class, broker)
    return snapshot


cdef list holds_of(ww_snapshot *snapshot):
    """Dicts of ww_hold_info."""
    cdef ww_hold_info hold
    found = []
    CLEAR(hold)
    while ww_snapshot_hold(snapshot, len(found), &hold) == WW_OK:
        found.append(fields_of(hold, {"object_id": hex_of(hold.object_id)}))
    return found


cdef dict totals_of(ww_totals *totals):
    cdef ww_broker_totals sums
    cdef ww_user_total user
    cdef ww_device_total device
    cdef ww_request_total request
    users, devices, requests = [], [], []
    CLEAR(sums)
    CLEAR(user)
    CLEAR(device)
    CLEAR(request)
    ww_totals_broker(totals, &sums)
    while ww_totals_user(totals, len(users), &user) == WW_OK:
        users.append(fields_of(user))
    while ww_totals_device(totals, len(devices), &device) == WW_OK:
        devices.append(fields_of(device, {"is_others": device.is_others != 0, "home_uuid": hex_of(device.home_uuid)}))
    while ww_totals_request(totals, len(requests), &request) == WW_OK:
        requests.append({"request": text(request.request), "count": request.count,
                         "refused": text(ww_status_name(request.status)) if request.status else None})
    return {"broker": fields_of(sums, {"is_all": sums.is_all != 0}), "users": users, "devices": devices,
            "requests": requests}
