/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject.h - the device under test, and short ways to use it
 *
 * WW_TEST_DEVICE names it as ww_device_open() does; "host" if unset. Helpers inherit it. Cases of
 * two GPUs use that which WW_TEST_OTHER names beside it; if unset, the first other one.
 */
#ifndef WW_TESTS_SUPPORT_SUBJECT_H
#define WW_TESTS_SUPPORT_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "support/check.h"
#include "support/own.h"

#define MIB (UINT64_C(1) << 20)

const char *subject_name(void);
bool subject_is_cuda(void);

/*
 * Whether descriptors and mappings can be counted: a real driver opens some of its own whenever it
 * likes.
 */
bool subject_is_countable(void);

ww_device *subject_open(void);

/* Defines a case as CASE() does, in which `device` is the subject. */
#define DEVICE_CASE(case_name, case_needs)                      \
	static void case_name##_on(ww_device *device);          \
	CASE(case_name, case_needs)                             \
	{                                                       \
		OWN(device) ww_device *device = subject_open(); \
                                                                \
		case_name##_on(device);                         \
	}                                                       \
	static void case_name##_on(ww_device *device)

/* A GPU other than the subject, or NULL. */
ww_device *subject_open_other(void);

/* How many GPUs this process sees, and one of them. */
uint32_t gpu_count(void);
ww_device *gpu_open(uint32_t index);

#define SUBJECT_SETTING_BYTES 72

/* CUDA_VISIBLE_DEVICES for a process that sees this GPU and no other. */
void subject_see_only(ww_device *device, char out_setting[SUBJECT_SETTING_BYTES]);

/* Whether each of two GPUs can map the other's memory, by the driver's word. */
bool devices_are_peers(ww_device *a, ww_device *b);

struct ww_device_info device_info(ww_device *device);
uint64_t device_free_bytes(ww_device *device);
struct ww_memory_info memory_info(ww_memory *memory);

ww_memory *memory_make(ww_device *device, uint32_t kind, uint64_t bytes);
ww_stream *stream_make(ww_device *device);

/* Export it and import it here again. */
ww_memory *memory_reimport(ww_memory *memory, ww_device *device, uint32_t access);

/*
 * The same object. Where the kernel does not tell whether two descriptors are one, memory of a GPU
 * may be mapped once more instead; then it has the same id at least.
 */
void memory_must_be_same(ww_memory *expected, ww_memory *got);

/* Whether the kernel tells (Linux 6.10, or kcmp(2) is allowed). */
bool kernel_compares_descriptors(void);

/* ww_memory_write() and ww_memory_read(), which must succeed. */
void memory_put(ww_memory *memory, uint64_t offset, const void *from, uint64_t bytes);
void memory_get(ww_memory *memory, uint64_t offset, void *to, uint64_t bytes);

/* Bytes that depend on the seed and on their place. */
void pattern_make(uint8_t *out, uint64_t bytes, uint32_t seed);
void pattern_write(ww_memory *memory, uint32_t seed);
void pattern_verify(ww_memory *memory, uint32_t seed);

/* All bytes of the memory have this value. */
void memory_must_be(ww_memory *memory, uint8_t value);

#endif
