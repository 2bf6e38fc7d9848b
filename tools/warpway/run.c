/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `warpway run`: becomes a program, with a library of ours loaded before the others
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/say.h"
#include "warpway/mpi_program.h"
#include "warpway/verbs.h"

#define EXIT_NOT_STARTED 127

static const char help[] =
	"Usage: warpway run --mpi[=NAME] [--] PROGRAM [ARGUMENT...]\n\n"
	"Starts PROGRAM so that its MPI calls take device pointers, as those of a CUDA-aware MPI do:\n\n"
	"  mpirun -n 4 warpway run --mpi -- ./program\n\n"
	"  --mpi        with the library for the MPI that PROGRAM is linked with; else for that of the\n"
	"               launcher (mpirun, mpiexec)\n"
	"  --mpi=NAME   for Open MPI (openmpi) or MPICH (mpich)\n\n"
	"Variables: WARPWAY_MPI_REPORT=1 prints at MPI_Finalize() what was staged; WARPWAY_MPI_STAGING=4G\n"
	"bounds the pinned memory of a rank (default: a quarter of the machine's memory);\n"
	"WARPWAY_MPI_ROUTE=staged stages all; =direct sends large messages inside a node from GPU to GPU,\n"
	"even if the MPI takes device pointers itself; =auto, the default, does so if the MPI does not;\n"
	"=mpi gives the MPI the pointers, though it may not say that it takes them;\n"
	"WARPWAY_MPI_COLLECTIVES=direct does so with broadcasts, reductions and the like, too;\n"
	"=hierarchical, to be set in all ranks, also has broadcasts and sums go node by node;\n"
	"WARPWAY_MPI_LIBRARY names another file than the installed one.\n"
	"Exit codes: the program's; 2 wrong use, or no library for its MPI; 127 it cannot be started.\n";

static int take_mpi(const char *argument, const char *program, enum mpi_abi *out_abi)
{
	const char *name = strchr(argument, '=');

	if (name) {
		enum mpi_abi linked = mpi_abi_linked(program);

		*out_abi = mpi_abi_find(name + 1);
		if (!*out_abi)
			return refuse("--mpi=%s: the MPIs are openmpi and mpich", name + 1);
		return !linked || linked == *out_abi
			? 0
			: refuse("--mpi=%s: %s is linked with %s", name + 1, program,
				  mpi_abi_name(linked));
	}
	*out_abi = mpi_abi_of(program);
	return *out_abi
		? 0
		: refuse("cannot tell which MPI %s uses: it is linked with none, and no mpirun "
			 "started it; say --mpi=openmpi or --mpi=mpich",
			  program);
}

static int preload(enum mpi_abi abi)
{
	const char *others = getenv("LD_PRELOAD");
	const char *named = getenv("WARPWAY_MPI_LIBRARY");
	char path[4096];
	char all[8192];

	if (!mpi_library_find(abi, path, sizeof(path)))
		return named && *named
			? refuse("cannot read %s, which WARPWAY_MPI_LIBRARY names: name another file, "
				 "or unset it",
				  named)
			: refuse("there is no libwarpway_mpi_%s: build Warpway where the headers of "
				 "that MPI are installed, or name the file by WARPWAY_MPI_LIBRARY",
				  mpi_abi_name(abi));
	if (snprintf(all, sizeof(all), "%s%s%s", path, others && *others ? ":" : "",
		    others ? others : "") >= (int)sizeof(all))
		return refuse("LD_PRELOAD is too long");
	setenv("LD_PRELOAD", all, 1);
	return 0;
}

int verb_run(int argc, char *argv[])
{
	const char *mpi = NULL;
	enum mpi_abi abi;
	int i = 1;
	int code;

	for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help, stdout);
			return EXIT_DONE;
		}
		if (strcmp(argv[i], "--mpi") != 0 && strncmp(argv[i], "--mpi=", 6) != 0)
			return refuse("unknown option '%s'; see `warpway run --help`", argv[i]);
		mpi = argv[i];
	}
	i += i < argc && !strcmp(argv[i], "--");
	if (i >= argc)
		return refuse("a program is missing; see `warpway run --help`");
	if (!mpi_program_is_there(argv[i])) {
		refuse("cannot start %s: there is no such file", argv[i]);
		return EXIT_NOT_STARTED;
	}
	if (!mpi)
		return refuse(
			"say --mpi, to start PROGRAM so that its MPI calls take device pointers; see "
			"`warpway run --help`");
	code = take_mpi(mpi, argv[i], &abi);
	if (code == 0)
		code = preload(abi);
	if (code)
		return code;
	execvp(argv[i], argv + i);
	refuse("cannot start %s: %s", argv[i], strerror(errno));
	return EXIT_NOT_STARTED;
}
