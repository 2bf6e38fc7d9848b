/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the library's calls and the MPI's own
 *
 * MPI_Wtime() has no wrapper in the library, so it is in the MPI's file.
 */
#include "bench/mpi/job.h"

#include <dlfcn.h>

int calls_open(struct job *job)
{
	static const char *const names[] = {
#define CALLS_NAME(name) "MPI_" #name,
		CALLS(CALLS_NAME)
#undef CALLS_NAME
	};
	void **const bare[] = {
#define CALLS_PLACE(name) (void **)&job->bare.name,
		CALLS(CALLS_PLACE)
#undef CALLS_PLACE
	};
	void *clock = dlsym(RTLD_DEFAULT, "MPI_Wtime");
	void *library;
	Dl_info info;

#define CALLS_TAKE(name) job->ours.name = MPI_##name;
	CALLS(CALLS_TAKE)
#undef CALLS_TAKE
	if (!clock || !dladdr(clock, &info))
		return complain("cannot tell which file the MPI is");
	library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return complain("%s", dlerror());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*bare[i] = dlsym(library, names[i]);
		if (!*bare[i])
			return complain("%s has no %s", info.dli_fname, names[i]);
	}
	if (job->bare.Send == job->ours.Send)
		return complain("libwarpway_mpi is not loaded in front of %s", info.dli_fname);
	return 0;
}
