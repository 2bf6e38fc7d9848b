/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors.c - what fails, and how: texts, error handlers, and that the job goes on
 *
 * Run with device memory only, with WARPWAY_MPI_STAGING=1M, and linked with the library.
 */
#include "mpi_test.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <warpway/mpi.h>

#include "device/cuda/cuda_abi.h"
#include "device_memory.h"
#include "fakecuda/fakecuda.h"

#define LARGE      ((size_t)3000000)
#define HUGE_BYTES ((size_t)64 << 20)

#define CAPTURE_UNSUPPORTED 900 /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */

static int handled;

static void note(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	handled = *code;
}

static void note_win(MPI_Win *win, int *code, ...)
{
	(void)win;
	handled = *code;
}

/* The handler was called with the code that the call returned, whose text has the words. */
static void must_fail(int code, const char *words)
{
	char text[MPI_MAX_ERROR_STRING];
	int error_class;
	int length;

	MUST(code != MPI_SUCCESS && handled == code);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class > MPI_ERR_LASTCODE);
	OK(MPI_Error_string(code, text, &length));
	say("%s", text);
	MUST(strstr(text, words));
	handled = 0;
}

/* --- messages beyond the bound of pinned memory --- */

static struct ww_mpi_info get_info(void)
{
	struct ww_mpi_info info = {.struct_size = sizeof(info)};

	OK(ww_mpi_info_get(&info));
	return info;
}

/* Byte i of what a rank sends: the first bytes of no two ranks, and no two parts, are the same. */
static char byte_of(int sender, size_t i)
{
	return (char)((size_t)sender * 31 + i + i / 251);
}

static void must_hold(const char *memory, size_t bytes, int sender, size_t from)
{
	char *host = malloc(bytes);

	MUST(host);
	memory_get(host, memory, bytes);
	for (size_t i = 0; i < bytes; i++)
		MUST(host[i] == byte_of(sender, from + i));
	free(host);
}

/* The requests hold more than the bound together, and each more than it. */
static void several_at_once(const char *from, char *to, int peer)
{
	MPI_Request requests[4];

	for (int i = 0; i < 2; i++)
		OK(MPI_Irecv(to + (size_t)i * LARGE, LARGE, MPI_BYTE, peer, i, MPI_COMM_WORLD,
			&requests[i]));
	for (int i = 0; i < 2; i++)
		OK(MPI_Isend(from + (size_t)i * LARGE, LARGE, MPI_BYTE, peer, i, MPI_COMM_WORLD,
			&requests[2 + i]));
	MUST(get_info().staging_bytes >= 2 * LARGE);
	OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
	must_hold(to, 2 * LARGE, peer, 0);
}

static void in_collectives(const char *from, char *to, int peer)
{
	memory_fill(to, 2 * LARGE, 1);
	OK(MPI_Allgather(from, LARGE, MPI_BYTE, to, LARGE, MPI_BYTE, MPI_COMM_WORLD));
	must_hold(to + (size_t)rank * LARGE, LARGE, rank, 0);
	must_hold(to + (size_t)peer * LARGE, LARGE, peer, 0);
	OK(MPI_Alltoall(from, LARGE, MPI_BYTE, to, LARGE, MPI_BYTE, MPI_COMM_WORLD));
	must_hold(to + (size_t)peer * LARGE, LARGE, peer, (size_t)rank * LARGE);
}

