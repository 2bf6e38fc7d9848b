/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - arrays that go to other libraries and come from them: tensors of DLPack, and bare
 * legacy handles
 *
 * What computes with shapes and strides alone is tested beside it (src/array) and by fuzzing. Here
 * it is memory of the subject, written by one side and read by the other.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array/dlpack_abi.h"
#include "conformance/conformance.h"
#include "support/allocation.h"
#include "support/child.h"
#include "support/driver.h"

#define BYTES  (2 * MIB)
#define OFFSET 4096

static const struct ww_dtype float32 = {WW_DTYPE_FLOAT, 32, 1};
static const struct ww_dtype uint8 = {WW_DTYPE_UINT, 8, 1};

static struct ww_array array_of(const struct ww_dtype *dtype, uint64_t offset, uint32_t ndim,
	const int64_t *shape, const int64_t *strides)
{
	struct ww_array array;

	MUST_OK(ww_array_set(&array, dtype, ndim, shape, strides, offset));
	return array;
}

/* 3 x 5 floats, their rows the other way round. */
static struct ww_array turned(void)
{
	return array_of(&float32, OFFSET + 40, 2, (const int64_t[]){3, 5},
		(const int64_t[]){-20, 4});
}

static struct DLManagedTensorVersioned *export(ww_memory *memory, const struct ww_array *array)
{
	struct DLManagedTensorVersioned *tensor;

	MUST_OK(ww_dlpack_export(memory, array, &tensor));
	MUST(tensor && tensor->major == 1 && tensor->minor == 1 && tensor->deleter);
	return tensor;
}

/* --- out --- */

DEVICE_CASE(array_exports_a_tensor, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct ww_array array = turned();
	struct DLManagedTensorVersioned *tensor = export(memory, &array);
	const struct ww_dl_tensor *seen = &tensor->tensor;

	MUST_EQUAL(0, tensor->flags);
	MUST_EQUAL(subject_is_cuda() ? 2 : 1, seen->device_type);
	MUST_EQUAL(device_info(device).index, seen->device_id);
	MUST((char *)seen->data == (char *)ww_memory_pointer(memory) + OFFSET + 40);
	MUST_EQUAL(0, seen->byte_offset);
	MUST_EQUAL(2, seen->ndim);
	MUST_MATCH(&float32, &seen->dtype, sizeof(float32));
	MUST(seen->shape[0] == 3 && seen->shape[1] == 5);
	MUST(seen->strides[0] == -5 && seen->strides[1] == 1);
	tensor->deleter(tensor);
}

DEVICE_CASE(array_exports_one_element_and_none, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct ww_array array = array_of(&float32, 8, 0, NULL, NULL);
	struct DLManagedTensorVersioned *tensor = export(memory, &array);

	MUST_EQUAL(0, tensor->tensor.ndim);
	MUST((char *)tensor->tensor.data == (char *)ww_memory_pointer(memory) + 8);
	tensor->deleter(tensor);
	array = array_of(&float32, 8, 2, (const int64_t[]){3, 0}, NULL);
	tensor = export(memory, &array);
	MUST(!tensor->tensor.data && tensor->tensor.strides && tensor->tensor.shape[1] == 0);
	tensor->deleter(tensor);
	/* one element has neighbours nowhere: such a stride need not be a multiple */
	array = array_of(&float32, 8, 1, (const int64_t[]){1}, (const int64_t[]){7});
	tensor = export(memory, &array);
	MUST_EQUAL(1, tensor->tensor.strides[0]);
	tensor->deleter(tensor);
}

DEVICE_CASE(array_exports_host_kind, WW_CAP_HOST_MEMORY)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, BYTES);
	struct ww_array array = turned();
	struct DLManagedTensorVersioned *tensor = export(memory, &array);

	MUST_EQUAL(subject_is_cuda() ? 3 : 1, tensor->tensor.device_type);
	MUST_EQUAL(0, tensor->tensor.device_id);
	MUST((char *)tensor->tensor.data == (char *)ww_memory_host_pointer(memory) + array.offset);
	tensor->deleter(tensor);
}

