/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_seal.c - whether the mapping of a Memory becomes read-only when the Memory is sealed
 *
 * From then on, a store to the mapping ends the process, or the GPU's context. So the library is
 * asked for it only while nothing can store: no writable buffer is out, no call writes, and no
 * address was given away that can be used as long as the memory lives. A second Memory of the same
 * bytes counts as such an address. It is asked for only of what this process has made.
 *
 * All is under the GIL. The library works without it: is_sealing tells other threads.
 */
#include "memory.h"

static struct memory_handle *all_made; /* that are open */

void memory_mark_made(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	handle->next_made = all_made;
	handle->at_made = &all_made;
	if (all_made)
		all_made->at_made = &handle->next_made;
	all_made = handle;
}

void memory_unmark_made(struct memory_handle *handle)
{
	if (!handle->at_made)
		return;
	*handle->at_made = handle->next_made;
	if (handle->next_made)
		handle->next_made->at_made = handle->at_made;
	handle->at_made = NULL;
}

void memory_expose_twin(ww_memory *memory)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct ww_memory_info other = WW_INIT(struct ww_memory_info);

	if (!all_made || !memory || ww_memory_info_get(memory, &info) != WW_OK ||
		info.access == WW_ACCESS_READ || info.flags & WW_MEMORY_IS_SLICE)
		return;
	for (struct memory_handle *made = all_made; made; made = made->next_made) {
		if (ww_memory_info_get(made->base.object, &other) == WW_OK &&
			!memcmp(other.object_id, info.object_id, sizeof(info.object_id)))
			made->is_exposed = true;
	}
}

/* Return: false with an exception: another thread seals it. */
static bool check_not_sealing(PyObject *self)
{
	if (!((struct memory_handle *)self)->is_sealing)
		return true;
	error_raise_text(core_of(self), WW_ERR_STATE, "another thread is sealing this memory");
	return false;
}

bool memory_expose(PyObject *self)
{
	((struct memory_handle *)self)->is_exposed = true;
	return check_not_sealing(self);
}

bool memory_begin_write(PyObject *self)
{
	if (!check_not_sealing(self))
		return false;
	((struct memory_handle *)self)->writers++;
	return true;
}

/* torch.frombuffer() asks for a writable buffer, releases it, and keeps the address. */
bool memory_begin_buffer(PyObject *self, int flags)
{
	if (flags & PyBUF_WRITABLE)
		((struct memory_handle *)self)->is_exposed = true;
	return memory_begin_write(self);
}

void memory_end_write(PyObject *self)
{
	((struct memory_handle *)self)->writers--;
}

ww_status memory_seal(PyObject *self, uint32_t *state, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	bool asks = (*state == 0 || *state == WW_STATE_SEALED) && handle->at_made &&
		!handle->is_exposed && handle->writers == 0 && !handle->is_sealing;
	ww_status status;

	if (asks)
		*state = WW_STATE_SEALED | WW_STATE_READ_ONLY;
	handle->is_sealing |= asks;
	status = wait_run(core_of(self), fn, call, timeout_ns, cancel);
	if (asks && status == WW_ERR_UNSUPPORTED) { /* by this device, of this kind of memory */
		*state = WW_STATE_SEALED;
		status = wait_run(core_of(self), fn, call, timeout_ns, cancel);
	}
	if (asks)
		handle->is_sealing = false;
	return status;
}
