/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - text in aligned columns
 *
 * Rows are collected first, since a column is as wide as its widest cell, and printed at the end.
 */
#ifndef TOOLS_COMMON_TABLE_H
#define TOOLS_COMMON_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 10

struct table {
	size_t columns;
	const char *right; /* one letter a column: 'r' aligns right, anything else left */
	char **cells;      /* row by row, the heading first */
	size_t count;
	size_t capacity;
};

/* @align is kept; its length is the number of columns, at most TABLE_COLUMNS_MAX. */
void table_init(struct table *table, const char *align);
void table_fini(struct table *table);

/* Adds a row, or a part of one: cells with tabs between. Text is copied. */
__attribute__((format(printf, 2, 3))) void table_add(struct table *table, const char *format, ...);

void table_print(const struct table *table, FILE *file);

#endif