DEVICE_CASE(array_exports_read_only, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);
	struct ww_array array = turned();
	struct DLManagedTensorVersioned *tensor = export(reader, &array);
	struct DLManagedTensor *plain = (struct DLManagedTensor *)tensor;

	MUST_EQUAL(WW_DL_READ_ONLY, tensor->flags);
	tensor->deleter(tensor);
	MUST_REFUSE(WW_ERR_ACCESS, "ww_dlpack_export",
		ww_dlpack_export_unversioned(reader, &array, &plain));
	MUST(!plain);
}

/* The deleter may be called when, and where, nobody else has the memory any more. */
CASE(array_tensor_keeps_the_memory, 0)
{
	ww_device *device = subject_open();
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	ww_stream *stream = stream_make(device);
	struct ww_array array = array_of(&uint8, OFFSET, 1, (const int64_t[]){1000}, NULL);
	struct DLManagedTensor *tensor;
	uint8_t wanted[1000];
	uint8_t got[1000];

	pattern_make(wanted, sizeof(wanted), 3);
	memory_put(memory, OFFSET, wanted, sizeof(wanted));
	MUST_OK(ww_dlpack_export_unversioned(memory, &array, &tensor));
	ww_memory_unref(memory);
	MUST_OK(ww_stream_copy(stream, got, tensor->tensor.data, sizeof(got)));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_MATCH(wanted, got, sizeof(got));
	ww_stream_unref(stream);
	ww_device_unref(device);
	tensor->deleter(tensor);
}

DEVICE_CASE(array_export_refuses, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct ww_array array = array_of(&float32, BYTES - 8, 1, (const int64_t[]){3}, NULL);
	struct DLManagedTensorVersioned *tensor = (struct DLManagedTensorVersioned *)&array;

	MUST_REFUSE(WW_ERR_MISMATCH, "outside", ww_dlpack_export(memory, &array, &tensor));
	MUST(!tensor);
	array = array_of(&float32, 0, 1, (const int64_t[]){3}, (const int64_t[]){6});
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "copy", ww_dlpack_export(memory, &array, &tensor));
	array.reserved = 1;
	MUST_REFUSE(WW_ERR_INVALID, "reserved", ww_dlpack_export(memory, &array, &tensor));
}

/* --- in --- */

/* A tensor as another library makes it, which counts how often it is given back. */
struct theirs {
	struct DLManagedTensorVersioned tensor;
	int64_t shape[3];
	int64_t strides[3];
	int deleted;
};

static void count_deletion(struct DLManagedTensorVersioned *self)
{
	((struct theirs *)self->context)->deleted++;
}

/* 2 x 3 x 4 floats at @data, in C order, without strides. */
static void theirs_make(struct theirs *theirs, ww_device *device, void *data)
{
	*theirs = (struct theirs){.shape = {2, 3, 4}};
	theirs->tensor = (struct DLManagedTensorVersioned){
		.major = 1,
		.minor = 3,
		.context = theirs,
		.deleter = count_deletion,
		.tensor = {.data = data,
			.device_type = subject_is_cuda() ? WW_DL_CUDA : WW_DL_CPU,
			.device_id = (int32_t)device_info(device).index,
			.ndim = 3,
			.dtype = float32,
			.shape = theirs->shape},
	};
}

static ww_memory *take(ww_device *device, struct theirs *theirs, struct ww_array *out_array)
{
	ww_memory *memory;

	MUST_OK(ww_dlpack_import(device, &theirs->tensor, &memory, out_array));
	MUST_EQUAL(0, theirs->deleted);
	MUST_OK(ww_array_check(out_array, memory_info(memory).bytes));
	return memory;
}

static void give_back(ww_memory *memory, const struct theirs *theirs)
{
	ww_memory_ref(memory);
	ww_memory_unref(memory);
	MUST_EQUAL(0, theirs->deleted);
	ww_memory_unref(memory);
	MUST_EQUAL(1, theirs->deleted);
}

