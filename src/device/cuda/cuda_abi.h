/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_abi.h - the part of the CUDA driver's binary interface that we use
 *
 * The driver is opened at run time, so neither building nor running needs a CUDA toolkit. What a
 * toolkit's cuda.h would tell us is stated here in our own words: numbers, layouts, signatures.
 *
 * Names are mechanical: a type is ww_ + the driver's name, a constant WW_ + the driver's name, a
 * pointer to the function cuX is ww_PFN_cuX. Enumerated types are int here, as they are there.
 *
 * Everything follows the interface of CUDA 12.0 (WW_CUDA_ABI_VERSION is what cuGetProcAddress must
 * be given) and later versions kept it. tests/abi/cuda_h_check.c compares all of it with the real
 * cuda.h where there is one.
 */
#ifndef WW_DEVICE_CUDA_CUDA_ABI_H
#define WW_DEVICE_CUDA_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#define WW_CUDA_ABI_VERSION 12000

#define WW_CU_IPC_HANDLE_SIZE 64

typedef int ww_CUresult;
typedef int ww_CUdevice;
typedef unsigned long long ww_CUdeviceptr;
typedef unsigned long long ww_CUmemGenericAllocationHandle;

typedef struct ww_CUctx_st *ww_CUcontext;
typedef struct ww_CUstream_st *ww_CUstream;
typedef struct ww_CUevent_st *ww_CUevent;
typedef struct ww_CUmemPoolHandle_st *ww_CUmemoryPool;
typedef struct ww_CUmod_st *ww_CUmodule;
typedef struct ww_CUfunc_st *ww_CUfunction;
typedef struct ww_CUgraph_st *ww_CUgraph;
typedef struct ww_CUgraphExec_st *ww_CUgraphExec;
typedef struct ww_CUgraphNode_st *ww_CUgraphNode;

typedef int ww_CUdevice_attribute;
typedef int ww_CUfunction_attribute;
typedef int ww_CUjit_option;
typedef int ww_CUpointer_attribute;
typedef int ww_CUmemorytype;
typedef int ww_CUmemAllocationType;
typedef int ww_CUmemAllocationHandleType;
typedef int ww_CUmemLocationType;
typedef int ww_CUmemAccess_flags;
typedef int ww_CUmemAllocationGranularity_flags;
typedef int ww_CUmemPool_attribute;
typedef int ww_CUstreamBatchMemOpType;
typedef int ww_CUstreamCaptureMode;
typedef int ww_CUstreamCaptureStatus;
typedef int ww_CUdriverProcAddressQueryResult;

typedef void (*ww_CUhostFn)(void *user_data);

/* Streams that exist without being created. NULL is the legacy one too. */
#define WW_CU_STREAM_LEGACY     ((ww_CUstream)0x1)
#define WW_CU_STREAM_PER_THREAD ((ww_CUstream)0x2)

#define WW_CU_DEVICE_CPU     ((ww_CUdevice)-1)
#define WW_CU_DEVICE_INVALID ((ww_CUdevice)-2)

typedef struct {
	char bytes[16];
} ww_CUuuid;

typedef struct {
	char reserved[WW_CU_IPC_HANDLE_SIZE];
} ww_CUipcMemHandle;

typedef struct {
	char reserved[WW_CU_IPC_HANDLE_SIZE];
} ww_CUipcEventHandle;

typedef struct {
	ww_CUmemLocationType type;
	int id;
} ww_CUmemLocation;

typedef struct {
	ww_CUmemAllocationType type;
	ww_CUmemAllocationHandleType requestedHandleTypes;
	ww_CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType;
		unsigned char gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} ww_CUmemAllocationProp;

typedef struct {
	ww_CUmemLocation location;
	ww_CUmemAccess_flags flags;
} ww_CUmemAccessDesc;

/* 12.0 has 64 reserved bytes after the pointer; maxSize and usage took some of them later. */
typedef struct {
	ww_CUmemAllocationType allocType;
	ww_CUmemAllocationHandleType handleTypes;
	ww_CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
} ww_CUmemPoolProps;

typedef struct {
	unsigned char reserved[64];
} ww_CUmemPoolPtrExportData;

