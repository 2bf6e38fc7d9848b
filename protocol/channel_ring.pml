/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_ring.pml - the ring of a channel and the marks of its consumers, for the model checker
 * spin
 *
 * One producer and two consumers, each step of src/channel/ring.c one step here, by the same names.
 * All loads and stores whose order matters are in one order there: they are seq_cst, or a seq_cst
 * fence stands between them and what follows. So here each is one statement of one interleaving; a
 * fence that is missing there is not found here. That the broker counts a newcomer before it answers is modelled in pool_marks.pml;
 * here it is one step. A process may be killed between any two steps; its marks count until the
 * kernel has reported the end.
 *
 * Claimed:
 *   - What a consumer reads is the frame that it took, and nobody writes there meanwhile, evicted or
 *     not.
 *   - With policy block no frame is lost or doubled for a consumer that has begun.
 *   - With a policy that drops, frames come in order, none twice, and the newest is always there.
 *   - Nobody sleeps for ever: a consumer receives the last frame or learns that it was evicted, a
 *     producer gets a slot.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody
 * might one day write it: spin must object.
 *
 *   SLOTS, FRAMES   how many
 *   DROPS           a policy that drops; without it, block
 *   ONE_CONSUMER    only the one that may be killed
 *   EVICTS          that one may be evicted, once, when the producer looks for a slot
 *   LATE            the other one comes when all slots have frames; none is killed
 *   HELD            frames that it may hold, 1 or 2; of two it releases the later one first
 *   MORE            with policy block: several slots are taken back at once, also after a publish
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef FRAMES
#define FRAMES 3
#endif
#ifndef HELD
#define HELD 1
#endif
#define HISTORY   2
#define CONSUMERS 2
#define NEVER     255

byte frame[SLOTS];         /* of each slot: the number stored there */
byte content[SLOTS];       /* what is written there; 0: half written */
byte place[FRAMES + 1];    /* of a frame: its slot */
byte newest, newest_slot;  /* one word: the place of the newest frame */
byte published;
byte ring_wakes;
bit producer_asleep;

typedef file {             /* a consumer's own */
	byte mark[HELD];
	byte next;
	byte wakes;
	bit is_asleep
};
file marks[CONSUMERS];

byte members;              /* as the broker counts */
bit findable[CONSUMERS];
bit killed[CONSUMERS];
bit ended[CONSUMERS];      /* the kernel has reported it */
bit evicted;               /* consumer 1, by what the ring says */

/* --- the producer --- */

#ifdef DROPS
#define IS_OWED(i, n) 0
#else
#define IS_OWED(i, n) (marks[i].next != 0 && marks[i].next <= n)
#endif

#ifdef WRONG_VOID_WHEN_KILLED
#define IS_VOID(i) (ended[i] || killed[i])
#else
#define IS_VOID(i) ended[i]
#endif

/* A frame is in one mark until it is released, so it does not matter that both are one look. */
#if HELD == 2
#define HAS_MARKED(i, n) (marks[i].mark[0] == n || marks[i].mark[1] == n)
#else
#define HAS_MARKED(i, n) (marks[i].mark[0] == n)
#endif

#define IS_EVICTED(i) (i == 1 && has_evicted)

#ifdef WRONG_EVICTED_MARKS_VOID
#define MARKS_COUNT(i, n) (!IS_EVICTED(i))
#else
#define MARKS_COUNT(i, n) (!IS_EVICTED(i) || n <= evicted_at)
#endif

inline use_of(i)
{
	if
	:: !known[i] || IS_VOID(i)
	:: else ->
		if
		:: !IS_EVICTED(i) && IS_OWED(i, frame_before) -> user = i
		:: else ->
			if
			:: HAS_MARKED(i, frame_before) && MARKS_COUNT(i, frame_before) ->
				if
				:: IS_EVICTED(i) -> is_withheld = 1
				:: else -> user = i
				fi
			:: else
			fi
		fi
	fi
}

inline find_user()
{
	user = NEVER;
	is_withheld = 0;
	use_of(0);
	if
	:: user == NEVER -> use_of(1)
	:: else
	fi
}

/* What the producer's program, its patience, or a request that it meets may do. */
inline may_evict()
{
	if
	:: known[1] && !has_evicted ->
		evicted = 1;
		has_evicted = 1;
		evicted_at = published;
		ring_wakes++
	:: skip
	fi
}

inline meet()
{
	count = members;
	if
	:: count != seen ->
		atomic { known[0] = known[0] || findable[0]; known[1] = known[1] || findable[1] };
		seen = count
	:: else
	fi;
#ifdef EVICTS
	may_evict()
#endif
}

