/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/broker.h - memory with names and permissions, which survives its creator
 *
 * The broker is a process, `warpwayd`. It keeps the descriptors of objects and knows which process
 * holds which object. A process puts a memory into it under a name such as "model/layer0/w"; other
 * processes get it by the name or by a token. Owner, group and mode decide which processes may, as
 * for files. When a process ends or is killed, the broker releases all that it held. The bytes
 * never pass through the broker, and the broker uses no GPU.
 *
 *   put(writing) ──> writing ──publish──> sealed (for reading) or shared (by mode)
 *   put(sealed or shared) ────────────────^            │
 *              creator dies while writing: ended       ├─ get, import ──> held by others
 *                                                      └─ end, end of life ──> ended
 *
 * Life: an object of life `held` ends with its last holder. An object of life `owner` ends with the
 * process that put it. An object of life `kept` lasts until its name is removed or its time to live
 * is over; a memory then goes on without a name, with life `held` (ww_broker_remove()). After an
 * object has ended, a process that holds it keeps its mapping, and no other process can get the
 * object.
 *
 * Which broker a call means, in this order:
 *   - The address that is given, in ww_broker_params or by WARPWAY_BROKER in the environment.
 *   - The machine's broker, /run/warpway/broker.sock, if that exists.
 *   - The user's own broker, $XDG_RUNTIME_DIR/warpway/broker.sock. Without XDG_RUNTIME_DIR it is in
 *     /run/user/UID/warpway/, or else in /tmp/warpway-UID/.
 * The first process that needs the user's own broker starts the program `warpwayd` as a separate
 * process. WARPWAYD names the program; otherwise it is searched for next to the library, then in
 * PATH. The broker ends by itself when no process is connected and it keeps no object.
 * WW_BROKER_NO_START, or WARPWAY_NO_START=1 in the environment, prevents the start.
 *
 * If a call gets NULL for a broker, it uses: for a memory that is in exactly one broker
 * (ww_memory_broker()), this broker; for a token, the broker of the token; otherwise the default
 * broker, as ww_broker_open(NULL) finds it. A connection that such a call made is kept for the next
 * call. The first request or release, to any broker, that comes a second later or more, ends it.
 * Until then it counts as a connection.
 *
 * Which process may listen: at the user's own address only a process of the same user, in a folder
 * of that user; at the machine's address any process whose socket is in a folder that only root can
 * write. Otherwise the call returns WW_ERR_ACCESS before it sends anything. An address that the
 * caller names is used without a check.
 *
 * Reconnection: if the broker is restarted, or is killed and its supervisor restarts it, no object
 * is lost. The next call connects again, tells the broker which objects this process holds, and
 * repeats requests that were not answered. A repeated put or remove acts on the name as it is then,
 * so it may undo a change that another process made to the name in between.
 *
 * Which process: a process is one holder, however many of its threads use the broker. The broker
 * identifies the process by a pidfd and by 128 random bits, which the process makes for each
 * broker. If a process opens a broker twice, by the same address or by two addresses of the same
 * socket file, both calls return the same object with one more reference. (If only tokens named an
 * address of a broker, the library does not recognise the broker under another address: then the
 * process counts as two holders.)
 *
 * Threads: every function may be called from any thread; a call that waits does not delay other
 *          threads. A watch or a snapshot is used by one thread at a time.
 * Time:    every call has a time limit, which includes reconnection: its timeout_ns, or else the
 *          broker's limit for each answer (5 s by default). If the broker does not answer within
 *          its limit, the call returns WW_ERR_NO_BROKER. If the limit of the call passes first, the
 *          call returns WW_TIMED_OUT. An answer is accepted up to 0.1 s after a call's own limit. A
 *          ww_cancel ends a call sooner: cancel.h.
 * Fork:    a child cannot use its parent's connections and watches: it opens its own, see device.h.
 *          It does not keep the parent's connection alive after the parent has ended.
 */
#ifndef WARPWAY_BROKER_H
#define WARPWAY_BROKER_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/device.h>
#include <warpway/memory.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_watch ww_watch;
typedef struct ww_snapshot ww_snapshot;
typedef struct ww_object ww_object;

/*
 * Bytes of an object's name with its ending zero. A name has components of UTF-8 without control
 * characters, divided by '/'. No component is empty, "." or "..". A name whose first component is
 * "~UID" belongs to that user.
 */
#define WW_NAME_BYTES 192

/* When an object leaves the broker by itself. */
enum {
	WW_LIFE_HELD = 1, /* with its last holder; a token in escrow counts as one */
	/*
	 * when the process that put it ends, or closes its connection to the broker (see
	 * ww_broker_unref()); without a name, also when that process does not hold it any more
	 */
	WW_LIFE_OWNER = 2,
	WW_LIFE_KEPT = 3 /* when its time to live ends, if it has one */
};

enum {
	WW_STATE_WRITING = 1, /* its creator writes, no other process can get it */
	/*
	 * for reading only: no process gets it for writing, and when it is sealed, no other process
	 * holds it for writing. No descriptor that the broker hands out from then on can be mapped
	 * for writing, except those of a GPU's memory, see memory.h. The broker does not know of
	 * descriptors that were passed without it. The mapping of its creator stays writable,
	 * unless WW_STATE_READ_ONLY is set
	 */
	WW_STATE_SEALED = 2,
	WW_STATE_SHARED = 3,       /* for reading and writing, by mode and access */
	WW_STATE_REMOVED = 4,      /* it has ended: no process can get it, but some hold it */
	WW_STATE_READ_ONLY = 0x100 /* a flag beside WW_STATE_SEALED, see ww_put_params */
};

#define WW_BROKER_NO_START UINT64_C(0x1) /* fail if no broker runs */

