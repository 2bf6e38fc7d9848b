/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_rings.pml - the requests and replies of a client of a service, for the model checker spin
 *
 * One client, and a server with up to two threads, each step of src/service/ring.h one step here, by
 * the same names. All loads and stores whose order matters are seq_cst there, so here each is one
 * statement of one interleaving. What the server's threads do under their lock, and no other process
 * sees, is one step. A call waits for room, takes a slot, is published, taken, started and ended; its
 * outcome is read, and the slot is free again. Calls of different lanes end in any order.
 *
 * Either side may be killed between any two steps. That it has ended is known later; a side that sleeps then
 * looks by itself after some time, which is the only use of time here.
 *
 * Claimed:
 *   - Every call of a client that lives is run exactly once by a server that lives, and the client
 *     gets the reply to this very call.
 *   - The server reads what the client has written for this call, and takes no call of an honest
 *     client for a forged one.
 *   - If the server is killed, the client learns so. It gets each reply that was complete, and of a
 *     call that it takes for not started no function has run.
 *   - If the client is killed, its queued calls are dropped, and the server forgets it when the last
 *     one that runs has ended; nothing of it is used after that.
 *   - Nobody sleeps for ever.
 *
 * scripts/check-model searches it. With one of the WRONG_... below defined a step is done as somebody
 * might one day write it: spin must object.
 *
 *   SLOTS, CALLS    how many; with fewer slots than calls the client waits for room
 *   THREADS         of the server, 1 or 2
 *   ONE_LANE        calls start in their order, each after the end of the one before
 *   KILLS_SERVER, KILLS_CLIENT
 *   IDLES           the server stops looking at the client at any time when it has no calls (src/service/active.h)
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef THREADS
#define THREADS 1
#endif

#define NONE 255

/* The requests: the client writes. */
byte published;
byte order[SLOTS];         /* of call N, entry N - 1 modulo SLOTS: its slot */
byte request_call[SLOTS];
byte arguments[SLOTS];     /* what is written there; 0: half written */
bit client_asleep;

/* The replies: the server writes. */
byte started[SLOTS];
byte done[SLOTS];
byte results[SLOTS];       /* what is written there; 0: half written */
/* Of a futex's word only this counts: whether it was changed since the sleeper has read it. */
bit client_woken = 1;

/* The page, and the bell. */
bit server_asleep;
bit bell_woken = 1;
bit bell_bit;              /* the client has called, which the server does not look at */
bit is_idle;               /* in the replies: the client is to set the bit */

bit server_killed;
bit server_lost;           /* the broker has found its end, and has stored it */
bit client_killed;
bit client_ended;          /* the same */

/* What the server's threads share. */
bit has_leader;
bit changed;               /* since the leader looked; a count there */
byte taken;                /* the last call that was taken */
bit is_used[SLOTS];
byte queued[SLOTS];        /* the call that waits there; 0: none */
byte started_last;         /* of the lane */
byte running;
bit is_gone;               /* the client has ended: nothing more of it is started */
bit is_forgotten;          /* its files are unmapped */
bit is_active = 1;         /* the server looks at the client */

/* What is claimed of it all; no process looks at this. */
byte runs[CALLS + 1];
bit is_replied[CALLS + 1];

/* --- the server --- */

inline look_for_call()
{
	is_due = changed;
#ifdef IDLES
	if
	:: !is_due -> is_due = bell_bit
	:: else
	fi;
#endif
	if
	:: !is_due && !is_gone && is_active -> is_due = (published != taken)
	:: else
	fi
}

inline await_call()
{
#ifdef WRONG_SERVER_SLEEPS_UNANNOUNCED
	bell_woken = 0;
	look_for_call();
	server_asleep = 1;
#else
#ifdef WRONG_SERVER_LOOKS_FIRST
	server_asleep = 1;
	look_for_call();
	bell_woken = 0;
#else
	server_asleep = 1;
	bell_woken = 0;
	look_for_call();
#endif
#endif
	if
	:: !is_due ->
end_asleep:
		(bell_woken || (client_ended && !is_gone))
	:: else
	fi;
	d_step { server_asleep = 0; bell_woken = 1; is_due = 0 }
}

