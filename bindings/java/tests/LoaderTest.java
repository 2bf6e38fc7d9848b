// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import warpway.Warpway;

/** How the native part is found, and that its version is checked. Each in a JVM of its own. */
class LoaderTest {
	private static final String NATIVE = System.getenv("WW_TEST_NATIVE");

	@TempDir
	Path folder;

	/** Prints the version of the library, or why it cannot be loaded. */
	public static void main(String[] arguments) {
		try {
			System.out.println(Warpway.version());
			try (var maps = Files.lines(Path.of("/proc/self/maps"))) {
				System.out.println(maps.filter(line -> line.contains("libwarpway_java"))
						.map(line -> line.replaceAll(".*? /", "/")).findFirst().orElse("none"));
			}
		} catch (UnsatisfiedLinkError | IOException error) {
			System.out.println(error.getMessage());
		}
	}

	private static Path jar() {
		for (String entry : System.getProperty("java.class.path").split(":")) {
			if (entry.endsWith("warpway.jar")) {
				return Path.of(entry);
			}
		}
		throw new AssertionError("there is no warpway.jar in the class path");
	}

	/** A copy of the jar with other entries; null leaves one out. */
	private Path copy(String name, String changed, byte[] content) throws IOException {
		Path copy = folder.resolve(name);
		try (ZipFile from = new ZipFile(jar().toFile());
				ZipOutputStream to = new ZipOutputStream(Files.newOutputStream(copy))) {
			for (ZipEntry entry : from.stream().toList()) {
				byte[] bytes = entry.getName().equals(changed) ? content
						: from.getInputStream(entry).readAllBytes();
				if (bytes != null) {
					to.putNextEntry(new ZipEntry(entry.getName()));
					to.write(bytes);
				}
			}
		}
		return copy;
	}

	private static Peer load(Path jar, String... options) throws IOException {
		List<String> words = new ArrayList<>(List.of(options));
		String tests = System.getProperty("java.class.path").replace(jar().toString(), "");
		words.addAll(List.of("-cp", jar + ":" + tests));
		return Peer.start(words, LoaderTest.class, List.of());
	}

	private static String version() {
		return System.getenv("WW_TEST_VERSION");
	}

	@Test
	void namedByTheProperty() throws Exception {
		Path jar = copy("plain.jar", "native/libwarpway_java.so", null);
		String parent = Path.of(NATIVE).getParent().toString();
		for (String named : new String[] {NATIVE, parent}) {
			try (Peer peer = load(jar, "-Dwarpway.library.path=" + named)) {
				assertEquals(version(), peer.receive());
				assertEquals(NATIVE, peer.receive());
			}
		}
		try (Peer peer = load(jar, "-Dwarpway.library.path=/nowhere/at/all.so")) {
			assertTrue(peer.receive().contains("/nowhere/at/all.so"));
		}
	}

	@Test
	void besideTheJar() throws Exception {
		Path jar = copy("plain.jar", "native/libwarpway_java.so", null);
		Path part = folder.resolve("libwarpway_java.so");
		Files.copy(Path.of(NATIVE), part);
		try (Peer peer = load(jar)) {
			assertEquals(version(), peer.receive());
			assertEquals(part.toString(), peer.receive());
		}
	}

	@Test
	void insideTheJar() throws Exception {
		Path jar = copy("whole.jar", "none", null);
		try (Peer peer = load(jar, "-Djava.io.tmpdir=" + folder)) {
			assertEquals(version(), peer.receive());
			String path = peer.receive();
			assertTrue(path.startsWith(folder + "/warpway-java-") && path.endsWith("(deleted)"),
					path);
			assertEquals(0, peer.status());
		}
		try (var left = Files.list(folder)) {
			assertEquals(1, left.count());
		}
	}

	@Test
	void nowhere() throws Exception {
		Path jar = copy("plain.jar", "native/libwarpway_java.so", null);
		try (Peer peer = load(jar)) {
			String message = peer.receive();
			assertTrue(message.contains("neither beside the jar nor inside it"), message);
		}
	}

	@Test
	void ofAnotherVersion() throws Exception {
		Path jar = copy("old.jar", "warpway/version.properties", "version=0.0.1\n".getBytes());
		try (Peer peer = load(jar)) {
			String message = peer.receive();
			assertTrue(message.contains("0.0.1") && message.contains(version()), message);
		}
	}

	@Test
	void asAModule() throws Exception {
		try (Peer peer = Peer.start(List.of("--module-path", jar().toString(), "--add-modules",
				"warpway", "-cp", System.getProperty("java.class.path")
						.replace(jar().toString(), "")), LoaderTest.class, List.of())) {
			assertEquals(version(), peer.receive());
		}
	}
}
