/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_broker.h - a broker of one's own, in a folder that goes away with it
 *
 * For verbs that show or measure something: nobody else's broker is touched, nobody else's objects
 * are in the way. Should this process be killed, the broker leaves by itself when nothing is left
 * in it.
 */
#ifndef TOOLS_COMMON_TEMP_BROKER_H
#define TOOLS_COMMON_TEMP_BROKER_H

#include <stdbool.h>
#include <sys/types.h>

#include <warpway/warpway.h>

#define TEMP_BROKER_FOLDER_BYTES 64

struct temp_broker {
	char folder[TEMP_BROKER_FOLDER_BYTES]; /* empty: there is none */
	char address[WW_ADDRESS_BYTES];
	bool serves;
};

#define TEMP_BROKER_NONE        \
	{                       \
		.folder = { 0 } \
	}

/**
 * temp_broker_open() - start a broker
 * @settings:  of its configuration file, see warpwayd.conf(5); NULL: none
 * Return: 0, or -1 after saying what went wrong.
 */
int temp_broker_open(struct temp_broker *temp_broker, const char *settings);

/* Ends the broker, with what is in it, and waits until it is gone; removes the folder. */
void temp_broker_close(struct temp_broker *temp_broker);

static inline void own_temp_broker(struct temp_broker *temp_broker)
{
	temp_broker_close(temp_broker);
}

#endif
