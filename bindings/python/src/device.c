/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - warpway.Device: a GPU, or the CPU as a device
 */
#include "core.h"

#define DEVICES_KEPT 64

static void *device_ref(void *object)
{
	return ww_device_ref(object);
}

static void *device_unref(void *object)
{
	return ww_device_unref(object);
}

const struct handle_class device_class = {"Device", device_ref, device_unref};

/* Under the GIL. */
void device_keep(ww_device *device)
{
	static ww_device *kept[DEVICES_KEPT]; /* a reference of each, for ever */
	size_t i = 0;

	while (i < DEVICES_KEPT && kept[i] && kept[i] != device)
		i++;
	if (i < DEVICES_KEPT && !kept[i])
		kept[i] = ww_device_ref(device);
}

PyObject *device_object(struct core *core, ww_device *device)
{
	return handle_new(core->types[CORE_DEVICE], &device_class, device);
}

static PyObject *device_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"device", NULL};
	struct core *core = core_of_type(type);
	PyObject *which = Py_None;
	ww_device *device;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Device", names, &which))
		return NULL;
	device = convert_device(core, which);
	return device ? device_object(core, device) : NULL;
}

static void device_dealloc(PyObject *self)
{
	handle_dealloc(self, &device_class);
}

static ww_device *device_of(PyObject *self)
{
	return ((struct handle *)self)->object;
}

