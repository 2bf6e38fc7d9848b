/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - random programs: messages and collectives under way at once, in every order
 *
 *   mpi_random host|device|mixed FIRST COUNT
 *
 * runs the programs of COUNT seeds. All ranks draw the same numbers, so that each knows what the
 * others do; what they say depends on the seed only.
 */
#include "mpi_test.h"

#include <stdlib.h>

#define STEPS         12
#define MESSAGES_MOST 10
#define INTS_MOST     5000
#define KEPT_MOST     64

static uint64_t state;

/* A number below the limit. */
static int draw(int limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)((state >> 33) % (uint64_t)limit);
}

/* --- types: all of ints --- */

struct shape {
	MPI_Datatype type;
	int ints; /* data of an element */
	size_t extent;
	bool is_derived;
};

static struct shape draw_type(void)
{
	struct shape shape = {MPI_INT, 1, sizeof(int), false};
	int kind = draw(5);
	int lengths[3] = {1 + draw(3), 1 + draw(3), 1 + draw(3)};
	int displs[3] = {8 + draw(3), draw(2), 4 + draw(2)};
	int blocks = 1 + draw(6);
	int length = 1 + draw(3);
	int stride = length + draw(4);
	MPI_Aint lb, extent;

	if (kind < 2)
		return shape;
	shape.is_derived = true;
	if (kind == 2) {
		OK(MPI_Type_vector(blocks, length, stride, MPI_INT, &shape.type));
		shape.ints = blocks * length;
	} else if (kind == 3) {
		OK(MPI_Type_indexed(3, lengths, displs, MPI_INT, &shape.type));
		shape.ints = lengths[0] + lengths[1] + lengths[2];
	} else {
		OK(MPI_Type_contiguous(blocks, MPI_INT, &shape.type));
		shape.ints = blocks;
	}
	OK(MPI_Type_commit(&shape.type));
	OK(MPI_Type_get_extent(shape.type, &lb, &extent));
	shape.extent = (size_t)(lb + extent);
	return shape;
}

static void free_type(struct shape *shape)
{
	if (shape->is_derived)
		OK(MPI_Type_free(&shape->type));
}

/* --- what is under way --- */

static struct {
	void *memory;
	size_t bytes;
} kept[KEPT_MOST];
static int kept_count;
static MPI_Request requests[KEPT_MOST];
static bool is_persistent[KEPT_MOST]; /* which of them are to be freed */
static int request_count;

/* A buffer that is looked at and freed at the end of the step. */
static void *keep(size_t bytes, unsigned int seed)
{
	MUST(kept_count < KEPT_MOST);
	kept[kept_count].memory = memory_new(bytes + 4, seed);
	kept[kept_count].bytes = bytes + 4;
	return kept[kept_count++].memory;
}

static void *keep_ints(size_t count, unsigned int seed)
{
	void *memory = keep(count * sizeof(int), seed);

	memory_fill_ints(memory, count, seed);
	return memory;
}

static void end_step(void)
{
	for (int i = 0; i < kept_count; i++) {
		say_memory("kept", kept[i].memory, kept[i].bytes);
		memory_free(kept[i].memory);
	}
	kept_count = 0;
	request_count = 0;
}

/* --- messages --- */

struct message {
	int from;
	int to;
	int tag;
	struct shape sent;
	struct shape received;
	int sent_count;
	int received_count;
	int way; /* how it is sent */
	bool is_any;
	bool is_probed; /* received after a look for it */
	bool is_late;   /* else: the receive is posted after such looks */
	bool is_persistent;
};

static struct message draw_message(int tag)
{
	struct message message = {.from = draw(ranks), .to = draw(ranks), .tag = tag};
	int ints = draw(4) == 0 ? draw(INTS_MOST) : draw(100);

	message.sent = draw_type();
	message.received = draw_type();
	message.sent_count = ints / message.sent.ints;
	message.received_count = message.sent_count * message.sent.ints / message.received.ints +
		1 + draw(3);
	message.way = draw(3);
	message.is_any = draw(3) == 0;
	message.is_probed = draw(3) == 0;
	message.is_late = draw(3) == 0;
	message.is_persistent = draw(4) == 0;
	return message;
}

