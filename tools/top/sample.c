/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - what the broker says at one time, see top.h
 */
#include "top/top.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/child_link.h"

#define PATIENCE_NS UINT64_C(2000000000) /* for each answer: the keys must not wait longer */

static ww_status connect_to(const char *address, ww_broker **broker)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.timeout_ns = PATIENCE_NS,
		.address = address,
	};

	return *broker ? WW_OK : ww_broker_open(&params, broker);
}

static ww_status take_rows(struct sample *sample, ww_broker *broker, const struct wish *wish)
{
	bool is_objects = wish->view == TOP_OBJECTS;
	struct ww_largest_params params = {
		.struct_size = sizeof(params),
		.uid = wish->is_own ? geteuid() : 0,
		.kind = is_objects ? wish->kind : 0,
		.count = wish->rows,
		.contents = is_objects ? WW_SNAPSHOT_OBJECTS : WW_SNAPSHOT_HOLDERS,
		.flags = wish->is_own ? WW_LARGEST_OF_USER : 0,
		.after_bytes = wish->places[wish->page].bytes,
		.after_number = wish->places[wish->page].number,
		.prefix = is_objects ? wish->prefix : NULL,
	};
	ww_status status;

	if (wish->rows == 0 || (!is_objects && wish->view != TOP_PROCESSES))
		return WW_OK;
	status = ww_snapshot_largest(broker, &params, &sample->rows);
	if (status != WW_OK)
		return status;
	sample->has_next_page = ww_snapshot_place(sample->rows, &params) == WW_OK;
	sample->next_bytes = params.after_bytes;
	sample->next_number = params.after_number;
	return WW_OK;
}

void sample_take(struct sample *sample, const char *address, ww_broker **broker,
	const struct wish *wish)
{
	ww_status status = connect_to(address, broker);

	*sample = (struct sample){.info = WW_INIT(struct ww_broker_info),
		.all = WW_INIT(struct ww_broker_totals)};
	if (status == WW_OK)
		status = ww_totals_create(*broker, &sample->totals);
	if (status == WW_OK)
		status = ww_totals_broker(sample->totals, &sample->all);
	if (status == WW_OK)
		status = ww_broker_info_get(*broker, &sample->info);
	if (status == WW_OK)
		status = take_rows(sample, *broker, wish);
	sample->at_ns = link_now_ns();
	if (status == WW_OK)
		return;
	format_safe(ww_error_last()->message, sample->fault, sizeof(sample->fault));
	sample->totals = ww_totals_free(sample->totals);
	if (status != WW_ERR_INVALID)
		*broker = ww_broker_unref(*broker);
}

void sample_free(struct sample *sample)
{
	ww_totals_free(sample->totals);
	ww_snapshot_free(sample->rows);
	*sample = (struct sample){.totals = NULL};
}

/* --- rates --- */

/* Of counts that begin anew when the broker was restarted. */
static double rate(const struct sample *now, const struct sample *before, uint64_t count,
	uint64_t count_before)
{
	if (!before->totals || now->at_ns <= before->at_ns || count < count_before)
		return 0;
	return (double)(count - count_before) * 1e9 / (double)(now->at_ns - before->at_ns);
}

static uint64_t sum_requests(const struct sample *sample, bool is_refused)
{
	struct ww_request_total row = WW_INIT(struct ww_request_total);
	uint64_t sum = 0;

	for (size_t i = 0; sample->totals && ww_totals_request(sample->totals, i, &row) == WW_OK;
		i++) {
		if ((row.status != 0) == is_refused)
			sum += row.count;
	}
	return sum;
}

double sample_rate_all(const struct sample *now, const struct sample *before, bool is_refused)
{
	return rate(now, before, sum_requests(now, is_refused), sum_requests(before, is_refused));
}

static bool find_user(const struct sample *sample, uint32_t uid, struct ww_user_total *out)
{
	*out = WW_INIT(struct ww_user_total);
	for (size_t i = 0; sample->totals && ww_totals_user(sample->totals, i, out) == WW_OK; i++) {
		if (out->uid == uid)
			return true;
	}
	return false;
}

double sample_rate_user(const struct sample *now, const struct sample *before, uint32_t uid,
	bool is_refused)
{
	struct ww_user_total user;
	struct ww_user_total former;

	if (!find_user(now, uid, &user) || !find_user(before, uid, &former))
		return 0;
	return is_refused ? rate(now, before, user.refused, former.refused)
			  : rate(now, before, user.requests, former.requests);
}

double sample_rate_request(const struct sample *now, const struct sample *before,
	const struct ww_request_total *row)
{
	struct ww_request_total former = WW_INIT(struct ww_request_total);
	uint64_t count = 0;

	for (size_t i = 0; before->totals && ww_totals_request(before->totals, i, &former) == WW_OK;
		i++) {
		if (former.status == row->status && !strcmp(former.request, row->request))
			count += former.count;
	}
	return rate(now, before, row->count, count);
}
