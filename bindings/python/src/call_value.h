/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_value.h - signatures, and the arguments and results of calls as Python objects
 *
 * A ww_value has pointers only. What they point to is in struct call_values beside it, with a
 * reference, until call_values_fini().
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

/* Return: NULL with an exception. */
struct call_form *call_form_read(struct core *core, const char *signature);
struct call_form *call_form_ref(struct call_form *form);
struct call_form *call_form_unref(struct call_form *form);

struct call_values {
	uint32_t count;
	PyObject *held; /* a list of Memories whose holds the tokens need; or NULL */
	struct ww_value values[WW_CALL_ARGS_MAX];
	struct {
		PyObject *object;      /* what the value was made of; or NULL */
		PyObject *bytes;       /* of an argument of bytes, of a token; or NULL */
		ww_memory *memory;     /* a reference, or NULL */
		ww_timeline *timeline; /* the same */
	} kept[WW_CALL_ARGS_MAX];
};

#define CALL_VALUES_INIT(values) ((values)->count = 0, (values)->held = NULL)

/*
 * Adds the value that a Python object stands for.
 * @what:    "argument" or "result", for messages
 * @cancel:  ends the wait until an array is ready; may be NULL
 * Return: false with an exception.
 */
bool call_values_add(struct core *core, struct call_values *values, const struct call_item *item,
	PyObject *object, const char *what, PyObject *cancel);
void call_values_fini(struct call_values *values);

/*
 * The Python object of a value. A memory becomes an Array that has a reference of it; a token one
 * that is mapped by its first use.
 */
PyObject *call_value_object(struct core *core, const struct ww_value *value);

#endif
