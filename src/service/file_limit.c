/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_limit.c - how many descriptors a server may have, see file_limit.h
 */
#include "service/file_limit.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/fd.h"

#define COME 4 /* with a client: its signal page, requests and replies, and the pidfd */
#define KEPT 2
/* Those of a request to the broker, and one that the caller may need meanwhile. */
#define TRIED (COME + 2)

/* The limit with which there is room for all clients that the service may have. */
static uint32_t wanted(const struct ww_service *service)
{
	uint64_t more = COME + (uint64_t)KEPT * (service->form.clients_max - service->client_count);
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > UINT32_MAX - more)
		return UINT32_MAX;
	return (uint32_t)(limit.rlim_cur + more);
}

bool ww_service_file_limit_look(struct ww_service *service)
{
	bool has_room;
	int fds[TRIED];
	int count = 0;

	while (count < TRIED && (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		ww_fd_close(fds[i]);
	has_room = count == TRIED;

	__atomic_store_n(&service->page.header->files_wanted, has_room ? 0 : wanted(service),
		__ATOMIC_RELEASE);
	return has_room;
}

void ww_service_file_limit_look_again(struct ww_service *service)
{
	if (__atomic_load_n(&service->page.header->files_wanted, __ATOMIC_RELAXED))
		(void)ww_service_file_limit_look(service);
}