inline note_change()
{
#ifdef WRONG_CHANGE_UNTOLD
	skip
#else
#ifdef WRONG_CHANGE_AFTER_LOOK
	is_due = server_asleep;
	changed = 1;
	if
	:: is_due -> bell_woken = 1
	:: else
	fi;
	is_due = 0
#else
	changed = 1;
	if
	:: server_asleep -> bell_woken = 1
	:: else
	fi
#endif
#endif
}

/* Copies each call that was published, once, and checks the copy. */
inline absorb()
{
	last = published;
	do
	:: taken < last ->
#ifdef WRONG_SLOT_BY_NUMBER
		slot = taken % SLOTS;
#else
		slot = order[taken % SLOTS];
#endif
		call = request_call[slot];
		assert(call == taken + 1);
		assert(!is_used[slot]);
		d_step { queued[slot] = call; is_used[slot] = 1; taken++ }
	:: else -> break
	od;
	skip;
	d_step { last = 0; slot = 0; call = 0 }
}

#ifdef ONE_LANE
#define MAY_START(s) (queued[s] != 0 && queued[s] == started_last + 1 && running == 0)
#else
#define MAY_START(s) (queued[s] != 0)
#endif

/* A call that can be started: call is 0 if there is none. */
inline find_call()
{
	atomic {
		if
		:: !is_gone && MAY_START(0) -> slot = 0; call = queued[0]
#if SLOTS > 1
		:: !is_gone && MAY_START(1) -> slot = 1; call = queued[1]
#endif
		:: else
		fi;
		if
		:: call != 0 -> queued[slot] = 0; running++; started_last = call
		:: else
		fi
	}
}

#ifdef IDLES
#if SLOTS > 1
#define IS_QUIET (is_active && !is_gone && running == 0 && queued[0] == 0 && queued[1] == 0)
#else
#define IS_QUIET (is_active && !is_gone && running == 0 && queued[0] == 0)
#endif

/* The bit is cleared first: a call that comes after that sets it again, or is seen. */
inline take_bit()
{
	if
	:: bell_bit ->
		bell_bit = 0;
		is_idle = 0;
		is_active = 1
	:: else
	fi
}

inline retire()
{
	if
	:: IS_QUIET ->
#ifdef WRONG_RETIRED_WITHOUT_LOOK
		is_idle = 1;
		is_active = 0
#else
#ifdef WRONG_RETIRED_AFTER_LOOK
		is_due = (published != taken);
		is_idle = 1;
#else
		is_idle = 1;
		is_due = (published != taken);
#endif
		if
		:: is_due -> is_idle = 0
		:: else -> is_active = 0
		fi;
		is_due = 0
#endif
	:: true
	fi
}
#endif

inline forget_client()
{
	if
	:: client_ended -> is_gone = 1
	:: else
	fi;
#ifdef WRONG_FORGOTTEN_WHILE_IT_RUNS
	if
	:: is_gone -> is_forgotten = 1
	:: else
	fi
#else
	if
	:: is_gone && running == 0 -> is_forgotten = 1
	:: else
	fi
#endif
}

inline lead()
{
	do
	:: true ->
#ifndef WRONG_CHANGE_SEEN_LATE
		changed = 0;
#endif
		forget_client();
#ifdef IDLES
		take_bit();
		retire();
#endif
		if
		:: !is_gone && is_active -> absorb()
		:: else
		fi;
		find_call();
#ifdef WRONG_CHANGE_SEEN_LATE
		changed = 0;
#endif
		if
		:: call != 0 -> break
		:: else -> await_call()
		fi
	od
}