DEVICE_CASE(array_imports_a_tensor, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	char *start = ww_memory_pointer(memory);
	const struct ww_array wanted = array_of(&float32, 0, 3, (const int64_t[]){2, 3, 4}, NULL);
	struct theirs theirs;
	struct ww_array array;
	ww_memory *taken;

	theirs_make(&theirs, device, start + 100);
	theirs.tensor.tensor.byte_offset = 200;
	taken = take(device, &theirs, &array);
	MUST((char *)ww_memory_pointer(taken) == start + 300);
	MUST_EQUAL(96, memory_info(taken).bytes);
	MUST_EQUAL(WW_ACCESS_WRITE, memory_info(taken).access);
	MUST_MATCH(memory_info(memory).object_id, memory_info(taken).object_id, 16);
	MUST_MATCH(&wanted, &array, sizeof(array));
	give_back(taken, &theirs);
}

/* The data pointer is of the last element: what is wrapped begins before it. */
DEVICE_CASE(array_imports_negative_strides, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	char *start = ww_memory_pointer(memory);
	struct theirs theirs;
	struct ww_array array;
	ww_memory *taken;

	theirs_make(&theirs, device, start + OFFSET);
	memcpy(theirs.strides, (const int64_t[]){100, -10, 0}, sizeof(theirs.strides));
	theirs.tensor.tensor.strides = theirs.strides;
	taken = take(device, &theirs, &array);
	MUST_EQUAL(80, array.offset);
	MUST(array.strides[0] == 400 && array.strides[1] == -40 && array.strides[2] == 0);
	MUST((char *)ww_memory_pointer(taken) == start + OFFSET - 80);
	MUST_EQUAL(400 + 80 + 4, memory_info(taken).bytes);
	give_back(taken, &theirs);
}

DEVICE_CASE(array_imports_read_only, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct ww_memory_description description;
	struct theirs theirs;
	struct ww_array array;
	ww_memory *taken;
	int fd = 0;

	theirs_make(&theirs, device, ww_memory_pointer(memory));
	theirs.tensor.flags = WW_DL_READ_ONLY;
	taken = take(device, &theirs, &array);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(taken).access);
	MUST_STATUS(WW_ERR_ACCESS, ww_memory_export_fd(taken, WW_ACCESS_WRITE, &fd, &description));
	MUST_EQUAL(-1, fd);
	give_back(taken, &theirs);
}

DEVICE_CASE(array_imports_nothing, WW_CAP_HOST_MEMORY)
{
	struct theirs theirs;
	struct ww_array array;
	ww_memory *taken;

	theirs_make(&theirs, device, NULL);
	theirs.shape[1] = 0;
	MUST_OK(ww_dlpack_import(device, &theirs.tensor, &taken, &array));
	MUST_EQUAL(1, theirs.deleted);
	MUST_EQUAL(0, array.shape[1]);
	MUST_OK(ww_array_check(&array, memory_info(taken).bytes));
	ww_memory_unref(taken);
	MUST_EQUAL(1, theirs.deleted);
}

/*
 * Out as one form, in again, out as the other, in again: the same bytes, and nothing left in the
 * end.
 */
DEVICE_CASE(array_goes_round, 0)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct ww_array array = turned();
	struct ww_array back;
	struct ww_array again;
	struct DLManagedTensor *plain;
	ww_memory *taken;
	OWN(memory) ww_memory *twice;
	uint8_t wanted[60];
	uint8_t got[60];

	pattern_make(wanted, sizeof(wanted), 5);
	memory_put(memory, OFFSET, wanted, sizeof(wanted));
	MUST_OK(ww_dlpack_import(device, export(memory, &array), &taken, &back));
	ww_memory_unref(memory);
	MUST_EQUAL(60, memory_info(taken).bytes);
	MUST_EQUAL(40, back.offset);
	MUST_OK(ww_dlpack_export_unversioned(taken, &back, &plain));
	ww_memory_unref(taken);
	MUST_OK(ww_dlpack_import_unversioned(device, plain, &twice, &again));
	MUST_MATCH(&back, &again, sizeof(again));
	memory_get(twice, 0, got, sizeof(got));
	MUST_MATCH(wanted, got, sizeof(got));
}

