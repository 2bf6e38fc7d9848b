/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exposition.c - a broker's sums in the text format of Prometheus, see metrics.h
 *
 * Names follow Prometheus's conventions: the unit at the end, _total for what only grows. Labels
 * are users by number, devices, kinds, requests and reasons; never a name of an object. Rows that
 * get the same labels are added up.
 */
#include "metrics/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHER (-1)
#define HOST  (-2) /* devices */
#define NONE  (-3)

/* --- labels --- */

/* Return: the number of a label; OTHER: there are too many. */
static int label_of_user(struct labels *labels, uint32_t uid)
{
	for (size_t i = 0; i < labels->user_count; i++) {
		if (labels->users[i] == uid)
			return (int)i;
	}
	if (labels->user_count == LABEL_USERS)
		return OTHER;
	labels->users[labels->user_count] = uid;
	return (int)labels->user_count++;
}

/* Return: the number of a label among the user's; OTHER; HOST; NONE. */
static int label_of_device(struct labels *labels, int user, const struct ww_device_total *row)
{
	struct label_devices *devices = user == OTHER ? NULL : &labels->devices[user];
	char text[FORMAT_UUID_BYTES];

	if (row->is_others)
		return OTHER;
	view_device(&labels->view, row->home_uuid, 0, text);
	if (!strcmp(text, "-"))
		return NONE;
	if (!strcmp(text, "host"))
		return HOST;
	for (uint32_t i = 0; devices && i < devices->count; i++) {
		if (!memcmp(devices->uuids[i], row->home_uuid, sizeof(row->home_uuid)))
			return (int)i;
	}
	if (!devices || devices->count == LABEL_DEVICES)
		return OTHER;
	memcpy(devices->uuids[devices->count], row->home_uuid, sizeof(row->home_uuid));
	return (int)devices->count++;
}

static const char *user_text(const struct labels *labels, int user, char out_text[16])
{
	if (user == OTHER)
		return "other";
	snprintf(out_text, 16, "%" PRIu32, labels->users[user]);
	return out_text;
}

static const char *device_text(const struct labels *labels, int user, int device,
	char out_text[FORMAT_UUID_BYTES])
{
	switch (device) {
	case OTHER:
		return "other";
	case HOST:
		return "host";
	case NONE:
		return "none";
	default:
		format_uuid(labels->devices[user].uuids[device], out_text);
		return out_text;
	}
}

