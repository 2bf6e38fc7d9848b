/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.pml - the claims of a work queue, for the model checker spin
 *
 * One producer and two consumers, each step of src/queue/shared.h one step here, by the same names.
 * All loads and stores whose order matters are seq_cst there, so here each is one statement of one
 * interleaving; a claim is one word, so looking at one and changing it are one step each. Consumer 1
 * may be killed between any two steps; its claims count until the kernel has reported the end. Then
 * another consumer takes over its entry, and so its number.
 *
 * Claimed:
 *   - What a consumer reads is the frame that it claimed, and nobody writes there meanwhile.
 *   - No two consumers have a frame at one time, and one that is given out again was given back.
 *   - Frames are given out for the first time in the order in which they were published.
 *   - Each frame is done, because a consumer acknowledged it, or has failed after ATTEMPTS.
 *   - Nobody sleeps for ever: the producer gets its slots, and all frames are settled.
 *   - With CLOSES, the queue is closed at any time, and the producer stays. Each consumer learns that
 *     no frame comes any more, and then none is published, available or claimed.
 *
 * What a member does only because it looks every 50 ms stands in the guards of its sleep, as what
 * wakes it: that a consumer has ended, or that a stream has done the work. With CLOSES the producer
 * is not killed. Failed frames are read by nobody here.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody
 * might one day write it: spin must object.
 *
 *   SLOTS, FRAMES, ATTEMPTS   how many
 *   LIVES                     how many processes have number 1, one after the other; all but the
 *                             last are killed
 *   CLOSES                    see above
 */
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef FRAMES
#define FRAMES 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef LIVES
#define LIVES 2
#endif

#define CONSUMERS 2
#define NONE      255

#define DONE      0
#define AVAILABLE 1
#define CLAIMED   2
#define FINISHING 3
#define FAILED    4

typedef word {
	byte frame;
	byte state;
	byte taker;
	byte attempts
};

word claims[SLOTS];
byte content[SLOTS];       /* what is written there; 0: half written */
byte published;
bit producer_asleep;
bit asleep[CONSUMERS];
/* Of a futex's word only this counts: whether it was changed since the sleeper has read it. */
bit producer_woken = 1;
bit woken[CONSUMERS] = 1;
byte entry[CONSUMERS];     /* which process has the number: of number 1 lives 1, 2, ... */
bit ended[LIVES + 1];      /* the kernel has reported it */
bit killed[LIVES + 1];
bit has_done[LIVES + 1];   /* its stream's work is complete */
bit closed;
bit holds;                 /* the producer holds a slot, or is about to */

/* What is claimed of it all; no process looks at this. */
byte has[FRAMES + 1];      /* consumers that have the frame */
byte given_out;            /* the last frame that was given out for the first time */
byte settled;              /* frames that are done or have failed */
bit told_end;              /* a consumer was told that no frame comes any more */

#ifdef WRONG_VOID_WHEN_KILLED
#define IS_OVER(life) (ended[life] || killed[life])
#else
#define IS_OVER(life) ended[life]
#endif

#define IS_CLAIM(w)     (w.state == CLAIMED || w.state == FINISHING)
#define IS_ABANDONED(s) (IS_CLAIM(claims[s]) && IS_OVER(entry[claims[s].taker]))
#define IS_FINISHED(s)  (claims[s].state == FINISHING && has_done[entry[claims[s].taker]])
#if SLOTS == 1
#define IS_SOME(what)   (what(0))
#else
#define IS_SOME(what)   (what(0) || what(1))
#endif

#define IS_SAME(s) (claims[s].frame == seen.frame && claims[s].state == seen.state && \
	claims[s].taker == seen.taker && claims[s].attempts == seen.attempts)

/* What is not needed any more makes no states of its own. */
inline forget()
{
	d_step {
		at = 0;
		life = 0;
		seen.frame = 0;
		seen.state = 0;
		seen.taker = 0;
		seen.attempts = 0
	}
}

/* One load. */
inline look(s)
{
	d_step {
		seen.frame = claims[s].frame;
		seen.state = claims[s].state;
		seen.taker = claims[s].taker;
		seen.attempts = claims[s].attempts
	}
}

inline ring_bell()
{
	if
	:: asleep[0] || asleep[1] -> d_step { woken[0] = 1; woken[1] = 1 }
	:: else
	fi
}

/* A frame or a slot that is not needed any more may have been the last one. */
inline tell_end()
{
#if defined(CLOSES) && !defined(WRONG_LAST_UNTOLD)
	if
	:: closed -> ring_bell()
	:: else
	fi
#else
	skip
#endif
}

inline wake_producer()
{
	if
	:: producer_asleep -> producer_woken = 1
	:: else
	fi
}