DEVICE_CASE(array_imports_an_allocation, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	struct theirs theirs;
	struct ww_array array;
	ww_memory *taken;
	uint8_t wanted[BYTES / 2];
	uint8_t got[96];

	MUST(allocation_make(&allocation, ALLOCATION_LEGACY, BYTES));
	allocation_write(&allocation, 7);
	pattern_make(wanted, sizeof(wanted), 7);
	theirs_make(&theirs, device, allocation_at(&allocation, OFFSET));
	taken = take(device, &theirs, &array);
	MUST_EQUAL(WW_MEMORY_LEGACY, memory_info(taken).kind);
	MUST_EQUAL(OFFSET, memory_info(taken).offset);
	memory_get(taken, 0, got, sizeof(got));
	MUST_MATCH(wanted + OFFSET, got, sizeof(got));
	give_back(taken, &theirs);
	allocation_free(&allocation);
	allocation_leave();
}

static void refuse(ww_device *device, struct theirs *theirs, ww_status status, const char *word)
{
	ww_memory *memory = (ww_memory *)theirs;
	struct ww_array array = {.struct_size = 77};

	MUST_REFUSE(status, word, ww_dlpack_import(device, &theirs->tensor, &memory, &array));
	MUST(!memory && array.struct_size == 77 && theirs->deleted == 0);
}

/* One thing is wrong with a tensor that is taken otherwise. */
#define REFUSED(status, word, change)                                                        \
	do {                                                                                 \
		theirs_make(&theirs, device, ww_memory_pointer(memory));                     \
		memcpy(theirs.strides, (const int64_t[]){12, 4, 1}, sizeof(theirs.strides)); \
		tensor->strides = theirs.strides;                                            \
		change;                                                                      \
		refuse(device, &theirs, status, word);                                       \
	} while (0)

DEVICE_CASE(array_import_refuses, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct theirs theirs;
	struct ww_dl_tensor *tensor = &theirs.tensor.tensor;

	REFUSED(WW_ERR_VERSION, "version 2.3", theirs.tensor.major = 2);
	REFUSED(WW_ERR_VERSION, "version 0.3", theirs.tensor.major = 0);
	REFUSED(WW_ERR_UNSUPPORTED, "type 10", tensor->device_type = 10);
	REFUSED(WW_ERR_UNSUPPORTED, "type -1", tensor->device_type = -1);
	REFUSED(WW_ERR_INVALID, "lies", tensor->device_type = subject_is_cuda() ? 1 : 2);
	REFUSED(WW_ERR_UNSUPPORTED, "code 18", tensor->dtype.code = 18);
	REFUSED(WW_ERR_UNSUPPORTED, "cannot have 31 bits", tensor->dtype.bits = 31);
	REFUSED(WW_ERR_UNSUPPORTED, "no lanes", tensor->dtype.lanes = 0);
	REFUSED(WW_ERR_UNSUPPORTED, "multiple of 2",
		tensor->dtype = ((struct ww_dtype){WW_DTYPE_FLOAT4_E2M1FN, 4, 1}));
	REFUSED(WW_ERR_UNSUPPORTED, "packed",
		tensor->dtype = ((struct ww_dtype){WW_DTYPE_FLOAT4_E2M1FN, 4, 2});
		theirs.tensor.flags = WW_DL_SUBBYTE_PADDED);
	REFUSED(WW_ERR_INVALID, "-1 dimensions", tensor->ndim = -1);
	REFUSED(WW_ERR_INVALID, "17 dimensions", tensor->ndim = 17);
	REFUSED(WW_ERR_INVALID, "no shape", tensor->shape = NULL);
	REFUSED(WW_ERR_INVALID, "no data", tensor->data = NULL);
	REFUSED(WW_ERR_INVALID, "-2 elements", theirs.shape[1] = -2);
	REFUSED(WW_ERR_OVERFLOW, "63 bits", theirs.shape[1] = INT64_MAX);
	REFUSED(WW_ERR_OVERFLOW, "stride", theirs.strides[0] = INT64_MAX / 3);
	REFUSED(WW_ERR_OVERFLOW, "stride", theirs.strides[0] = INT64_MAX / 4 + 1;
		theirs.shape[0] = 3);
	REFUSED(WW_ERR_OVERFLOW, "address space", tensor->byte_offset = UINT64_MAX - 90);
	REFUSED(WW_ERR_OVERFLOW, "address space", theirs.strides[0] = -(INT64_MAX / 4));
}

