/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - where this process runs: container, WSL, namespaces
 *
 * The first namespaces of a machine have inode numbers that never change (the kernel's
 * include/linux/proc_ns.h). That of the network has none: there the first process of the PID
 * namespace is asked, where it may be.
 */
#include "doctor/doctor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FIRST_IPC  0xEFFFFFFFU
#define FIRST_USER 0xEFFFFFFDU
#define FIRST_PID  0xEFFFFFFCU

/* The begin of a small file; empty: it cannot be read. */
static void read_file(const char *path, char *out_text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, out_text, room - 1);

	out_text[count > 0 ? count : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* NULL: none. */
static const char *container_name(void)
{
	static const char *const marks[][2] = {{"docker", "Docker"}, {"kubepods", "Kubernetes"},
		{"libpod", "Podman"}, {"containerd", "containerd"}, {"/lxc", "LXC"}};
	const char *named = getenv("container");
	char groups[4096];

	if (!access("/run/.containerenv", F_OK))
		return "Podman";
	if (!access("/.dockerenv", F_OK))
		return "Docker";
	if (!access("/singularity", F_OK) || getenv("APPTAINER_CONTAINER"))
		return "Apptainer";
	read_file("/proc/1/cgroup", groups, sizeof(groups));
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (strstr(groups, marks[i][0]))
			return marks[i][1];
	}
	return named && named[0] ? "one that sets the variable \"container\"" : NULL;
}

static void check_container(struct doctor *doctor)
{
	const char *name = container_name();

	doctor->in_container = name;
	if (name)
		result_add(&doctor->results, "container", STATE_LIMITED, NULL,
			"this is a container: %s", name);
	else
		result_add(&doctor->results, "container", STATE_WORKS, NULL,
			"this is no container");
}

static void check_wsl(struct doctor *doctor)
{
	char version[512];

	read_file("/proc/version", version, sizeof(version));
	if (!access("/dev/dxg", F_OK) || strcasestr(version, "microsoft"))
		result_add(&doctor->results, "wsl", STATE_LIMITED, NULL,
			"this is WSL: GPUs are reached by /dev/dxg");
	else
		result_add(&doctor->results, "wsl", STATE_WORKS, NULL, "this is not WSL");
}

/* @first: its number on the machine; 0, for the network: there is none. */
static void check_namespace(struct doctor *doctor, const char *check, const char *name, ino_t first)
{
	char own_path[64];
	char first_path[64];
	struct stat own, other;
	bool is_first;

	snprintf(own_path, sizeof(own_path), "/proc/self/ns/%s", name);
	snprintf(first_path, sizeof(first_path), "/proc/1/ns/%s", name);
	if (stat(own_path, &own)) {
		result_add(&doctor->results, check, STATE_SKIPPED, NULL, "%s cannot be read",
			own_path);
		return;
	}
	if (!first && stat(first_path, &other)) {
		result_add(&doctor->results, check, STATE_SKIPPED, NULL,
			"%s cannot be read by this user, so it is not known whether the network is "
			"the machine's; sharing does not need it",
			first_path);
		return;
	}
	is_first = first ? own.st_ino == first : own.st_ino == other.st_ino;
	if (is_first)
		result_add(&doctor->results, check, STATE_WORKS, NULL, "%s",
			first ? "the machine's" : "that of the first process seen here");
	else
		result_add(&doctor->results, check, STATE_LIMITED, NULL,
			"a namespace of its own (%s)", own_path);
}

void doctor_place(struct doctor *doctor)
{
	struct utsname name;

	if (uname(&name) == 0)
		result_add(&doctor->results, "system", STATE_WORKS, NULL,
			"%s %s, %s, %ld processors", name.sysname, name.release, name.machine,
			sysconf(_SC_NPROCESSORS_ONLN));
	check_container(doctor);
	check_wsl(doctor);
	check_namespace(doctor, "pid-namespace", "pid", FIRST_PID);
	check_namespace(doctor, "user-namespace", "user", FIRST_USER);
	check_namespace(doctor, "ipc-namespace", "ipc", FIRST_IPC);
	check_namespace(doctor, "net-namespace", "net", 0);
}
