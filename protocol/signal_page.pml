/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page.pml - one cell of a signal page, for the model checker spin; scripts/check-model runs it
 *
 * The steps are those of src/wire/signal_page.c, one load or one store each, in the same order. Between any two of
 * them anybody else may do anything, and after each the owner and the broker may be killed. Who takes part:
 *
 *   owner      signals by its CPU and by its stream, in any mixture; then closes, or lives on. With MAY_FAIL it may
 *              once have its stream call a function that fails the cell; then it signals by its CPU, and closes, only
 *              when the function has returned
 *   stream     of the owner: stores what was enqueued, later, in order. A GPU's may go on storing after the owner was
 *              killed, until the owner's pidfd fires; a host stream wakes the sleepers after its store. The function
 *              is the owner's
 *   broker     poisons when the owner's connection has ended, be the owner dead or not; again when a store has undone
 *              that; and once more when the pidfd has fired. A broker that is killed has a successor, which begins again
 *   waiter     one of another process, and either
 *                a CPU: looks, and sleeps on the futex word; or (WAITER_STREAM)
 *                a stream: the CPU before it makes sure that the value is submitted, or does not; the stream, a GPU
 *                or one of the host device, waits until completed >= v; then the CPU looks
 *
 * A waiter changes nothing that another one sees, so one is enough; what others may have been told before its look
 * begins is computed from what is in memory then. A process is killed right after a step, not later: it would have done
 * nothing in between.
 *
 * What is checked:
 *   (a) nobody takes a value for reached that the owner has not stored, or stored after it failed the cell; a stream
 *       that was let go by poison, or by such a store, is told so by the look that follows;
 *   (b) every waiter is released when its value is reached, its cell closed below it, or its owner's connection at an
 *       end, even if nobody does anything more. Nothing here runs for ever: to look again from time to time is
 *       modelled as waiting for a change. So a wait without end shows as a state in which nothing can happen and the
 *       waiter is not through, which spin reports as an invalid end state. Only where its owner lives on, and
 *       neither signals more nor closes, a waiter may stop instead, and a stream also if the cell has failed;
 *   (c) what a look says was reached was stored;
 *   (d) once a look can say of a value that it is lost, none that begins later says it is reached. Where the broker
 *       poisons the cell while the function fails it, one may, of a value that was stored before both;
 *   (e) a closed cell refuses only values that its owner never stores;
 *   (f) whoever sees a lost cell finds in the page's header whose it was, or in the cell why it failed;
 *   (g) once the page says that its owner has ended no store of the owner's comes any more, and the cell is poisoned;
 *   (h) no look says that a value is lost which was reached when the broker learnt of the end, or when the cell failed,
 *       however late the look is.
 *
 * The futex word is a count; a sleeper gives the kernel what it read before its look. Here a mark says whether it was
 * added to since then: the same, but for 2^32 wakes during one look. FUTEX_WAKE is a step of its own.
 *
 * Memory is that of a machine which does one step after the other. Where the C code needs more than that, its stores
 * release and its loads acquire, which keeps their order for whoever reads.
 *
 * With one of the WRONG_... below defined a step is done as somebody might one day write it: spin must object.
 */

#define LIVE   1
#define CLOSED 2
#define LOST   3
#define POISON 100 /* above every value, as for the GPU's comparison */
#define FAIL   101 /* enqueued: no value, but the function */
#define NONE   255

#ifndef VALUES
#define VALUES 2 /* the owner signals 1 .. VALUES */
#endif
#ifndef RESTARTS
#define RESTARTS 1 /* of the broker */
#endif

typedef signal_cell {
	byte completed;
	byte submitted;
	byte reached;
	byte state = LIVE;
	bit failure;
	bit by_gpu
};
signal_cell cell;

/* cell.wakes, as the one sleeper sees it */
bit added, asleep;

/* the page's header */
bit lost_by, lost, ended;

