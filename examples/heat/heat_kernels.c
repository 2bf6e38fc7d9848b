/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_kernels.c - the kernel of the heat daemon for the host device, in the place of a GPU
 *
 * It computes the same as heat_kernels.ptx, whose source is heat_kernels.cu: change both together.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/module.h>

struct source {
	float x;
	float y;
	float radius;
	float temperature;
	float column; /* the nearest cell */
	float row;
	float reserved[2];
};

struct grid {
	const float *from;
	const struct source *sources;
	uint32_t count;
	float x;
	float y;
	uint32_t rows;
	uint32_t columns;
};

extern const uint32_t heat_step_argument_bytes[];
void heat_step(const struct ww_host_launch *launch, void *const *arguments);

const uint32_t heat_step_argument_bytes[] = {8, 8, 8, 4, 4, 4, 4, 4, 0};

static bool is_held(const struct grid *grid, const struct source *source, uint32_t row,
	uint32_t column)
{
	float dx = (float)column / (float)(grid->columns - 1) - source->x;
	float dy = (float)row / (float)(grid->rows - 1) - source->y;

	return dx * dx + dy * dy <= source->radius * source->radius ||
		((float)column == source->column && (float)row == source->row);
}

static float next_of(const struct grid *grid, uint32_t row, uint32_t column)
{
	const float *cell = grid->from + (size_t)row * grid->columns + column;
	float next;

	if (row == 0 || column == 0 || row == grid->rows - 1 || column == grid->columns - 1)
		return 0;
	next = *cell + grid->x * (cell[-1] - 2 * *cell + cell[1]) +
		grid->y * (*(cell - grid->columns) - 2 * *cell + cell[grid->columns]);
	for (uint32_t i = 0; i < grid->count; i++) {
		if (is_held(grid, &grid->sources[i], row, column))
			next = grid->sources[i].temperature;
	}
	return next;
}

void heat_step(const struct ww_host_launch *launch, void *const *arguments)
{
	struct grid grid = {
		.from = *(const float *const *)arguments[0],
		.sources = *(const struct source *const *)arguments[2],
		.count = *(const uint32_t *)arguments[3],
		.x = *(const float *)arguments[4],
		.y = *(const float *)arguments[5],
		.rows = *(const uint32_t *)arguments[6],
		.columns = *(const uint32_t *)arguments[7],
	};
	float *to = *(float **)arguments[1];

	(void)launch;
	for (uint32_t row = 0; row < grid.rows; row++) {
		for (uint32_t column = 0; column < grid.columns; column++)
			to[(size_t)row * grid.columns + column] = next_of(&grid, row, column);
	}
}
