/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - see group.h
 *
 * Only ranks whose MPI calls come from one thread at a time count, so nothing here is locked.
 */
#include "mpi/group.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/settings.h"

static struct ww_mpi_group *groups;
static struct ww_mpi_words *own_words;
static int keyval = MPI_KEYVAL_INVALID;

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

bool ww_mpi_groups_are_counted(void)
{
	return ww_mpi_settings()->direct_collectives && has_order();
}

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

void ww_mpi_group_give_answers(struct ww_mpi_group *group)
{
	if (!own_words || group->own)
		return;
	for (int i = 0; i < WW_MPI_GROUPS; i++) {
		struct ww_mpi_answers *answers = &own_words->groups[i];

		if (atomic_load(&answers->group))
			continue;
		atomic_store(&answers->answer,
			group->has_failed ? WW_MPI_LATER_THAN_ALL : group->count * 2);
		atomic_store(&answers->group, group->hash);
		group->own = answers;
		return;
	}
	atomic_store(&own_words->is_full, 1);
}

void ww_mpi_groups_announce(struct ww_mpi_words *words)
{
	own_words = words;
	if (words && !ww_mpi_groups_are_counted())
		atomic_store(&words->is_full, 1);
	for (struct ww_mpi_group *group = groups; group; group = group->next) {
		group->own = NULL;
		ww_mpi_group_give_answers(group);
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

static int copy_place(MPI_Comm comm, int key, void *unused, void *place, void *out_place,
	int *out_flag)
{
	(void)comm;
	(void)key;
	(void)unused;
	((struct ww_mpi_place *)place)->refs++;
	*(void **)out_place = place;
	*out_flag = 1;
	return MPI_SUCCESS;
}

static int drop_place(MPI_Comm comm, int key, void *of_comm, void *unused)
{
	struct ww_mpi_place *place = of_comm;

	(void)comm;
	(void)key;
	(void)unused;
	if (--place->refs == 0) {
		free(place->ranks);
		free(place);
	}
	return MPI_SUCCESS;
}

static struct ww_mpi_place *make_place(MPI_Comm comm)
{
	struct ww_mpi_place *place = calloc(1, sizeof(*place));
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

const struct ww_mpi_place *ww_mpi_place_find(MPI_Comm comm)
{
	struct ww_mpi_place *place = NULL;
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