typedef union {
	ww_CUstreamBatchMemOpType operation;
	struct {
		ww_CUstreamBatchMemOpType operation;
		ww_CUdeviceptr address;
		union {
			uint32_t value;
			uint64_t value64;
		};
		unsigned int flags;
		ww_CUdeviceptr alias;
	} waitValue;
	struct {
		ww_CUstreamBatchMemOpType operation;
		ww_CUdeviceptr address;
		union {
			uint32_t value;
			uint64_t value64;
		};
		unsigned int flags;
		ww_CUdeviceptr alias;
	} writeValue;
	struct {
		ww_CUstreamBatchMemOpType operation;
		unsigned int flags;
	} flushRemoteWrites;
	struct {
		ww_CUstreamBatchMemOpType operation;
		unsigned int flags;
	} memoryBarrier;
	uint64_t pad[6];
} ww_CUstreamBatchMemOpParams;

typedef struct {
	ww_CUcontext ctx;
	unsigned int count;
	ww_CUstreamBatchMemOpParams *paramArray;
	unsigned int flags;
} ww_CUDA_BATCH_MEM_OP_NODE_PARAMS;

/* ww_CUresult. Any call may also return an error of work enqueued earlier. */
enum {
	WW_CUDA_SUCCESS = 0,
	WW_CUDA_ERROR_INVALID_VALUE = 1,
	WW_CUDA_ERROR_OUT_OF_MEMORY = 2,
	WW_CUDA_ERROR_NOT_INITIALIZED = 3,
	WW_CUDA_ERROR_DEINITIALIZED = 4,
	WW_CUDA_ERROR_STUB_LIBRARY = 34,
	WW_CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36,
	WW_CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	WW_CUDA_ERROR_NO_DEVICE = 100,
	WW_CUDA_ERROR_INVALID_DEVICE = 101,
	WW_CUDA_ERROR_DEVICE_NOT_LICENSED = 102,
	WW_CUDA_ERROR_INVALID_IMAGE = 200,
	WW_CUDA_ERROR_INVALID_CONTEXT = 201,
	WW_CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202,
	WW_CUDA_ERROR_MAP_FAILED = 205,
	WW_CUDA_ERROR_UNMAP_FAILED = 206,
	WW_CUDA_ERROR_ALREADY_MAPPED = 208,
	WW_CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	WW_CUDA_ERROR_NOT_MAPPED = 211,
	WW_CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	WW_CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
	WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
	WW_CUDA_ERROR_INVALID_PTX = 218,
	WW_CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
	WW_CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
	WW_CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	WW_CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
	WW_CUDA_ERROR_CONTAINED = 226,
	WW_CUDA_ERROR_INVALID_SOURCE = 300,
	WW_CUDA_ERROR_FILE_NOT_FOUND = 301,
	WW_CUDA_ERROR_OPERATING_SYSTEM = 304,
	WW_CUDA_ERROR_INVALID_HANDLE = 400,
	WW_CUDA_ERROR_ILLEGAL_STATE = 401,
	WW_CUDA_ERROR_NOT_FOUND = 500,
	WW_CUDA_ERROR_NOT_READY = 600,
	WW_CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	WW_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	WW_CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	WW_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	WW_CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
	WW_CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	WW_CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	WW_CUDA_ERROR_ASSERT = 710,
	WW_CUDA_ERROR_TOO_MANY_PEERS = 711,
	WW_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	WW_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	WW_CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	WW_CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	WW_CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	WW_CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	WW_CUDA_ERROR_INVALID_PC = 718,
	WW_CUDA_ERROR_LAUNCH_FAILED = 719,
	WW_CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
	WW_CUDA_ERROR_NOT_PERMITTED = 800,
	WW_CUDA_ERROR_NOT_SUPPORTED = 801,
	WW_CUDA_ERROR_SYSTEM_NOT_READY = 802,
	WW_CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	WW_CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	WW_CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
	WW_CUDA_ERROR_MPS_RPC_FAILURE = 806,
	WW_CUDA_ERROR_MPS_SERVER_NOT_READY = 807,
	WW_CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
	WW_CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809,
	WW_CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
	WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	WW_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	WW_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	WW_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	WW_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
	WW_CUDA_ERROR_TIMEOUT = 909,
	WW_CUDA_ERROR_EXTERNAL_DEVICE = 911,
	WW_CUDA_ERROR_UNKNOWN = 999,
};

/* ww_CUdevice_attribute */
enum {
	WW_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	WW_CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	WW_CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
	WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
	WW_CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
	WW_CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	WW_CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	WW_CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	WW_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	WW_CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	WW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	WW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	WW_CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
	WW_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	WW_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
	WW_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 = 92,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 94,
	WW_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	WW_CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
	WW_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
	WW_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
	WW_CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
	WW_CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
	WW_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
	WW_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
	WW_CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
	WW_CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
	WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
	WW_CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
	WW_CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 125,
	WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128,
	WW_CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 130,
	WW_CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
	WW_CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
	WW_CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
	WW_CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134,
	WW_CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
};

