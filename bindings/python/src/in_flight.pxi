# SPDX-License-Identifier: Apache-2.0
# What this process has sent and nobody has received yet: listed, revoked, limited

cdef ww_status run_in_flight(void *out_list, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return ww_in_flight_create(NULL, cancel, <ww_in_flight **>out_list)


def in_flight():
    """What this process has sent and nobody has received yet, as a list of InFlight.

    All deliveries of one slice of a pool are one entry, with the age of the last one.
    """
    cdef ww_in_flight *entries
    cdef ww_in_flight_info info
    check(wait_run(python_core, run_in_flight, &entries, 0, NULL))
    CLEAR(info)
    found = []
    try:
        while ww_in_flight_get(entries, len(found), &info) == WW_OK:
            found.append(InFlight((hex_of(info.object_id), info.bytes, word(info.access, ACCESSES), info.age_ns / 1e9,
                                   None, info.uses, info.number, info.is_slice != 0, True, hex_of(info.broker_id))))
    finally:
        ww_in_flight_free(entries)
    return found


cdef struct Revoke:
    ww_in_flight_which which
    ww_in_flight_info info
    uint64_t count
    uint64_t bytes


cdef ww_status run_revoke(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Revoke *>call
    return ww_in_flight_revoke(NULL, &args.which, cancel, &args.count, &args.bytes)


def revoke_in_flight(which=None, *, older_than=0.0):
    """End what this process has sent and nobody has received yet.

    Parameters
    ----------
    which : Token or InFlight, optional
        One delivery; an InFlight is one of `in_flight`. None: all that are old enough.
    older_than : float
        Seconds since the token or pickle was made.

    Returns
    -------
    int
        Deliveries that nobody received, and nobody can receive from now on.

    Memory that nothing else keeps is freed. Other tokens of it stay valid; but of a slice of a
    pool that is still open here all tokens end, as by `Memory.revoke`.
    """
    cdef Revoke call
    CLEAR(call.which)
    CLEAR(call.info)
    convert_timeout(older_than, &call.which.older_ns)
    if type(which) is InFlight:
        call.which.info = &call.info
        call.info.number = index(which.number)
        call.info.is_slice = bool(which.is_slice)
        try:
            read_id(which.object_id, call.info.object_id)
            read_id(which.broker_id, call.info.broker_id)
        except ValueError:
            raise ValueError("which is an InFlight of warpway.in_flight(): this one has no id") from None
    elif which is not None:
        call.which.token = token_of(python_core, which)
    check(wait_run(python_core, run_revoke, &call, 0, NULL))
    return call.count


cdef uint64_t limit_of(value) except? 0:
    limit = 0 if value is None else index(value)
    if value is not None and limit == 0:
        raise ValueError("a limit is 1 or more, or None for the default")
    return limit


def limit_in_flight(*, count=None, bytes=None):
    """Limit what this process may have in flight.

    Parameters
    ----------
    count : int or None
        Deliveries; None: 65536.
    bytes : int or None
        Bytes of their memory together; None: 16 TiB.

    The limits hold for each pool, and for all other memory together. A token or pickle that
    would exceed one raises LimitReached, which names the oldest delivery and its age.
    """
    check(ww_in_flight_limit(min(limit_of(count), <uint64_t>UINT32_MAX), limit_of(bytes)))
