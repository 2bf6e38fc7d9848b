// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import static org.junit.jupiter.api.Assertions.*;

import heat.client.Steering;
import heat.client.SteeringStatus;
import heat.window.HeatWindow;
import heat.window.Palette;
import java.awt.image.BufferedImage;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import javax.swing.JComboBox;
import javax.swing.JSlider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;

/** The window on a screen: what it shows, and what a mouse does. */
class WindowTest {
	private static final int HOT = Palette.rgb(Palette.HOTTEST);
	private static final int COLD = Palette.rgb(0);

	@BeforeAll
	static void look() throws Exception {
		Screen.swing(() -> {
			HeatWindow.installLook();
			return null;
		});
	}

	/** How far two colours are from each other: the largest difference of a channel. */
	private static int distance(int one, int other) {
		return IntStream.of(0, 8, 16).map(shift ->
				Math.abs((one >> shift & 255) - (other >> shift & 255))).max().getAsInt();
	}

	/** The part of the pixels that differ by more than noise of rounding. */
	private static double changed(BufferedImage one, BufferedImage other) {
		int different = 0;
		for (int y = 0; y < one.getHeight(); y++) {
			for (int x = 0; x < one.getWidth(); x++) {
				different += distance(one.getRGB(x, y), other.getRGB(x, y)) > 2 ? 1 : 0;
			}
		}
		return (double) different / (one.getHeight() * one.getWidth());
	}

	/** Leaves out the lowest bits of the colours, so that the file is small. */
	private static void makeSmaller(BufferedImage image) {
		for (int y = 0; y < image.getHeight(); y++) {
			for (int x = 0; x < image.getWidth(); x++) {
				image.setRGB(x, y, image.getRGB(x, y) & 0xfff8fcf8);
			}
		}
	}

	private static long colours(BufferedImage image) {
		return IntStream.range(0, image.getWidth() * image.getHeight()).map(i ->
				image.getRGB(i % image.getWidth(), i / image.getWidth())).distinct().count();
	}

	@Test
	void thePictureMovesAndHasTheRightColours() throws Exception {
		try (Daemon daemon = new Daemon("--set", "steps_per_second_max=500");
				Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			daemon.source(0.25, 0.5, 0.1, 100);
			Poll.until("the source is hot", () -> distance(screen.rgb(0.25, 0.5), HOT) <= 3);
			BufferedImage before = screen.shot();
			Poll.until("heat spreads", () -> changed(before, screen.shot()) > 0.02);
			BufferedImage shot = screen.shot();
			assertTrue(colours(shot) > 100, "colours: " + colours(shot));
			assertTrue(distance(screen.rgb(0.005, 0.005), COLD) <= 3);
			assertTrue(distance(screen.rgb(0.995, 0.5), COLD) <= 3);
		}
	}