/* --- lines --- */

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	head(out, name, type, help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void print_broker(FILE *out, const struct sample *sample)
{
	const struct ww_broker_totals *all = &sample->all;
	const struct ww_broker_info *info = &sample->info;
	char version[64];

	format_safe(info->version, version, sizeof(version));
	for (char *at = version; *at; at++) {
		if (*at == '"' || *at == '\\')
			*at = '?';
	}
	head(out, "warpway_broker_info", "gauge", "Versions of the broker, always 1.");
	fprintf(out, "warpway_broker_info{version=\"%s\",protocol=\"%" PRIu32 "\"} 1\n", version,
		info->protocol);
	single(out, "warpway_broker_restarts_total", "counter",
		"Restarts of the broker process by its supervisor.", info->restarts);
	head(out, "warpway_broker_uptime_seconds", "gauge",
		"Time since the broker process started.");
	fprintf(out, "warpway_broker_uptime_seconds %.3f\n", (double)all->up_ns / 1e9);
	single(out, "warpway_broker_resident_memory_bytes", "gauge",
		"Resident memory of the broker process.", info->memory_bytes);
	single(out, "warpway_broker_open_fds", "gauge", "Open descriptors of the broker process.",
		info->open_fds);
	single(out, "warpway_fds", "gauge", "Descriptors that are held for objects.", all->fds);
	single(out, "warpway_fds_limit", "gauge", "How many descriptors can be held for objects.",
		all->fds_limit);
	single(out, "warpway_connections", "gauge",
		"Connections, and processes whose end is awaited.", all->connections);
	single(out, "warpway_connections_limit", "gauge", "How many connections there can be.",
		all->connections_limit);
	single(out, "warpway_processes", "gauge", "Processes that are connected or hold something.",
		all->holders);
	single(out, "warpway_holds", "gauge", "Uses of objects by processes, and tokens in escrow.",
		all->holds);
	single(out, "warpway_waiting_requests", "gauge", "Requests that wait for something.",
		all->waits);
	single(out, "warpway_connections_refused_total", "counter",
		"Connections that were refused.", all->refused_connections);
	single(out, "warpway_refusals_unlogged_total", "counter",
		"Refusals that are not in the log, since they were too many.", all->unlogged);
}

/* --- requests --- */

/* "WW_ERR_QUOTA" as "quota"; what this program does not know as "unknown". */
static void status_text(ww_status status, char out_text[32])
{
	const char *name = ww_status_name(status);
	size_t i = 0;

	name += strncmp(name, "WW_ERR_", 7) ? 3 : 7;
	for (; name[i] && i < 31; i++)
		out_text[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	out_text[i] = 0;
}

/* Rows of one request and reason may come twice: they are added to the first. */
static uint64_t request_sum(ww_totals *totals, size_t first, const struct ww_request_total *row)
{
	struct ww_request_total other = WW_INIT(struct ww_request_total);
	uint64_t sum = 0;

	for (size_t i = 0; ww_totals_request(totals, i, &other) == WW_OK; i++) {
		if (strcmp(ww_status_name(other.status), ww_status_name(row->status)) != 0 ||
			strcmp(other.request, row->request) != 0)
			continue;
		if (i < first)
			return 0; /* it was printed with that one */
		sum += other.count;
	}
	return sum;
}

static void print_requests(FILE *out, ww_totals *totals)
{
	struct ww_request_total row = WW_INIT(struct ww_request_total);
	char reason[32];
	uint64_t sum;

	head(out, "warpway_requests_total", "counter", "Requests that came to the broker.");
	for (size_t i = 0; ww_totals_request(totals, i, &row) == WW_OK; i++) {
		sum = row.status == 0 ? request_sum(totals, i, &row) : 0;
		if (sum > 0)
			fprintf(out, "warpway_requests_total{request=\"%s\"} %" PRIu64 "\n",
				row.request, sum);
	}
	head(out, "warpway_requests_refused_total", "counter",
		"Requests that the broker refused, by reason.");
	for (size_t i = 0; ww_totals_request(totals, i, &row) == WW_OK; i++) {
		sum = row.status != 0 ? request_sum(totals, i, &row) : 0;
		status_text(row.status, reason);
		if (sum > 0)
			fprintf(out,
				"warpway_requests_refused_total{request=\"%s\",reason=\"%s\"} "
				"%" PRIu64 "\n",
				row.request, reason, sum);
	}
}

/* --- users --- */

struct user_metric {
	const char *name;
	const char *type;
	const char *help;
	size_t offset;   /* in struct ww_user_total */
	bool is_a_limit; /* 0 means none, and is not told */
};

#define USED(name, field, help)                                                   \
	{                                                                         \
		name, "gauge", help, offsetof(struct ww_user_total, field), false \
	}
#define LIMIT(name, field, help)                                                 \
	{                                                                        \
		name, "gauge", help, offsetof(struct ww_user_total, field), true \
	}
#define GROWS(name, field, help)                                                    \
	{                                                                           \
		name, "counter", help, offsetof(struct ww_user_total, field), false \
	}

static const struct user_metric user_metrics[] = {
	USED("warpway_user_used_bytes", bytes, "Bytes of objects that are charged to a user."),
	LIMIT("warpway_user_limit_bytes", bytes_limit, "The user's limit of bytes of objects."),
	USED("warpway_user_used_host_bytes", host_bytes, "Of these, in host memory."),
	LIMIT("warpway_user_limit_host_bytes", host_bytes_limit,
		"The user's limit of bytes in host memory."),
	USED("warpway_user_used_objects", objects, "Objects that are charged to a user."),
	LIMIT("warpway_user_limit_objects", objects_limit, "The user's limit of objects."),
	USED("warpway_user_used_fds", fds, "Descriptors of objects that are charged to a user."),
	LIMIT("warpway_user_limit_fds", fds_limit, "The user's limit of descriptors."),
	USED("warpway_user_used_holds", holds, "Uses of objects, and tokens, of a user."),
	LIMIT("warpway_user_limit_holds", holds_limit, "The user's limit of uses and tokens."),
	USED("warpway_user_used_connections", connections, "Connections of a user."),
	LIMIT("warpway_user_limit_connections", connections_limit,
		"The user's limit of connections."),
	USED("warpway_user_used_waiting_requests", waits, "Requests of a user that wait."),
	LIMIT("warpway_user_limit_waiting_requests", waits_limit,
		"The user's limit of requests that wait."),
	USED("warpway_user_used_watches", watches, "Watches of a user."),
	LIMIT("warpway_user_limit_watches", watches_limit, "The user's limit of watches."),
	USED("warpway_user_processes", holders, "Processes of a user."),
	USED("warpway_user_tokens", tokens, "Tokens of a user in escrow, without deliveries."),
	USED("warpway_user_deliveries", deliveries, "Deliveries of a user in flight."),
	USED("warpway_user_delivery_bytes", delivery_bytes,
		"Bytes of the objects of deliveries in flight."),
	GROWS("warpway_user_requests_total", requests, "Requests of a user."),
	GROWS("warpway_user_requests_refused_total", refused,
		"Requests of a user that the broker refused."),
};

static uint64_t field_of(const void *row, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)row + offset, sizeof(value));
	return value;
}