/* No call that a message makes for the first time ends the capture of a stream. */
static void beside_a_capture(void)
{
	OWN_MEMORY char *memory = memory_new(1000, 1);
	int peer = rank ^ 1;
	char host[1000];
	void *capture;

	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = byte_of(rank, i);
	memory_put(memory, host, sizeof(host));
	capture = device_capture_begin();
	OK(MPI_Sendrecv_replace(memory, sizeof(host), MPI_BYTE, peer, 0, peer, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	device_capture_end(capture);
	must_hold(memory, sizeof(host), peer, 0);
}

static void beyond_the_bound(void)
{
	char *host = malloc(2 * LARGE);
	char *from = memory_new(2 * LARGE, 1);
	char *to = memory_new(2 * LARGE, 2);
	int peer = rank ^ 1;

	MUST(host && LARGE > get_info().staging_bytes_limit);
	for (size_t i = 0; i < 2 * LARGE; i++)
		host[i] = byte_of(rank, i);
	memory_put(from, host, 2 * LARGE);
	OK(MPI_Sendrecv(from, 2 * LARGE, MPI_BYTE, peer, 0, to, 2 * LARGE, MPI_BYTE, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	must_hold(to, 2 * LARGE, peer, 0);
	memory_fill(to, 2 * LARGE, 3);
	several_at_once(from, to, peer);
	in_collectives(from, to, peer);
	MUST(get_info().staging_bytes == 0);
	MUST(get_info().staging_bytes_most >= 4 * LARGE);
	memory_free(to);
	memory_free(from);
	free(host);
}

/* Without memory of the host the call fails; when there is some again it does not. */
static void no_memory_is_left(void)
{
	OWN_MEMORY char *large = memory_new(HUGE_BYTES, 4);
	int code;

	bound_addresses(HUGE_BYTES / 4);
	code = MPI_Send(large, HUGE_BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD);
	unbound_addresses();
	must_fail(code, "so much host memory");
	OK(MPI_Sendrecv_replace(large, HUGE_BYTES, MPI_BYTE, rank ^ 1, 0, rank ^ 1, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("there is memory again", large, HUGE_BYTES);
}

/* Parts of one element, so far from each other that the addresses between are not free. */
static void parts_far_apart(void)
{
	OWN_MEMORY char *device = memory_new(100, 2);
	char *low = mmap((void *)(uintptr_t)0x20000000, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int lengths[2] = {10, 20};
	MPI_Aint addresses[2];
	MPI_Datatype type;

	MUST(low != MAP_FAILED);
	OK(MPI_Get_address(device, &addresses[0]));
	OK(MPI_Get_address(low, &addresses[1]));
	OK(MPI_Type_create_hindexed(2, lengths, addresses, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	must_fail(MPI_Send(MPI_BOTTOM, 1, type, rank ^ 1, 0, MPI_COMM_WORLD),
		"spans more addresses than are free");
	OK(MPI_Type_free(&type));
	munmap(low, 4096);
}

static void one_sided(void)
{
	OWN_MEMORY char *device = memory_new(100, 2);
	int *target = NULL;
	MPI_Win win;
	MPI_Errhandler handler;

	must_fail(MPI_Win_create(device, 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
		"MPI_Win_create");
	OK(MPI_Win_allocate(sizeof(*target), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target, &win));
	OK(MPI_Win_create_errhandler(note_win, &handler));
	OK(MPI_Win_set_errhandler(win, handler));
	OK(MPI_Win_fence(0, win));
	must_fail(MPI_Put(device, 1, MPI_INT, rank, 0, 1, MPI_INT, win), "MPI_Put");
	must_fail(MPI_Get(device, 1, MPI_INT, rank, 0, 1, MPI_INT, win), "MPI_Get");
	must_fail(MPI_Accumulate(device, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, win),
		"MPI_Accumulate");
	OK(MPI_Win_fence(0, win));
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Win_free(&win));
}

static void must_be_of_class(int code, int wanted)
{
	int error_class = MPI_SUCCESS;

	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == wanted);
}

/*
 * The MPI's own errors stay as they are. After a handler of the program MPICH 5 returns
 * MPI_SUCCESS.
 */
static void errors_of_the_mpi(void)
{
	OWN_MEMORY void *device = memory_new(100, 3);
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Errhandler handler;

	OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	must_be_of_class(MPI_Send(device, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
	must_be_of_class(MPI_Send(device, 1, MPI_BYTE, ranks, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
	must_be_of_class(MPI_Send(device, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD),
		MPI_ERR_TYPE);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
	/* No request was made, whatever the MPI returns, and none is waited for. */
	handled = MPI_SUCCESS;
	MPI_Isend(device, 1, MPI_BYTE, ranks, 0, MPI_COMM_WORLD, &request);
	MUST(handled != MPI_SUCCESS);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	handled = MPI_SUCCESS;
	OK(MPI_Errhandler_free(&handler));
}

/* With a context of its own, and with none; neither is changed. */
static void context_stays(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	ww_PFN_cuCtxGetCurrent get = (ww_PFN_cuCtxGetCurrent)dlsym(library, "cuCtxGetCurrent");
	ww_PFN_cuCtxSetCurrent set = (ww_PFN_cuCtxSetCurrent)dlsym(library, "cuCtxSetCurrent");
	ww_PFN_cuCtxCreate create = (ww_PFN_cuCtxCreate)dlsym(library, "cuCtxCreate_v2");
	ww_CUcontext before = NULL;
	ww_CUcontext other = NULL;
	ww_CUcontext now = NULL;
	OWN_MEMORY void *device = memory_new(1000, 4);

	MUST(get(&before) == WW_CUDA_SUCCESS);
	/* Of another GPU, where there is one. */
	MUST(create(&other, 0, 1) == WW_CUDA_SUCCESS || create(&other, 0, 0) == WW_CUDA_SUCCESS);
	OK(MPI_Bcast(device, 1000, MPI_BYTE, 0, MPI_COMM_WORLD));
	MUST(get(&now) == WW_CUDA_SUCCESS && now == other);
	/* It takes one off the stack. */
	MUST(set(NULL) == WW_CUDA_SUCCESS && set(NULL) == WW_CUDA_SUCCESS);
	MUST(get(&now) == WW_CUDA_SUCCESS && !now);
	OK(MPI_Bcast(device, 1000, MPI_BYTE, 1 % ranks, MPI_COMM_WORLD));
	MUST(get(&now) == WW_CUDA_SUCCESS && !now);
	MUST(set(before) == WW_CUDA_SUCCESS);
	say_memory("context stays", device, 1000);
}

/* --- error handlers that call the MPI --- */

static MPI_Request waited_for;

static void wait_in_handler(MPI_Comm *comm, int *code, ...)
{
	note(comm, code);
	OK(MPI_Wait(&waited_for, MPI_STATUS_IGNORE));
}

/* A request that the handler waits for is complete like others, and its device memory written. */
static void handler_waits(void)
{
	OWN_MEMORY char *receive = memory_new(1000, 6);
	OWN_MEMORY char *send = memory_new(1000, 7);
	MPI_Errhandler handler;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_create_errhandler(wait_in_handler, &handler));
	OK(MPI_Comm_set_errhandler(comm, handler));
	OK(MPI_Irecv(receive, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &waited_for));
	OK(MPI_Send(send, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD));
	handled = MPI_SUCCESS;
	MPI_Send(send, 1000, MPI_BYTE, ranks, 0, comm);
	MUST(handled != MPI_SUCCESS && waited_for == MPI_REQUEST_NULL);
	say_memory("received in a handler", receive, 1000);
	say_memory("what was sent", send, 1000);
	handled = 0;
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Comm_free(&comm));
}

static jmp_buf behind;

static void leave(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	longjmp(behind, 1);
}

/* A handler may leave by longjmp(): later calls stage as before. */
static void handler_leaves(void)
{
	OWN_MEMORY char *large = memory_new(HUGE_BYTES, 8);
	MPI_Errhandler handler, before;

	OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
	OK(MPI_Comm_create_errhandler(leave, &handler));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
	bound_addresses(HUGE_BYTES / 4);
	if (!setjmp(behind)) {
		MPI_Send(large, HUGE_BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD);
		MUST(!"the handler was called");
	}
	unbound_addresses();
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
	OK(MPI_Sendrecv(large, 1000, MPI_BYTE, rank, 0, large + 1000, 1000, MPI_BYTE, rank, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("after a handler that left", large, 2000);
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Errhandler_free(&before));
}

/* --- what fails leaves no trace --- */

/* The MPI refuses a second buffer; the first one is still there. */
static void attached_twice(void)
{
	enum {
		BYTES = 100000
	};
	OWN_MEMORY char *first = memory_new(BYTES, 9);
	OWN_MEMORY char *second = memory_new(BYTES, 10);
	char *detached = NULL;
	int size = 0;

	OK(MPI_Buffer_attach(first, BYTES));
	handled = MPI_SUCCESS;
	MUST(MPI_Buffer_attach(second, BYTES) != MPI_SUCCESS || handled != MPI_SUCCESS);
	handled = MPI_SUCCESS;
	OK(MPI_Bsend(second, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD));
	OK(MPI_Recv(second + 1000, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Buffer_detach(&detached, &size));
	MUST(detached == first && size == BYTES);
	say_memory("buffered", second, 2000);
}

/* There is no host memory for it; nothing is attached. */
static void attached_without_memory(void)
{
	OWN_MEMORY char *buffer = memory_new(HUGE_BYTES, 15);
	void *detached = NULL;
	int size = 0;
	int code;

	bound_addresses(HUGE_BYTES / 4);
	code = MPI_Buffer_attach(buffer, HUGE_BYTES);
	unbound_addresses();
	must_fail(code, "attach a smaller buffer");
	OK(MPI_Buffer_attach(buffer, HUGE_BYTES));
	OK(MPI_Buffer_detach(&detached, &size));
	MUST(detached == buffer && size == HUGE_BYTES);
}

/* The copy of one of two persistent sends fails: neither is active, and both can be started. */
static void start_fails(fakecuda_fail_fn *fail)
{
	OWN_MEMORY char *send = memory_new(2000, 11);
	OWN_MEMORY char *receive = memory_new(2000, 12);
	MPI_Request requests[2];
	MPI_Request received[2];

	for (int i = 0; i < 2; i++)
		OK(MPI_Send_init(send + i * 1000L, 1000, MPI_BYTE, rank, i, MPI_COMM_WORLD,
			&requests[i]));
	fail("cuMemcpyAsync", 2, WW_CUDA_ERROR_LAUNCH_FAILED);
	must_fail(MPI_Startall(2, requests), "CUDA_ERROR_LAUNCH_FAILED");
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	OK(MPI_Startall(2, requests));
	for (int i = 0; i < 2; i++)
		OK(MPI_Irecv(receive + i * 1000L, 1000, MPI_BYTE, rank, i, MPI_COMM_WORLD,
			&received[i]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	OK(MPI_Waitall(2, received, MPI_STATUSES_IGNORE));
	say_memory("started again", receive, 2000);
	for (int i = 0; i < 2; i++)
		OK(MPI_Request_free(&requests[i]));
}

static int attribute_calls;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm;
	(void)key;
	(void)extra;
	attribute_calls++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)value;
	(void)extra;
	attribute_calls++;
	return MPI_SUCCESS;
}

/* A copy fails when the receive is complete: its communicator says who gets the error. */
static void completion_fails(fakecuda_fail_fn *fail, MPI_Errhandler handler)
{
	OWN_MEMORY char *receive = memory_new(1000, 13);
	char *host = calloc(1, 1000);
	MPI_Request request;
	MPI_Status status;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_set_errhandler(comm, handler));
	OK(MPI_Irecv(receive, 1000, MPI_BYTE, rank, 0, comm, &request));
	OK(MPI_Send(host, 1000, MPI_BYTE, rank, 0, comm));
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	MUST(MPI_Waitall(1, &request, &status) == MPI_ERR_IN_STATUS);
	MUST(status.MPI_ERROR != MPI_SUCCESS && request == MPI_REQUEST_NULL);
	MUST(handled == (handler == MPI_ERRORS_RETURN ? 0 : status.MPI_ERROR));
	handled = 0;
	OK(MPI_Irecv(receive, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request));
	OK(MPI_Send(host, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD));
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	must_fail(MPI_Wait(&request, &status), "CUDA_ERROR_LAUNCH_FAILED");
	OK(MPI_Comm_free(&comm));
	free(host);
}

/* Such an error calls no function of the program, but error handlers. */
static void completions_fail(fakecuda_fail_fn *fail)
{
	MPI_Errhandler handler;
	int key;

	OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL));
	OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
	OK(MPI_Comm_create_errhandler(note, &handler));
	completion_fails(fail, MPI_ERRORS_RETURN);
	completion_fails(fail, handler);
	completion_fails(fail, handler);
	MUST(attribute_calls == 0);
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
	OK(MPI_Comm_free_keyval(&key));
}

/* --- receives of bytes whose order the library does not know --- */

/*
 * A message that is shorter than such a type. MPI forbids a receive that has bytes several times,
 * which this one does not write: other types like that have more than 2 GiB.
 */
static void short_of_unknown_order(void)
{
	enum {
		BLOCK = 100
	};
	int displs[3] = {0, BLOCK, 0};
	char before[2 * BLOCK], after[2 * BLOCK], sent[BLOCK];
	OWN_MEMORY char *receive = memory_new(2 * BLOCK, 16);
	OWN_MEMORY char *send = memory_new(BLOCK, 17);
	MPI_Request request;
	MPI_Datatype type;

	OK(MPI_Type_create_indexed_block(3, BLOCK, displs, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Recv_init(receive, 1, type, rank, 0, MPI_COMM_WORLD, &request));
	memory_get(before, receive, 2 * BLOCK);
	for (unsigned int i = 0; i < 2; i++) {
		memory_fill(send, BLOCK, 18 + i);
		memory_get(sent, send, BLOCK);
		before[BLOCK + i]++; /* what is behind the message is not as at the start before */
		memory_put(receive, before, 2 * BLOCK);
		OK(MPI_Send(send, BLOCK, MPI_BYTE, rank, 0, MPI_COMM_WORLD));
		OK(MPI_Start(&request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
		memory_get(after, receive, 2 * BLOCK);
		MUST(!memcmp(after, sent, BLOCK) && !memcmp(after + BLOCK, before + BLOCK, BLOCK));
	}
	OK(MPI_Request_free(&request));
	OK(MPI_Type_free(&type));
}

/* The device memory is read before anything is received; so it takes no host memory here. */
static void read_of_halves_fails(fakecuda_fail_fn *fail)
{
	void *receive = device_memory_new(2 * HALF_BYTES, 0);
	MPI_Datatype type = halves_type();
	char sent[100] = {0};
	int flag = 0;

	OK(MPI_Send(sent, sizeof(sent), MPI_BYTE, rank, 0, MPI_COMM_WORLD));
	OK(MPI_Probe(rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	must_fail(MPI_Recv(receive, 1, type, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
		"CUDA_ERROR_LAUNCH_FAILED");
	OK(MPI_Iprobe(rank, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
	MUST(flag);
	OK(MPI_Recv(sent, sizeof(sent), MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Type_free(&type));
	device_memory_free(receive, 2 * HALF_BYTES, 0);
}

/* --- the driver fails --- */

/* The driver's answers, which the fake driver gives when it is told to. */
static void driver_fails(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(library, "fakecuda_fail");
	void *device = memory_new(1000, 5);

	if (!fail) { /* a GPU answers as it likes */
		memory_free(device);
		return;
	}
	fail("cuMemcpyAsync", 1, CAPTURE_UNSUPPORTED);
	must_fail(MPI_Send(device, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD), "captured");
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	must_fail(MPI_Send(device, 1000, MPI_BYTE, rank, 0, MPI_COMM_WORLD),
		"CUDA_ERROR_LAUNCH_FAILED");
	OK(MPI_Sendrecv_replace(device, 1000, MPI_BYTE, rank, 0, rank, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	memory_free(device);
	start_fails(fail);
	completions_fail(fail);
	read_of_halves_fails(fail);
}

static void kinds_of_memory(void)
{
	MPI_Info info;

	OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
	must_have_kinds(info);
}

int main(int argc, char *argv[])
{
	MPI_Errhandler handler;

	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	MUST(is_staging() && ranks == 2);
	MUST(MPIX_Query_cuda_support() == 1);
	OK(MPI_Comm_create_errhandler(note, &handler));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
	kinds_of_memory();
	beside_a_capture();
	beyond_the_bound();
	no_memory_is_left();
	parts_far_apart();
	one_sided();
	errors_of_the_mpi();
	context_stays();
	handler_waits();
	handler_leaves();
	attached_twice();
	attached_without_memory();
	short_of_unknown_order();
	driver_fails();
	OK(MPI_Errhandler_free(&handler));
	return test_finish();
}
