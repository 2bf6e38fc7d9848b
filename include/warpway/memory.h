/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/memory.h - a span of device memory that processes share
 *
 * A memory is a span of device or host memory that is mapped in this process and can be handed to
 * others: as a file descriptor with a description beside it, over a Unix socket that two
 * processes already share. The memory itself lives exactly as long as some process maps it or
 * holds its descriptor; the death of its maker changes nothing for the others.
 *
 *   create ─────────────┐
 *                       ├─> live ──export, send──> descriptor + description ──┐
 *   import, receive ────┘                                                     │
 *          ^                                                                  │
 *          └───────────────── this process or another one ────────────────────┘
 *
 * One mapping, counted: a memory imported twice into one process for the same device with the same
 * access, or into the process that made it, is the same object with one more reference, and ends
 * with as many unrefs. Imported for another device or with other access it is another mapping of
 * the same bytes. (For memory of a GPU the kernel must confirm that two descriptors are one: Linux 6.10
 * does, earlier ones where kcmp(2) is allowed. Else each import is a mapping of its own.)
 *
 * Access: what is imported read-only is mapped read-only. Work on a stream of this library is refused
 * with WW_ERR_ACCESS; a kernel or a CPU store faults, in the offender alone. On host memory a
 * read-only export is a descriptor that the kernel refuses to map for writing. A GPU's descriptor
 * has no such mark: a hostile holder can map it for writing, so who may write is decided by who is
 * given the descriptor.
 *
 * Threads: every function may be called from any thread.
 * CUDA:    the caller's current context is the same after every call.
 * Fork:    memory is unusable in a forked child (CUDA's own rule); calls there return WW_ERR_FORKED.
 */
#ifndef WARPWAY_MEMORY_H
#define WARPWAY_MEMORY_H

#include <warpway/base.h>
#include <warpway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_memory ww_memory;

/**
 * struct ww_memory_params - what memory to make
 * @size:   sizeof(struct ww_memory_params); fields are only ever appended, zero means as before
 * @kind:   WW_MEMORY_... of device.h; 0: WW_MEMORY_VMM
 * @bytes:  > 0; rounded up to the granularity: the device's for vmm (2 MiB on today's GPUs and on host),
 *          the page size (4 KiB) for host
 * @flags:  none yet; unknown bits give WW_ERR_INVALID
 */
struct ww_memory_params {
	uint32_t size;
	uint32_t kind;
	uint64_t bytes;
	uint64_t flags;
};

#define WW_OBJECT_ID_BYTES 16

/**
 * struct ww_memory_info - what a memory is and how this process reaches it
 * @size:        set by the caller to sizeof(struct ww_memory_info)
 * @kind:        WW_MEMORY_...
 * @access:      WW_ACCESS_... of this mapping
 * @route:       WW_ROUTE_... of device.h
 * @bytes:       usable bytes: what was asked for, rounded up
 * @pointer:     as ww_memory_pointer()
 * @host_pointer: as ww_memory_host_pointer()
 * @device:      the device this mapping serves; borrowed, valid as long as the memory
 * @home_uuid:   UUID of the device that holds the bytes; as its description says where this process cannot
 *               see that device (WW_ROUTE_PEER_HIDDEN), and for host memory
 * @object_id:   128 random bits, the same in every process that maps this memory
 */
struct ww_memory_info {
	uint32_t size;
	uint32_t kind;
	uint32_t access;
	uint32_t route;
	uint64_t bytes;
	void *pointer;
	void *host_pointer;
	ww_device *device;
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint8_t object_id[WW_OBJECT_ID_BYTES];
};

#define WW_MEMORY_DESCRIPTION_BYTES 128

/**
 * struct ww_memory_description - what travels beside a memory's descriptor
 *
 * Plain bytes, versioned and checksummed, the same on every machine; may be kept in a file or sent by
 * any means. Read only by ww_memory_import_fd(), which trusts none of them.
 */
struct ww_memory_description {
	uint8_t bytes[WW_MEMORY_DESCRIPTION_BYTES];
};

/**
 * ww_memory_create() - make memory on a device and map it for reading and writing
 * @device:      borrowed; the memory keeps it open
 * @params:      borrowed
 * @out_memory:  the caller's; NULL on failure
 *
 * The bytes read as zero. They are really there: memory that a machine does not have is refused here,
 * not found missing at the first touch.
 *
 * May block: while the device or the kernel clears the memory.
 *
 * Return: WW_OK; WW_ERR_INVALID (bytes 0, unknown kind or flag); WW_ERR_OVERFLOW (bytes cannot be
 *         rounded up); WW_ERR_DEVICE_MEMORY (the GPU has not that much); WW_ERR_NO_MEMORY (the machine
 *         has not); WW_ERR_LIMIT (descriptors or mappings); WW_ERR_UNSUPPORTED (the device cannot make
 *         this kind); WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_create(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory);

/**
 * ww_memory_ref() - hold a memory once more
 * Return: @memory.
 */
WW_API ww_memory *ww_memory_ref(ww_memory *memory);

/**
 * ww_memory_unref() - let go of a memory
 * @memory:  may be NULL
 *
 * The last unref unmaps it; the bytes go when no process maps them or holds a descriptor of them.
 * Work on a GPU that uses the mapping must have run by then, as for cuMemUnmap(); streams of the
 * host device keep what they still use.
 *
 * Return: NULL.
 */
WW_API ww_memory *ww_memory_unref(ww_memory *memory);

/**
 * ww_memory_pointer() - where the device finds the memory
 *
 * Return: an address for kernels, copies and fills on the memory's device, valid as long as the
 *         memory; on the host device an ordinary pointer. NULL in a forked child.
 */
WW_API void *ww_memory_pointer(ww_memory *memory);

/**
 * ww_memory_host_pointer() - where the CPU finds the memory
 *
 * Return: an ordinary pointer, valid as long as the memory; NULL when the CPU cannot reach it (vmm
 *         memory of a GPU) or in a forked child.
 */
WW_API void *ww_memory_host_pointer(ww_memory *memory);

/**
 * ww_memory_info_get() - describe a memory
 * @memory:  borrowed
 * @info:    the caller's, with size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_info_get(ww_memory *memory, struct ww_memory_info *info);

/**
 * ww_memory_export_fd() - name this memory by a descriptor, so that another process can import it
 * @memory:           borrowed
 * @access:           the most an importer gets: at most what this mapping has
 * @out_fd:           the caller's, close-on-exec, keeps the memory alive; -1 on failure
 * @out_description:  filled on success; must travel beside the descriptor
 *
 * The first export of a GPU's memory asks the driver (50 to 600 us); later ones duplicate.
 *
 * Return: WW_OK; WW_ERR_ACCESS (write, of a read-only mapping); WW_ERR_INVALID; WW_ERR_UNSUPPORTED
 *         (device without WW_CAP_EXPORT; a read-only export of host memory without /proc, or of one that
 *         another user made and exported for writing); WW_ERR_LIMIT;
 *         WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_export_fd(ww_memory *memory, uint32_t access, int *out_fd,
	struct ww_memory_description *out_description);

/**
 * ww_memory_import_fd() - map memory that another process, or this one, exported
 * @device:       borrowed; the device that is to reach the memory, which need not be its home
 * @fd:           borrowed: stays open and the caller's
 * @description:  borrowed; what ww_memory_export_fd() wrote. Treated as hostile
 * @access:       WW_ACCESS_READ or WW_ACCESS_WRITE
 * @out_memory:   the caller's; NULL on failure
 *
 * Return: WW_OK; WW_ERR_PROTOCOL (not a description, or damaged); WW_ERR_VERSION; WW_ERR_ACCESS (write,
 *         but exported for reading); WW_ERR_DESCRIPTOR (@fd is not open, or is no memory);
 *         WW_ERR_MISMATCH (the memory has not the size described); WW_ERR_UNSUPPORTED (this device
 *         cannot reach it; the record says why); WW_ERR_INVALID; WW_ERR_NO_MEMORY; WW_ERR_LIMIT;
 *         WW_ERR_DEVICE_MEMORY; WW_ERR_DEVICE; WW_ERR_SYSTEM; WW_ERR_FORKED.
 */
WW_API ww_status ww_memory_import_fd(ww_device *device, int fd,
	const struct ww_memory_description *description, uint32_t access, ww_memory **out_memory);

/**
 * ww_memory_send() - hand a memory to the process at the other end of a Unix socket
 * @memory:      borrowed; may be let go as soon as this returns
 * @access:      the most the receiver gets
 * @socket:      borrowed; a connected AF_UNIX socket of type SOCK_SEQPACKET or SOCK_STREAM (a datagram
 *               socket does not tell when the other process is gone)
 * @timeout_ns:  how long to wait for room in the socket; 0: not at all; WW_FOREVER
 *
 * Sends one message of 128 bytes with one descriptor. On a stream socket a timeout or failure after
 * the first byte leaves half a message behind, and the status is WW_ERR_TRUNCATED: close the socket.
 *
 * Return: WW_OK; WW_TIMED_OUT (nothing was sent); WW_ERR_DESCRIPTOR (not a connected Unix socket of
 *         these types); WW_ERR_PEER_LOST (the other end is closed); WW_ERR_TRUNCATED; as ww_memory_export_fd().
 */
WW_API ww_status ww_memory_send(ww_memory *memory, uint32_t access, int socket,
	uint64_t timeout_ns);

/**
 * ww_memory_receive() - take a memory that the other end sent, and map it
 * @device:      borrowed; the device that is to reach the memory
 * @socket:      borrowed; as for ww_memory_send()
 * @access:      WW_ACCESS_READ or WW_ACCESS_WRITE
 * @timeout_ns:  how long to wait for the message; 0: not at all; WW_FOREVER
 * @out_memory:  the caller's; NULL on failure
 *
 * A message that is refused is gone, and every descriptor that came with it is closed. On a stream
 * socket the position of the next message is unknown then: close the socket.
 *
 * Return: WW_OK; WW_TIMED_OUT (nothing was taken); WW_ERR_PEER_LOST (the other end closed without a
 *         message); WW_ERR_TRUNCATED (it ended inside one); WW_ERR_PROTOCOL (not our message, or not
 *         exactly one descriptor with it); WW_ERR_DESCRIPTOR (@socket is no connected Unix socket of
 *         these types, or what came is no memory); as ww_memory_import_fd().
 */
WW_API ww_status ww_memory_receive(ww_device *device, int socket, uint32_t access,
	uint64_t timeout_ns, ww_memory **out_memory);

#ifdef __cplusplus
}
#endif

#endif
