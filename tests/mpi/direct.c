/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c - messages by the direct route: that they go by it, and that nobody can tell
 *
 *   mpi_direct device CASES    CASES: see runs[]
 *
 * Two ranks, linked with the library for the MPI and with libwarpway; WARPWAY_MPI_ROUTE=direct,
 * WARPWAY_MPI_DIRECT=1K, WARPWAY_MPI_DIVIDED_BCAST=2K.
 * divided: with three or more ranks; full, threaded and halves_of_2_gib: with a pool of 2 MiB;
 * alone: without a broker; announcing_fails: with failing_broker.sh; threaded: other threads may
 * call the MPI; probe_fails: with lossy.c; those with "killed" and "unanswered", and aborted: see
 * killed.c.
 */
#include <warpway/mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "direct.h"
#include "mpi_test.h"

int peer;

struct ww_mpi_info info(void)
{
	struct ww_mpi_info now = WW_INIT(struct ww_mpi_info);

	OK(ww_mpi_info_get(&now));
	return now;
}

void barrier(void)
{
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* --- data that tells where it comes from --- */

unsigned char byte_of(int sender, int tag, size_t at)
{
	return (unsigned char)(at * 7 + (unsigned int)tag * 31 + (unsigned int)sender * 101 + 1);
}

void fill(void *memory, size_t bytes, int tag)
{
	unsigned char *data = malloc(bytes);

	MUST(data);
	for (size_t i = 0; i < bytes; i++)
		data[i] = byte_of(rank, tag, i);
	memory_put(memory, data, bytes);
	free(data);
}

/* The first @count bytes are the peer's, what is behind them was not written. */
void check(const void *memory, size_t bytes, size_t count, int tag)
{
	unsigned char *data = malloc(bytes);

	MUST(data);
	memory_get(data, memory, bytes);
	for (size_t i = 0; i < count; i++)
		MUST(data[i] == byte_of(peer, tag, i));
	for (size_t i = count; i < bytes; i++)
		MUST(data[i] == 0xee);
	free(data);
}

struct place place_new(size_t bytes, bool is_device)
{
	struct place place = {NULL, bytes, is_device};
	unsigned char *data = malloc(bytes);

	MUST(data);
	memset(data, 0xee, bytes);
	place.at = is_device ? memory_new(bytes, 0) : malloc(bytes);
	MUST(place.at);
	memory_put(place.at, data, bytes);
	free(data);
	return place;
}

void place_free(struct place *place)
{
	if (place->is_device)
		memory_free(place->at);
	else
		free(place->at);
}

void send_device(size_t bytes, int tag)
{
	OWN_MEMORY void *memory = memory_new(bytes, 0);

	fill(memory, bytes, tag);
	OK(MPI_Send(memory, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD));
}

void send_host(size_t bytes, int tag)
{
	void *memory = malloc(bytes);

	MUST(memory);
	fill(memory, bytes, tag);
	OK(MPI_Send(memory, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD));
	free(memory);
}

void must_be(const MPI_Status *status, int count, int tag)
{
	int bytes;

	OK(MPI_Get_count(status, MPI_BYTE, &bytes));
	MUST(bytes == count);
	MUST(status->MPI_SOURCE == peer && status->MPI_TAG == tag);
}

void receive(size_t room, bool is_device, int count, int tag)
{
	OWN_PLACE struct place place = place_new(room, is_device);
	MPI_Status status;

	OK(MPI_Recv(place.at, (int)room, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status));
	must_be(&status, count, tag);
	check(place.at, room, (size_t)count, tag);
}

/* --- cases: rank 0 sends, rank 1 receives --- */

/*
 * Requests of files count like those of messages. MPICH makes others for them, which stay counted:
 * such a rank never takes messages directly.
 */
static void write_file(void)
{
#ifdef OPEN_MPI
	MPI_Request request;
	MPI_File file;
	char path[300];

	snprintf(path, sizeof(path), "%s/direct.%d", getenv("XDG_RUNTIME_DIR"), rank);
	OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		&file));
	OK(MPI_File_iwrite(file, path, 10, MPI_BYTE, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_File_close(&file));
#endif
}

