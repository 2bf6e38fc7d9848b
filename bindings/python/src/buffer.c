/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - the buffer protocol: the bytes of an Array or a Memory, in place
 *
 * Some consumers release a buffer at once, and use its bytes as long as they keep an object:
 *
 *   - torch.frombuffer(x) and np.ndarray(..., buffer=memoryview(x)) keep the object that exports.
 *     That is one of this file's type, of each buffer its own. Until it is freed it has a
 *     reference of the memory, and counts as a writer (memory_seal.c).
 *   - np.ndarray(..., buffer=x) keeps x itself. So x keeps the bytes, too, until it is freed.
 *     NumPy is known by its flags. A Frame refuses it, since loops keep a Frame in a variable
 *     while they wait for the next one.
 *
 * So close() never gives bytes to others that a consumer of a buffer still uses.
 */
#include "array.h"

#include "memory.h"

struct exporter {
	PyObject_HEAD
	PyObject *memory; /* a reference of the Memory */
	PyObject *owner;  /* its owner, who may give the bytes to others; a reference, or NULL */
	ww_memory *bytes; /* a reference */
	char *start;      /* of the memory, for the CPU */
	bool is_read_only;
	bool is_asked; /* an Array that NumPy may keep has this one */
	struct ww_array array;
};

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "a buffer has the shape of a ww_array");

/* NULL: the buffer protocol has no name for the type. */
static char *buffer_format(const struct ww_dtype *dtype)
{
	static const struct {
		uint8_t code, bits;
		char format[3];
	} formats[] = {{WW_DTYPE_INT, 8, "b"}, {WW_DTYPE_INT, 16, "h"}, {WW_DTYPE_INT, 32, "i"},
		{WW_DTYPE_INT, 64, "l"}, {WW_DTYPE_UINT, 8, "B"}, {WW_DTYPE_UINT, 16, "H"},
		{WW_DTYPE_UINT, 32, "I"}, {WW_DTYPE_UINT, 64, "L"}, {WW_DTYPE_FLOAT, 16, "e"},
		{WW_DTYPE_FLOAT, 32, "f"}, {WW_DTYPE_FLOAT, 64, "d"}, {WW_DTYPE_COMPLEX, 64, "Zf"},
		{WW_DTYPE_COMPLEX, 128, "Zd"}, {WW_DTYPE_BOOL, 8, "?"}};

	for (size_t i = 0; dtype->lanes == 1 && i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].code == dtype->code && formats[i].bits == dtype->bits)
			return (char *)(uintptr_t)formats[i].format;
	}
	return NULL;
}

static bool asks(int flags, int wanted)
{
	return (flags & wanted) == wanted;
}

bool buffer_may_keep_asked(int flags)
{
	return (flags & ~PyBUF_WRITABLE) == PyBUF_ANY_CONTIGUOUS;
}

/* NumPy asks for writable bytes first; others, such as PyArrow, ask like its second request. */
static bool keeps_asked(const struct exporter *exporter, int flags)
{
	return buffer_may_keep_asked(flags) &&
		(exporter->is_read_only || asks(flags, PyBUF_WRITABLE));
}

/* --- one that exports --- */

static int exporter_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct exporter *)self)->memory);
	Py_VISIT(((struct exporter *)self)->owner);
	return 0;
}

static void exporter_dealloc(PyObject *self)
{
	struct exporter *exporter = (struct exporter *)self;
	struct memory_handle *memory = (struct memory_handle *)exporter->memory;

	PyObject_GC_UnTrack(self);
	if (memory) {
		memory_return(exporter->bytes);
		if (!exporter->is_read_only)
			memory_end_write(exporter->memory);
		memory->askers -= exporter->is_asked;
		memory->exporters--;
		memory_leave(exporter->memory, false);
	}
	Py_XDECREF(exporter->owner);
	instance_free(self);
}

/* What the consumer cannot do with the array; NULL: it can use it. */
static const char *find_obstacle(const struct exporter *exporter, int flags)
{
	bool is_c = ww_array_is_contiguous(&exporter->array);
	bool is_fortran = ww_array_is_fortran(&exporter->array);

	if (asks(flags, PyBUF_WRITABLE) && exporter->is_read_only)
		return "the array is mapped for reading only";
	if (asks(flags, PyBUF_F_CONTIGUOUS) && !is_fortran)
		return "the array is not contiguous in Fortran's order";
	if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !is_c && !is_fortran)
		return "the array is not contiguous";
	if ((asks(flags, PyBUF_C_CONTIGUOUS) || !asks(flags, PyBUF_STRIDES)) && !is_c)
		return "the array is not contiguous in C's order";
	return NULL;
}

static int exporter_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct exporter *exporter = (struct exporter *)self;
	const char *obstacle = find_obstacle(exporter, flags);
	struct ww_array *array = &exporter->array;
	Py_ssize_t count = 1;

	view->obj = NULL;
	if (obstacle) {
		PyErr_SetString(PyExc_BufferError, obstacle);
		return -1;
	}
	for (uint32_t i = 0; i < array->ndim; i++)
		count *= (Py_ssize_t)array->shape[i];
	view->obj = Py_NewRef(self);
	view->buf = exporter->start + array->offset;
	view->itemsize = array->dtype.bits / 8;
	view->len = count * view->itemsize;
	view->readonly = exporter->is_read_only;
	view->ndim = (int)array->ndim;
	view->format = asks(flags, PyBUF_FORMAT) ? buffer_format(&array->dtype) : NULL;
	view->shape = asks(flags, PyBUF_ND) ? (Py_ssize_t *)array->shape : NULL;
	view->strides = asks(flags, PyBUF_STRIDES) ? (Py_ssize_t *)array->strides : NULL;
	view->suboffsets = NULL;
	view->internal = NULL;
	return 0;
}