/* what is so, whether or not anybody can see it */
chan enqueued = [VALUES + 2] of { byte };
bit to_fail; /* the function is enqueued, and has not returned */
bit failed;  /* it made the cell a lost one */
bit told;    /* the broker has learnt that the owner's connection has ended */
bit raced;   /* it stored what was reached after the broker had */
bit on_host; /* the owner's stream is one of the host device */
bit killed;  /* the owner */
bit idle;    /* the owner lives, and will not touch the cell any more */
bit quiet;   /* the pidfd fires: no store of the owner's can come */
byte restarts;
byte stored; /* the highest value that was in completed before the cell failed, poison aside */
byte learnt; /* what that was when the broker learnt that the owner's connection has ended, or when it failed */

/* A step after which its process may be gone. */
#define OWNER(step)  atomic { step; if :: true :: killed = 1; goto dead fi }
#define BROKER(step) atomic { step; if :: true :: restarts < RESTARTS -> restarts++; goto begin fi }

/* A process that looks between the two steps sees what it would see after both, so only death may come between. */
#define WAKE(BY) atomic { BY(added = 1); BY(asleep = 0) }

#ifdef WRONG_WAKE_BEFORE_STORE
#define WAKE_BEFORE(BY) WAKE(BY);
#define WAKE_AFTER(BY)
#else
#define WAKE_BEFORE(BY)
#define WAKE_AFTER(BY) WAKE(BY);
#endif

/* A value of the owner's comes into completed. */
inline store_value(value)
{
	cell.completed = value;
	stored = (failed -> stored : value);
	assert(!ended);
	assert(cell.state != CLOSED || value <= cell.submitted)
}

/* --- the owner --- */

inline complete(value)
{
	OWNER(cell.submitted = value);
	WAKE_BEFORE(OWNER)
	do /* compare and exchange, but never poison */
	:: atomic { c != POISON && cell.completed == c -> OWNER(store_value(value)) };
		break
	:: atomic { c != POISON && cell.completed != c -> c = cell.completed }
	:: c == POISON -> break
	od;
	WAKE_AFTER(OWNER)
}

inline mark_gpu()
{
	OWNER(cell.by_gpu = 1);
#ifndef WRONG_MARK_WITHOUT_WAKE
	WAKE(OWNER)
#endif
}

inline submit(value)
{
	OWNER(cell.submitted = value);
	if
	:: on_host -> WAKE(OWNER)
	:: else
	fi
}

/* Goes on when all is completed and poisoned. */
inline finish()
{
	do
	:: cell.completed == POISON -> break
#ifdef WRONG_FINISH_PENDING
	:: cell.completed != POISON ->
#else
	:: cell.completed >= cell.submitted && cell.completed != POISON ->
#endif
		OWNER(cell.completed = POISON);
		WAKE(OWNER);
		break
	od
}

inline close()
{
#ifdef WRONG_CLOSE_STORES
	OWNER(cell.state = CLOSED);
	WAKE(OWNER)
#else
	if /* compare and exchange */
	:: atomic { cell.state == LIVE -> OWNER(cell.state = CLOSED) };
		WAKE(OWNER)
	:: cell.state != LIVE
	fi
#endif
}

active proctype owner()
{
	byte next, c;
#ifdef MAY_FAIL
	bit has_failed;
#endif

	if
	:: on_host = 1
	:: skip
	fi;
	do
	:: atomic { !to_fail && next < VALUES && cell.completed == next -> /* nothing is pending */
			c = next;
			next++
		};
		complete(next)
	:: next < VALUES ->
		if
		:: !on_host && !cell.by_gpu -> mark_gpu()
		:: else
		fi;
		next++;
		OWNER(enqueued!next);
		submit(next)
#ifdef MAY_FAIL
	:: atomic { !has_failed -> has_failed = 1; to_fail = 1; enqueued!FAIL }
#endif
	:: OWNER(true) -> break
	:: idle = 1 -> goto dead
	od;
#ifdef MAY_FAIL
	!to_fail || killed;
#endif
	close();
	if
	:: finish()
	:: cell.completed < cell.submitted -> OWNER(enqueued!POISON)
	fi;
dead:
	skip
}

/* A step of the function, which ends with its process. */
#define CALLED(step) atomic { if :: !killed -> step :: killed -> goto called fi }

