// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Messages of the library tell what to call or to set by names of C. This tells the same by names
 * of Java. A name that is not here has none in Java, and stays.
 */
final class JavaNames {
	/** C on the left; a method or a constant of a class of this package on the right. */
	private static final String TABLE = """
			WW_ACCESS_READ                        Access.READ
			WW_ACCESS_WRITE                       Access.WRITE
			WW_CONSUMER_REATTACH                  ConsumerOptions.reattach
			WW_LIFE_KEPT                          Life.KEPT
			WW_LIFE_OWNER                         Life.OWNER
			WW_MEMORY_HOST                        MemoryKind.HOST
			WW_MEMORY_VMM                         MemoryKind.VMM
			WW_PUT_REPLACE                        PutOptions.replace
			WW_STATE_SEALED                       ObjectState.SEALED
			WW_STATE_SHARED                       ObjectState.SHARED
			WW_STATE_WRITING                      ObjectState.WRITING
			ww_array_index                        Layout.index
			ww_channel_acquire                    Producer.acquire
			ww_channel_consumer_info_get          Channel.consumers
			ww_channel_discard                    Slot.close
			ww_channel_next_event                 Channel.nextEvent
			ww_channel_params.metadata_type       ChannelOptions.metadata
			ww_channel_publish                    Slot.publish
			ww_channel_receive                    Consumer.receive
			ww_channel_release                    Frame.close
			ww_channel_wait_any                   Channel.awaitAny
			ww_client_lane_timeline               Client.laneTimeline
			ww_event_synchronize                  Event.synchronize
			ww_export_params.escrow_ns            ExportOptions.escrow
			ww_export_params.offset               ExportOptions.span
			ww_function_params.batch_calls_max    Service.offerBatch
			ww_function_params.batch_wait_ns      Service.offerBatch
			ww_in_flight_limit                    Warpway.limitInFlight
			ww_in_flight_revoke                   Broker.revokeInFlight
			ww_memory_copy_in                     Memory.write
			ww_memory_create                      Memory.create
			ww_memory_export                      Memory.export
			ww_memory_import                      Memory.open
			ww_memory_put                         Memory.put
			ww_memory_unref                       Memory.close
			ww_pool_import                        Pool.open
			ww_service_offer                      Service.offer
			ww_service_offer_batch                Service.offerBatch
			ww_service_params.builtin             ServiceOptions.builtinData
			ww_service_params.calls_max           ServiceOptions.callsMax
			ww_service_params.version             ServiceOptions.version
			ww_service_start                      Service.start
			ww_stream_copy                        Stream.copy
			ww_stream_create                      Stream.create
			ww_work_queue_acknowledge             WorkFrame.acknowledge
			ww_work_queue_acquire                 WorkQueue.acquire
			ww_work_queue_discard                 Slot.close
			ww_work_queue_params.metadata_type    WorkQueueOptions.metadata
			ww_work_queue_publish                 Slot.publish
			ww_work_queue_receive                 WorkQueue.receive
			ww_work_queue_reject                  WorkFrame.close
			""";
	private static final Map<String, String> NAMES = new TreeMap<>();
	private static final Pattern NAME = Pattern.compile(
			"ww_[a-z_]+(\\.[a-z_]+)?|WW_[A-Z_]+");

	static {
		TABLE.lines().map(line -> line.split(" +")).forEach(names ->
				NAMES.put(names[0], names[1]));
	}

	private JavaNames() {
	}

	/** What the table has; tests compare it with the classes. */
	static Map<String, String> table() {
		return NAMES;
	}

	/** The same message with the names of Java. */
	static String in(String message) {
		return NAME.matcher(message).replaceAll(name -> Matcher.quoteReplacement(
				NAMES.getOrDefault(name.group(), name.group())));
	}
}