/* The arguments are read before the call counts as started. */
inline run_call()
{
	assert(!is_forgotten);
	assert(arguments[slot] == call);
#ifndef WRONG_STARTED_AFTER_RUN
	started[slot] = call;
#endif
	runs[call]++;
	assert(runs[call] == 1);
#ifdef WRONG_STARTED_AFTER_RUN
	started[slot] = call;
#endif
}

inline end_call()
{
	assert(!is_forgotten);
#ifdef WRONG_CLIENT_WOKEN_FIRST
	if
	:: client_asleep -> client_woken = 1
	:: else
	fi;
#endif
#ifdef WRONG_DONE_BEFORE_RESULTS
	d_step { is_used[slot] = 0; done[slot] = call; is_replied[call] = 1 };
	results[slot] = 0;
	results[slot] = call;
#else
	results[slot] = 0;
	results[slot] = call;
#ifdef WRONG_USED_UNTIL_LATER
	d_step { done[slot] = call; is_replied[call] = 1 };
	is_used[slot] = 0;
#else
	d_step { is_used[slot] = 0; done[slot] = call; is_replied[call] = 1 };
#endif
#endif
#ifndef WRONG_CLIENT_WOKEN_FIRST
	if
	:: client_asleep -> client_woken = 1
	:: else
	fi;
#endif
	d_step { running--; slot = 0; call = 0 };
	note_change()
}

proctype server()
{
	byte last, slot, call;
	bit is_due;

	{
		do
		:: true ->
end_waiting:
			atomic { !has_leader -> has_leader = 1 };
			lead();
			has_leader = 0;
			run_call();
			end_call()
		od
	} unless { server_killed }
}

/* --- the client --- */

inline await_reply(is_awaited)
{
#ifdef WRONG_CLIENT_SLEEPS_UNANNOUNCED
	client_woken = 0;
	is_due = (is_awaited || server_lost);
	client_asleep = 1;
#else
#ifdef WRONG_CLIENT_LOOKS_FIRST
	client_asleep = 1;
	is_due = (is_awaited || server_lost);
	client_woken = 0;
#else
	client_asleep = 1;
	client_woken = 0;
	is_due = (is_awaited || server_lost);
#endif
#endif
	if
	:: !is_due -> (client_woken || server_lost)
	:: else
	fi;
	d_step { client_asleep = 0; client_woken = 1; is_due = 0 }
}

#define IS_DONE(s) (call_of[s] != 0 && done[s] == call_of[s])
#if SLOTS > 1
#define IS_ANY_DONE (IS_DONE(0) || IS_DONE(1))
#define IS_ANY_FREE (call_of[0] == 0 || call_of[1] == 0)
#define IS_ANY_USED (call_of[0] != 0 || call_of[1] != 0)
#else
#define IS_ANY_DONE IS_DONE(0)
#define IS_ANY_FREE (call_of[0] == 0)
#define IS_ANY_USED (call_of[0] != 0)
#endif

/* The reply is copied; the slot is free. */
inline reap(s)
{
	assert(results[s] == call_of[s]);
	d_step {
		assert(runs[call_of[s]] == 1);
		call_of[s] = 0
	}
}

/* No reply will come: what does the client say of the call? */
inline reap_lost(s)
{
#ifndef WRONG_STARTED_BEFORE_LOST
	has_started = (started[s] == call_of[s]);
#endif
	d_step {
		assert(has_started || runs[call_of[s]] == 0);
		assert(!is_replied[call_of[s]]);
		call_of[s] = 0;
		has_started = 0
	}
}

/* If no reply can come any more, one may have come before that. */
inline look_at_reply(s)
{
#ifdef WRONG_STARTED_BEFORE_LOST
	has_started = (started[s] == call_of[s]);
#endif
#ifdef WRONG_DONE_BEFORE_LOST
	is_done = IS_DONE(s);
	is_over = server_lost;
#else
	is_over = server_lost;
	is_done = IS_DONE(s);
#endif
	if
	:: is_done -> reap(s)
	:: !is_done && is_over -> reap_lost(s)
	:: else
	fi;
	d_step { is_done = 0; is_over = 0; has_started = 0 }
}

