/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - a signature as a struct, and arguments compared with it
 *
 * warpway/signature.h has the grammar. A struct ww_signature has no pointers and owns nothing, but
 * it is large (about 30 KiB): it stands on the heap. It is parsed once, when a function is offered
 * or looked up; binding arguments takes no memory and no lock.
 *
 * Binding goes through the arguments in order. It compares kind, type, rank, order of the elements
 * and access of each with its parameter, and gives each name of a dimension the first length that
 * it meets; every later one must be the same. Then it fills the arguments that were left out.
 *
 * Both sides bind: the client, so that a wrong call fails before it is sent, and the server, which
 * trusts no client. What a token says of its memory is only what the token's bytes say. The server
 * must compare it with the memory once the token is imported.
 */
#ifndef WW_CALL_SIGNATURE_H
#define WW_CALL_SIGNATURE_H

#include <warpway/signature.h>

#include "call/arguments.h"

#define WW_SIGNATURE_DIMS_MAX 32 /* names of dimensions; each argument may bring one */

enum ww_signature_dim_kind {
	WW_DIM_COUNT, /* this many elements */
	WW_DIM_NAME,  /* as many as others of the same name */
	WW_DIM_ANY
};

struct ww_signature_dim {
	enum ww_signature_dim_kind kind;
	uint32_t name; /* its index in ww_signature.dim_names */
	int64_t count;
};

/* A parameter or a result. */
struct ww_parameter {
	char name[WW_SIGNATURE_NAME_BYTES];
	uint32_t kind;  /* WW_ARGUMENT_... */
	uint32_t flags; /* WW_PARAMETER_... */
	struct ww_dtype dtype;
	uint32_t access; /* of an array that is a parameter: WW_ACCESS_...; else 0 */
	uint32_t bytes_max;
	uint32_t dim_name; /* with WW_PARAMETER_DIMENSION */
	uint64_t scalar;
	uint32_t ndim;
	struct ww_signature_dim dims[WW_ARRAY_DIMS];
};

struct ww_signature {
	uint64_t hash; /* of @text */
	uint32_t parameter_count;
	uint32_t result_count;
	uint32_t dim_count;
	struct ww_parameter parameters[WW_CALL_ARGS_MAX];
	struct ww_parameter results[WW_CALL_ARGS_MAX];
	char dim_names[WW_SIGNATURE_DIMS_MAX][WW_SIGNATURE_NAME_BYTES];
	char text[WW_SIGNATURE_TEXT_BYTES]; /* canonical */
};

/* The lengths of the named dimensions in one call; -1: not known yet. */
struct ww_signature_binding {
	int64_t dims[WW_SIGNATURE_DIMS_MAX];
};

/*
 * @text:           may come from an untrusted process
 * @out_signature:  filled on success, else undefined
 * Return: WW_OK; WW_ERR_INVALID (the record has the column, from 1 on, and what was expected);
 *         WW_ERR_LIMIT.
 */
ww_status ww_signature_parse(const char *text, struct ww_signature *out_signature);

/*
 * The type without the name, in canonical form: "f32[n, 4]"; cut if it is longer than @room bytes.
 */
void ww_parameter_type_text(const struct ww_signature *signature,
	const struct ww_parameter *parameter, char *out_text, size_t room);

/*
 * Writes the canonical text, and its hash, into a signature of which everything else is set.
 * Return: WW_OK; WW_ERR_LIMIT (it is too long).
 */
ww_status ww_signature_set_text(struct ww_signature *signature);

/*
 * Compares a call's arguments with the parameters.
 * @args:         fewer than there are parameters: those at the end are left out. On success there
 *                are as many as parameters; those that were left out are their defaults, or
 *                WW_ARGUMENT_NONE
 * @out_binding:  filled on success, and on failure undefined
 * Return: WW_OK; WW_ERR_MISMATCH (the record says which argument, what it is, what it must be).
 */
ww_status ww_signature_bind(const struct ww_signature *signature, struct ww_call_args *args,
	struct ww_signature_binding *out_binding);

/* Of no arguments: every dimension can have any length. */
void ww_signature_binding_init(struct ww_signature_binding *binding);

/*
 * The same for the results.
 * @binding:  of the arguments; dimensions that only results have are added
 * Return: WW_OK; WW_ERR_MISMATCH.
 */
ww_status ww_signature_bind_results(const struct ww_signature *signature,
	struct ww_signature_binding *binding, const struct ww_call_args *results);

#endif