/* ww_CUfunction_attribute */
enum {
	WW_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	WW_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	WW_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	WW_CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

/* ww_CUjit_option */
enum {
	WW_CU_JIT_ERROR_LOG_BUFFER = 5,
	WW_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/* the value of WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE */
enum {
	WW_CU_COMPUTEMODE_DEFAULT = 0,
	WW_CU_COMPUTEMODE_PROHIBITED = 2,
	WW_CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
};

/* ww_CUpointer_attribute */
enum {
	WW_CU_POINTER_ATTRIBUTE_CONTEXT = 1,
	WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	WW_CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
	WW_CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
	WW_CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
	WW_CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
	WW_CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
	WW_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
	WW_CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
	WW_CU_POINTER_ATTRIBUTE_MAPPED = 13,
	WW_CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
	WW_CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
	WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
	WW_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
	WW_CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
	WW_CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
	WW_CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
};

/* What WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS answers */
enum {
	WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE = 0x0,
	WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ = 0x1,
	WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE = 0x3,
};

/* ww_CUmemorytype */
enum {
	WW_CU_MEMORYTYPE_HOST = 0x01,
	WW_CU_MEMORYTYPE_DEVICE = 0x02,
	WW_CU_MEMORYTYPE_ARRAY = 0x03,
	WW_CU_MEMORYTYPE_UNIFIED = 0x04,
};

/* ww_CUmemAllocationHandleType: a mask when requested, one bit when exported */
enum {
	WW_CU_MEM_HANDLE_TYPE_NONE = 0x0,
	WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 0x1,
	WW_CU_MEM_HANDLE_TYPE_WIN32 = 0x2,
	WW_CU_MEM_HANDLE_TYPE_WIN32_KMT = 0x4,
	WW_CU_MEM_HANDLE_TYPE_FABRIC = 0x8,
};

/* ww_CUmemAccess_flags */
enum {
	WW_CU_MEM_ACCESS_FLAGS_PROT_NONE = 0x0,
	WW_CU_MEM_ACCESS_FLAGS_PROT_READ = 0x1,
	WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 0x3,
};

/* ww_CUmemLocationType */
enum {
	WW_CU_MEM_LOCATION_TYPE_INVALID = 0x0,
	WW_CU_MEM_LOCATION_TYPE_DEVICE = 0x1,
	WW_CU_MEM_LOCATION_TYPE_HOST = 0x2,
	WW_CU_MEM_LOCATION_TYPE_HOST_NUMA = 0x3,
	WW_CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 0x4,
};

/* ww_CUmemAllocationType */
enum {
	WW_CU_MEM_ALLOCATION_TYPE_INVALID = 0x0,
	WW_CU_MEM_ALLOCATION_TYPE_PINNED = 0x1,
};

/* ww_CUmemAllocationGranularity_flags */
enum {
	WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0x0,
	WW_CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 0x1,
};

/* ww_CUmemPool_attribute: 1 to 3 are int, the others uint64_t */
enum {
	WW_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
	WW_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
	WW_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
	WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
	WW_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
	WW_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
	WW_CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
	WW_CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
};

/* Flags of contexts, streams and events */
enum {
	WW_CU_CTX_SCHED_AUTO = 0x00,
	WW_CU_CTX_SCHED_SPIN = 0x01,
	WW_CU_CTX_SCHED_YIELD = 0x02,
	WW_CU_CTX_SCHED_BLOCKING_SYNC = 0x04,
	WW_CU_CTX_MAP_HOST = 0x08,
	WW_CU_CTX_LMEM_RESIZE_TO_MAX = 0x10,
	WW_CU_CTX_FLAGS_MASK = 0xff,
	WW_CU_STREAM_DEFAULT = 0x0,
	WW_CU_STREAM_NON_BLOCKING = 0x1,
	WW_CU_EVENT_DEFAULT = 0x0,
	WW_CU_EVENT_BLOCKING_SYNC = 0x1,
	WW_CU_EVENT_DISABLE_TIMING = 0x2,
	WW_CU_EVENT_INTERPROCESS = 0x4,
	WW_CU_EVENT_WAIT_DEFAULT = 0x0,
	WW_CU_EVENT_WAIT_EXTERNAL = 0x1,
};

/* Flags of stream memory operations. GEQ compares cyclically: (signed)(*addr - value) >= 0 */
enum {
	WW_CU_STREAM_WAIT_VALUE_GEQ = 0x0,
	WW_CU_STREAM_WAIT_VALUE_EQ = 0x1,
	WW_CU_STREAM_WAIT_VALUE_AND = 0x2,
	WW_CU_STREAM_WAIT_VALUE_NOR = 0x3,
	WW_CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30,
	WW_CU_STREAM_WRITE_VALUE_DEFAULT = 0x0,
	WW_CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 0x1,
	WW_CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0x0,
	WW_CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 0x1,
};

/* ww_CUstreamBatchMemOpType */
enum {
	WW_CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
	WW_CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
	WW_CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
	WW_CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
	WW_CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
	WW_CU_STREAM_MEM_OP_BARRIER = 6,
};

/* ww_CUstreamCaptureMode */
enum {
	WW_CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
	WW_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
	WW_CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

/* ww_CUstreamCaptureStatus */
enum {
	WW_CU_STREAM_CAPTURE_STATUS_NONE = 0,
	WW_CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
	WW_CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

/* Flags of cuStreamUpdateCaptureDependencies() */
enum {
	WW_CU_STREAM_ADD_CAPTURE_DEPENDENCIES = 0x0,
	WW_CU_STREAM_SET_CAPTURE_DEPENDENCIES = 0x1,
};

/* Flags of host memory, managed memory and legacy handles */
enum {
	WW_CU_MEMHOSTALLOC_PORTABLE = 0x01,
	WW_CU_MEMHOSTALLOC_DEVICEMAP = 0x02,
	WW_CU_MEMHOSTALLOC_WRITECOMBINED = 0x04,
	WW_CU_MEMHOSTREGISTER_PORTABLE = 0x01,
	WW_CU_MEMHOSTREGISTER_DEVICEMAP = 0x02,
	WW_CU_MEMHOSTREGISTER_IOMEMORY = 0x04,
	WW_CU_MEMHOSTREGISTER_READ_ONLY = 0x08,
	WW_CU_MEM_ATTACH_GLOBAL = 0x1,
	WW_CU_MEM_ATTACH_HOST = 0x2,
	WW_CU_MEM_ATTACH_SINGLE = 0x4,
	WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 0x1,
};

/* cuGetProcAddress: flags, then ww_CUdriverProcAddressQueryResult */
enum {
	WW_CU_GET_PROC_ADDRESS_DEFAULT = 0,
	WW_CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1 << 0,
	WW_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 1 << 1,
	WW_CU_GET_PROC_ADDRESS_SUCCESS = 0,
	WW_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
	WW_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};

/*
 * Every function we know: X(name for cuGetProcAddress, symbol the library exports, parameters).
 * All return ww_CUresult. The name, asked for at WW_CUDA_ABI_VERSION, resolves to the symbol, with
 * one exception: cuCtxCreate then means cuCtxCreate_v3, which has other parameters. Take the symbol
 * from the library itself with dlsym, or ask for version 3020.
 *
 * A name that the driver does not know is no error: cuGetProcAddress returns success, a NULL
 * function and a status (measured with driver 580).
 */
#define WW_CUDA_FUNCTIONS(X)         \
	WW_CUDA_FUNCTIONS_DEVICE(X)  \
	WW_CUDA_FUNCTIONS_CONTEXT(X) \
	WW_CUDA_FUNCTIONS_VMM(X)     \
	WW_CUDA_FUNCTIONS_MEMORY(X)  \
	WW_CUDA_FUNCTIONS_COPY(X)    \
	WW_CUDA_FUNCTIONS_STREAM(X)  \
	WW_CUDA_FUNCTIONS_CAPTURE(X) \
	WW_CUDA_FUNCTIONS_EVENT(X)   \
	WW_CUDA_FUNCTIONS_IPC(X)     \
	WW_CUDA_FUNCTIONS_POOL(X)    \
	WW_CUDA_FUNCTIONS_MODULE(X)  \
	WW_CUDA_FUNCTIONS_LATER(X)

/* Newer than CUDA 12.0: asked for at WW_CUDA_ABI_LATER, and missing in older drivers. */
#define WW_CUDA_ABI_LATER 12050
#define WW_CUDA_FUNCTIONS_LATER(X)                                                      \
	X(cuCtxRecordEvent, cuCtxRecordEvent, (ww_CUcontext context, ww_CUevent event)) \
	X(cuFuncLoad, cuFuncLoad, (ww_CUfunction function))                             \
	X(cuFuncGetParamInfo, cuFuncGetParamInfo,                                       \
		(ww_CUfunction function, size_t index, size_t * out_offset, size_t * out_bytes))

#define WW_CUDA_FUNCTIONS_DEVICE(X)                                                                \
	X(cuInit, cuInit, (unsigned int flags))                                                    \
	X(cuDriverGetVersion, cuDriverGetVersion, (int *out_version))                              \
	X(cuGetProcAddress, cuGetProcAddress_v2,                                                   \
		(const char *symbol, void **out_kernel, int version, uint64_t flags,               \
			ww_CUdriverProcAddressQueryResult *out_status))                            \
	X(cuGetErrorName, cuGetErrorName, (ww_CUresult error, const char **out_name))              \
	X(cuGetErrorString, cuGetErrorString, (ww_CUresult error, const char **out_text))          \
	X(cuDeviceGet, cuDeviceGet, (ww_CUdevice * out_device, int ordinal))                       \
	X(cuDeviceGetCount, cuDeviceGetCount, (int *out_count))                                    \
	X(cuDeviceGetName, cuDeviceGetName, (char *out_name, int bytes, ww_CUdevice device))       \
	X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (ww_CUuuid * out_uuid, ww_CUdevice device))         \
	X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                              \
		(int *out_value, ww_CUdevice_attribute attribute, ww_CUdevice device))             \
	X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * out_bytes, ww_CUdevice device))         \
	X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *out_id, int bytes, ww_CUdevice device)) \
	X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer,                                            \
		(int *out_can, ww_CUdevice device, ww_CUdevice peer))

