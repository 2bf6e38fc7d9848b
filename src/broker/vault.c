/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.c - descriptors that the keeper has too, see vault.h
 *
 * The keeper opens and closes in the vault what it is told to and nothing else, in the order of the messages. A new
 * broker is its child and begins with the same descriptors, so what is not open here is not open there.
 *
 * What is dropped is closed here first. The keeper then is who closes an object's last descriptor and waits for
 * its memory to be freed, which for a large one takes time; the broker goes on serving.
 *
 * A number in the vault is not close-on-exec: it has to survive when this process becomes a keeper. A broker runs
 * no other program.
 */
#include "broker/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/keeper.h"
#include "wire/packet.h"

/* How many descriptors one message names. */
#define NUMBERS (sizeof(((struct keeper_message *)NULL)->numbers) / sizeof(uint32_t))

/* A gap of so many numbers is closed without asking which of them are open: one message costs as much. */
#define WIDE_GAP 16

/* How long to wait where the kernel has too many descriptors in flight or no memory for a message. */
#define SCARCE_NS UINT64_C(5000000000)
#define PAUSE_NS  1000000

ww_status vault_open(struct vault *vault, int keeper, uint32_t first, uint32_t limit)
{
	struct rlimit files;

	ww_assert(first < limit && limit <= INT32_MAX);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return ww_fail_errno(errno, NULL, "cannot ask for the limit of open files");
	*vault = (struct vault){.keeper = keeper,
		.first = first,
		.limit = limit,
		.hard = files.rlim_max,
		.next = first};
	vault->adopted = calloc((limit - first + 7) / 8, 1);
	if (!vault->adopted)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note which of %" PRIu32 " descriptors are in use: out of memory",
			limit - first);
	return WW_OK;
}

/* Within the hard limit this cannot fail. */
static void limit_files(const struct vault *vault, uint32_t count)
{
	const struct rlimit limit = {count, vault->hard};

	if (count <= vault->hard)
		ww_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void widen(const struct vault *vault)
{
	limit_files(vault, vault->limit);
}

static void narrow(const struct vault *vault)
{
	limit_files(vault, vault->first);
}

void vault_close(struct vault *vault)
{
	widen(vault);
	free(vault->free);
	free(vault->adopted);
	*vault = (struct vault){.keeper = -1};
}

static bool is_adopted(const struct vault *vault, uint32_t number)
{
	uint32_t bit = number - vault->first;

	return vault->adopted[bit / 8] >> bit % 8 & 1;
}

static bool is_open(uint32_t number)
{
	return fcntl((int)number, F_GETFD) >= 0;
}

ww_status vault_adopt(struct vault *vault, uint32_t number)
{
	uint32_t bit = number - vault->first;

	ww_assert(vault->adopted);
	if (number < vault->first || number >= vault->limit)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"number %" PRIu32 " is not one of those kept, %" PRIu32 " to %" PRIu32,
			number, vault->first, vault->limit - 1);
	if (is_adopted(vault, number))
		return ww_fail(WW_ERR_DESCRIPTOR, "descriptor %" PRIu32 " is named twice", number);
	if (!is_open(number))
		return ww_fail(WW_ERR_DESCRIPTOR, "descriptor %" PRIu32 " is not open", number);
	vault->adopted[bit / 8] |= (uint8_t)(1U << bit % 8);
	if (vault->next <= number)
		vault->next = number + 1;
	vault->used++;
	return WW_OK;
}

void vault_forget(struct vault *vault, uint32_t number)
{
	uint32_t bit = number - vault->first;

	ww_assert(vault->adopted && is_adopted(vault, number));
	vault->adopted[bit / 8] &= (uint8_t) ~(1U << bit % 8);
	vault->used--;
}

/* Room for every number that was ever given out: then none is lost for want of memory when it comes back. */
static ww_status reserve_free(struct vault *vault, uint32_t room)
{
	uint32_t larger_room = vault->free_room ? vault->free_room : 64;
	uint32_t *larger;

	if (room <= vault->free_room)
		return WW_OK;
	while (larger_room < room)
		larger_room *= 2;
	larger = realloc(vault->free, larger_room * sizeof(*larger));
	if (!larger)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note %" PRIu32 " descriptors: out of memory", room);
	vault->free = larger;
	vault->free_room = larger_room;
	return WW_OK;
}

/*
 * The kernel tells nobody when descriptors leave flight or memory is there again, so the only way is to look again
 * shortly. Descriptors in flight are counted per user: waiting for the keeper helps only while it has some to
 * take out.
 */
static bool may_try_again(const struct vault *vault, ww_status status, uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct pollfd keeper = {.fd = vault->keeper};
	int queued = 0;

	if (status != WW_ERR_LIMIT && status != WW_ERR_NO_MEMORY)
		return false;
	if (ioctl(vault->keeper, SIOCOUTQ, &queued) == 0 && queued == 0 && status == WW_ERR_LIMIT)
		return false;
	if (ww_clock_now_ns() >= deadline_ns)
		return false;
	(void)ppoll(&keeper, 1, &pause, NULL); /* ends at once when the keeper does */
	return true;
}

static ww_status wait_for_room(const struct vault *vault)
{
	struct pollfd keeper = {.fd = vault->keeper, .events = POLLOUT};

	if (poll(&keeper, 1, -1) < 0 && errno != EINTR)
		return ww_fail_errno(errno, NULL, "cannot wait for the keeper");
	return WW_OK;
}

