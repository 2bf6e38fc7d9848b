/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - what the parts of the fake driver know of each other
 *
 * Memory is a memfd, so processes share it by descriptor as they share a GPU's. A device address
 * is only a number out of an arena that the CPU cannot touch, as on a GPU; the fake reaches the
 * bytes behind it through a mapping of its own, the shadow. A range says which bytes are behind
 * which addresses, and who may read or write them.
 *
 * A stream is a thread that takes operations from a queue.
 *
 * There is one lock and one condition variable for everything. A call holds the lock from
 * fake_enter to its return; whatever waits, waits on the condition, which is broadcast whenever
 * anything has changed. Only copies and host functions run without the lock; a range that a copy
 * is using is pinned, and nobody takes a pinned range away.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <warpway/module.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda.h"

#define FAKE_GRANULARITY ((size_t)2 << 20)
#define FAKE_PAGE        ((size_t)4096)
#define FAKE_QUEUES_MAX  32
#define FAKE_API         __attribute__((visibility("default"))) ww_CUresult
#define FAKE_CONTROL     __attribute__((visibility("default")))

enum fake_function {
#define FAKE_FUNCTION(name, symbol, parameters) FAKE_##name,
	WW_CUDA_FUNCTIONS(FAKE_FUNCTION)
#undef FAKE_FUNCTION
	FAKE_FUNCTION_COUNT
};

#define FAKE_DECLARE(name, symbol, parameters) FAKE_API symbol parameters;
WW_CUDA_FUNCTIONS(FAKE_DECLARE)
#undef FAKE_DECLARE

FAKE_CONTROL fakecuda_fail_fn fakecuda_fail;
FAKE_CONTROL fakecuda_at_fn fakecuda_at;
FAKE_CONTROL fakecuda_fail_off_fn fakecuda_fail_off;
FAKE_CONTROL fakecuda_call_count_fn fakecuda_call_count;
FAKE_CONTROL fakecuda_live_fn fakecuda_live;

/* ---- configuration (fake_config.c) ---- */

enum fake_mps {
	FAKE_MPS_OFF = 0,
	FAKE_MPS_ON = 1,
	FAKE_MPS_UNKNOWN = 2 /* there is no such attribute */
};

struct fake_config {
	unsigned int devices;
	uint64_t bytes; /* per device */
	bool no_fd;
	uint32_t no_peer[FAKECUDA_DEVICES_MAX]; /* of each, a bit for each out of its reach */
	bool no_sync;
	bool no_foreign;
	bool no_later;
	bool no_graph;
	unsigned int queues; /* of each context, at most FAKE_QUEUES_MAX */
	enum fake_mps mps;   /* of every GPU */
	int compute_mode;    /* WW_CU_COMPUTEMODE_..., of every GPU */
	const char *visible; /* CUDA_VISIBLE_DEVICES, NULL: all */
	const char *fail;    /* FAKECUDA_FAIL, NULL: none */
	const char *kernels; /* FAKECUDA_KERNELS, NULL: none */
	uint32_t lacks;      /* FAKECUDA_LACKS: bits, by enum fake_lack */
	bool mig;            /* every GPU says that it is a part of one */
};

const struct fake_config *fake_config(void);

/* ---- what the GPUs lack (fake_lack.c) ---- */

enum fake_lack {
	FAKE_LACK_VMM,
	FAKE_LACK_LEGACY,
	FAKE_LACK_POOLS,
	FAKE_LACK_EVENTS,
	FAKE_LACK_VALUES,
	FAKE_LACK_HOST,
	FAKE_LACK_HOST_READ_ONLY,
	FAKE_LACK_READ_ONLY,
	FAKE_LACK_COUNT
};

/* The bits of a list of words; ends the process for any other word. */
uint32_t fake_lack_read(const char *list);
bool fake_lacks(enum fake_lack what);
bool fake_lacks_function(enum fake_function function);
bool fake_lacks_attribute(ww_CUdevice_attribute attribute);

/* ---- the lock, and entering a call (fake_call.c, fake_fault.c) ---- */

struct fake_call {
	ww_CUresult error;
};

struct fake_call fake_enter(enum fake_function function);
void fake_leave(struct fake_call *call);

/*
 * Opens every exported function: counts, fails if told to, checks, and holds the lock to the end.
 */
