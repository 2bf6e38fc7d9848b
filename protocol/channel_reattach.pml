/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_reattach.pml - a consumer that goes on with the next producer of its channel's name, for
 * the model checker spin
 *
 * Producer 1 makes a channel of the name; producer 2 replaces it, at any time. Producer 1 may be
 * killed between any two steps, close its channel, or live on without the name. The consumer goes on
 * by the steps of src/channel/reattach.c. How the two sides share one ring is in channel_ring.pml:
 * here a ring has one slot, what the producer decides about it is one step, and a wait is for what it
 * looks at.
 *
 * Claimed:
 *   - What the consumer reads is the frame, of the very producer, that it says it is. So no frame of
 *     the old ring is taken for one of the new one, and none is received twice.
 *   - It receives all that producer 1 published before its end, and all of producer 2.
 *   - A frame of producer 1 that it still holds is not written, also while it uses those of producer 2.
 *   - It does not wait for ever.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody
 * might one day write it: spin must object.
 *
 *   FRAMES   how many each producer publishes
 *   KEEPS    the consumer may keep a frame of producer 1 while it goes on
 */
#ifndef FRAMES
#define FRAMES 2
#endif
#define NOBODY 0
#define LAST   2           /* the last producer */

#define NAMED(producer, number) (10 * (producer) + (number))

typedef ring {             /* and the memory of its slot */
	byte published;
	byte content;      /* 0: half written */
	bit is_closed;
	bit is_lost        /* the broker, or the kernel, says that the producer has ended */
};
ring rings[LAST + 1];

typedef file {             /* the consumer's own, in each channel */
	bit has_joined;
	byte next;
	byte used;         /* number of the frame that it uses; 0: none */
	byte kept;         /* the same, of the one that it keeps */
	bit has_left
};
file marks[LAST + 1];

byte name;                 /* the producer whose channel has it */
bit is_done;               /* the consumer has all */

/* --- the producers --- */

#define HAS_ENDED(c) (rings[c].is_closed || rings[c].is_lost)

/* Frame n takes the place of the one before. */
#define IS_NEEDED(c, n) \
	(marks[c].has_joined && (n) != 0 && \
		((!marks[c].has_left && marks[c].next <= (n)) || marks[c].used == (n) || marks[c].kept == (n)))

proctype producer(byte me)
{
	byte number = 1;

	name = me; /* WW_PUT_REPLACE: one step */
	do
	:: number <= FRAMES ->
		if
		:: atomic { !IS_NEEDED(me, number - 1) -> rings[me].content = 0 }
		:: me != LAST -> goto dies
		:: me != LAST && is_done -> goto over /* what it waits for is released no more */
		fi;
		rings[me].content = NAMED(me, number);
		rings[me].published = number;
		number++
	:: number > FRAMES -> break
	:: me != LAST -> goto dies
	od;
	if
	:: rings[me].is_closed = 1
	:: me != LAST /* it lives on, and another channel has its name */
	fi;
	goto over;
dies:
	rings[me].is_lost = 1;
over:
	skip
}

/* --- the consumer --- */

#define IS_THERE(c, n) (rings[c].content == NAMED(c, n))

/* It begins with the frame that is there, if any. */
inline join(c)
{
	atomic {
		marks[c].has_joined = 1;
		marks[c].next = rings[c].published + (IS_THERE(c, rings[c].published) -> 0 : 1)
	}
}

/* Changes all that belongs to one producer. */
inline attach()
{
	fresh = name;
	join(fresh);
	marks[at].has_left = 1; /* it needs no more frames; what it keeps stays marked */
#ifdef WRONG_FORMER_FORGOTTEN
	marks[at].kept = 0;
#endif
	at = fresh;
	generation++;
#ifndef WRONG_SLOTS_STAY
	slots = fresh;
#endif
#ifndef WRONG_NEXT_STAYS
	next = marks[fresh].next;
#endif
	fresh = 0
}

/* Of producer 1, at any time until all is done. */
inline may_release_kept()
{
	if
	:: kept != 0 ->
		assert(rings[kept_from].content == NAMED(kept_from, kept));
#ifdef WRONG_RELEASED_BY_NUMBER
		if
		:: marks[at].used == kept -> marks[at].used = 0
		:: else -> marks[kept_from].kept = 0
		fi;
#else
		marks[kept_from].kept = 0;
#endif
		kept = 0
	:: skip
	fi
}

inline use_frame()
{
	marks[at].used = next;
	next++;
	marks[at].next = next;
	assert(rings[slots].content == NAMED(generation, next - 1));
#ifdef KEEPS
	if
	:: at != LAST && kept == 0 ->
		kept = next - 1;
		kept_from = at;
		marks[at].kept = kept
	:: may_release_kept()
	fi;
	assert(rings[slots].content == NAMED(generation, next - 1)); /* and still */
#endif
	marks[at].used = 0
}

active proctype consumer()
{
	byte at, slots, next, fresh, seen, kept, kept_from, generation = 1;
	bit is_over;

	(name != NOBODY);
	at = name;
	slots = at;
	generation = at; /* if producer 2 came first, producer 1's was never seen */
	join(at);
	next = marks[at].next;
	do
	:: true ->
#ifdef WRONG_END_AFTER_LOOK
		seen = rings[at].published;
		is_over = HAS_ENDED(at);
#else
		is_over = HAS_ENDED(at);
		seen = rings[at].published;
#endif
		if
		:: seen >= next -> use_frame()
		:: seen < next && at == LAST && is_over -> break
		:: seen < next && at != LAST && (is_over || name != at) ->
			assert(!is_over || next == rings[at].published + 1);
#ifndef WRONG_SAME_CHANNEL_TAKEN
			(name != at);
#endif
			attach()
		:: else ->
			(rings[at].published >= next || HAS_ENDED(at) || (at != LAST && name != at))
		fi
	od;
	assert(next == FRAMES + 1);
	do
	:: kept != 0 -> may_release_kept()
	:: else -> break
	od;
	is_done = 1
}

init
{
	run producer(1);
	(name == 1);
	run producer(LAST)
}
