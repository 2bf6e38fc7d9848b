/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - end on Ctrl-C out of a call that waits
 *
 * The program waits for memory that nobody puts. The handler of SIGINT sets a ww_cancel; the call
 * that waits returns WW_CANCELLED, the program lets go of what it has, and ends in order. Here a
 * timer is so kind as to press Ctrl-C.
 *
 *   cancel [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 *   cancel --wait        waits for a real Ctrl-C
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warpway/warpway.h>

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

static ww_cancel *stop;

/* ww_cancel_set() is one of the few calls that a signal handler may make. */
static void on_interrupt(int number)
{
	(void)number;
	ww_cancel_set(stop);
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_interrupt};
	int is_real = argc > 1 && strcmp(argv[1], "--wait") == 0;
	ww_memory *memory;
	ww_device *device;
	ww_broker *broker;
	char name[WW_NAME_BYTES];
	ww_status status;

	check(ww_device_open(argc > 1 && !is_real ? argv[1] : NULL, &device));
	check(ww_broker_open(NULL, &broker));
	check(ww_cancel_create(&stop));
	sigaction(SIGINT, &action, NULL);
	if (!is_real) {
		/* As if the user had pressed Ctrl-C in a second. */
		sigaction(SIGALRM, &action, NULL);
		alarm(1);
	}
	snprintf(name, sizeof(name), "cancel-%d/never", (int)getpid());
	printf("waiting for %s\n", name);
	fflush(stdout);
	status = ww_memory_get(device, broker, name, NULL, WW_FOREVER, stop, &memory, NULL);
	if (status != WW_CANCELLED) {
		check(status);
		fprintf(stderr, "somebody has put %s\n", name);
		return 1;
	}
	printf("interrupted; letting go of everything\n");
	/* The broker and the device are as they were: other calls go on working. */
	ww_cancel_clear(stop);
	if (ww_memory_get(device, broker, name, NULL, 0, stop, &memory, NULL) != WW_ERR_NOT_FOUND)
		return 1;
	ww_broker_unref(broker);
	ww_device_unref(device);
	/* The handler uses the flag, so it goes first. */
	signal(SIGINT, SIG_DFL);
	ww_cancel_unref(stop);
	return 0;
}
