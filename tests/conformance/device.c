/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - finding, opening and describing devices
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "support/driver.h"

CASE(device_count, 0)
{
	uint32_t count = 77;

	MUST_OK(ww_device_count(WW_BACKEND_HOST, &count));
	MUST_EQUAL(1, count);
}

DEVICE_CASE(device_count_cuda, NEEDS_CUDA)
{
	uint32_t count = 0;

	MUST_OK(ww_device_count(WW_BACKEND_CUDA, &count));
	MUST(count > device_info(device).index);
}

CASE(device_count_refuses_unknown, 0)
{
	uint32_t count = 77;

	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_count(0, &count));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_count(3, &count));
}

static void must_open_same(ww_device *device, const char *name)
{
	OWN(device) ww_device *again = NULL;

	MUST_OK(ww_device_open(name, &again));
	if (again != device)
		FAIL("\"%s\" opened another device", name);
}

DEVICE_CASE(device_open_by_selector, 0)
{
	must_open_same(device, device_info(device).selector);
}

CASE(device_open_by_index, NEEDS_CUDA)
{
	uint32_t count;
	char name[16];

	MUST_OK(ww_device_count(WW_BACKEND_CUDA, &count));
	for (uint32_t i = 0; i < count; i++) {
		struct ww_device_info info;
		ww_device *device;

		snprintf(name, sizeof(name), "cuda:%u", i);
		MUST_OK(ww_device_open(name, &device));
		info = device_info(device);
		MUST_EQUAL(i, info.index);
		MUST(!strcmp(info.selector, name));
		MUST_EQUAL(WW_BACKEND_CUDA, info.backend);
		ww_device_unref(device);
	}
}

/* "cuda:" + prefix + the UUID as nvidia-smi prints it. */
static void name_uuid(char out[64], const char *prefix, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	size_t length = (size_t)snprintf(out, 64, "cuda:%s", prefix);

	for (int i = 0; i < WW_DEVICE_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[length++] = '-';
		length += (size_t)snprintf(out + length, 64 - length, "%02x", uuid[i]);
	}
}

/* Small letters, or capital ones. */
static void name_in_letters(char out[64], const char *prefix, const struct ww_device_info *info,
	bool are_capital)
{
	name_uuid(out, prefix, info->uuid);
	for (char *c = out + strlen("cuda:") + strlen(prefix); *c && are_capital; c++)
		*c = (char)toupper(*c);
}

CASE(device_open_by_uuid, NEEDS_CUDA)
{
	ww_device *device = subject_open();
	const struct ww_device_info info = device_info(device);
	char names[4][64];

	for (size_t i = 0; i < 4; i++) {
		name_in_letters(names[i], i < 2 ? "GPU-" : "", &info, i % 2);
		must_open_same(device, names[i]);
	}
	ww_device_unref(device);
	for (size_t i = 0; i < 4; i++) { /* while it is not open */
		struct ww_device_info found;

		MUST_OK(ww_device_open(names[i], &device));
		found = device_info(device);
		MUST_MATCH(info.uuid, found.uuid, sizeof(found.uuid));
		ww_device_unref(device);
	}
}

/* A process opens the device of each slice that it receives. */
CASE(device_open_again_asks_no_driver, NEEDS_CUDA)
{
	OWN(device) ww_device *device = subject_open();
	const struct ww_device_info info = device_info(device);
	char name[64];
	uint64_t before;

	if (!fake_get())
		check_skip("only the fake driver counts its calls");
	name_uuid(name, "GPU-", info.uuid);
	before = fake_get()->call_count("*");
	must_open_same(device, name);
	must_open_same(device, info.selector);
	MUST_EQUAL(before, fake_get()->call_count("*"));
	ww_device_unref(device);
	device = subject_open();
	MUST(fake_get()->call_count("*") > before);
}

/* Whether there is a GPU on which processes can share memory by descriptor. */
static bool have_usable_gpu(void)
{
	uint64_t needed = WW_CAP_EXPORT | WW_CAP_MANY_PROCESSES;
	uint32_t count = 0;
	bool usable = false;

	if (ww_device_count(WW_BACKEND_CUDA, &count))
		return false;
	for (uint32_t i = 0; i < count && !usable; i++) {
		ww_device *device;
		char name[16];

		snprintf(name, sizeof(name), "cuda:%u", i);
		MUST_OK(ww_device_open(name, &device));
		usable = (device_info(device).capabilities & needed) == needed;
		ww_device_unref(device);
	}
	return usable;
}

