/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fdstore.c - descriptors that the supervisor has too, see fdstore.h
 *
 * The supervisor opens and closes numbers of the fdstore only as messages say, in their order. A
 * new broker is its child and begins with the same descriptors, so a number that is not open in the
 * broker is not open in the supervisor.
 *
 * A dropped descriptor is closed in the broker first. So the supervisor closes an object's last
 * descriptor, by a thread if much memory is freed, and no client waits for that.
 *
 * A number in the fdstore is not close-on-exec: it has to survive when the broker becomes a
 * supervisor. A broker runs no other program.
 */
#include "daemon/registry/fdstore.h"

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
#include "daemon/supervisor/supervisor.h"
#include "wire/packet.h"

/* How many descriptors one message names. */
#define NUMBERS (sizeof(((struct supervisor_message *)NULL)->numbers) / sizeof(uint32_t))

/*
 * A gap of so many numbers is closed without checking which of them are open: one message costs as
 * much.
 */
#define WIDE_GAP 16

/*
 * How long to try again while the kernel has too many descriptors in flight, or no memory for a
 * message.
 */
#define SCARCE_NS UINT64_C(5000000000)
#define PAUSE_NS  1000000

ww_status fdstore_open(struct fdstore *fdstore, int supervisor, uint32_t first, uint32_t limit)
{
	struct rlimit files;

	ww_assert(first < limit && limit <= INT32_MAX);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return ww_fail_errno(errno, NULL, "cannot ask for the limit of open files");
	*fdstore = (struct fdstore){.supervisor = supervisor,
		.first = first,
		.limit = limit,
		.hard = files.rlim_max,
		.next = first};
	fdstore->adopted = calloc((limit - first + 7) / 8, 1);
	if (!fdstore->adopted)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note which of %" PRIu32 " descriptors are in use: out of memory",
			limit - first);
	return WW_OK;
}

/* Within the hard limit this cannot fail. */
static void fdstore_limit_files(const struct fdstore *fdstore, uint32_t count)
{
	const struct rlimit limit = {count, fdstore->hard};

	if (count <= fdstore->hard)
		ww_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void fdstore_raise_limit(const struct fdstore *fdstore)
{
	fdstore_limit_files(fdstore, fdstore->limit);
}

static void fdstore_lower_limit(const struct fdstore *fdstore)
{
	fdstore_limit_files(fdstore, fdstore->first);
}

void fdstore_close(struct fdstore *fdstore)
{
	fdstore_raise_limit(fdstore);
	free(fdstore->free);
	free(fdstore->adopted);
	*fdstore = (struct fdstore){.supervisor = -1};
}

static bool number_is_adopted(const struct fdstore *fdstore, uint32_t number)
{
	uint32_t bit = number - fdstore->first;

	return fdstore->adopted[bit / 8] >> bit % 8 & 1;
}

static bool number_is_open(uint32_t number)
{
	return fcntl((int)number, F_GETFD) >= 0;
}

ww_status fdstore_adopt(struct fdstore *fdstore, uint32_t number)
{
	uint32_t bit = number - fdstore->first;

	ww_assert(fdstore->adopted);
	if (number < fdstore->first || number >= fdstore->limit)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"number %" PRIu32 " is not one of those kept, %" PRIu32 " to %" PRIu32,
			number, fdstore->first, fdstore->limit - 1);
	if (number_is_adopted(fdstore, number))
		return ww_fail(WW_ERR_DESCRIPTOR, "descriptor %" PRIu32 " is named twice", number);
	if (!number_is_open(number))
		return ww_fail(WW_ERR_DESCRIPTOR, "descriptor %" PRIu32 " is not open", number);
	fdstore->adopted[bit / 8] |= (uint8_t)(1U << bit % 8);
	if (fdstore->next <= number)
		fdstore->next = number + 1;
	fdstore->used++;
	return WW_OK;
}

void fdstore_forget(struct fdstore *fdstore, uint32_t number)
{
	uint32_t bit = number - fdstore->first;

	ww_assert(fdstore->adopted && number_is_adopted(fdstore, number));
	fdstore->adopted[bit / 8] &= (uint8_t) ~(1U << bit % 8);
	fdstore->used--;
}

