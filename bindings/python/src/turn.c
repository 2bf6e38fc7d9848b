/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.c - threads that use one object of the library in turns, see turn.h
 *
 * A thread at the front of a queue keeps other waits from the object, but not calls that do not
 * wait. So a thread that needs several objects comes to the front of all queues first, and only
 * then uses the objects. Until then only other waits are kept back, and each of these ends at its
 * own time limit.
 */
#include "turn.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS  UINT64_C(40000000) /* between looks whether a wait was ended */
#define YIELD_NS UINT64_C(5000000)  /* how long the front of the queue waits for others */

void turns_init(struct turns *turns)
{
	turns->pid = getpid();
	pthread_mutex_init(&turns->lock, NULL);
	pthread_cond_init(&turns->is_free, NULL);
}

void turns_fini(struct turns *turns)
{
	if (turns_are_inherited(turns))
		return;
	pthread_mutex_destroy(&turns->lock);
	pthread_cond_destroy(&turns->is_free);
}

void turns_close(struct turns *turns)
{
	__atomic_store_n(&turns->is_closed, 1, __ATOMIC_RELEASE);
}

bool turns_are_inherited(const struct turns *turns)
{
	return turns->pid != getpid();
}

/* --- calls that do not wait --- */

/* Under the lock. */
static void turns_enter_first(struct turns *turns)
{
	turns->wanted++;
	while (turns->is_used)
		pthread_cond_wait(&turns->is_free, &turns->lock);
	turns->wanted--;
	turns->is_used = true;
}

void turns_enter(struct turns *turns)
{
	if (turns_are_inherited(turns))
		return;
	pthread_mutex_lock(&turns->lock);
	turns_enter_first(turns);
	pthread_mutex_unlock(&turns->lock);
}

bool turns_try_enter(struct turns *turns)
{
	bool was_used = turns->is_used;

	turns->is_used = true;
	return !was_used;
}

static void turn_wake(struct turn *turn)
{
	if (turn && turn->sleeps)
		pthread_cond_signal(&turn->wake);
}

void turns_leave(struct turns *turns)
{
	turns->is_used = false;
	if (turns->wanted > 0)
		pthread_cond_signal(&turns->is_free);
	else
		turn_wake(turns->first);
}

/* --- the queue --- */

/* Takes a place at the end of the queue. Under the lock, as are the next three. */
static void turn_begin(struct turns *turns, struct turn *turn)
{
	struct turn **place = &turns->first;

	while (*place)
		place = &(*place)->next;
	*place = turn;
	turn->is_queued = true;
}

/* Sleeps until it comes to the front, or is woken. Return: false: @until_ns has passed. */
static bool turn_sleep(struct turns *turns, struct turn *turn, uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};
	pthread_condattr_t attributes;
	int error;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&turn->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	turn->sleeps = true;
	error = pthread_cond_timedwait(&turn->wake, &turns->lock, &until);
	turn->sleeps = false;
	pthread_cond_destroy(&turn->wake);
	return error != ETIMEDOUT;
}

/*
 * At the front: waits for the calls that do not wait, for YIELD_NS at most, and uses the object.
 * If such calls follow each other without a gap, this thread then competes with them for it.
 */
static void turn_enter(struct turns *turns, struct turn *turn)
{
	uint64_t until_ns = 0;

	while (turns->is_used || turns->wanted > 0) {
		if (until_ns == 0)
			until_ns = wait_now_ns() + YIELD_NS;
		if (!turn_sleep(turns, turn, until_ns)) {
			turns_enter_first(turns);
			break;
		}
	}
	turns->is_used = true;
	turn->is_awaited = turn->next != NULL;
}

/* Leaves the queue. */
static void turn_end(struct turns *turns, struct turn *turn)
{
	struct turn **place = &turns->first;

	while (*place != turn)
		place = &(*place)->next;
	*place = turn->next;
	*turn = (struct turn){NULL};
	turn_wake(turns->first);
}

/* --- calls that may wait --- */

static bool is_any_closed(struct turns *const *all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (turns_are_closed(all[i]))
			return true;
	}
	return false;
}

/* Comes to the front, or until @until_ns. Return: WW_OK; WW_TIMED_OUT; WAIT_LEFT. */
static ww_status turn_wait(struct turns *turns, struct turn *turn, uint64_t until_ns)
{
	ww_status status = WAIT_LEFT;

	pthread_mutex_lock(&turns->lock);
	if (turn->is_queued || !turns->first || !wait_may_leave()) {
		if (!turn->is_queued)
			turn_begin(turns, turn);
		while (turns->first != turn && turn_sleep(turns, turn, until_ns))
			;
		status = turns->first == turn ? WW_OK : WW_TIMED_OUT;
	}
	pthread_mutex_unlock(&turns->lock);
	return status;
}

/* Comes to the front of each queue. */
static ww_status turns_await(struct turns *const *all, uint32_t count, struct turn *mine,
	uint64_t end_ns, ww_cancel *cancel)
{
	uint64_t now_ns = wait_now_ns();
	ww_status status;

	for (uint32_t i = 0; i < count; i++) {
		if (turns_are_inherited(all[i]))
			continue;
		while ((status = turn_wait(all[i], &mine[i],
				now_ns + LOOK_NS < end_ns ? now_ns + LOOK_NS : end_ns)) != WW_OK) {
			if (status == WAIT_LEFT)
				return status;
			if (is_any_closed(all, count))
				return STATUS_CLOSED;
			if (ww_cancel_is_set(cancel))
				return WW_CANCELLED;
			now_ns = wait_now_ns();
			if (now_ns >= end_ns)
				return WW_TIMED_OUT;
		}
	}
	return WW_OK;
}

static void turns_enter_from_queues(struct turns *const *all, uint32_t count, struct turn *mine)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!mine[i].is_queued)
			continue;
		pthread_mutex_lock(&all[i]->lock);
		turn_enter(all[i], &mine[i]);
		pthread_mutex_unlock(&all[i]->lock);
	}
}

ww_status turns_enter_to_wait(struct turns *const *all, uint32_t count, struct turn *mine,
	uint64_t end_ns, ww_cancel *cancel)
{
	ww_status status = WW_TIMED_OUT;

	for (uint32_t i = 0; i < count; i++)
		mine[i] = (struct turn){NULL};
	if (end_ns > 0)
		status = turns_await(all, count, mine, end_ns, cancel);
	if (status == WW_OK) {
		turns_enter_from_queues(all, count, mine);
		return status;
	}
	turns_end(all, count, mine);
	for (uint32_t i = 0; i < count && status == WW_TIMED_OUT; i++)
		turns_enter(all[i]);
	return status;
}

void turns_end(struct turns *const *all, uint32_t count, struct turn *mine)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!mine[i].is_queued)
			continue;
		pthread_mutex_lock(&all[i]->lock);
		turn_end(all[i], &mine[i]);
		pthread_mutex_unlock(&all[i]->lock);
	}
}
