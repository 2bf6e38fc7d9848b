/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - requests to a broker, right and slightly wrong, from whatever numbers a program
 * draws
 *
 * Names, ids and secrets come from small sets, so that connections get in each other's way.
 * broker.c draws from a random sequence, requests.c from what a fuzzer thought of.
 */
#ifndef WW_TESTS_FUZZ_MESSAGES_H
#define WW_TESTS_FUZZ_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/protocol.h"

#define MESSAGE_BYTES 4096

/*
 * Objects and escrows that would stay for a while do so for this long at most, unless a packet is
 * damaged.
 */
#define MESSAGE_BRIEF_NS UINT64_C(3000000)

/* Those that objects can have. */
#define MESSAGE_NAMES 6
extern const char *const message_names[MESSAGE_NAMES];

/* One end of a connection. */
struct message_side {
	uint8_t process_id[WW_WIRE_ID_BYTES];
	uint16_t version; /* as said in its hello */
	uint8_t exported; /* which secret comes with the next answer to an export */
	bool has_pages;   /* names inside other objects are drawn, too */
	/* the next put is one of a signal page: a writable descriptor, and one for readers */
	bool is_page;
};

/* The program's own: any number, and one below a limit. */
uint64_t draw_number(void);
uint32_t draw_below(uint32_t limit);

bool draw_one_in(uint32_t many);

/* What to ask for next, after the hello. */
uint16_t message_code(void);

/* Return: the length of a request of this code; 0: none could be written of what was drawn. */
size_t message_make(struct message_side *side, uint16_t code, const struct ww_wire_header *header,
	uint8_t packet[MESSAGE_BYTES]);

/* Changes a bit, a byte, or the length, by 16 more at most. */
void message_damage(uint8_t *packet, size_t *bytes);

/* An answer: the secret of a token is for others to use. */
void message_listen(const struct message_side *side, const uint8_t *packet, size_t bytes);

#endif
