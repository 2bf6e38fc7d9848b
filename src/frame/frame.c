/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - a frame in the process that writes or reads it, see frame.h
 */
#include "frame/frame.h"

#include <inttypes.h>

ww_status ww_frame_fail_room(const struct ww_frame *frame, const struct ww_frame_form *form)
{
	if (frame->bytes > form->slot_bytes)
		return ww_fail(WW_ERR_INVALID,
			"a frame of %" PRIu64 " bytes does not fit into a slot of %" PRIu64
			" bytes; make the %s with larger slots",
			frame->bytes, form->slot_bytes, form->owner);
	if (frame->metadata_bytes > form->metadata_bytes)
		return ww_fail(WW_ERR_INVALID,
			"metadata of %" PRIu32 " bytes does not fit into the %" PRIu32
			" bytes that the %s has for it",
			frame->metadata_bytes, form->metadata_bytes, form->owner);
	return ww_fail(WW_ERR_INVALID,
		"a frame's shape cannot have %" PRIu32 " dimensions; at most %d", frame->ndim,
		WW_FRAME_DIMS);
}

ww_status ww_frame_fail_slot(const struct ww_frame *frame)
{
	return ww_fail(WW_ERR_INVALID,
		"slot %" PRIu32
		" is not held: it was published or discarded already, or never acquired",
		frame->slot);
}

enum ww_await_look ww_frame_await(const struct ww_layout_signal_cell *cell, uint64_t ready)
{
	struct ww_signal_look look;

	if (ready == 0 || ready > WW_SIGNAL_VALUE_MAX)
		return WW_AWAIT_DONE;
	ww_signal_cell_look(cell, &look);
	if (ww_wait_result_of(&look, ready) != WW_NOT_READY)
		return WW_AWAIT_DONE;
	return look.by_gpu ? WW_AWAIT_POLL : WW_AWAIT_SLEEP;
}

ww_status ww_frame_fail_lost(uint64_t number, const struct ww_signal_map *page)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	return ww_fail(WW_ERR_PEER_LOST,
		"frame %" PRIu64
		" was never complete: its producer, %s, ended; what was computed from it is not valid",
		number, ww_wait_result_process(page, process));
}

ww_status ww_frame_fail_unknown(const struct ww_frame_form *form, const char *action)
{
	return ww_fail(WW_ERR_PEER_LOST,
		"cannot %s a frame: the connection to the broker broke, which has told the others "
		"that this process ended; close the %s, and make or get it anew",
		action, form->owner);
}
