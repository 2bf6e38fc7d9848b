/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - frames of a channel in a folder
 *
 *   channel.json        what the channel was: policy, slots, type of the frames
 *   frames.jsonl        one line for each frame: number, file, bytes, shape, time, metadata
 *   000000000001.npy    the bytes of frame 1; .raw for frames that are no arrays
 *
 * A frame's file appears whole, and its line after that. So whenever the recording ends, by Ctrl-C,
 * SIGKILL or a full disk, each line of frames.jsonl that has an end names a file that is complete.
 *
 * A folder is an untrusted process's: a reader checks every number, and names of files stay inside.
 */
#ifndef TOOLS_WARPWAY_RECORDING_H
#define TOOLS_WARPWAY_RECORDING_H

#include <warpway/warpway.h>

#include <stdbool.h>
#include <stdio.h>

#define RECORDING_FILE_BYTES 32

struct recording {
	const char *folder; /* borrowed */
	int index;          /* writer's; -1: none */
	FILE *lines;        /* reader's; NULL: none */
	uint64_t line;      /* that was read last */
	struct ww_channel_info info;
};

#define RECORDING_NONE      \
	{                   \
		.index = -1 \
	}

/* A frame as its line says. */
struct recorded_frame {
	char file[RECORDING_FILE_BYTES];
	struct ww_frame frame; /* number, bytes, submitted_ns, ndim, shape, metadata_bytes */
	uint8_t metadata[WW_FRAME_METADATA_MAX];
};

/**
 * recording_create() - begin a recording
 * @folder:  borrowed; made if it is not there; else it must be empty
 * @name:    of the channel
 * @info:    borrowed
 * Return: 0; the exit code after saying what is wrong. End it with recording_close().
 */
int recording_create(struct recording *recording, const char *folder, const char *name,
	const struct ww_channel_info *info);

/* Adds a frame. Return: 0, or -1 after saying what went wrong. */
int recording_add(struct recording *recording, const struct ww_frame *frame, const void *bytes);

/* Opens a folder for reading: fills recording->info. Return: 0, or -1 after saying why not. */
int recording_open(struct recording *recording, const char *folder);

/* The next frame, in order. Return: 1; 0: there is none; -1 after saying what is wrong. */
int recording_next(struct recording *recording, struct recorded_frame *out_frame);

/* Reads its bytes. Return: 0, or -1 after saying what is wrong. */
int recording_read(const struct recording *recording, const struct recorded_frame *frame,
	void *bytes);

/* Begins with the first frame again. */
void recording_rewind(struct recording *recording);

void recording_close(struct recording *recording);

static inline void own_recording(struct recording *recording)
{
	recording_close(recording);
}

#endif