static void post_receive(const struct message *message)
{
	void *buffer = keep((size_t)message->received_count * message->received.extent, 7);
	int from = message->is_any ? MPI_ANY_SOURCE : message->from;

	MPI_Request *request = &requests[request_count++];

	is_persistent[request_count - 1] = message->is_persistent;
	if (!message->is_persistent) {
		OK(MPI_Irecv(buffer, message->received_count, message->received.type, from,
			message->tag, MPI_COMM_WORLD, request));
		return;
	}
	OK(MPI_Recv_init(buffer, message->received_count, message->received.type, from,
		message->tag, MPI_COMM_WORLD, request));
	OK(MPI_Start(request));
}

/* The receives of this rank that are posted, before or after looks for other messages. */
static void post_receives(const struct message messages[], int count, bool is_late)
{
	for (int i = 0; i < count; i++) {
		if (messages[i].to == rank && !messages[i].is_probed &&
			messages[i].is_late == is_late)
			post_receive(&messages[i]);
	}
}

static void post_send(const struct message *message)
{
	void *buffer = keep((size_t)message->sent_count * message->sent.extent,
		(unsigned int)message->tag);
	MPI_Request *request = &requests[request_count++];

	is_persistent[request_count - 1] = false;
	if (message->way == 0)
		OK(MPI_Issend(buffer, message->sent_count, message->sent.type, message->to,
			message->tag, MPI_COMM_WORLD, request));
	else
		OK(MPI_Isend(buffer, message->sent_count, message->sent.type, message->to,
			message->tag, MPI_COMM_WORLD, request));
}

static void probe_and_receive(const struct message *message)
{
	void *buffer = keep((size_t)message->received_count * message->received.extent, 8);
	int from = message->is_any ? MPI_ANY_SOURCE : message->from;
	MPI_Message matched;
	MPI_Status status;

	if (message->way == 1) {
		OK(MPI_Probe(from, message->tag, MPI_COMM_WORLD, &status));
		OK(MPI_Recv(buffer, message->received_count, message->received.type,
			status.MPI_SOURCE, message->tag, MPI_COMM_WORLD, &status));
	} else {
		OK(MPI_Mprobe(from, message->tag, MPI_COMM_WORLD, &matched, &status));
		OK(MPI_Mrecv(buffer, message->received_count, message->received.type, &matched,
			&status));
	}
	say_status("probed", &status);
}

/* --- collectives, which may be complete at once or later --- */

static MPI_Comm comms[3]; /* all ranks; all in another order; every other rank */

static void make_comms(void)
{
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
	OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]));
}

#define RANKS_MOST 64

/* How many elements each rank has for each other one differs; they lie in the opposite order. */
static void exchange_parts(const void *send, void *receive, int count, MPI_Comm comm)
{
	int counts[2][RANKS_MOST], displs[2][RANKS_MOST];
	int self, members;

	OK(MPI_Comm_rank(comm, &self));
	OK(MPI_Comm_size(comm, &members));
	MUST(members <= RANKS_MOST);
	for (int i = 0; i < members; i++) {
		counts[0][i] = count * (self + 2 * i + 1) % (count + 1);
		counts[1][i] = count * (i + 2 * self + 1) % (count + 1);
		displs[0][i] = count * (members - 1 - i);
		displs[1][i] = count * i;
	}
	OK(MPI_Alltoallv(send, counts[0], displs[0], MPI_INT, receive, counts[1], displs[1],
		MPI_INT, comm));
}

/* Return: of one that does not block; else MPI_REQUEST_NULL. @from: MPI_IN_PLACE, or @send */
static MPI_Request start_collective(int kind, const void *from, const void *send, void *receive,
	int count, int root, MPI_Comm comm)
{
	MPI_Request request = MPI_REQUEST_NULL;

	switch (kind) {
	case 0:
		OK(MPI_Ibcast(receive, count, MPI_INT, root, comm, &request));
		break;
	case 1:
		OK(MPI_Iallreduce(from, receive, count, MPI_INT, MPI_SUM, comm, &request));
		break;
	case 2:
		OK(MPI_Iallgather(from, count, MPI_INT, receive, count, MPI_INT, comm, &request));
		break;
	case 3:
		OK(MPI_Ialltoall(send, count, MPI_INT, receive, count, MPI_INT, comm, &request));
		break;
	case 4:
		OK(MPI_Scan(from, receive, count, MPI_INT, MPI_MAX, comm));
		break;
	case 5:
		OK(MPI_Gather(send, count, MPI_INT, receive, count, MPI_INT, root, comm));
		break;
	case 6:
		OK(MPI_Bcast(receive, count, MPI_INT, root, comm));
		break;
	case 7:
		OK(MPI_Allgather(from, count, MPI_INT, receive, count, MPI_INT, comm));
		break;
	case 8:
		OK(MPI_Alltoall(from, count, MPI_INT, receive, count, MPI_INT, comm));
		break;
	case 9:
		OK(MPI_Allreduce(from, receive, count, MPI_INT, MPI_MAX, comm));
		break;
	case 10:
		/* MPICH 4.0 can fail at MPI_IN_PLACE here. */
		OK(MPI_Reduce(send, receive, count, MPI_INT, MPI_SUM, root, comm));
		break;
	case 11:
		exchange_parts(send, receive, count, comm);
		break;
	default:
		OK(MPI_Scatter(send, count, MPI_INT, receive, count, MPI_INT, root, comm));
	}
	return request;
}