inline reap_all()
{
	slot = 0;
	do
	:: slot < SLOTS ->
		if
		:: IS_DONE(slot) -> reap(slot)
		:: else
		fi;
		slot++
	:: else -> break
	od;
	slot = 0
}

/* A free slot, any: which one was freed last is not modelled. */
inline find_room()
{
	do
	:: IS_ANY_FREE ->
		if
		:: call_of[0] == 0 -> slot = 0
#if SLOTS > 1
		:: call_of[1] == 0 -> slot = 1
#endif
		fi;
		break
	:: !IS_ANY_FREE && server_lost -> slot = NONE; break
	:: !IS_ANY_FREE && !server_lost ->
		reap_all();
		if
		:: !IS_ANY_FREE -> await_reply(IS_ANY_DONE)
		:: else
		fi
	od
}

inline set_bit()
{
	if
	:: is_idle -> bell_bit = 1
	:: else
	fi
}

inline publish()
{
	calls++;
	call_of[slot] = calls;
#ifdef WRONG_RUNG_BEFORE_PUBLISHED
	is_due = server_asleep;
#endif
#ifdef WRONG_PUBLISHED_FIRST
	published = calls;
#endif
	arguments[slot] = 0;
	arguments[slot] = calls;
	request_call[slot] = calls;
	order[(calls - 1) % SLOTS] = slot;
#ifndef WRONG_PUBLISHED_FIRST
	published = calls;
#endif
#ifdef WRONG_RUNG_BEFORE_PUBLISHED
	if
	:: is_due -> bell_woken = 1
	:: else
	fi;
	is_due = 0;
#else
#ifdef IDLES
#ifndef WRONG_BIT_AFTER_BELL
	set_bit();
#endif
#endif
	if
	:: server_asleep -> bell_woken = 1
	:: else
	fi;
#ifdef IDLES
#ifdef WRONG_BIT_AFTER_BELL
	set_bit();
#endif
#endif
#endif
	slot = 0
}

/* Any of the calls whose outcome is not known yet. */
inline wait_for_one()
{
	if
	:: call_of[0] != 0 -> slot = 0
#if SLOTS > 1
	:: call_of[1] != 0 -> slot = 1
#endif
	fi;
	do
	:: true ->
		look_at_reply(slot);
		if
		:: call_of[slot] == 0 -> break
		:: else -> await_reply(IS_DONE(slot))
		fi
	od;
	slot = 0
}

active proctype client()
{
	byte call_of[SLOTS];   /* the call that has the slot; 0: it is free */
	byte calls, slot;
	bit is_due, is_done, is_over, has_started, has_failed;

	{
		do
		:: calls < CALLS && !has_failed ->
			find_room();
			if
			:: slot == NONE -> slot = 0; has_failed = 1
			:: else -> publish()
			fi
		:: IS_ANY_USED -> wait_for_one()
#ifdef WRONG_FREED_BEFORE_DONE
		:: call_of[0] != 0 && calls < CALLS -> call_of[0] = 0 /* its caller waits no longer */
#endif
		:: !IS_ANY_USED && (calls == CALLS || has_failed) -> break
		od
	} unless { client_killed }
}

/* --- death --- */

#ifdef KILLS_SERVER
active proctype server_ends()
{
	server_killed = 1;
	server_lost = 1
}
#endif

#ifdef KILLS_CLIENT
active proctype client_ends()
{
	client_killed = 1;
	client_ended = 1;
	(is_forgotten || server_killed)
}
#endif

init
{
	atomic {
		run server();
#if THREADS > 1
		run server()
#endif
	}
}
