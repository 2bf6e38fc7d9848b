/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_info.c - what services tell about themselves and their functions, as named tuples
 */
#include "client.h"
#include "service.h"

PyObject *service_info_object(struct core *core, const struct ww_service_info *info)
{
	static const char *const states[] = {"", "starting", "ready", "draining", "stopped",
		"lost"};
	PyObject *const values[] = {
		info_word(info->state, states, 6),
		PyLong_FromUnsignedLong(info->functions),
		PyLong_FromUnsignedLong(info->clients),
		PyLong_FromUnsignedLong(info->clients_max),
		PyLong_FromUnsignedLong(info->calls_max),
		PyLong_FromUnsignedLong(info->arguments_bytes),
		PyLong_FromUnsignedLong(info->results_bytes),
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->uid),
		PyLong_FromUnsignedLongLong(info->calls),
		info_seconds(info->age_ns),
		info_text(info->version),
		info_text(info->program),
		INFO_END,
	};

	return info_object(core, CORE_SERVICE_INFO, values);
}

static PyObject *latencies(const struct ww_function_info *info)
{
	int64_t counts[WW_SERVICE_LATENCIES];

	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++)
		counts[i] = (int64_t)info->latency[i];
	return info_numbers(counts, WW_SERVICE_LATENCIES);
}

static PyObject *function_info_object(struct core *core, const struct ww_function_info *info)
{
	PyObject *const values[] = {
		info_text(info->name),
		info_text(info->signature),
		PyLong_FromUnsignedLongLong(info->calls),
		PyLong_FromUnsignedLongLong(info->failed),
		PyLong_FromUnsignedLongLong(info->not_started),
		info_seconds(info->run_ns),
		PyBool_FromLong((info->flags & WW_FUNCTION_IDEMPOTENT) != 0),
		PyBool_FromLong((info->flags & WW_FUNCTION_ENQUEUES) != 0),
		latencies(info),
		PyLong_FromUnsignedLongLong(info->batches),
		PyLong_FromUnsignedLong(info->batch_calls_max),
		INFO_END,
	};

	return info_object(core, CORE_FUNCTION_INFO, values);
}

static bool append(PyObject *list, PyObject *item)
{
	bool done = item && PyList_Append(list, item) == 0;

	Py_XDECREF(item);
	return done;
}

PyObject *function_infos(struct core *core, function_info_fn get, void *context)
{
	PyObject *list = PyList_New(0);

	for (uint32_t i = 0; list; i++) {
		struct ww_function_info info = WW_INIT(struct ww_function_info);
		ww_status status = get(context, i, &info);

		if (status == WW_END)
			return list;
		if (status != WW_OK)
			client_fail(core, status);
		if (status != WW_OK || !append(list, function_info_object(core, &info)))
			Py_CLEAR(list);
	}
	return NULL;
}
