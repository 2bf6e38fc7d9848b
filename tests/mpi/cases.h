/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - the cases of the program mpi_calls, and the types that they share
 */
#ifndef TESTS_MPI_CASES_H
#define TESTS_MPI_CASES_H

#include "mpi_test.h"

struct test_case {
	const char *name;
	void (*run)(void);
};

extern const struct test_case p2p_cases[];
extern const struct test_case request_cases[];
extern const struct test_case type_cases[];
extern const struct test_case move_cases[];
extern const struct test_case reduce_cases[];

/* Elements of 3 ints, of which the first and the third are data; committed. */
MPI_Datatype gaps_type(void);

/* What there is in MPI 4 and Open MPI 5, and in Open MPI before that with another name. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define INIT(Name) MPI_##Name##_init
#else
#define INIT(Name) MPIX_##Name##_init
#endif

/* A collective in each of its forms. small and large: its arguments in parentheses, counts being
 * int or MPI_Count; they may be the same where there are no arrays. */
enum form {
	BLOCKING,
	NONBLOCKING,
	PERSISTENT,
	LARGE,
	LARGE_NONBLOCKING,
	LARGE_PERSISTENT
};

#if MPI_VERSION >= 4
#define FORMS 6
#else
#define FORMS 3
#endif

void wait_for(MPI_Request request);
void start(MPI_Request request);

#define UNPACK(...) __VA_ARGS__
#define CALL_SMALL(form, Name, Iname, small)                                    \
	do {                                                                    \
		MPI_Request request_;                                           \
		if ((form) == BLOCKING) {                                       \
			OK(MPI_##Name(UNPACK small));                           \
		} else if ((form) == NONBLOCKING) {                             \
			OK(MPI_##Iname(UNPACK small, &request_));               \
			wait_for(request_);                                     \
		} else if ((form) == PERSISTENT) {                              \
			OK(INIT(Name)(UNPACK small, MPI_INFO_NULL, &request_)); \
			start(request_);                                        \
		}                                                               \
	} while (0)

#if MPI_VERSION >= 4
#define CALL(form, Name, Iname, small, large)                                             \
	do {                                                                              \
		MPI_Request request__;                                                    \
		CALL_SMALL(form, Name, Iname, small);                                     \
		if ((form) == LARGE) {                                                    \
			OK(MPI_##Name##_c(UNPACK large));                                 \
		} else if ((form) == LARGE_NONBLOCKING) {                                 \
			OK(MPI_##Iname##_c(UNPACK large, &request__));                    \
			wait_for(request__);                                              \
		} else if ((form) == LARGE_PERSISTENT) {                                  \
			OK(MPI_##Name##_init_c(UNPACK large, MPI_INFO_NULL, &request__)); \
			start(request__);                                                 \
		}                                                                         \
	} while (0)
#else
#define CALL(form, Name, Iname, small, large) CALL_SMALL(form, Name, Iname, small)
#endif

#endif