/* With policy block: the producer sleeps until the user has released it. */
inline await_release()
{
#ifdef WRONG_SLEEP_UNANNOUNCED
	wakes_before = marks[user].wakes;
	me = user;
	find_user();
	producer_asleep = 1;
#else
	producer_asleep = 1;
	wakes_before = marks[user].wakes;
	me = user;
	find_user();
#endif
	if
	:: user == me ->
		(marks[me].wakes != wakes_before || ended[me])
	:: else
	fi;
	producer_asleep = 0
}

inline take_back()
{
	frame_before = frame[slot];
	find_user();
	if
	:: user != NEVER -> skip
	:: else ->
		frame[slot] = 0;
#ifndef WRONG_MEMBERS_IGNORED
		meet();
#endif
#ifndef WRONG_MARKS_BEFORE_CLOSE
		find_user();
#endif
		if
		:: user != NEVER -> frame[slot] = frame_before
		:: user == NEVER && is_withheld ->
			withheld[slot] = frame_before;
#ifdef WRONG_WITHHELD_STAYS_OPEN
			frame[slot] = frame_before;
#endif
			held_frame[slot] = NEVER
		:: else
		fi
	fi
}

#define IS_LET_GO(s) (ended[1] || !HAS_MARKED(1, withheld[s]))

/* Slots that the evicted consumer has released are free. */
inline reclaim_withheld()
{
	slot = 0;
	do
	:: slot < SLOTS ->
		if
		:: held_frame[slot] == NEVER && IS_LET_GO(slot) -> held_frame[slot] = 0; frame[slot] = 0
		:: else
		fi;
		slot++
	:: slot == SLOTS -> break
	od
}

/* The slot of the oldest frame; NEVER: there is none. */
inline find_oldest()
{
	d_step {
		slot = 0;
		oldest = NEVER;
		do
		:: slot < SLOTS ->
			if
			:: held_frame[slot] != NEVER && (oldest == NEVER || held_frame[slot] < held_frame[oldest]) ->
				oldest = slot
			:: else
			fi;
			slot++
		:: slot == SLOTS -> break
		od;
		slot = oldest;
		oldest = 0
	}
}

/* Frames that are not the newest, in any order that drops them. */
inline take_one_that_drops()
{
	slot = 0;
	do
	:: slot < SLOTS && held_frame[slot] == 0 -> goto found
	:: slot < SLOTS && held_frame[slot] != 0 && held_frame[slot] != NEVER && held_frame[slot] != published ->
		take_back();
		if
		:: user == NEVER && !is_withheld -> goto found
		:: else -> slot++
		fi
	:: slot < SLOTS && (held_frame[slot] == NEVER || (held_frame[slot] == published && published != 0)) ->
		slot++
	:: slot == SLOTS -> goto again /* consumers have changed their marks meanwhile */
	od
}

/* Frames in their order: one that must wait keeps all later ones. */
inline take_oldest()
{
	do
	:: find_oldest();
		if
		:: slot == NEVER ->
			slot = 0;
			(IS_LET_GO(0) || (SLOTS == 2 && IS_LET_GO(SLOTS - 1)));
			goto again
		:: slot != NEVER && held_frame[slot] == 0 -> goto found
		:: else ->
			take_back();
			if
			:: user == NEVER && !is_withheld -> goto found
			:: user == NEVER && is_withheld -> skip
			:: else ->
#ifdef WRONG_TAKEN_OUT_OF_ORDER
				slot = (slot + 1) % SLOTS;
				if
				:: held_frame[slot] != NEVER ->
					take_back();
					if
					:: user == NEVER && !is_withheld -> goto found
					:: else
					fi
				:: else
				fi;
				find_oldest();
				if
				:: slot == NEVER -> goto again
				:: else
				fi;
				frame_before = frame[slot];
				find_user();
#endif
				if
				:: user != NEVER -> await_release()
				:: else
				fi;
				goto again
			fi
		fi
	od
}

/* The oldest frame after one that was closed; never the newest. */
inline find_next()
{
	d_step {
		more = 0;
		oldest = NEVER;
		do
		:: more < SLOTS ->
			if
			:: held_frame[more] != NEVER && held_frame[more] > last && held_frame[more] != published && (oldest == NEVER || held_frame[more] < held_frame[oldest]) ->
				oldest = more
			:: else
			fi;
			more++
		:: more == SLOTS -> break
		od;
		more = oldest;
		oldest = 0
	}
}

