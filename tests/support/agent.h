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
 *   go                        open the gate at which a command has held the stream
 *   cut                       shut the connection to the broker down, as if it had failed
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

/* Starts one of a kind, see COMMAND(); its first command must succeed. */
void agent_begin(struct child *agent, const char *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Says a command, which must end with this status; or says it and hears the answer later, which
 * may be any status for agent_hear(). */
void agent_must(struct child *agent, ww_status expected, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Several commands, one after the other, which it must carry out. */
void agent_obeys(struct child *agent, const char *const *orders);
#define agent_does(agent, ...) agent_obeys(agent, (const char *const[]){__VA_ARGS__, NULL})

void agent_tell(struct child *agent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void agent_answers(struct child *agent, ww_status expected);
ww_status agent_hear(struct child *agent);
void agent_answers_with(struct child *agent, ww_status expected, const char *word);

/* Says a command, which must end with this status and a message that has this word. */
void agent_refuses(struct child *agent, ww_status expected, const char *word, const char *format,
	...) __attribute__((format(printf, 4, 5)));

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

/*
 * The agent's own side: obeys commands until `end`, or until the case is gone.
 * @kind:    what COMMAND() calls agents of this kind; NULL: they have no commands of their own
 * @let_go:  of what those commands have made; called first when the agent ends; may be NULL
 */
void agent_serve(const char *kind, void (*let_go)(void));

/* Defines the role of the agents of a kind, whose name is that of the kind. */
#define AGENTS(kind, let_go)                \
	ROLE(kind)                          \
	{                                   \
		agent_serve(#kind, let_go); \
	}

/* Obeys one command, which is cut up. */
ww_status agent_obey(char *command);

/* Lets go of everything. */
void agent_let_go(void);

struct agent_command {
	const char *kind;
	const char *name;
	ww_status (*obey)(void);
	struct agent_command *next; /* in no order */
};

/* Adds a command. */
void agent_add(struct agent_command *command);

/*
 * Defines a command of all agents of a kind, and registers it as CASE() registers a case. Every
 * agent obeys the commands of the kind `agent`, unless it has one of its own with that name:
 *
 *   COMMAND(channel, evict)
 *   {
 *           return ww_channel_evict(own.channel, (uint32_t)agent_number(1));
 *   }
 */
#define COMMAND(agents, command)                                                              \
	static ww_status obey_##command(void);                                                \
	__attribute__((constructor)) static void obey_##command##_register(void)              \
	{                                                                                     \
		static struct agent_command self = {#agents, #command, obey_##command, NULL}; \
                                                                                              \
		agent_add(&self);                                                             \
	}                                                                                     \
	static ww_status obey_##command(void)

/* Defines a command that is one call: what it returns is the answer, or WW_OK always. */
#define COMMAND_CALL(agents, command, call) \
	COMMAND(agents, command)            \
	{                                   \
		return call;                \
	}
#define COMMAND_DO(agents, command, call) \
	COMMAND(agents, command)          \
	{                                 \
		call;                     \
		return WW_OK;             \
	}

/* Defines a command whose body has `broker`. If it cannot be opened, that is the answer. */
#define COMMAND_BROKER(agents, command)                                 \
	static ww_status obey_##command##_with(ww_broker *broker);      \
	COMMAND(agents, command)                                        \
	{                                                               \
		ww_broker *broker;                                      \
		ww_status status = agent_broker(&broker);               \
                                                                        \
		return status ? status : obey_##command##_with(broker); \
	}                                                               \
	static ww_status obey_##command##_with(ww_broker *broker)

/* For commands: the words of the one that is obeyed, and what follows NAME= in it. */
const char *agent_word(size_t at);
uint64_t agent_number(size_t at); /* the word as one */
bool agent_has_option(const char *name);
const char *agent_find_option(const char *name); /* NULL: it is not there */
uint64_t agent_number_option(const char *name, int base);
uint32_t agent_option(const char *name); /* a decimal number */
uint64_t agent_time_option(const char *name);
uint32_t agent_access(void); /* WW_ACCESS_WRITE: there is `write` */

/* A token that the agent says or hears: in file=PATH, else by its socket. */
void agent_say(const struct ww_token *token);
struct ww_token agent_heard(void);

/* The agent's device, broker and stream, each opened if need be; they stay the agent's. */
ww_device *agent_device(void);
ww_status agent_broker(ww_broker **out_broker);
ww_stream *agent_stream(void);

/* Holds the stream at a gate, which the command `go` opens, and the end of the agent. */
void agent_hold_stream(void);

/* The agent's memory; NULL: none. What is put there is let go of with the rest. */
ww_memory **agent_memory(void);

#endif
