/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h - what the files of `warpway doctor` share
 *
 *   doctor.c                runs all, in this order
 *     machine.c, place.c    tries of this process alone: kernel, limits, namespaces
 *     programs.c, broker.c  programs that are run, the broker that serves, one of the doctor's own
 *     devices.c             starts a child for the driver, for each device, for the routes:
 *       probe_driver.c        `warpway doctor-child driver`
 *       probe_device.c        `warpway doctor-child device`, and its second process:
 *       peer.c                `warpway doctor-child peer`
 *       probe_route.c         `warpway doctor-child route`
 *     report.c              text and JSON, of the same results
 *
 * This process never loads the CUDA driver: a driver that crashes or hangs ends a child.
 */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <stdint.h>

#include "common/say.h"
#include "doctor/result.h"
#include "doctor/trial.h"
#include "warpway/verbs.h"

#define DOCTOR_DEVICES_MAX 32
#define DOCTOR_UUID_BYTES  48
#define DOCTOR_NAME_BYTES  100
#define DOCTOR_ERRORS_MAX  8

/* A GPU, as the driver lists it; the first device of all is the host. */
struct doctor_device {
	char selector[16];
	char uuid[DOCTOR_UUID_BYTES];
	char name[DOCTOR_NAME_BYTES];
	uint64_t bytes;
};

/* How one device reaches another one's memory. */
struct doctor_route {
	char from[16]; /* the device that reads and writes */
	char to[16];   /* whose memory it is */
	char route[RESULT_WORD_BYTES];
	double bytes_per_s; /* 0: not measured */
};

struct doctor {
	struct request request;
	const char *report; /* a file to write; NULL: none */
	bool bandwidth;
	uint64_t time_limit_ns; /* for the probes of one device */

	struct results results;
	struct doctor_device devices[DOCTOR_DEVICES_MAX];
	size_t device_count;
	struct doctor_route routes[DOCTOR_DEVICES_MAX * DOCTOR_DEVICES_MAX];
	size_t route_count;
	char driver[64];                 /* its version; empty: none */
	char *errors[DOCTOR_ERRORS_MAX]; /* what children said last on standard error */
	size_t error_count;
	bool has_broker; /* of its own; WARPWAY_BROKER names it */
	bool in_container;
};

/* Each adds its results. */
void doctor_machine(struct doctor *doctor);
void doctor_place(struct doctor *doctor);
void doctor_broker_running(struct doctor *doctor);

/* Programs that are run while the devices are probed: started, and read at the end. */
#define DOCTOR_PROGRAMS 3
void doctor_programs_start(const struct doctor *doctor, struct trial trials[DOCTOR_PROGRAMS]);
void doctor_programs_read(struct doctor *doctor, struct trial trials[DOCTOR_PROGRAMS]);
void doctor_mpi(struct doctor *doctor);

/* The driver, each device and the routes between them. */
void doctor_devices(struct doctor *doctor);

/* Whether a GPU is there, by what the kernel shows, whatever the driver says. */
bool doctor_sees_gpu(void);

/* Keeps what a child said on standard error, for the report. */
void doctor_keep_errors(struct doctor *doctor, const char *who, const struct trial *trial);

/* Whether two processes share memory of every device; false too where that was not tried. */
bool doctor_shares(const struct doctor *doctor);

/* Whether programs reach the broker that they would use here, or can start it. */
bool doctor_reaches_broker(const struct doctor *doctor);

/* @text: as people read it, else JSON. All return 0, or -1 after saying what went wrong. */
int doctor_print_text(const struct doctor *doctor, FILE *file);
int doctor_print_json(const struct doctor *doctor);
int doctor_write_report(const struct doctor *doctor);

/* Whether that file can be made, which is known before all is tried. Return: likewise. */
int doctor_try_report(const struct doctor *doctor);

#endif
