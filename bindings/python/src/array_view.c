/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_view.c - views of an Array: indices, slices, other shapes, orders and types
 */
#include "array.h"

#include "memory.h"

static const struct ww_array *array_of(PyObject *self)
{
	return &((struct array_instance *)self)->array;
}

static PyObject *view_or_raise(PyObject *self, ww_status status, const struct ww_array *view)
{
	return status == WW_OK ? array_view(self, view) : error_raise(core_of(self), status);
}

/* --- indices --- */

/* A number of a slice: None and what exceeds 64 bits mean the end of the dimension. */
static bool slice_number(PyObject *slice, const char *name, int64_t *out_number)
{
	PyObject *value = PyObject_GetAttrString(slice, name), *index = NULL;
	int overflow = 0;

	*out_number = WW_SLICE_NONE;
	if (value && value != Py_None)
		index = PyNumber_Index(value);
	if (index) {
		*out_number = PyLong_AsLongLongAndOverflow(index, &overflow);
		if (overflow)
			*out_number = overflow > 0 ? INT64_MAX : INT64_MIN + 1;
		else if (*out_number == INT64_MIN)
			*out_number = INT64_MIN + 1;
	}
	Py_XDECREF(index);
	Py_XDECREF(value);
	return !PyErr_Occurred();
}

