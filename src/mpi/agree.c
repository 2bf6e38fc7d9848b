/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.c - see agree.h
 *
 * Only ranks whose MPI calls come from one thread at a time get beyond ww_mpi_round_begin(), so
 * nothing here is locked.
 */
#include "mpi/agree.h"

#include <sched.h>

#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/peer.h"
#include "mpi/settings.h"

#define LOOKS_BEFORE_PROGRESS 64
#define CHECK_NS              UINT64_C(100000000) /* between looks whether a member has ended */

/* Of the collective that began last; NULL: it was not counted. */
static struct ww_mpi_group *counted_last;
/* A collective that begins now comes from a function of the program that the MPI has called. */
static bool is_agreeing;

/*
 * MPICH goes on only if it is asked for a request that is not complete: a receive of this
 * communicator never is.
 */
static MPI_Comm alone = MPI_COMM_NULL;
static MPI_Request never = MPI_REQUEST_NULL;

bool ww_mpi_round_begin(struct ww_mpi_round *round, MPI_Comm comm)
{
	const struct ww_mpi_place *place;

	counted_last = NULL;
	if (comm == MPI_COMM_NULL || !ww_mpi_groups_are_counted())
		return false;
	place = ww_mpi_place_find(comm);
	if (!place || !place->group)
		return false;
	round->group = place->group;
	round->self = place->self;
	round->members = place->members;
	round->ranks = place->ranks;
	return true;
}

void ww_mpi_round_count(struct ww_mpi_round *round)
{
	/* Before it is counted: this one is not answered yet. */
	ww_mpi_group_give_answers(round->group);
	round->number = ++round->group->count;
	counted_last = round->group;
	round->is_answered = !round->group->own;
}

static const struct ww_mpi_answers *answers_of(const struct ww_mpi_words *words, uint64_t hash)
{
	for (int i = 0; i < WW_MPI_GROUPS; i++) {
		if (atomic_load_explicit(&words->groups[i].group, memory_order_acquire) == hash)
			return &words->groups[i];
	}
	return NULL;
}

bool ww_mpi_round_can(const struct ww_mpi_round *round, int ordinal, MPI_Count bytes)
{
	if (round->is_answered || round->group->is_broken || round->group->has_failed)
		return false;
	for (int i = 0; i < round->members; i++) {
		struct ww_mpi_peer peer;

		if (i != round->self &&
			(!ww_mpi_peer_find_rank(round->ranks[i], &peer) ||
				!ww_mpi_direct_is_worth_it(ordinal, &peer, bytes)))
			return false;
	}
	return true;
}

bool ww_mpi_round_is_apart(const struct ww_mpi_round *round, int ordinal)
{
	for (int i = 0; i < round->members; i++) {
		struct ww_mpi_peer peer;

		if (i != round->self &&
			(!ww_mpi_peer_find_rank(round->ranks[i], &peer) ||
				ww_mpi_direct_is_same(ordinal, &peer)))
			return false;
	}
	return true;
}

/* Waits a little, while the MPI goes on. Return: false: the member has ended. */
static bool wait_for(const struct ww_mpi_round *round, int member, unsigned int *looks,
	uint64_t *next_ns)
{
	int is_complete;
	uint64_t now;

	if (++*looks % LOOKS_BEFORE_PROGRESS)
		return true;
	if (never == MPI_REQUEST_NULL) {
		PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &alone);
		WW_MPI_REAL(Irecv)(NULL, 0, MPI_BYTE, 0, 0, alone, &never);
	}
	WW_MPI_REAL(Test)(&never, &is_complete, MPI_STATUS_IGNORE);
	sched_yield();
	now = ww_mpi_now_ns();
	if (!*next_ns)
		*next_ns = now + CHECK_NS;
	if (now < *next_ns)
		return true;
	*next_ns = now + CHECK_NS;
	return ww_mpi_peer_is_running(round->ranks[member]);
}

enum heard {
	HEARD_NOTHING,
	HEARD_NO,
	HEARD_YES
};

/* What a member has answered to this collective. */
static enum heard hear(const struct ww_mpi_round *round, int member)
{
	const struct ww_mpi_words *words = ww_mpi_peer_words(round->ranks[member]);
	bool is_full = atomic_load(&words->is_full);
	const struct ww_mpi_answers *answers = answers_of(words, round->group->hash);
	uint64_t answer;

	if (!answers)
		return is_full ? HEARD_NO : HEARD_NOTHING;
	answer = atomic_load_explicit(&answers->answer, memory_order_acquire);
	if (answer / 2 < round->number)
		return HEARD_NOTHING;
	return answer == round->number * 2 + 1 ? HEARD_YES : HEARD_NO;
}

