/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a consumer's side of a channel: what it has and holds
 */
#include "channel/consumer.h"

#include <stdlib.h>

#include "base/error.h"

ww_status ww_consumer_new(const struct ww_wire_channel_ref *form, struct ww_consumer **out_consumer)
{
	struct ww_consumer *consumer = calloc(1, sizeof(*consumer));

	if (consumer) {
		ww_consumers_init(&consumer->channel.consumers); /* so that it can be freed */
		ww_list_init(&consumer->former);
		consumer->held = calloc(form->held_max, sizeof(*consumer->held));
		consumer->releasing = calloc(form->held_max, sizeof(*consumer->releasing));
		consumer->next_slots = calloc(form->slot_count, sizeof(*consumer->next_slots));
	}
	if (!consumer || !consumer->held || !consumer->releasing || !consumer->next_slots) {
		ww_consumer_free(consumer);
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a channel: out of memory");
	}
	ww_ref_init(&consumer->channel.ref);
	consumer->channel.generation = 1;
	consumer->channel.form = *form;
	*out_consumer = consumer;
	return WW_OK;
}

/* Without `former` and `reattach`: of the consumer of a former producer, too, which has none. */
static void consumer_free_one(struct ww_consumer *consumer)
{
	if (consumer->marks.mapping) {
		ww_channel_marks_end(&consumer->marks);
		for (uint32_t i = 0; i < consumer->channel.form.held_max; i++) {
			if (consumer->held[i].frame)
				ww_channel_marks_release(&consumer->marks, i,
					consumer->held[i].slot, 0);
		}
		ww_channel_marks_wake(&consumer->marks, &consumer->channel.ring);
	}
	ww_channel_marks_fini(&consumer->marks);
	ww_channel_fini(&consumer->channel);
	ww_signal_map_unref(consumer->page);
	ww_peer_process_unref(consumer->process);
	free(consumer->next_slots);
	free(consumer->releasing);
	free(consumer->held);
	free(consumer);
}

void ww_consumer_free(struct ww_consumer *consumer)
{
	struct ww_list *link;

	if (!consumer)
		return;
	while ((link = ww_list_take_first(&consumer->former)))
		consumer_free_one(ww_container(link, struct ww_consumer, of_current));
	if (consumer->reattach)
		ww_device_unref(consumer->reattach->device);
	free(consumer->reattach);
	consumer_free_one(consumer);
}

uint32_t ww_consumer_held(const struct ww_consumer *consumer)
{
	uint32_t count = consumer->channel.held;

	ww_list_for_each (link, &consumer->former)
		count += ww_container(link, struct ww_consumer, of_current)->channel.held;
	return count;
}
