// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import warpway.Broker;
import warpway.ChannelInfo;
import warpway.ConsumerInfo;
import warpway.Device;
import warpway.ObjectInfo;
import warpway.Observer;
import warpway.Status;
import warpway.WarpwayException;

/** Says in a sentence what has failed. */
final class Sentences {
	private static final Duration LIMIT = Duration.ofSeconds(2);

	private static final int GROUP_READS = 040;

	private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");

	private Sentences() {
	}

	static String time(LocalTime time) {
		return TIME.format(time);
	}

	/** What the exception says, as a sentence: with a capital letter and a full stop. */
	static String of(Throwable exception) {
		String said = exception.getMessage() == null ? exception.toString()
				: exception.getMessage();
		if (exception instanceof WarpwayException failed && failed.status() == Status.NO_BROKER) {
			said = "No broker runs, and so no daemon: " + said;
		}
		boolean isEnded = said.endsWith(".") || said.endsWith("!") || said.endsWith("?");
		return Character.toUpperCase(said.charAt(0)) + said.substring(1) + (isEnded ? "" : ".");
	}

	/** A sentence that names who may watch, for a user who may not. */
	static String refused(Broker broker, String name, WarpwayException exception) {
		String said = "User " + System.getProperty("user.name") + " may not watch " + name;
		try {
			ObjectInfo info = broker.stat(name);
			String owner = "user " + idName("passwd", info.uid());
			return said + ": only " + ((info.mode() & GROUP_READS) != 0 ? "members of group "
					+ idName("group", info.gid()) + " and " + owner : owner) + " may.";
		} catch (WarpwayException unknown) {
			return said + ": " + exception.getMessage();
		}
	}

	/** The name of a user or a group, which Java cannot tell; the number if there is none. */
	private static String idName(String database, int id) {
		String number = Integer.toUnsignedString(id);
		try {
			Process process = new ProcessBuilder("getent", database, number).start();
			try (BufferedReader reader = process.inputReader()) {
				String line = reader.readLine();
				return line == null ? number : line.substring(0, line.indexOf(':'));
			}
		} catch (IOException | IndexOutOfBoundsException exception) {
			return number;
		}
	}

	/** A sentence that names the processes that have all places of a channel. */
	static String full(Device device, Broker broker, String name) throws InterruptedException {
		try (Observer observer = Observer.get(device, broker, name, LIMIT)) {
			ChannelInfo info = observer.info();
			Map<String, Integer> holders = new TreeMap<>();
			for (ConsumerInfo consumer : observer.consumers()) {
				holders.merge(consumer.program() + " (pid " + consumer.pid() + ", user "
						+ consumer.uid() + ")", 1, Integer::sum);
			}
			String who = holders.entrySet().stream().map(holder -> holder.getKey()
					+ (holder.getValue() > 1 ? " " + holder.getValue() + " times" : ""))
					.collect(Collectors.joining(", "));
			return name + " is full, for this user or for all: of " + info.consumersMax()
					+ " places " + observer.consumers().size() + " are held, by " + who
					+ ". Close one of them; this program tries again by itself.";
		}
	}
}