/**
 * struct ww_broker_params - which broker, and how long to wait for it
 * @struct_size: sizeof(struct ww_broker_params)
 * @reserved:    0
 * @flags:       WW_BROKER_... bits
 * @timeout_ns:  for connecting (including a start), and for each answer to a call without its own
 *               limit; 0: 5 seconds
 * @address:     absolute path of its socket; NULL: see the top of broker.h. If the address is
 *               given here or by WARPWAY_BROKER, the call starts no broker, unless it is the user's
 *               own
 */
struct ww_broker_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t flags;
	uint64_t timeout_ns;
	const char *address;
};

/**
 * struct ww_broker_info - the state of a broker
 * @struct_size:   set by the caller to sizeof(struct ww_broker_info)
 * @pid:           of the broker process
 * @supervisor_pid:    of its supervisor, which restarts it
 * @uid:           the user it runs as
 * @restarts:      how often it was restarted since the supervisor began
 * @protocol:      version of the protocol of this connection
 * @objects:       objects of all users
 * @holders:       processes that are connected or hold something
 * @holds:         pairs of a holder and an object, tokens in escrow included
 * @bytes:         of all objects
 * @fds:           descriptors held for objects
 * @open_fds:      all descriptors of the broker process
 * @memory_bytes:  resident memory of the broker process
 * @up_ns:         nanoseconds since the supervisor began
 * @waits:         requests of clients that wait for something
 * @broker_id:     128 random bits; another value means that the objects of the earlier broker have
 *                 ended
 * @version:       of the program
 */
struct ww_broker_info {
	uint32_t struct_size;
	uint32_t pid;
	uint32_t supervisor_pid;
	uint32_t uid;
	uint32_t restarts;
	uint32_t protocol;
	uint64_t objects;
	uint64_t holders;
	uint64_t holds;
	uint64_t bytes;
	uint64_t fds;
	uint64_t open_fds;
	uint64_t memory_bytes;
	uint64_t up_ns;
	uint64_t waits;
	uint8_t broker_id[16];
	char version[WW_PROGRAM_BYTES];
};

/**
 * ww_broker_open() - connect to a broker, and start the user's own if none runs
 * @params:      borrowed; NULL: the default broker. The address is one of its fields
 * @out_broker:  the caller's; NULL on failure
 *
 * May block: until the broker answers.
 *
 * Return: WW_OK; WW_ERR_NO_BROKER (none listens there, none could be started, or it did not answer
 *         in time; the record says which); WW_ERR_ACCESS (this user has no access to the socket or
 *         its directory); WW_ERR_VERSION (no common version of the protocol); WW_ERR_QUOTA (too
 *         many connections); WW_ERR_PROTOCOL (the process that listens there is not a broker);
 *         WW_ERR_INVALID (address, flags, struct_size); WW_ERR_NO_MEMORY; WW_ERR_LIMIT;
 *         WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_broker_open(const struct ww_broker_params *params, ww_broker **out_broker);

/**
 * ww_broker_ref() - take one more reference of a broker
 * Return: @broker.
 */
WW_API ww_broker *ww_broker_ref(ww_broker *broker);

/**
 * ww_broker_unref() - release a reference of a broker
 * @broker:  may be NULL
 *
 * The connection stays open as long as this process has another reference of the broker, or a
 * memory, a timeline, an event, a barrier, a pool or a ww_object that was put there or came from
 * there. When the last of them is released, the connection closes. Then the objects of life owner
 * that this process put there end, also those with a name.
 *
 * Return: NULL.
 */
WW_API ww_broker *ww_broker_unref(ww_broker *broker);

/**
 * ww_broker_address() - the path of the broker's socket
 * Return: valid as long as the broker; NULL in a child made by fork(), which cannot use its
 *         parent's broker.
 */
WW_API const char *ww_broker_address(ww_broker *broker);

/**
 * ww_broker_info_get() - describe a broker
 * @broker:  borrowed; NULL: the default broker
 * @info:    the caller's, with struct_size set; filled on success
 *
 * May block: for one round trip.
 *
 * Return: WW_OK; WW_ERR_NO_BROKER; WW_ERR_INVALID (struct_size is not set); WW_ERR_PROTOCOL;
 * WW_ERR_FORKED.
 */
WW_API ww_status ww_broker_info_get(ww_broker *broker, struct ww_broker_info *info);

/**
 * ww_memory_broker() - the broker that a memory was put into or got from
 * @memory:  borrowed; may be NULL
 *
 * Return: borrowed, valid as long as the memory; for a slice, the broker of its pool. NULL: the
 *         memory is in no broker, or in several; or a child made by fork() cannot use the memory.
 */
WW_API ww_broker *ww_memory_broker(ww_memory *memory);

/*
 * ww_put_params.flags
 *
 * WW_PUT_REPLACE: if there is an object of this name, and the caller may remove it, the new object
 * gets the name in one step. If the caller or the broker dies meanwhile, the name belongs to the
 * old object or to the new one. To the old object this means the same as ww_broker_remove(): a
 * memory goes on without the name, any other object ends.
 *   - Put as sealed or shared: the new object has the name at once.
 *   - Put as being written: the new object has the name when it is published. Until then the name
 *     belongs to the old object, and both are charged. If the writer ends before, the old object
 *     keeps the name. If the old object loses it before, the new one has it.
 *   - The last put counts: the next put that replaces, or ww_broker_remove(), takes the name from
 *     an object that waits to replace another one. Its ww_memory_publish() then returns
 *     WW_ERR_NOT_FOUND, and the memory is ready without a name.
 */
#define WW_PUT_REPLACE UINT64_C(0x1)

#define WW_GID_OWN UINT32_MAX