static void run_collective(void)
{
	int kind = draw(13);
	int count = draw(3) ? 1 + draw(50) : 256 + draw(1000);
	int which = draw(4);
	int root = draw(ranks);
	bool in_place = draw(3) == 0;
	bool is_blocking = draw(2);
	size_t all = (size_t)(count * ranks);
	void *send = keep_ints(all, (unsigned int)kind);
	void *receive = keep_ints(all, 3);
	const void *from = in_place ? MPI_IN_PLACE : send;
	MPI_Comm comm = which ? comms[which - 1] : MPI_COMM_WORLD;
	MPI_Request request;
	int size;

	OK(MPI_Comm_size(comm, &size));
	root %= size;
	/* MPICH 4.0 fails at MPI_IN_PLACE in a rank alone. */
	from = size > 1 ? from : send;
	request = start_collective(kind, from, send, receive, count, root, comm);
	if (is_blocking)
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	else if (kind < 4) {
		is_persistent[request_count] = false;
		requests[request_count++] = request;
	}
}

/* --- the end of what is under way --- */

static void complete(void)
{
	MPI_Status statuses[KEPT_MOST];
	int indices[KEPT_MOST];
	int way = draw(4);
	int flag = 0;
	int index = 0;
	int done = 0;

	while (way == 0 && !flag)
		OK(MPI_Testall(request_count, requests, &flag, statuses));
	while (way == 1 && index != MPI_UNDEFINED)
		OK(MPI_Waitany(request_count, requests, &index, MPI_STATUS_IGNORE));
	while (way == 2 && done != MPI_UNDEFINED)
		OK(MPI_Waitsome(request_count, requests, &done, indices, MPI_STATUSES_IGNORE));
	OK(MPI_Waitall(request_count, requests, statuses));
	for (int i = 0; i < request_count; i++) {
		if (is_persistent[i])
			OK(MPI_Request_free(&requests[i]));
	}
}

/* @number: of the step; a rank may be ahead, and tags keep its messages apart. */
static void run_step(int number)
{
	struct message messages[MESSAGES_MOST] = {0};
	int count = draw(MESSAGES_MOST);

	for (int i = 0; i < count; i++)
		messages[i] = draw_message(number % 1000 * MESSAGES_MOST + i);
	post_receives(messages, count, false);
	if (draw(2))
		run_collective();
	for (int i = 0; i < count; i++) {
		if (messages[i].from == rank)
			post_send(&messages[i]);
	}
	if (draw(2))
		run_collective();
	for (int i = count - 1; i >= 0; i--) {
		if (messages[i].to == rank && messages[i].is_probed)
			probe_and_receive(&messages[i]);
	}
	post_receives(messages, count, true);
	for (int i = 0; i < count; i++) { /* what is under way keeps its type */
		free_type(&messages[i].sent);
		free_type(&messages[i].received);
	}
	complete();
	end_step();
}

int main(int argc, char *argv[])
{
	int first, count;

	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	MUST(argc == 4);
	first = atoi(argv[2]);
	count = atoi(argv[3]);
	make_comms();
	for (int seed = first; seed < first + count; seed++) {
		state = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1;
		say("# seed %d", seed);
		for (int step = 0; step < STEPS; step++)
			run_step(seed * STEPS + step);
	}
	for (int i = 0; i < 3; i++)
		OK(MPI_Comm_free(&comms[i]));
	return test_finish();
}