static bool apply_slice(struct core *core, struct ww_array *view, uint32_t dim, PyObject *slice)
{
	int64_t start, stop, step;
	ww_status status;

	if (!slice_number(slice, "start", &start) || !slice_number(slice, "stop", &stop) ||
		!slice_number(slice, "step", &step))
		return false;
	status = ww_array_slice(view, dim, start, stop, step, view);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

static bool apply_index(struct ww_array *view, uint32_t dim, PyObject *key)
{
	PyObject *number = PyNumber_Index(key);
	int64_t index;

	if (!number)
		return false;
	index = PyLong_AsLongLong(number);
	Py_DECREF(number);
	if ((index == -1 && PyErr_Occurred()) || index >= view->shape[dim] ||
		index < -view->shape[dim]) {
		PyErr_Clear();
		PyErr_Format(PyExc_IndexError,
			"index %S is out of bounds for dimension %u with size %lld", key,
			(unsigned)dim, (long long)view->shape[dim]);
		return false;
	}
	if (ww_array_index(view, dim, index, view) == WW_OK)
		return true;
	PyErr_SetString(PyExc_IndexError, ww_error_last()->message);
	return false;
}

/* A new dimension of one element. */
static bool apply_new(struct core *core, struct ww_array *view, uint32_t dim)
{
	if (view->ndim == WW_ARRAY_DIMS) {
		error_raise_text(core, WW_ERR_INVALID, "an array has at most %d dimensions",
			WW_ARRAY_DIMS);
		return false;
	}
	for (uint32_t i = view->ndim; i > dim; i--) {
		view->shape[i] = view->shape[i - 1];
		view->strides[i] = view->strides[i - 1];
	}
	view->shape[dim] = 1;
	view->strides[dim] = 0;
	view->ndim++;
	return true;
}

/* How many dimensions of the array a key uses; -1 with an exception. */
static Py_ssize_t key_dims(PyObject *keys, uint32_t ndim)
{
	Py_ssize_t used = 0, ellipses = 0;

	for (Py_ssize_t i = 0; i < PyTuple_Size(keys); i++) {
		PyObject *key = PyTuple_GetItem(keys, i);

		ellipses += key == Py_Ellipsis;
		used += key != Py_None && key != Py_Ellipsis;
	}
	if (ellipses > 1)
		PyErr_SetString(PyExc_IndexError, "an index has at most one ellipsis");
	else if (used > (Py_ssize_t)ndim)
		PyErr_Format(PyExc_IndexError, "%zd indices for an array of %u dimensions", used,
			(unsigned)ndim);
	else
		return used;
	return -1;
}

/* @dim: the dimension of the view that the key is for; moved to the next one */
static bool apply_key(struct core *core, struct ww_array *view, PyObject *key, Py_ssize_t skipped,
	uint32_t *dim)
{
	if (key == Py_Ellipsis) {
		*dim += (uint32_t)skipped;
		return true;
	}
	if (key == Py_None)
		return apply_new(core, view, (*dim)++);
	if (PySlice_Check(key))
		return apply_slice(core, view, (*dim)++, key);
	if (PyBool_Check(key) || !PyIndex_Check(key) ||
		(Py_TYPE(key) == core->types[CORE_ARRAY] && array_of(key)->ndim > 0)) {
		PyErr_Format(PyExc_IndexError,
			"an Array is indexed by integers, slices, None and ... only, which make views, not by "
			"%R",
			key);
		return false;
	}
	return apply_index(view, *dim, key);
}

PyObject *array_subscript(PyObject *self, PyObject *key)
{
	PyObject *keys = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
	struct ww_array view = *array_of(self);
	Py_ssize_t used = keys ? key_dims(keys, view.ndim) : -1;
	bool is_good = used >= 0;
	uint32_t dim = 0;

	for (Py_ssize_t i = 0; is_good && i < PyTuple_Size(keys); i++)
		is_good = apply_key(core_of(self), &view, PyTuple_GetItem(keys, i),
			(Py_ssize_t)array_of(self)->ndim - used, &dim);
	Py_XDECREF(keys);
	return is_good ? array_view(self, &view) : NULL;
}

/* --- shapes --- */

/* Numbers, or one sequence of them, as NumPy takes both. Return: how many; -1. */
static int read_numbers(PyObject *self, PyObject *arguments, const char *what, int64_t *numbers)
{
	if (PyTuple_Size(arguments) == 1)
		return convert_shape(core_of(self), PyTuple_GetItem(arguments, 0), what, numbers);
	return convert_shape(core_of(self), arguments, what, numbers);
}

PyObject *array_reshape(PyObject *self, PyObject *arguments)
{
	int64_t shape[WW_ARRAY_DIMS];
	int ndim = read_numbers(self, arguments, "shape", shape);
	struct ww_array view;

	if (ndim < 0)
		return NULL;
	return view_or_raise(self, ww_array_reshape(array_of(self), (uint32_t)ndim, shape, &view),
		&view);
}

/* Also the property T, for which @arguments is NULL. */
PyObject *array_transpose(PyObject *self, PyObject *arguments)
{
	uint32_t order[WW_ARRAY_DIMS];
	int64_t axes[WW_ARRAY_DIMS];
	struct ww_array view;
	int count;

	if (!arguments || PyTuple_Size(arguments) == 0)
		return view_or_raise(self, ww_array_permute(array_of(self), NULL, &view), &view);
	count = read_numbers(self, arguments, "axes", axes);
	if (count < 0)
		return NULL;
	if (count != (int)array_of(self)->ndim)
		return error_raise_text(core_of(self), WW_ERR_INVALID, "%d axes for %u dimensions",
			count, (unsigned)array_of(self)->ndim);
	for (int i = 0; i < count; i++) {
		int64_t axis = axes[i] < 0 ? axes[i] + count : axes[i];

		order[i] = axis < 0 || axis >= count ? UINT32_MAX : (uint32_t)axis;
	}
	return view_or_raise(self, ww_array_permute(array_of(self), order, &view), &view);
}

PyObject *array_broadcast_to(PyObject *self, PyObject *shape)
{
	int64_t numbers[WW_ARRAY_DIMS];
	int ndim = convert_shape(core_of(self), shape, "shape", numbers);
	struct ww_array view;

	if (ndim < 0)
		return NULL;
	return view_or_raise(self,
		ww_array_broadcast(array_of(self), (uint32_t)ndim, numbers, &view), &view);
}

PyObject *array_as_dtype(PyObject *self, PyObject *value)
{
	struct ww_dtype dtype;
	struct ww_array view;
	PyObject *made;

	if (!convert_dtype(core_of(self), value, &dtype))
		return NULL;
	made = view_or_raise(self, ww_array_reinterpret(array_of(self), &dtype, &view), &view);
	if (made)
		Py_CLEAR(((struct array_instance *)made)->numpy_type);
	return made;
}

/* --- the end of a view --- */

/* What streams do with the view so far counts as done with the memory. */
static bool end_by(PyObject *memory, PyObject *value)
{
	ww_stream *stream;

	if (value == Py_None)
		return true;
	stream = memory_stream(memory, value);
	if (!stream)
		return false;
	handle_return(&stream_class, stream);
	memory_mark_streamed(memory);
	return true;
}

static PyObject *view_end(PyObject *self, PyObject *value)
{
	struct array_instance *view = (struct array_instance *)self;
	PyObject *closed = memory_object(core_of(self), NULL);

	if (!closed || !end_by(view->memory, value)) {
		Py_XDECREF(closed);
		return NULL;
	}
	if (view->former) { /* another thread was faster */
		Py_DECREF(closed);
		Py_RETURN_NONE;
	}
	((struct memory_handle *)view->memory)->ended++;
	view->former = view->memory;
	view->memory = closed;
	Py_RETURN_NONE;
}

PyObject *array_close(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"stream", NULL};
	const struct array_instance *array = (struct array_instance *)self;
	const struct fast_call call = {values, count, names};
	PyObject *value = Py_None, **const out[] = {&value};

	if (!array->is_view || memory_is_unused(array->memory))
		return memory_close(array->memory, values, count, names);
	return convert_arguments("close", all, 1, &call, out) ? view_end(self, value) : NULL;
}
