/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_argument.h - arguments of a call from words such as a=2.0 and x=@lab/x
 *
 * The signature says what a word means. Names of objects are looked up here, under the user's own
 * rights, and nothing is mapped: the call carries tokens.
 */
#ifndef TOOLS_WARPWAY_CALL_ARGUMENT_H
#define TOOLS_WARPWAY_CALL_ARGUMENT_H

#include <warpway/warpway.h>

/* Zero is empty. */
struct call_arguments {
	const char *signature; /* borrowed */
	ww_broker *broker;     /* borrowed */
	uint32_t count;        /* parameters */
	struct ww_value values[WW_CALL_ARGS_MAX];
	struct ww_token tokens[WW_CALL_ARGS_MAX];
	ww_object *objects[WW_CALL_ARGS_MAX];     /* held until the call has ended */
	ww_timeline *timelines[WW_CALL_ARGS_MAX]; /* likewise */
};

/**
 * call_arguments_read() - make all arguments
 * @arguments:  signature and broker are set
 * @words:      NULL behind the last
 * Return: 0; the exit code after saying what went wrong.
 */
int call_arguments_read(struct call_arguments *arguments, char *const words[]);

void call_arguments_fini(struct call_arguments *arguments);

static inline void own_call_arguments(struct call_arguments *arguments)
{
	call_arguments_fini(arguments);
}

#endif
