/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_foreign_import.c - the importer of the group `foreign`: opens what its parent has allocated, in turns
 *
 * But for the series in which memory is to be mapped already, each turn finds it unknown to the process, by our calls as
 * by the driver's, and leaves it so.
 */
#include <string.h>

#include "bench_foreign.h"
#include "broker.h"

struct importer {
	ww_device *device;
	ww_broker *broker;
	struct cuda cuda;
	struct foreign_folder *folder;
	struct bench pace; /* how long a series goes on */
	bool has_pools;

	int fd; /* of wrapped memory */
	struct ww_memory_description description;

	enum foreign_series series;
	uint64_t released_ns[BENCH_WAYS]; /* of the last turn */
	struct samples imports[BENCH_WAYS];
	struct samples releases[BENCH_WAYS];

	/* What FOREIGN_AGAIN keeps mapped. */
	ww_memory *kept;
	ww_CUdeviceptr kept_address;
};

static void clear_samples(struct importer *importer)
{
	for (int way = 0; way < BENCH_WAYS; way++) {
		samples_fini(&importer->imports[way]);
		samples_fini(&importer->releases[way]);
	}
}

static void own_importer(struct importer *importer)
{
	clear_samples(importer);
	ww_memory_unref(importer->kept);
	if (importer->kept_address)
		importer->cuda.cuIpcCloseMemHandle(importer->kept_address);
	cuda_close(&importer->cuda);
	mail_close(importer->folder, sizeof(*importer->folder));
	own_fd(&importer->fd);
	ww_broker_unref(importer->broker);
	ww_device_unref(importer->device);
}

static int import(const struct importer *importer, ww_memory **out_memory)
{
	const struct foreign_folder *folder = importer->folder;
	ww_status status;

	if (importer->series == FOREIGN_FIRST)
		status = ww_memory_import_fd(importer->device, importer->fd, &importer->description,
			WW_ACCESS_WRITE, out_memory);
	else
		status = ww_memory_import(importer->device, importer->broker,
			importer->series == FOREIGN_POOL ? &folder->pooled : &folder->token,
			WW_ACCESS_WRITE, out_memory, NULL);
	return status == WW_OK ? 0 : complain_record("cannot import memory of others");
}

static int our_turn(struct importer *importer, uint64_t *out_import_ns, uint64_t *out_release_ns)
{
	ww_memory *memory = NULL;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (import(importer, &memory))
		return -1;
	middle = link_now_ns();
	ww_memory_unref(memory);
	*out_import_ns = middle - start;
	*out_release_ns = link_now_ns() - middle;
	return 0;
}

