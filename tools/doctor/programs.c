/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs.c - the broker's program, the shared library, Python and MPI: what is there, of which
 * version
 *
 * This tool has a library of its own inside. The one that other programs are linked with is loaded
 * in a child, `warpway doctor-child library`.
 */
#include "doctor/doctor.h"
#include "doctor/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/find_program.h"
#include "warpway/mpi_program.h"

#define DAEMON_TRIAL    0
#define PYTHON_TRIAL    1
#define LIBRARY_TRIAL   2
#define LIMIT_NS        (UINT64_C(5) * 1000000000)
#define EXIT_NO_PACKAGE 3
#define LIBRARY         "libwarpway.so.0"

/* The folder that this runs in is anybody's: nothing is imported from there. */
static const char python_text[] = "import sys\n"
				  "sys.path = [entry for entry in sys.path if entry]\n"
				  "try:\n"
				  "    import warpway\n"
				  "except ModuleNotFoundError as error:\n"
				  "    if error.name != 'warpway':\n"
				  "        raise\n"
				  "    sys.exit(3)\n"
				  "print(warpway.library_version(), warpway.__file__)\n";

/* The tool of a wheel lies in a virtual environment, which need not be the active one. */
static void python_find(char *out_path, size_t room)
{
	char settings[PROGRAM_PATH_BYTES];
	const char *slash;

	program_find("python3", out_path, room);
	slash = strrchr(out_path, '/');
	if (!slash)
		return;
	snprintf(settings, sizeof(settings), "%.*s/../pyvenv.cfg", (int)(slash - out_path),
		out_path);
	if (access(settings, F_OK) < 0)
		snprintf(out_path, room, "python3");
}

void doctor_programs_start(const struct doctor *doctor, struct trial trials[DOCTOR_PROGRAMS])
{
	char daemon[PROGRAM_PATH_BYTES];
	uint64_t limit_ns = doctor->time_limit_ns < LIMIT_NS ? doctor->time_limit_ns : LIMIT_NS;
	char python[PROGRAM_PATH_BYTES];
	const char *const python_argv[] = {python, "-c", python_text, NULL};
	const char *const library_argv[] = {"/proc/self/exe", "doctor-child", "library", NULL};
	const char *daemon_argv[] = {daemon, "--version", NULL};

	daemon_find(daemon, sizeof(daemon));
	python_find(python, sizeof(python));
	trial_start(&trials[DAEMON_TRIAL], daemon_argv, limit_ns);
	trial_start(&trials[PYTHON_TRIAL], python_argv, limit_ns);
	trial_start(&trials[LIBRARY_TRIAL], library_argv, limit_ns);
}

/* "warpwayd 0.2.0" */
static void read_daemon(struct doctor *doctor, const struct trial *trial)
{
	char *output = trial_output(trial);
	char program[PROGRAM_PATH_BYTES];
	char version[64];
	char ended[128];

	daemon_find(program, sizeof(program));
	trial_end_text(trial, ended, sizeof(ended));
	if (trial->end != TRIAL_DONE)
		result_add(&doctor->results, "broker-program", STATE_FAILS, NULL, "%s %s", program,
			ended);
	else if (sscanf(output, DAEMON " %63s", version) != 1)
		result_add(&doctor->results, "broker-program", STATE_FAILS, NULL,
			"%s does not say its version", program);
	else if (strcmp(version, ww_version()) != 0)
		result_add(&doctor->results, "broker-program", STATE_LIMITED, "version",
			"%s is version %s, this is %s", program, version, ww_version());
	else
		result_add(&doctor->results, "broker-program", STATE_WORKS, NULL, "%s, version %s",
			program, version);
	free(output);
}

/* The last line that is not empty: of Python's message it says the most. */
static void last_line(char *text, char *out_line, size_t room)
{
	char *line, *rest = text;

	out_line[0] = 0;
	while ((line = strsep(&rest, "\n"))) {
		if (line[0])
			text_clean(line, out_line, room);
	}
}

static void read_python_error(struct doctor *doctor, const struct trial *trial)
{
	char *errors = trial_errors(trial);
	char said[200];
	char ended[128];

	last_line(errors, said, sizeof(said));
	trial_end_text(trial, ended, sizeof(ended));
	result_add(&doctor->results, "python", STATE_FAILS, "broken",
		"the package is there, but python3 %s%s%s", ended, said[0] ? ": " : "", said);
	free(errors);
}

static void read_python(struct doctor *doctor, const struct trial *trial)
{
	char *output = trial_output(trial);
	char python[PROGRAM_PATH_BYTES];
	char version[64] = "";
	char file[256] = "";

	python_find(python, sizeof(python));
	if (trial->end == TRIAL_NOT_STARTED && trial->number == ENOENT)
		result_add(&doctor->results, "python", STATE_SKIPPED, "none",
			"there is no python3");
	else if (trial->end == TRIAL_FAILED && trial->number == EXIT_NO_PACKAGE)
		result_add(&doctor->results, "python", STATE_SKIPPED, "none",
			"%s has no package warpway; if it is wanted, install python3-warpway or "
			"the wheel, or pip install . in the folder of Warpway's sources",
			python);
	else if (trial->end != TRIAL_DONE || sscanf(output, "%63s %255[^\n]", version, file) != 2)
		read_python_error(doctor, trial);
	else if (strcmp(version, ww_version()) != 0)
		result_add(&doctor->results, "python", STATE_LIMITED, "version",
			"%s uses the library %s, this is %s", file, version, ww_version());
	else
		result_add(&doctor->results, "python", STATE_WORKS, NULL, "%s, library %s", file,
			version);
	free(output);
}

