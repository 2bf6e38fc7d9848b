# SPDX-License-Identifier: Apache-2.0
# What calls tell about objects, processes, brokers and pools, as named tuples

cdef extern from "Python.h":
    ctypedef struct PyStructSequence_Field:
        const char *name
        const char *doc
    ctypedef struct PyStructSequence_Desc:
        const char *name
        const char *doc
        PyStructSequence_Field *fields
        int n_in_sequence
    type PyStructSequence_NewType(PyStructSequence_Desc *)

ACCESSES = ("", "read", "write")
INFO_TEXTS = [] # the types point into them


cdef make_info(str name, str doc, str fields, int visible=0):
    """A type. `fields` has a line for each, which spaces continue; only the first `visible` ones are in the tuple."""
    cdef PyStructSequence_Field table[32]
    rows = [row.split(": ", 1) for row in fields.strip().replace("\n    ", " ").split("\n")]
    texts = [part.encode() for part in [f"warpway.{name}", doc, *sum(rows, [])]]
    INFO_TEXTS.append(texts)
    memset(table, 0, sizeof(table))
    for i in range(<int>len(rows)):
        table[i] = PyStructSequence_Field(texts[2 + 2 * i], texts[3 + 2 * i])
    cdef PyStructSequence_Desc description = PyStructSequence_Desc(texts[0], texts[1], &table[0], visible or len(rows))
    return PyStructSequence_NewType(&description)


ObjectInfo = make_info("ObjectInfo", "An object in a broker.", """
name: str: '' if it has none
kind: str: 'memory', 'timeline', 'event', 'barrier', 'channel', 'service', 'pool' or 'work-queue'
state: str: 'writing', 'sealed', 'shared' or 'removed'
life: str: 'held', 'owner' or 'kept'; '' if it was not asked for
bytes: int: all bytes that it occupies
mode: int: permission bits
uid: int: the user who owns it
gid: int: its group
access: str: 'read', 'write' or '': what this process may have
pid: int: of the process that put it first, as the broker sees it
holders: int: processes that hold it
in_flight: int: tokens in flight
is_own: bool: this process put it
age: float: seconds since it was put
time_left: float or None: seconds until it expires
object_id: str: 32 hexadecimal digits, the same in every process
shape: tuple of int, or None: of its array
dtype: str or None: of its array
is_slice: bool: a slice of a pool, which then is what `object_id` and `holders` say
""")

ProcessInfo = make_info("ProcessInfo", "A process that is connected to a broker, or holds something.", """
pid: int: as the broker sees it; 0: it does not
uid: int: its user
gid: int: its group
program: str: as it calls itself
attached: bool: connected now
held: int: objects it holds
held_bytes: int: bytes of these
put: int: objects that it put
put_bytes: int: bytes of these
age: float: seconds since it first connected
objects: tuple of str: ids of the objects it holds
""")

BrokerInfo = make_info("BrokerInfo", "The state of a broker.", """
address: str: path of its socket
version: str: of the program
pid: int: of the broker process
supervisor_pid: int: of the process that restarts it
uid: int: the user it runs as
restarts: int: since the supervisor began
objects: int: of all users
holders: int: processes that are connected or hold something
holds: int: pairs of a process and an object, tokens in flight included
bytes: int: of all objects
descriptors: int: held for objects
memory_bytes: int: resident memory of the broker process
age: float: seconds since the supervisor began
waits: int: calls of all processes that wait for a name, or for room
""")

PoolInfo = make_info("PoolInfo", "The state of a pool.", """
bytes_max: int or None: the limit
chunk_bytes: int: of a usual chunk
bytes_reserved: int: of all chunks
bytes_used: int: of slices that this process has, alignment included
bytes_waiting: int: of released slices that a stream, a token or a process still uses
bytes_free: int: reserved and free
bytes_largest: int: of the largest slice that fits without a new chunk
bytes_peak: int: most that was ever used and waiting together
allocations: int: that ever succeeded
chunk_count: int
slice_count: int: slices that this process has
waiting_count: int: slices that wait
slices_max: int: the limit
holder_count: int: other processes that use slices
""")

PoolHolder = make_info("PoolHolder", "A process that has imported slices of a pool.", """
pid: int: as the broker says, in its pid namespace
uid: int: its user, as the broker says
program: str: as it calls itself
slice_count: int: slices that it uses
slice_bytes: int: bytes of these
is_lost: bool: it has ended, or lost its broker
""")