static int open_handle(const struct importer *importer, ww_CUdeviceptr *out_address)
{
	return CUDA_CALL(&importer->cuda, cuIpcOpenMemHandle, out_address, importer->folder->handle,
		WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static int legacy_turn(struct importer *importer, uint64_t *out_import_ns, uint64_t *out_release_ns)
{
	ww_CUdeviceptr address;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (open_handle(importer, &address))
		return -1;
	middle = link_now_ns();
	if (CUDA_CALL(&importer->cuda, cuIpcCloseMemHandle, address))
		return -1;
	*out_import_ns = middle - start;
	*out_release_ns = link_now_ns() - middle;
	return 0;
}

static int pool_turn(struct importer *importer, uint64_t *out_import_ns, uint64_t *out_release_ns)
{
	const struct cuda *cuda = &importer->cuda;
	ww_CUmemoryPool pool;
	ww_CUdeviceptr address;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (cuda_pool_import(cuda, FOREIGN_POOL_FD, &pool) ||
		CUDA_CALL(cuda, cuMemPoolImportPointer, &address, pool, &importer->folder->data))
		return -1;
	middle = link_now_ns();
	if (cuda_pool_free(cuda, address) || CUDA_CALL(cuda, cuMemPoolDestroy, pool))
		return -1;
	*out_import_ns = middle - start;
	*out_release_ns = link_now_ns() - middle;
	return 0;
}

/* The release's time is kept beside. */
static int turn(void *context, enum bench_way way, uint64_t *out_ns)
{
	struct importer *importer = context;
	uint64_t *released = &importer->released_ns[way];

	if (way == BENCH_OURS)
		return our_turn(importer, out_ns, released);
	if (importer->series == FOREIGN_POOL)
		return pool_turn(importer, out_ns, released);
	return legacy_turn(importer, out_ns, released);
}

/* As bench_measure(), of two times in each turn. */
static int note_turn(void *context, enum bench_way way, uint64_t *out_ns)
{
	struct importer *importer = context;

	if (turn(importer, way, out_ns))
		return -1;
	return samples_add(&importer->releases[way], importer->released_ns[way]);
}

static int report(struct importer *importer)
{
	size_t count = importer->imports[0].count;
	/* The first ones were not counted there. */
	size_t skipped = importer->releases[0].count - count;
	struct link_message message = {.kind = LINK_READY, .numbers = {count}};
	enum link_result result = link_send(LINK_FD, &message, -1, WW_FOREVER);

	message.kind = LINK_SAMPLE;
	for (size_t i = 0; i < count && result == LINK_OK; i++) {
		for (size_t way = 0; way < BENCH_WAYS; way++) {
			message.numbers[2 * way] = importer->imports[way].ns[i];
			message.numbers[2 * way + 1] = importer->releases[way].ns[skipped + i];
		}
		result = link_send(LINK_FD, &message, -1, WW_FOREVER);
	}
	return result == LINK_OK ? 0 : complain("cannot report: %s", link_result_text(result));
}

static int run_series(struct importer *importer, uint64_t series)
{
	int result;

	if (series > FOREIGN_POOL || (series == FOREIGN_POOL && !importer->has_pools))
		return complain("there is no series %llu", (unsigned long long)series);
	importer->series = (enum foreign_series)series;
	if (series == FOREIGN_AGAIN &&
		(import(importer, &importer->kept) ||
			open_handle(importer, &importer->kept_address)))
		return -1;
	result = bench_measure(&importer->pace, note_turn, importer, importer->imports) ||
		report(importer);
	clear_samples(importer);
	if (series == FOREIGN_AGAIN) {
		importer->kept = ww_memory_unref(importer->kept);
		importer->cuda.cuIpcCloseMemHandle(importer->kept_address);
		importer->kept_address = 0;
	}
	return result;
}

static int receive_memory(struct importer *importer)
{
	struct link_message message;
	enum link_result result = link_receive(LINK_FD, LINK_MEMORY, &message, &importer->fd,
		WW_FOREVER);

	if (result != LINK_OK)
		return complain("cannot receive a descriptor: %s", link_result_text(result));
	importer->description = message.description;
	return 0;
}

static int open_importer(struct importer *importer, const char *selector, const char *address)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};
	struct ww_device_info info = {.size = sizeof(info)};
	void *start = NULL;

	if (ww_device_open(selector, &importer->device) != WW_OK ||
		ww_device_info_get(importer->device, &info) != WW_OK)
		return complain_record("cannot open device %s", selector);
	if (ww_broker_open(&params, &importer->broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	if (mail_open(FOREIGN_FOLDER_FD, sizeof(*importer->folder), &start))
		return -1;
	importer->folder = start;
	return cuda_open(&importer->cuda, info.index) || receive_memory(importer) ? -1 : 0;
}

static int run_all(struct importer *importer)
{
	for (;;) {
		struct link_message message;
		enum link_result result = link_receive(LINK_FD, LINK_GO, &message, NULL,
			WW_FOREVER);

		if (result != LINK_OK)
			return complain("cannot receive what to do: %s", link_result_text(result));
		if (message.numbers[0] == FOREIGN_END)
			return 0;
		if (run_series(importer, message.numbers[0]))
			return -1;
	}
}

int bench_foreign_child(int argc, char *argv[])
{
	OWN(importer) struct importer importer = {.fd = -1};

	if (argc != 6 || !number_parse(argv[3], 1, UINT64_MAX, &importer.pace.iterations) ||
		!number_parse(argv[4], 1, UINT64_MAX, &importer.pace.budget_ns))
		return refuse("this verb is for processes that `warpway bench` starts itself");
	importer.has_pools = !strcmp(argv[5], "pools");
	if (open_importer(&importer, argv[1], argv[2]) || run_all(&importer))
		return EXIT_FAILED;
	return EXIT_DONE;
}
