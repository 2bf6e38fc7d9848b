/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - processes on several GPUs, through the public interface
 *
 * The device under test is the owner: its process makes what the others use. A team is a process
 * on each GPU that this process sees, so every case is run for as many GPUs as there are, and for
 * all ordered pairs of them when the suite runs with each GPU as the owner. No case counts what is
 * free on a GPU.
 *
 * A GPU that cannot reach the owner's memory is no reason to skip: its process must be refused, and
 * then uses host memory.
 *
 * Helpers are agents (support/agent.h) with more commands. Their timelines are 0, the own one, and
 * 1, another's; their stream is of their device.
 *
 *   get_strict NAME                  as get for writing, but by no slow route
 *   device_is INDEX UUID             of the agent's device; UUID in hex
 *   route_is ROUTE UUID              of its memory: WW_ROUTE_..., and whose it is
 *   fill OFFSET BYTES VALUE          by the stream, which is synchronised
 *   holds OFFSET BYTES VALUE         all these bytes have this value
 *   refuses_write                    the stream refuses to write to its memory
 *   timeline_put NAME, timeline_get NAME            makes number 0; gets number 1
 *   signal V, stream_fill_signal VALUE V            of 0; the second fills the memory before
 *   wait V, stream_wait V [unsubmitted], query V    of 1
 *   hold, go                         the stream waits until it is told to go on
 *   sync
 *   works                            a new stream of the device fills and reads memory
 *   previous MEMORY TIMELINE         both of other processes, besides the own ones
 *   ring PLACE COUNT ROUNDS          see gpus_ring.c
 */
#ifndef WW_TESTS_INTEGRATION_GPUS_H
#define WW_TESTS_INTEGRATION_GPUS_H

#include "support/agent.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/child.h"
#include "support/needs.h"
#include "support/subject.h"

#define GPUS_MAX   16
#define UUID_BYTES (2 * WW_DEVICE_UUID_BYTES + 1)

/* UUID in hex. */
void uuid_print(const uint8_t uuid[WW_DEVICE_UUID_BYTES], char out_text[UUID_BYTES]);

/*
 * struct member - an agent and its GPU
 * @index:    of the GPU, in this process
 * @uuid:     its UUID in hex
 * @is_owner: it is the device under test
 * @reaches:  it can map memory of the device under test, which may be its own
 */
struct member {
	struct child agent;
	uint32_t index;
	char uuid[UUID_BYTES];
	bool is_owner;
	bool reaches;
};

/*
 * struct team - agents, one on each GPU
 * @home:  UUID of the device under test in hex
 */
struct team {
	uint32_t count;
	char home[UUID_BYTES];
	struct member members[GPUS_MAX];
};

/* On each GPU but the device under test, or also on that, agents of this role. */
void team_start(struct team *team, const char *role);
void team_start_all(struct team *team, const char *role);

/*
 * Likewise on each GPU, each agent in an environment of its own.
 * @set:  one more setting for a member, as "NAME=VALUE", and the index that its GPU has there
 */
#define TEAM_SETTING_BYTES 1024
void team_start_in(struct team *team, const char *role,
	uint32_t (*set)(const struct team *team, const struct member *member,
		char setting[TEAM_SETTING_BYTES]));

/*
 * Says a command to all, and hears all the answers: so that all of them do it at once. The second
 * expects it of those that reach the owner's memory, and WW_ERR_UNSUPPORTED of the others, which
 * are then ended and leave the team.
 */
void team_must(struct team *team, ww_status expected, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void team_must_reach(struct team *team, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Says it only; hears the answers, which name the word. */
void team_tell(struct team *team, const char *format, ...) __attribute__((format(printf, 2, 3)));
void team_answers(struct team *team, ww_status expected, const char *word);

void team_end(struct team *team);

/* Memory of the device under test, under a name, that others may write. */
ww_memory *gpus_put(uint32_t kind, uint64_t bytes, const char *name);

/* What an agent has. */
struct gpus_agent {
	ww_timeline *timelines[2];
	ww_memory *previous;
};
extern struct gpus_agent gpus_agent;

#endif
