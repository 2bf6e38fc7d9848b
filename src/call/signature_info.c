/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature_info.c - signatures for callers outside, see warpway/signature.h
 *
 * Each call parses the text anew: that takes a few microseconds, and there is no object to own.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/params.h"
#include "call/signature.h"

#define INFO_V1_BYTES      sizeof(struct ww_signature_info)
#define PARAMETER_V1_BYTES sizeof(struct ww_parameter_info)

WW_DEFINE_CLEANUP(struct ww_signature, free)

static ww_status parse_new(const char *text, struct ww_signature **out_signature)
{
	WW_CLEANUP(free_p) struct ww_signature *signature = malloc(sizeof(*signature));

	*out_signature = NULL;
	if (!signature)
		return ww_fail(WW_ERR_NO_MEMORY, "no memory to parse a signature");
	ww_try(ww_signature_parse(text, signature));
	*out_signature = ww_steal(signature);
	return WW_OK;
}

ww_status ww_signature_info_get(const char *text, struct ww_signature_info *info)
{
	WW_CLEANUP(free_p) struct ww_signature *signature = NULL;
	struct ww_signature_info ours = {.struct_size = 0};

	ww_require(text, "ww_signature_info_get: text is NULL");
	ww_require(info, "ww_signature_info_get: info is NULL");
	ww_try(ww_params_check(info, INFO_V1_BYTES, "ww_signature_info"));
	ww_try(parse_new(text, &signature));
	ours.parameter_count = signature->parameter_count;
	ours.result_count = signature->result_count;
	ours.hash = signature->hash;
	memcpy(ours.text, signature->text, sizeof(ours.text));
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_signature_info");
}

/* The parameter or result that a caller asks for. */
static ww_status item_get(const char *text, bool is_result, uint32_t index,
	struct ww_parameter_info *info)
{
	WW_CLEANUP(free_p) struct ww_signature *signature = NULL;
	struct ww_parameter_info ours = {.struct_size = 0};
	const struct ww_parameter *parameter;

	ww_try(ww_params_check(info, PARAMETER_V1_BYTES, "ww_parameter_info"));
	ww_try(parse_new(text, &signature));
	if (index >= (is_result ? signature->result_count : signature->parameter_count))
		return WW_END;
	parameter = is_result ? &signature->results[index] : &signature->parameters[index];
	ours.kind = parameter->kind;
	ours.dtype = parameter->dtype;
	ours.access = parameter->access;
	ours.flags = parameter->flags;
	ours.bytes_max = parameter->bytes_max;
	ours.ndim = parameter->ndim;
	ours.scalar = parameter->scalar;
	for (uint32_t i = 0; i < parameter->ndim; i++)
		ours.shape[i] = parameter->dims[i].kind == WW_DIM_COUNT ? parameter->dims[i].count
									: -1;
	memcpy(ours.name, parameter->name, sizeof(ours.name));
	ww_parameter_type_text(signature, parameter, ours.type, sizeof(ours.type));
	return ww_params_write(info, &ours, sizeof(ours), PARAMETER_V1_BYTES, "ww_parameter_info");
}

ww_status ww_signature_parameter_get(const char *text, uint32_t index,
	struct ww_parameter_info *info)
{
	ww_require(text, "ww_signature_parameter_get: text is NULL");
	ww_require(info, "ww_signature_parameter_get: info is NULL");
	return item_get(text, false, index, info);
}

ww_status ww_signature_result_get(const char *text, uint32_t index, struct ww_parameter_info *info)
{
	ww_require(text, "ww_signature_result_get: text is NULL");
	ww_require(info, "ww_signature_result_get: info is NULL");
	return item_get(text, true, index, info);
}