/*
 * Reserves room for every number that was ever given out, so that returning a number cannot fail.
 */
static ww_status fdstore_reserve_free(struct fdstore *fdstore, uint32_t room)
{
	uint32_t larger_room = fdstore->free_room ? fdstore->free_room : 64;
	uint32_t *larger;

	if (room <= fdstore->free_room)
		return WW_OK;
	while (larger_room < room)
		larger_room *= 2;
	larger = realloc(fdstore->free, larger_room * sizeof(*larger));
	if (!larger)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note %" PRIu32 " descriptors: out of memory", room);
	fdstore->free = larger;
	fdstore->free_room = larger_room;
	return WW_OK;
}

/*
 * The kernel reports no event when descriptors leave flight or memory is free again, so the only
 * way is to try again shortly. Descriptors in flight are counted for each user: waiting helps only
 * while the supervisor has some to receive.
 */
static bool send_may_be_repeated(const struct fdstore *fdstore, ww_status status,
	uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct pollfd supervisor = {.fd = fdstore->supervisor};
	int queued = 0;

	if (status != WW_ERR_LIMIT && status != WW_ERR_NO_MEMORY)
		return false;
	if (ioctl(fdstore->supervisor, SIOCOUTQ, &queued) == 0 && queued == 0 &&
		status == WW_ERR_LIMIT)
		return false;
	if (ww_clock_now_ns() >= deadline_ns)
		return false;
	(void)ppoll(&supervisor, 1, &pause, NULL); /* returns at once when the supervisor ends */
	return true;
}

static ww_status supervisor_send(const struct fdstore *fdstore,
	const struct supervisor_message *message, const int *fds, size_t fd_count)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(SCARCE_NS);

	for (;;) {
		ww_status status = ww_packet_send(fdstore->supervisor, message, sizeof(*message),
			fds, fd_count);

		if (status == WW_OK)
			return WW_OK;
		if (status == WW_NOT_READY) {
			struct pollfd supervisor = {.fd = fdstore->supervisor, .events = POLLOUT};

			if (poll(&supervisor, 1, -1) < 0 && errno != EINTR)
				return ww_fail_errno(errno, NULL, "cannot wait for the supervisor");
		} else if (!send_may_be_repeated(fdstore, status, deadline_ns)) {
			return status;
		}
	}
}

ww_status fdstore_ready(const struct fdstore *fdstore)
{
	const struct supervisor_message message = {.what = SUPERVISOR_READY};

	return supervisor_send(fdstore, &message, NULL, 0);
}

/* Closes a range here and in the supervisor. */
static ww_status numbers_close_both(const struct fdstore *fdstore, uint32_t from, uint32_t to)
{
	const struct supervisor_message message = {.what = SUPERVISOR_DROP_RANGE,
		.count = 2,
		.numbers = {from, to}};

	if (close_range(from, to, 0) < 0)
		return ww_fail_errno(errno, NULL,
			"cannot close the descriptors %" PRIu32 " to %" PRIu32, from, to);
	return supervisor_send(fdstore, &message, NULL, 0);
}

/*
 * The numbers from @from to @to are free. If some are open, an unfinished step of the former broker
 * left them.
 */
static ww_status numbers_close_gap(struct fdstore *fdstore, uint32_t from, uint32_t to)
{
	bool is_clean = to - from < WIDE_GAP;

	for (uint32_t number = from; is_clean && number <= to; number++)
		is_clean = !number_is_open(number);
	for (uint32_t number = to + 1; number-- > from;)
		fdstore->free[fdstore->free_count++] = number;
	return is_clean ? WW_OK : numbers_close_both(fdstore, from, to);
}

ww_status fdstore_adopted(struct fdstore *fdstore)
{
	uint32_t number = fdstore->next;

	ww_assert(fdstore->adopted);
	ww_try(fdstore_reserve_free(fdstore, fdstore->next - fdstore->first));
	/* From the highest down, which leaves the lowest on top of the stack. */
	while (number > fdstore->first) {
		uint32_t end = number;

		while (number > fdstore->first && !number_is_adopted(fdstore, number - 1))
			number--;
		if (number < end)
			ww_try(numbers_close_gap(fdstore, number, end - 1));
		while (number > fdstore->first && number_is_adopted(fdstore, number - 1))
			number--;
	}
	if (fdstore->next < fdstore->limit)
		ww_try(numbers_close_both(fdstore, fdstore->next, fdstore->limit - 1));
	free(ww_steal(fdstore->adopted));
	fdstore_lower_limit(fdstore);
	return WW_OK;
}

