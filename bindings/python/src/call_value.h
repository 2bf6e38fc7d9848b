/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_value.h - signatures of calls; and what call_value.pxi has for files in C
 */
#ifndef CORE_CALL_VALUE_H
#define CORE_CALL_VALUE_H

#include "core.h"

/* A parameter or a result of a signature. */
struct call_item {
	uint32_t kind; /* WW_ARGUMENT_... */
	struct ww_dtype dtype;
	uint32_t access;
	uint32_t flags; /* WW_PARAMETER_... */
	uint32_t bytes_max;
	uint64_t scalar; /* the default */
	PyObject *name;  /* a str, interned */
	PyObject *type;  /* a str: "f32[n]" */
};

/* A signature. */
struct call_form {
	int refs; /* under the GIL */
	uint32_t parameter_count;
	uint32_t result_count;
	PyObject *text;           /* a str: canonical */
	struct call_item items[]; /* the parameters, then the results */
};

struct call_form *call_form_ref(struct call_form *form);
struct call_form *call_form_unref(struct call_form *form);

PyObject *call_value_object(struct core *core, const struct ww_value *value);

#endif
