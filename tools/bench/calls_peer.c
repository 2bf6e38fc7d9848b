/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_peer.c - calls beside those of other libraries, each of which has processes of its own
 * (calls_peer.h); only what is installed is measured
 *
 * gRPC is measured in C++, and in Python only where the program for that is missing.
 */
#include "bench/calls_peer.h"

#include "bench/calls.h"
#include "common/find_program.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ARRAY_BYTES (UINT64_C(16) << 20)
#define PATH_BYTES  (WW_ADDRESS_BYTES + 8)
#define GRPC        "warpway-bench-grpc"

/* Nothing of the current folder is imported. Without the package: CALLS_PEER_MISSING. */
static const char python[] = "import sys\n"
			     "sys.path = [path for path in sys.path if path]\n"
			     "try:\n"
			     "    from warpway._bench_peer import main\n"
			     "except ImportError:\n"
			     "    import socket, struct\n"
			     "    link = socket.socket(fileno=3)\n"
			     "    message = bytearray(link.recv(4096))\n"
			     "    struct.pack_into('=IQ', message, 4, 5, 2**64 - 1)\n"
			     "    link.send(message)\n"
			     "else:\n"
			     "    main(sys.argv[1])\n";

struct calls_peer {
	const char *name;
	const char *python; /* NULL: a program of its own */
	const char *missing;
};

const struct calls_peer calls_grpc = {"gRPC", NULL,
	GRPC " is not beside this program; it is built where gRPC's library for C++ is found"};
const struct calls_peer calls_grpc_python = {"gRPC in Python", "grpc",
	"python3 does not find the packages grpc and warpway"};
const struct calls_peer calls_multiprocessing = {"multiprocessing.connection", "multiprocessing",
	"python3 does not find the package warpway"};

static struct child child = CHILD_NONE;

/* Beside the broker's socket, so it goes with that folder. */
static void path_of(const struct bench *bench, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s.peer", bench->address);
}

static int ask(uint64_t bytes, uint64_t count, uint64_t *out_ns)
{
	struct link_message message = {.kind = LINK_GO, .numbers = {bytes, count}};

	if (child_send(&child, &message, -1) || child_receive(&child, LINK_SAMPLE, &message, NULL))
		return -1;
	*out_ns = message.numbers[0];
	return 0;
}

/* Does not wait for it. */
static int start(struct bench *bench, const struct calls_peer *peer, const char *program)
{
	char path[PATH_BYTES];
	char name[CHILD_NAME_BYTES];
	struct child_plan plan = {
		.name = name,
		.program = program,
		.arguments = {"client", path},
		.timeout_ns = BENCH_ANSWER_NS,
	};

	path_of(bench, path);
	snprintf(name, sizeof(name), "the client of %s", peer->name);
	if (peer->python)
		plan = (struct child_plan){
			.name = name,
			.program = "python3",
			.arguments = {"-c", python, peer->python},
			.timeout_ns = BENCH_ANSWER_NS,
		};
	return child_spawn(&child, &plan);
}

static int leave_out(const struct calls_peer *peer)
{
	say("calls by %s are not measured: %s", peer->name, peer->missing);
	return BENCH_LEFT_OUT;
}

int calls_peer_open(struct bench *bench)
{
	const struct calls_peer *peer = bench->context;
	char program[PROGRAM_PATH_BYTES];
	bool has_grpc;
	uint64_t ns;

	program_find(GRPC, program, sizeof(program));
	has_grpc = strchr(program, '/') != NULL;
	if (peer == &calls_grpc && !has_grpc)
		return leave_out(peer);
	if (peer == &calls_grpc_python && has_grpc)
		return BENCH_LEFT_OUT;
	if (start(bench, peer, program))
		return peer->python ? leave_out(peer) : -1;
	if (ask(0, 0, &ns))
		return -1;
	return ns == CALLS_PEER_MISSING ? leave_out(peer) : calls_open_with(bench, ARRAY_BYTES);
}

/* The peer ends what it has started, when its socket is closed. */
int calls_peer_close(struct bench *bench)
{
	char path[PATH_BYTES];
	int result = 0;

	if (child.pid > 0) {
		shutdown(child.socket, SHUT_WR);
		result = child_finish(&child, 0);
	}
	child_fini(&child);
	child = (struct child)CHILD_NONE;
	path_of(bench, path);
	unlink(path);
	return calls_close(bench) || result ? -1 : 0;
}

/* The bytes of the array are not copied, so its call is the one with a token. */
int calls_beside_peer(struct bench *bench, uint64_t out_ns[])
{
	if (calls_empty_spin(bench, &out_ns[0]) || calls_array(bench, &out_ns[1]))
		return -1;
	out_ns[2] = out_ns[1];
	return 0;
}

int calls_by_peer(struct bench *bench, uint64_t out_ns[])
{
	(void)bench;
	if (ask(0, CALLS_BATCH, &out_ns[0]) || ask(WW_TOKEN_BYTES, CALLS_BATCH, &out_ns[1]) ||
		ask(ARRAY_BYTES, 1, &out_ns[2]))
		return -1;
	out_ns[0] /= CALLS_BATCH;
	out_ns[1] /= CALLS_BATCH;
	return 0;
}