/* Slots that are taken back at once: all are closed before one is decided on. */
inline take_more()
{
	last = 0;
	do
	:: find_next();
		if
		:: more == NEVER -> break
		:: else -> last = held_frame[more]; frame[more] = 0
		fi
	:: break /* a consumer has not received it yet, as far as one look can tell */
	od;
	closed = last;
	meet();
	last = 0;
	is_stopped = 0;
	do
	:: last < closed ->
		find_next();
		frame_before = held_frame[more];
		last = frame_before;
		if
		:: !is_stopped ->
#ifdef WRONG_MORE_UNCHECKED
			user = NEVER;
			is_withheld = 0;
#else
			find_user();
#endif
			is_stopped = (user != NEVER);
			if
			:: is_stopped -> frame[more] = frame_before
			:: !is_stopped && is_withheld ->
				withheld[more] = frame_before;
				held_frame[more] = NEVER;
				is_stopped = 1
			:: else -> held_frame[more] = 0
			fi
		:: else -> frame[more] = frame_before
		fi
	:: else -> break
	od;
	more = 0;
	last = 0;
	closed = 0;
	is_stopped = 0
}

/* If no slot is free: what the next acquire would begin with. */
inline take_back_early()
{
	find_oldest();
	if
	:: slot == NEVER -> skip
	:: slot != NEVER && (held_frame[slot] == 0 || held_frame[slot] == published) -> skip
	:: else ->
		take_back();
		if
		:: user == NEVER && !is_withheld -> held_frame[slot] = 0; take_more()
		:: else
		fi
	fi
}

inline acquire()
{
	skip;
again:
#ifdef EVICTS
	may_evict();
	reclaim_withheld();
#endif
#ifdef DROPS
	take_one_that_drops();
#else
	take_oldest();
#endif
found:
#ifdef MORE
	if
	:: held_frame[slot] != 0 -> held_frame[slot] = 0; take_more()
	:: else
	fi;
#endif
	held_frame[slot] = 0
}

inline publish()
{
#ifdef WRONG_PUBLISHED_FIRST
	published = number;
	frame[slot] = number;
	atomic { newest = number; newest_slot = slot };
#else
	frame[slot] = number;
	atomic { newest = number; newest_slot = slot };
	published = number;
#endif
	place[number] = slot;
	held_frame[slot] = number;
	meet();
	if
	:: (known[0] && marks[0].is_asleep) || (known[1] && marks[1].is_asleep) -> ring_wakes++
	:: else
	fi
}

/* What is not used any more would only make more states. */
inline forget()
{
	d_step {
		slot = 0; user = NEVER; me = 0; frame_before = 0; count = 0; wakes_before = 0; oldest = 0;
		is_withheld = 0
	}
}

active proctype producer()
{
	byte held_frame[SLOTS];    /* what it knows to be in each slot; NEVER: it is withheld */
	byte withheld[SLOTS];      /* and what was there */
	bit known[CONSUMERS];
	bit is_withheld, has_evicted;
#ifdef MORE
	byte more, last, closed;
	bit is_stopped;
#endif
	byte number = 1, slot, user = NEVER, me, frame_before, count, seen, wakes_before, oldest, evicted_at;

	do
	:: number <= FRAMES ->
		acquire();
		content[slot] = 0;
		content[slot] = number;
		publish();
#ifdef MORE
		take_back_early();
#endif
		forget();
		number++
	:: else -> break
	od
}

/* --- a consumer --- */

#define IS_GIVEN_UP (me == 1 && evicted)

inline tell_producer()
{
	if
	:: producer_asleep -> marks[me].wakes++
	:: else
	fi
}

/* Where a frame is. */
inline find()
{
	if
	:: newest == wanted -> slot = newest_slot
	:: else -> slot = place[wanted]
	fi
}

inline begin()
{
	wanted = published;
	wanted = wanted + 1 - (wanted < HISTORY -> wanted : HISTORY);
	do
	:: marks[me].next = wanted;
#ifdef WRONG_BEGIN_UNCHECKED
		break
#else
		if
		:: wanted > published -> break
		:: else
		fi;
		find();
		if
		:: frame[slot] == wanted -> break
		:: else -> wanted++
		fi
#endif
	od;
	tell_producer() /* an earlier value of next may have kept it waiting */
}

inline await_frame()
{
#ifdef WRONG_SLEEP_AFTER_LOOK
	wakes_before = ring_wakes;
	if
	:: published < wanted && !IS_GIVEN_UP ->
		marks[me].is_asleep = 1;
#else
	marks[me].is_asleep = 1;
	wakes_before = ring_wakes;
	if
	:: published < wanted && !IS_GIVEN_UP ->
#endif
		ring_wakes != wakes_before
	:: else
	fi;
	marks[me].is_asleep = 0;
	wakes_before = 0
}