static bool info_get(PyObject *self, struct ww_device_info *info)
{
	ww_status status;

	*info = WW_INIT(struct ww_device_info);
	status = ww_device_info_get(device_of(self), info);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

static PyObject *get_text(PyObject *self, void *field)
{
	struct ww_device_info info;

	return info_get(self, &info) ? PyUnicode_FromString((char *)&info + (size_t)field) : NULL;
}

static PyObject *get_number(PyObject *self, void *field)
{
	struct ww_device_info info;

	return info_get(self, &info) ? info_u64(&info, field) : NULL;
}

static PyObject *get_backend(PyObject *self, void *unused)
{
	struct ww_device_info info;

	(void)unused;
	if (!info_get(self, &info))
		return NULL;
	return PyUnicode_FromString(info.backend == WW_BACKEND_CUDA ? "cuda" : "host");
}

static PyObject *get_index(PyObject *self, void *unused)
{
	struct ww_device_info info;

	(void)unused;
	return info_get(self, &info) ? PyLong_FromUnsignedLong(info.index) : NULL;
}

static PyObject *get_mps(PyObject *self, void *unused)
{
	static const char *const words[] = {"unknown", "off", "on"};
	struct ww_device_info info;

	(void)unused;
	if (!info_get(self, &info))
		return NULL;
	return PyUnicode_FromString(info.mps <= WW_MPS_ON ? words[info.mps] : "unknown");
}

static PyObject *get_uuid(PyObject *self, void *unused)
{
	struct ww_device_info info;
	char text[48];
	int length;

	(void)unused;
	if (!info_get(self, &info))
		return NULL;
	length = snprintf(text, sizeof(text), "%s", info.backend == WW_BACKEND_CUDA ? "GPU-" : "");
	for (int i = 0; i < WW_DEVICE_UUID_BYTES; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.uuid[i]);
	return PyUnicode_FromString(text);
}

static PyObject *get_capabilities(PyObject *self, void *unused)
{
	static const char *const words[] = {"export", "host_memory", "host_read_only", "cpu_access",
		"stream_wrap", "many_processes", "stream_value", "event", "event_imported",
		"foreign", NULL /* the package loads no modules */, "graph"};
	struct ww_device_info info;
	PyObject *set;

	(void)unused;
	set = info_get(self, &info) ? PySet_New(NULL) : NULL;
	for (size_t i = 0; set && i < sizeof(words) / sizeof(words[0]); i++) {
		PyObject *word;

		if (!words[i] || !(info.capabilities & UINT64_C(1) << i))
			continue;
		word = PyUnicode_FromString(words[i]);
		if (!word || PySet_Add(set, word) < 0)
			Py_CLEAR(set);
		Py_XDECREF(word);
	}
	return set;
}

struct free_bytes_call {
	ww_device *device;
	uint64_t bytes;
};

static ww_status run_free_bytes(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct free_bytes_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_device_free_bytes(args->device, &args->bytes);
}

static PyObject *get_free_bytes(PyObject *self, void *unused)
{
	struct free_bytes_call call = {.device = device_of(self)};
	struct core *core = core_of(self);
	ww_status status = wait_run(core, run_free_bytes, &call, 0, NULL);

	(void)unused;
	if (status != WW_OK)
		return error_raise(core, status);
	return PyLong_FromUnsignedLongLong(call.bytes);
}

static PyObject *device_count(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static const char *const words[] = {"host", "cuda", NULL};
	static char *names[] = {"backend", NULL};
	PyObject *backend = NULL;
	uint32_t count;
	ww_status status;
	int which = WW_BACKEND_CUDA;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:count", names, &backend))
		return NULL;
	if (backend)
		which = convert_word(backend, "backend", words, WW_BACKEND_HOST);
	if (which < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_device_count((uint32_t)which, &count);
	Py_END_ALLOW_THREADS
	if (status == WW_ERR_NO_DEVICE)
		count = 0;
	else if (status != WW_OK)
		return error_raise(core_of_type((PyTypeObject *)type), status);
	return PyLong_FromUnsignedLong(count);
}

static PyObject *device_repr(PyObject *self)
{
	struct ww_device_info info;

	if (!info_get(self, &info))
		return NULL;
	return PyUnicode_FromFormat("<warpway.Device %s %s>", info.selector, info.name);
}

/* The same device opened twice is one object of the library. */
static PyObject *device_compare(PyObject *self, PyObject *other, int op)
{
	bool same;

	if (Py_TYPE(other) != Py_TYPE(self) || (op != Py_EQ && op != Py_NE))
		Py_RETURN_NOTIMPLEMENTED;
	same = device_of(self) == device_of(other);
	return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t device_hash(PyObject *self)
{
	return (Py_hash_t)((uintptr_t)device_of(self) >> 4);
}

static PyMethodDef methods[] = {
	{"count", KEYWORDS(device_count), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"count($type, /, backend='cuda')\n--\n\n"
		"How many devices of a backend ('cuda' or 'host') this process sees.\n\n"
		"0 where there is no driver."},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_device_info, name))

static PyGetSetDef properties[] = {
	{"name", get_text, NULL, "str: the product's name, such as 'NVIDIA H200'.", FIELD(name)},
	{"selector", get_text, NULL,
		"str: what opens this device in this process: 'cuda:0', 'host'.", FIELD(selector)},
	{"driver", get_text, NULL, "str: version of the driver; of the kernel on the host device.",
		FIELD(driver)},
	{"backend", get_backend, NULL, "str: 'cuda' or 'host'.", NULL},
	{"index", get_index, NULL, "int: the N of 'cuda:N'; 0 on the host device.", NULL},
	{"uuid", get_uuid, NULL,
		"str: the same in every process; of a GPU as nvidia-smi prints it.", NULL},
	{"mps", get_mps, NULL,
		"str: 'on', 'off' or 'unknown': whether CUDA's multi-process service is used.",
		NULL},
	{"capabilities", get_capabilities, NULL,
		"set of str: such as 'export' and 'stream_value'; see warpway/device.h.", NULL},
	{"granularity", get_number, NULL, "int: bytes; sizes of device memory are multiples of it.",
		FIELD(granularity)},
	{"total_bytes", get_number, NULL, "int: bytes of device memory in all.",
		FIELD(bytes_total)},
	{"free_bytes", get_free_bytes, NULL,
		"int: bytes of device memory that are free now. On a GPU this makes a CUDA context.",
		NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Device(device=None)\n--\n\n"
		    "A GPU, or the CPU as a device.\n\n"
		    "Parameters\n----------\n"
		    "device : None, int, str, Device or a device of another library\n"
		    "    The index of a GPU; 'host' or 'cpu'; 'cuda:0'; the UUID of a GPU as nvidia-smi -L prints it;\n"
		    "    a device of torch, CuPy, Numba or cuda.core. None: the first GPU that can be used,\n"
		    "    else the host device. Indices count as CUDA_VISIBLE_DEVICES says.\n\n"
		    "Opening a device makes no CUDA context.\n\n"
		    "Raises\n------\n"
		    "NoDevice\n    There is no such device, or no working driver.")},
	{Py_tp_new, device_new},
	{Py_tp_dealloc, device_dealloc},
	{Py_tp_repr, device_repr},
	{Py_tp_richcompare, device_compare},
	{Py_tp_hash, device_hash},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Device",
	.basicsize = sizeof(struct handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *device_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
