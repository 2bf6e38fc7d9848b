/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_error.c - names and sentences of the driver's errors
 *
 * A number that is no error of the driver leaves the caller's pointer as it was, as the driver
 * does.
 */
#include "fake.h"

/* CUDA_NAME, and its sentence. */
#define ROW(name, text)                             \
	{                                           \
		WW_CUDA_##name, "CUDA_" #name, text \
	}

static const struct row {
	ww_CUresult code;
	const char *name;
	const char *text;
} rows[] = {
	ROW(SUCCESS, "no error"),
	ROW(ERROR_INVALID_VALUE, "invalid argument"),
	ROW(ERROR_OUT_OF_MEMORY, "out of memory"),
	ROW(ERROR_NOT_INITIALIZED, "initialization error"),
	ROW(ERROR_DEINITIALIZED, "deinitialized"),
	ROW(ERROR_STUB_LIBRARY, "stub library"),
	ROW(ERROR_CALL_REQUIRES_NEWER_DRIVER, "call requires newer driver"),
	ROW(ERROR_DEVICE_UNAVAILABLE, "device unavailable"),
	ROW(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ROW(ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ROW(ERROR_DEVICE_NOT_LICENSED, "device not licensed"),
	ROW(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ROW(ERROR_INVALID_CONTEXT, "invalid device context"),
	ROW(ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
	ROW(ERROR_MAP_FAILED, "map failed"),
	ROW(ERROR_UNMAP_FAILED, "unmap failed"),
	ROW(ERROR_ALREADY_MAPPED, "already mapped"),
	ROW(ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
	ROW(ERROR_NOT_MAPPED, "not mapped"),
	ROW(ERROR_ECC_UNCORRECTABLE, "ecc uncorrectable"),
	ROW(ERROR_CONTEXT_ALREADY_IN_USE, "context already in use"),
	ROW(ERROR_PEER_ACCESS_UNSUPPORTED, "peer access unsupported"),
	ROW(ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	ROW(ERROR_NVLINK_UNCORRECTABLE, "nvlink uncorrectable"),
	ROW(ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
	ROW(ERROR_UNSUPPORTED_PTX_VERSION,
		"the provided PTX was compiled with an unsupported toolchain."),
	ROW(ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled"),
	ROW(ERROR_INVALID_SOURCE, "device kernel image is invalid"),
	ROW(ERROR_CONTAINED, "contained"),
	ROW(ERROR_FILE_NOT_FOUND, "file not found"),
	ROW(ERROR_OPERATING_SYSTEM, "operating system"),
	ROW(ERROR_INVALID_HANDLE, "invalid resource handle"),
	ROW(ERROR_ILLEGAL_STATE, "illegal state"),
	ROW(ERROR_NOT_FOUND, "named symbol not found"),
	ROW(ERROR_NOT_READY, "device not ready"),
	ROW(ERROR_ILLEGAL_ADDRESS, "illegal address"),
	ROW(ERROR_LAUNCH_OUT_OF_RESOURCES, "launch out of resources"),
	ROW(ERROR_LAUNCH_TIMEOUT, "launch timeout"),
	ROW(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access already enabled"),
	ROW(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access not enabled"),
	ROW(ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context active"),
	ROW(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ROW(ERROR_ASSERT, "assert"),
	ROW(ERROR_TOO_MANY_PEERS, "too many peers"),
	ROW(ERROR_HOST_MEMORY_ALREADY_REGISTERED, "host memory already registered"),
	ROW(ERROR_HOST_MEMORY_NOT_REGISTERED, "host memory not registered"),
	ROW(ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
	ROW(ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"),
	ROW(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
	ROW(ERROR_INVALID_ADDRESS_SPACE, "invalid address space"),
	ROW(ERROR_INVALID_PC, "invalid pc"),
	ROW(ERROR_LAUNCH_FAILED, "launch failed"),
	ROW(ERROR_TENSOR_MEMORY_LEAK, "tensor memory leak"),
	ROW(ERROR_NOT_PERMITTED, "operation not permitted"),
	ROW(ERROR_NOT_SUPPORTED, "operation not supported"),
	ROW(ERROR_SYSTEM_NOT_READY, "system not ready"),
	ROW(ERROR_SYSTEM_DRIVER_MISMATCH, "system driver mismatch"),
	ROW(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "compat not supported on device"),
	ROW(ERROR_MPS_CONNECTION_FAILED, "mps connection failed"),
	ROW(ERROR_MPS_RPC_FAILURE, "mps rpc failure"),
	ROW(ERROR_MPS_SERVER_NOT_READY, "mps server not ready"),
	ROW(ERROR_MPS_MAX_CLIENTS_REACHED, "mps max clients reached"),
	ROW(ERROR_MPS_MAX_CONNECTIONS_REACHED, "mps max connections reached"),
	ROW(ERROR_MPS_CLIENT_TERMINATED, "mps client terminated"),
	ROW(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
	ROW(ERROR_STREAM_CAPTURE_INVALIDATED,
		"operation failed due to a previous error during capture"),
	ROW(ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not initiated in this stream"),
	ROW(ERROR_STREAM_CAPTURE_IMPLICIT,
		"operation would make the legacy stream depend on a capturing blocking stream"),
	ROW(ERROR_STREAM_CAPTURE_WRONG_THREAD,
		"attempt to terminate a thread-local capture sequence from another thread"),
	ROW(ERROR_TIMEOUT, "timeout"),
	ROW(ERROR_EXTERNAL_DEVICE, "external device"),
	ROW(ERROR_UNKNOWN, "unknown error"),
};

static const struct row *find(ww_CUresult code)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

FAKE_API cuGetErrorName(ww_CUresult error, const char **out_name)
{
	FAKE_ENTER(cuGetErrorName);
	const struct row *row = find(error);
	if (!row || !out_name)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_name = row->name;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuGetErrorString(ww_CUresult error, const char **out_text)
{
	FAKE_ENTER(cuGetErrorString);
	const struct row *row = find(error);
	if (!row || !out_text)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_text = row->text;
	return WW_CUDA_SUCCESS;
}
