/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - a flag that ends waits, see cancel.h and warpway/cancel.h
 */
#include "base/cancel.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/ref.h"

struct ww_cancel {
	struct ww_ref ref;
	atomic_bool is_set;
};

static struct ww_cancel nowait = {.is_set = true}; /* its references are not counted */

static _Thread_local ww_cancel *current;  /* borrowed from the call that is running */
static _Thread_local uint64_t noticed_ns; /* when this call found the flag set; 0: not yet */

ww_status ww_cancel_create(ww_cancel **out_cancel)
{
	struct ww_cancel *cancel;

	ww_clear(out_cancel, NULL);
	ww_try(ww_process_enter());
	ww_require(out_cancel, "ww_cancel_create: out_cancel is NULL");
	cancel = calloc(1, sizeof(*cancel));
	if (!cancel)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a flag: out of memory");
	ww_ref_init(&cancel->ref);
	*out_cancel = cancel;
	return WW_OK;
}

ww_cancel *ww_cancel_nowait(void)
{
	return &nowait;
}

ww_cancel *ww_cancel_ref(ww_cancel *cancel)
{
	if (cancel && cancel != &nowait)
		ww_ref_get(&cancel->ref);
	return cancel;
}

ww_cancel *ww_cancel_unref(ww_cancel *cancel)
{
	if (cancel && cancel != &nowait && ww_ref_put(&cancel->ref))
		free(cancel);
	return NULL;
}

void ww_cancel_set(ww_cancel *cancel)
{
	if (cancel)
		atomic_store(&cancel->is_set, true);
}

void ww_cancel_clear(ww_cancel *cancel)
{
	if (cancel && cancel != &nowait)
		atomic_store(&cancel->is_set, false);
}

int32_t ww_cancel_is_set(const ww_cancel *cancel)
{
	return cancel && atomic_load(&cancel->is_set);
}

static struct ww_cancel_scope note_outer(void)
{
	return (struct ww_cancel_scope){
		.is_changed = true,
		.outer = current,
		.outer_noticed_ns = noticed_ns,
	};
}

struct ww_cancel_scope ww_cancel_change(ww_cancel *cancel)
{
	struct ww_cancel_scope scope = note_outer();

	scope.is_changed = cancel != current;
	if (scope.is_changed) {
		current = cancel;
		noticed_ns = 0;
	}
	return scope;
}

struct ww_cancel_scope ww_cancel_mask(void)
{
	struct ww_cancel_scope scope = note_outer();

	current = NULL;
	noticed_ns = 0;
	return scope;
}

void ww_cancel_restore(const struct ww_cancel_scope *scope)
{
	if (current != scope->outer || !current)
		noticed_ns = scope->outer_noticed_ns;
	current = scope->outer;
}

bool ww_cancel_is_given(void)
{
	return current != NULL;
}

bool ww_cancel_is_nowait(void)
{
	return current == &nowait;
}

bool ww_cancel_is_pending(void)
{
	if (noticed_ns == 0 && ww_cancel_is_set(current))
		noticed_ns = ww_clock_now_ns();
	return noticed_ns != 0;
}

uint64_t ww_cancel_grace_end_ns(void)
{
	return noticed_ns + WW_CANCEL_GRACE_NS;
}

ww_status ww_cancel_check(uint64_t deadline_ns)
{
	if (deadline_ns != WW_NEVER && ww_clock_now_ns() >= deadline_ns)
		return WW_TIMED_OUT;
	return ww_cancel_is_pending() ? WW_CANCELLED : WW_OK;
}

uint64_t ww_cancel_sleep_end_ns(uint64_t deadline_ns)
{
	if (!current)
		return deadline_ns;
	if (ww_cancel_is_pending())
		return 0;
	return ww_clock_sooner_ns(WW_CANCEL_LOOK_NS, deadline_ns);
}