DEVICE_CASE(array_import_refuses_other_memory, 0)
{
	OWN(heap) void *heap = malloc(4096);
	struct theirs theirs;

	MUST(heap);
	theirs_make(&theirs, device, heap);
	if (subject_is_cuda())
		theirs.tensor.tensor.device_type = WW_DL_CUDA_HOST;
	refuse(device, &theirs, WW_ERR_UNSUPPORTED, "ww_memory_copy_in");
	if (subject_is_cuda()) {
		theirs_make(&theirs, device, heap);
		theirs.tensor.tensor.device_id++;
		refuse(device, &theirs, WW_ERR_INVALID, "open that device");
	}
}

/* --- legacy handles --- */

/* Another program: allocates, says the handle, and keeps the memory until it is told to end. */
ROLE(handle_owner)
{
	struct allocation allocation;
	ww_CUipcMemHandle handle;

	MUST(allocation_make(&allocation, ALLOCATION_LEGACY, BYTES));
	allocation_write(&allocation, 9);
	MUST_EQUAL(0, driver_get()->cuIpcGetMemHandle(&handle, allocation.address));
	MUST_EQUAL(sizeof(handle), send(CHILD_SOCKET, &handle, sizeof(handle), 0));
	role_hear("end");
	allocation_verify(&allocation, 9);
	allocation_free(&allocation);
	allocation_leave();
}

static void start_owner(struct child *child, struct ww_memory_handle *handle)
{
	child_start(child, "handle_owner", &(struct child_options){.type = SOCK_SEQPACKET});
	MUST_EQUAL(WW_MEMORY_HANDLE_BYTES,
		recv(child->socket, handle->bytes, WW_MEMORY_HANDLE_BYTES, 0));
}

static void end_owner(struct child *child)
{
	child_tell(child, "end");
	child_finish(child);
}