WatchEvent = make_info("WatchEvent", "A change in a broker.", """
what: str: 'put', 'ready', 'removed', 'expired', 'gone', 'lost', 'overflow' or 'replaced'
object: ObjectInfo or None: as it was then; None for 'overflow'
former_id: str or None: for 'replaced', the id of the object that had the name
""", 2)

InFlight = make_info("InFlight", "A token or pickle that keeps an object until it is opened.", """
object_id: str: of the object that the token names
bytes: int: all bytes that the object occupies
access: str: 'read' or 'write': what the token grants
age: float: seconds since the token was made
time_left: float or None: seconds for which it keeps the object; None: its sender lives
uses: int: how often it can be received yet; 0: any number of times
number: int: of the delivery in its broker, or of the slice; 0: it counts nothing
is_slice: bool: of a pool of this process; object_id is the pool's then
is_own: bool: this process sent it
broker_id: str: of the broker; '' in what Broker.in_flight() lists
""")

ChannelConsumer = make_info("ChannelConsumer", "A consumer of a channel, as it shows itself.", """
number: int: for `Channel.evict`; a later consumer may have it again
pid: int: of its process, as the broker sees it
uid: int: its user
program: str: as it calls itself
held: int: frames that it uses, or whose release is not complete
next: int: number of the frame that it receives next; 0: it is joining
dropped: int: frames that were gone before it received them, as `Channel.dropped`
waited: float: seconds that the producer has waited for it by now
is_asleep: bool: it sleeps until a frame comes
is_evicted: bool: it was evicted, and has not left yet
is_waited_for: bool: the producer waits for it to release a frame
""")

ChannelEvent = make_info("ChannelEvent", "What has happened to a channel.", """
what: str: of a consumer 'joined', 'left', 'ended', 'evicted' or 'waited' (the producer waits for it); of the
    producer 'late' (a deadline passed without a frame), 'closed' or 'lost'; 'reattached' (this side goes on with
    another producer)
number: int or None: of the consumer; None: the event is of the producer
pid: int: of its process
uid: int: its user
program: str: as it calls itself
frame: int: number of the last frame published then; 0: none
time_ns: int: when this side noticed it, as `time.monotonic_ns` counts
waited: float: seconds, of 'waited', 'evicted' and 'late'
missed: int: events before this one that were not asked for in time
generation: int: which producer it is of, as of a Frame
""")

ServiceInfo = make_info("ServiceInfo", "The state of a service.", """
state: str: 'starting', 'ready', 'draining', 'stopped' (the server has closed it) or 'lost' (the server's process
    has ended)
functions: int: how many are offered
clients: int: that the server knows
clients_max: int: at one time
calls_max: int: of one client, that have not ended
arguments_bytes: int: room for arguments of one client's calls
results_bytes: int: the same for results
pid: int: of the server, as it sees itself
uid: int: of the server
calls: int: that the server has taken
age: float: seconds since the service was made
version: str: as the server's program calls it
program: str: the server's name
""")

FunctionInfo = make_info("FunctionInfo", "A function of a service, and what became of its calls.", """
name: str
signature: str: in canonical form
calls: int: that ended, however
failed: int: of these, by an error
not_started: int: of these, that ended before the function ran
run_time: float: seconds of all runs together
is_idempotent: bool: to repeat a call does no harm
enqueues: bool: it touches arrays only by work on its stream
latency: tuple of int: runs by their length: from 2**i to 1.5 * 2**i ns in entry 2 * i, up to 2**(i + 1) in entry 2
    * i + 1
batches: int: how often it was called for several calls at once
batch: int: most calls that it runs at once; 0: it runs each alone
""")


cdef inline str hex_of(const uint8_t *id):
    return (<const char *>id)[:WW_OBJECT_ID_BYTES].hex()


cdef int read_id(value, uint8_t *id) except -1:
    """An id as hex_of() writes it."""
    if not isinstance(value, str) or len(value) != 2 * WW_OBJECT_ID_BYTES or value.strip("0123456789abcdef"):
        raise ValueError("an object id is a str of 32 hexadecimal digits in lower case, as Memory.object_id, not "
                         f"{value!r}")
    data = bytes.fromhex(value)
    memcpy(id, <const char *>data, WW_OBJECT_ID_BYTES)
    return 0
