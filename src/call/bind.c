/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind.c - compares arguments with parameters, see signature.h
 *
 * The first argument that does not fit ends the call, with a sentence that has both sides: what it
 * is, and what it must be.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "call/scalar.h"
#include "call/signature.h"

#define TYPE_BYTES 64 /* of a type in a message; a longer one is cut */
#define UNKNOWN    (-1)

/* Which argument or result is looked at, and what it is compared with. */
struct place {
	const struct ww_signature *signature;
	struct ww_signature_binding *binding;
	const struct ww_parameter *parameter;
	const struct ww_call_arg *arg;
	const char *what; /* "argument" or "result" */
	uint32_t number;  /* from 1 on */
};

/* --- messages --- */

static void array_text(const struct ww_array *array, char out_text[TYPE_BYTES])
{
	char name[WW_DTYPE_NAME_BYTES];
	size_t used;

	ww_dtype_short_name(array->dtype, name);
	used = (size_t)snprintf(out_text, TYPE_BYTES, "%s[", name);
	for (uint32_t i = 0; i < array->ndim && used < TYPE_BYTES; i++)
		used += (size_t)snprintf(out_text + used, TYPE_BYTES - used, "%s%" PRId64,
			i ? ", " : "", array->shape[i]);
	if (used < TYPE_BYTES)
		snprintf(out_text + used, TYPE_BYTES - used, "]");
}

/*
 * @is, @must: more about what it is and what it must be, NULL or as " in C order"
 */
static ww_status refuse(const struct place *place, const char *is, const char *must)
{
	char found[TYPE_BYTES];
	char wanted[TYPE_BYTES];
	const struct ww_call_arg *arg = place->arg;
	char name[WW_DTYPE_NAME_BYTES];

	/* The message says what the argument is, in the words of signatures. */
	switch (arg->kind) {
	case WW_ARGUMENT_SCALAR:
		ww_dtype_short_name(arg->dtype, name);
		snprintf(found, TYPE_BYTES, "%s", name[0] ? name : "a scalar without dtype");
		break;
	case WW_ARGUMENT_BYTES:
		snprintf(found, TYPE_BYTES, "%" PRIu32 " bytes", arg->bytes);
		break;
	case WW_ARGUMENT_ARRAY:
		array_text(&arg->array, found);
		break;
	default:
		snprintf(found, TYPE_BYTES, "%s",
			arg->kind == WW_ARGUMENT_TIMELINE ? "a timeline" : "missing");
	}
	ww_parameter_type_text(place->signature, place->parameter, wanted, sizeof(wanted));
	return ww_fail(WW_ERR_MISMATCH, "%s %" PRIu32 ", %s, is %s%s and must be %s%s", place->what,
		place->number, place->parameter->name, found, is ? is : "", wanted,
		must ? must : "");
}

static ww_status refuse_dim(const struct place *place, uint32_t name, int64_t known)
{
	const struct ww_call_arg *arg = place->arg;
	char text[TYPE_BYTES];
	char value[32] = "";
	int64_t count;

	if (arg->kind == WW_ARGUMENT_SCALAR && ww_scalar_to_count(arg->dtype, arg->scalar, &count))
		snprintf(value, sizeof(value), " %" PRId64, count);
	snprintf(text, sizeof(text), " where %s is %" PRId64, place->signature->dim_names[name],
		known);
	return refuse(place, value, text);
}

/* --- one argument --- */

static ww_status bind_dim(const struct place *place, uint32_t name, int64_t count)
{
	int64_t *known = &place->binding->dims[name];

	if (*known == UNKNOWN)
		*known = count;
	return *known == count ? WW_OK : refuse_dim(place, name, *known);
}

static ww_status bind_array(const struct place *place)
{
	const struct ww_parameter *parameter = place->parameter;
	const struct ww_call_arg *arg = place->arg;
	const struct ww_array *array;

	if (!(parameter->flags & WW_PARAMETER_ANY_TYPE) &&
		!ww_dtype_is_same(parameter->dtype, arg->array.dtype))
		return refuse(place, NULL, NULL);
	array = &place->arg->array;
	if (!(parameter->flags & WW_PARAMETER_ANY_RANK)) {
		if (array->ndim != parameter->ndim)
			return refuse(place, NULL, NULL);
		for (uint32_t i = 0; i < array->ndim; i++) {
			const struct ww_signature_dim *dim = &parameter->dims[i];

			if (dim->kind == WW_DIM_COUNT && dim->count != array->shape[i])
				return refuse(place, NULL, NULL);
			if (dim->kind == WW_DIM_NAME)
				ww_try(bind_dim(place, dim->name, array->shape[i]));
		}
	}
	if (!(parameter->flags & WW_PARAMETER_STRIDED) && !ww_array_is_contiguous(&arg->array))
		return refuse(place, " with gaps or in another order",
			" in C order without gaps; copy it");
	if (arg->access < parameter->access)
		return refuse(place, " with a token for reading only", " with a token for writing");
	return WW_OK;
}