/*
 * WW_STATE_SEALED | WW_STATE_READ_ONLY: the memory's mapping in this process becomes read-only, at
 * the address that it has, before another process can get the object.
 *   - Work that writes the memory must have ended. If the CPU or a kernel writes to it later, it
 *     faults.
 *   - All memories of this process that have the same mapping become read-only. Other mappings of
 *     the bytes (for another device, with WW_IMPORT_OWN_MAPPING, of a child made by fork()) do not.
 *   - The mapping stays read-only, also when the object has ended or lost its name: it can be put
 *     again as sealed only. If the call does not return WW_OK, the mapping is as before, unless
 *     ww_memory_publish() says that the memory is ready without a name.
 *   - The flag is for memory of the host device and for memory of kind WW_MEMORY_VMM that is not
 *     wrapped. For other memory the call returns WW_ERR_UNSUPPORTED, and changes nothing.
 */

/**
 * struct ww_put_params - how to put a memory
 * @struct_size: sizeof(struct ww_put_params)
 * @mode:        permission bits, such as 0640; 0: 0600
 * @life:        WW_LIFE_...; 0: held; for memory that was wrapped, and for slices: owner
 * @state:       WW_STATE_WRITING, SEALED or SHARED; 0: sealed, for slices shared;
 *               WW_STATE_READ_ONLY, see above
 * @gid:         group; 0: the caller's own group (as WW_GID_OWN); else one of the caller's groups
 * @reserved:    0
 * @flags:       WW_PUT_... bits
 * @ttl_ns:      for life kept: time to live; 0: no end
 * @array:       borrowed; how an array lies in the memory; NULL: just bytes
 */
struct ww_put_params {
	uint32_t struct_size;
	uint32_t mode;
	uint32_t life;
	uint32_t state;
	uint32_t gid;
	uint32_t reserved;
	uint64_t flags;
	uint64_t ttl_ns;
	const struct ww_array *array;
};

/**
 * ww_memory_put() - put a memory into a broker, under a name
 * @memory:  borrowed; made by this process, or a memory of this user that it has got, also for
 *           reading; or a slice of a pool of this process. While it lives this process holds the
 *           object
 * @broker:  borrowed; NULL: the broker that the memory is in (ww_memory_broker()), else the default
 *           broker, which the memory keeps open
 * @name:    borrowed; NULL: no name, found by tokens only
 * @params:  borrowed; NULL: mode 0600, held, sealed; for a slice owner and shared
 * @timeout_ns:  how long to wait for room in the quota (the calls of all processes of the user are
 *               served in order); 0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * A memory is one object in a broker. If it was exported by token without a name before, this call
 * gives it the name. After the last unref of the memory this process does not hold the object any
 * more. A second put under the same name succeeds if it has the same mode, life, state, group, time
 * to live (which counts from the first put) and array. Otherwise it returns WW_ERR_EXISTS and
 * changes nothing. With WW_PUT_REPLACE it gives the name another life, time to live, array or part
 * of the memory. To put the memory with another mode or group, remove all its names first; then the
 * process that made it can do so. What was sealed stays sealed.
 *
 * A further name: a memory may have up to 4,097 names, and so may the parts of an allocation
 * (ww_memory_wrap()), which are one object. Life held or kept, time to live and array are of the
 * name; mode, group and state are of the object, so a further put needs the same ones. It may come
 * from another process of the same user (or from root) that has got the memory. Each name counts as
 * one object of the user who puts it. The right to any of the names is the right to the whole
 * allocation, since the descriptor covers that: use different allocations for readers who must not
 * see each other's data. All names have life owner, or none has; of a memory of life owner only the
 * process that put it gives names. To name a part of memory of this library, wrap the part, which
 * follows the rules of that memory. With WW_PUT_REPLACE a name of the memory then stands for that
 * part, and its time to live begins again; processes that got it before keep the part that they
 * have.
 *
 * Memory of other libraries that was wrapped is put with WW_LIFE_OWNER (life 0 means that here;
 * another one returns WW_ERR_INVALID), by the process that wrapped it. Its names end with that
 * part, by its last ww_memory_unref(), before ww_wrap_params.release is called. If the broker does
 * not answer in time, the names may still be there, so release is called only when no part of the
 * allocation is wrapped any more: then the names open nothing.
 *
 * A slice of a pool is put with WW_LIFE_OWNER and WW_STATE_SHARED (0 means that here; others return
 * WW_ERR_INVALID), by the owner of the pool. The name keeps the slice: also when the owner has
 * released it, its bytes are not allocated again before the name has been removed or given to
 * another memory. When the owner ends, or has released the pool and all slices that it uses, the
 * names go. All names of slices of a pool have one mode and one group, which the first of them
 * sets, until all have gone. The right to any of these names is the right to the whole pool: see
 * pool.h. Put slices with a mode such as 0440 if readers shall not write. A part of a slice has a
 * name by an array with an offset. The names are at most 4,096 together.
 *
 * May block: for one round trip, and up to timeout_ns; for the first slice of a chunk, for several.
 *
 * Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (no room in time; nothing was put); WW_ERR_EXISTS
 *         (the name is taken, the record says by which process; or the memory is in the broker
 *         already with other parameters: the record says which); WW_ERR_NOT_FOUND (another process
 *         made the memory, and it has ended in the broker); WW_ERR_STATE (put as being
 *         written, while other processes may have it by a token; or put as sealed, while another
 *         process holds it for writing: the record names the process); WW_ERR_UNSUPPORTED
 *         (WW_STATE_READ_ONLY, and this memory cannot be made read-only where it is mapped);
 *         WW_ERR_QUOTA (the record says which quota and how much); WW_ERR_ACCESS (the name, or a
 *         memory that is in the broker, belongs to another user, the caller is not in the group,
 *         the memory is in no broker and mapped read-only here, or it is a slice of another
 *         process's pool); WW_ERR_INVALID; WW_ERR_MISMATCH, WW_ERR_OVERFLOW
 *         (@array does not fit the memory); as ww_memory_export_fd(); WW_ERR_NO_BROKER;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_put(ww_memory *memory, ww_broker *broker, const char *name,
	const struct ww_put_params *params, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_memory_publish() - end writing: the object is ready, and every get that waits for it returns
 * @memory:  borrowed; put by this process with WW_STATE_WRITING
 * @broker:  borrowed; NULL: as for ww_memory_put()
 * @state:   WW_STATE_SEALED or WW_STATE_SHARED; WW_STATE_SEALED | WW_STATE_READ_ONLY: as for
 *           ww_memory_put()
 * @cancel:  borrowed; may be NULL: cancel.h
 *
 * Work of the device that writes the memory must have ended. An object that this one replaces
 * (WW_PUT_REPLACE) loses its name now.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_STATE (it is ready already, in the other state; or it
 *         is to be sealed, while another process holds it for writing); WW_ERR_NOT_FOUND (it is not
 *         in this broker; or it lost its name while it was written: it is ready without one, and
 *         ww_memory_put() gives it another); WW_ERR_ACCESS (another process put it);
 *         WW_ERR_UNSUPPORTED (WW_STATE_READ_ONLY, as for ww_memory_put()); WW_ERR_INVALID;
 *         WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_publish(ww_memory *memory, ww_broker *broker, uint32_t state,
	ww_cancel *cancel);

/* ww_get_params.flags */
#define WW_GET_FROM_OWNER UINT64_C(0x100000000) /* only an object of the user in @owner */