#define WW_CUDA_FUNCTIONS_CONTEXT(X)                                                     \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                            \
		(ww_CUcontext * out_context, ww_CUdevice device))                        \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (ww_CUdevice device)) \
	X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState,                        \
		(ww_CUdevice device, unsigned int *out_flags, int *out_active))          \
	X(cuCtxCreate, cuCtxCreate_v2,                                                   \
		(ww_CUcontext * out_context, unsigned int flags, ww_CUdevice device))    \
	X(cuCtxDestroy, cuCtxDestroy_v2, (ww_CUcontext context))                         \
	X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (ww_CUcontext context))                 \
	X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (ww_CUcontext * out_context))             \
	X(cuCtxSetCurrent, cuCtxSetCurrent, (ww_CUcontext context))                      \
	X(cuCtxGetCurrent, cuCtxGetCurrent, (ww_CUcontext * out_context))                \
	X(cuCtxGetDevice, cuCtxGetDevice, (ww_CUdevice * out_device))                    \
	X(cuCtxSynchronize, cuCtxSynchronize, (void))                                    \
	X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (ww_CUcontext peer, unsigned int flags))

#define WW_CUDA_FUNCTIONS_VMM(X)                                                             \
	X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity,                      \
		(size_t * out_bytes, const ww_CUmemAllocationProp *prop,                     \
			ww_CUmemAllocationGranularity_flags option))                         \
	X(cuMemCreate, cuMemCreate,                                                          \
		(ww_CUmemGenericAllocationHandle * out_handle, size_t bytes,                 \
			const ww_CUmemAllocationProp *prop, unsigned long long flags))       \
	X(cuMemRelease, cuMemRelease, (ww_CUmemGenericAllocationHandle handle))              \
	X(cuMemAddressReserve, cuMemAddressReserve,                                          \
		(ww_CUdeviceptr * out_address, size_t bytes, size_t alignment,               \
			ww_CUdeviceptr hint, unsigned long long flags))                      \
	X(cuMemAddressFree, cuMemAddressFree, (ww_CUdeviceptr address, size_t bytes))        \
	X(cuMemMap, cuMemMap,                                                                \
		(ww_CUdeviceptr address, size_t bytes, size_t offset,                        \
			ww_CUmemGenericAllocationHandle handle, unsigned long long flags))   \
	X(cuMemUnmap, cuMemUnmap, (ww_CUdeviceptr address, size_t bytes))                    \
	X(cuMemSetAccess, cuMemSetAccess,                                                    \
		(ww_CUdeviceptr address, size_t bytes, const ww_CUmemAccessDesc *access,     \
			size_t count))                                                       \
	X(cuMemGetAccess, cuMemGetAccess,                                                    \
		(unsigned long long *out_flags, const ww_CUmemLocation *location,            \
			ww_CUdeviceptr address))                                             \
	X(cuMemExportToShareableHandle, cuMemExportToShareableHandle,                        \
		(void *out_shareable, ww_CUmemGenericAllocationHandle handle,                \
			ww_CUmemAllocationHandleType type, unsigned long long flags))        \
	X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle,                    \
		(ww_CUmemGenericAllocationHandle * out_handle, void *shareable,              \
			ww_CUmemAllocationHandleType type))                                  \
	X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle,    \
		(ww_CUmemAllocationProp * out_prop, ww_CUmemGenericAllocationHandle handle)) \
	X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle,                          \
		(ww_CUmemGenericAllocationHandle * out_handle, void *address))

