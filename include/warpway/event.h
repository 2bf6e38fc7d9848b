/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/event.h - CUDA's events between processes, for programs that do not use this library
 *
 * An event stands for the work that was enqueued on a stream when the event was last recorded.
 * Streams of any process can wait for the event. A stream waits for the last recording before the
 * wait was enqueued, so both processes must make sure by other means that the event was recorded
 * before. On a GPU it is an IPC event of CUDA (cuEventCreate with CU_EVENT_INTERPROCESS), which any
 * CUDA program can open by its 64-byte handle. On the host device it is a timeline, with the same
 * rules.
 *
 * If both programs use this library, use a timeline (timeline.h) instead. CUDA's events have these
 * limits:
 *   - If the process that records an event dies, a process that waits for it on a GPU HANGS FOR
 *     EVER. Nothing can end that wait.
 *   - One process can have at most 4,096 events.
 *   - Both processes need the same /dev/shm and the same user namespace, and must not have the same
 *     pid value (two containers in which both are process 1 cannot share an event).
 * A round trip between two processes, measured on H200:
 *   - between two GPUs: 19 us by an event, 14 us by a timeline;
 *   - on one GPU under MPS: 19 us, and 6 to 8 us;
 *   - on one GPU without MPS: 285 us, and 14 us. For an event, the GPU switches to the other
 *     process, which takes about 145 us. It also switches for every kernel and small copy that
 *     follows work of the other process.
 *
 * Threads: every function may be called from any thread.
 * Fork:    a child cannot use its parent's events, but it can import a token of an event: see
 *          device.h.
 */
#ifndef WARPWAY_EVENT_H
#define WARPWAY_EVENT_H

#include <warpway/base.h>
#include <warpway/device.h>
#include <warpway/timeline.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_event ww_event;

#define WW_EVENT_HANDLE_BYTES 64

/* refused, because CUDA's events between processes cannot measure time */
#define WW_EVENT_TIMING UINT64_C(0x1)
/* a CPU that waits sleeps instead of spinning */
#define WW_EVENT_BLOCKING_SYNC UINT64_C(0x2)

/**
 * struct ww_event_params - what event to make
 * @struct_size:  sizeof(struct ww_event_params)
 * @reserved:  0
 * @flags:     WW_EVENT_... bits
 */
struct ww_event_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t flags;
};

/**
 * struct ww_event_handle - a CUipcEventHandle, which is a cudaIpcEventHandle_t
 */
struct ww_event_handle {
	uint8_t bytes[WW_EVENT_HANDLE_BYTES];
};

/**
 * ww_event_create() - make an event that other processes can open
 * @device:     borrowed; the event keeps it open
 * @params:     borrowed; NULL: no flags
 * @out_event:  the caller's; NULL on failure
 *
 * Return: WW_OK; WW_ERR_INVALID (WW_EVENT_TIMING: the record says why; unknown flags);
 *         WW_ERR_UNSUPPORTED (@device lacks WW_CAP_EVENT); WW_ERR_LIMIT (4,096 live events in this
 *         process); WW_ERR_SYSTEM (no /dev/shm that CUDA can use); WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE...; WW_ERR_FORKED.
 */
WW_API ww_status ww_event_create(ww_device *device, const struct ww_event_params *params,
	ww_event **out_event);

/**
 * ww_event_ref() - take one more reference of an event
 * Return: @event.
 */
WW_API ww_event *ww_event_ref(ww_event *event);

/**
 * ww_event_unref() - release a reference of an event
 * @event:  may be NULL
 *
 * Work that waits for the event still waits. A process that has opened the event keeps it.
 *
 * Return: NULL.
 */
WW_API ww_event *ww_event_unref(ww_event *event);

