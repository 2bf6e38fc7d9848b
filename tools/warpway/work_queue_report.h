/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_report.h - what `warpway stat` and `warpway top` show of a work queue
 */
#ifndef TOOLS_WARPWAY_WORK_QUEUE_REPORT_H
#define TOOLS_WARPWAY_WORK_QUEUE_REPORT_H

#include <warpway/warpway.h>

#include <jansson.h>
#include <stdbool.h>

/* Whether an object of a list is a work queue that can be opened by its name. */
bool work_queue_report_is_possible(const struct ww_object_info *object);

/* Return: WW_OK; WW_ERR_ACCESS; WW_ERR_PROTOCOL: it is a part of a queue; another error. */
ww_status work_queue_report_read(ww_broker *broker, const struct ww_object_info *object,
	struct ww_work_queue_info *out_info);

/* What a line says of the members, of the frames there are now, and of the totals. */
struct work_queue_text {
	char members[96];
	char frames[160];
	char totals[200];
};

void work_queue_report_text(const struct ww_work_queue_info *info, struct work_queue_text *out);
void work_queue_report_print(ww_broker *broker, const struct ww_object_info *object);

/* Its keys are a promise to programs, see warpway(1). null: it is not shown to this user. */
json_t *work_queue_report_json(ww_broker *broker, const struct ww_object_info *object);

#endif
