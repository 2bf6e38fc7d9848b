/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - what is tried on one device, in a child, with a second process beside it
 *
 *   doctor                 the child                        the second process ("peer")
 *   starts it ------------> opens the device, starts it ----> opens the device
 *                           tries, and has it try <--------> struct peer_message
 *   reads its lines <------ prints a line for each
 *
 * Nothing here has a time limit: the doctor ends the child, and the child's end ends the peer.
 * What is complained of is captured, and is what a line says of a probe that failed.
 *
 * No probe makes a kernel fault, and none holds more than PROBE_BYTES of a device at a time.
 */
#ifndef TOOLS_DOCTOR_PROBE_H
#define TOOLS_DOCTOR_PROBE_H

#include "common/child.h"
#include "common/cleanup.h"
#include "common/number.h"
#include "common/plain_cuda.h"
#include "common/say.h"
#include "doctor/result.h"

#define PROBE_BYTES    (UINT64_C(1) << 20)
#define PROBE_ELEMENTS (PROBE_BYTES / sizeof(float))

/* What the peer is asked to do with what it is given. */
enum peer_task {
	PEER_OPEN,       /* open the device */
	PEER_DESCRIPTOR, /* fd: of memory: verify it, write the answer */
	PEER_LEGACY,     /* bytes: a handle of cuMemAlloc memory: likewise */
	PEER_POOL,       /* fd: of a pool; bytes: of an allocation: likewise */
	PEER_EVENT,      /* bytes: a handle: wait for it */
	PEER_SHARE,      /* get memory by its name: verify it, write the answer */
	PEER_TIMELINE,   /* get a timeline by its name; a stream waits for it */
	PEER_SLICE,      /* bytes: a token: import it, verify it, write the answer */
	PEER_TASKS
};

struct peer_message {
	uint32_t task;
	int32_t failed;
	char bytes[WW_TOKEN_BYTES];
	char said[RESULT_FOUND_BYTES]; /* what failed */
};

/* One of the two processes; both have the same. */
struct probe {
	char selector[16];
	uint32_t index;
	bool is_host;
	struct results results;
	struct child peer;
	bool has_peer;
	bool lacks_vmm; /* that probe has failed */

	struct cuda cuda; /* not of the host */
	ww_device *device;
	ww_stream *stream;
	ww_broker *broker;

	char said[RESULT_FOUND_BYTES];  /* captured: why the probe failed */
	char found[RESULT_FOUND_BYTES]; /* what a probe that works, or nearly so, has to say */
	enum state state;               /* what it comes to where the probe returns 0 */
	const char *cause;
};

/* What is in memory that is handed over, and what the peer writes there. */
extern const struct pattern probe_question, probe_answer;

/* Names in the doctor's own broker, for a device. */
void probe_name(const struct probe *probe, const char *what, char out_name[64]);

/* Both read the words behind the verb's own. Return: 0; -1: they are none of ours. */
int probe_init(struct probe *probe, const char *selector);
void probe_fini(struct probe *probe);

/* Opens the device with the driver's calls; and with the library, where that is not yet so. */
int probe_open_driver(struct probe *probe);
int probe_open_library(struct probe *probe);

/* Gives the peer a task; @bytes: likewise, or NULL; @fd: borrowed; -1: none. */
int peer_start(struct probe *probe, enum peer_task task, const void *bytes, size_t count, int fd);
/* Waits until it is done. Return: 0; -1 after saying what failed there. */
int peer_end(struct probe *probe);
/* Both. */
int peer_do(struct probe *probe, enum peer_task task, const void *bytes, size_t count, int fd);
/* Starts the peer; peer_stop: ends it. */
int peer_spawn(struct probe *probe);
void peer_stop(struct probe *probe);

/* Device memory of cuMemCreate(), mapped. */
struct vmm {
	ww_CUmemGenericAllocationHandle handle;
	ww_CUdeviceptr address; /* 0: none */
	size_t bytes;
	bool has_handle;
	bool is_mapped;
};

/* @device: whose memory it is; @types: handles that it can have */
int vmm_create(const struct cuda *cuda, ww_CUdevice device, uint64_t bytes, int types,
	struct vmm *out_vmm);
int vmm_import(const struct cuda *cuda, int fd, uint64_t bytes, struct vmm *out_vmm);
/* @device: that is to reach it. @access: WW_CU_MEM_ACCESS_FLAGS_... */
int vmm_map(const struct cuda *cuda, struct vmm *vmm, ww_CUdevice device, int access);
void vmm_fini(const struct cuda *cuda, struct vmm *vmm);

/* The probes. Return: 0: @found, @state and @cause say what came out; -1: it failed. */
int probe_mig(struct probe *probe);
int probe_mps(struct probe *probe);
int probe_compute_mode(struct probe *probe);
int probe_memory(struct probe *probe);
int probe_vmm(struct probe *probe);
int probe_descriptors(struct probe *probe);
int probe_read_only(struct probe *probe);
int probe_legacy(struct probe *probe);
int probe_pools(struct probe *probe);
int probe_events(struct probe *probe);
int probe_stream_values(struct probe *probe);
int probe_host_memory(struct probe *probe);
int probe_host_read_only(struct probe *probe);
int probe_fabric(struct probe *probe);
int probe_share(struct probe *probe);
int probe_timeline(struct probe *probe);
int probe_slice(struct probe *probe);

/* The same on the peer's side. */
int peer_descriptor(struct probe *probe, const struct peer_message *message, int fd);
int peer_legacy(struct probe *probe, const struct peer_message *message, int fd);
int peer_pool(struct probe *probe, const struct peer_message *message, int fd);
int peer_event(struct probe *probe, const struct peer_message *message, int fd);
int peer_share(struct probe *probe, const struct peer_message *message, int fd);
int peer_timeline(struct probe *probe, const struct peer_message *message, int fd);
int peer_slice(struct probe *probe, const struct peer_message *message, int fd);

/* The children: `warpway doctor-child ROLE ...`; argv[0] is the role. Return: the exit code. */
int child_driver(int argc, char *argv[]);
int child_library(int argc, char *argv[]);
int child_device(int argc, char *argv[]);
int child_peer(int argc, char *argv[]);
int child_route(int argc, char *argv[]);

#endif
