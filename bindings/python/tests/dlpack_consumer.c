/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack_consumer.c - a library that takes tensors of DLPack, for test_dlpack.py
 *
 * It knows DLPack's structs only, as they are published, and nothing of Python or of this project:
 * a pointer out of a capsule, and whether it is of the versioned form. It is loaded with ctypes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	int32_t device_type;
	int32_t device_id;
} DLDevice;

typedef struct {
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
} DLDataType;

typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;
	int64_t *strides;
	uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
	struct {
		uint32_t major;
		uint32_t minor;
	} version;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* What a test compares; a ctypes.Structure of it is in test_dlpack.py. */
struct description {
	uint64_t major, minor, flags;
	int64_t device_type, device_id, ndim;
	uint64_t code, bits, lanes, byte_offset, data;
	int64_t shape[8], strides[8]; /* in elements */
};

struct taken {
	void *managed;
	int32_t is_versioned;
};

static const DLTensor *tensor_of(const struct taken *taken)
{
	if (taken->is_versioned)
		return &((DLManagedTensorVersioned *)taken->managed)->dl_tensor;
	return &((DLManagedTensor *)taken->managed)->dl_tensor;
}

void consumer_describe(void *managed, int32_t is_versioned, struct description *out);
int64_t consumer_sum(void *managed, int32_t is_versioned);
void consumer_release(void *managed, int32_t is_versioned);
int consumer_release_in_thread(void *managed, int32_t is_versioned);
int consumer_release_at_exit(void *managed, int32_t is_versioned);

void consumer_describe(void *managed, int32_t is_versioned, struct description *out)
{
	const struct taken taken = {managed, is_versioned};
	const DLTensor *tensor = tensor_of(&taken);

	memset(out, 0, sizeof(*out));
	if (is_versioned) {
		out->major = ((DLManagedTensorVersioned *)managed)->version.major;
		out->minor = ((DLManagedTensorVersioned *)managed)->version.minor;
		out->flags = ((DLManagedTensorVersioned *)managed)->flags;
	}
	out->device_type = tensor->device.device_type;
	out->device_id = tensor->device.device_id;
	out->ndim = tensor->ndim;
	out->code = tensor->dtype.code;
	out->bits = tensor->dtype.bits;
	out->lanes = tensor->dtype.lanes;
	out->byte_offset = tensor->byte_offset;
	out->data = (uintptr_t)tensor->data;
	for (int32_t i = 0; i < tensor->ndim && i < 8; i++) {
		out->shape[i] = tensor->shape[i];
		out->strides[i] = tensor->strides[i];
	}
}

/* Of a tensor of one dimension, of int32, in memory of the CPU. */
int64_t consumer_sum(void *managed, int32_t is_versioned)
{
	const struct taken taken = {managed, is_versioned};
	const DLTensor *tensor = tensor_of(&taken);
	const char *start = (const char *)tensor->data + tensor->byte_offset;
	int64_t sum = 0;

	for (int64_t i = 0; i < tensor->shape[0]; i++)
		sum += *(const int32_t *)(const void *)(start + i * tensor->strides[0] * 4);
	return sum;
}

void consumer_release(void *managed, int32_t is_versioned)
{
	if (is_versioned)
		((DLManagedTensorVersioned *)managed)->deleter(managed);
	else
		((DLManagedTensor *)managed)->deleter(managed);
}

static void *release_main(void *argument)
{
	struct taken *taken = argument;

	consumer_release(taken->managed, taken->is_versioned);
	return NULL;
}

/* Return: 0 when the other thread has called the deleter. */
int consumer_release_in_thread(void *managed, int32_t is_versioned)
{
	struct taken taken = {managed, is_versioned};
	pthread_t thread;

	if (pthread_create(&thread, NULL, release_main, &taken) != 0)
		return -1;
	return pthread_join(thread, NULL);
}

static struct taken last;

static void release_last(void)
{
	static const char text[] = "released at exit\n";

	consumer_release(last.managed, last.is_versioned);
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
}

/* After the interpreter has ended: functions of atexit() run later than that. */
int consumer_release_at_exit(void *managed, int32_t is_versioned)
{
	last = (struct taken){managed, is_versioned};
	return atexit(release_last);
}
