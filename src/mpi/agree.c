/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.c - see agree.h
 *
 * Only ranks whose MPI calls come from one thread at a time get beyond ww_mpi_round_begin(), so
 * nothing here is locked.
 */
#include "mpi/agree.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/call.h"
#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/peer.h"
#include "mpi/settings.h"

#define LOOKS_BEFORE_PROGRESS 64
#define LATER_THAN_ALL        (UINT64_MAX - 1)    /* an answer: no */
#define CHECK_NS              UINT64_C(100000000) /* between looks whether a member has ended */

/* The ranks of communicators with the same members. */
struct ww_mpi_group {
	struct ww_mpi_group *next;
	uint64_t hash;
	int members;
	int *ranks;      /* in MPI_COMM_WORLD, sorted */
	uint64_t count;  /* of blocking collectives */
	uint64_t direct; /* the number of the last one that went directly */
	bool is_broken;  /* a member has ended */
	bool has_failed; /* a call has: the others may count otherwise; says no for good */
	struct ww_mpi_answers *own;
};

/* A communicator's place in its group, which is its attribute. */
struct place {
	int refs;                   /* communicators */
	struct ww_mpi_group *group; /* NULL: no collective of it goes directly */
	int self;
	int members;
	int *ranks; /* in MPI_COMM_WORLD, by rank in the communicator */
};

static struct ww_mpi_group *groups;
static struct ww_mpi_words *own_words;
static int keyval = MPI_KEYVAL_INVALID;
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

/* --- groups --- */

static int compare(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

static uint64_t hash_of(const int *ranks, int members)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (int i = 0; i < members; i++) {
		for (int shift = 0; shift < 32; shift += 8)
			hash = (hash ^ ((unsigned int)ranks[i] >> shift & 0xff)) *
				UINT64_C(1099511628211);
	}
	return hash ? hash : 1;
}

/* Where this rank answers for a group. */
static void give_answers(struct ww_mpi_group *group)
{
	if (!own_words || group->own)
		return;
	for (int i = 0; i < WW_MPI_GROUPS; i++) {
		struct ww_mpi_answers *answers = &own_words->groups[i];

		if (atomic_load(&answers->group))
			continue;
		atomic_store(&answers->answer,
			group->has_failed ? LATER_THAN_ALL : group->count * 2);
		atomic_store(&answers->group, group->hash);
		group->own = answers;
		return;
	}
	atomic_store(&own_words->is_full, 1);
}

/* Return: whether MPI calls of this process have one order. */
static bool has_order(void)
{
	static bool is_known, is_so;
	int level = MPI_THREAD_MULTIPLE;

	if (is_known)
		return is_so;
	if (!ww_mpi_has_world())
		return false;
	PMPI_Query_thread(&level);
	is_so = level != MPI_THREAD_MULTIPLE;
	is_known = true;
	return is_so;
}

void ww_mpi_agree_with(struct ww_mpi_words *words)
{
	own_words = words;
	if (words && (!ww_mpi_settings()->direct_collectives || !has_order()))
		atomic_store(&words->is_full, 1);
	for (struct ww_mpi_group *group = groups; group; group = group->next) {
		group->own = NULL;
		give_answers(group);
	}
}

void ww_mpi_agree_finish(void)
{
	if (never == MPI_REQUEST_NULL)
		return;
	WW_MPI_REAL(Cancel)(&never);
	WW_MPI_REAL(Wait)(&never, MPI_STATUS_IGNORE);
	PMPI_Comm_free(&alone);
}

/* Takes the sorted ranks, if it returns a group. */
static struct ww_mpi_group *find_group(int *ranks, int members)
{
	uint64_t hash = hash_of(ranks, members);
	struct ww_mpi_group *group;

	for (group = groups; group; group = group->next) {
		if (group->hash == hash) {
			if (group->members != members ||
				memcmp(group->ranks, ranks, sizeof(*ranks) * (size_t)members) != 0)
				return NULL;
			free(ranks);
			return group;
		}
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->hash = hash;
	group->members = members;
	group->ranks = ranks;
	group->next = groups;
	groups = group;
	return group;
}

/* Return: whether all members are in MPI_COMM_WORLD. */
static bool translate(MPI_Comm comm, int members, int *out_ranks)
{
	MPI_Group world, group;
	int *own = malloc(sizeof(*own) * (size_t)members);
	bool is_in = own != NULL;

	if (!own)
		return false;
	for (int i = 0; i < members; i++)
		own[i] = i;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Comm_group(comm, &group);
	PMPI_Group_translate_ranks(group, members, own, world, out_ranks);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	for (int i = 0; i < members; i++)
		is_in = is_in && out_ranks[i] >= 0;
	free(own);
	return is_in;
}

static int copy_place(MPI_Comm comm, int key, void *unused, void *place, void *out_place,
	int *out_flag)
{
	(void)comm;
	(void)key;
	(void)unused;
	((struct place *)place)->refs++;
	*(void **)out_place = place;
	*out_flag = 1;
	return MPI_SUCCESS;
}

static int drop_place(MPI_Comm comm, int key, void *of_comm, void *unused)
{
	struct place *place = of_comm;

	(void)comm;
	(void)key;
	(void)unused;
	if (--place->refs == 0) {
		free(place->ranks);
		free(place);
	}
	return MPI_SUCCESS;
}

static struct place *make_place(MPI_Comm comm)
{
	struct place *place = calloc(1, sizeof(*place));
	int is_inter = 0;
	int *sorted;

	if (!place)
		return NULL;
	place->refs = 1;
	PMPI_Comm_test_inter(comm, &is_inter);
	place->self = (int)ww_mpi_self(comm);
	place->members = (int)ww_mpi_members(comm);
	if (is_inter || place->members < 2)
		return place;
	place->ranks = malloc(sizeof(*place->ranks) * (size_t)place->members);
	sorted = malloc(sizeof(*sorted) * (size_t)place->members);
	if (place->ranks && sorted && translate(comm, place->members, place->ranks)) {
		memcpy(sorted, place->ranks, sizeof(*sorted) * (size_t)place->members);
		qsort(sorted, (size_t)place->members, sizeof(*sorted), compare);
		place->group = find_group(sorted, place->members);
	}
	if (!place->group)
		free(sorted);
	return place;
}

static struct place *find_place(MPI_Comm comm)
{
	struct place *place = NULL;
	int is_there = 0;

	if (keyval == MPI_KEYVAL_INVALID)
		PMPI_Comm_create_keyval(copy_place, drop_place, &keyval, NULL);
	if (PMPI_Comm_get_attr(comm, keyval, &place, &is_there) != MPI_SUCCESS || is_there)
		return place;
	place = make_place(comm);
	if (place && PMPI_Comm_set_attr(comm, keyval, place) != MPI_SUCCESS) {
		drop_place(comm, keyval, place, NULL);
		return NULL;
	}
	return place;
}

/* --- one collective --- */

bool ww_mpi_round_begin(struct ww_mpi_round *round, MPI_Comm comm)
{
	struct place *place;

	counted_last = NULL;
	if (comm == MPI_COMM_NULL || !ww_mpi_settings()->direct_collectives || !has_order())
		return false;
	place = find_place(comm);
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
	give_answers(round->group); /* before it is counted: this one is not answered yet */
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
		store_answer(group, LATER_THAN_ALL);
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