/**
 * struct ww_get_params - how to get a memory
 * @struct_size: sizeof(struct ww_get_params)
 * @access:      WW_ACCESS_READ or WW_ACCESS_WRITE; 0: read
 * @flags:       WW_GET_FROM_OWNER, WW_IMPORT_... of memory.h
 * @owner:       a uid, with WW_GET_FROM_OWNER; else 0
 * @reserved:    0
 */
struct ww_get_params {
	uint32_t struct_size;
	uint32_t access;
	uint64_t flags;
	uint32_t owner;
	uint32_t reserved;
};

/**
 * struct ww_object_info - an object in a broker, under one of its names
 *
 * Of the name are @name, @life, @age_ns, @left_ns, @offset, @span_bytes and @array. The other
 * fields are of the object. For a slice of a pool they are the pool's, but @bytes is the slice's (0
 * if this process may not read it), and @kind is WW_OBJECT_MEMORY.
 *
 * @struct_size:  set by the caller to sizeof(struct ww_object_info)
 * @kind:         WW_OBJECT_... of token.h
 * @state:        WW_STATE_...
 * @life:         WW_LIFE_...
 * @mode:         permission bits
 * @uid:          owner
 * @gid:          group
 * @access:       WW_ACCESS_... that this process may have, or was granted; 0: none
 * @pid:          of the process that put it first, in the broker's pid namespace; 0: not known
 * @holders:      processes that hold it
 * @escrows:      its tokens in flight
 * @fd_count:     descriptors that the broker holds for it
 * @is_own:       1: this process put it
 * @has_array:    1: @array is set
 * @bytes:        all bytes that it occupies
 * @age_ns:       nanoseconds since it was put under this name
 * @left_ns:      nanoseconds until it expires; WW_FOREVER: never
 * @generation:   its number among all objects of this broker so far
 * @offset:       bytes from the start of that memory to the span that a token or a name names; else
 *                0. The memory that a call returns begins there already, so do not add it
 * @span_bytes:   bytes of that span; else bytes of the memory
 * @object_id:    the same everywhere
 * @home_uuid:    of the device that holds the bytes
 * @name:         empty: none
 * @array:        how an array lies in the span: its offset counts from the start of the memory that
 *                a call returns
 * @memory_kind:  WW_MEMORY_... of device.h, for memory; 0: unknown
 * @is_slice:     1: a slice of a pool
 */
struct ww_object_info {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t state;
	uint32_t life;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t access;
	uint32_t pid;
	uint32_t holders;
	uint32_t escrows;
	uint32_t fd_count;
	uint32_t is_own;
	uint32_t has_array;
	uint64_t bytes;
	uint64_t age_ns;
	uint64_t left_ns;
	uint64_t generation;
	uint64_t offset;
	uint64_t span_bytes;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	char name[WW_NAME_BYTES];
	struct ww_array array;
	uint32_t memory_kind;
	uint32_t is_slice;
};

/**
 * ww_memory_get() - hold a memory by its name, and map it
 * @device:      borrowed; the device that shall reach it
 * @broker:      borrowed; NULL: the default broker
 * @name:        borrowed
 * @params:      borrowed; NULL: for reading
 * @timeout_ns:  how long to wait for the name to appear and its object to be ready; 0: not at all;
 *               WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_memory:  the caller's; NULL on failure. Exactly the span that was put. memory.h says when
 *               this is a memory that the process has already. The object is held as long as this
 *               process has any span of it
 * @info:        the caller's, with struct_size set; filled on success; may be NULL. These fields
 *               are 0: holders, escrows, age, time left, life, pid, mode, gid, fd_count.
 *               ww_broker_stat() fills them
 *
 * May block: for one round trip, and up to timeout_ns.
 *
 * Return: WW_OK; WW_TIMED_OUT (it was not ready in time); WW_CANCELLED; WW_ERR_NOT_FOUND (the name
 *         does not exist, and timeout_ns is 0 or no object can take it); WW_ERR_STATE (it is being
 *         written, and timeout_ns is 0); WW_ERR_ACCESS (its mode does not allow it, it is sealed,
 *         or it is not @owner's); WW_ERR_PEER_LOST (while waiting: its writer ended before it was
 *         ready); WW_ERR_UNSUPPORTED (it is not a memory, or @device cannot reach or map it as
 *         requested); WW_ERR_QUOTA; WW_ERR_INVALID; as ww_memory_import_fd(); WW_ERR_NO_BROKER;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_get_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_memory **out_memory, struct ww_object_info *info);

/**
 * struct ww_export_params - what a token names
 * @struct_size:  sizeof(struct ww_export_params)
 * @access:     WW_ACCESS_...: the most access that an importer gets; 0: read
 * @offset:     bytes from the start of the memory to the span
 * @bytes:      of the span; 0: to the end
 * @escrow_ns:  how long the broker keeps the object for the token; WW_ESCROW_DEFAULT (0);
 *              WW_ESCROW_NONE. For a delivery, the time begins when this process ends
 * @uses:       number of imports after which the escrow ends early; 0: only its time ends it (for a
 *              slice of a pool: 1). The token still opens the object while the object exists,
 *              unless it is a delivery: ww_memory_revoke()
 * @flags:      WW_EXPORT_... bits of token.h
 * @array:      borrowed; how an array lies in the span; NULL: just bytes
 */