#define WW_CUDA_FUNCTIONS_MEMORY(X)                                                               \
	X(cuMemGetInfo, cuMemGetInfo_v2, (size_t * out_free, size_t * out_total))                 \
	X(cuMemAlloc, cuMemAlloc_v2, (ww_CUdeviceptr * out_address, size_t bytes))                \
	X(cuMemFree, cuMemFree_v2, (ww_CUdeviceptr address))                                      \
	X(cuMemAllocManaged, cuMemAllocManaged,                                                   \
		(ww_CUdeviceptr * out_address, size_t bytes, unsigned int flags))                 \
	X(cuMemGetAddressRange, cuMemGetAddressRange_v2,                                          \
		(ww_CUdeviceptr * out_base, size_t * out_bytes, ww_CUdeviceptr address))          \
	X(cuPointerGetAttribute, cuPointerGetAttribute,                                           \
		(void *out_value, ww_CUpointer_attribute attribute, ww_CUdeviceptr address))      \
	X(cuPointerGetAttributes, cuPointerGetAttributes,                                         \
		(unsigned int count, ww_CUpointer_attribute *attributes, void **out_values,       \
			ww_CUdeviceptr address))                                                  \
	X(cuMemHostAlloc, cuMemHostAlloc, (void **out_address, size_t bytes, unsigned int flags)) \
	X(cuMemFreeHost, cuMemFreeHost, (void *address))                                          \
	X(cuMemHostRegister, cuMemHostRegister_v2,                                                \
		(void *address, size_t bytes, unsigned int flags))                                \
	X(cuMemHostUnregister, cuMemHostUnregister, (void *address))                              \
	X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                \
		(ww_CUdeviceptr * out_address, void *address, unsigned int flags))

