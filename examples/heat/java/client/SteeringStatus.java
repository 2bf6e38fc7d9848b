// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import warpway.CallResults;

/**
 * What heatd says of itself.
 *
 * @param run of the simulation
 * @param step complete steps
 * @param time simulated seconds
 * @param rows of the field
 * @param columns of the field
 * @param diffusivity of the material
 * @param isPaused whether the simulation is paused
 * @param stepsPerSecond over the last second
 * @param restarts how often a daemon has continued this simulation
 * @param frames that this daemon has published
 * @param watchers consumers of the field
 * @param watchersMax at one time
 * @param pid of the daemon
 * @param started when the daemon was started
 * @param backend what computes: "openmp", "c" or "gpu"
 */
public record SteeringStatus(long run, long step, double time, long rows, long columns,
		double diffusivity, boolean isPaused, double stepsPerSecond, long restarts, long frames,
		long watchers, long watchersMax, long pid, Instant started, String backend) {
	static SteeringStatus of(CallResults results) {
		long startedNs = number(results, 13);
		return new SteeringStatus(number(results, 0), number(results, 1), real(results, 2),
				number(results, 3), number(results, 4), real(results, 5), (Boolean) results.get(6),
				real(results, 7), number(results, 8), number(results, 9), number(results, 10),
				number(results, 11), number(results, 12),
				Instant.ofEpochSecond(startedNs / 1_000_000_000, startedNs % 1_000_000_000),
				new String((byte[]) results.get(14), StandardCharsets.UTF_8));
	}

	private static long number(CallResults results, int index) {
		return ((Number) results.get(index)).longValue();
	}

	private static double real(CallResults results, int index) {
		return ((Number) results.get(index)).doubleValue();
	}
}
