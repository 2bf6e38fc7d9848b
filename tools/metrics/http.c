/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - answers GET /metrics, and nothing else, see metrics.h
 *
 * libmicrohttpd reads requests in a thread of its own. It ends a connection that is silent for
 * SILENCE_S; a client that sends a byte now and then would keep its connection all the same, so the
 * main thread shuts down those that are older than CONNECTION_S. A connection has one answer.
 *
 * Every user of this machine can connect to a port, and would keep others out with connections that
 * are silent for less than that. So if there are CONNECTIONS, a new one ends the oldest.
 *
 * If a web page in a browser of this machine asks, under a name that its owner has pointed at the
 * loopback address, the Host says so, and the request is refused.
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/say.h"

#define CONNECTIONS  64
#define CLOSING      64 /* connections that were ended, and that the library has not closed yet */
#define SILENCE_S    5
#define CONNECTION_S 20
#define MEMORY_BYTES 16384 /* of one connection */
#define NS_PER_S     UINT64_C(1000000000)

/* The connections that there are; the lock guards all of it. */
struct connections {
	pthread_mutex_t lock;
	struct entry {
		struct MHD_Connection *connection; /* NULL: free */
		uint64_t since_ns;
		int fd; /* -1: not known */
	} entries[CONNECTIONS];
};

struct http {
	struct scraper *scraper;
	struct connections connections;
	bool is_local_name_needed; /* it listens at an address, so the Host must be that */
};

/* --- how long connections last --- */

static void entry_end(const struct entry *entry)
{
	if (entry->connection && entry->fd >= 0)
		shutdown(entry->fd, SHUT_RDWR);
}

/* Return: a free entry, or that of the oldest connection, which is ended. */
static struct entry *entry_make_room(struct connections *connections)
{
	struct entry *oldest = &connections->entries[0];

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct entry *entry = &connections->entries[i];

		if (!entry->connection)
			return entry;
		if (entry->since_ns < oldest->since_ns)
			oldest = entry;
	}
	entry_end(oldest);
	return oldest;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
	enum MHD_ConnectionNotificationCode what)
{
	struct connections *connections = context;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection,
		MHD_CONNECTION_INFO_CONNECTION_FD);
	struct entry *entry = NULL;

	(void)own;
	pthread_mutex_lock(&connections->lock);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		entry = entry_make_room(connections);
		entry->connection = connection;
		entry->since_ns = link_now_ns();
		entry->fd = info ? info->connect_fd : -1;
	}
	for (size_t i = 0; !entry && i < CONNECTIONS; i++) {
		if (connections->entries[i].connection == connection)
			connections->entries[i].connection = NULL;
	}
	pthread_mutex_unlock(&connections->lock);
}

/* A socket is closed only after on_connection() was told of its end. */
static void connections_end_old(struct connections *connections)
{
	uint64_t now_ns = link_now_ns();

	pthread_mutex_lock(&connections->lock);
	for (size_t i = 0; i < CONNECTIONS; i++) {
		if (now_ns - connections->entries[i].since_ns > CONNECTION_S * NS_PER_S)
			entry_end(&connections->entries[i]);
	}
	pthread_mutex_unlock(&connections->lock);
}

/* --- answers --- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *text,
	size_t bytes, enum MHD_ResponseMemoryMode memory)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(bytes, text, memory);
	enum MHD_Result result;

	if (!response) {
		if (memory == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
		status == MHD_HTTP_OK ? "text/plain; version=0.0.4; charset=utf-8"
				      : "text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
	const char *text)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", text);
	return answer(connection, status, copy, strlen(copy), MHD_RESPMEM_MUST_COPY);
}

/* Whether a Host is a name of the loopback address, with any port or none. */
static bool is_local_name(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(host, names[i], length) && (host[length] == 0 || host[length] == ':'))
			return true;
	}
	return false;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
	const char *path, const char *method, const char *version, const char *data, size_t *size,
	void **own)
{
	struct http *http = context;
	char *text = NULL;
	size_t bytes = 0;

	(void)version;
	(void)data;
	(void)own;
	*size = 0; /* what a request brings is not read */
	if (http->is_local_name_needed &&
		!is_local_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
			MHD_HTTP_HEADER_HOST)))
		return answer_text(connection, MHD_HTTP_FORBIDDEN,
			"the Host is no name of this machine's loopback address\n");
	if (strcmp(path, "/metrics") != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (scraper_page(http->scraper, &text, &bytes) < 0)
		return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return answer(connection, MHD_HTTP_OK, text, bytes, MHD_RESPMEM_MUST_FREE);
}

/* --- start and end --- */

static void log_nothing(void *context, const char *format, va_list arguments)
{
	(void)context;
	(void)format;
	(void)arguments;
}

static struct MHD_Daemon *daemon_start(struct http *http, int fd)
{
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)(CONNECTIONS + CLOSING), MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, &http->connections, MHD_OPTION_END);
}

int http_serve(struct scraper *scraper, const char *where, unsigned int mode)
{
	struct http http = {.scraper = scraper};
	struct listener listener;
	struct MHD_Daemon *daemon;
	int code = listener_open(&listener, where, mode);

	if (code)
		return code;
	pthread_mutex_init(&http.connections.lock, NULL);
	http.is_local_name_needed = !listener.path;
	daemon = daemon_start(&http, listener.fd);
	if (!daemon) {
		listener_close(&listener);
		return refuse("cannot serve at %s: %s", where, strerror(errno));
	}
	while (interrupt_sleep(link_now_ns() + NS_PER_S))
		connections_end_old(&http.connections);
	listener_leave_path(&listener);
	MHD_stop_daemon(daemon); /* closes what it listened at */
	listener.fd = -1;
	listener_close(&listener);
	pthread_mutex_destroy(&http.connections.lock);
	return EXIT_DONE;
}