#define WW_CUDA_FUNCTIONS_COPY(X)                                                                \
	X(cuMemcpy, cuMemcpy, (ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes))            \
	X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (ww_CUdeviceptr to, const void *from, size_t bytes))    \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *to, ww_CUdeviceptr from, size_t bytes))          \
	X(cuMemcpyDtoD, cuMemcpyDtoD_v2, (ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes)) \
	X(cuMemcpyAsync, cuMemcpyAsync,                                                          \
		(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes, ww_CUstream stream))      \
	X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                               \
		(ww_CUdeviceptr to, const void *from, size_t bytes, ww_CUstream stream))         \
	X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                               \
		(void *to, ww_CUdeviceptr from, size_t bytes, ww_CUstream stream))               \
	X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                               \
		(ww_CUdeviceptr to, ww_CUdeviceptr from, size_t bytes, ww_CUstream stream))      \
	X(cuMemsetD8, cuMemsetD8_v2, (ww_CUdeviceptr to, unsigned char value, size_t count))     \
	X(cuMemsetD16, cuMemsetD16_v2, (ww_CUdeviceptr to, unsigned short value, size_t count))  \
	X(cuMemsetD32, cuMemsetD32_v2, (ww_CUdeviceptr to, unsigned int value, size_t count))    \
	X(cuMemsetD8Async, cuMemsetD8Async,                                                      \
		(ww_CUdeviceptr to, unsigned char value, size_t count, ww_CUstream stream))      \
	X(cuMemsetD16Async, cuMemsetD16Async,                                                    \
		(ww_CUdeviceptr to, unsigned short value, size_t count, ww_CUstream stream))     \
	X(cuMemsetD32Async, cuMemsetD32Async,                                                    \
		(ww_CUdeviceptr to, unsigned int value, size_t count, ww_CUstream stream))

