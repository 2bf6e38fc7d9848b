/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_report.h - what `warpway stat` prints of a work queue
 */
#ifndef TOOLS_WARPWAY_WORK_QUEUE_REPORT_H
#define TOOLS_WARPWAY_WORK_QUEUE_REPORT_H

#include <warpway/warpway.h>

#include <jansson.h>

void work_queue_report_print(ww_broker *broker, const struct ww_object_info *object);

/* Its keys are a promise to programs, see warpway(1). null: it is not shown to this user. */
json_t *work_queue_report_json(ww_broker *broker, const struct ww_object_info *object);

#endif