struct ww_export_params {
	uint32_t struct_size;
	uint32_t access;
	uint64_t offset;
	uint64_t bytes;
	uint64_t escrow_ns;
	uint32_t uses;
	uint32_t flags;
	const struct ww_array *array;
};

/**
 * ww_memory_export() - a token by which any process can import a memory, or a span of it
 * @memory:     borrowed
 * @broker:     borrowed; NULL: as for ww_memory_put(), for a slice its pool's
 * @params:     borrowed; NULL: all of it, for reading, WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * If the memory is not in the broker, the call puts it there first, without a name, with mode 0600,
 * held, shared. A wrapped memory is put with WW_LIFE_OWNER instead: when this process releases it,
 * or ends, the token opens nothing any more. If several parts of one allocation are wrapped, this
 * is true when the last of them is released: until then a token of a part opens the allocation.
 *
 * For a slice of a pool only the first token costs a round trip. The pool keeps the escrows of its
 * slices, see pool.h.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_ACCESS (more access than this process has); WW_ERR_OVERFLOW,
 *         WW_ERR_MISMATCH (the span or the array lies outside the memory); WW_ERR_INVALID;
 *         WW_ERR_QUOTA; as ww_memory_put(); WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_export(ww_memory *memory, ww_broker *broker,
	const struct ww_export_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_memory_revoke() - make all existing tokens of a memory invalid
 * @memory:  borrowed; put or exported by this process, or got or imported by a process of the same
 *           user or of root
 * @broker:  borrowed; NULL: as for ww_memory_export()
 * @cancel:  borrowed; may be NULL: cancel.h
 *
 * All tokens of the memory in that broker become invalid, also tokens that importers of the memory
 * have made:
 *   - Their escrows end. If an object of life held has no holder any more, it ends.
 *   - A later import with one of them returns WW_ERR_ACCESS; for a slice of a pool,
 *     WW_ERR_NOT_FOUND.
 *   - Another process that has the memory keeps its mapping and its hold. This process can import
 *     the old token again: the token opens the memory that the process has already, and nothing
 *     else. A hold that was taken without a mapping can still be mapped: ww_object_map().
 *   - Tokens that are exported later open the memory. Its name opens it, too. A process that
 *     had the memory before can export such tokens. Of a slice of a pool, its tokens open nothing
 *     in other processes until it has got the slice anew.
 * For a wrapped memory, or a part of it, the call revokes the tokens of its whole allocation. For a
 * slice, the call needs one more slot of its pool (slices_max) until every process that imported
 * the slice earlier has released it.
 *
 * May block: for one round trip; for a slice only if it has a name, or the pool has no slot left.
 *
 * If the call failed or was cancelled, the tokens may still become invalid, now or later, because a
 * broker that did not answer may execute the request later. Until the call has returned WW_OK,
 * count the old tokens as valid, and call it again. To revoke twice does no harm, but a token that
 * was exported in between becomes invalid, too.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (the memory is not in this broker); WW_ERR_ACCESS (a
 *         process of another user put it); WW_ERR_LIMIT (no slot is left); WW_ERR_VERSION (the
 *         broker is too old); WW_CANCELLED; WW_ERR_NO_MEMORY; WW_ERR_INVALID; WW_ERR_NO_BROKER;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_revoke(ww_memory *memory, ww_broker *broker, ww_cancel *cancel);

/**
 * ww_memory_import() - hold and map the memory that a token names
 * @device:      borrowed; the device that shall reach it
 * @broker:      borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *               address. The call starts no broker
 * @token:       borrowed; may come from anywhere
 * @params:      borrowed; NULL: for reading
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_memory:  the caller's; NULL on failure. Exactly the span that the token names: its pointer
 *               is the span's first byte. memory.h says when this is a memory that the process has
 *               already
 * @info:        as for ww_memory_get(), with offset, span_bytes and array as the token says. For a
 *               slice of a pool the offset is 0
 *
 * The whole memory is mapped once, whichever spans of it are imported. If this process holds the
 * object by a token already, there is no round trip, unless the token's escrow counts imports
 * (ww_export_params.uses), or WW_IMPORT_OWN_MAPPING asks for another mapping.
 *
 * A token may come from an attacker. Its secret is sent only to a broker whose id is in the token.
 * A forged token costs at most the broker's time limit for an answer, 5 s. A connection that was
 * made for a token is kept for the next call, like a connection for a NULL broker.
 *
 * A token for writing opens a memory that was sealed meanwhile, but for reading only.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_PROTOCOL (not a token, or damaged); WW_ERR_VERSION;
 *         WW_ERR_NOT_FOUND (the object has ended, or is in another broker); WW_ERR_ACCESS (for
 *         writing, and the token is for reading or the object is sealed; or the secret is wrong);
 *         WW_ERR_STATE (it is being written; for a slice: a stream of this process has yet to
 *         release it); WW_ERR_MISMATCH (the token's span does not fit the memory);
 *         WW_ERR_UNSUPPORTED (a token of another kind, or @device cannot reach or map it as
 *         requested); as ww_memory_import_fd(); WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_import(ww_device *device, ww_broker *broker,
	const struct ww_token *token, const struct ww_import_params *params, ww_cancel *cancel,
	ww_memory **out_memory, struct ww_object_info *info);

/**
 * ww_object_import() - take the hold of a token, without mapping the memory
 * @broker:      borrowed; NULL: as for ww_memory_import()
 * @token:       borrowed; of a memory, a slice of a pool, a timeline, an event or a barrier
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_object:  the caller's; NULL on failure. The object is held until its last unref
 * @info:        as for ww_memory_import(); may be NULL
 *
 * Use this call in a process that only passes tokens to other processes, and has no device, no CUDA
 * context and no room for a mapping. Or use it in a process that maps the memory later, with
 * ww_object_map(). The call counts as an import (ww_export_params.uses). What the hold does depends
 * on the object:
 *   - The process is a holder, so a memory of life held stays when its creator ends.
 *   - The hold has the access of the token; if the memory was sealed meanwhile, for reading.
 *     @info says which.
 *   - A memory of life owner still ends with its creator: when the creator ends, or closes its
 *     connection. In the creator's own process the ww_object keeps the connection open, as a memory
 *     does.
 *   - The bytes of a slice of a pool are not handed out again while it is held. ww_object_map() can
 *     map them even after the owner of the pool has ended. ww_memory_import() can map them only
 *     while the owner lives, or if the process has mapped the slice's chunk already.
 *   - A timeline ends with its signaller, an event with its creator, a barrier with its members.
 *
 * May block: for one round trip; for the first slice of a pool, for several.
 *
 * Return: WW_OK; as ww_memory_import(); WW_ERR_UNSUPPORTED (a token of a pool itself).
 */
