// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Another process: a JVM that runs a static method {@code void method(Peer.Line line, String[]
 * arguments)} of a test class. Both sides send lines to each other.
 */
final class Peer implements AutoCloseable {
	/** What a method in the other process gets and sends. */
	static final class Line {
		private final BufferedReader in =
				new BufferedReader(new InputStreamReader(System.in));
		private final PrintStream out = System.out;

		void send(Object value) {
			out.println(value);
			out.flush();
		}

		/** The next line; null: the test has ended, or has closed this process's input. */
		String receive() throws IOException {
			return in.readLine();
		}
	}

	final Process process;
	private final BufferedReader out;
	private final PrintStream in;

	private Peer(Process process) {
		this.process = process;
		out = new BufferedReader(new InputStreamReader(process.getInputStream()));
		in = new PrintStream(process.getOutputStream(), true);
	}

	/** Starts a method of a class of this package. */
	static Peer start(Class<?> tests, String method, Object... arguments) throws IOException {
		List<String> words = new ArrayList<>();
		words.add(tests.getName());
		words.add(method);
		Arrays.stream(arguments).map(Object::toString).forEach(words::add);
		return start(List.of("-cp", System.getProperty("java.class.path")), Peer.class, words);
	}

	/** Starts a program of its own. */
	static Peer start(List<String> options, Class<?> program, List<String> words)
			throws IOException {
		List<String> command = new ArrayList<>(List.of(
				System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
				"-XX:TieredStopAtLevel=1", "-Xmx64m"));
		command.addAll(options);
		command.add(program.getName());
		command.addAll(words);
		return new Peer(new ProcessBuilder(command)
				.redirectError(ProcessBuilder.Redirect.INHERIT).start());
	}

	/** The other process begins here. */
	public static void main(String[] words) throws Exception {
		Method method = Class.forName(words[0]).getDeclaredMethod(words[1], Line.class,
				String[].class);
		method.setAccessible(true);
		method.invoke(null, new Line(), Arrays.copyOfRange(words, 2, words.length));
	}

	void send(Object value) {
		in.println(value);
	}

	/** The next line of the other process; an error if it has ended. */
	String receive() throws IOException {
		String line = out.readLine();
		if (line == null) {
			throw new AssertionError("the other process has ended, and has sent nothing");
		}
		return line;
	}

	/** Ends the process by SIGKILL, and waits for that. */
	void kill() throws InterruptedException {
		process.destroyForcibly().waitFor();
	}

	/** Waits until the process has ended by itself. */
	int status() throws InterruptedException {
		in.close();
		if (!process.waitFor(Fixture.LONG_S, TimeUnit.SECONDS)) {
			throw new AssertionError("the other process does not end");
		}
		return process.exitValue();
	}

	@Override
	public void close() {
		process.destroyForcibly();
	}
}
