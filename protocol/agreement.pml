/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agreement.pml - the claims of src/mpi/agree.h, for the model checker spin
 *
 * Members of one group call ROUNDS blocking collectives, each step of src/mpi/agree.c one step here. A member announces
 * itself before a collective, within one, or never. Whether its buffers are device memory is drawn for each collective. A
 * collective that does not go directly waits for all members, or for none: the MPI may do either. A member may be killed
 * between any two steps.
 *
 * Claimed:
 *   - Either all members take part directly in a collective, or none does.
 *   - What a member reads of another one was given for this collective; if they meet in between, after that what the other
 *     one has made of it.
 *   - Nobody waits for ever.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody might one day write
 * it: spin must object.
 *
 *   MEMBERS, ROUNDS   how many
 *   KILLED            member 1 is killed
 */
#ifndef MEMBERS
#define MEMBERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

#define OPEN   0
#define DIRECT 1
#define STAGED 2

typedef decisions {
	byte by[MEMBERS]
};

bit announced[MEMBERS];
byte number[MEMBERS]; /* of .answer: the last collective that was answered */
bit yes[MEMBERS];     /* of .answer; both are stored in one step */
byte through[MEMBERS]; /* .read */
byte met[MEMBERS];     /* .met */
byte given[MEMBERS];  /* the collective for which it was given */
byte entered[MEMBERS];
bit dead[MEMBERS];
bit killed_now;
decisions decided[ROUNDS + 1];

/* Stores .answer of what was counted until now, before others can see the page. */
inline announce()
{
	atomic {
#ifdef WRONG_NOTHING_ANSWERED
		number[i] = 0;
#else
		number[i] = n;
#endif
		yes[i] = 0;
		announced[i] = 1;
	}
}

inline decide(what)
{
	atomic {
		decided[n].by[i] = what;
		j = 0;
		do
		:: j < MEMBERS ->
			assert(decided[n].by[j] == OPEN || decided[n].by[j] == what);
			j++
		:: else -> break
		od
	}
}

/* settle() */
inline wait_until_read()
{
	j = 0;
	do
	:: j < MEMBERS && last_direct && !broken ->
		if
		:: j == i || through[j] >= last_direct -> j++
		:: j != i && dead[j] -> broken = 1
		fi
	:: else -> break
	od;
	last_direct = 0
}

/* says_yes() of all others */
inline hear()
{
	j = 0;
	do
#ifndef WRONG_LATER_IS_YES
	/* Any no will do. */
	:: is_yes && i != 0 && (number[0] > n || (number[0] == n && !yes[0])) -> is_yes = 0
#endif
	:: j < MEMBERS && is_yes ->
		if
		:: j == i -> j++
		:: j != i && number[j] >= n ->
#ifdef WRONG_LATER_IS_YES
			is_yes = number[j] > n || yes[j];
#else
			is_yes = number[j] == n && yes[j];
#endif
			j++
		:: j != i && number[j] < n && dead[j] ->
			broken = 1;
			is_yes = 0
		fi
	:: else -> break
	od
}

/* ww_mpi_round_can() */
inline find_pages()
{
	j = 0;
	do
	:: j < MEMBERS && is_yes ->
		is_yes = announced[j];
		j++
	:: else -> break
	od
}

/* The first half is done: each has combined its part; ww_mpi_round_meet() */
inline meet()
{
	met[i] = n;
	j = 0;
	do
	:: j < MEMBERS && !broken ->
		if
		:: j == i || met[j] >= n -> j++
		:: j != i && met[j] < n && dead[j] -> broken = 1
		fi
	:: else -> break
	od
}

inline take()
{
#ifdef WRONG_READ_FIRST
	through[i] = n;
#endif
	j = 0;
	do
	:: j < MEMBERS ->
		assert(given[j] == n);
		j++
	:: else -> break
	od;
	/* An error if a member has ended, else the second half. */
#ifndef WRONG_NOT_MET
	meet();
#endif
	j = 0;
	do
	:: j < MEMBERS && !broken ->
		assert(given[j] == n && met[j] == n);
		j++
	:: else -> break
	od;
	through[i] = n
}

inline collective()
{
	may_answer = announced[i];
	entered[i] = n;
	if
	:: !announced[i] -> announce()
	:: true -> skip
	fi;
	if
	:: true -> is_yes = 1
	:: true -> is_yes = 0
	fi;
#ifdef WRONG_ANSWERED_TWICE
	may_answer = announced[i];
#endif
	is_yes = is_yes && may_answer && !broken;
#ifndef WRONG_PAGES_UNSEEN
	find_pages();
#endif
	if
	:: may_answer ->
#ifdef WRONG_GIVEN_BEFORE_SETTLED
		given[i] = n;
#endif
#ifndef WRONG_NOT_SETTLED
		wait_until_read();
#endif
		is_yes = is_yes && !broken;
		if
		:: is_yes -> given[i] = n
		:: else -> skip
		fi;
		atomic {
			number[i] = n;
			yes[i] = is_yes
		};
#ifdef WRONG_PAGES_UNSEEN
		find_pages(); /* a member without a page counts as no */
#endif
		hear()
	:: else -> skip
	fi;
	if
	:: is_yes ->
		decide(DIRECT);
		last_direct = n;
		take()
	:: else ->
		decide(STAGED);
		/* The MPI may wait for the others. */
		j = 0;
		do
		:: j < MEMBERS && (entered[j] >= n || dead[j]) -> j++
		:: j < MEMBERS -> break
		:: j == MEMBERS -> break
		od
	fi
}

proctype member(byte i)
{
	byte n, j, last_direct;
	bit may_answer, is_yes, broken;

	{
		do
		:: n < ROUNDS ->
			if
			:: !announced[i] -> announce()
			:: true -> skip
			fi;
			n++;
			collective()
		:: else -> break
		od
	}
	unless {
		i == 1 && killed_now
	}
}

init {
	byte m;

	atomic {
		do
		:: m < MEMBERS ->
			run member(m);
			m++
		:: else -> break
		od
	}
#ifdef KILLED
	atomic {
		killed_now = 1;
		dead[1] = 1
	}
#endif
}