/**
 * ww_event_record() - from now on the event stands for the work enqueued on a stream so far
 * @event:   borrowed; on the host device only the process that made it may record it, on a GPU
 *           every process may
 * @stream:  borrowed; of the event's device, on a GPU of the context that it was made or opened in.
 *           On the host device, a stream other than that of the last recording waits for that
 *           recording first
 *
 * Return: WW_OK; WW_ERR_INVALID (a stream of another device or context); WW_ERR_ACCESS (host: made
 *         by another process); WW_ERR_PEER_LOST (@stream was released from a wait by poison, see
 *         timeline.h); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_event_record(ww_event *event, ww_stream *stream);

/**
 * ww_event_stream_wait() - let the further work of a stream wait for the last recording
 * @event:   borrowed
 * @stream:  borrowed; on a GPU of the context that the event was made or opened in, so of its
 *           device (the driver crashes otherwise: seen with driver 580.159); on host any of its
 *           streams
 *
 * If the event was never recorded, the stream does not wait.
 *
 * Return: WW_OK (enqueued); WW_ERR_INVALID (a stream of another device or context);
 *         WW_ERR_PEER_LOST (host: the recorder ended; everywhere: @stream was released from a wait
 *         by poison); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_event_stream_wait(ww_event *event, ww_stream *stream);

/**
 * ww_event_synchronize() - wait on the CPU for the last recording
 * @event:       borrowed
 * @timeout_ns:  0: do not wait; WW_FOREVER. CUDA's own call has no time limit, and hangs if the
 *               recorder died. With a limit or a @cancel this call polls instead
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_PEER_LOST (host only); WW_ERR_DEVICE;
 * WW_ERR_FORKED.
 */
WW_API ww_status ww_event_synchronize(ww_event *event, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_event_query() - ask whether the work of the last recording has run
 * Return: WW_OK; WW_NOT_READY; WW_ERR_PEER_LOST (host only); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_event_query(ww_event *event);

/**
 * ww_event_handle_get() - the 64 bytes by which any CUDA program can open the event
 * @event:       borrowed; made by this process
 * @out_handle:  filled on success
 *
 * The bytes have no access rights: any process that has them can open the event. They are valid as
 * long as this process lives.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (host: there is no such handle); WW_ERR_ACCESS (another process
 *         made it); WW_ERR_DEVICE; WW_ERR_FORKED.
 */
WW_API ww_status ww_event_handle_get(ww_event *event, struct ww_event_handle *out_handle);

/**
 * ww_event_handle_open() - open the event of another CUDA program by its 64 bytes
 * @device:     borrowed; a GPU
 * @handle:     borrowed
 * @out_event:  the caller's; NULL on failure
 *
 * The driver also opens the handle of an event that was destroyed, or whose creator has ended (seen
 * with driver 580.159). Such an event keeps its last recording. If the work of that recording had
 * not run, a wait for the event never ends.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (host; or made by this process, or by a process with the same
 *         pid value); WW_ERR_NOT_FOUND (the driver does not know it); WW_ERR_SYSTEM (another user,
 *         another /dev/shm or user namespace, or no handle at all); WW_ERR_LIMIT; WW_ERR_DEVICE;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_event_handle_open(ww_device *device, const struct ww_event_handle *handle,
	ww_event **out_event);

/**
 * ww_event_export() - a token by which any process can import the event
 * @event:      borrowed; made by this process
 * @broker:     borrowed; NULL: the default broker
 * @params:     borrowed; NULL: WW_ESCROW_DEFAULT
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success
 *
 * The object in the broker ends with the event's last unref in this process, or with the process.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_ACCESS (another process made it); as ww_timeline_export().
 */
WW_API ww_status ww_event_export(ww_event *event, ww_broker *broker,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_event_import() - open the event that a token names
 * @device:     borrowed; of the backend that made it
 * @broker:     borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's address
 * @token:      borrowed
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_event:  the caller's; NULL on failure. In the process that created the event it is the same
 *              ww_event, with one more reference
 *
 * Return: WW_OK; WW_CANCELLED; as ww_event_handle_open() and ww_timeline_import().
 */
WW_API ww_status ww_event_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_event **out_event);

#ifdef __cplusplus
}
#endif

#endif
