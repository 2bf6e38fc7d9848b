/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail_call.c - the linker's --wrap: each call goes through strike() first
 *
 * Where the program is compiled for large files, libc's names end in 64, so those come in pairs
 * under one name.
 */
#include "support/fail_call.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRUE_ERROR 0 /* the one that befits the call */

static atomic_int armed;          /* the kinds that count; 0: none */
static const char *_Atomic named; /* the one function that counts; NULL: all of these kinds */
static atomic_bool deadly;
static atomic_bool afterwards;    /* ... when the call has returned */
static atomic_int_fast64_t left;  /* calls until the first that fails */
static atomic_int_fast64_t times; /* how many fail */
static atomic_int given_error;
static const char *_Atomic struck;
static atomic_int struck_error;
static atomic_int_fast64_t live;

static atomic_int_fast64_t uninterrupted = INT64_MAX; /* a fallocate() of more bytes is */

static void arm(int kinds, const char *function, int error, uint64_t nth, uint64_t count)
{
	atomic_store(&struck, NULL);
	atomic_store(&deadly, false);
	atomic_store(&afterwards, false);
	atomic_store(&named, function);
	atomic_store(&given_error, error);
	atomic_store(&times, (int_fast64_t)count);
	atomic_store(&left, (int_fast64_t)nth);
	atomic_store(&armed, kinds);
}

void calls_fail(int kinds, uint64_t nth)
{
	arm(kinds, NULL, TRUE_ERROR, nth, 1);
}

void calls_fail_named(const char *function, int error, uint64_t nth, uint64_t count)
{
	arm(CALLS_ALL, function, error, nth, count);
}

void calls_interrupt_above(uint64_t bytes)
{
	atomic_store(&struck, NULL);
	atomic_store(&uninterrupted, (int_fast64_t)bytes);
}

void calls_die(uint64_t nth)
{
	arm(0, NULL, TRUE_ERROR, nth, 1);
	atomic_store(&deadly, true);
	atomic_store(&armed, CALLS_ALL);
}

void calls_die_at(const char *function, uint64_t nth, bool is_afterwards)
{
	arm(0, function, TRUE_ERROR, nth, 1);
	atomic_store(&deadly, true);
	atomic_store(&afterwards, is_afterwards);
	atomic_store(&armed, CALLS_ALL);
}

const char *calls_off(int *out_error)
{
	atomic_store(&armed, 0);
	atomic_store(&uninterrupted, INT64_MAX);
	if (out_error)
		*out_error = atomic_load(&struck_error);
	return atomic_load(&struck);
}

int64_t calls_live_allocations(void)
{
	return atomic_load(&live);
}

static int fail(const char *name, int error)
{
	atomic_store(&struck_error, error);
	atomic_store(&struck, name);
	return error;
}

static int count(int kind, const char *name, int true_error)
{
	const char *only = atomic_load(&named);
	int error = atomic_load(&given_error);
	int_fast64_t nth;

	if (!(atomic_load(&armed) & kind) || (only && strcmp(only, name)))
		return 0;
	nth = atomic_fetch_sub(&left, 1);
	if (nth > 1 || nth <= 1 - atomic_load(&times))
		return 0;
	if (atomic_load(&deadly))
		kill(getpid(), SIGKILL);
	return fail(name, error == TRUE_ERROR ? true_error : error);
}

/* The error that this call fails with; 0 if it does not. */
static int strike(int kind, const char *name, int true_error)
{
	return atomic_load(&afterwards) ? 0 : count(kind, name, true_error);
}

/* The call has returned. */
static ssize_t strike_after(const char *name, ssize_t result)
{
	int error = errno;

	if (atomic_load(&afterwards))
		count(CALLS_SYSTEM, name, 0);
	errno = error;
	return result;
}

/* A function that sets errno, or, where `failure` is `error`, returns it. */
#define WRAP_AS(label, type, name, true_error, failure, parameters, arguments) \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		int error = strike(CALLS_SYSTEM, label, true_error);           \
                                                                               \
		if (error) {                                                   \
			errno = error;                                         \
			return failure;                                        \
		}                                                              \
		return __real_##name arguments;                                \
	}

