/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - warpway.Memory inside the extension
 *
 * A Memory that came by pickle is not mapped yet: it has a hold of the object in its broker, and
 * its token. The first use maps it. So a process that only passes objects on needs no device. A
 * slice of a pool's chunk that is mapped here already is mapped at once.
 *
 * close() ends the use and the mapping. While a thread lives that may pickle the Memory later
 * (late.c), the hold goes on until the handle is freed: without a mapping; of a slice and of
 * wrapped memory, whose bytes are mapped with others', as a ww_memory.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core.h"

struct sent;

/* A hold without a mapping: of what came by a pickle, or is closed and may be pickled later. */
struct memory_hold {
	ww_object *object;
	struct ww_token token; /* what is mapped */
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint32_t access;
};

struct memory_handle {
	struct handle base;       /* object: a ww_memory; NULL: closed, or not mapped yet */
	struct memory_hold *hold; /* owned; or NULL */
	bool is_closed;           /* and has a hold, or late, until the handle is freed */
	ww_memory *late;          /* owned; or NULL */
	uint32_t forks;           /* memory_forks() when it was made */
	bool is_imported;         /* it came by a token, a name, a socket or a pickle */
	bool is_streamed; /* other libraries' streams may use it: see memory_mark_streamed() */
	PyObject *owner;  /* of the bytes, besides the ww_memory; a reference, or NULL */
	bool is_frame;    /* of a channel: see memory_set_frame() */
	bool is_ordered;  /* of a channel, and given back in the order of a stream */
	uint32_t ended;   /* so many references are those of views that have ended */
	/* buffer.c */
	uint32_t exporters; /* so many references are theirs */
	uint32_t askers;    /* of it, those that an Array keeps; and the Memory itself */
	ww_memory *asked;   /* a reference until the Memory is freed: NumPy may use it; or NULL */
	PyObject *name;     /* a str: it was got by this name, or put under it last; or NULL */
	bool is_lent; /* wrapped, and a token or name was given away: see memory_mark_lent() */
	const void *put_frame; /* of Python, and its line: where its name was put that it holds */
	int put_line;
	/*
	 * The argument keep of wrap(), for the garbage collector. The ww_memory has the reference.
	 * NULL: there is none, or others than this handle may have the ww_memory.
	 */
	PyObject *kept;
	struct memory_handle *next, **at; /* in the list of those that have one */
	/* memory_seal.c */
	struct memory_handle *next_made;
	struct memory_handle **at_made; /* NULL: this process has not made it */
	uint32_t writers;               /* writable buffers, and calls that write */
	bool is_exposed;                /* something that is not counted may write it */
	bool is_sealing;
};

/* memory.c */

/* A Memory that came from elsewhere. Takes over @memory, also on failure. */
PyObject *memory_object_imported(struct core *core, ww_memory *memory);
/* A Memory that is mapped by its first use. Takes over @hold, also on failure. */
PyObject *memory_object_held(struct core *core, ww_object *hold, const struct ww_token *token,
	const struct ww_token_info *info);
/* As handle_borrow(), and maps the memory if it is not mapped yet. */
ww_memory *memory_borrow(PyObject *self);
/* The same for a caller that returns it, and lets nothing else have it longer. */
ww_memory *memory_borrow_briefly(PyObject *self);
void memory_return(ww_memory *memory);
/* memory_borrow() for giving it to other processes, which is refused for a frame of a channel. */
ww_memory *memory_borrow_to_share(PyObject *self);
/*
 * It is the memory of a frame.
 * @stream:  the frame is given back in its order; NULL: as other memory. Borrowed
 */
void memory_set_frame(PyObject *self, const ww_stream *stream);
/* info->device may end when the memory is closed: where it is used, memory_device() says it. */
bool memory_info(PyObject *self, struct ww_memory_info *info);
/* The same, and a reference of its device; NULL with an exception. */
ww_device *memory_device(PyObject *self, struct ww_memory_info *info);
/* convert_stream() with the device of the memory. */
ww_stream *memory_stream(PyObject *self, PyObject *value);
/* Its method close(). */
PyObject *memory_close(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);
/* Whether one caller alone has it, besides views that have ended, and buffers. */
bool memory_is_unused(PyObject *self);
/*
 * An Array or an exporter drops its reference, which may be NULL. If only views that have ended and
 * buffers keep it, it is released. @has_ended: the Array is such a view
 */
void memory_leave(PyObject *self, bool has_ended);
/*
 * A hold without a mapping is added. Takes over @hold, also on failure.
 * Return: false with an exception.
 */
bool memory_set_hold(PyObject *self, ww_object *hold, const struct ww_token *token,
	const struct ww_token_info *info);