WW_API ww_status ww_object_import(ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_object **out_object, struct ww_object_info *info);

/**
 * ww_object_get() - hold a memory by its name, without mapping it
 * @broker:      borrowed; NULL: the default broker
 * @name:        borrowed
 * @params:      borrowed; NULL: for reading. WW_IMPORT_... flags are refused
 * @timeout_ns:  as for ww_memory_get()
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_object:  the caller's; NULL on failure. The memory is held until its last unref
 * @info:        as for ww_memory_get(); may be NULL
 *
 * Use this call in a process without a device that only passes the memory to another process, such
 * as a client of a service: ww_object_export() makes a token of it. The object is the same as after
 * an import of a token with the access of @params, and with the span and the array that were put.
 *
 * May block: for two round trips, and up to timeout_ns.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (it is not a memory); as ww_memory_get().
 */
WW_API ww_status ww_object_get(ww_broker *broker, const char *name,
	const struct ww_get_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_object **out_object, struct ww_object_info *info);

/**
 * ww_object_map() - map the memory that an object holds
 * @object:      borrowed; of a memory or of a slice of a pool
 * @device:      borrowed; the device that shall reach it
 * @params:      borrowed; NULL: for reading. For writing only if the token was for writing
 * @cancel:      borrowed; may be NULL: cancel.h
 * @out_memory:  the caller's; NULL on failure. Exactly the span that the token names, as from
 *               ww_memory_import()
 *
 * The call does not count as an import (ww_export_params.uses). The memory has a separate hold: the
 * object and the memory can be released in any order.
 *
 * The call works as long as the object is held and in its broker:
 *   - It works also after ww_memory_revoke(), and after the token's escrow has ended.
 *   - It works also when all other processes have released the memory or have ended. For a slice of
 *     a pool, it works also when the owner has released the slice or has ended.
 *   - If the memory has ended (ww_broker_end(); or it is of life owner and its creator has ended),
 *     the call returns WW_ERR_NOT_FOUND, unless this process has mapped the memory already by the
 *     same token.
 *   - If the broker has lost its objects, or another object has the id of this one, the call
 *     returns WW_ERR_NOT_FOUND.
 *   - If the memory was sealed meanwhile, it can be mapped for reading only.
 *
 * A slice of this process's own pool can be mapped only for the pool's device.
 *
 * May block: for one round trip if this process has not mapped the memory yet, for three if its
 * tokens were revoked; for a slice, for two if its chunk is not mapped yet.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_UNSUPPORTED (the object is not a memory, or @device cannot
 *         reach or map it as requested); WW_ERR_ACCESS (for writing, but the token was for reading
 *         or the memory is sealed); WW_ERR_NOT_FOUND (it has left its broker); WW_ERR_INVALID; as
 *         ww_memory_import_fd(); WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_object_map(ww_object *object, ww_device *device,
	const struct ww_import_params *params, ww_cancel *cancel, ww_memory **out_memory);

/**
 * ww_object_ref() - take one more reference of an object
 * Return: @object.
 */
WW_API ww_object *ww_object_ref(ww_object *object);

/**
 * ww_object_unref() - release a reference of an object
 * @object:  may be NULL
 *
 * Memory that was imported or mapped meanwhile has a separate hold.
 *
 * Return: NULL.
 */
WW_API ww_object *ww_object_unref(ww_object *object);

/**
 * ww_object_export() - a token with the access of the hold and the span of the token
 * @object:     borrowed
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT. Not used for a slice of another process's pool:
 *              pool.h says how long such a token is valid
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * May block: for one round trip.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (it has ended); WW_ERR_ACCESS (it was sealed meanwhile);
 *         WW_ERR_QUOTA; WW_ERR_INVALID; WW_ERR_NO_BROKER; WW_CANCELLED; WW_ERR_FORKED.
 */