PyTypeObject *exporter_type_make(PyObject *module)
{
	static PyType_Slot slots[] = {
		{Py_tp_doc, DOC("What exports the buffer of an Array or Memory.")},
		{Py_tp_dealloc, exporter_dealloc},
		{Py_tp_traverse, exporter_traverse},
		{Py_bf_getbuffer, exporter_getbuffer},
		{0, NULL},
	};
	static PyType_Spec spec = {
		.name = "warpway._Exporter",
		.basicsize = sizeof(struct exporter),
		.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
		.slots = slots,
	};

	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* --- ... of a Memory --- */

static const char *find_memory_obstacle(const struct ww_array *array,
	const struct ww_memory_info *info)
{
	if (!info->host_pointer)
		return "the CPU cannot reach this memory of a GPU; use DLPack, or read(), write(), copy_to() "
		       "and copy_from()";
	if (!buffer_format(&array->dtype))
		return "the buffer protocol has no name for this type of elements; use numpy.asarray() with "
		       "ml_dtypes, or view() it as another type";
	return NULL;
}

/* Takes over @bytes; a writer has begun if it is not read-only. */
static PyObject *exporter_new(PyObject *memory, ww_memory *bytes, const struct ww_array *array,
	const struct ww_memory_info *info)
{
	struct exporter *made = (struct exporter *)
		PyType_GenericAlloc(core_of(memory)->types[CORE_EXPORTER], 0);

	if (!made)
		return NULL;
	made->memory = Py_NewRef(memory);
	made->owner = Py_XNewRef(((struct memory_handle *)memory)->owner);
	made->bytes = bytes;
	made->start = info->host_pointer;
	made->is_read_only = info->access == WW_ACCESS_READ;
	made->array = *array;
	((struct memory_handle *)memory)->exporters++;
	return (PyObject *)made;
}

/* The exporter is a writer from the beginning: no thread makes the memory read-only meanwhile. */
static PyObject *exporter_make(PyObject *memory, const struct ww_array *array,
	const struct ww_memory_info *info, int flags)
{
	const char *obstacle = find_memory_obstacle(array, info);
	bool is_writer = info->access != WW_ACCESS_READ;
	PyObject *made = NULL;
	ww_memory *bytes;

	if (obstacle) {
		PyErr_SetString(PyExc_BufferError, obstacle);
		return NULL;
	}
	bytes = memory_borrow(memory);
	if (bytes && (!is_writer || memory_begin_buffer(memory, flags))) {
		made = exporter_new(memory, bytes, array, info);
		if (!made && is_writer)
			memory_end_write(memory);
	}
	if (!made)
		memory_return(bytes);
	return made;
}

void buffer_release(PyObject *self, Py_buffer *view)
{
	(void)self;
	(void)view;
}

/* --- the buffer of an Array --- */

int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct array_instance *array = (struct array_instance *)self;
	PyObject *exporter;
	struct ww_memory_info info;
	ww_status status;
	int result = -1;

	view->obj = NULL;
	if (!array_check_plain(self, "BufferError") || !memory_info(array->memory, &info))
		return -1;
	exporter = exporter_make(array->memory, &array->array, &info, flags);
	if (!exporter)
		return -1;
	status = array_wait_ready(self, NULL, WW_FOREVER, NULL);
	if (status == WW_OK)
		result = PyObject_GetBuffer(exporter, view, flags);
	else
		error_raise(core_of(self), status);
	if (result == 0 && keeps_asked((struct exporter *)exporter, flags) && !array->asked) {
		struct exporter *asked = (struct exporter *)exporter;

		asked->is_asked = true;
		((struct memory_handle *)asked->memory)->askers++;
		array->asked = Py_NewRef(exporter);
	}
	Py_DECREF(exporter);
	return result;
}

/* --- the buffer of a Memory: its bytes --- */

int memory_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	const struct ww_dtype byte = {WW_DTYPE_UINT, 8, 1};
	struct ww_memory_info info;
	struct ww_array array;
	PyObject *exporter;
	int64_t length;
	int result;

	view->obj = NULL;
	if (!memory_info(self, &info))
		return -1;
	length = (int64_t)info.bytes;
	ww_array_set(&array, &byte, 1, &length, NULL, 0);
	exporter = exporter_make(self, &array, &info, flags);
	if (!exporter)
		return -1;
	result = PyObject_GetBuffer(exporter, view, flags);
	if (result == 0 && keeps_asked((struct exporter *)exporter, flags) && !handle->asked) {
		/* Not the exporter, which keeps the Memory. */
		handle->asked = ww_memory_ref(((struct exporter *)exporter)->bytes);
		handle->askers++;
	}
	Py_DECREF(exporter);
	return result;
}