static void numbers_take(struct fdstore *fdstore, uint32_t count)
{
	uint32_t reused = count < fdstore->free_count ? count : fdstore->free_count;

	fdstore->free_count -= reused;
	fdstore->next += count - reused;
	fdstore->used += count;
}

static void numbers_close(const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ww_fd_close((int)numbers[i]);
}

static ww_status numbers_duplicate(const int *fds, size_t count, const uint32_t *numbers)
{
	for (size_t i = 0; i < count; i++) {
		if (dup3(fds[i], (int)numbers[i], 0) < 0) {
			ww_status status = ww_fail_errno(errno, NULL,
				"cannot duplicate descriptor %d as %" PRIu32, fds[i], numbers[i]);

			numbers_close(numbers, i);
			return status;
		}
	}
	return WW_OK;
}

ww_status fdstore_keep(struct fdstore *fdstore, const int *fds, size_t count, uint32_t *out_numbers)
{
	struct supervisor_message message = {.what = SUPERVISOR_KEEP, .count = (uint32_t)count};
	ww_status status;

	ww_assert(!fdstore->adopted && count > 0 && count <= NUMBERS);
	if (count > fdstore->free_count + (fdstore->limit - fdstore->next))
		return ww_fail(WW_ERR_LIMIT,
			"cannot keep %zu more descriptors: all %" PRIu32
			" are in use; raise the limit of open files (LimitNOFILE, ulimit -n)",
			count, fdstore->limit - fdstore->first);
	ww_try(fdstore_reserve_free(fdstore, fdstore->next - fdstore->first + (uint32_t)count));
	/* The numbers stay free until numbers_take(). */
	for (uint32_t i = 0; i < count; i++)
		message.numbers[i] = i < fdstore->free_count
			? fdstore->free[fdstore->free_count - 1 - i]
			: fdstore->next + (i - fdstore->free_count);
	fdstore_raise_limit(fdstore);
	status = numbers_duplicate(fds, count, message.numbers);
	if (status == WW_OK) {
		status = supervisor_send(fdstore, &message, fds, count);
		if (status < 0)
			numbers_close(message.numbers, count);
	}
	fdstore_lower_limit(fdstore);
	ww_try(status);
	numbers_take(fdstore, (uint32_t)count);
	memcpy(out_numbers, message.numbers, count * sizeof(*out_numbers));
	return WW_OK;
}

ww_status fdstore_send(const struct fdstore *fdstore, int socket, const void *bytes, size_t count,
	const int *fds, size_t fd_count)
{
	ww_status status;

	fdstore_raise_limit(fdstore);
	status = ww_packet_send(socket, bytes, count, fds, fd_count);
	fdstore_lower_limit(fdstore);
	return status;
}

/* If the supervisor is gone, so are its descriptors, and the next supervisor reads the records. */
static void numbers_drop(struct fdstore *fdstore, const uint32_t *numbers, uint32_t count)
{
	struct supervisor_message message = {.what = SUPERVISOR_DROP, .count = count};

	memcpy(message.numbers, numbers, count * sizeof(*numbers));
	numbers_close(numbers, count);
	if (supervisor_send(fdstore, &message, NULL, 0) < 0)
		ww_log_debug("dropping %" PRIu32 " descriptors: %s", count,
			ww_error_last()->message);
	ww_assert(count <= fdstore->used);
	fdstore->used -= count;
	for (uint32_t i = count; i-- > 0;)
		fdstore->free[fdstore->free_count++] = numbers[i];
}

void fdstore_drop(struct fdstore *fdstore, const uint32_t *numbers, size_t count)
{
	for (size_t done = 0; done < count; done += NUMBERS)
		numbers_drop(fdstore, numbers + done,
			(uint32_t)(count - done < NUMBERS ? count - done : NUMBERS));
}
