/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_option.c - options of a name in a broker: who may open what it names
 */
#include "warpway/name_option.h"

#include <grp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "common/say.h"

int name_take_mode(void *place, const char *text)
{
	size_t length = strspn(text, "01234567");
	uint32_t mode = 0;

	for (size_t i = 0; i < length && mode <= 0777; i++)
		mode = 8 * mode + (uint32_t)(text[i] - '0');
	if (text[length] || mode == 0 || mode > 0777)
		return refuse("'--mode %s': an octal number from 1 to 777 is needed, such as 0640",
			text);
	*(uint32_t *)place = mode;
	return 0;
}

/* Group 0 means the caller's own in the call, so it can be named only by those it is. */
int name_take_group(void *place, const char *text)
{
	const struct group *group = getgrnam(text);
	uint64_t gid;

	if (group)
		gid = group->gr_gid;
	else if (!number_parse(text, 0, UINT32_MAX - 1, &gid))
		return refuse("'--group %s': there is no such group", text);
	if (gid == 0 && getegid() != 0)
		return refuse("'--group %s': group 0 is not yours to give an object to", text);
	*(uint32_t *)place = (uint32_t)gid;
	return 0;
}