/* One compare and swap; the rest says what became of the frame. */
inline give_back(s)
{
	d_step {
		if
#ifdef WRONG_GIVE_BACK_BLIND
		:: true ->
#else
		:: IS_SAME(s) ->
#endif
			has[seen.frame] = has[seen.frame] - (has[seen.frame] > 0 -> 1 : 0);
			if
			:: seen.attempts < ATTEMPTS -> claims[s].state = AVAILABLE
			:: else -> claims[s].state = FAILED; settled++
			fi;
			claims[s].frame = seen.frame;
			claims[s].taker = seen.taker;
			claims[s].attempts = seen.attempts
		:: else
		fi
	};
	ring_bell();
	wake_producer()
}

inline end(s)
{
	d_step {
		if
		:: IS_SAME(s) ->
			has[seen.frame]--;
			settled++;
			claims[s].state = DONE;
			claims[s].taker = 0
		:: else
		fi
	};
#ifndef WRONG_END_UNTOLD
	wake_producer();
#endif
	tell_end()
}

/* By any member. The claim is looked at before the entry. */
inline recover()
{
	at = 0;
	do
	:: at < SLOTS ->
		look(at);
		if
		:: IS_CLAIM(seen) ->
			life = entry[seen.taker];
			if
			:: seen.state == FINISHING && has_done[life] -> end(at)
			:: else ->
				if
				:: IS_OVER(life) -> give_back(at)
				:: else
				fi
			fi
		:: else
		fi;
		at++
	:: else -> break
	od
}

/* --- the producer --- */

inline await_slot()
{
#ifdef WRONG_SLEEP_UNANNOUNCED
	producer_woken = 0;
	look(0);
	producer_asleep = 1;
#else
	producer_asleep = 1;
	producer_woken = 0;
	look(0);
#endif
	if
	:: seen.state != DONE && seen.state != FAILED ->
		(producer_woken || closed || IS_SOME(IS_ABANDONED) || IS_SOME(IS_FINISHED))
	:: else
	fi;
	d_step { producer_asleep = 0; producer_woken = 1 }
}

inline release()
{
	holds = 0;
	tell_end()
}

/* The slot is held; or the queue is closed. One order: it says so before it looks whether. */
inline hold()
{
#ifdef WRONG_HELD_UNTOLD
	is_closed = closed;
	holds = 1;
#else
	holds = 1;
	is_closed = closed;
#endif
	if
	:: is_closed -> release()
	:: else
	fi
}

/* Failed frames are dropped at once: none is kept. */
inline acquire()
{
	do
	:: closed -> is_closed = 1; break
	:: !closed ->
		slot = 0;
		do
		:: slot < SLOTS ->
			look(slot);
			if
			:: seen.state == DONE || seen.state == FAILED -> break
			:: else -> slot++
			fi
		:: else -> break
		od;
		if
		:: slot < SLOTS -> hold(); break
		:: else ->
			recover();
#if SLOTS == 1
			await_slot();
#endif
			forget()
		fi
	od;
	forget()
}

inline publish()
{
#ifdef WRONG_WAKE_BEFORE_PUBLISH
	ring_bell();
#endif
	d_step {
		claims[slot].frame = number;
		claims[slot].state = AVAILABLE;
		claims[slot].taker = 0;
		claims[slot].attempts = 0
	};
#ifdef WRONG_RELEASED_FIRST
	holds = 0;
	d_step { assert(!told_end); published = number };
#else
	d_step { assert(!told_end); published = number };
	holds = 0;
#endif
#ifndef WRONG_WAKE_BEFORE_PUBLISH
	ring_bell()
#endif
}

active proctype producer()
{
	word seen;
	byte number = 1, slot, at, life;
	bit is_closed;

	do
	:: number <= FRAMES ->
		acquire();
		if
		:: is_closed -> break
		:: else
		fi;
		content[slot] = 0;
		if
#ifdef CLOSES
		:: release()
#endif
		:: content[slot] = number;
			publish();
			number++
		fi
	:: else -> break
	od
}

#ifdef CLOSES
active proctype closer()
{
	closed = 1;
	ring_bell()
}
#endif

/* --- a consumer --- */

/* The oldest frame that is available; published is loaded first. */
inline find()
{
#ifdef WRONG_PUBLISHED_IGNORED
	last = NONE;
#else
	last = published;
#endif
	slot = NONE;
	at = 0;
	do
	:: at < SLOTS ->
		look(at);
		if
		:: seen.state == AVAILABLE && seen.frame <= last &&
			(slot == NONE || seen.frame < found.frame) ->
			d_step {
				slot = at;
				found.frame = seen.frame;
				found.state = seen.state;
				found.taker = seen.taker;
				found.attempts = seen.attempts
			}
		:: else
		fi;
		at++
	:: else -> break
	od
}