/* A receive that was posted before the library watched is never given a control message. */
static void quiet(void)
{
	struct place place = place_new(DATA, false);
	MPI_Request request = MPI_REQUEST_NULL;

	OK(MPI_Irecv(place.at, DATA, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request));
	write_file();
	barrier();
	for (int i = 0; i < 5; i++) {
		if (rank == 0)
			send_device(DATA, 2);
		else
			receive(DATA, true, DATA, 2);
	}
	MUST(!info().takes_direct);
	send_device(DATA, 1);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	check(place.at, DATA, DATA, 1);
	place_free(&place);
	MUST(info().direct_sent == 0 && info().direct_received == 0);
}

/* Sends until both go directly. */
static void agree(void)
{
	int is_direct = 0;

	for (int i = 0; i < 100000 && !is_direct; i++) {
		OWN_PLACE struct place place = place_new(DATA, true);
		OWN_MEMORY void *memory = memory_new(DATA, 0);
		int mine;

		fill(memory, DATA, 3);
		OK(MPI_Sendrecv(memory, DATA, MPI_BYTE, peer, 3, place.at, DATA, MPI_BYTE, peer, 3,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		check(place.at, DATA, DATA, 3);
		mine = info().direct_sent > 0;
		OK(MPI_Allreduce(&mine, &is_direct, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
	}
	MUST(is_direct && info().takes_direct);
}

static void plain(void)
{
	struct ww_mpi_info before = info();

	for (int is_device = 0; is_device < 2; is_device++) {
		if (rank == 0) {
			send_device(DATA, 4);
			send_device(DATA, 5);
		} else {
			receive(DATA, is_device, DATA, 4);
			receive(2 * DATA, is_device, DATA, 5);
		}
	}
	MUST(rank != 0 || info().direct_sent == before.direct_sent + 4);
	MUST(rank != 1 || info().direct_received == before.direct_received + 4);
	MUST(rank != 1 || info().direct_received_bytes == before.direct_received_bytes + 4 * DATA);
}

/* Messages of the length of a control message are messages like others. */
static void same_length(void)
{
	struct ww_mpi_info before = info();
	MPI_Message message;
	MPI_Status status;
	struct place place;

	if (rank == 0) {
		for (int tag = 10; tag < 16; tag++) {
			if (tag % 2)
				send_device(CONTROL, tag);
			else
				send_host(CONTROL, tag);
		}
		return;
	}
	receive(CONTROL, false, CONTROL, 10);
	receive(DATA, true, CONTROL, 11);
	OK(MPI_Probe(peer, 12, MPI_COMM_WORLD, &status));
	must_be(&status, CONTROL, 12);
	receive(CONTROL, true, CONTROL, 12);
	for (int tag = 13; tag < 16; tag++) {
		place = place_new(DATA, tag % 2);
		OK(MPI_Mprobe(peer, tag, MPI_COMM_WORLD, &message, &status));
		must_be(&status, CONTROL, tag);
		OK(MPI_Mrecv(place.at, DATA, MPI_BYTE, &message, &status));
		MUST(message == MPI_MESSAGE_NULL);
		must_be(&status, CONTROL, tag);
		check(place.at, DATA, CONTROL, tag);
		place_free(&place);
	}
	MUST(info().direct_received == before.direct_received);
}

void must_be_cut(int code)
{
	int error_class;

	MUST(code != MPI_SUCCESS);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == MPI_ERR_TRUNCATE);
}

/* What fits is there, and nothing behind it is written. */
static void too_long(void)
{
	OWN_PLACE struct place place = place_new(2 * DATA, true);
	MPI_Request request;
	MPI_Status status;

	if (rank == 0) {
		send_device(DATA, 20);
		send_device(DATA, 20);
		send_device(DATA, 21);
		send_device(DATA, 22);
	} else {
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		must_be_cut(MPI_Recv(place.at, 1000, MPI_BYTE, peer, 20, MPI_COMM_WORLD, &status));
		check(place.at, 2 * DATA, 1000, 20);
		OK(MPI_Irecv(place.at, 1200, MPI_BYTE, peer, 20, MPI_COMM_WORLD, &request));
		MUST(MPI_Waitall(1, &request, &status) == MPI_ERR_IN_STATUS);
		must_be_cut(status.MPI_ERROR);
		check(place.at, 2 * DATA, 1200, 20);
		OK(MPI_Probe(peer, 21, MPI_COMM_WORLD, &status));
		must_be_cut(MPI_Recv(place.at, 1300, MPI_BYTE, peer, 21, MPI_COMM_WORLD, &status));
		check(place.at, 2 * DATA, 1300, 21);
		/* Not even the control message fits. */
		must_be_cut(MPI_Recv(place.at, 100, MPI_BYTE, peer, 22, MPI_COMM_WORLD, &status));
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	}
}

static int handled, handled_code;

static void note(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	handled++;
	handled_code = *code;
}

/* The error handler is that of the communicator, once. */
static void too_long_on_others(void)
{
	OWN_PLACE struct place place = place_new(2 * DATA, true);
	MPI_Errhandler handler;
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_create_errhandler(note, &handler));
	OK(MPI_Comm_set_errhandler(comm, handler));
	if (rank == 0) {
		fill(place.at, DATA, 25);
		for (int i = 0; i < 2; i++)
			OK(MPI_Send(place.at, DATA, MPI_BYTE, peer, 25, comm));
	} else {
		OK(MPI_Irecv(place.at, 1000, MPI_BYTE, peer, 25, comm, &request));
		must_be_cut(MPI_Wait(&request, &status));
		MUST(handled == 1);
		must_be_cut(handled_code);
		OK(MPI_Mprobe(peer, 25, comm, &message, &status));
		must_be(&status, DATA, 25);
		must_be_cut(MPI_Mrecv(place.at, 1000, MPI_BYTE, &message, &status));
		MUST(handled == 2);
		check(place.at, 2 * DATA, 1000, 25);
	}
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Comm_free(&comm));
}

/* The receiver cannot copy the data: the error names the sender, and later messages come. */
static void pull_fails(void)
{
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");
	OWN_PLACE struct place place = place_new(DATA, true);
	char text[MPI_MAX_ERROR_STRING];
	MPI_Status status;
	int length;

	if (rank == 0 && fail) {
		send_device(DATA, 26);
	} else if (fail) {
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
		OK(MPI_Error_string(MPI_Recv(place.at, DATA, MPI_BYTE, peer, 26, MPI_COMM_WORLD,
					    &status),
			text, &length));
		MUST(strstr(text, "cannot read the message of rank 0"));
		MUST(strstr(text, "CUDA_ERROR_LAUNCH_FAILED"));
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	}
}

/* Absolute addresses of host memory, in one block and in two. */
static void absolute(void)
{
	unsigned char *data = calloc(1, 3 * DATA);

	for (int blocks = 1; blocks <= 2; blocks++) {
		int lengths[2] = {DATA / blocks, DATA / blocks};
		MPI_Aint at[2];
		MPI_Datatype type;
		MPI_Request request;
		MPI_Status status;

		if (rank == 0) {
			send_device(DATA, 27);
			continue;
		}
		OK(MPI_Get_address(data, &at[0]));
		at[1] = at[0] + DATA;
		OK(MPI_Type_create_hindexed(blocks, lengths, at, MPI_BYTE, &type));
		OK(MPI_Type_commit(&type));
		OK(MPI_Irecv(MPI_BOTTOM, 1, type, peer, 27, MPI_COMM_WORLD, &request));
		OK(MPI_Type_free(&type));
		OK(MPI_Wait(&request, &status));
		must_be(&status, DATA, 27);
		for (int i = 0; i < DATA; i++)
			MUST(data[i < lengths[0] ? i : i - lengths[0] + DATA] ==
				byte_of(peer, 27, (size_t)i));
	}
	free(data);
}

/* A probe for a later message does not let it overtake earlier ones. */
static void order(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Status status;

	if (rank == 0) {
		send_host(100, 30);
		send_device(DATA, 31);
		send_device(DATA - 1000, 31);
		send_host(200, 32);
	} else {
		OK(MPI_Probe(peer, 31, MPI_COMM_WORLD, &status));
		must_be(&status, DATA, 31);
		OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
		must_be(&status, 100, 30);
		OK(MPI_Recv(place.at, DATA, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			&status));
		must_be(&status, 100, 30);
		check(place.at, DATA, 100, 30);
		receive(DATA, true, DATA, 31);
		OK(MPI_Probe(peer, 32, MPI_COMM_WORLD, &status));
		must_be(&status, 200, 32);
		OK(MPI_Probe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
		must_be(&status, DATA - 1000, 31);
		receive(DATA, false, DATA - 1000, 31);
		receive(200, false, 200, 32);
	}
}

void probe(int count, int tag)
{
	MPI_Status status;

	OK(MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
	must_be(&status, count, tag);
}

/* Each call that receives gets what a probe has taken out of the MPI. */
static void kept_by_requests(void)
{
	struct place place = place_new(DATA, true);
	MPI_Request request;
	MPI_Status status;
	int flag = 0;

	if (rank == 0) {
		for (int tag = 40; tag < 43; tag++)
			send_device(DATA, tag);
		place_free(&place);
		return;
	}
	for (int tag = 40; tag < 43; tag++) {
		probe(DATA, tag);
		OK(MPI_Irecv(place.at, DATA, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request));
		if (tag == 40)
			OK(MPI_Wait(&request, &status));
		for (flag = 0; tag == 41 && !flag;)
			OK(MPI_Testall(1, &request, &flag, &status));
		if (tag == 42) {
			OK(MPI_Request_get_status(request, &flag, &status));
			MUST(flag);
			must_be(&status, DATA, tag);
			OK(MPI_Waitany(1, &request, &flag, &status));
		}
		must_be(&status, DATA, tag);
		MUST(request == MPI_REQUEST_NULL);
		check(place.at, DATA, DATA, tag);
	}
	place_free(&place);
}

static void kept_by_persistent(void)
{
	struct place places[3];
	MPI_Request requests[3];
	MPI_Status statuses[3];
	int done = 0, count, indices[3];

	if (rank == 0) {
		send_host(300, 50); /* is before what the probe asks for */
		send_device(DATA, 51);
		barrier();
		send_device(DATA, 52);
		return;
	}
	for (int i = 0; i < 3; i++) {
		places[i] = place_new(DATA, i != 0);
		OK(MPI_Recv_init(places[i].at, DATA, MPI_BYTE, peer, 50 + i, MPI_COMM_WORLD,
			&requests[i]));
	}
	probe(DATA, 51);
	OK(MPI_Startall(3, requests));
	barrier();
	while (done < 3) {
		OK(MPI_Waitsome(3, requests, &count, indices, statuses));
		MUST(count > 0);
		for (int i = 0; i < count; i++)
			must_be(&statuses[i], indices[i] == 0 ? 300 : DATA, 50 + indices[i]);
		done += count;
	}
	for (int i = 0; i < 3; i++) {
		check(places[i].at, DATA, i == 0 ? 300 : DATA, 50 + i);
		OK(MPI_Request_free(&requests[i]));
		place_free(&places[i]);
	}
}

/* A probe took a short message, too, since it was sent before: a persistent receive gets it. */
static void kept_by_short_persistent(void)
{
	struct place place = place_new(200, false);
	MPI_Request request;
	MPI_Status status;

	if (rank == 0) {
		send_host(200, 33);
		send_host(CONTROL, 34);
	} else {
		OK(MPI_Probe(peer, 34, MPI_COMM_WORLD, &status));
		must_be(&status, CONTROL, 34);
		OK(MPI_Recv_init(place.at, 200, MPI_BYTE, peer, 33, MPI_COMM_WORLD, &request));
		OK(MPI_Start(&request));
		OK(MPI_Wait(&request, &status));
		must_be(&status, 200, 33);
		check(place.at, 200, 200, 33);
		OK(MPI_Request_free(&request));
		receive(CONTROL, false, CONTROL, 34);
	}
	place_free(&place);
	barrier();
}

/* What has come cannot be cancelled. */
static void kept_and_cancelled(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Request request;
	MPI_Status status;
	int flag = 1;

	if (rank == 0) {
		send_device(DATA, 55);
	} else {
		OK(MPI_Recv_init(place.at, DATA, MPI_BYTE, peer, 55, MPI_COMM_WORLD, &request));
		probe(DATA, 55);
		OK(MPI_Start(&request));
		OK(MPI_Cancel(&request));
		OK(MPI_Wait(&request, &status));
		OK(MPI_Test_cancelled(&status, &flag));
		MUST(!flag);
		must_be(&status, DATA, 55);
		check(place.at, DATA, DATA, 55);
		OK(MPI_Request_free(&request));
	}
}

/* Both sides have a message of the other one when they exchange. */
static void kept_by_exchanges(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	OWN_MEMORY void *memory = memory_new(DATA, 0);
	MPI_Request request;
	MPI_Status status;

	fill(memory, DATA, 60);
	OK(MPI_Isend(memory, DATA, MPI_BYTE, peer, 60, MPI_COMM_WORLD, &request));
	probe(DATA, 60);
	OK(MPI_Sendrecv(memory, DATA, MPI_BYTE, peer, 60, place.at, DATA, MPI_BYTE, peer, 60,
		MPI_COMM_WORLD, &status));
	must_be(&status, DATA, 60);
	check(place.at, DATA, DATA, 60);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	probe(DATA, 60);
	OK(MPI_Sendrecv_replace(memory, DATA, MPI_BYTE, peer, 60, peer, 60, MPI_COMM_WORLD,
		&status));
	must_be(&status, DATA, 60);
	check(memory, DATA, DATA, 60);
	receive(DATA, false, DATA, 60);
}

/* Handles of messages go through Fortran as numbers. */
static void handles(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Message first, second;
	MPI_Fint numbers[2];
	MPI_Request request;
	MPI_Status status;
	int flag = 0;

	if (rank == 0) {
		send_device(DATA, 70);
		send_device(DATA, 71);
	} else {
		OK(MPI_Mprobe(peer, 70, MPI_COMM_WORLD, &first, &status));
		must_be(&status, DATA, 70);
		while (!flag)
			OK(MPI_Improbe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status));
		must_be(&status, DATA, 71);
		numbers[0] = MPI_Message_c2f(first);
		numbers[1] = MPI_Message_c2f(second);
		MUST(MPI_Message_f2c(numbers[0]) == first);
		MUST(MPI_Message_f2c(numbers[1]) == second);
		OK(MPI_Mrecv(place.at, DATA, MPI_BYTE, &first, &status));
		must_be(&status, DATA, 70);
		check(place.at, DATA, DATA, 70);
		MUST(MPI_Message_f2c(numbers[1]) == second);
		OK(MPI_Imrecv(place.at, DATA, MPI_BYTE, &second, &request));
		MUST(second == MPI_MESSAGE_NULL);
		OK(MPI_Wait(&request, &status));
		must_be(&status, DATA, 71);
		check(place.at, DATA, DATA, 71);
	}
}

/* A receive that is complete at once, and one that was freed. */
static void other_ends(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Request request;
	MPI_Status status;

	if (rank == 0)
		send_device(DATA, 80);
	barrier();
	if (rank == 1) {
		OK(MPI_Irecv(place.at, DATA, MPI_BYTE, peer, 80, MPI_COMM_WORLD, &request));
		OK(MPI_Wait(&request, &status));
		must_be(&status, DATA, 80);
		check(place.at, DATA, DATA, 80);
		OK(MPI_Irecv(place.at, DATA, MPI_BYTE, peer, 81, MPI_COMM_WORLD, &request));
		OK(MPI_Request_free(&request));
	}
	barrier();
	if (rank == 0) {
		send_device(DATA, 81);
		send_device(DATA, 82);
	} else {
		receive(DATA, false, DATA, 82);
		check(place.at, DATA, DATA, 81);
	}
}

/* --- where the route is not there --- */

/*
 * Whether a message goes directly, now or soon: the sender is told a little later that others were
 * released.
 */
static bool has_room_again(uint64_t bytes)
{
	int is_direct = 0;

	for (int i = 0; i < 1000 && !is_direct; i++) {
		uint64_t sent = info().direct_sent;

		if (rank == 0)
			send_device(bytes, 99);
		else
			receive(bytes, true, bytes, 99);
		is_direct = info().direct_sent == sent + 1;
		OK(MPI_Bcast(&is_direct, 1, MPI_INT, 0, MPI_COMM_WORLD));
	}
	return is_direct;
}

/* The MPI refuses the send, or the receive beside it. */
static void send_refused(const void *memory, int bytes)
{
	MUST(MPI_Send(memory, bytes, MPI_BYTE, peer, -5, MPI_COMM_WORLD) != MPI_SUCCESS);
	MUST(MPI_Sendrecv(memory, bytes, MPI_BYTE, peer, -5, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
	MUST(MPI_Sendrecv(memory, bytes, MPI_BYTE, peer, 95, NULL, 0, MPI_BYTE, ranks, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
}

/* Large messages that nobody receives fill the pool; the others are staged. */
static void full(void)
{
	enum {
		COUNT = 8,
		LARGE = 1 << 20
	};
	MPI_Request requests[COUNT];
	struct place places[COUNT];
	struct ww_mpi_info before = info();

	for (int i = 0; i < COUNT; i++) {
		places[i] = place_new(LARGE, true);
		if (rank == 0) {
			fill(places[i].at, LARGE, 90 + i);
			OK(MPI_Isend(places[i].at, LARGE, MPI_BYTE, peer, 90 + i, MPI_COMM_WORLD,
				&requests[i]));
		}
	}
	barrier();
	for (int i = 0; i < COUNT && rank == 1; i++)
		receive(LARGE, true, LARGE, 90 + i);
	if (rank == 0) {
		OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
		MUST(info().direct_sent > before.direct_sent);
		MUST(info().direct_sent < before.direct_sent + COUNT);
	}
	/* When they are received there is room again, and a send that fails keeps none. */
	barrier();
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	for (int i = 0; i < COUNT && rank == 0; i++)
		send_refused(places[0].at, LARGE);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	MUST(has_room_again(LARGE));
	for (int i = 0; i < COUNT; i++)
		place_free(&places[i]);
}

static void alone(void)
{
	for (int i = 0; i < 10; i++) {
		if (rank == 0)
			send_device(DATA, i);
		else
			receive(DATA, true, DATA, i);
	}
	MUST(!info().takes_direct && info().direct_sent == 0 && info().staged_buffers > 0);
}

static void threaded(void)
{
	refused_exchanges();
	full();
}

static void all(void)
{
	plain();
	same_length();
	too_long();
	too_long_on_others();
	pull_fails();
	absolute();
	order();
	kept_by_requests();
	kept_by_persistent();
	kept_by_short_persistent();
	kept_and_cancelled();
	kept_unread();
	kept_many();
	refused_exchanges();
	kept_by_exchanges();
	handles();
	other_ends();
	plain();
	collectives_go_directly();
}

static const struct {
	const char *name;
	void (*run)(void);
} runs[] = {
	{"all", all},
	{"divided", collectives_are_divided},
	{"divided_killed", divided_killed},
	{"divided_bcast_killed", divided_bcast_killed},
	{"divided_bcast_unanswered", divided_bcast_unanswered},
	{"divided_bcast_root_unanswered", divided_bcast_root_unanswered},
	{"full", full},
	{"halves_of_2_gib", halves_of_2_gib},
	{"alone", alone},
	{"announcing_fails", announcing_fails},
	{"probe_fails", probe_fails},
	{"threaded", threaded},
	{"broker_killed", broker_killed},
	{"sender_killed", sender_killed},
	{"sender_killed_long_ago", sender_killed_long_ago},
	{"member_killed", member_killed},
	{"aborted", aborted},
};

int main(int argc, char *argv[])
{
	const char *cases = argc == 3 ? argv[2] : "";
	bool is_announcing = !strcmp(cases, "announcing_fails");
	bool is_threaded = is_announcing || !strcmp(cases, "threaded");

	if (!strcmp(cases, "divided_killed"))
		divided_killed_prepare();
	test_init(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
	MUST(argc == 3);
	MUST(ranks == 2 || !strncmp(cases, "divided", strlen("divided")));
	peer = 1 - rank;
	if (ranks == 2 && strcmp(cases, "alone") != 0 && !is_announcing) {
		quiet();
		agree();
	}
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (!strcmp(cases, runs[i].name))
			runs[i].run();
	}
	barrier();
	say("ok");
	return test_finish();
}
