/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_marks.pml - one slot of a pool, for the model checker spin; scripts/check-model runs it
 *
 * The steps are those of the pool's owner, of the processes that take slices, and of the broker: one load or one store of
 * shared memory each, in the same order. Between any two of them anybody else may do anything, and after each a
 * taker or the owner may be killed. Who takes part:
 *
 *   owner    has a slice in the slot, under a number that was never used before. It lets go of it whenever it likes. If
 *            the broker has counted new members it asks for them; then it waits until no member marks the number. Then it
 *            clears the number, and looks again whether all members are known and none marks it. If so it hands the
 *            slot out under the next number: what the slot says first, the number last. Else it stores the
 *            former number again, so that a process that uses the slice can hand it on, and begins anew
 *   takers   have tokens of any number that was ever handed out, old ones too. A taker stores its mark, then looks
 *            whether the slot still has that number: if so the slice is its own, and it reads what the slot says;
 *            else, or when it needs the slice no more, it clears its mark. One is a member from the beginning; the other
 *            one, or with BOTH_JOIN both, join before the first token. What a killed taker enqueued on its GPU may go on
 *            until its pidfd fires
 *   broker   a put: makes the member's marks findable, counts it on the owner's page, answers. It may be killed in
 *            between; then the put is repeated. The end of a connection, be its process dead or not: the page says
 *            lost. The end of a process: the page says ended, and then its marks are found no more (in truth they
 *            are for a time, so that the owner learns how much the process took; here they may go at once)
 *
 * What is checked:
 *   (a) a slot is never handed out anew while a taker, be it alive or its GPU still at work, has taken it;
 *   (b) a process that has taken a slice finds in the slot that very number or none, and what the slot said of that slice;
 *   (c) nobody waits for ever for anybody who has ended: the owner's wait for marks is one for a change of them, so one
 *       without end shows as a state in which nothing can happen, which spin reports as an invalid end state.
 *
 * Memory is that of a machine which does one step after the other: what the pool does with numbers, marks and members
 * is in one order with all others (seq_cst). A second slot would bring nothing new: each has its own number and marks,
 * and what is common, the members, are only ever more.
 *
 * With one of the WRONG_... below defined a step is done as somebody might one day write it: spin must object.
 */

#ifndef NUMBERS
#define NUMBERS 3 /* of slices, one after the other in this slot */
#endif
#ifndef TRIES
#define TRIES 1 /* how many tokens a taker gets */
#endif
#ifndef RESTARTS
#define RESTARTS 1 /* of the broker */
#endif

#define TAKERS 2

/* the owner's table */
byte number = 1;
byte says = 1; /* where the slice lies: of which number that is */

/* the owner's page */
byte members;

/* of each taker: its marks, its page, and whether the broker gives these to the owner */
byte mark[TAKERS];
bit lost[TAKERS], ended[TAKERS], findable[TAKERS];

/* what is so, whether or not anybody can see it */
byte issued = 1;    /* the highest number that there are tokens of */
byte taken[TAKERS]; /* the number of the slice that it, or its GPU, uses */
bit killed[TAKERS];
bit quiet[TAKERS]; /* the pidfd fires: nothing of it can come */
bit asked[TAKERS], answered[TAKERS];
byte restarts;

/* A step after which its process may be gone. */
#define TAKER(step)  atomic { step; if :: true :: killed[me] = 1; goto dead fi }
#define OWNER(step)  atomic { step; if :: true :: goto dead fi }
#define BROKER(step) atomic { step; if :: true :: restarts < RESTARTS -> restarts++; goto begin fi }

/* --- a taker --- */

/* Goes on when the broker has answered, or never will. */
inline join()
{
	TAKER(asked[me] = 1);
	if
	:: answered[me]
	:: lost[me] && !answered[me] -> goto stays
	fi;
	is_member = 1
}

inline let_go()
{
	TAKER(mark[me] = 0)
}

inline use()
{
	TAKER(assert(number == token || number == 0));
	TAKER(assert(place == token))
}

inline take()
{
#ifdef WRONG_MARK_AFTER_LOOK
	atomic { TAKER(is_mine = (number == token)); taken[me] = (is_mine -> token : 0) };
	TAKER(mark[me] = token);
#else
	TAKER(mark[me] = token);
	TAKER(is_mine = (number == token); taken[me] = (is_mine -> token : 0));
#endif
	if
	:: is_mine ->
		TAKER(place = says);
		use();
#ifdef WRONG_LET_GO_BEFORE_END
		let_go();
		TAKER(taken[me] = 0)
#else
		TAKER(taken[me] = 0);
		let_go()
#endif
	:: !is_mine -> let_go()
	fi;
	atomic { place = 0; token = 0; is_mine = 0 }
}

proctype taker(byte me)
{
	byte token, place, tries;
	bit is_member = answered[me], is_mine;

	do
	:: atomic { tries < TRIES -> tries++; select(token : 1 .. issued) };
		if
		:: is_member
		:: !is_member -> join()
		fi;
		take()
	:: goto stays
	od;
dead:
	atomic { taken[me] = 0; quiet[me] = 1 };
stays:
	skip
}