	@Test
	void thePictureIsTheRightWayRound() throws Exception {
		try (Daemon daemon = new Daemon("--set", "rows=128", "--set", "columns=128");
				Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "cells");
			daemon.source(0.2, 0.1, 0.05, 100);
			daemon.source(0.9, 0.6, 0.05, 50);
			Poll.until("both sources are where they were set", () ->
					distance(screen.rgb(0.2, 0.1), HOT) <= 3
					&& distance(screen.rgb(0.9, 0.57), Palette.rgb(50)) <= 6);
		}
	}

	@Test
	void pauseStopsTheSteps() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			assertEquals("Pause", screen.text("pause"));
			screen.click("pause");
			screen.awaitText("pause", "Continue");
			screen.awaitText("facts", "paused");
			SteeringStatus first = daemon.status();
			assertTrue(first.isPaused());
			Poll.until("a later frame comes", () -> daemon.status().frames() > first.frames());
			assertEquals(first.step(), daemon.status().step());
			screen.click("pause");
			screen.awaitText("pause", "Pause");
			Poll.until("steps go on", () -> daemon.status().step() > first.step());
		}
	}

	@Test
	void aClickSetsASourceThere() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			screen.clickField(0.25, 0.7);
			Poll.until("it is hot there", () -> distance(screen.rgb(0.27, 0.72), HOT) <= 3);
			assertTrue(distance(screen.rgb(0.75, 0.02), COLD) <= 12);
			screen.click("clear");
			screen.click("reset");
			Poll.until("all is cold", () -> distance(screen.rgb(0.27, 0.72), COLD) <= 3);
		}
	}

	@Test
	void slidersSetParameters() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			assertEquals(0.1, daemon.status().diffusivity());
			screen.drag("diffusivity", 0.5, 0.75);
			Poll.until("the diffusivity is higher", () -> daemon.status().diffusivity() > 0.3);
			assertTrue(daemon.status().diffusivity() < 3);
			screen.drag("speed", 1, 0.5);
			Poll.until("it is slower", () -> daemon.status().stepsPerSecond() < 1000);
			double diffusivity = daemon.status().diffusivity();
			try (Steering other = new Steering(daemon.prefix)) {
				other.parameters(diffusivity, 20).get(300, TimeUnit.SECONDS);
			}
			Poll.until("the slider shows what somebody else has set", () -> {
				int value = Screen.swing(() -> ((JSlider) screen.component("speed")).getValue());
				return value > 100 && value < 150;
			});
			Screen.swing(() -> {
				((JComboBox<?>) screen.component("resolution")).setSelectedItem(64);
				return null;
			});
			screen.awaitText("facts", "64 \u00d7 64 cells");
		}
	}

	@Test
	void aRefusedCallIsASentence() throws Exception {
		try (Daemon daemon = new Daemon("--set", "rows_max=256", "--set", "columns_max=256");
				Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			Screen.swing(() -> {
				((JComboBox<?>) screen.component("resolution")).setSelectedItem(1024);
				return null;
			});
			screen.awaitText("message", "to 256");
		}
	}

	@Test
	void aKilledDaemonIsShownAndItsRunGoesOn() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			daemon.source(0.5, 0.5, 0.1, 100);
			Poll.until("the source is hot", () -> distance(screen.rgb(0.5, 0.5), HOT) <= 3);
			SteeringStatus before = daemon.status();
			daemon.kill();
			screen.awaitText("message", "(pid " + before.pid() + ") ended at ");
			screen.awaitText("facts", "no daemon");
			Poll.until("the picture is darker", () -> distance(screen.rgb(0.5, 0.45), HOT) > 60);
			daemon.start();
			screen.awaitText("message", "The same run goes on at step ");
			assertEquals(before.run(), daemon.status().run());
			assertTrue(daemon.status().step() >= before.step());
			screen.awaitText("facts", "pid " + daemon.pid() + ", 1 restarts");
			Poll.until("the source is hot again", () -> distance(screen.rgb(0.5, 0.5), HOT) <= 3);
		}
	}

	@Test
	void aNewRunIsShownAsOne() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			long run = daemon.status().run();
			daemon.drain();
			screen.awaitText("message", "closed its channel at ");
			daemon.start("--new");
			screen.awaitText("message", "A new run, ");
			assertNotEquals(run, daemon.status().run());
		}
	}

	@Test
	void itWaitsForADaemon() throws Exception {
		try (Screen screen = new Screen("java-heat-none")) {
			screen.awaitText("message", "No daemon publishes java-heat-none/field now.");
			screen.click("pause");
			screen.awaitText("message", "java-heat-none/steer");
		}
	}

	@Test
	void whoHoldsTheChannelIsNamed() throws Exception {
		List<Consumer> consumers = new ArrayList<>();
		try (Daemon daemon = new Daemon(); Device device = Device.open("host");
				Broker broker = Broker.open()) {
			while (consumers.size() < 32) {
				consumers.add(Consumer.get(device, broker, daemon.prefix + "/field",
						new ConsumerOptions(), Duration.ofSeconds(300)));
			}
			try (Screen screen = new Screen(daemon.prefix)) {
				screen.awaitText("message", "of 32 places 32 are held, by ");
				screen.awaitText("message", "(pid " + ProcessHandle.current().pid() + ", user ");
				consumers.remove(0).close();
				screen.awaitText("facts", "steps/s");
			}
		} finally {
			consumers.forEach(Consumer::close);
		}
	}

	@Test
	void swingDoesNotWaitForADaemonThatHangs() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			daemon.signal("STOP");
			screen.click("pause");
			for (int i = 0; i < 100; i++) {
				/* Each of these is a task of Swing, which runs before the call has ended. */
				assertFalse(screen.text("message").contains("'pause' was not done"));
			}
			screen.awaitText("message", "'pause' was not done");
			daemon.signal("CONT");
			Poll.until("frames come again", () -> !screen.text("facts").contains("drawing 0 "));
		}
	}

	@Test
	void theScreenshotOfTheDocumentation() throws Exception {
		try (Daemon daemon = new Daemon(); Screen screen = new Screen(daemon.prefix)) {
			screen.awaitText("facts", "steps/s");
			daemon.source(0.3, 0.35, 0.08, 100);
			daemon.source(0.7, 0.3, 0.05, 75);
			daemon.source(0.55, 0.72, 0.1, 90);
			Poll.until("heat has spread", () -> distance(screen.rgb(0.5, 0.5), COLD) > 60);
			Poll.until("the plot is of some seconds", () -> daemon.status().frames() > 300);
			BufferedImage shot = screen.windowShot();
			assertTrue(colours(shot) > 300);
			makeSmaller(shot);
			File file = new File(System.getenv("HEAT_SCREENSHOT"));
			ImageIO.write(shot, "png", file);
			assertTrue(file.length() > 10_000 && file.length() < 100_000, "" + file.length());
		}
	}
}
