/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.c - helpers in containers, see container.h
 */
#include "support/container.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/namespace.h"
#include "support/broker_case.h"

#define INSIDE "/broker"

bool container_enter(int count, char **arguments)
{
	struct namespace_plan plan = {.inside = INSIDE};
	const char *failure;

	MUST(count >= 1);
	plan.outside = arguments[0];
	plan.other_user = count > 1;
	/* What a container would bring along: the driver. */
	(void)dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	failure = namespace_enter(&plan);
	role_tell("%s", failure ? failure : "inside");
	if (failure)
		return false;
	MUST_EQUAL(1, getpid());
	MUST(access(INSIDE "/broker.sock", F_OK) == 0);
	MUST(access("/dev/shm", F_OK) != 0 && access("/tmp", F_OK) != 0);
	setenv("WARPWAY_BROKER", INSIDE "/broker.sock", 1);
	return true;
}

/* container_probe [user]: says whether there can be a container, and ends. */
ROLE(container_probe)
{
	struct namespace_plan plan = {.inside = INSIDE, .outside = "/tmp", .other_user = count > 0};
	const char *failure = namespace_enter(&plan);

	role_tell("%s", failure ? failure : "inside");
}

/* Before there is anything that a skipped case would leave behind. */
void container_require(const char *user)
{
	const char *const arguments[] = {user, NULL};
	char word[CHILD_WORD_BYTES];
	struct child probe;

	child_start(&probe, "container_probe", &(struct child_options){.arguments = arguments});
	child_hear_any(&probe, word);
	child_wait(&probe);
	if (strcmp(word, "inside"))
		check_skip("no container can be made here: %s", word);
}

void container_start(const char *role, struct child *helper, const char *user)
{
	const char *const arguments[] = {scene.daemon.folder, user, NULL};
	char word[CHILD_WORD_BYTES];

	child_start(helper, role, &(struct child_options){.arguments = arguments});
	child_hear_any(helper, word);
	if (strcmp(word, "inside"))
		FAIL("no container can be made now: %s", word);
}