inline fail()
{
	CALLED(c = cell.completed);
	CALLED(s = cell.state);
	if
	:: s == LIVE && c != POISON ->
#ifdef WRONG_FAILED_BEFORE_REACHED
		CALLED(cell.failure = 1);
		fail_state();
		CALLED(cell.reached = c);
#else
		CALLED(cell.reached = c; raced = (cell.state != LIVE));
#ifndef WRONG_FAILED_FOR_NOTHING
		CALLED(cell.failure = 1);
#endif
		fail_state();
#endif
#ifndef WRONG_FAILED_UNTOLD
		CALLED(added = 1);
		CALLED(asleep = 0)
#endif
	:: else
	fi
}

inline fail_state()
{
	CALLED(if
	:: cell.state == LIVE ->
		cell.state = LOST;
		failed = 1;
		learnt = (told -> learnt : stored)
	:: else
	fi)
}

active proctype stream()
{
	byte value;
#ifdef MAY_FAIL
	byte c, s;
#endif

end_idle:
	do
#ifdef MAY_FAIL
	:: atomic { enqueued?[FAIL] -> enqueued?FAIL };
		fail();
called:
		atomic { to_fail = 0; c = 0; s = 0 }
#endif
	:: atomic {
			!enqueued?[FAIL] && enqueued?[value] -> enqueued?value;
			if
			:: value == POISON -> cell.completed = POISON
			:: else -> store_value(value)
			fi;
			value = 0
		};
		if
		:: on_host -> atomic { added = 1; asleep = 0 }
		:: !on_host || killed
		fi
	:: atomic { killed -> quiet = 1 };
		break
	od
}

/* --- the broker --- */

inline say_who()
{
	if
#ifdef WRONG_LOST_BEFORE_WHO
	:: !lost ->
		BROKER(lost = 1);
		BROKER(lost_by = 1)
#else
	:: !lost ->
		BROKER(lost_by = 1);
		BROKER(lost = 1)
#endif
	:: lost
	fi
}

/* The state is loaded together with the store that follows: it becomes lost by this process alone. */
inline poison_cell()
{
	if
	:: atomic { cell.completed != POISON ->
			c = cell.completed
#ifdef WRONG_REPOISON_UNTOLD
			; was_lost = (cell.state == LOST)
#endif
		};
		if
		:: cell.state == LOST
#if defined(WRONG_REACHED_TWICE)
		:: BROKER(cell.reached = c);
			BROKER(cell.state = LOST)
#elif defined(WRONG_REACHED_AFTER_STATE)
		:: atomic { cell.state != LOST -> BROKER(cell.state = LOST) };
			BROKER(cell.reached = c)
#elif defined(WRONG_COMPLETED_BEFORE_STATE)
		:: atomic { cell.state != LOST -> BROKER(cell.reached = c) };
			BROKER(cell.completed = POISON);
			BROKER(cell.state = LOST)
#else
		:: atomic { cell.state != LOST -> BROKER(cell.reached = c) };
			BROKER(cell.state = LOST)
#endif
		fi;
		WAKE_BEFORE(BROKER)
		BROKER(cell.completed = POISON);
#ifdef WRONG_REPOISON_UNTOLD
		if
		:: was_lost
		:: !was_lost -> WAKE(BROKER)
		fi;
#else
		WAKE_AFTER(BROKER)
#endif
		c = 0
#ifdef WRONG_POISONED_UNTOLD
	:: cell.completed == POISON
#else
	:: cell.completed == POISON -> WAKE(BROKER)
#endif
	fi
}

active proctype broker()
{
	byte c;
#ifdef WRONG_REPOISON_UNTOLD
	bit was_lost;
#endif
	bit is_last;

	if
	:: skip ->
end_waiting:
		killed
	:: skip /* the connection ends now, though its owner lives */
	fi;
	atomic { learnt = (failed -> learnt : stored); told = 1 };
begin:
	atomic { c = 0; is_last = 0 };
	do
	:: say_who();
		poison_cell();
#ifdef WRONG_POISON_ONCE
		break;
#endif
#ifdef WRONG_ENDED_WHEN_LOST
		BROKER(ended = 1);
#endif
end_watching:
		if
		:: is_last ->
			assert(lost && cell.completed == POISON);
			BROKER(ended = 1);
			break
		:: !is_last && cell.completed != POISON
		:: atomic { !is_last && quiet -> is_last = 1 }
		fi
	od
}