static ww_status tell(const struct vault *vault, const struct keeper_message *message,
	const int *fds, size_t fd_count)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(SCARCE_NS);

	for (;;) {
		ww_status status = ww_packet_send(vault->keeper, message, sizeof(*message), fds,
			fd_count);

		if (status == WW_OK)
			return WW_OK;
		if (status == WW_NOT_READY)
			ww_try(wait_for_room(vault));
		else if (!may_try_again(vault, status, deadline_ns))
			return status;
	}
}

ww_status vault_ready(const struct vault *vault)
{
	const struct keeper_message message = {.what = KEEPER_READY};

	return tell(vault, &message, NULL, 0);
}

/* Closes a range here and in the keeper. */
static ww_status close_both(const struct vault *vault, uint32_t from, uint32_t to)
{
	const struct keeper_message message = {.what = KEEPER_DROP_RANGE,
		.count = 2,
		.numbers = {from, to}};

	if (close_range(from, to, 0) < 0)
		return ww_fail_errno(errno, NULL,
			"cannot close the descriptors %" PRIu32 " to %" PRIu32, from, to);
	return tell(vault, &message, NULL, 0);
}

/* The numbers from @from to @to are free; what is open there is left over from an unfinished step. */
static ww_status close_gap(struct vault *vault, uint32_t from, uint32_t to)
{
	bool is_clean = to - from < WIDE_GAP;

	for (uint32_t number = from; is_clean && number <= to; number++)
		is_clean = !is_open(number);
	for (uint32_t number = to + 1; number-- > from;)
		vault->free[vault->free_count++] = number;
	return is_clean ? WW_OK : close_both(vault, from, to);
}

ww_status vault_adopted(struct vault *vault)
{
	uint32_t number = vault->next;

	ww_assert(vault->adopted);
	ww_try(reserve_free(vault, vault->next - vault->first));
	/* From the highest down, which leaves the lowest on top of the stack. */
	while (number > vault->first) {
		uint32_t end = number;

		while (number > vault->first && !is_adopted(vault, number - 1))
			number--;
		if (number < end)
			ww_try(close_gap(vault, number, end - 1));
		while (number > vault->first && is_adopted(vault, number - 1))
			number--;
	}
	if (vault->next < vault->limit)
		ww_try(close_both(vault, vault->next, vault->limit - 1));
	free(ww_steal(vault->adopted));
	narrow(vault);
	return WW_OK;
}

/* The numbers that vault_keep() would give out next; they stay free. */
static void choose(const struct vault *vault, size_t count, uint32_t *out_numbers)
{
	for (uint32_t i = 0; i < count; i++)
		out_numbers[i] = i < vault->free_count ? vault->free[vault->free_count - 1 - i]
						       : vault->next + (i - vault->free_count);
}

static void take(struct vault *vault, uint32_t count)
{
	uint32_t reused = count < vault->free_count ? count : vault->free_count;

	vault->free_count -= reused;
	vault->next += count - reused;
	vault->used += count;
}

static void close_numbers(const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ww_fd_close((int)numbers[i]);
}

static ww_status duplicate_all(const int *fds, size_t count, const uint32_t *numbers)
{
	for (size_t i = 0; i < count; i++) {
		if (dup3(fds[i], (int)numbers[i], 0) < 0) {
			ww_status status = ww_fail_errno(errno, NULL,
				"cannot duplicate descriptor %d as %" PRIu32, fds[i], numbers[i]);

			close_numbers(numbers, i);
			return status;
		}
	}
	return WW_OK;
}

ww_status vault_keep(struct vault *vault, const int *fds, size_t count, uint32_t *out_numbers)
{
	struct keeper_message message = {.what = KEEPER_KEEP, .count = (uint32_t)count};
	ww_status status;

	ww_assert(!vault->adopted && count > 0 && count <= NUMBERS);
	if (count > vault->free_count + (vault->limit - vault->next))
		return ww_fail(WW_ERR_LIMIT,
			"cannot keep %zu more descriptors: all %" PRIu32
			" are in use; raise the limit of open files (LimitNOFILE, ulimit -n)",
			count, vault->limit - vault->first);
	ww_try(reserve_free(vault, vault->next - vault->first + (uint32_t)count));
	choose(vault, count, message.numbers);
	widen(vault);
	status = duplicate_all(fds, count, message.numbers);
	if (status == WW_OK) {
		status = tell(vault, &message, fds, count);
		if (status < 0)
			close_numbers(message.numbers, count);
	}
	narrow(vault);
	ww_try(status);
	take(vault, (uint32_t)count);
	memcpy(out_numbers, message.numbers, count * sizeof(*out_numbers));
	return WW_OK;
}

ww_status vault_send(const struct vault *vault, int socket, const void *bytes, size_t count,
	const int *fds, size_t fd_count)
{
	ww_status status;

	widen(vault);
	status = ww_packet_send(socket, bytes, count, fds, fd_count);
	narrow(vault);
	return status;
}

/* A keeper that is gone has dropped them anyway, and whoever follows it sees what the records say. */
static void drop_some(struct vault *vault, const uint32_t *numbers, uint32_t count)
{
	struct keeper_message message = {.what = KEEPER_DROP, .count = count};

	memcpy(message.numbers, numbers, count * sizeof(*numbers));
	close_numbers(numbers, count);
	if (tell(vault, &message, NULL, 0) < 0)
		ww_log_debug("dropping %" PRIu32 " descriptors: %s", count,
			ww_error_last()->message);
	ww_assert(count <= vault->used);
	vault->used -= count;
	for (uint32_t i = count; i-- > 0;)
		vault->free[vault->free_count++] = numbers[i];
}

void vault_drop(struct vault *vault, const uint32_t *numbers, size_t count)
{
	for (size_t done = 0; done < count; done += NUMBERS)
		drop_some(vault, numbers + done,
			(uint32_t)(count - done < NUMBERS ? count - done : NUMBERS));
}
