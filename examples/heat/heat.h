/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat.h - what the heat daemons in C and in Fortran have in common
 *
 * A daemon computes the heat equation on a grid, publishes the field as a channel, and offers
 * functions to steer it as a service. README.md has the whole interface. heatd.c is the daemon in C
 * and heatd.f90 the one in Fortran. Both use the C files behind this header for what is no
 * computation: command line, configuration, signals, systemd, log. heat_interface.f90 declares the
 * same for Fortran: change both together.
 */
#ifndef HEAT_H
#define HEAT_H

#include <stdint.h>

struct ww_broker; /* of warpway.h, which not every file needs */

#define HEAT_NAME_BYTES  96 /* of a prefix of names in the broker */
#define HEAT_TEXT_BYTES  512
#define HEAT_CELLS_LEAST 16 /* rows and columns of a field */
#define HEAT_CELLS_MOST  16384
#define HEAT_SOURCES     16

/* --- the channel: metadata of each frame, type "heat-frame/1", little endian --- */

#define HEAT_METADATA_TYPE  "heat-frame/1"
#define HEAT_METADATA_BYTES 128

enum {
	HEAT_IS_PAUSED = 1,
	HEAT_IS_LAST = 2, /* the daemon drains: no frame follows */
	HEAT_IS_GPU = 4
};

struct heat_metadata {
	uint64_t run;  /* random, not 0; the same for the whole simulation */
	uint64_t step; /* complete steps since the start of the simulation */
	double time;   /* simulated seconds */
	double diffusivity;
	double steps_per_second; /* of the last second */
	double minimum;          /* of this frame, as the next two */
	double maximum;
	double mean;
	uint32_t checksum; /* CRC-32 of the frame's bytes, as zlib computes it */
	uint32_t rows;
	uint32_t columns;
	uint32_t flags;    /* HEAT_IS_... bits */
	uint32_t restarts; /* how often a daemon has continued this simulation */
	uint32_t pid;      /* of the daemon */
	double source_x;   /* of the source that was set last */
	double source_y;
	double steps_per_second_max; /* 0: as fast as it can */
	uint64_t reserved[2];        /* 0 */
};

/* --- the service --- */

#define HEAT_SERVICE_VERSION "heat-steer/1"
#define HEAT_RATE_SAME       (-1.0) /* for steps_per_second_max: as it is */
#define HEAT_STATUS_SIGNATURE                                                             \
	"-> u64 run, u64 step, f64 time, u32 rows, u32 columns, f64 diffusivity, "        \
	"bool paused, f64 steps_per_second, u32 restarts, u64 frames, u32 watchers, u32 " \
	"watchers_max, u32 pid, u64 started_ns, bytes backend"

/* Its results, in their order. */
enum {
	HEAT_STATUS_RUN,
	HEAT_STATUS_STEP,
	HEAT_STATUS_TIME,
	HEAT_STATUS_ROWS,
	HEAT_STATUS_COLUMNS,
	HEAT_STATUS_DIFFUSIVITY,
	HEAT_STATUS_PAUSED,
	HEAT_STATUS_STEPS_PER_SECOND,
	HEAT_STATUS_RESTARTS,
	HEAT_STATUS_FRAMES,
	HEAT_STATUS_WATCHERS,
	HEAT_STATUS_WATCHERS_MAX,
	HEAT_STATUS_PID,
	HEAT_STATUS_STARTED_NS,
	HEAT_STATUS_BACKEND,
	HEAT_STATUS_COUNT
};

/* --- the kept state: two copies; each has a header, and the field at HEAT_STATE_BYTES --- */

#define HEAT_STATE_MAGIC UINT64_C(0x3165746174736848) /* the text "Hhstate1" */
#define HEAT_STATE_BYTES 4096

struct heat_source {
	double x;
	double y;
	double radius;
	double temperature;
};

/*
 * A copy is complete if magic and checksum are right. The one with the higher sequence is newer. A
 * writer sets magic to 0 before it changes a copy, and sets it again as the last store.
 */
struct heat_state {
	uint64_t magic;
	uint64_t sequence;
	uint64_t run;
	uint64_t step;
	double time;
	double diffusivity;
	double steps_per_second_max; /* 0: as fast as it can */
	uint32_t rows;
	uint32_t columns;
	uint32_t restarts;
	uint32_t is_paused;
	uint32_t source_count; /* ever set; the last HEAT_SOURCES of them hold */
	uint32_t checksum;     /* CRC-32 of the header with magic and checksum 0 */
	struct heat_source sources[HEAT_SOURCES];
};

/* --- the configuration: config.c --- */

