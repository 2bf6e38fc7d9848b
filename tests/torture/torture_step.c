/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_step.c - see torture_step.h
 */
#include "torture/torture_step.h"

#include "base/error.h"
#include "torture/torture_broker.h"

bool step_has_failed(struct first_failure *failure, const char *step, ww_status status)
{
	if (status == WW_OK || failure->step)
		return false;
	failure->step = step;
	failure->status = status;
	ww_error_save(&failure->record);
	return true;
}

ww_status step_report(const struct first_failure *failure, const char **out_step)
{
	*out_step = failure->step;
	if (failure->step)
		ww_error_restore(&failure->record);
	return failure->status;
}

ww_status step_gives(ww_status status, const void *out)
{
	MUST_EQUAL(status == WW_OK, out != NULL);
	return status;
}

ww_status step_open_broker(ww_broker **out_broker)
{
	ww_status status = ww_broker_open(WW_PARAMS(struct ww_broker_params,
						  .address = scenario_address),
		out_broker);

	return step_gives(status, *out_broker);
}
