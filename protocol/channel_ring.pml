/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_ring.pml - the ring of a channel and the marks of its consumers, for the model checker
 * spin
 *
 * One producer and two consumers, each step of src/channel/ring.c one step here, by the same names.
 * All loads and stores whose order matters are seq_cst there, so here each is one statement of one
 * interleaving. That the broker counts a newcomer before it answers is modelled in pool_marks.pml;
 * here it is one step. A process may be killed between any two steps; its marks count until the
 * kernel has reported the end.
 *
 * Claimed:
 *   - What a consumer reads is the frame that it took, and nobody writes there meanwhile.
 *   - With policy block no frame is lost or doubled for a consumer that has begun.
 *   - With a policy that drops, frames come in order, none twice, and the newest is always there.
 *   - Nobody sleeps for ever: a consumer receives the last frame, a producer gets a slot.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody
 * might one day write it: spin must object.
 *
 *   SLOTS, FRAMES   how many
 *   DROPS           a policy that drops; without it, block
 *   ONE_CONSUMER    only the one that may be killed
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef FRAMES
#define FRAMES 3
#endif
#define CONSUMERS 2
#define NEVER     255

byte frame[SLOTS];         /* of each slot: the number stored there */
byte content[SLOTS];       /* what is written there; 0: half written */
byte place[FRAMES + 1];    /* of a frame: its slot */
byte published;
byte ring_wakes;
bit producer_asleep;

typedef file {             /* a consumer's own */
	byte mark[SLOTS];
	byte next;
	byte wakes;
	bit is_asleep
};
file marks[CONSUMERS];

byte members;              /* as the broker counts */
bit findable[CONSUMERS];
bit killed[CONSUMERS];
bit ended[CONSUMERS];      /* the kernel has reported it */

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

inline use_of(i)
{
	if
	:: !known[i] || IS_VOID(i)
	:: else ->
		if
		:: IS_OWED(i, frame_before) -> user = i
		:: else ->
			if
			:: marks[i].mark[slot] == frame_before -> user = i
			:: else
			fi
		fi
	fi
}

inline find_user()
{
	user = NEVER;
	use_of(0);
	if
	:: user == NEVER -> use_of(1)
	:: else
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
	fi
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
		:: else
		fi
	fi
}

inline acquire()
{
	skip;
again:
	slot = 0;
	do
	:: slot < SLOTS && held_frame[slot] == 0 -> break
	:: slot < SLOTS && held_frame[slot] != 0 && held_frame[slot] != published ->
		take_back();
		if
		:: user == NEVER -> break
		:: else -> slot++
		fi
	:: slot < SLOTS && held_frame[slot] == published && held_frame[slot] != 0 ->
#ifdef DROPS
		slot++
#else
		take_back();
		if
		:: user == NEVER -> break
		:: else -> slot++
		fi
#endif
	:: slot == SLOTS ->
#ifndef DROPS
		slot = SLOTS - 1;
		frame_before = frame[slot];
		find_user();
		if
		:: user != NEVER -> await_release()
		:: else
		fi;
#endif
		goto again /* where frames are dropped, consumers have changed their marks meanwhile */
	od;
	held_frame[slot] = 0
}

inline publish()
{
#ifdef WRONG_PUBLISHED_FIRST
	published = number;
	frame[slot] = number;
	place[number] = slot;
#else
	frame[slot] = number;
	place[number] = slot;
	published = number;
#endif
	held_frame[slot] = number;
	meet();
	if
	:: (known[0] && marks[0].is_asleep) || (known[1] && marks[1].is_asleep) -> ring_wakes++
	:: else
	fi
}

active proctype producer()
{
	byte held_frame[SLOTS];    /* what it knows to be in each slot */
	bit known[CONSUMERS];
	byte number = 1, slot, user = NEVER, me, frame_before, count, seen, wakes_before;

	do
	:: number <= FRAMES ->
		acquire();
		content[slot] = 0;
		content[slot] = number;
		publish();
		number++
	:: else -> break
	od
}

/* --- a consumer --- */

inline tell_producer()
{
	if
	:: producer_asleep -> marks[me].wakes++
	:: else
	fi
}

inline begin()
{
	wanted = published + 1 - (published > 0 -> 1 : 0);
	do
	:: marks[me].next = wanted;
#ifdef WRONG_BEGIN_UNCHECKED
		break
#else
		if
		:: wanted > published -> break
		:: else
		fi;
		slot = place[wanted];
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
	:: published < wanted ->
		marks[me].is_asleep = 1;
#else
	marks[me].is_asleep = 1;
	wakes_before = ring_wakes;
	if
	:: published < wanted ->
#endif
		ring_wakes != wakes_before
	:: else
	fi;
	marks[me].is_asleep = 0
}

inline take()
{
	slot = place[wanted];
#ifdef WRONG_MARK_AFTER_LOOK
	is_there = (frame[slot] == wanted);
	marks[me].mark[slot] = wanted;
#else
	marks[me].mark[slot] = wanted;
	is_there = (frame[slot] == wanted);
#endif
	if
	:: is_there ->
#ifndef WRONG_NEXT_NEVER_STORED
		marks[me].next = wanted + 1
#endif
	:: else -> marks[me].mark[slot] = 0
	fi
}

inline release()
{
	marks[me].mark[slot] = 0;
#ifndef WRONG_RELEASE_UNTOLD
	tell_producer()
#endif
}

proctype consumer(byte me)
{
	byte wanted, slot, wakes_before;
	bit is_there;

	atomic { findable[me] = 1; members++ };
	begin();
	do
	:: wanted <= FRAMES ->
		do
		:: published >= wanted -> break
		:: else -> await_frame()
		od;
		take();
		if
		:: is_there ->
			assert(content[slot] == wanted);
			assert(content[slot] == wanted); /* and still */
#ifdef WRONG_RELEASE_BEFORE_USE
			release();
			assert(content[slot] == wanted)
#else
			release()
#endif
#ifdef DROPS
		:: else
		fi;
		wanted++
#else
		:: else ->
			frame[place[wanted]] == wanted; /* the producer opens the slot again */
			goto missing
		fi;
		wanted++;
missing:
		skip
#endif
	:: wanted > FRAMES -> goto leaves
	:: me == 1 -> goto dies
	od;
leaves:
	assert(is_there); /* the newest frame was there, whatever was dropped before */
	marks[me].next = NEVER;
	tell_producer();
	goto over;
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