#define WRAP(type, name, true_error, failure, parameters, arguments) \
	WRAP_AS(#name, type, name, true_error, failure, parameters, arguments)

#define WRAP_PAIR(type, name, true_error, failure, parameters, arguments)      \
	WRAP_AS(#name, type, name, true_error, failure, parameters, arguments) \
	WRAP_AS(#name, type, name##64, true_error, failure, parameters, arguments)

WRAP(int, memfd_create, EMFILE, -1, (const char *name, unsigned int flags), (name, flags))
WRAP_PAIR(int, ftruncate, ENOMEM, -1, (int fd, off_t bytes), (fd, bytes))
WRAP(int, fchmod, EIO, -1, (int fd, mode_t mode), (fd, mode))
WRAP_PAIR(int, fstatfs, EIO, -1, (int fd, struct statfs *out), (fd, out))
WRAP_PAIR(int, fstat, EIO, -1, (int fd, struct stat *out), (fd, out))
WRAP_PAIR(void *, mmap, ENOMEM, MAP_FAILED,
	(void *address, size_t bytes, int protection, int flags, int fd, off_t offset),
	(address, bytes, protection, flags, fd, offset))
WRAP(ssize_t, getrandom, EIO, -1, (void *out, size_t bytes, unsigned int flags),
	(out, bytes, flags))
WRAP(int, getsockopt, ENOTSOCK, -1, (int fd, int level, int name, void *value, socklen_t *length),
	(fd, level, name, value, length))
WRAP(int, poll, ENOMEM, -1, (struct pollfd * fds, nfds_t count, int limit_ms),
	(fds, count, limit_ms))
WRAP(int, ppoll, ENOMEM, -1,
	(struct pollfd * fds, nfds_t count, const struct timespec *limit, const sigset_t *mask),
	(fds, count, limit, mask))
WRAP(int, access, EACCES, -1, (const char *path, int mode), (path, mode))
WRAP(int, connect, ECONNREFUSED, -1, (int fd, const struct sockaddr *address, socklen_t length),
	(fd, address, length))
WRAP(int, eventfd, EMFILE, -1, (unsigned int value, int flags), (value, flags))
WRAP(int, flock, ENOLCK, -1, (int fd, int operation), (fd, operation))
WRAP_PAIR(int, lstat, EACCES, -1, (const char *path, struct stat *out), (path, out))
WRAP(int, mkdir, ENOSPC, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkfifo, ENOSPC, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, pipe2, EMFILE, -1, (int ends[2], int flags), (ends, flags))
WRAP(int, posix_spawnp, EAGAIN, error,
	(pid_t * out, const char *file, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const *arguments,
		char *const *environment),
	(out, file, actions, attributes, arguments, environment))
WRAP(int, posix_spawn_file_actions_adddup2, ENOMEM, error,
	(posix_spawn_file_actions_t * actions, int from, int to), (actions, from, to))
WRAP(ssize_t, read, EIO, -1, (int fd, void *out, size_t bytes), (fd, out, bytes))
WRAP(ssize_t, readlink, EACCES, -1, (const char *path, char *out, size_t bytes), (path, out, bytes))
WRAP(int, setsockopt, ENOMEM, -1,
	(int fd, int level, int name, const void *value, socklen_t length),
	(fd, level, name, value, length))
WRAP(int, socket, EMFILE, -1, (int family, int type, int protocol), (family, type, protocol))
WRAP_PAIR(int, stat, EACCES, -1, (const char *path, struct stat *out), (path, out))
WRAP(pid_t, waitpid, ECHILD, -1, (pid_t pid, int *status, int options), (pid, status, options))

/* Whoever is told that a connection has ended must not have it go on. */
static void end_connection(int fd, int error)
{
	if (error == EPIPE || error == ECONNRESET)
		shutdown(fd, SHUT_RDWR);
}

#define WRAP_MESSAGE(name, true_error, message_type)                           \
	ssize_t __real_##name(int fd, message_type *message, int flags);       \
	ssize_t __wrap_##name(int fd, message_type *message, int flags);       \
	ssize_t __wrap_##name(int fd, message_type *message, int flags)        \
	{                                                                      \
		int error = strike(CALLS_SYSTEM, #name, true_error);           \
                                                                               \
		end_connection(fd, error);                                     \
		if (error) {                                                   \
			errno = error;                                         \
			return -1;                                             \
		}                                                              \
		return strike_after(#name, __real_##name(fd, message, flags)); \
	}

WRAP_MESSAGE(sendmsg, EPIPE, const struct msghdr)
WRAP_MESSAGE(recvmsg, ENOMEM, struct msghdr)
WRAP(int, sysinfo, EFAULT, -1, (struct sysinfo * out), (out))
WRAP_PAIR(FILE *, fopen, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
WRAP(void *, dlopen, ENOMEM, NULL, (const char *name, int flags), (name, flags))
WRAP(void *, dlsym, ENOMEM, NULL, (void *library, const char *name), (library, name))
WRAP(int, pthread_create, EAGAIN, error,
	(pthread_t * out, const pthread_attr_t *attributes, void *(*run)(void *), void *context),
	(out, attributes, run, context))

#define WRAP_FALLOCATE(name)                                            \
	int __real_##name(int fd, int mode, off_t offset, off_t bytes); \
	int __wrap_##name(int fd, int mode, off_t offset, off_t bytes); \
	int __wrap_##name(int fd, int mode, off_t offset, off_t bytes)  \
	{                                                               \
		int error = strike(CALLS_SYSTEM, "fallocate", ENOSPC);  \
                                                                        \
		if (!error && bytes > atomic_load(&uninterrupted))      \
			error = fail("fallocate", EINTR);               \
		if (error) {                                            \
			errno = error;                                  \
			return -1;                                      \
		}                                                       \
		return __real_##name(fd, mode, offset, bytes);          \
	}

WRAP_FALLOCATE(fallocate)
WRAP_FALLOCATE(fallocate64)

static int strike_fcntl(int command)
{
	switch (command) {
	case F_DUPFD_CLOEXEC:
		return strike(CALLS_SYSTEM, "fcntl(F_DUPFD_CLOEXEC)", EMFILE);
	case F_ADD_SEALS:
		return strike(CALLS_SYSTEM, "fcntl(F_ADD_SEALS)", EINVAL);
	case F_GET_SEALS:
		return strike(CALLS_SYSTEM, "fcntl(F_GET_SEALS)", EINVAL);
	case F_GETFL:
		return strike(CALLS_SYSTEM, "fcntl(F_GETFL)", EINVAL);
	default: /* F_SETFD, F_DUPFD_QUERY: whoever asks has another way */
		return strike(CALLS_SYSTEM, "fcntl", EINVAL);
	}
}

/* Those with a variable number of arguments, of which the kernel takes one register. */
#define WRAP_FCNTL(name)                                     \
	int __real_##name(int fd, int command, ...);         \
	int __wrap_##name(int fd, int command, ...);         \
	int __wrap_##name(int fd, int command, ...)          \
	{                                                    \
		int error = strike_fcntl(command);           \
		va_list arguments;                           \
		void *argument;                              \
                                                             \
		va_start(arguments, command);                \
		argument = va_arg(arguments, void *);        \
		va_end(arguments);                           \
		if (error) {                                 \
			errno = error;                       \
			return -1;                           \
		}                                            \
		return __real_##name(fd, command, argument); \
	}

#define WRAP_OPEN(name)                                           \
	int __real_##name(const char *path, int flags, ...);      \
	int __wrap_##name(const char *path, int flags, ...);      \
	int __wrap_##name(const char *path, int flags, ...)       \
	{                                                         \
		int error = strike(CALLS_SYSTEM, "open", EMFILE); \
		va_list arguments;                                \
		int mode;                                         \
                                                                  \
		va_start(arguments, flags);                       \
		mode = va_arg(arguments, int);                    \
		va_end(arguments);                                \
		if (error) {                                      \
			errno = error;                            \
			return -1;                                \
		}                                                 \
		return __real_##name(path, flags, mode);          \
	}

WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)
WRAP_OPEN(open)
WRAP_OPEN(open64)

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	strike(CALLS_HARMLESS, "close", 0);
	return __real_close(fd);
}

int __real_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes)
{
	strike(CALLS_HARMLESS, "munmap", 0);
	return __real_munmap(address, bytes);
}

static void *allocated(void *pointer)
{
	if (pointer)
		atomic_fetch_add(&live, 1);
	return pointer;
}

static bool allocation_fails(const char *name)
{
	int error = strike(CALLS_ALLOCATIONS, name, ENOMEM);

	if (error)
		errno = error;
	return error != 0;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return allocation_fails("malloc") ? NULL : allocated(__real_malloc(bytes));
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails("calloc") ? NULL : allocated(__real_calloc(count, bytes));
}

void *__real_realloc(void *pointer, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes)
{
	void *moved;

	if (allocation_fails("realloc"))
		return NULL;
	moved = __real_realloc(pointer, bytes);
	return pointer ? moved : allocated(moved);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return allocation_fails("aligned_alloc")
		? NULL
		: allocated(__real_aligned_alloc(alignment, bytes));
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return allocation_fails("strdup") ? NULL : allocated(__real_strdup(text));
}

void __real_free(void *pointer);
void __wrap_free(void *pointer);
void __wrap_free(void *pointer)
{
	if (pointer)
		atomic_fetch_sub(&live, 1);
	__real_free(pointer);
}