CASE(device_open_default, 0)
{
	struct ww_device_info info;
	OWN(device) ww_device *device = NULL;

	MUST_OK(ww_device_open(NULL, &device));
	info = device_info(device);
	MUST_EQUAL(have_usable_gpu() ? WW_BACKEND_CUDA : WW_BACKEND_HOST, info.backend);
	MUST(info.capabilities & WW_CAP_EXPORT);
	must_open_same(device, info.selector);
}

CASE(device_open_refuses_no_name, 0)
{
	static const char *const names[] = {
		"",
		" ",
		"host ",
		" host",
		"host:0",
		"hosts",
		"Host",
		"cpu",
		"cuda",
		"cuda:",
		"cuda: 0",
		"cuda:0 ",
		"cuda:+0",
		"cuda:-1",
		"cuda:0x0",
		"cuda:1.0",
		"cuda:zero",
		"gpu:0",
		"cuda:GPU-",
		"cuda:GPU-0",
		"cuda:00000000-0000-0000-0000-00000000000",
		"cuda:00000000-0000-0000-0000-0000000000000",
		"cuda:0000000g-0000-0000-0000-000000000000",
		"cuda:GPU-GPU-00000000-0000-0000-0000-000000000000",
		"\xff\xfe",
	};
	ww_device *device = (ww_device *)&names;
	OWN(heap) char *longest = malloc(100001);

	for (size_t i = 0; i < CHECK_COUNT(names); i++) {
		ww_status status = ww_device_open(names[i], &device);

		if (status != WW_ERR_INVALID)
			FAIL("\"%s\" gave %s", names[i], ww_status_name(status));
		MUST_REFUSE(WW_ERR_INVALID, "\"", status);
		MUST(!device);
	}
	MUST(longest);
	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	MUST_REFUSE(WW_ERR_INVALID, "xxx", ww_device_open(longest, &device));
}

CASE(device_open_refuses_missing, NEEDS_CUDA)
{
	ww_device *device = (ww_device *)&device;

	MUST_REFUSE(WW_ERR_NO_DEVICE, "4095", ww_device_open("cuda:4095", &device));
	MUST(!device);
	MUST_REFUSE(WW_ERR_NO_DEVICE, "",
		ww_device_open("cuda:GPU-01234567-89ab-cdef-0123-456789abcdef", &device));
	MUST(!device);
	MUST_REFUSE(WW_ERR_NO_DEVICE, "",
		ww_device_open("cuda:01234567-89AB-CDEF-0123-456789ABCDEF", &device));
	MUST(!device);
	MUST(ww_device_open("cuda:99999999999999999999999", &device) < 0);
	MUST(!device);
}

CASE(device_open_twice_is_one, 0)
{
	OWN(device) ww_device *device = subject_open();

	must_open_same(device, subject_name());
	/* The count went back: the device is still there. */
	MUST(device_info(device).backend > 0);
	ww_device_unref(device);
	device = subject_open();
	MUST(device_info(device).backend > 0);
}

struct opener {
	pthread_t thread;
	pthread_barrier_t *barrier;
	ww_device *device;
};

static void *open_with_others(void *context)
{
	struct opener *opener = context;

	for (int round = 0; round < 50; round++) {
		pthread_barrier_wait(opener->barrier);
		opener->device = subject_open();
		pthread_barrier_wait(opener->barrier);
		opener->device = ww_device_unref(opener->device);
	}
	pthread_barrier_wait(opener->barrier);
	opener->device = subject_open();
	return NULL;
}

CASE(device_open_by_many_threads_is_one, 0)
{
	static struct opener openers[4];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, CHECK_COUNT(openers));
	for (size_t i = 0; i < CHECK_COUNT(openers); i++) {
		openers[i].barrier = &barrier;
		MUST(!pthread_create(&openers[i].thread, NULL, open_with_others, &openers[i]));
	}
	for (size_t i = 0; i < CHECK_COUNT(openers); i++)
		pthread_join(openers[i].thread, NULL);
	for (size_t i = 1; i < CHECK_COUNT(openers); i++)
		MUST(openers[i].device == openers[0].device);
	for (size_t i = 0; i < CHECK_COUNT(openers); i++)
		ww_device_unref(openers[i].device);
	pthread_barrier_destroy(&barrier);
}