/* One compare and swap; slot is NONE if it failed. */
inline claim()
{
	d_step {
		seen.frame = found.frame;
		seen.state = found.state;
		seen.taker = found.taker;
		seen.attempts = found.attempts;
		if
		:: IS_SAME(slot) ->
			has[seen.frame]++;
			assert(has[seen.frame] == 1);
			if
			:: seen.attempts == 0 ->
				assert(seen.frame == given_out + 1);
				given_out = seen.frame
			:: else
			fi;
			claims[slot].state = CLAIMED;
			claims[slot].taker = me;
#ifdef WRONG_ATTEMPT_UNCOUNTED
			claims[slot].attempts = seen.attempts + (me == 0 || seen.attempts == 0 -> 1 : 0);
#else
			claims[slot].attempts = seen.attempts + 1;
#endif
			seen.frame = claims[slot].frame;
			seen.state = CLAIMED;
			seen.taker = me;
			seen.attempts = claims[slot].attempts
		:: else -> slot = NONE
		fi
	}
}

/* Whether no frame comes any more. Each look is for what the one before may hide. */
inline see_end()
{
	ends = 0;
#ifdef CLOSES
	if
	:: closed ->
		ends = 1;
#ifndef WRONG_HOLDS_AFTER_CLAIMS
		ends = ends && !holds;
#endif
		last = published;
		at = 0;
		do
		:: at < SLOTS && ends ->
			look(at);
			ends = !(seen.frame <= last && (seen.state == AVAILABLE || IS_CLAIM(seen)));
			at++
		:: else -> break
		od;
#ifdef WRONG_HOLDS_AFTER_CLAIMS
		ends = ends && !holds;
#endif
	:: else
	fi
#else
	ends = settled == FRAMES
#endif
}

inline sleep()
{
#ifdef WRONG_SLEEP_AFTER_LOOK
	woken[me] = 0;
	find();
	asleep[me] = 1;
#else
	asleep[me] = 1;
	woken[me] = 0;
	find();
#endif
	if
	:: slot == NONE ->
		see_end();
#ifdef CLOSES
		(woken[me] || ends || IS_SOME(IS_ABANDONED) || IS_SOME(IS_FINISHED))
#else
		(woken[me] || settled == FRAMES || IS_SOME(IS_ABANDONED) ||
			IS_SOME(IS_FINISHED))
#endif
	:: else
	fi;
	d_step { asleep[me] = 0; woken[me] = 1 }
}

/* It acknowledges by a stream: the work reads the frame later. */
inline finish()
{
	d_step {
		assert(IS_SAME(slot));
		claims[slot].state = FINISHING
	};
	wake_producer();
	assert(content[slot] == seen.frame)
}

proctype consumer(byte me; byte self)
{
	word seen, found;
	byte slot, at, last, life, next;
	bit ends;

	/*
	 * Of number 1: takes over the entry of the life before, which has ended. The ring was not known
	 * to it then.
	 */
	if
	:: me == 1 && self > 1 ->
		entry[me] = self;
#ifndef WRONG_NUMBER_NOT_SWEPT
		at = 0;
		do
		:: at < SLOTS ->
			look(at);
			if
			:: IS_CLAIM(seen) && seen.taker == me -> give_back(at)
			:: else
			fi;
			at++
		:: else -> break
		od;
#endif
		forget()
	:: else
	fi;
	do
	:: ends -> break
	:: !ends ->
		find();
		if
		:: slot == NONE ->
			recover();
			see_end();
			if
			:: !ends -> sleep(); ends = 0
			:: else
			fi;
			forget()
		:: else ->
			claim();
			d_step { at = 0; last = 0; found.frame = 0; found.state = 0; found.taker = 0; found.attempts = 0 };
			if
			:: slot == NONE -> forget()
			:: else ->
				assert(content[slot] == seen.frame);
				if
				:: assert(content[slot] == seen.frame); end(slot); forget()
				:: me == 0 && seen.attempts == 1 -> give_back(slot); forget()
				:: me == 1 && self < LIVES -> goto dies
				:: me == 1 && self < LIVES -> finish(); goto dies
				:: me == 1 && self < LIVES ->
					finish();
					has_done[self] = 1;
					killed[self] = 1;
					goto over
				fi
			fi
		fi
	od;
#ifdef CLOSES
	atomic {
		told_end = 1;
		at = 0;
		do
		:: at < SLOTS ->
			assert(claims[at].state == DONE || claims[at].state == FAILED);
			at++
		:: else -> break
		od
	}
#endif
	goto leaves;
dies:
	/* Killed with a frame: its GPU reads on until the kernel reports the end. */
	killed[self] = 1;
	assert(content[slot] == seen.frame);
over:
	ended[self] = 1;
	next = self + 1;
	run consumer(me, next);
leaves:
	skip
}

init
{
	atomic {
		entry[0] = 0;
		entry[1] = 1;
		run consumer(0, 0);
		run consumer(1, 1)
	}
}