#define WW_CUDA_FUNCTIONS_STREAM(X)                                                               \
	X(cuStreamCreate, cuStreamCreate, (ww_CUstream * out_stream, unsigned int flags))         \
	X(cuStreamCreateWithPriority, cuStreamCreateWithPriority,                                 \
		(ww_CUstream * out_stream, unsigned int flags, int priority))                     \
	X(cuStreamDestroy, cuStreamDestroy_v2, (ww_CUstream stream))                              \
	X(cuStreamSynchronize, cuStreamSynchronize, (ww_CUstream stream))                         \
	X(cuStreamQuery, cuStreamQuery, (ww_CUstream stream))                                     \
	X(cuStreamGetCtx, cuStreamGetCtx, (ww_CUstream stream, ww_CUcontext * out_context))       \
	X(cuStreamGetId, cuStreamGetId, (ww_CUstream stream, unsigned long long *out_id))         \
	X(cuStreamWaitEvent, cuStreamWaitEvent,                                                   \
		(ww_CUstream stream, ww_CUevent event, unsigned int flags))                       \
	X(cuLaunchHostFunc, cuLaunchHostFunc,                                                     \
		(ww_CUstream stream, ww_CUhostFn function, void *user_data))                      \
	X(cuStreamWriteValue32, cuStreamWriteValue32_v2,                                          \
		(ww_CUstream stream, ww_CUdeviceptr address, uint32_t value, unsigned int flags)) \
	X(cuStreamWriteValue64, cuStreamWriteValue64_v2,                                          \
		(ww_CUstream stream, ww_CUdeviceptr address, uint64_t value, unsigned int flags)) \
	X(cuStreamWaitValue32, cuStreamWaitValue32_v2,                                            \
		(ww_CUstream stream, ww_CUdeviceptr address, uint32_t value, unsigned int flags)) \
	X(cuStreamWaitValue64, cuStreamWaitValue64_v2,                                            \
		(ww_CUstream stream, ww_CUdeviceptr address, uint64_t value, unsigned int flags)) \
	X(cuStreamBatchMemOp, cuStreamBatchMemOp_v2,                                              \
		(ww_CUstream stream, unsigned int count, ww_CUstreamBatchMemOpParams *operations, \
			unsigned int flags))

#define WW_CUDA_FUNCTIONS_CAPTURE(X)                                                              \
	X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,                   \
		(ww_CUstreamCaptureMode * mode))                                                  \
	X(cuStreamIsCapturing, cuStreamIsCapturing,                                               \
		(ww_CUstream stream, ww_CUstreamCaptureStatus * out_status))                      \
	X(cuStreamBeginCapture, cuStreamBeginCapture_v2,                                          \
		(ww_CUstream stream, ww_CUstreamCaptureMode mode))                                \
	X(cuStreamEndCapture, cuStreamEndCapture, (ww_CUstream stream, ww_CUgraph * out_graph))   \
	X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2,                                      \
		(ww_CUstream stream, ww_CUstreamCaptureStatus * out_status, uint64_t * out_id,    \
			ww_CUgraph * out_graph, const ww_CUgraphNode **out_dependencies,          \
			size_t *out_count))                                                       \
	X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies,                   \
		(ww_CUstream stream, ww_CUgraphNode * dependencies, size_t count,                 \
			unsigned int flags))                                                      \
	X(cuGraphCreate, cuGraphCreate, (ww_CUgraph * out_graph, unsigned int flags))             \
	X(cuGraphAddBatchMemOpNode, cuGraphAddBatchMemOpNode,                                     \
		(ww_CUgraphNode * out_node, ww_CUgraph graph, const ww_CUgraphNode *dependencies, \
			size_t count, const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS *params))            \
	X(cuGraphExecBatchMemOpNodeSetParams, cuGraphExecBatchMemOpNodeSetParams,                 \
		(ww_CUgraphExec exec, ww_CUgraphNode node,                                        \
			const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS *params))                          \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,                               \
		(ww_CUgraphExec * out_exec, ww_CUgraph graph, unsigned long long flags))          \
	X(cuGraphLaunch, cuGraphLaunch, (ww_CUgraphExec exec, ww_CUstream stream))                \
	X(cuGraphExecDestroy, cuGraphExecDestroy, (ww_CUgraphExec exec))                          \
	X(cuGraphDestroy, cuGraphDestroy, (ww_CUgraph graph))

#define WW_CUDA_FUNCTIONS_EVENT(X)                                                    \
	X(cuEventCreate, cuEventCreate, (ww_CUevent * out_event, unsigned int flags)) \
	X(cuEventDestroy, cuEventDestroy_v2, (ww_CUevent event))                      \
	X(cuEventRecord, cuEventRecord, (ww_CUevent event, ww_CUstream stream))       \
	X(cuEventQuery, cuEventQuery, (ww_CUevent event))                             \
	X(cuEventSynchronize, cuEventSynchronize, (ww_CUevent event))                 \
	X(cuEventElapsedTime, cuEventElapsedTime, (float *out_ms, ww_CUevent start, ww_CUevent end))

#define WW_CUDA_FUNCTIONS_IPC(X)                                                              \
	X(cuIpcGetMemHandle, cuIpcGetMemHandle,                                               \
		(ww_CUipcMemHandle * out_handle, ww_CUdeviceptr address))                     \
	X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2,                                          \
		(ww_CUdeviceptr * out_address, ww_CUipcMemHandle handle, unsigned int flags)) \
	X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, (ww_CUdeviceptr address))                 \
	X(cuIpcGetEventHandle, cuIpcGetEventHandle,                                           \
		(ww_CUipcEventHandle * out_handle, ww_CUevent event))                         \
	X(cuIpcOpenEventHandle, cuIpcOpenEventHandle,                                         \
		(ww_CUevent * out_event, ww_CUipcEventHandle handle))