DEVICE_CASE(array_opens_a_handle, WW_CAP_FOREIGN)
{
	const int64_t shape[] = {100, 7};
	const int64_t strides[] = {-8, 1};
	const struct ww_array wanted = array_of(&uint8, 5000, 2, shape, strides);
	struct ww_memory_handle handle;
	OWN(heap) uint8_t *pattern = malloc(BYTES);
	struct child child;
	struct ww_array array;
	ww_memory *memory;
	uint8_t got[7];

	MUST(pattern);
	pattern_make(pattern, BYTES, 9);
	start_owner(&child, &handle);
	MUST_OK(ww_array_set(&array, &uint8, 2, shape, strides, 5000));
	MUST_MATCH(&wanted, &array, sizeof(array));
	MUST_OK(ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST_EQUAL(WW_MEMORY_LEGACY, memory_info(memory).kind);
	MUST_EQUAL(WW_ACCESS_READ, memory_info(memory).access);
	for (int row = 0; row < 100; row += 33) {
		memory_get(memory, 5000 - 8 * (uint64_t)row, got, sizeof(got));
		MUST_MATCH(pattern + 5000 - 8 * row, got, sizeof(got));
	}
	ww_memory_unref(memory);
	end_owner(&child);
}

/* The allocation's size decides, not what the other program says. */
DEVICE_CASE(array_open_handle_refuses_outside, WW_CAP_FOREIGN)
{
	const int64_t all = BYTES;
	const int64_t back = -1;
	struct ww_memory_handle handle;
	struct child child;
	struct ww_array array;
	ww_memory *memory = (ww_memory *)&array;

	start_owner(&child, &handle);
	MUST_OK(ww_array_set(&array, &uint8, 1, &all, NULL, 1));
	MUST_REFUSE(WW_ERR_MISMATCH, "outside",
		ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST(!memory);
	MUST_OK(ww_array_set(&array, &uint8, 1, &all, &back, BYTES - 2));
	MUST_REFUSE(WW_ERR_MISMATCH, "before its start",
		ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST_OK(ww_array_set(&array, &uint8, 1, &all, NULL, 0));
	MUST_OK(ww_array_handle_open(device, &handle, &array, NULL, &memory));
	ww_memory_unref(memory);
	end_owner(&child);
}

DEVICE_CASE(array_open_handle_refuses, 0)
{
	const struct ww_memory_handle handle = {{1, 2, 3}};
	const int64_t shape = 4;
	struct ww_array array;
	ww_memory *memory = (ww_memory *)&array;
	ww_status status;

	MUST_OK(ww_array_set(&array, &uint8, 1, &shape, NULL, 0));
	array.dtype.code = 99;
	MUST_REFUSE(WW_ERR_INVALID, "code 99",
		ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST(!memory);
	MUST_OK(ww_array_set(&array, &uint8, 1, &shape, NULL, 0));
	array.ndim = 17;
	MUST_REFUSE(WW_ERR_INVALID, "17 dimensions",
		ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST_OK(ww_array_set(&array, &uint8, 1, &shape, NULL, 0));
	array.shape[0] = INT64_MAX;
	array.dtype.bits = 32;
	MUST_REFUSE(WW_ERR_OVERFLOW, "63 bits",
		ww_array_handle_open(device, &handle, &array, NULL, &memory));
	MUST_OK(ww_array_set(&array, &uint8, 1, &shape, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "access",
		ww_array_handle_open(device, &handle, &array,
			WW_PARAMS(struct ww_import_params, .access = 7), &memory));
	status = ww_array_handle_open(device, &handle, &array, NULL, &memory);
	if (device_info(device).capabilities & WW_CAP_FOREIGN)
		MUST(status == WW_ERR_INVALID || status == WW_ERR_PEER_LOST);
	else
		MUST_EQUAL(WW_ERR_UNSUPPORTED, status);
	MUST(!memory);
}

DEVICE_CASE(array_misuse, NEEDS_MISUSE_STATUS)
{
	const struct ww_memory_handle handle = {{1}};
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, BYTES);
	struct DLManagedTensorVersioned *tensor;
	struct DLManagedTensor *plain;
	struct ww_array array = turned();
	struct ww_array view;
	uint32_t overlap;
	ww_memory *taken;
	uint64_t bytes;

	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_set(NULL, &uint8, 0, NULL, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_set(&view, &uint8, 1, NULL, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_span(&array, &bytes, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_overlap(&array, NULL, &overlap));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_self_overlap(&array, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_slice(&array, 0, 0, 1, 1, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_index(NULL, 0, 0, &view));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_permute(&array, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_broadcast(&array, 2, NULL, &view));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_reshape(&array, 2, NULL, &view));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_array_reinterpret(&array, NULL, &view));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_dtype_parse(NULL, &(struct ww_dtype){0}));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_dtype_name(&uint8, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_dlpack_export(NULL, &array, &tensor));
	MUST(!tensor);
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_dlpack_export_unversioned(memory, NULL, &plain));
	MUST_REFUSE(WW_ERR_INVALID, "NULL", ww_dlpack_import(device, NULL, &taken, &view));
	MUST(!taken);
	MUST_REFUSE(WW_ERR_INVALID, "NULL",
		ww_dlpack_import_unversioned(NULL, (struct DLManagedTensor *)&view, &taken, &view));
	MUST_REFUSE(WW_ERR_INVALID, "NULL",
		ww_array_handle_open(device, &handle, NULL, NULL, &taken));
	MUST(!taken);
}
