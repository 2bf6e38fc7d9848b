# SPDX-License-Identifier: Apache-2.0
# warpway.Barrier: a point that processes pass only together
#
#   Barrier(n), get(name), a pickle, a token ──> not a member ──join, or the first wait──> member
#
# A Barrier is one member. The library lets one thread at a time wait for a member, so a second thread is refused while
# is_busy. A thread that waits has a reference of the membership: after close() the process leaves when that wait has
# ended.

cdef struct BarrierCreate:
    ww_broker *broker # NULL: the default one
    const char *name
    ww_barrier_params params
    ww_token token

cdef struct BarrierJoin:
    ww_broker *broker # a reference; NULL: the default one
    const char *name # NULL: there is a token
    ww_token token
    uint32_t rank
    ww_barrier *barrier


cdef ww_status run_barrier_create(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <BarrierCreate *>call
    return ww_barrier_create(args.broker, args.name, &args.params, cancel, &args.token)


cdef ww_status run_barrier_join(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <BarrierJoin *>call
    if args.name:
        return ww_barrier_get(args.broker, args.name, args.rank, timeout_ns, cancel, &args.barrier)
    return ww_barrier_import(args.broker, &args.token, args.rank, timeout_ns, cancel, &args.barrier)


cdef ww_status run_barrier_wait(void *barrier, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return ww_barrier_wait(<ww_barrier *>barrier, timeout_ns, cancel)


cdef Barrier make_barrier(const ww_token *token):
    """A Barrier of which this process is no member yet."""
    cdef Barrier made = Barrier.__new__(Barrier)
    made.is_open = True
    if token:
        made.token_ = token[0]
    return made


cdef public object barrier_object(core *unused, const ww_token *token):
    return make_barrier(token)


cdef uint32_t rank_of(rank) except? -1:
    if rank is None:
        return WW_BARRIER_ANY_RANK
    number = index(rank)
    if not 0 <= number < WW_BARRIER_MEMBERS_MAX:
        raise ValueError(f"a rank is 0 to {WW_BARRIER_MEMBERS_MAX - 1}, not {rank!r}")
    return number


@cython.final
@cython.no_gc
cdef class Barrier:
    """Barrier(parties, name=None, *, broker=None, mode=0o600, replace=False, escrow=60.0)\n--\n
    A point that processes pass only together, again and again.

    Parameters
    ----------
    parties : int
        How many members: 1 to 1024.
    name : str, optional
        By which `get` finds it; without one it is handed on by pickle or
        token.
    broker : Broker, optional
    mode : int
        Permission bits of the name: who may read may become a member. 0o600: this
        user alone.
    replace : bool
        End an object that has the name.
    escrow : float
        Seconds for which the broker keeps the barrier until it has members.

    A process becomes a member by `join`, or by its first `wait`; the process that creates the
    barrier need not. Each process that unpickles a Barrier can become one member, and so can
    each Barrier that ``token().open()`` returns. If a member ends or leaves before it has
    arrived, every wait raises `PeerLost`.
    """
    cdef object __weakref__
    cdef void *object # the membership; NULL: not joined yet, or closed
    cdef ww_broker *broker # a reference; NULL: the default one
    cdef bytes name # of get(); None: there is a token
    cdef ww_token token_
    cdef uint32_t known_parties # 0: not known before it is joined
    cdef int ready_fd # of fileno(); -1: it was not asked for
    cdef BarrierJoin *joining # of the thread that joins, unless the Barrier was closed meanwhile
    cdef bint is_busy # a thread joins or waits
    cdef bint is_open

    def __cinit__(self):
        self.ready_fd = -1

    def __init__(self, parties, str name=None, *, broker=None, mode=0o600, bint replace=False, escrow=60.0):
        cdef BarrierCreate call
        cdef int64_t count = index(parties)
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        name_bytes = text_of(name, &call.name)
        if not 1 <= count <= WW_BARRIER_MEMBERS_MAX:
            raise ValueError(f"a barrier has 1 to {WW_BARRIER_MEMBERS_MAX} parties, not {count}")
        call.params.count = <uint32_t>count
        convert_mode(mode, &call.params.mode)
        call.params.flags = WW_PUT_REPLACE if replace else 0
        convert_escrow(escrow, &call.params.escrow_ns)
        borrow_broker(python_core, broker, &call.broker)
        try:
            check(wait_run(python_core, run_barrier_create, &call, 0, NULL))
        except:
            handle_return(&broker_class, call.broker)
            raise
        close_barrier(self)
        self.broker, self.name, self.token_ = call.broker, None, call.token
        self.known_parties, self.is_open = call.params.count, True

    def __dealloc__(self):
        close_barrier(self)

    @classmethod
    @cython.binding(True)
    def get(cls, str name not None, *, broker=None):
        """The barrier of a name. Joining it waits for the name, and checks it.

        Such a Barrier pickles as its name, so the receiver finds it in its own default broker.
        With a `broker` it cannot be pickled.
        """
        cdef Barrier made = make_barrier(NULL)
        made.name = utf8_of(name, "name")
        if not 0 < len(made.name) < WW_NAME_BYTES:
            raise ValueError(f"the name of an object has 1 to {WW_NAME_BYTES - 1} bytes")
        borrow_broker(python_core, broker, &made.broker)
        return made

    def join(self, rank=None, timeout=None, *, cancel=None):
        """Become a member, and wait until all others have. A member returns at once.

        Parameters
        ----------
        rank : int, optional
            0 to parties - 1, for each member another one. None: a free one.
        timeout : float or None
            Seconds.
        cancel : Cancel, optional

        Returns
        -------
        int
            The rank.

        Raises
        ------
        Timeout
            The others did not join in time. This process is no member then.
        AlreadyExists
            The rank is taken, or all are.
        NotFound
            There is no such barrier, or nobody joined it in time.
        PeerLost
            A member has ended or left.
        WrongState
            Another thread joins or waits with this Barrier.
        """
        cdef uint64_t timeout_ns
        wanted = rank_of(rank)
        convert_timeout(timeout, &timeout_ns)
        found = use_barrier(self, wanted, timeout_ns, cancel, False)
        if found != wanted != WW_BARRIER_ANY_RANK:
            refuse(WW_ERR_STATE, f"this Barrier has joined before, with rank {found}: it cannot become rank {wanted}")
        return found

    def wait(self, timeout=None, *, cancel=None):
        """Arrive, and wait until all members have. Joins first, if that has not been done.

        After `Timeout`, `Cancelled` or an exception of a signal handler this member counts as
        arrived: the next call goes on waiting in the same round. If the time passes while it joins,
        this process is no member, and has not arrived.

        Parameters
        ----------
        timeout : float or None
            Seconds, for joining and waiting together.
        cancel : Cancel, optional

        Returns
        -------
        int
            The rank.

        Raises
        ------
        Timeout
            The others did not arrive in time.
        PeerLost
            A member ended or left before it arrived. The barrier stays broken.
        WrongState
            Another thread joins or waits with this Barrier.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        return use_barrier(self, WW_BARRIER_ANY_RANK, timeout_ns, cancel, True)

    def wait_async(self, timeout=None, **keywords):
        """A coroutine that does what `wait` does, in a thread of its own.

        When it is cancelled, the wait ends; a member counts as arrived all the same.
        """
        return aio().run(self.wait, timeout, **keywords)

    def fileno(self):
        """A descriptor for event loops: readable when the round is complete. Only poll it.

        After `join`, ``wait(0)`` arrives, and raises `Timeout` while others are missing. When the
        descriptor is readable, call it again: it returns, or raises `PeerLost`. Before this member has
        arrived, only a broken barrier makes the descriptor readable; it stays readable then. The
        Barrier closes it.

        Raises
        ------
        WrongState
            `join` was not called; or another thread joins or waits with this Barrier.
        """
        barrier_info(self) # says that it is closed, or of the process that has forked
        check_idle(self)
        if not self.object:
            refuse(WW_ERR_STATE, "this Barrier is no member yet, and has no descriptor: call join() before")
        if self.ready_fd < 0:
            check(ww_barrier_eventfd(<ww_barrier *>self.object, &self.ready_fd))
        return self.ready_fd

    def token(self):
        """The token by which any process can become a member.

        It is always the same one. It is valid for `escrow` seconds, and then as long as the
        barrier has members.
        """
        check_open(self)
        if self.name is not None:
            refuse(WW_ERR_UNSUPPORTED, "a Barrier of get() is known by its name, and has no token: call Barrier.get() "
                                       "with the same name")
        return token_object(python_core, &self.token_)

    def close(self):
        """Leave the barrier. May be called twice.

        Rounds in which this member has arrived end as if it had stayed; later ones raise
        `PeerLost` in the others. While another thread waits, the member leaves when that wait
        ends.
        """
        close_barrier(self)

    def __reduce__(self):
        try:
            return reduce_barrier(self)
        except Exception as error:
            note_late("Barrier", error)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        close_barrier(self)

    @property
    def parties(self):
        """int or None: how many members it has; None: not known before this process is one."""
        return barrier_info(self).count or None

    @property
    def rank(self):
        """int or None: of this member; None: not joined yet."""
        return rank_or_none(barrier_info(self).rank)

    @property
    def arrived(self):
        """int: members that have arrived in the round that is not over yet."""
        return barrier_info(self).arrived

    @property
    def round(self):
        """int: rounds that this member has passed."""
        return barrier_info(self).round

    @property
    def broken(self):
        """bool: a member ended or left before it arrived."""
        return barrier_info(self).is_broken != 0

    @property
    def broken_rank(self):
        """int or None: the member that did."""
        return rank_or_none(barrier_info(self).broken_rank)

    @property
    def closed(self):
        """bool: `close` was called."""
        return not self.is_open

    def __repr__(self):
        if not self.object:
            return f"<warpway.Barrier {'not joined' if self.is_open else 'closed'}>"
        info = barrier_info(self)
        return (f"<warpway.Barrier rank {info.rank} of {info.count}, round {info.round}"
                f"{', broken' if info.is_broken else ''}>")


cdef inline rank_or_none(uint32_t rank):
    return None if rank == UINT32_MAX else rank


cdef int check_open(Barrier self) except -1:
    if not self.is_open:
        raise ValueError("this Barrier is closed")
    return 0


cdef int check_idle(Barrier self) except -1:
    check_open(self)
    if self.is_busy:
        refuse(WW_ERR_STATE, "another thread joins or waits with this Barrier, which is one member: for a thread that is "
                             "to be a member, too, make another one with barrier.token().open()")
    return 0


cdef ww_barrier *join_barrier(Barrier self, uint32_t rank, uint64_t timeout_ns, cancel) except NULL:
    """Becomes a member. Returns a reference; the Barrier has another one, unless it was closed meanwhile."""
    cdef BarrierJoin call
    name = self.name # __init__() may change it meanwhile
    call.name = NULL
    if name is not None:
        call.name = name
    call.broker = ww_broker_ref(self.broker) if self.broker else NULL
    call.token, call.rank, call.barrier = self.token_, rank, NULL
    self.joining = &call
    try:
        check(wait_run(python_core, run_barrier_join, &call, timeout_ns, <PyObject *>cancel))
        return ww_barrier_ref(call.barrier)
    finally:
        if self.joining:
            self.joining = NULL
            self.object = call.barrier # it may have joined all the same
        else:
            handle_return(&barrier_class, call.barrier)
        handle_return(&broker_class, call.broker)


cdef uint32_t use_barrier(Barrier self, uint32_t rank, uint64_t timeout_ns, cancel, bint waits) except? -1:
    """Joins, if that has not been done, and waits. Returns the rank."""
    cdef ww_barrier *barrier = NULL
    cdef ww_barrier_info info
    cdef uint64_t begin_ns = wait_now_ns()
    check_idle(self)
    self.is_busy = True
    try:
        if self.object:
            barrier = ww_barrier_ref(<ww_barrier *>self.object)
        else:
            barrier = join_barrier(self, rank, timeout_ns, cancel)
        if waits:
            check(wait_timed(python_core, run_barrier_wait, barrier, wait_left_ns(begin_ns, timeout_ns),
                             <PyObject *>cancel))
        CLEAR(info)
        check(ww_barrier_info_get(barrier, &info))
        return info.rank
    finally:
        self.is_busy = False
        handle_return(&barrier_class, barrier)


cdef ww_barrier_info barrier_info(Barrier self) except *:
    """Before it is a member: nothing but what is known."""
    cdef ww_barrier_info info
    check_open(self)
    CLEAR(info)
    info.count = self.known_parties
    info.rank = info.broken_rank = UINT32_MAX
    if self.object:
        check(ww_barrier_info_get(<ww_barrier *>self.object, &info))
    return info


cdef object reduce_barrier(Barrier self):
    """What get() made is found by its name again, in the receiver's default broker."""
    check_open(self)
    if self.name is None:
        return token_pickle(python_core, &self.token_)
    if self.broker:
        raise TypeError("a Barrier of get() with broker= cannot be pickled: send the name, and have the receiver call "
                        "Barrier.get() with a Broker of its own")
    return Barrier.get, (self.name.decode(),)


cdef void close_barrier(Barrier self) noexcept:
    broker, fd = self.broker, self.ready_fd
    self.is_open, self.joining, self.broker, self.ready_fd = False, NULL, NULL, -1
    if fd >= 0:
        close_fd(fd)
    handle_return(&broker_class, broker)
    handle_close(self, &barrier_class)