#define WW_CUDA_FUNCTIONS_POOL(X)                                                                \
	X(cuMemPoolCreate, cuMemPoolCreate,                                                      \
		(ww_CUmemoryPool * out_pool, const ww_CUmemPoolProps *props))                    \
	X(cuMemPoolDestroy, cuMemPoolDestroy, (ww_CUmemoryPool pool))                            \
	X(cuMemPoolSetAttribute, cuMemPoolSetAttribute,                                          \
		(ww_CUmemoryPool pool, ww_CUmemPool_attribute attribute, void *value))           \
	X(cuMemPoolGetAttribute, cuMemPoolGetAttribute,                                          \
		(ww_CUmemoryPool pool, ww_CUmemPool_attribute attribute, void *out_value))       \
	X(cuMemPoolSetAccess, cuMemPoolSetAccess,                                                \
		(ww_CUmemoryPool pool, const ww_CUmemAccessDesc *access, size_t count))          \
	X(cuMemPoolTrimTo, cuMemPoolTrimTo, (ww_CUmemoryPool pool, size_t bytes_to_keep))        \
	X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle,                    \
		(void *out_shareable, ww_CUmemoryPool pool, ww_CUmemAllocationHandleType type,   \
			unsigned long long flags))                                               \
	X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle,                \
		(ww_CUmemoryPool * out_pool, void *shareable, ww_CUmemAllocationHandleType type, \
			unsigned long long flags))                                               \
	X(cuMemPoolExportPointer, cuMemPoolExportPointer,                                        \
		(ww_CUmemPoolPtrExportData * out_data, ww_CUdeviceptr address))                  \
	X(cuMemPoolImportPointer, cuMemPoolImportPointer,                                        \
		(ww_CUdeviceptr * out_address, ww_CUmemoryPool pool,                             \
			ww_CUmemPoolPtrExportData * data))                                       \
	X(cuMemAllocAsync, cuMemAllocAsync,                                                      \
		(ww_CUdeviceptr * out_address, size_t bytes, ww_CUstream stream))                \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync,                                      \
		(ww_CUdeviceptr * out_address, size_t bytes, ww_CUmemoryPool pool,               \
			ww_CUstream stream))                                                     \
	X(cuMemFreeAsync, cuMemFreeAsync, (ww_CUdeviceptr address, ww_CUstream stream))          \
	X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool,                                  \
		(ww_CUmemoryPool * out_pool, ww_CUdevice device))                                \
	X(cuDeviceGetMemPool, cuDeviceGetMemPool, (ww_CUmemoryPool * out_pool, ww_CUdevice device))

#define WW_CUDA_FUNCTIONS_MODULE(X)                                                          \
	X(cuModuleLoadData, cuModuleLoadData, (ww_CUmodule * out_module, const void *image)) \
	X(cuModuleLoadDataEx, cuModuleLoadDataEx,                                            \
		(ww_CUmodule * out_module, const void *image, unsigned int count,            \
			ww_CUjit_option *options, void **values))                            \
	X(cuModuleUnload, cuModuleUnload, (ww_CUmodule module))                              \
	X(cuModuleGetFunction, cuModuleGetFunction,                                          \
		(ww_CUfunction * out_kernel, ww_CUmodule module, const char *name))          \
	X(cuFuncGetAttribute, cuFuncGetAttribute,                                            \
		(int *out_value, ww_CUfunction_attribute attribute, ww_CUfunction function)) \
	X(cuFuncSetAttribute, cuFuncSetAttribute,                                            \
		(ww_CUfunction function, ww_CUfunction_attribute attribute, int value))      \
	X(cuLaunchKernel, cuLaunchKernel,                                                    \
		(ww_CUfunction function, unsigned int grid_x, unsigned int grid_y,           \
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,     \
			unsigned int block_z, unsigned int shared_bytes, ww_CUstream stream, \
			void **parameters, void **extra))

/* clang-format off: a declaration made by a macro */
#define WW_CUDA_DECLARE_PFN(name, symbol, parameters) \
	typedef ww_CUresult(*ww_PFN_##name) parameters;
WW_CUDA_FUNCTIONS(WW_CUDA_DECLARE_PFN)
#undef WW_CUDA_DECLARE_PFN
/* clang-format on */

#endif
