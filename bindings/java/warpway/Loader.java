// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.CodeSource;
import java.util.Properties;

/**
 * Finds and loads the native part, which links libwarpway. In this order:
 *
 * <ol>
 *   <li>the file that the property {@code warpway.library.path} names, or the native part in the
 *       folder that it names;
 *   <li>beside the jar, and in the folder {@code ../../lib} of it, where it is installed; of an
 *       image that jlink has made, in its folder {@code lib};
 *   <li>inside the jar: it is extracted into a folder that only this user can enter, and that is
 *       deleted at once after loading.
 * </ol>
 */
final class Loader {
	static final String PROPERTY = "warpway.library.path";
	private static final String NAME = System.mapLibraryName("warpway_java");

	private Loader() {
	}

	static void load() {
		String given = System.getProperty(PROPERTY);
		Path beside = given == null ? besideJar() : null;
		if (given != null) {
			Path path = Path.of(given).toAbsolutePath();
			load(Files.isDirectory(path) ? path.resolve(NAME) : path);
		} else if (beside != null) {
			load(beside);
		} else {
			extract();
		}
		checkVersions();
	}

	private static void load(Path path) {
		try {
			System.load(path.toString());
		} catch (UnsatisfiedLinkError error) {
			UnsatisfiedLinkError said = new UnsatisfiedLinkError("cannot load the native part of "
					+ "the package warpway, " + path + ": " + error.getMessage()
					+ "; name the right file with -D" + PROPERTY + "=, and libwarpway.so.0 must be "
					+ "where the loader finds it");
			said.initCause(error);
			throw said;
		}
	}

	/** The native part beside the jar or the folder of classes; null: it is not there. */
	private static Path besideJar() {
		CodeSource source = Loader.class.getProtectionDomain().getCodeSource();
		if (source == null || source.getLocation() == null) {
			return null;
		}
		try {
			URI location = source.getLocation().toURI();
			Path folder = location.getScheme().equals("jrt")
					? Path.of(System.getProperty("java.home"), "lib")
					: Path.of(location).getParent();
			for (Path place : new Path[] {folder.resolve(NAME),
					folder.resolve("../../lib/" + NAME).normalize()}) {
				if (Files.isRegularFile(place)) {
					return place;
				}
			}
		} catch (URISyntaxException | IllegalArgumentException exception) {
			/* A class loader of another kind: there is no folder. */
			return null;
		}
		return null;
	}

	private static void extract() {
		try (InputStream part = Loader.class.getResourceAsStream("/native/" + NAME)) {
			if (part == null) {
				throw new UnsatisfiedLinkError("there is no native part of the package warpway: "
						+ NAME + " is neither beside the jar nor inside it; name it with -D"
						+ PROPERTY + "=");
			}
			Path folder = Files.createTempDirectory("warpway-java-",
					PosixFilePermissions.asFileAttribute(
							PosixFilePermissions.fromString("rwx------")));
			Path file = folder.resolve(NAME);
			try {
				Files.copy(part, file);
				load(file);
			} finally {
				Files.deleteIfExists(file);
				Files.delete(folder);
			}
		} catch (IOException exception) {
			UnsatisfiedLinkError said = new UnsatisfiedLinkError("cannot extract the native part "
					+ "of the package warpway: " + exception);
			said.initCause(exception);
			throw said;
		}
	}

	private static void checkVersions() {
		String jar = jarVersion();
		String part = new String(Native.version(), StandardCharsets.UTF_8);
		String library = new String(Native.libraryVersion(), StandardCharsets.UTF_8);
		if (!jar.equals(part) || !jar.equals(library)) {
			throw new UnsatisfiedLinkError("three parts of Warpway do not belong together: the jar "
					+ "has version " + jar + ", its native part " + part + ", and libwarpway "
					+ library + "; install all of one version");
		}
	}

	private static String jarVersion() {
		Properties properties = new Properties();
		try (InputStream stream = Loader.class.getResourceAsStream("version.properties")) {
			properties.load(stream);
		} catch (IOException exception) {
			throw new UnsatisfiedLinkError("cannot read the version in the jar: " + exception);
		}
		return properties.getProperty("version", "none");
	}
}
