/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - what the daemon in C computes, with plain loops
 */
#include "field.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static uint32_t nearest(double place, uint32_t cells)
{
	return (uint32_t)fmin(fmax(round(place * (cells - 1)), 1), cells - 2);
}

static void hold_source(const struct heat_source *source, float *field, uint32_t rows,
	uint32_t columns)
{
	uint32_t first_row = nearest(source->y - source->radius, rows);
	uint32_t last_row = nearest(source->y + source->radius, rows);
	uint32_t first_column = nearest(source->x - source->radius, columns);
	uint32_t last_column = nearest(source->x + source->radius, columns);

	for (uint32_t row = first_row; row <= last_row; row++) {
		for (uint32_t column = first_column; column <= last_column; column++) {
			double dx = (double)column / (columns - 1) - source->x;
			double dy = (double)row / (rows - 1) - source->y;

			if (dx * dx + dy * dy <= source->radius * source->radius)
				field[(size_t)row * columns + column] = (float)source->temperature;
		}
	}
	field[(size_t)nearest(source->y, rows) * columns +
		nearest(source->x, columns)] = (float)source->temperature;
}

void field_hold_sources(const struct heat_state *state, float *field)
{
	uint32_t count = state->source_count;
	uint32_t first = count > HEAT_SOURCES ? count - HEAT_SOURCES : 0;

	for (uint32_t i = first; i < count; i++)
		hold_source(&state->sources[i % HEAT_SOURCES], field, state->rows, state->columns);
}

void field_diffuse(const float *from, float *to, uint32_t rows, uint32_t columns, float x, float y)
{
	memset(to, 0, sizeof(*to) * columns);
	memset(to + (size_t)(rows - 1) * columns, 0, sizeof(*to) * columns);
	for (uint32_t row = 1; row < rows - 1; row++) {
		const float *middle = from + (size_t)row * columns;
		const float *above = middle - columns;
		const float *below = middle + columns;
		float *out = to + (size_t)row * columns;

		out[0] = 0;
		out[columns - 1] = 0;
		for (uint32_t i = 1; i < columns - 1; i++)
			out[i] = middle[i] + x * (middle[i - 1] - 2 * middle[i] + middle[i + 1]) +
				y * (above[i] - 2 * middle[i] + below[i]);
	}
}

void field_resample(const float *from, uint32_t from_rows, uint32_t from_columns, float *to,
	uint32_t rows, uint32_t columns)
{
	for (uint32_t row = 0; row < rows; row++) {
		double y = (double)row * (from_rows - 1) / (rows - 1);
		uint32_t above = (uint32_t)fmin(y, from_rows - 2);

		for (uint32_t column = 0; column < columns; column++) {
			double x = (double)column * (from_columns - 1) / (columns - 1);
			uint32_t left = (uint32_t)fmin(x, from_columns - 2);
			const float *cell = from + (size_t)above * from_columns + left;
			double upper = cell[0] + (x - left) * ((double)cell[1] - cell[0]);
			double lower = cell[from_columns] +
				(x - left) * ((double)cell[from_columns + 1] - cell[from_columns]);

			to[(size_t)row * columns + column] = (float)(upper +
				(y - above) * (lower - upper));
		}
	}
}

void field_measure(const float *field, struct heat_metadata *metadata)
{
	size_t count = (size_t)metadata->rows * metadata->columns;
	float minimum = field[0];
	float maximum = field[0];
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		minimum = field[i] < minimum ? field[i] : minimum;
		maximum = field[i] > maximum ? field[i] : maximum;
		sum += field[i];
	}
	metadata->minimum = minimum;
	metadata->maximum = maximum;
	metadata->mean = sum / (double)count;
}
