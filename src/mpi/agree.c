/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.c - see agree.h
 *
 * Only ranks whose MPI calls come from one thread at a time get beyond ww_mpi_round_begin(), so nothing here is locked.
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
#define CHECK_NS              UINT64_C(100000000) /* how often a member that is waited for is looked after */

/* The ranks of communicators with the same members. */
struct ww_mpi_group {
	struct ww_mpi_group *next;
	uint64_t hash;
	int members;
	int *ranks;      /* in MPI_COMM_WORLD, sorted */
	uint64_t count;  /* of blocking collectives */
	uint64_t direct; /* the number of the last one that went directly */
	bool is_broken;  /* a member has ended */
	struct ww_mpi_answers *own;
};

/* A communicator's place in its group, which is its attribute. */
struct place {
	struct ww_mpi_group *group; /* NULL: no collective of it goes directly */
	int self;
	int members;
	int *ranks; /* in MPI_COMM_WORLD, by rank in the communicator */
};

static struct ww_mpi_group *groups;
static struct ww_mpi_words *own_words;
static int keyval = MPI_KEYVAL_INVALID;

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
		atomic_store(&answers->answer, group->count * 2);
		atomic_store(&answers->group, group->hash);
		group->own = answers;
		return;
	}
	atomic_store(&own_words->is_full, 1);
}

void ww_mpi_agree_with(struct ww_mpi_words *words)
{
	own_words = words;
	if (words && ww_mpi_is_threaded())
		atomic_store(&words->is_full, 1);
	for (struct ww_mpi_group *group = groups; group; group = group->next) {
		group->own = NULL;
		give_answers(group);
	}
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

/* The place stays until the process ends, as communicators that are made from this one may have it, too. */
static struct place *make_place(MPI_Comm comm)
{
	struct place *place = calloc(1, sizeof(*place));
	int is_inter = 0;
	int *sorted;

	if (!place)
		return NULL;
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

/* Return: whether MPI calls of this process have one order. */
static bool has_order(void)
{
	static int known; /* 0: not asked yet; 1: yes; 2: no */
	int is_initialized = 0;
	int level = MPI_THREAD_MULTIPLE;

	if (!known) {
		PMPI_Initialized(&is_initialized);
		if (is_initialized)
			PMPI_Query_thread(&level);
		known = level == MPI_THREAD_MULTIPLE ? 2 : 1;
		if (known == 1)
			PMPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval,
				NULL);
	}
	return known == 1;
}

static struct place *find_place(MPI_Comm comm)
{
	struct place *place = NULL;
	int is_there = 0;

	if (PMPI_Comm_get_attr(comm, keyval, &place, &is_there) != MPI_SUCCESS || is_there)
		return place;
	place = make_place(comm);
	if (place)
		PMPI_Comm_set_attr(comm, keyval, place);
	return place;
}

/* --- one collective --- */

bool ww_mpi_round_begin(struct ww_mpi_round *round, MPI_Comm comm)
{
	struct place *place;

	if (ww_mpi_depth != 0 || comm == MPI_COMM_NULL ||
		ww_mpi_settings()->route == WW_MPI_ROUTE_STAGED || !has_order())
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
	if (round->is_answered || round->group->is_broken)
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

/* Waits a little. Return: false: the member has ended. */
static bool wait_for(const struct ww_mpi_round *round, int member, unsigned int *looks,
	uint64_t *next_ns)
{
	int is_there;
	uint64_t now;

	if (++*looks % LOOKS_BEFORE_PROGRESS)
		return true;
	WW_MPI_REAL(Iprobe)
	(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
	sched_yield();
	now = ww_mpi_now_ns();
	if (!*next_ns)
		*next_ns = now + CHECK_NS;
	if (now < *next_ns)
		return true;
	*next_ns = now + CHECK_NS;
	return ww_mpi_peer_is_running(round->ranks[member]);
}

/* What a member answered to this collective. */
static bool says_yes(const struct ww_mpi_round *round, int member)
{
	const struct ww_mpi_words *words = ww_mpi_peer_words(round->ranks[member]);
	const struct ww_mpi_answers *answers = NULL;
	unsigned int looks = 0;
	uint64_t next_ns = 0;

	for (;;) {
		bool is_full = atomic_load(&words->is_full);

		if (!answers)
			answers = answers_of(words, round->group->hash);
		if (!answers && is_full)
			return false;
		if (answers) {
			uint64_t answer = atomic_load_explicit(&answers->answer,
				memory_order_acquire);

			if (answer / 2 >= round->number)
				return answer == round->number * 2 + 1;
		}
		if (!wait_for(round, member, &looks, &next_ns)) {
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
		const struct ww_mpi_words *words = ww_mpi_peer_words(round->ranks[i]);
		const struct ww_mpi_answers *answers;
		unsigned int looks = 0;
		uint64_t next_ns = 0;

		if (i == round->self)
			continue;
		answers = answers_of(words, group->hash);
		while (atomic_load_explicit(&answers->read, memory_order_acquire) < group->direct &&
			!group->is_broken)
			group->is_broken = !wait_for(round, i, &looks, &next_ns);
	}
	group->direct = 0;
}

bool ww_mpi_round_agree(const struct ww_mpi_round *round, bool is_yes,
	const struct ww_mpi_given *given)
{
	struct ww_mpi_group *group = round->group;

	if (round->is_answered)
		return false;
	settle(round);
	is_yes = is_yes && !group->is_broken;
	if (is_yes && given)
		group->own->given = *given;
	atomic_store_explicit(&group->own->answer, round->number * 2 + is_yes,
		memory_order_release);
	for (int i = 0; i < round->members && is_yes; i++)
		is_yes = i == round->self || says_yes(round, i);
	if (is_yes)
		group->direct = round->number;
	return is_yes;
}

const struct ww_mpi_given *ww_mpi_round_given(const struct ww_mpi_round *round, int member)
{
	return &answers_of(ww_mpi_peer_words(round->ranks[member]), round->group->hash)->given;
}

void ww_mpi_round_end(const struct ww_mpi_round *round)
{
	atomic_store_explicit(&round->group->own->read, round->number, memory_order_release);
}
