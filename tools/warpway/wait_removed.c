/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_removed.c - be there for an object that goes when its maker does
 *
 * The watch comes first and the look second, so that no end is missed between them. An overflow
 * tells that the broker may have been restarted: the look that follows connects to it again, and by
 * that confirms what this process holds.
 */
#include "warpway/wait_removed.h"

#include <stdbool.h>
#include <string.h>

#include "warpway/open_broker.h"

static int lose(ww_status status)
{
	complain_record("cannot stay any longer");
	return broker_exit(status);
}

/*
 * Whether it is there, and which one. Return: 0; the exit code when it is gone or cannot be seen.
 */
static int look(ww_broker *broker, const char *name, bool *out_gone,
	struct ww_object_info *out_object)
{
	ww_status status = ww_broker_stat(broker, name, out_object);

	*out_gone = status == WW_ERR_NOT_FOUND || (status == WW_OK && !out_object->own);
	return status == WW_OK || *out_gone ? 0 : lose(status);
}

static bool is_end_of(const struct ww_watch_event *event, const struct ww_object_info *object)
{
	return event->what >= WW_WATCH_REMOVED && event->what <= WW_WATCH_LOST &&
		!memcmp(event->object.object_id, object->object_id, sizeof(object->object_id));
}

int stay_with(ww_broker *broker, const char *name)
{
	OWN(watch) ww_watch *changes = NULL;
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	ww_status status = ww_watch_create(broker, name, 0, &changes);
	bool gone = false;
	int code;

	if (status != WW_OK)
		return lose(status);
	code = look(broker, name, &gone, &object);
	while (code == 0 && !gone) {
		status = ww_watch_next(changes, WW_FOREVER, NULL, &event);
		if (status != WW_OK)
			return lose(status);
		if (event.what == WW_WATCH_OVERFLOW)
			code = look(broker, name, &gone, &object);
		else
			gone = is_end_of(&event, &object);
	}
	if (code == 0)
		say("%s is gone", name);
	return code;
}