#define FAKE_ENTER(name)                                                               \
	__attribute__((cleanup(fake_leave))) struct fake_call fake_call_ = fake_enter( \
		FAKE_##name);                                                          \
	if (fake_call_.error)                                                          \
	return fake_call_.error

/* Opens one that needs the current context: `context`, and WW_CUDA_SUCCESS in `error`. */
#define FAKE_ENTER_CONTEXT(name)                            \
	FAKE_ENTER(name);                                   \
	struct fake_context *context;                       \
	ww_CUresult error = fake_context_current(&context); \
	if (error)                                          \
	return error

/* Opens one of a stream: `stream`, and WW_CUDA_SUCCESS in `error`. */
#define FAKE_ENTER_STREAM(name, handle)                        \
	FAKE_ENTER(name);                                      \
	struct fake_stream *stream;                            \
	ww_CUresult error = fake_stream_find(handle, &stream); \
	if (error)                                             \
	return error

void fake_lock(void);
void fake_unlock(void);
void fake_wait(void);
void fake_wait_ns(int64_t ns);
void fake_wake(void);
bool fake_is_initialised(void);
void fake_set_initialised(void);
void fake_callback_begin(void);
void fake_callback_end(void);

ww_CUresult fake_fault_count(enum fake_function function);

ww_CUresult fake_error_from_errno(int number);

/* ---- devices (fake_device.c) ---- */

struct fake_pool;
struct fake_context;

struct fake_device {
	ww_CUuuid uuid;
	unsigned int number; /* among all devices, visible or not */
	uint64_t used;
	struct fake_context *primary;
	struct fake_pool *pool;
};

#define FAKE_DEVICE_HIDDEN (-2)

ww_CUresult fake_device_open_all(void);
int fake_device_count(void);
struct fake_device *fake_device_get(ww_CUdevice device); /* NULL: no such device */
int fake_device_find(const ww_CUuuid *uuid);             /* or FAKE_DEVICE_HIDDEN */
/* Whether a device reaches the memory of another one, which may be hidden. */
bool fake_device_reaches(int device, const ww_CUuuid *home);
bool fake_device_charge(int device, uint64_t bytes);
void fake_device_discharge(int device, uint64_t bytes);

/* ---- contexts (fake_context.c) ---- */

struct fake_stream;

struct fake_context {
	struct fake_context *next;
	int device;
	unsigned int flags;
	bool primary;
	bool destroyed; /* stays in the list for ever, so that its handle is known as a dead one */
	bool ending;    /* is being destroyed: whoever wants it again waits */
	uint32_t retains;
	uint32_t peers; /* devices with peer access, one bit each */
	ww_CUresult fault;
	struct fake_stream *streams;
};

extern struct fake_context *fake_contexts;

ww_CUresult fake_context_current(struct fake_context **out_context);
int fake_context_current_device(void); /* -1: no context */
uint64_t fake_thread_token(void);

/* ---- address space (fake_span.c) ---- */

struct fake_span {
	uint64_t address;
	uint64_t bytes;
};

/* Spans that do not overlap, sorted by address. The entries belong to whoever put them in. */
struct fake_span_table {
	struct fake_span **spans;
	size_t count;
	size_t room;
};

struct fake_span *fake_span_find(const struct fake_span_table *table, uint64_t address);
struct fake_span *fake_span_next(const struct fake_span_table *table, uint64_t address);
bool fake_span_insert(struct fake_span_table *table, struct fake_span *span);
void fake_span_remove(struct fake_span_table *table, const struct fake_span *span);
uint64_t fake_span_gap(const struct fake_span_table *table, const struct fake_span *within,
	uint64_t bytes, uint64_t alignment);

struct fake_place { /* an occupied piece of the arena */
	struct fake_span span;
	bool reservation;
};

bool fake_arena_open(void);
bool fake_arena_contains(uint64_t address);
struct fake_place *fake_arena_take(uint64_t bytes, uint64_t alignment, uint64_t hint);
struct fake_place *fake_arena_find(uint64_t address);
void fake_arena_give(struct fake_place *place);
uint64_t fake_arena_reservations(void);

/* ---- the memory itself (fake_physical.c) ---- */

enum fake_kind {
	FAKE_KIND_VMM = 1,
	FAKE_KIND_LEGACY = 2,
	FAKE_KIND_POOL = 3,
};

struct fake_physical {
	uint32_t refs;
	enum fake_kind kind;
	int fd;
	char *shadow;
	uint64_t bytes;
	ww_CUuuid uuid;
	int device; /* in this process, or FAKE_DEVICE_HIDDEN */
	bool imported;
	bool charged;
	int handle_types; /* what it can be exported as */
	uint64_t block_id;
	int maker_pid;
	uint64_t serial; /* with maker_pid and the device, unique */
	bool is_named;   /* imported: a legacy handle of it was made by then */
};

ww_CUresult fake_physical_create(enum fake_kind kind, int device, uint64_t bytes, int handle_types,
	struct fake_physical **out);
ww_CUresult fake_physical_import(enum fake_kind kind, int fd, struct fake_physical **out);
struct fake_physical *fake_physical_ref(struct fake_physical *physical);
void fake_physical_unref(struct fake_physical *physical);
ww_CUresult fake_physical_export(const struct fake_physical *physical, int *out_fd);
ww_CUresult fake_physical_name(const struct fake_physical *physical);
uint64_t fake_physical_count(void);

/* ---- which bytes are where (fake_range.c) ---- */

enum fake_range_kind {
	FAKE_RANGE_VMM,
	FAKE_RANGE_ALLOC,
	FAKE_RANGE_MANAGED,
	FAKE_RANGE_HOST,
	FAKE_RANGE_REGISTERED,
	FAKE_RANGE_IPC,
	FAKE_RANGE_POOL,
	FAKE_RANGE_KINDS
};

enum fake_need { /* the driver's own access bits */
	FAKE_NEED_READ = WW_CU_MEM_ACCESS_FLAGS_PROT_READ,
	FAKE_NEED_WRITE = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

enum fake_memory { /* what an address is, for a copy */
	FAKE_MEMORY_PLAIN,
	FAKE_MEMORY_PINNED,
	FAKE_MEMORY_DEVICE,
};

struct fake_handle;

struct fake_range {
	struct fake_span span;
	enum fake_range_kind kind;
	struct fake_physical *physical; /* NULL: the address is the CPU's own */
	uint64_t offset;
	struct fake_place *place; /* the arena's, if this range owns one */
	struct fake_context *context;
	struct fake_handle *handle;
	struct fake_pool *pool;
	int device;
	uint64_t id;
	uint32_t pins;
	uint32_t opens;
	bool read_only;
	bool free_pending; /* a stream will free it */
	bool is_closing;   /* an opening by handle, that the driver is about to unmap */
	bool freeing;      /* gone for everybody, except for the copy that still uses it */
	uint8_t access[FAKECUDA_DEVICES_MAX];
};

extern struct fake_span_table fake_ranges;

struct fake_range *fake_range_create(enum fake_range_kind kind, uint64_t address, uint64_t bytes);
void fake_range_destroy(struct fake_range *range); /* waits until no copy uses it */
struct fake_range *fake_range_find(uint64_t address);
struct fake_range *fake_range_find_base(uint64_t address);
int fake_range_access(const struct fake_range *range, int device);
void *fake_range_cpu(const struct fake_range *range, uint64_t address);
uint64_t fake_range_count(enum fake_range_kind kind);
ww_CUresult fake_range_check(uint64_t address, uint64_t bytes, int device, enum fake_need need,
	enum fake_memory *out_memory);

/* One contiguous run of CPU memory behind an address, kept in place until it is given back. */
struct fake_loan {
	void *cpu;
	uint64_t bytes;
	struct fake_range *range;
};

bool fake_range_lend(uint64_t address, uint64_t bytes, int device, enum fake_need need,
	struct fake_loan *out_loan);
void fake_range_give_back(struct fake_loan *loan);

/* ---- VMM (fake_vmm.c) ---- */

uint64_t fake_vmm_handle_count(void);

/* ---- plain and host allocations (fake_memory.c, fake_host.c) ---- */

void fake_memory_free_of(const struct fake_context *context);
void fake_memory_release(struct fake_range *range);
bool fake_host_is_mapped(uint64_t address, uint64_t bytes, bool writable);

/* ---- streams (fake_stream.c) ---- */

struct fake_capture;
struct fake_event;
struct fake_graph;

struct fake_op {
	struct fake_op *next;
	uint64_t sequence;
	/*
	 * With the lock held: may it run now? NULL: at once. What has one is a wait: it holds its
	 * hardware queue.
	 */
	bool (*ready)(struct fake_stream *stream, const struct fake_op *op);
	/* With the lock held; may drop it in between. */
	void (*run)(struct fake_stream *stream, struct fake_op *op);
	/* Always called once at the end, to free what it holds. NULL: nothing. */
	void (*drop)(struct fake_op *op);
	bool foreign;     /* ready can become true without a wake: look again and again */
	bool even_broken; /* run also when the context has failed */

	uint64_t to;
	uint64_t from;
	uint64_t bytes;
	uint64_t value;
	unsigned int width;
	unsigned int flags;
	void *staging;
	struct fake_event *event;
	struct fake_range *range;
	struct fake_graph *graph; /* that the operation was launched with */
	const void *node;         /* of a graph, that it is a copy of; NULL: of none */
	const struct fake_context *node_context;
	ww_CUhostFn function;
	void *user_data;
};

struct fake_stream {
	struct fake_stream *next;
	struct fake_context *context;
	unsigned int flags;
	unsigned int queue; /* the hardware's, shared with other streams of the context */
	bool legacy;
	uint64_t id;           /* no other stream of the process ever has it */
	uint64_t thread_token; /* of a per-thread default stream, else 0 */
	bool started;
	bool closing;
	bool abandoned; /* its context is gone: what is left in the queue is dropped */
	uint32_t users;
	struct fake_capture *capture; /* NULL: none */
	struct fake_op *head;
	struct fake_op **tail;
};

ww_CUresult fake_stream_find(ww_CUstream handle, struct fake_stream **out_stream);
/* The same during a capture that forbids the use of the stream. */
ww_CUresult fake_stream_look(ww_CUstream handle, struct fake_stream **out_stream);
struct fake_op *fake_op_new(void);
void fake_op_free(struct fake_op *op);
ww_CUresult fake_stream_push(struct fake_stream *stream, struct fake_op *op);
ww_CUresult fake_stream_finish(struct fake_stream *stream); /* waits for all pushed so far */
void fake_stream_break(struct fake_stream *stream, ww_CUresult fault);
void fake_stream_close(struct fake_stream *stream);
void fake_stream_abandon_all(struct fake_context *context);
void fake_stream_finish_context(const struct fake_context *context);
void fake_stream_finish_all(void);
bool fake_stream_is_idle(const struct fake_stream *stream);
uint64_t fake_stream_count(void);

/* ---- captures (fake_capture.c) ---- */

/* These refuse what a capture forbids, and invalidate the capture. */
ww_CUresult fake_capture_check(enum fake_function function);
ww_CUresult fake_capture_refuse(const struct fake_stream *stream);
ww_CUresult fake_capture_refuse_context(const struct fake_context *context);
ww_CUresult fake_capture_refuse_legacy(const struct fake_context *context);

ww_CUresult fake_capture_push(struct fake_capture *capture, struct fake_op *op);
void fake_capture_drop(const struct fake_stream *stream);

/* ---- graphs (fake_graph.c) ---- */

struct fake_graph *fake_graph_new(void);
void fake_graph_unref(struct fake_graph *graph);
/* @after: a node of the graph; NULL: it becomes the first */
void fake_graph_insert(struct fake_graph *graph, struct fake_op *op, struct fake_op *after);
bool fake_graph_has(const struct fake_graph *graph, const void *node);

/* ---- values in memory (fake_value.c) ---- */

ww_CUresult fake_value_check(int device, const ww_CUstreamBatchMemOpParams *operation);
/* NULL: out of memory. The operation was checked, and is no barrier. */
struct fake_op *fake_value_op(const ww_CUstreamBatchMemOpParams *operation);

/* ---- events (fake_event.c, fake_ipc_event.c) ---- */

struct fake_event_state {
	_Atomic uint64_t recorded;
	_Atomic uint64_t completed;
};

struct fake_event {
	struct fake_event *next;
	struct fake_context *context;
	unsigned int flags;
	uint32_t refs;
	struct fake_event_state own;
	struct fake_event_state *state; /* own, or in memory that processes share */
	int slot;                       /* in our own shared table, -1: none */
	void *foreign_table;            /* another process's table, NULL: none */
	struct timespec time;           /* of the record reached last */
	uint64_t joined;                /* the record that stands behind a whole context, 0: none */
	uint32_t joining;               /* streams that have not reached it */
};

struct fake_event *fake_event_find(ww_CUevent handle);
ww_CUresult fake_event_new(struct fake_context *context, unsigned int flags,
	struct fake_event **out_event);
void fake_event_destroy_of(const struct fake_context *context);
uint64_t fake_event_count(void);

ww_CUresult fake_ipc_event_share(struct fake_event *event);
void fake_ipc_event_unshare(struct fake_event *event);

/* ---- modules and their kernels (fake_module.c, fake_launch.c) ---- */

#define FAKE_PARAMETERS_MAX 64
#define FAKE_NAME_BYTES     256

struct fake_kernel { /* a function of the driver */
	struct fake_kernel *next;
	struct fake_context *context;
	ww_host_kernel function; /* what a launch calls; NULL: it does nothing */
	int shared_max;          /* bytes of a launch, 0: as at first */
	unsigned int parameter_count;
	unsigned int parameter_bytes[FAKE_PARAMETERS_MAX];
	char name[FAKE_NAME_BYTES];
};

struct fake_kernel *fake_kernel_find(const void *handle); /* NULL: no such function */
void fake_module_unload_of(const struct fake_context *context);
uint64_t fake_module_count(void);

/* ---- pools (fake_pool.c) ---- */

uint64_t fake_pool_count(void);
uint64_t fake_pool_default_count(void);
void fake_pool_release(struct fake_range *range);
void *fake_pool_handle(const struct fake_range *range);
int fake_pool_handle_types(const struct fake_range *range);

#endif
