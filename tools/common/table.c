/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - text in aligned columns
 *
 * A tool that is out of memory has nothing left to show: table_add() ends the process then.
 */
#include "common/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *table, const char *align)
{
	memset(table, 0, sizeof(*table));
	table->columns = strlen(align);
	table->right = align;
}

void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
}

static void out_of_memory(void)
{
	fprintf(stderr, "warpway: out of memory\n");
	abort();
}

static void add_cell(struct table *table, const char *text)
{
	if (table->count == table->capacity) {
		table->capacity = table->capacity ? 2 * table->capacity : 64;
		table->cells = reallocarray(table->cells, table->capacity, sizeof(*table->cells));
		if (!table->cells)
			out_of_memory();
	}
	table->cells[table->count] = strdup(text);
	if (!table->cells[table->count++])
		out_of_memory();
}

void table_add(struct table *table, const char *format, ...)
{
	va_list arguments;
	char *row;
	char *rest;

	va_start(arguments, format);
	if (vasprintf(&row, format, arguments) < 0)
		out_of_memory();
	va_end(arguments);
	rest = row;
	while (rest)
		add_cell(table, strsep(&rest, "\t"));
	free(row);
}

/* How many columns text takes on a terminal: bytes that start a UTF-8 character. */
static int display_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void print_cell(const struct table *table, FILE *file, size_t index, int width)
{
	const char *text = table->cells[index];
	size_t column = index % table->columns;
	int pad = width - display_width(text);

	if (table->right[column] == 'r')
		fprintf(file, "%*s%s", pad, "", text);
	else if (column + 1 < table->columns)
		fprintf(file, "%s%*s", text, pad, "");
	else
		fputs(text, file);
	fputs(column + 1 < table->columns ? "  " : "\n", file);
}

void table_print(const struct table *table, FILE *file)
{
	int widths[TABLE_COLUMNS_MAX] = {0};

	for (size_t i = 0; i < table->count; i++) {
		int width = display_width(table->cells[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (size_t i = 0; i < table->count; i++)
		print_cell(table, file, i, widths[i % table->columns]);
}