void memory_drop_hold(PyObject *self);
/* Maps what is held for one call; memory_return() ends it. NULL with an exception. */
ww_memory *memory_map_held(PyObject *self);
/* The same for what memory_is_held(), and also if it is closed meanwhile; it stays mapped else. */
ww_memory *memory_map_to_pickle(PyObject *self);
/* Whether it is neither closed nor mapped. */
bool memory_is_held(PyObject *self);

/*
 * Other libraries have its address, so that their streams may use it: it is released when the work
 * that the device has been given until then has run.
 */
void memory_mark_streamed(PyObject *self);

/*
 * A token or a name was given away. If the bytes are those of another library, they are kept after
 * the release until no other process uses them, by warpway._lent.
 */
void memory_mark_lent(PyObject *self);
/* It was got by this name, or put under it. */
void memory_set_name(PyObject *self, const char *name);
/* @owner: is kept until the handle releases its reference */
void memory_own(PyObject *self, PyObject *owner);

/* memory_release.c */

/* It grows with each fork() by which a child got the memories of its parent. */
uint32_t memory_forks(void);

/* It was put under a name that lasts as long as the memory is held. */
void memory_mark_put(PyObject *self);
/* It was closed: warns if its bytes stay, since buffers are used. */
void memory_warn_of_buffers(PyObject *self);
/* It is freed: warns if that is in the line of the put. */
void memory_warn_of_put(PyObject *self);

/* How it is released: a class for memory_release(). */
const struct handle_class *memory_releasing(PyObject *self);
/* Every release of a handle's reference. */
void memory_release(PyObject *self, const struct handle_class *class);
/*
 * close(). No exception may be pending. @class: how it is released
 * Return: false with an exception of a signal's handler; it has ended all the same
 */
bool memory_end(PyObject *self, const struct handle_class *class);
/* When the handle is freed: all that is left. */
void memory_end_all(PyObject *self);
/* @kept: the argument keep of wrap(), or NULL */
void memory_keep(PyObject *self, PyObject *kept);
/* From now on the collector sees nothing of what is kept; of all memories. */
void memory_unkeep(struct memory_handle *handle);
void memory_unkeep_all(void);
int memory_traverse(PyObject *self, visitproc visit, void *arg);
int memory_clear(PyObject *self);

/* memory_seal.c */

/* This process has just made the memory, and no other handle has it. */
void memory_mark_made(PyObject *self);
void memory_unmark_made(struct memory_handle *handle);
/* There is another handle of the memory. It may be NULL. */
void memory_expose_twin(ww_memory *memory);
/* An address for writing is about to be given away. Return: false with an exception. */
bool memory_expose(PyObject *self);
/* A call begins to write, or a writable buffer, and ends. Return: false with an exception. */
bool memory_begin_write(PyObject *self);
bool memory_begin_buffer(PyObject *self, int flags);
void memory_end_write(PyObject *self);
/* wait_run() with a call that may seal the memory. @state: of the call, and in it; 0: sealed */
ww_status memory_seal(PyObject *self, uint32_t *state, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel);

/* memory_bytes.c: copies of its bytes */
PyObject *memory_write(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_read(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_readinto(PyObject *self, PyObject *arguments, PyObject *keywords);

/* array_exchange.c: its bytes as a tensor of DLPack */
PyObject *memory_dlpack(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);
PyObject *memory_dlpack_device(PyObject *self, PyObject *unused);

/* buffer.c: its bytes in place */
int memory_getbuffer(PyObject *self, Py_buffer *view, int flags);
/* Whether the consumer of a buffer may keep the object that it asks, and release the buffer. */
bool buffer_may_keep_asked(int flags);
/*
 * Of the types that are asked, and never called. np.frombuffer() keeps a memoryview of such a type,
 * and of another one the object itself.
 */
void buffer_release(PyObject *self, Py_buffer *view);

/* memory_share.c: by tokens and sockets */
PyObject *memory_token(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_revoke(PyObject *self, PyObject *unused);
PyObject *memory_publish(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_send(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_receive(PyObject *type, PyObject *arguments, PyObject *keywords);
PyObject *memory_reduce(PyObject *self, PyObject *unused);
/*
 * A token of the memory; params.access 0: that of the Memory.
 * @out_sent:  what a pickle of the token says of itself
 * Return: false with an exception.
 */
bool memory_export(PyObject *self, ww_broker *broker, const struct ww_export_params *params,
	PyObject *cancel, struct ww_token *out_token, struct sent *out_sent);

/*
 * Has it held without a mapping, by its broker, if that can be done.
 * Return: false with an exception of a signal's handler
 */
bool memory_try_hold(PyObject *self);

/* A token of what is not mapped (memory_is_held()), which is valid as long as others hold it. */
bool memory_export_held(PyObject *self, struct ww_token *out_token);

/* The same as memory_export() for a pickle: an error says what to do if the Memory is closed. */
bool memory_export_pickle(PyObject *self, const struct ww_export_params *params,
	struct ww_token *out_token, struct sent *out_sent);

#endif
