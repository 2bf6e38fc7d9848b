/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - what is in a broker, in words for people
 *
 * Nothing here asks anybody: names of users and devices are in object_view.h.
 */
#ifndef TOOLS_WARPWAY_FORMAT_H
#define TOOLS_WARPWAY_FORMAT_H

#include <warpway/warpway.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_MODE_BYTES     16
#define FORMAT_DURATION_BYTES 24
#define FORMAT_UUID_BYTES     48
#define FORMAT_ID_BYTES       40
#define FORMAT_PROCESS_BYTES  (WW_PROGRAM_BYTES + 24)
#define FORMAT_DTYPE_BYTES    WW_DTYPE_NAME_BYTES
#define FORMAT_ARRAY_BYTES    416 /* a dtype and 16 numbers of at most 20 digits, with commas */

enum format_sort {
	FORMAT_KIND,
	FORMAT_MEMORY_KIND,
	FORMAT_STATE,
	FORMAT_LIFE,
	FORMAT_ACCESS,
	FORMAT_WHAT,
	FORMAT_TIMELINE_STATE,
	FORMAT_POLICY
};

/* Words of the command line, of JSON and of tables; "unknown" for a number that is none of them. */
const char *format_word(enum format_sort sort, uint32_t number);

/* Return: whether it is one of them. */
bool format_find(enum format_sort sort, const char *word, uint32_t *out_number);

#define format_kind(kind)               format_word(FORMAT_KIND, kind)
#define format_memory_kind(memory_kind) format_word(FORMAT_MEMORY_KIND, memory_kind)
#define format_state(state)             format_word(FORMAT_STATE, state)
#define format_life(life)               format_word(FORMAT_LIFE, life)
#define format_access(access)           format_word(FORMAT_ACCESS, access)
#define format_what(what)               format_word(FORMAT_WHAT, what)
#define format_timeline_state(state)    format_word(FORMAT_TIMELINE_STATE, state)
#define format_policy(policy)           format_word(FORMAT_POLICY, policy)

/**
 * format_mode() - state and mode as ls shows them
 *
 * "srw-r-----": 'w' being written, 's' sealed, '-' shared, 'x' ended, then nine letters. An
 * object cannot be executed: those places stay '-' unless the bit is set.
 */
void format_mode(uint32_t state, uint32_t mode, char out_text[FORMAT_MODE_BYTES]);

/* A time to look at, in one unit: "120 ms", "41 s", "3 min", "5 h", "12 d". */
void format_duration(uint64_t ns, char out_text[FORMAT_DURATION_BYTES]);

/* "GPU-ee2f2e36-..." as nvidia-smi -L prints it. */
void format_uuid(const uint8_t uuid[WW_DEVICE_UUID_BYTES], char out_text[FORMAT_UUID_BYTES]);

/* 32 hexadecimal digits. */
void format_id(const uint8_t id[WW_OBJECT_ID_BYTES], char out_text[FORMAT_ID_BYTES]);

/* Return: whether the text begins with 32 hexadecimal digits. */
bool format_find_id(const char *text, uint8_t out_id[WW_OBJECT_ID_BYTES]);

/* "float32", "bool", "complex64", "bfloat16", "float32x4". */
void format_dtype(const struct ww_array *array, char out_text[FORMAT_DTYPE_BYTES]);

/* "float32[1024,768]"; "int64[]" has one element. */
void format_array(const struct ww_array *array, char out_text[FORMAT_ARRAY_BYTES]);

/**
 * format_safe() - text of an untrusted process, fit for a terminal and for JSON
 * @room:  of @out_text; what does not fit is cut between characters
 *
 * A control character, and a byte that is no part of valid UTF-8, becomes '?'.
 */
void format_safe(const char *text, char *out_text, size_t room);

/*
 * "pid 12 (program)", fit for a terminal; "a process (program)" or "a process" where nobody tells
 * which one it is.
 */
const char *format_process(uint32_t pid, const char *program, char out_text[FORMAT_PROCESS_BYTES]);

#endif
