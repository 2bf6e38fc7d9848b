/* SPDX-License-Identifier: Apache-2.0 */
/*
 * received.c - which pickles of slices this process has received, see received.h
 */
#include "received.h"

#include <pthread.h>
#include <sys/random.h>

#define PLACES 4096
#define DRAWN  32 /* 256 bytes: as many as the kernel gives without an interruption */

static struct sent received[PLACES]; /* uses: how often it came */

/*
 * Random numbers that no pickle has yet. A child made by fork() draws its own. The low bits count
 * on from a random start: so the pickles of one sender lie side by side in the receiver's table.
 */
static struct {
	uint64_t numbers[DRAWN];
	unsigned int left;
	uint64_t count;
} drawn;

static void drawn_forget(void)
{
	drawn.left = 0;
	drawn.count = 0;
}

__attribute__((constructor)) static void drawn_watch_fork(void)
{
	pthread_atfork(NULL, NULL, drawn_forget);
}

/* With the GIL. Return: 0: the kernel has none. */
static uint64_t draw(void)
{
	if (drawn.left == 0) {
		if (getrandom(drawn.numbers, sizeof(drawn.numbers), 0) != sizeof(drawn.numbers))
			return 0;
		drawn.left = DRAWN;
		if (drawn.count == 0)
			drawn.count = drawn.numbers[0];
	}
	return (drawn.numbers[--drawn.left] & ~(uint64_t)(PLACES - 1)) | drawn.count++ % PLACES;
}

/* Without a random number the pickle is not counted. */
struct sent sent_choose(bool is_slice, uint32_t uses)
{
	if (!is_slice || uses == 0)
		return (struct sent){.number = 0};
	return (struct sent){.number = draw(), .uses = uses};
}

static struct sent *received_place(const struct sent *sent)
{
	return &received[sent->number % PLACES];
}

bool received_check(struct core *core, const struct sent *sent)
{
	const struct sent *before = received_place(sent);

	if (!sent->number || before->number != sent->number || before->uses < sent->uses)
		return true;
	error_raise_text(core, WW_ERR_NOT_FOUND,
		"a pickle is one delivery, and this process has received this one before" RECEIVE_AGAIN);
	return false;
}

void received_note(const struct sent *sent)
{
	struct sent *place = received_place(sent);

	if (!sent->number)
		return;
	if (place->number != sent->number)
		*place = (struct sent){.number = sent->number};
	place->uses++;
}
