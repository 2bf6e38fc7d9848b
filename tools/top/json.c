/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - `warpway top --once --json`: two samples, and what lies between them; the keys are a
 * promise to programs, see warpway(1)
 */
#include <jansson.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/say.h"
#include "top/top.h"
#include "warpway/work_queue_report.h"

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *rate_or_null(double rate)
{
	return rate < 0 ? json_null() : json_real(rate);
}

static json_t *json_of_broker(const struct sample *now, const struct sample *before,
	const char *address)
{
	const struct ww_broker_totals *all = &now->all;

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:f, s:f}",
		"address", address, "version", now->info.version, "protocol",
		integer(now->info.protocol), "restarts", integer(now->info.restarts), "up_ns",
		integer(now->info.up_ns), "all_users", (int)all->is_all, "objects",
		integer(all->objects), "bytes", integer(all->bytes), "processes",
		integer(all->holders), "holds", integer(all->holds), "waits", integer(all->waits),
		"fds", integer(all->fds), "fds_limit", integer(all->fds_limit), "connections",
		integer(all->connections), "connections_limit", integer(all->connections_limit),
		"refused_connections", integer(all->refused_connections), "memory_bytes",
		integer(now->info.memory_bytes), "requests_per_s",
		sample_rate_all(now, before, false), "refused_per_s",
		sample_rate_all(now, before, true));
}

/* Used and limit; a limit of 0 is none. */
static json_t *share(uint64_t used, uint64_t limit)
{
	return json_pack("{s:o, s:o}", "used", integer(used), "limit",
		limit ? integer(limit) : json_null());
}

static json_t *json_of_users(const struct sample *now, const struct sample *before,
	struct view *names)
{
	struct ww_user_total user = WW_INIT(struct ww_user_total);
	json_t *list = json_array();

	for (size_t i = 0; ww_totals_user(now->totals, i, &user) == WW_OK; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
				  "s:o, s:o, s:f, s:f}",
				"uid", integer(user.uid), "user", view_user(names, user.uid),
				"bytes", share(user.bytes, user.bytes_limit), "host_bytes",
				share(user.host_bytes, user.host_bytes_limit), "objects",
				share(user.objects, user.objects_limit), "fds",
				share(user.fds, user.fds_limit), "holds",
				share(user.holds, user.holds_limit), "connections",
				share(user.connections, user.connections_limit), "waits",
				share(user.waits, user.waits_limit), "watches",
				share(user.watches, user.watches_limit), "processes",
				integer(user.holders), "tokens", integer(user.tokens), "deliveries",
				integer(user.deliveries), "delivery_bytes",
				integer(user.delivery_bytes), "requests_per_s",
				sample_rate_user(now, before, user.uid, false), "refused_per_s",
				sample_rate_user(now, before, user.uid, true)));
	return list;
}

static json_t *json_of_devices(const struct sample *now, struct view *names)
{
	struct ww_device_total row = WW_INIT(struct ww_device_total);
	json_t *list = json_array();

	for (size_t i = 0; ww_totals_device(now->totals, i, &row) == WW_OK; i++) {
		char device[FORMAT_UUID_BYTES] = "others";

		if (!row.is_others)
			view_device(names, row.home_uuid, 0, device);
		json_array_append_new(list,
			json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "device", device, "uid",
				integer(row.uid), "kind", format_kind(row.kind), "objects",
				integer(row.objects), "bytes", integer(row.bytes), "removed",
				integer(row.removed), "removed_bytes", integer(row.removed_bytes)));
	}
	return list;
}

static json_t *json_of_requests(const struct sample *now, const struct sample *before)
{
	struct ww_request_total row = WW_INIT(struct ww_request_total);
	json_t *list = json_array();

	for (size_t i = 0; ww_totals_request(now->totals, i, &row) == WW_OK; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:o, s:o, s:f}", "request", row.request, "refused_for",
				row.status ? json_string(ww_status_name(row.status)) : json_null(),
				"count", integer(row.count), "per_s",
				sample_rate_request(now, before, &row)));
	return list;
}

static json_t *json_of_objects(const struct sample *now, ww_broker *broker, struct view *names)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	json_t *list = json_array();

	for (size_t i = 0; now->rows && ww_snapshot_object(now->rows, i, &object) == WW_OK; i++) {
		json_t *row = view_json_object(names, &object);

		json_object_set_new(row, "rate_per_s", rate_or_null(meter_rate(broker, &object)));
		if (object.kind == WW_OBJECT_WORK_QUEUE)
			json_object_set_new(row, "work_queue",
				work_queue_report_is_possible(&object)
					? work_queue_report_json(broker, &object)
					: json_null());
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *json_of_processes(const struct sample *now, struct view *names)
{
	struct ww_holder_info holder = WW_INIT(struct ww_holder_info);
	json_t *list = json_array();

	for (size_t i = 0; now->rows && ww_snapshot_holder(now->rows, i, &holder) == WW_OK; i++) {
		char program[WW_PROGRAM_BYTES];

		format_safe(holder.program, program, sizeof(program));
		json_array_append_new(list,
			json_pack("{s:o, s:s, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "pid",
				integer(holder.pid), "program", program, "uid", integer(holder.uid),
				"user", view_user(names, holder.uid), "attached",
				(int)holder.is_attached, "held", integer(holder.held), "held_bytes",
				integer(holder.held_bytes), "put", integer(holder.put), "put_bytes",
				integer(holder.put_bytes), "age_ns", integer(holder.age_ns)));
	}
	return list;
}

static json_t *json_of_all(const struct sample *now, const struct sample *before,
	const struct sample *processes, ww_broker *broker, struct view *names)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "broker",
		json_of_broker(now, before, ww_broker_address(broker)), "users",
		json_of_users(now, before, names), "devices", json_of_devices(now, names),
		"requests", json_of_requests(now, before), "objects",
		json_of_objects(now, broker, names), "processes",
		json_of_processes(processes, names));
}

/* The first look at each row's pages; the second one gives its rate. */
static void look_at_rows(const struct sample *sample, ww_broker *broker)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);

	for (size_t i = 0; sample->rows && ww_snapshot_object(sample->rows, i, &object) == WW_OK;
		i++)
		(void)meter_rate(broker, &object);
}

int top_json(const char *address, ww_broker **broker, struct wish *wish, struct view *names,
	uint64_t interval_ns)
{
	struct sample before, now, processes;
	int code = EXIT_FAILED;

	wish->view = TOP_OBJECTS;
	sample_take(&before, address, broker, wish);
	if (before.totals)
		look_at_rows(&before, *broker);
	if (before.totals && !interrupt_sleep(before.at_ns + interval_ns))
		complain("interrupted");
	sample_take(&now, address, broker, wish);
	wish->view = TOP_PROCESSES;
	sample_take(&processes, address, broker, wish);
	if (!now.totals || !processes.totals)
		code = refuse("%s", now.totals ? processes.fault : now.fault);
	else if (report_json(json_of_all(&now, &before, &processes, *broker, names),
			 JSON_INDENT(2)) == 0)
		code = EXIT_DONE;
	sample_free(&before);
	sample_free(&now);
	sample_free(&processes);
	return code;
}