/* --- the waiter --- */

/* One look: c, s, b, g, r are what it loads. */
inline look()
{
	atomic {
		lost_above = (cell.state == LOST -> cell.reached :
			(cell.state == CLOSED -> cell.submitted : NONE));
		s = 0;
		r = 0;
		b = 0;
#ifdef WRONG_STATE_BEFORE_COMPLETED
		s = cell.state
	};
	c = cell.completed;
	b = cell.submitted;
#elif defined(WRONG_SUBMITTED_BEFORE_STATE)
		c = cell.completed
	};
	b = cell.submitted;
	s = cell.state;
#else
		c = cell.completed
	};
	s = cell.state;
	b = cell.submitted;
#endif
	g = cell.by_gpu;
	atomic {
		if
#ifdef WRONG_STATE_UNCHECKED
		:: s == LOST && c == POISON -> r = cell.reached
#else
		:: s == LOST -> r = cell.reached
#endif
		:: else -> r = (c == POISON -> b : c)
		fi;
		assert(c != POISON || s >= CLOSED);
		assert(r <= stored);
		assert(r <= lost_above || raced);
		assert(s != LOST || (lost && lost_by) || cell.failure);
		assert(s != CLOSED || b == cell.submitted);
		lost_above = 0
	}
}

#ifdef WRONG_LOST_WHATEVER_REACHED
#define IS_REACHED (r >= v && s != LOST)
#else
#define IS_REACHED (r >= v)
#endif
#define IS_LOST    (s == LOST || (s == CLOSED && v > b))

#define NOTHING_COMES (idle && len(enqueued) == 0 && !to_fail && cell.completed < v && cell.state == LIVE)

/* A stream waits for a store, also of a cell that failed. */
#define NO_STORE_COMES (idle && len(enqueued) == 0 && cell.completed < v && failed && !lost)

/* Until the futex word is added to; if a GPU may signal, also until a change that nobody tells of. */
inline sleep(change, nothing)
{
	atomic {
		if
		:: !g && !added -> asleep = 1
		:: else
		fi
	};
	if
	:: !g && !asleep
	:: g && change
	:: nothing -> goto stopped
	fi
}

#define A_CHANGE (cell.completed != c || cell.state != s || cell.submitted != b)

inline wait_by_cpu(enough)
{
	do
	:: added = 0; /* the futex word is loaded */
		look();
		if
		:: IS_REACHED || IS_LOST || enough -> break
		:: else -> sleep(A_CHANGE, NOTHING_COMES)
		fi
	od
}

inline wait_by_stream()
{
	if
	:: cell.completed >= v /* a GPU. It compares at any time, so it may miss poison that does not stay */
	:: NOTHING_COMES -> goto stopped
#ifdef MAY_FAIL
	:: NO_STORE_COMES -> goto stopped
#endif
	:: skip -> /* a host stream */
		do
		:: added = 0;
			atomic { c = cell.completed; s = 0; b = 0; r = 0 };
			g = cell.by_gpu;
			if
			:: c >= v -> break
			:: else -> sleep(cell.completed != c, NOTHING_COMES || NO_STORE_COMES)
			fi
		od
	fi
}

active proctype waiter()
{
	byte v, c, s, b, r, lost_above;
	bit g;

	atomic { select(v : 1 .. VALUES + 1) };
#ifdef WAITER_STREAM
	if
	:: wait_by_cpu(b >= v)
	:: skip
	fi;
	if
	:: IS_LOST && !IS_REACHED
	:: else ->
		wait_by_stream();
		look();
		assert(IS_REACHED || IS_LOST)
	fi;
#else
	wait_by_cpu(false);
#endif
	assert(!IS_REACHED || stored >= v);
	assert(IS_REACHED || !IS_LOST || v > learnt);
stopped:
	skip
}