static ww_status bind_one(const struct place *place)
{
	const struct ww_parameter *parameter = place->parameter;
	const struct ww_call_arg *arg = place->arg;
	int64_t count;

	if (arg->kind != parameter->kind)
		return refuse(place, NULL, NULL);
	switch (arg->kind) {
	case WW_ARGUMENT_SCALAR:
		if (!ww_dtype_is_same(parameter->dtype, place->arg->dtype))
			return refuse(place, NULL, NULL);
		if (!ww_scalar_is_valid(parameter->dtype, place->arg->scalar))
			return refuse(place, " with bits that the type does not have",
				parameter->dtype.code == WW_DTYPE_BOOL
					? ", 0 or 1"
					: " with zeros above its bits");
		if (!(parameter->flags & WW_PARAMETER_DIMENSION))
			return WW_OK;
		if (!ww_scalar_to_count(parameter->dtype, place->arg->scalar, &count))
			return refuse(place, " with a value that no dimension has", " from 0 on");
		return bind_dim(place, parameter->dim_name, count);
	case WW_ARGUMENT_ARRAY:
		return bind_array(place);
	case WW_ARGUMENT_BYTES:
		return arg->bytes <= parameter->bytes_max ? WW_OK : refuse(place, NULL, NULL);
	default:
		return WW_OK;
	}
}

/* --- arguments that were left out --- */

static ww_status fill(const struct place *place, struct ww_call_arg *arg)
{
	const struct ww_parameter *parameter = place->parameter;

	if (parameter->flags & WW_PARAMETER_DIMENSION) {
		int64_t count = place->binding->dims[parameter->dim_name];
		uint64_t scalar;

		if (count == UNKNOWN)
			return refuse(place, NULL, NULL);
		if (!ww_scalar_from_count(parameter->dtype, count, &scalar))
			return refuse_dim(place, parameter->dim_name, count);
		ww_call_arg_scalar(parameter->dtype, scalar, arg);
		return WW_OK;
	}
	if (parameter->flags & WW_PARAMETER_DEFAULT)
		ww_call_arg_scalar(parameter->dtype, parameter->scalar, arg);
	return parameter->flags & WW_PARAMETER_OPTIONAL ? WW_OK : refuse(place, NULL, NULL);
}

/* --- all of them --- */

static ww_status refuse_count(const char *what, uint32_t count, uint32_t wanted)
{
	return ww_fail(WW_ERR_MISMATCH,
		"a call has %" PRIu32 " %ss, and the signature has %" PRIu32, count, what, wanted);
}

static struct place place_of(const struct ww_signature *signature,
	struct ww_signature_binding *binding, const struct ww_call_args *args, uint32_t i)
{
	return (struct place){signature, binding, &signature->parameters[i], &args->items[i],
		"argument", i + 1};
}

void ww_signature_binding_init(struct ww_signature_binding *binding)
{
	for (uint32_t i = 0; i < WW_SIGNATURE_DIMS_MAX; i++)
		binding->dims[i] = UNKNOWN;
}

ww_status ww_signature_bind(const struct ww_signature *signature, struct ww_call_args *args,
	struct ww_signature_binding *out_binding)
{
	if (args->count > signature->parameter_count)
		return refuse_count("argument", args->count, signature->parameter_count);
	ww_signature_binding_init(out_binding);
	for (uint32_t i = args->count; i < signature->parameter_count; i++)
		ww_call_arg_none(&args->items[i]);
	for (uint32_t i = 0; i < args->count; i++) {
		struct place place = place_of(signature, out_binding, args, i);

		if (place.arg->kind != WW_ARGUMENT_NONE)
			ww_try(bind_one(&place));
	}
	args->count = signature->parameter_count;
	for (uint32_t i = 0; i < args->count; i++) {
		struct place place = place_of(signature, out_binding, args, i);

		if (place.arg->kind == WW_ARGUMENT_NONE)
			ww_try(fill(&place, &args->items[i]));
	}
	return WW_OK;
}

ww_status ww_signature_bind_results(const struct ww_signature *signature,
	struct ww_signature_binding *binding, const struct ww_call_args *results)
{
	if (results->count != signature->result_count)
		return refuse_count("result", results->count, signature->result_count);
	for (uint32_t i = 0; i < results->count; i++) {
		struct place place = {signature, binding, &signature->results[i],
			&results->items[i], "result", i + 1};

		ww_try(bind_one(&place));
	}
	return WW_OK;
}
