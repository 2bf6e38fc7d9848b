/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what the demo has shown, as a table or as JSON
 */
#include "demo/demo.h"

#include <jansson.h>
#include <stdio.h>

#include "common/device.h"
#include "common/table.h"

static void join_routes(uint32_t routes, char *out_text, size_t room)
{
	size_t used = 0;

	snprintf(out_text, room, "-");
	for (uint32_t route = 0; route < 32 && used < room; route++) {
		if (routes & (UINT32_C(1) << route))
			used += (size_t)snprintf(out_text + used, room - used, "%s%s",
				used ? ", " : "", demo_route_name(route));
	}
}

static void print_table(const struct demo_step steps[], size_t count)
{
	struct table table;

	table_init(&table, "lllrl");
	table_add(&table, "step\tdevice\troute\tms\tshown");
	for (size_t i = 0; i < count; i++) {
		char routes[DEMO_TEXT_BYTES];

		join_routes(steps[i].routes, routes, sizeof(routes));
		table_add(&table, "%s\t%s\t%s\t%.1f\t%s", steps[i].name, steps[i].devices, routes,
			steps[i].ms, steps[i].passed ? steps[i].shown : "FAILED");
	}
	fputc('\n', stdout);
	table_print(&table, stdout);
	table_fini(&table);
}

static json_t *json_of_routes(uint32_t routes)
{
	json_t *array = json_array();

	for (uint32_t route = 0; route < 32; route++) {
		if (routes & (UINT32_C(1) << route))
			json_array_append_new(array, json_string(demo_route_name(route)));
	}
	return array;
}

static json_t *json_of_step(const struct demo_step *step)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:f, s:b}", "step", step->name, "shown",
		step->passed ? step->shown : "", "device", step->devices, "routes",
		json_of_routes(step->routes), "ms", step->ms, "passed", (int)step->passed);
}

static int print_json(const struct demo *demo, const struct demo_step steps[], size_t count)
{
	json_t *list = json_array();
	json_t *root;
	bool passed = true;

	for (size_t i = 0; i < count; i++) {
		passed = passed && steps[i].passed;
		json_array_append_new(list, json_of_step(&steps[i]));
	}
	root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:b}", "device",
		demo->info.selector, "name", demo->info.name, "driver", demo->info.driver, "mps",
		device_mps_name(&demo->info), "version", ww_version(), "elements",
		(json_int_t)demo->elements, "processes", (json_int_t)demo->processes, "steps", list,
		"passed", (int)passed);
	return report_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}

int demo_report(const struct demo *demo, const struct demo_step steps[], size_t count)
{
	if (demo->json)
		return print_json(demo, steps, count);
	print_table(steps, count);
	return 0;
}