static void read_library(struct doctor *doctor, const struct trial *trial)
{
	char *output = trial_output(trial);
	char version[64] = "";
	char path[256] = "";
	char ended[128];
	bool is_read = sscanf(output, "%63s %255[^\n]", version, path) == 2;

	trial_end_text(trial, ended, sizeof(ended));
	if (trial->end == TRIAL_FAILED && trial->number == EXIT_NO_PACKAGE)
		result_add(&doctor->results, "library", STATE_SKIPPED, "none",
			LIBRARY " is not found; only programs that are linked with it need it");
	else if (trial->end != TRIAL_DONE || !is_read)
		result_add(&doctor->results, "library", STATE_FAILS, "broken",
			"a process that loads " LIBRARY " %s%s%s", ended, output[0] ? ": " : "",
			output);
	else
		result_add(&doctor->results, "library",
			strcmp(version, ww_version()) != 0 ? STATE_LIMITED : STATE_WORKS, NULL,
			"%s, version %s", path, version);
	free(output);
}

/* Prints the version of the library that programs are linked with, and its path. */
int child_library(int argc, char *argv[])
{
	void *library = argc == 1 ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
	const char *(*version)(void) = NULL;
	Dl_info info;

	(void)argv;
	if (argc != 1)
		return EXIT_CANNOT;
	if (!library) {
		const char *reason = dlerror();

		if (strstr(reason, "No such file"))
			return EXIT_NO_PACKAGE;
		printf("%s", reason);
		return EXIT_FAILED;
	}
	*(void **)&version = dlsym(library, "ww_version");
	if (!version || !dladdr((void *)version, &info)) {
		printf("it has no ww_version()");
		return EXIT_FAILED;
	}
	printf("%s %s\n", version(), info.dli_fname);
	return EXIT_DONE;
}

void doctor_programs_read(struct doctor *doctor, struct trial trials[DOCTOR_PROGRAMS])
{
	trial_wait_all(trials, DOCTOR_PROGRAMS);
	if (trials[DAEMON_TRIAL].end == TRIAL_INTERRUPTED)
		return;
	read_daemon(doctor, &trials[DAEMON_TRIAL]);
	read_library(doctor, &trials[LIBRARY_TRIAL]);
	read_python(doctor, &trials[PYTHON_TRIAL]);
	doctor_keep_errors(doctor, "python3", &trials[PYTHON_TRIAL]);
}

/* --- MPI --- */

/* The first file of that name in PATH, with its links followed. */
static bool find_launcher(const char *name, char out_path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];

	while (folders && *folders) {
		int length = (int)strcspn(folders, ":");

		if (snprintf(path, sizeof(path), "%.*s/%s", length, folders, name) <
				(int)sizeof(path) &&
			!access(path, X_OK) && realpath(path, out_path))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* Launchers are not linked with the MPI: their names tell. */
static enum mpi_abi launcher_abi(const char *path)
{
	const char *name = strrchr(path, '/');

	if (strstr(name, "openmpi") || strstr(name, "orterun") || strstr(name, "prterun") ||
		strstr(path, "openmpi"))
		return MPI_ABI_OPENMPI;
	if (strstr(name, "mpich") || strstr(name, "hydra"))
		return MPI_ABI_MPICH;
	return mpi_abi_linked(path);
}

static void check_launcher(struct doctor *doctor, const char *path)
{
	enum mpi_abi abi = launcher_abi(path);
	char library[PATH_MAX];
	char real[PATH_MAX];

	if (abi == MPI_ABI_UNKNOWN)
		result_add(&doctor->results, "mpi", STATE_LIMITED, NULL,
			"%s is of an MPI that Warpway does not know", path);
	else if (!mpi_library_find(abi, library, sizeof(library)) || !realpath(library, real))
		result_add(&doctor->results, "mpi", STATE_LIMITED, NULL,
			"%s, and there is no libwarpway_mpi_%s", path, mpi_abi_name(abi));
	else
		result_add(&doctor->results, "mpi", STATE_WORKS, NULL, "%s, with %s", path, real);
}

void doctor_mpi(struct doctor *doctor)
{
	static const char *const names[] = {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra",
		"mpirun.mpich"};
	char seen[5][PATH_MAX];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool known = false;

		if (!find_launcher(names[i], seen[count]))
			continue;
		for (size_t j = 0; j < count; j++)
			known = known || !strcmp(seen[j], seen[count]);
		if (!known)
			check_launcher(doctor, seen[count++]);
	}
	if (count == 0)
		result_add(&doctor->results, "mpi", STATE_SKIPPED, "none",
			"no launcher (mpirun, mpiexec) is in PATH");
}
