/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape.c - asks the broker, see metrics.h
 *
 * A broker that is restarted is found again by the library. One that does not answer is a result:
 * warpway_up is 0.
 */
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "common/child_link.h"

#define NS_PER_S   UINT64_C(1000000000)
#define PATIENCE_S 2 /* for each answer of the broker; Prometheus waits for 10 s by default */

void scraper_init(struct scraper *scraper, const char *address)
{
	*scraper = (struct scraper){.address = address};
	pthread_mutex_init(&scraper->lock, NULL);
	view_init(&scraper->labels.view);
}

void scraper_fini(struct scraper *scraper)
{
	ww_broker_unref(scraper->broker);
	free(scraper->text);
	pthread_mutex_destroy(&scraper->lock);
}

/* Return: whether there is a connection. */
static bool scraper_connect(struct scraper *scraper)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.timeout_ns = PATIENCE_S * NS_PER_S,
		.address = scraper->address,
	};

	return scraper->broker || ww_broker_open(&params, &scraper->broker) == WW_OK;
}

static void scraper_ask(struct scraper *scraper, struct sample *sample)
{
	ww_status status;

	sample->info = WW_INIT(struct ww_broker_info);
	sample->all = WW_INIT(struct ww_broker_totals);
	if (!scraper_connect(scraper))
		return;
	status = ww_totals_create(scraper->broker, &sample->totals);
	if (status == WW_OK)
		status = ww_totals_broker(sample->totals, &sample->all);
	if (status == WW_OK || status == WW_ERR_UNSUPPORTED)
		sample->answers = ww_broker_info_get(scraper->broker, &sample->info) == WW_OK;
	if (sample->answers)
		return;
	sample->totals = ww_totals_free(sample->totals);
	scraper->broker = ww_broker_unref(scraper->broker);
}

static int scraper_make(struct scraper *scraper)
{
	struct sample sample = {.totals = NULL};
	char *text = NULL;
	size_t bytes = 0;
	int code;

	scraper_ask(scraper, &sample);
	code = exposition_make(&scraper->labels, &sample, &text, &bytes);
	ww_totals_free(sample.totals);
	if (code < 0)
		return -1;
	free(scraper->text);
	scraper->text = text;
	scraper->bytes = bytes;
	scraper->made_ns = link_now_ns();
	return 0;
}

int scraper_page(struct scraper *scraper, char **out_text, size_t *out_bytes)
{
	int code = 0;

	*out_text = NULL;
	pthread_mutex_lock(&scraper->lock);
	if (!scraper->text || link_now_ns() - scraper->made_ns >= NS_PER_S)
		code = scraper_make(scraper);
	if (code == 0) {
		*out_text = malloc(scraper->bytes + 1);
		if (*out_text)
			memcpy(*out_text, scraper->text, scraper->bytes + 1);
		*out_bytes = scraper->bytes;
		code = *out_text ? 0 : -1;
	}
	pthread_mutex_unlock(&scraper->lock);
	return code;
}