WW_API ww_status ww_object_export(ww_object *object, const struct ww_token_params *params,
	ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_broker_remove() - remove a name from a broker
 * @broker:  borrowed; NULL: the default broker
 * @name:    borrowed
 *
 * The name is free at once, also that of an object that is being written to replace this one.
 *
 * A memory goes on without a name. Processes that hold it can still send it, tokens in flight
 * arrive, and it can be put again. Its other names stay. It ends when no process, no token in
 * flight and no name of life kept holds it any more. (Memory of life owner ends with its owner.)
 * When only processes of other users hold it, it is charged to one of these users, not to the user
 * that put it. If none of them has room for it, it ends, and the tokens in flight with it; mappings
 * stay.
 *
 * Any other object ends: no process can get or join it any more. Processes that hold it keep what
 * they have, and go on with each other. So does an object with a name inside another one
 * ("@ID/...").
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND; WW_ERR_ACCESS (it belongs to another user); WW_ERR_STATE (it is
 *         the part of a pool in which a living process marks the slices that it uses);
 *         WW_ERR_INVALID; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_broker_remove(ww_broker *broker, const char *name);

/**
 * ww_broker_end() - end an object of a broker
 * @broker:     borrowed; NULL: the default broker
 * @name:       borrowed; NULL: @object_id says which object
 * @object_id:  borrowed, WW_OBJECT_ID_BYTES; of any object, also of one without a name; NULL: the
 *              one with this name. With @name: only if the object has both
 *
 * Its names are free, and all its tokens in flight end, so no process can get it any more.
 * Processes that hold it keep their mappings. A memory can be put again, by the process that made
 * it. The name of a slice is refused (WW_ERR_INVALID; ww_broker_remove() takes it). The id that is
 * told of a slice is its pool's, and ww_memory_info.object_id that of its chunk: to end one of
 * these ends the pool, or the chunk, for all other processes, with all their slices. Then make a
 * new pool.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND; WW_ERR_ACCESS (it belongs to another user); WW_ERR_STATE (as
 *         ww_broker_remove()); WW_ERR_VERSION (@name is NULL, and the broker speaks a
 *         protocol older than version 8);
 *         WW_ERR_INVALID; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_broker_end(ww_broker *broker, const char *name, const uint8_t *object_id);

/**
 * ww_broker_stat() - describe an object
 * @broker:  borrowed; NULL: the default broker
 * @name:    borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND; WW_ERR_INVALID; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_broker_stat(ww_broker *broker, const char *name, struct ww_object_info *info);

/* What a snapshot contains; bits. */
#define WW_SNAPSHOT_OBJECTS UINT64_C(0x1) /* named objects */
/*
 * Also objects without a name, ended objects, and objects that are being written to replace
 * another one; only if the prefix is empty.
 */
#define WW_SNAPSHOT_UNNAMED UINT64_C(0x2)
#define WW_SNAPSHOT_HOLDERS UINT64_C(0x4)
#define WW_SNAPSHOT_HOLDS   UINT64_C(0x8)

/**
 * struct ww_holder_info - a process that is connected, or holds something
 * @struct_size: set by the caller to sizeof(struct ww_holder_info)
 * @pid:         in the broker's pid namespace; 0: not known there
 * @uid:         its user
 * @gid:         its group
 * @is_attached: 1: connected; 0: not connected again since the broker was restarted
 * @held:        objects that it holds
 * @put:         objects in the broker that it put
 * @reserved:    0
 * @number:      names the holder in this broker; not 0
 * @held_bytes:  bytes of the objects that it holds
 * @put_bytes:   bytes of the objects that it put
 * @age_ns:      nanoseconds since it first connected
 * @program:     its name, as the process says
 */
struct ww_holder_info {
	uint32_t struct_size;
	uint32_t pid;
	uint32_t uid;
	uint32_t gid;
	uint32_t is_attached;
	uint32_t held;
	uint32_t put;
	uint32_t reserved;
	uint64_t number;
	uint64_t held_bytes;
	uint64_t put_bytes;
	uint64_t age_ns;
	char program[WW_PROGRAM_BYTES];
};

/**
 * struct ww_hold_info - one hold of an object
 * @struct_size:  set by the caller to sizeof(struct ww_hold_info)
 * @access:     WW_ACCESS_... granted
 * @is_creator: 1: the holder put the object
 * @is_escrow:  1: the holder is not a process, but a token in flight
 * @holder:     number of the holder; 0: escrow
 * @age_ns:     nanoseconds since it was taken
 * @left_ns:    for an escrow: time until it ends; for a delivery whose exporter lives, and for all
 *              others: WW_FOREVER
 * @object_id:  which object
 * @delivery:   number of a delivery (WW_EXPORT_DELIVERY) in this broker; 0: not a delivery
 * @exporter:   for a delivery: number of the holder that exported it, which may have ended
 * @uses:       for an escrow: number of imports left; 0: any number
 * @is_own:     1: a delivery that this process exported
 * @bytes:      of the object; 0: the broker has version 5 of the protocol or less
 */
struct ww_hold_info {
	uint32_t struct_size;
	uint32_t access;
	uint32_t is_creator;
	uint32_t is_escrow;
	uint64_t holder;
	uint64_t age_ns;
	uint64_t left_ns;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint64_t delivery;
	uint64_t exporter;
	uint32_t uses;
	uint32_t is_own;
	uint64_t bytes;
};

/**
 * ww_snapshot_create() - list the objects and holders of a broker
 * @broker:        borrowed; NULL: the default broker
 * @prefix:        borrowed; only objects whose names begin with it; NULL or "": all
 * @contents:      WW_SNAPSHOT_... bits
 * @out_snapshot:  the caller's; NULL on failure
 *
 * If an object has a name during the whole call, the snapshot contains it exactly once for that
 * name. Of several names of one object @object_id is the same: count its bytes once. But slices of
 * a pool (@is_slice) have the id of their pool, and each its own bytes. All users get
 * names, owners and sizes, as for files in a directory. They get the array only of objects that
 * they may read.
 *
 * May block: for one round trip for each page of 64 objects, 256 holders or 512 holds.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_NO_MEMORY; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_snapshot_create(ww_broker *broker, const char *prefix, uint64_t contents,
	ww_snapshot **out_snapshot);

/**
 * ww_snapshot_free() - end a snapshot
 * @snapshot:  may be NULL
 * Return: NULL.
 */
WW_API ww_snapshot *ww_snapshot_free(ww_snapshot *snapshot);

/**
 * ww_snapshot_object() - an object of a snapshot
 * @snapshot:  borrowed
 * @index:     0 for the first, in order of names
 * @info:      the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (no such index); WW_ERR_INVALID.
 */
WW_API ww_status ww_snapshot_object(ww_snapshot *snapshot, size_t index,
	struct ww_object_info *info);

/**
 * ww_snapshot_holder() - a holder of a snapshot
 * @snapshot:  borrowed
 * @index:     0 for the first
 * @info:      the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END; WW_ERR_INVALID.
 */
WW_API ww_status ww_snapshot_holder(ww_snapshot *snapshot, size_t index,
	struct ww_holder_info *info);

/**
 * ww_snapshot_hold() - a hold of a snapshot
 * @snapshot:  borrowed
 * @index:     0 for the first
 * @info:      the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END; WW_ERR_INVALID.
 */
WW_API ww_status ww_snapshot_hold(ww_snapshot *snapshot, size_t index, struct ww_hold_info *info);

/* ww_watch_event.what */
enum {
	WW_WATCH_PUT = 1,     /* a name was taken; the object may still be being written */
	WW_WATCH_READY = 2,   /* it is sealed or shared now */
	WW_WATCH_REMOVED = 3, /* its name was removed, or it was ended */
	WW_WATCH_EXPIRED = 4, /* its time to live ended */
	WW_WATCH_GONE = 5,    /* its last holder, or its creator, ended or released it */
	WW_WATCH_LOST = 6,    /* its writer ended before it was ready */
	/* events were missed (not read in time, or the broker was restarted): list again */
	WW_WATCH_OVERFLOW = 7,
	/*
	 * it has got the name of another object (WW_PUT_REPLACE), or of another part of its own.
	 * WW_WATCH_READY follows, at once if it is ready. WW_WATCH_REMOVED and WW_WATCH_PUT come
	 * instead from a broker of an older version, and until all events of WW_WATCH_EXISTING have
	 * come
	 */
	WW_WATCH_REPLACED = 8
};

/* flags of ww_watch_create() */
#define WW_WATCH_EXISTING UINT64_C(0x1) /* begin with WW_WATCH_PUT for each object that is there */

/**
 * struct ww_watch_event - a change
 * @struct_size:        set by the caller to sizeof(struct ww_watch_event)
 * @what:               WW_WATCH_...
 * @object:             the object as it was then; all zero for an overflow. Its own struct_size is
 *                      set by the call
 * @former_id:          for WW_WATCH_REPLACED: id of the object that had the name; else zeros. If
 *                      one slice of a pool replaces another one, both have the pool's id and
 *                      generation
 * @former_generation:  its number, as in struct ww_object_info; else 0
 */
struct ww_watch_event {
	uint32_t struct_size;
	uint32_t what;
	struct ww_object_info object;
	uint8_t former_id[WW_OBJECT_ID_BYTES];
	uint64_t former_generation;
};

/**
 * ww_watch_create() - watch a broker for changes
 * @broker:     borrowed; NULL: the default broker
 * @prefix:     borrowed; only objects whose names begin with it; NULL or "": all objects with a
 *              name
 * @flags:      WW_WATCH_... bits
 * @out_watch:  the caller's; NULL on failure
 *
 * The watch opens a separate connection.
 *
 * Return: as ww_broker_open(); WW_ERR_INVALID.
 */
WW_API ww_status ww_watch_create(ww_broker *broker, const char *prefix, uint64_t flags,
	ww_watch **out_watch);

/**
 * ww_watch_free() - end a watch
 * @watch:  may be NULL
 * Return: NULL.
 */
WW_API ww_watch *ww_watch_free(ww_watch *watch);

/**
 * ww_watch_fd() - a descriptor to poll in an event loop
 *
 * Return: a descriptor that is readable when ww_watch_next() has something to return; borrowed. It
 *         may change after an overflow and while the watch connects again: call this again after
 *         each ww_watch_next() that returned no event or an overflow. -1 in a child made by fork(),
 *         for a watch of its parent.
 */
WW_API int ww_watch_fd(ww_watch *watch);

/**
 * ww_watch_next() - get the next change, or wait for it
 * @watch:       borrowed
 * @timeout_ns:  0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 * @event:       the caller's, with struct_size set; filled on success
 *
 * If the broker was restarted, the watch connects again. Each call continues to connect as long as
 * it may wait. The whole reconnection has the broker's time limit. A call that does not wait starts
 * no broker.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NO_BROKER (the broker ended, and was not
 *         restarted in time); WW_ERR_PROTOCOL; WW_ERR_INVALID; WW_ERR_FORKED.
 */
WW_API ww_status ww_watch_next(ww_watch *watch, uint64_t timeout_ns, ww_cancel *cancel,
	struct ww_watch_event *event);

#ifdef __cplusplus
}
#endif

#endif
