// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import warpway.Broker;
import warpway.CallResults;
import warpway.Client;
import warpway.RemoteFunction;
import warpway.Status;
import warpway.WarpwayException;

/**
 * Steers heatd by its service. Each method returns at once: the calls are made one after the other
 * in a thread of their own. Each call finds the service anew, so that it is that of the daemon
 * which runs now.
 */
public final class Steering implements AutoCloseable {
	private static final Duration LIMIT = Duration.ofSeconds(5);
	private static final Duration FIND_LIMIT = Duration.ofSeconds(1);

	private final String name;
	private final ExecutorService calls = Executors.newSingleThreadExecutor(task -> {
		Thread thread = new Thread(task, "heat-steering");
		thread.setDaemon(true);
		return thread;
	});

	/**
	 * Makes it; nothing is opened yet.
	 *
	 * @param prefix of the names of heatd, such as "heat"
	 */
	public Steering(String prefix) {
		name = prefix + "/steer";
	}

	/** Ends the thread; a call that runs is cancelled. */
	@Override
	public void close() {
		calls.shutdownNow();
	}

	private <R> R call(String function, Function<CallResults, R> take, Object... arguments)
			throws InterruptedException {
		try (Broker broker = Broker.open(null, false, Duration.ZERO);
				Client client = Client.get(broker, name, FIND_LIMIT)) {
			RemoteFunction remote = client.find(function, null, FIND_LIMIT);
			try (CallResults results = remote.call(LIMIT, arguments)) {
				return take.apply(results);
			}
		} catch (WarpwayException exception) {
			if (exception.status() == Status.TIMED_OUT) {
				throw new WarpwayException(Status.TIMED_OUT, "No daemon answers as " + name
						+ " now, so '" + function + "' was not done: " + exception.getMessage());
			}
			throw exception;
		}
	}

	private <R> CompletableFuture<R> start(String function, Function<CallResults, R> take,
			Object... arguments) {
		try {
			return CompletableFuture.supplyAsync(() -> {
				try {
					return call(function, take, arguments);
				} catch (InterruptedException exception) {
					throw new CompletionException(exception);
				}
			}, calls);
		} catch (RejectedExecutionException exception) {
			return CompletableFuture.failedFuture(new IllegalStateException(
					"this program is ending, so '" + function + "' was not done"));
		}
	}

	private CompletableFuture<Void> start(String function, Object... arguments) {
		return start(function, results -> null, arguments);
	}

	/**
	 * Says in a sentence why a call has failed.
	 *
	 * @param failure with which its future was completed
	 * @return for a person
	 */
	public static String sentence(Throwable failure) {
		return Sentences.of(failure instanceof CompletionException && failure.getCause() != null
				? failure.getCause() : failure);
	}

	/**
	 * Asks how the daemon is.
	 *
	 * @return its answer
	 */
	public CompletableFuture<SteeringStatus> status() {
		return start("status", SteeringStatus::of, new Object[0]);
	}

	/**
	 * Stops the steps, or lets them go on.
	 *
	 * @param paused whether there shall be no steps
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> pause(boolean paused) {
		return start("pause", paused);
	}

	/**
	 * Holds cells at a temperature.
	 *
	 * @param x 0 left to 1 right
	 * @param y 0 top to 1 bottom
	 * @param radius of the source; the field is 1 wide
	 * @param temperature of the cells within the radius
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> source(double x, double y, double radius, double temperature) {
		return start("source", x, y, radius, temperature);
	}

	/**
	 * Removes all sources.
	 *
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> clearSources() {
		return start("clear_sources");
	}

	/**
	 * Sets all cells to 0.
	 *
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> reset() {
		return start("reset");
	}

	/**
	 * Sets the material and the speed.
	 *
	 * @param diffusivity of the material
	 * @param stepsPerSecondMax 0: as fast as the daemon can; -1: as it is
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> parameters(double diffusivity, double stepsPerSecondMax) {
		return start("parameters", diffusivity, stepsPerSecondMax);
	}

	/**
	 * Sets how many cells the field has.
	 *
	 * @param rows from top to bottom
	 * @param columns from left to right
	 * @return completed when it is done
	 */
	public CompletableFuture<Void> resolution(int rows, int columns) {
		return start("resolution", rows, columns);
	}

	/**
	 * Ends the daemon.
	 *
	 * @return completed when the daemon has answered
	 */
	public CompletableFuture<Void> stop() {
		return start("stop");
	}
}
