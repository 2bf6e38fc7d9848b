/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - a helper that uses a broker as it is told, command by command
 *
 * An agent has one device (the subject), one broker (that of its environment, opened by the first
 * command that needs it) and one memory. A case says what to do and hears what came of it, so that
 * what several processes do in which order is read in one place:
 *
 *   user UID GID [GID...]     become another user, with these groups, before anything else
 *   open                      connect
 *   make KIND BYTES SEED      make memory with a pattern in it; KIND is vmm or host
 *   put NAME [OPTION...]      mode=0640 life=kept state=shared gid=N ttl_ms=N wait_ms=N replace
 *                             shape=3x5 (of float32); NAME "-" is none
 *   seal STATE                sealed or shared
 *   get NAME [OPTION...]      write wait_ms=N owner=N
 *   export [OPTION...]        write offset=N bytes=N escrow_ms=N uses=N delivery shape=3x5
 *                             file=PATH
 *   import [OPTION...]        write file=PATH; without a file tokens go through the agent's socket
 *   revoke                    the tokens of the memory
 *   write SEED, verify SEED   the pattern
 *   map_write, reopen         try to map the memory's descriptor for writing, or to open it so, as
 *                             a plain holder would
 *   remove NAME, stat NAME
 *   list                      everything
 *   watch                     begin with what is there, until the first event
 *   drop, close               let go of the memory; of the broker
 *   fork                      a child that does nothing but hold what it inherited, until the case
 *                             closes `socket`
 *   end
 */
#ifndef WW_TESTS_SUPPORT_AGENT_H
#define WW_TESTS_SUPPORT_AGENT_H

#include <warpway/broker.h>

#include "support/child.h"

/* Starts one. options may be NULL. */
void agent_start(struct child *agent, const struct child_options *options);

/* Says a command, which must end with this status; or says it and hears the answer later, which
 * may be any status for agent_hear(). */
void agent_must(struct child *agent, ww_status expected, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void agent_tell(struct child *agent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void agent_answers(struct child *agent, ww_status expected);
ww_status agent_hear(struct child *agent);
void agent_answers_with(struct child *agent, ww_status expected, const char *word);

/*
 * Tokens go through its socket: to it, and from it. The last one has it export, by a command of
 * "export" and these options.
 */
void agent_send_token(struct child *agent, const struct ww_token *token);
struct ww_token agent_hear_token(struct child *agent);
struct ww_token agent_export(struct child *agent, const char *options, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends it, cleanly; scene_end() does this with each that is left. */
void agent_end(struct child *agent);

/* Kills it with SIGKILL. Return: what messages call it; valid until the next call. */
const char *agent_kill(struct child *agent);

/* The agent's own side: obeys commands until `end`, or until the case is gone. */
void agent_serve(void);

/* Obeys one command, which is cut up. */
ww_status agent_obey(char *command);

/* Lets go of everything. */
void agent_let_go(void);

/*
 * More commands, of a suite's own, for its agents.
 * @let_go:  of what they have; called first when the agent ends
 */
struct agent_command {
	const char *name;
	ww_status (*obey)(void);
};
void agent_extend(const struct agent_command *commands, size_t count, void (*let_go)(void));

/* For those: the words of the command, and what follows NAME= in it. */
const char *agent_word(size_t at);
uint64_t agent_number(size_t at); /* the word as one */
bool agent_has_option(const char *name);
const char *agent_find_option(const char *name); /* NULL: it is not there */
uint64_t agent_number_option(const char *name, int base);
uint64_t agent_time_option(const char *name);

/* Where a token goes or comes from: file=PATH, else the socket. */
int agent_open_token(int flags);

/* The agent's device, and its broker, each opened if need be; both stay the agent's. */
ww_device *agent_device(void);
ww_status agent_broker(ww_broker **out_broker);

/* The agent's memory; NULL: none. What is put there is let go of with the rest. */
ww_memory **agent_memory(void);

#endif