struct heat_config {
	char name[HEAT_NAME_BYTES];    /* prefix of the names in the broker */
	char kernels[HEAT_NAME_BYTES]; /* name of the kernel server's service */
	char broker[108];              /* path of its socket; empty: the default broker */
	char backend[16];              /* "openmp" or "gpu" */
	char group[64];                /* who may watch; empty: only this user */
	char operators[64];            /* who may steer besides this user; empty: nobody */
	char path[HEAT_TEXT_BYTES];    /* of the file; empty: there is none */
	uint32_t gid;                  /* of group; 0: this user's own */
	uint32_t operators_gid;        /* of operators; 0: none */
	uint32_t rows;                 /* of a new simulation */
	uint32_t columns;
	uint32_t rows_max;
	uint32_t columns_max;
	uint32_t consumers_per_uid_max;
	uint32_t starts_anew; /* 1: --new: do not continue the kept simulation */
	double diffusivity;   /* of a new simulation, as the next one */
	double steps_per_second_max;
	double frames_per_second; /* 0: each step is a frame */
};

void heat_config_init(struct heat_config *config);

/*
 * Sets one value, as a line of the file does.
 * @out_error:  HEAT_TEXT_BYTES; why it is wrong, and what would be right
 * Return: 0; -1: it is wrong.
 */
int heat_config_set(struct heat_config *config, const char *key, const char *value,
	char *out_error);

/*
 * Reads a file into a configuration that has been initialised.
 * @out_error:  HEAT_TEXT_BYTES; which line is wrong, why, and what would be right
 * Return: 0; -1: it is wrong, or cannot be read; @config is as before.
 */
int heat_config_read(struct heat_config *config, const char *path, char *out_error);

/*
 * What only all values together show, also those of the command line.
 * @out_error:  HEAT_TEXT_BYTES; which values do not fit together
 * Return: 0; -1: they are wrong.
 */
int heat_config_check(const struct heat_config *config, char *out_error);

/* Says in the log which values of the configuration are not those of a simulation that goes on. */
void heat_config_compare(const struct heat_config *config, const struct heat_state *state);

/*
 * Reads the file again, and takes over what can change while a daemon runs. What it did, and what
 * needs a restart or a new simulation, goes into the log.
 * Return: 0; -1: it is wrong; @config is as before.
 */
int heat_config_reload(struct heat_config *config);

/*
 * Whether a client may steer: it is of this user, or in the group of operators by what it has
 * opened the service with, or by the group database.
 */
int heat_may_steer(const struct heat_config *config, uint32_t uid, uint32_t gid);

/* Who may steer, for those who may not. @out_text: HEAT_TEXT_BYTES */
void heat_refusal(const struct heat_config *config, uint32_t uid, char *out_text);

/* --- the command line: command.c --- */

/*
 * Does what the arguments say, but for running as a daemon.
 * Return: -1: run, as @config says; else the exit code of the program.
 */
int heat_command(int argc, const char *const *argv, struct heat_config *config);

/* --- the broker: broker.c --- */

/*
 * For a daemon that found PREFIX/daemon taken: waits for a while whether the name becomes free.
 * Return: 0: it is free; -1: another daemon runs, and the log says which.
 */
int heat_wait_for_name(struct ww_broker *broker, const char *prefix);

/*
 * Whether the broker has ended, or was replaced, since the first call. Then the simulation is not
 * kept any more, and the log says so. If the broker does not answer, the call takes up to 5
 * seconds.
 * @step:      of the simulation, for the log
 * @every_ns:  asks the broker only if so much time has passed since the last call; 0: in any case
 * Return: 1: it is lost; 0.
 */
int heat_broker_is_lost(struct ww_broker *broker, uint64_t step, uint64_t every_ns);

/* In the log: which simulation begins or continues, and at the end whether it is kept. */
void heat_log_begin(const struct heat_config *config, const struct heat_state *state);
void heat_log_end(struct ww_broker *broker, const struct heat_config *config,
	const struct heat_state *state);

/* --- the process: process.c --- */

enum {
	HEAT_SIGNAL_STOP = 1, /* SIGTERM or SIGINT has come; stays so */
	HEAT_SIGNAL_RELOAD = 2
};

enum {
	HEAT_LOG_ERROR = 3, /* as syslog(3) */
	HEAT_LOG_WARNING = 4,
	HEAT_LOG_NOTICE = 5,
	HEAT_LOG_INFO = 6
};

/*
 * A line on standard error: if that is the journal's, with the priority as sd-daemon(3) says; else
 * with the name of the program.
 */
void heat_say(int priority, const char *text);
__attribute__((format(printf, 2, 3))) void heat_log(int priority, const char *format, ...);

/* Tells systemd a state such as "READY=1", if it wants to know: sd_notify(3). */
void heat_notify(const char *state);
/* RELOADING=1, with the time that systemd wants. */
void heat_notify_reloading(void);
/* WATCHDOG=1 when half of the time since the last one is over in which systemd expects it. */
void heat_notify_alive(void);

void heat_signals_start(void);
int heat_signals(void);

uint64_t heat_now_ns(void);   /* CLOCK_MONOTONIC */
uint64_t heat_real_ns(void);  /* CLOCK_REALTIME */
void heat_pause(uint64_t ns); /* until a signal comes */
uint64_t heat_random(void);   /* not 0 */
uint32_t heat_checksum(const void *bytes, uint64_t count);
void heat_store_magic(uint64_t *magic, uint64_t value);

#endif