/* --- the owner --- */

inline learn()
{
	atomic {
		known[0] = known[0] || findable[0];
		known[1] = known[1] || findable[1]
	}
}

inline meet_members()
{
	OWNER(count = members);
	if
	:: count != seen ->
		learn();
#ifdef WRONG_COUNTED_AGAIN
		OWNER(count = members);
#endif
		seen = count
	:: count == seen
	fi
}

#ifdef WRONG_VOID_WHEN_LOST
#define IS_VOID(i) (ended[i] || lost[i])
#else
#define IS_VOID(i) ended[i]
#endif

#define IS_FREE(i) (!known[i] || mark[i] != number_before || IS_VOID(i))

/* Waits; then looks once more, with the number cleared: a mark that is gone by then does not come again. */
inline wait_for_marks()
{
	OWNER(IS_FREE(0));
	OWNER(IS_FREE(1))
}

inline must_know_all()
{
	OWNER(count = members);
	if
	:: count != seen -> goto reopen
	:: count == seen
	fi
}

inline must_be_unmarked()
{
	OWNER(is_marked = !IS_FREE(0));
	if
	:: is_marked -> goto reopen
	:: !is_marked -> OWNER(is_marked = !IS_FREE(1))
	fi;
	if
	:: is_marked -> goto reopen
	:: !is_marked
	fi
}

inline hand_out()
{
	atomic {
		assert(taken[0] == 0 && taken[1] == 0);
		number_before++;
		count = 0
	};
#if defined(WRONG_NUMBER_FIRST)
	OWNER(number = number_before);
	issued = number_before;
	OWNER(says = number_before)
#elif defined(WRONG_NUMBER_TWICE)
	OWNER(says = number_before);
	OWNER(number = 1)
#else
	OWNER(says = number_before);
	OWNER(number = number_before; issued = number_before)
#endif
}

active proctype owner()
{
	byte number_before = 1, count, seen;
	bit known[TAKERS], is_marked;

	do
	:: number_before < NUMBERS ->
again:
#ifndef WRONG_MEMBERS_IGNORED
		meet_members();
#endif
		wait_for_marks();
		OWNER(number = 0);
#if !defined(WRONG_MEMBERS_IGNORED) && !defined(WRONG_MEMBERS_FIRST)
		must_know_all();
#endif
#ifndef WRONG_MARKS_FIRST
		must_be_unmarked();
#endif
		hand_out()
	:: goto dead
	od;
reopen:
	is_marked = 0;
	OWNER(number = number_before);
	goto again;
dead:
	skip
}

/* --- the broker --- */

/* A taker's put; again, if it is not answered: then it may be found done. */
proctype broker_puts(byte whose)
{
end_asked:
	asked[whose];
begin:
	if
	:: lost[whose] -> goto done
	:: !lost[whose] && killed[whose] && restarts > 0 -> goto done /* nobody repeats it */
	:: !lost[whose]
	fi;
	if
#if defined(WRONG_COUNTED_BEFORE_FOUND)
	:: !findable[whose] ->
		BROKER(members++);
		BROKER(findable[whose] = 1)
	:: findable[whose] -> BROKER(members++)
#elif defined(WRONG_ANSWERED_BEFORE_COUNT)
	:: !findable[whose] ->
		BROKER(findable[whose] = 1);
		answered[whose] = 1;
		BROKER(members++)
	:: findable[whose] -> BROKER(members++)
#elif defined(WRONG_REPEATED_UNCOUNTED)
	:: !findable[whose] ->
		BROKER(findable[whose] = 1);
		BROKER(members++)
	:: findable[whose]
#else
	:: !findable[whose] ->
		BROKER(findable[whose] = 1);
		BROKER(members++)
	:: findable[whose] -> BROKER(members++)
#endif
	fi;
	answered[whose] = 1;
done:
	skip
}

/* What becomes of a taker's page and marks. */
proctype broker_ends(byte whose)
{
	if
	:: skip ->
end_connected:
		killed[whose]
	:: skip /* the connection ends now, though its process lives */
	fi;
	lost[whose] = 1;
#ifdef WRONG_GONE_WHEN_LOST
	findable[whose] = 0;
#endif
#ifdef WRONG_END_UNTOLD
	if
	:: !killed[whose] -> goto untold /* it is forgotten meanwhile */
	:: killed[whose]
	fi;
#endif
end_lost:
	quiet[whose];
	ended[whose] = 1;
untold:
	findable[whose] = 0
}

init
{
	atomic {
#ifdef BOTH_JOIN
		run broker_puts(0);
#else
		findable[0] = 1;
		answered[0] = 1;
		members = 1;
#endif
		run broker_puts(1);
		run broker_ends(0);
		run broker_ends(1);
		run taker(0);
		run taker(1)
	}
}
