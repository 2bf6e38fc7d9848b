/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_option.h - options of a name in a broker: who may open what it names
 *
 * Both are .take of an option whose place is a uint32_t.
 */
#ifndef TOOLS_WARPWAY_NAME_OPTION_H
#define TOOLS_WARPWAY_NAME_OPTION_H

/* --mode, in octal. Return: 0, or EXIT_CANNOT after saying why not. */
int name_take_mode(void *place, const char *text);

/* --group, by name or number; likewise. */
int name_take_group(void *place, const char *text);

#endif