CASE(device_ref_is_the_device, 0)
{
	ww_device *device = subject_open();

	MUST(ww_device_ref(device) == device);
	MUST(!ww_device_unref(device));
	MUST(device_info(device).backend > 0);
	MUST(!ww_device_unref(device));
	MUST(!ww_device_unref(NULL));
}

static bool is_text(const char *text, size_t room)
{
	return text[0] && memchr(text, '\0', room);
}

DEVICE_CASE(device_info_fields, 0)
{
	static const uint8_t no_uuid[WW_DEVICE_UUID_BYTES];
	struct ww_device_info info = device_info(device);
	uint64_t known = WW_CAP_EXPORT | WW_CAP_HOST_MEMORY | WW_CAP_HOST_READ_ONLY |
		WW_CAP_CPU_ACCESS | WW_CAP_STREAM_WRAP | WW_CAP_MANY_PROCESSES |
		WW_CAP_STREAM_VALUE | WW_CAP_EVENT | WW_CAP_EVENT_IMPORTED | WW_CAP_FOREIGN |
		WW_CAP_MODULE | WW_CAP_GRAPH;

	MUST_EQUAL(sizeof(info), info.struct_size);
	MUST_EQUAL(subject_is_cuda() ? WW_BACKEND_CUDA : WW_BACKEND_HOST, info.backend);
	MUST_EQUAL(0, info.capabilities & ~known);
	MUST(info.granularity && !(info.granularity & (info.granularity - 1)));
	MUST(info.bytes_total > 0);
	MUST(info.mps <= WW_MPS_ON);
	MUST(memcmp(info.uuid, no_uuid, sizeof(no_uuid)));
	MUST(is_text(info.selector, sizeof(info.selector)));
	MUST(is_text(info.name, sizeof(info.name)));
	MUST(is_text(info.driver, sizeof(info.driver)));
	if (info.backend == WW_BACKEND_HOST) {
		MUST_EQUAL(WW_MPS_OFF, info.mps);
		MUST(!strcmp(info.selector, "host"));
		MUST_EQUAL(0, info.index);
		MUST_EQUAL(2 * MIB, info.granularity);
		MUST_EQUAL(known &
				~(WW_CAP_STREAM_WRAP | WW_CAP_EVENT_IMPORTED | WW_CAP_FOREIGN |
					WW_CAP_GRAPH),
			info.capabilities);
	} else {
		MUST(info.capabilities & WW_CAP_STREAM_WRAP);
		MUST(!(info.capabilities & WW_CAP_CPU_ACCESS));
		MUST(strstr(info.driver, "CUDA "));
	}
}

CASE(device_info_is_versioned, 0)
{
	struct {
		struct ww_device_info info;
		uint8_t later[64];
	} longer = {.info.struct_size = sizeof(longer)};
	struct ww_device_info info = {.struct_size = 0};
	ww_device *device = subject_open();
	uint8_t zero[sizeof(longer.later)] = {0};

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_device_info_get(device, &info));
	info.struct_size = 8;
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_device_info_get(device, &info));
	memset(longer.later, 0xee, sizeof(longer.later));
	MUST_OK(ww_device_info_get(device, &longer.info));
	MUST_EQUAL(sizeof(longer), longer.info.struct_size);
	MUST_MATCH(zero, longer.later, sizeof(zero));
	ww_device_unref(device);
}

DEVICE_CASE(device_other_differs, NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *other = subject_open_other();
	struct ww_device_info a = device_info(device);
	struct ww_device_info b = device_info(other);

	MUST(device != other);
	MUST(a.index != b.index);
	MUST(memcmp(a.uuid, b.uuid, sizeof(a.uuid)));
	MUST(strcmp(a.selector, b.selector));
}

DEVICE_CASE(device_misuse, NEEDS_MISUSE_STATUS)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_open("host", NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_count(WW_BACKEND_HOST, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_info_get(NULL, &info));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_info_get(device, NULL));
}
