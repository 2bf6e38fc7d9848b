/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h - the computation of the heat daemon in C
 *
 * A field has rows x columns cells in C order, on the unit square: x runs with the columns, y with
 * the rows. The cells of its edges are 0.
 */
#ifndef HEAT_FIELD_H
#define HEAT_FIELD_H

#include "heat.h"

/* One step, into another field; @x and @y are diffusivity * time step / dx^2, and / dy^2. */
void field_diffuse(const float *from, float *to, uint32_t rows, uint32_t columns, float x, float y);

/* Holds the cells of each source at its temperature, at least one; the edges stay at 0. */
void field_hold_sources(const struct heat_state *state, float *field);

/* Fills a field from one with other rows and columns, linearly between its cells. */
void field_resample(const float *from, uint32_t from_rows, uint32_t from_columns, float *to,
	uint32_t rows, uint32_t columns);

/* Sets minimum, maximum and mean of a field that has the metadata's rows and columns. */
void field_measure(const float *field, struct heat_metadata *metadata);

#endif