/* Waits for the answers of all, or for one no. */
static bool all_say_yes(const struct ww_mpi_round *round)
{
	unsigned int looks = 0;
	uint64_t next_ns = 0;

	for (;;) {
		int open = -1;

		for (int i = 0; i < round->members; i++) {
			enum heard heard = i == round->self ? HEARD_YES : hear(round, i);

			if (heard == HEARD_NO)
				return false;
			if (heard == HEARD_NOTHING)
				open = i;
		}
		if (open < 0)
			return true;
		/* It may have answered, and ended then. */
		if (!wait_for(round, open, &looks, &next_ns) &&
			hear(round, open) == HEARD_NOTHING) {
			round->group->is_broken = true;
			return false;
		}
	}
}

/* Waits until all members are through with the last collective that went directly. */
static void settle(const struct ww_mpi_round *round)
{
	struct ww_mpi_group *group = round->group;

	for (int i = 0; i < round->members && group->direct && !group->is_broken; i++) {
		const struct ww_mpi_answers *answers;
		unsigned int looks = 0;
		uint64_t next_ns = 0;

		if (i == round->self)
			continue;
		answers = answers_of(ww_mpi_peer_words(round->ranks[i]), group->hash);
		while (atomic_load_explicit(&answers->read, memory_order_acquire) < group->direct &&
			!group->is_broken)
			group->is_broken = !wait_for(round, i, &looks, &next_ns);
	}
	group->direct = 0;
}

static void store_answer(const struct ww_mpi_group *group, uint64_t answer)
{
	atomic_store_explicit(&group->own->answer, answer, memory_order_release);
}

static bool agree_now(const struct ww_mpi_round *round, bool is_yes,
	const struct ww_mpi_given *given)
{
	struct ww_mpi_group *group = round->group;

	settle(round);
	is_yes = is_yes && !group->is_broken && !group->has_failed;
	if (is_yes && given)
		group->own->given = *given;
	if (!group->has_failed)
		store_answer(group, round->number * 2 + is_yes);
	is_yes = is_yes && all_say_yes(round);
	if (is_yes)
		group->direct = round->number;
	return is_yes;
}

bool ww_mpi_round_agree(const struct ww_mpi_round *round, bool is_yes,
	const struct ww_mpi_given *given)
{
	struct ww_mpi_group *group = round->group;

	if (is_agreeing) {
		/* Of an error handler, while this rank waits for answers: told after that. */
		group->has_failed = true;
		return false;
	}
	if (round->is_answered)
		return false;
	is_agreeing = true;
	is_yes = agree_now(round, is_yes, given);
	is_agreeing = false;
	if (group->has_failed && !is_yes)
		store_answer(group, WW_MPI_LATER_THAN_ALL);
	return is_yes;
}

void ww_mpi_round_failed(void)
{
	if (counted_last)
		counted_last->has_failed = true;
}

const struct ww_mpi_given *ww_mpi_round_given(const struct ww_mpi_round *round, int member)
{
	return &answers_of(ww_mpi_peer_words(round->ranks[member]), round->group->hash)->given;
}

/* Return: whether a member has done the first half well; false also if it has ended. */
static bool has_met(const struct ww_mpi_round *round, int member)
{
	const struct ww_mpi_answers *answers = answers_of(ww_mpi_peer_words(round->ranks[member]),
		round->group->hash);
	unsigned int looks = 0;
	uint64_t next_ns = 0;
	bool is_running = true;

	/* It may have met, and ended then. */
	while (atomic_load_explicit(&answers->met, memory_order_acquire) / 2 < round->number &&
		is_running)
		is_running = wait_for(round, member, &looks, &next_ns);
	round->group->is_broken = round->group->is_broken || !is_running;
	return atomic_load_explicit(&answers->met, memory_order_acquire) == round->number * 2 + 1;
}

int ww_mpi_round_meet(const struct ww_mpi_round *round, bool is_good)
{
	atomic_store_explicit(&round->group->own->met, round->number * 2 + is_good,
		memory_order_release);
	for (int i = 0; i < round->members; i++) {
		if (i != round->self && !has_met(round, i))
			return i;
	}
	return -1;
}

void ww_mpi_round_end(const struct ww_mpi_round *round)
{
	atomic_store_explicit(&round->group->own->read, round->number, memory_order_release);
}

void ww_mpi_agree_finish(void)
{
	if (never == MPI_REQUEST_NULL)
		return;
	WW_MPI_REAL(Cancel)(&never);
	WW_MPI_REAL(Wait)(&never, MPI_STATUS_IGNORE);
	PMPI_Comm_free(&alone);
}
