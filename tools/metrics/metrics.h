/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the program `warpway-metrics`, which `warpway metrics` becomes: a broker's sums in
 * the text format of Prometheus
 *
 * It is an ordinary client of the broker, which has no HTTP and no network.
 *
 *   broker ──ww_totals──> exposition ──text──> a file (--once), or http ──> Prometheus
 */
#ifndef TOOLS_METRICS_METRICS_H
#define TOOLS_METRICS_METRICS_H

#include <warpway/monitor.h>

#include <pthread.h>
#include <stddef.h>

#include "warpway/object_view.h"

/* --- exposition.c --- */

/*
 * Labels that were used so far. Programs can name any device, so a program that names a new one
 * each second would make the series of Prometheus grow without end. So a user gets no more than
 * these in its rows, as long as this process lives; what is on others counts as "other". Each user
 * has its own, so none takes those of another one. The host, and no device, always have theirs.
 */
#define LABEL_USERS   1024
#define LABEL_DEVICES 64

struct label_devices {
	uint32_t count;
	uint8_t uuids[LABEL_DEVICES][WW_DEVICE_UUID_BYTES];
};

struct labels {
	struct view view;
	uint32_t users[LABEL_USERS];
	struct label_devices devices[LABEL_USERS]; /* of these users */
	size_t user_count;
};

/* What the broker said. One that is older than version 7 of the protocol answers without totals. */
struct sample {
	bool answers;
	ww_totals *totals; /* NULL: none */
	struct ww_broker_totals all;
	struct ww_broker_info info;
};

/**
 * exposition_make() - the page that Prometheus reads
 * @labels:     grows by those that are new
 * @out_text:   the caller's, to be freed; NULL on failure
 * @out_bytes:  without the ending zero
 * Return: 0; -1: there is no memory.
 */
int exposition_make(struct labels *labels, const struct sample *sample, char **out_text,
	size_t *out_bytes);

/* --- scrape.c --- */

/*
 * The connection to the broker, and the last page. A page that is younger than a second is given
 * again, so that whoever asks too often costs the broker nothing.
 */
struct scraper {
	pthread_mutex_t lock;
	const char *address; /* of the broker, as given; NULL: the default */
	ww_broker *broker;   /* NULL: not connected */
	struct labels labels;
	char *text;
	size_t bytes;
	uint64_t made_ns; /* 0: there is no page */
};

void scraper_init(struct scraper *scraper, const char *address);
void scraper_fini(struct scraper *scraper);

/**
 * scraper_page() - a page, asked for now or just before
 * @out_text:  the caller's, to be freed
 * Return: 0; -1: there is no memory.
 */
int scraper_page(struct scraper *scraper, char **out_text, size_t *out_bytes);

/* --- http.c --- */

/**
 * http_serve() - answer GET /metrics until interrupted
 * @where:  "127.0.0.1:PORT", "[::1]:PORT" or the path of a Unix socket
 * @mode:   permission bits of that socket
 * Return: the exit code; what went wrong was said.
 */
int http_serve(struct scraper *scraper, const char *where, unsigned int mode);

/* --- listen.c --- */

struct listener {
	int fd;           /* -1: none */
	const char *path; /* of a Unix socket; NULL: an address of this machine */
};

/* Return: 0; the exit code after saying what went wrong. */
int listener_open(struct listener *listener, const char *where, unsigned int mode);

/* Removes the socket's file. When it is closed, the path may be another process's already. */
void listener_leave_path(struct listener *listener);

/* Closes it, and removes the socket's file. */
void listener_close(struct listener *listener);

#endif
