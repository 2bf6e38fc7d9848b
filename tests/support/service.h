/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - a service with functions whose results tell what they did
 *
 *   nop                                     nothing
 *   add      i64 a, i64 b = 10 -> i64 sum
 *   echo     bytes data -> bytes same
 *   fail     i32 status                     that status, with the sentence "failed as it was told"
 *   mark     u8[n] x write, u64 at          adds 1 to the byte at that place, by the CPU
 *   fill     u8[*] x write, u8 value        by its stream
 *   make     u64 bytes, u8 value -> u8[*] x a memory of its own, filled
 *   who      -> u32 uid, u32 pid, u64 call
 *   hold                                    runs until it is cancelled
 *   pair     -> u32 calls                   two at once: one alone waits for a minute
 */
#ifndef WW_TESTS_SUPPORT_SERVICE_H
#define WW_TESTS_SUPPORT_SERVICE_H

#include <warpway/client.h>

/* Offers all of them, and starts the service. @device: of the service, borrowed as long as it */
void service_offer_all(ww_service *service, ww_device *device);

/*
 * How often mark has run in this process. The thread sanitizer does not know that a reply which is
 * seen by another mapping of its page orders the bytes that the function wrote: this does.
 */
uint32_t service_marks_made(void);

/* Values. @token, @memory: borrowed */
struct ww_value value_i64(int64_t value);
struct ww_value value_u64(uint64_t value);
struct ww_value value_i32(int32_t value);
struct ww_value value_u8(uint8_t value);
struct ww_value value_bytes(const void *data, uint64_t bytes);
struct ww_value value_memory(ww_memory *memory);
struct ww_value value_token(const struct ww_token *token);

/* A result that is a scalar. */
uint64_t result_scalar(ww_ticket *ticket, uint32_t index);

#endif
