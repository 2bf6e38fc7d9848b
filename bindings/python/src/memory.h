/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - warpway.Memory inside the extension
 *
 * A Memory that came by pickle is not mapped yet: it has a hold of the object in its broker, and
 * its token. The first use maps it. So a process that only passes objects on needs no device.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core.h"

struct memory_handle {
	struct handle base; /* object: a ww_memory; NULL: closed, or not mapped yet */
	ww_object *hold;    /* until the first use; NULL: there is a ww_memory, or it is closed */
	struct ww_token token; /* with a hold: what the first use maps */
	bool is_imported;      /* it came by a token, a name, a socket or a pickle */
};

/* memory.c */

/* A Memory that came from elsewhere. Takes over @memory, also on failure. */
PyObject *memory_object_imported(struct core *core, ww_memory *memory);
/* A Memory that is mapped by its first use. Takes over @hold, also on failure. */
PyObject *memory_object_held(struct core *core, ww_object *hold, const struct ww_token *token);
/* As handle_borrow(), and maps the memory if it is not mapped yet. */
ww_memory *memory_borrow(PyObject *self);
void memory_return(ww_memory *memory);
/* info->device may end when the memory is closed: where it is used, memory_device() says it. */
bool memory_info(PyObject *self, struct ww_memory_info *info);
/* The same, and a reference of its device; NULL with an exception. */
ww_device *memory_device(PyObject *self, struct ww_memory_info *info);
/* convert_stream() with the device of the memory. */
ww_stream *memory_stream(PyObject *self, PyObject *value);
/* Whether it is neither closed nor mapped. */
bool memory_is_held(PyObject *self);

/* memory_bytes.c: its bytes */
PyObject *memory_write(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_read(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_readinto(PyObject *self, PyObject *arguments, PyObject *keywords);
int memory_getbuffer(PyObject *self, Py_buffer *view, int flags);
void memory_releasebuffer(PyObject *self, Py_buffer *view);

/* memory_share.c: by tokens and sockets */
PyObject *memory_token(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_revoke(PyObject *self, PyObject *unused);
PyObject *memory_publish(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_send(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *memory_receive(PyObject *type, PyObject *arguments, PyObject *keywords);
PyObject *memory_reduce(PyObject *self, PyObject *unused);
/* A token of the memory; params.access 0: that of the Memory. false with an exception. */
bool memory_export(PyObject *self, ww_broker *broker, const struct ww_export_params *params,
	PyObject *cancel, struct ww_token *out_token);

/* The same for a pickle: an error says what to do if the Memory is closed. */
bool memory_export_pickle(PyObject *self, const struct ww_export_params *params,
	struct ww_token *out_token);

#endif