static void print_user_metric(FILE *out, struct labels *labels, ww_totals *totals,
	const struct user_metric *metric)
{
	struct ww_user_total row = WW_INIT(struct ww_user_total);
	bool is_told[LABEL_USERS] = {false};
	uint64_t others = 0;
	bool has_others = false;
	char text[16];

	head(out, metric->name, metric->type, metric->help);
	for (size_t i = 0; ww_totals_user(totals, i, &row) == WW_OK; i++) {
		uint64_t value = field_of(&row, metric->offset);
		int user = label_of_user(labels, row.uid);

		if (metric->is_a_limit && (value == 0 || user == OTHER))
			continue;
		if (user == OTHER) {
			others += value;
			has_others = true;
			continue;
		}
		if (is_told[user]) /* it ended and came again between two pages of the broker */
			continue;
		is_told[user] = true;
		fprintf(out, "%s{uid=\"%s\"} %" PRIu64 "\n", metric->name,
			user_text(labels, user, text), value);
	}
	if (has_others)
		fprintf(out, "%s{uid=\"other\"} %" PRIu64 "\n", metric->name, others);
}

static void print_users(FILE *out, struct labels *labels, ww_totals *totals)
{
	for (size_t i = 0; i < sizeof(user_metrics) / sizeof(user_metrics[0]); i++)
		print_user_metric(out, labels, totals, &user_metrics[i]);
}

/* --- devices --- */

/* Objects of one user, device and kind, as labels name them. */
struct device_sum {
	int user;
	int device;
	uint32_t kind;
	uint64_t values[4];
};

struct device_sums {
	struct device_sum *rows; /* owned */
	size_t count;
};

static int compare_sums(const void *left, const void *right)
{
	const struct device_sum *a = left;
	const struct device_sum *b = right;

	if (a->user != b->user)
		return a->user < b->user ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Adds up what has the same labels. */
static void merge_sums(struct device_sums *sums)
{
	size_t kept = 0;

	if (sums->count == 0)
		return;
	qsort(sums->rows, sums->count, sizeof(*sums->rows), compare_sums);
	for (size_t i = 1; i < sums->count; i++) {
		if (compare_sums(&sums->rows[kept], &sums->rows[i]) != 0) {
			sums->rows[++kept] = sums->rows[i];
			continue;
		}
		for (size_t value = 0; value < 4; value++)
			sums->rows[kept].values[value] += sums->rows[i].values[value];
	}
	sums->count = kept + 1;
}

static int make_sums(struct labels *labels, ww_totals *totals, struct device_sums *out)
{
	struct ww_device_total row = WW_INIT(struct ww_device_total);
	size_t capacity = 0;
	int user;

	*out = (struct device_sums){NULL, 0};
	for (size_t i = 0; ww_totals_device(totals, i, &row) == WW_OK; i++) {
		if (out->count == capacity) {
			struct device_sum *larger;

			capacity = capacity ? 2 * capacity : 64;
			larger = realloc(out->rows, capacity * sizeof(*larger));
			if (!larger)
				return -1;
			out->rows = larger;
		}
		user = label_of_user(labels, row.uid);
		out->rows[out->count++] = (struct device_sum){
			.user = user,
			.device = label_of_device(labels, user, &row),
			.kind = row.kind <= WW_OBJECT_WORK_QUEUE ? row.kind : 0,
			.values = {row.objects, row.bytes, row.removed, row.removed_bytes},
		};
	}
	merge_sums(out);
	return 0;
}

static void print_device_metric(FILE *out, const struct labels *labels,
	const struct device_sums *sums, size_t value, const char *name, const char *help)
{
	char user[16];
	char device[FORMAT_UUID_BYTES];

	head(out, name, "gauge", help);
	for (size_t i = 0; i < sums->count; i++) {
		const struct device_sum *row = &sums->rows[i];

		fprintf(out, "%s{uid=\"%s\",device=\"%s\",kind=\"%s\"} %" PRIu64 "\n", name,
			user_text(labels, row->user, user),
			device_text(labels, row->user, row->device, device), format_kind(row->kind),
			row->values[value]);
	}
}

static int print_devices(FILE *out, struct labels *labels, ww_totals *totals)
{
	struct device_sums sums;
	int code = make_sums(labels, totals, &sums);

	if (code == 0) {
		print_device_metric(out, labels, &sums, 0, "warpway_objects",
			"Objects that can be had.");
		print_device_metric(out, labels, &sums, 1, "warpway_object_bytes",
			"Bytes of objects that can be had.");
		print_device_metric(out, labels, &sums, 2, "warpway_removed_objects",
			"Objects that have ended, and that processes still hold.");
		print_device_metric(out, labels, &sums, 3, "warpway_removed_object_bytes",
			"Bytes of objects that have ended, and that processes still hold.");
	}
	free(sums.rows);
	return code;
}

int exposition_make(struct labels *labels, const struct sample *sample, char **out_text,
	size_t *out_bytes)
{
	FILE *out = open_memstream(out_text, out_bytes);
	int code = 0;

	if (!out)
		return -1;
	single(out, "warpway_up", "gauge", "Whether the broker answers.", sample->answers);
	if (sample->totals) {
		print_broker(out, sample);
		print_requests(out, sample->totals);
		print_users(out, labels, sample->totals);
		code = print_devices(out, labels, sample->totals);
	}
	code = ferror(out) ? -1 : code;
	if (fclose(out) || code < 0) {
		free(*out_text);
		*out_text = NULL;
		return -1;
	}
	return 0;
}
