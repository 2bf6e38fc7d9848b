/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.c - statuses, the error record, version and log
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "conformance/conformance.h"

CASE(base_statuses_have_names, NO_DEVICE)
{
	for (ww_status status = WW_ERR_DEPENDENCY_FAILED; status <= WW_CANCELLED; status++) {
		const char *name = ww_status_name(status);
		const char *text = ww_status_text(status);

		MUST(!strncmp(name, "WW_", 3));
		MUST(strcmp(name, "WW_UNKNOWN"));
		MUST_EQUAL(status < 0, !strncmp(name, "WW_ERR_", 7));
		MUST(strlen(text) > 1 && text[strlen(text) - 1] != '.');
	}
	MUST(!strcmp(ww_status_name(WW_ERR_ACCESS), "WW_ERR_ACCESS"));
	MUST(!strcmp(ww_status_name(WW_ERR_DEPENDENCY_FAILED - 1), "WW_UNKNOWN"));
	MUST(!strcmp(ww_status_name(WW_CANCELLED + 1), "WW_UNKNOWN"));
	MUST(!strcmp(ww_status_name(INT32_MIN), "WW_UNKNOWN"));
	MUST(strlen(ww_status_text(INT32_MAX)) > 1);
}

static void fail_once(void)
{
	ww_device *device = NULL;

	MUST_REFUSE(WW_ERR_INVALID, "no such name", ww_device_open("no such name", &device));
	MUST(!device);
}

CASE(base_record_is_kept_by_success, NO_DEVICE)
{
	struct ww_error before;
	uint32_t count;

	fail_once();
	before = *ww_error_last();
	MUST_EQUAL(WW_DOMAIN_WARPWAY, before.domain);
	MUST_EQUAL(0, before.native);
	MUST(memchr(before.message, '\0', sizeof(before.message)));
	MUST_OK(ww_device_count(WW_BACKEND_HOST, &count));
	MUST(ww_error_last() != NULL);
	MUST_MATCH(&before, ww_error_last(), sizeof(before));
}

static void *look_at_fresh_record(void *unused)
{
	(void)unused;
	MUST_EQUAL(WW_OK, ww_error_last()->status);
	fail_once();
	return NULL;
}

CASE(base_record_belongs_to_thread, NO_DEVICE)
{
	struct ww_error before;
	pthread_t thread;
	ww_device *device;

	MUST(ww_device_open("another name", &device) == WW_ERR_INVALID);
	before = *ww_error_last();
	MUST(!pthread_create(&thread, NULL, look_at_fresh_record, NULL));
	pthread_join(thread, NULL);
	MUST_MATCH(&before, ww_error_last(), sizeof(before));
}

CASE_CALL(base_version_is_the_headers, NO_DEVICE, MUST(!strcmp(ww_version(), WW_VERSION)))

static atomic_int lines;

static void count_line(void *context, const char *line)
{
	MUST(context == &lines);
	MUST(line && !strchr(line, '\n'));
	atomic_fetch_add(&lines, 1);
}

CASE(base_log_is_delivered_and_stops, 0)
{
	ww_device *device;
	int before;

	ww_log_set(count_line, &lines);
	device = subject_open();
	ww_memory_unref(memory_make(device, WW_MEMORY_VMM, 1));
	fail_once();
	ww_device_unref(device);
	ww_log_set(NULL, NULL);
	before = atomic_load(&lines);
	MUST(before > 0);
	device = subject_open();
	fail_once();
	ww_device_unref(device);
	MUST_EQUAL(before, atomic_load(&lines));
}
