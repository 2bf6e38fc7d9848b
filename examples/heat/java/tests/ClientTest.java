// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The client for the terminal, as a process of its own. */
class ClientTest {
	/** How a client has ended, and all that it printed. */
	private record Ended(int status, String text) {
	}

	private static Process start(String... words) throws Exception {
		List<String> command = new ArrayList<>(List.of(
				System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC", "-cp",
				System.getProperty("java.class.path"), "heat.client.HeatClient"));
		command.addAll(List.of(words));
		return new ProcessBuilder(command).redirectErrorStream(true).start();
	}

	private static Ended run(String... words) throws Exception {
		Process process = start(words);
		process.getOutputStream().close();
		String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		return new Ended(process.waitFor(), text);
	}

	private static String succeeds(String... words) throws Exception {
		Ended ended = run(words);
		assertEquals(0, ended.status(), ended.text());
		return ended.text();
	}

	private static void fails(int status, String part, String... words) throws Exception {
		Ended ended = run(words);
		assertEquals(status, ended.status(), ended.text());
		assertTrue(ended.text().contains(part), ended.text());
	}

	@Test
	void itChecksFrames() throws Exception {
		try (Daemon daemon = new Daemon()) {
			String text = succeeds("--name", daemon.prefix, "--frames", "100");
			assertTrue(text.contains("100 frames checked, 0 damaged; 1 runs"), text);
			assertTrue(text.contains("256 x 256: "), text);
		}
	}

	@Test
	void itPrintsJson() throws Exception {
		try (Daemon daemon = new Daemon()) {
			String text = succeeds("--name", daemon.prefix, "--frames", "70", "--json");
			List<String> lines = text.lines().toList();
			assertTrue(lines.stream().allMatch(line -> line.startsWith("{\"")
					&& line.endsWith("}")), text);
			assertTrue(lines.get(lines.size() - 1).startsWith("{\"frames\": 70, \"damaged\": 0, "),
					text);
		}
	}

	@Test
	void itSteers() throws Exception {
		try (Daemon daemon = new Daemon()) {
			String text = succeeds("--name", daemon.prefix, "--parameters", "0.5,100", "--source",
					"0.5,0.5,0.1,80", "--resolution", "64,128", "--pause", "--status");
			assertTrue(text.matches("(?s).*diffusivity: +0\\.5\n.*"), text);
			assertTrue(text.matches("(?s).*rows: +64\ncolumns: +128\n.*"), text);
			assertTrue(text.matches("(?s).*paused: +true\n.*"), text);
			assertTrue(daemon.status().isPaused());
			succeeds("--name", daemon.prefix, "--continue");
			assertFalse(daemon.status().isPaused());
			/* There are at most 60 frames in a second, and a line for each second. */
			assertTrue(succeeds("--name", daemon.prefix, "--frames", "130", "--json")
					.contains("\"rows\": 64, \"columns\": 128"));
		}
	}

	@Test
	void itRefusesAWrongCommandLine() throws Exception {
		fails(2, "unknown argument '--nothing'", "--nothing");
		fails(2, "--frames needs a number above 0, not '0'", "--frames", "0");
		fails(2, "--frames needs a value", "--frames");
		fails(2, "--source needs 4 numbers", "--source", "1,2,3");
		fails(2, "--resolution needs 2 numbers", "--resolution", "1,2,3");
		fails(2, "--parameters needs 1 or 2 numbers", "--parameters", "NaN");
		assertTrue(succeeds("--help").startsWith("usage: heat-client "));
	}

	@Test
	void itSaysWhatFails() throws Exception {
		fails(1, "No daemon answers as java-heat-none/steer now", "--name", "java-heat-none",
				"--pause");
		fails(1, "", "--name", "java-heat-none", "--seconds", "1");
		Process waiting = start("--name", "java-heat-none");
		String said = waiting.inputReader().readLine();
		waiting.destroyForcibly().waitFor();
		assertTrue(said.contains("No daemon publishes java-heat-none/field now"), said);
		try (Daemon daemon = new Daemon()) {
			fails(1, "heat-client: ", "--name", daemon.prefix, "--resolution", "1,1");
		}
	}

	@Test
	void aKilledDaemonIsAGap() throws Exception {
		try (Daemon daemon = new Daemon()) {
			/* It publishes one frame a second then, so the client is there for minutes. */
			daemon.pause(true);
			Process client = start("--name", daemon.prefix, "--frames", "400");
			var lines = client.inputReader();
			String first = lines.readLine();
			assertTrue(first.contains("Watching run "), first);
			long pid = daemon.pid();
			daemon.kill();
			daemon.start();
			daemon.pause(false);
			StringBuilder rest = new StringBuilder();
			lines.lines().forEach(line -> rest.append(line).append('\n'));
			String text = rest.toString();
			assertEquals(0, client.waitFor(), text);
			assertTrue(text.contains("(pid " + pid + ") ended at "), text);
			assertTrue(text.contains("The run is continued by pid " + daemon.pid()), text);
			assertTrue(text.contains("0 damaged; 1 runs, continued 1 times"), text);
		}
	}
}
