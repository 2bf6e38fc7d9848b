/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.h - a broker of one's own, in a folder that goes away with it
 *
 * For verbs that show or measure something: nobody else's broker is touched, nobody else's objects are in the way.
 * Should this process be killed, the broker leaves by itself when nothing is left in it.
 */
#ifndef TOOLS_NEST_H
#define TOOLS_NEST_H

#include <stdbool.h>
#include <sys/types.h>

#include <warpway/warpway.h>

#define NEST_FOLDER_BYTES 64

struct nest {
	char folder[NEST_FOLDER_BYTES]; /* empty: there is none */
	char address[WW_ADDRESS_BYTES];
	bool serves;
};

#define NEST_NONE               \
	{                       \
		.folder = { 0 } \
	}

/**
 * nest_open() - start a broker
 * @settings:  of its configuration file, see warpwayd.conf(5); NULL: none
 * Return: 0, or -1 after saying what went wrong.
 */
int nest_open(struct nest *nest, const char *settings);

/* Ends the broker, with what is in it, and waits until it is gone; removes the folder. */
void nest_close(struct nest *nest);

static inline void own_nest(struct nest *nest)
{
	nest_close(nest);
}

#endif
