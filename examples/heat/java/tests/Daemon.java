// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import heat.client.Steering;
import heat.client.SteeringStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A heatd of a test: the environment variable HEATD names the program. */
final class Daemon implements AutoCloseable {
	private static final AtomicInteger NAMES = new AtomicInteger();

	final String prefix;
	private Process process;

	/** Starts a daemon whose names no other test has, and waits until it answers. */
	Daemon(String... options) throws Exception {
		prefix = "java-heat" + NAMES.incrementAndGet();
		start(options);
	}

	/** Starts the daemon, again. It continues its simulation, unless it is told "--new". */
	void start(String... options) throws Exception {
		List<String> command = new ArrayList<>(List.of(System.getenv("HEATD"), "--name", prefix));
		command.addAll(List.of(options));
		process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
		Poll.until("the daemon answers", () -> {
			try {
				return status().pid() == process.pid();
			} catch (ExecutionException exception) {
				return false;
			}
		});
	}

	SteeringStatus status() throws Exception {
		try (Steering steering = new Steering(prefix)) {
			return steering.status().get(300, TimeUnit.SECONDS);
		}
	}

	void source(double x, double y, double radius, double temperature) throws Exception {
		try (Steering steering = new Steering(prefix)) {
			steering.source(x, y, radius, temperature).get(300, TimeUnit.SECONDS);
		}
	}

	void pause(boolean paused) throws Exception {
		try (Steering steering = new Steering(prefix)) {
			steering.pause(paused).get(300, TimeUnit.SECONDS);
		}
	}

	long pid() {
		return process.pid();
	}

	/** Ends it by SIGKILL. */
	void kill() throws InterruptedException {
		process.destroyForcibly().waitFor();
	}

	/** Ends it by SIGTERM, so that it drains. */
	void drain() throws InterruptedException {
		process.destroy();
		process.waitFor();
	}

	void signal(String name) throws IOException, InterruptedException {
		new ProcessBuilder("kill", "-" + name, Long.toString(pid())).start().waitFor();
	}

	@Override
	public void close() throws InterruptedException {
		kill();
	}
}
