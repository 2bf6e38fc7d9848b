// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** Watches and steers heatd in a terminal. It needs no desktop. */
public final class HeatClient {
	private static final String USAGE = """
			usage: heat-client [OPTION...] [ACTION...]

			Without an action it watches: one line in each second, until Ctrl-C. With actions it
			does these in their order, and ends; it watches, too, if --frames or --seconds is given.

			  --name PREFIX              of the names of heatd (default: heat)
			  --frames N                 check N frames, print a summary, and end
			  --seconds N                end after N seconds
			  --json                     print JSON: one object in each line

			actions:
			  --status                   what heatd says of itself
			  --pause, --continue        stop the steps, or let them go on
			  --source X,Y,RADIUS,TEMPERATURE
			                             hold cells at a temperature; 0,0 is the top left corner
			  --clear                    remove all sources
			  --reset                    set all cells to 0
			  --parameters DIFFUSIVITY[,STEPS_PER_SECOND]
			                             set the material, and the speed (0: as fast as it can)
			  --resolution ROWS,COLUMNS  set how many cells the field has
			  --stop                     end heatd

			Exit status: 0 all went well; 1 a frame was damaged, an action failed, or the frames did
			not come in time; 2 the command line is wrong.
			""";

	/** Takes the numbers of an option, and starts its action. */
	private record Action(int least, int most, Function<double[], CompletableFuture<?>> start) {
		Action(int count, Function<double[], CompletableFuture<?>> start) {
			this(count, count, start);
		}
	}

	/** A wrong command line. */
	private static final class UsageException extends Exception {
		private static final long serialVersionUID = 1;

		UsageException(String message) {
			super(message);
		}
	}

	private final Deque<String> words;
	private String name = "heat";
	private long frames;
	private long seconds;
	private boolean isJson;
	private boolean hasActed;

	private HeatClient(String[] words) {
		this.words = new ArrayDeque<>(Arrays.asList(words));
	}

	/**
	 * Does what the command line says, and ends the process.
	 *
	 * @param words of the command line
	 */
	public static void main(String[] words) {
		System.exit(run(words));
	}

	private static int run(String[] words) {
		if (List.of(words).contains("--help")) {
			System.out.print(USAGE);
			return 0;
		}
		try {
			return new HeatClient(words).run();
		} catch (UsageException exception) {
			System.err.println("heat-client: " + exception.getMessage()
					+ "; see heat-client --help");
			return 2;
		} catch (CompletionException exception) {
			System.err.println("heat-client: " + Steering.sentence(exception));
			return 1;
		} catch (InterruptedException exception) {
			return 1;
		}
	}

	private int run() throws UsageException, InterruptedException {
		Deque<String> rest = new ArrayDeque<>();
		while (!words.isEmpty()) {
			String word = words.remove();
			switch (word) {
				case "--name" -> name = value(word);
				case "--frames" -> frames = count(word);
				case "--seconds" -> seconds = count(word);
				case "--json" -> isJson = true;
				default -> rest.add(word);
			}
		}
		words.addAll(rest);
		try (Steering steering = new Steering(name)) {
			act(actions(steering));
		}
		if (hasActed && frames == 0 && seconds == 0) {
			return 0;
		}
		return new Watching(frames, seconds, isJson).watch(name) ? 0 : 1;
	}

	private Map<String, Action> actions(Steering steering) {
		return Map.of(
				"--status", new Action(0, none -> steering.status().thenAccept(this::print)),
				"--pause", new Action(0, none -> steering.pause(true)),
				"--continue", new Action(0, none -> steering.pause(false)),
				"--source", new Action(4, value ->
						steering.source(value[0], value[1], value[2], value[3])),
				"--clear", new Action(0, none -> steering.clearSources()),
				"--reset", new Action(0, none -> steering.reset()),
				"--parameters", new Action(1, 2, value ->
						steering.parameters(value[0], value.length > 1 ? value[1] : -1)),
				"--resolution", new Action(2, value ->
						steering.resolution((int) value[0], (int) value[1])),
				"--stop", new Action(0, none -> steering.stop()));
	}

	/** All words are looked at before the first action is started. */
	private void act(Map<String, Action> actions) throws UsageException {
		Deque<Runnable> starts = new ArrayDeque<>();
		while (!words.isEmpty()) {
			String word = words.remove();
			Action action = actions.get(word);
			if (action == null) {
				throw new UsageException("unknown argument '" + word + "'");
			}
			double[] numbers = action.most() == 0 ? new double[0] : numbers(word, action);
			starts.add(() -> action.start().apply(numbers).join());
		}
		hasActed = !starts.isEmpty();
		starts.forEach(Runnable::run);
	}

	private String value(String option) throws UsageException {
		if (words.isEmpty()) {
			throw new UsageException(option + " needs a value");
		}
		return words.remove();
	}

	private long count(String option) throws UsageException {
		String value = value(option);
		try {
			if (Long.parseLong(value) > 0) {
				return Long.parseLong(value);
			}
		} catch (NumberFormatException exception) {
			/* It is refused below. */
		}
		throw new UsageException(option + " needs a number above 0, not '" + value + "'");
	}

	private double[] numbers(String option, Action action) throws UsageException {
		String value = value(option);
		try {
			double[] numbers = Arrays.stream(value.split(",", -1))
					.mapToDouble(Double::parseDouble).toArray();
			if (numbers.length >= action.least() && numbers.length <= action.most()
					&& DoubleStream.of(numbers).allMatch(Double::isFinite)) {
				return numbers;
			}
		} catch (NumberFormatException exception) {
			/* It is refused below. */
		}
		String many = action.least() == action.most() ? Integer.toString(action.least())
				: action.least() + " or " + action.most();
		throw new UsageException(option + " needs " + many + " numbers with commas between them, "
				+ "not '" + value + "'");
	}

	private void print(SteeringStatus status) {
		Map<String, Object> pairs = Report.pairs(
				"run", Long.toHexString(status.run()), "step", status.step(), "time", status.time(),
				"rows", status.rows(), "columns", status.columns(),
				"diffusivity", status.diffusivity(), "paused", status.isPaused(),
				"steps_per_second", status.stepsPerSecond(), "restarts", status.restarts(),
				"frames", status.frames(), "watchers", status.watchers(),
				"watchers_max", status.watchersMax(), "pid", status.pid(),
				"started", status.started().toString(), "backend", status.backend());
		System.out.println(isJson ? Report.json(pairs) : pairs.entrySet().stream()
				.map(pair -> String.format("%-17s %s", pair.getKey() + ":", pair.getValue()))
				.collect(Collectors.joining("\n")));
	}
}