#if SLOTS == 1
#define IS_IN_A_SLOT(n) (frame[0] == n)
#elif SLOTS == 2
#define IS_IN_A_SLOT(n) (frame[0] == n || frame[1] == n)
#else
#define IS_IN_A_SLOT(n) (frame[0] == n || frame[1] == n || frame[2] == n)
#endif

/* The next frame may be in the slot where it is expected, whether it counts as published or not. */
inline look_where_expected()
{
	if
	:: frame[0] == wanted -> expected = 0
#if SLOTS > 1
	:: frame[1] == wanted -> expected = 1
#endif
#if SLOTS > 2
	:: frame[2] == wanted -> expected = 2
#endif
	:: expected = NEVER /* it is expected elsewhere */
	fi
}

inline take()
{
	if
	:: expected != NEVER -> slot = expected
	:: else -> find()
	fi;
	expected = NEVER;
#ifdef WRONG_MARK_AFTER_LOOK
	is_there = (frame[slot] == wanted);
	marks[me].mark[mark] = wanted;
#else
	marks[me].mark[mark] = wanted;
	is_there = (frame[slot] == wanted);
#endif
#ifndef WRONG_EVICTION_NOT_LOOKED
	is_evicted = IS_GIVEN_UP;
#endif
	if
	:: is_there && !is_evicted ->
#ifndef WRONG_NEXT_NEVER_STORED
		marks[me].next = wanted + 1
#endif
	:: else ->
		is_there = 0;
		marks[me].mark[mark] = 0;
		tell_producer()
	fi
}

inline release()
{
	marks[me].mark[mark] = 0;
#ifndef WRONG_RELEASE_UNTOLD
	tell_producer()
#endif
}

/* The later frame was released; now the one that was kept. */
inline release_kept()
{
#if HELD == 2
	if
	:: kept != 0 ->
		assert(content[kept_slot] == kept);
		kept = 0;
		mark = 0;
		release()
	:: else
	fi
#else
	skip
#endif
}

proctype consumer(byte me)
{
	byte wanted, slot, wakes_before, mark, expected = NEVER;
	bit is_there, is_evicted;
#if HELD == 2
	byte kept, kept_slot;
#endif

#ifdef LATE
	(me == 1 || published >= SLOTS);
#endif
	atomic { findable[me] = 1; members++ };
	begin();
	do
	:: wanted <= FRAMES ->
		look_where_expected();
		do
		:: expected != NEVER || published >= wanted || IS_GIVEN_UP -> break
		:: else -> await_frame()
		od;
		if
		:: expected == NEVER && published < wanted -> goto leaves_evicted
		:: else
		fi;
		take();
		if
		:: is_there ->
			assert(content[slot] == wanted);
#if HELD == 2
			if
			:: me == 1 && kept == 0 && wanted < FRAMES ->
				kept = wanted;
				kept_slot = slot;
				mark = 1;
				wanted++;
				goto missing
			:: skip
			fi;
#endif
			assert(content[slot] == wanted); /* and still */
#ifdef WRONG_RELEASE_BEFORE_USE
			release();
			assert(content[slot] == wanted);
#else
			release();
#endif
			release_kept();
			slot = 0
		:: !is_there && is_evicted -> goto leaves_evicted
#ifdef DROPS
		:: else
		fi;
		wanted++
#else
		:: else ->
			/* The producer opens the slot again, or has evicted this consumer. */
			IS_IN_A_SLOT(wanted) || IS_GIVEN_UP;
			goto missing
		fi;
		wanted++;
#endif
missing:
		skip
	:: wanted > FRAMES -> goto leaves
#ifndef LATE
	:: me == 1 -> goto dies
#endif
	od;
leaves_evicted:
	release_kept();
	goto gone;
leaves:
	assert(is_there); /* the newest frame was there, whatever was dropped before */
gone:
	marks[me].next = NEVER;
	tell_producer();
	goto over;
#ifndef LATE
dies:
	/* Killed with a frame taken, perhaps: its GPU reads on until the kernel reports the end. */
	if
	:: wanted <= published ->
		take();
		killed[me] = 1;
		if
		:: is_there -> assert(content[slot] == wanted)
		:: else
		fi
	:: else -> killed[me] = 1
	fi;
	ended[me] = 1;
#endif
over:
	skip
}

init
{
	atomic {
#ifndef ONE_CONSUMER
		run consumer(0);
#endif
		run consumer(1)
	}
}
