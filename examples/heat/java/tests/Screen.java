// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import heat.window.HeatWindow;
import java.awt.Component;
import java.awt.Container;
import java.awt.Point;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.event.InputEvent;
import java.awt.image.BufferedImage;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import javax.swing.JLabel;
import javax.swing.SwingUtilities;
import javax.swing.text.JTextComponent;

/** The window of a test, as a person has it: pixels, and a mouse. */
final class Screen implements AutoCloseable {
	private static final int LEFT = 40;

	private final Robot robot;
	private final HeatWindow window;
	private int moves;

	/** Opens the window, and waits until it is on the screen. */
	Screen(String prefix) throws Exception {
		robot = new Robot();
		window = swing(() -> HeatWindow.open(prefix));
		Poll.until("the window is on the screen", () -> swing(this::isPlaced));
		robot.waitForIdle();
	}

	/** Moves the window, again if it has just been shown and was put elsewhere meanwhile. */
	private boolean isPlaced() {
		Component picture = component("picture");
		if (picture.isShowing() && picture.getLocationOnScreen().x >= LEFT) {
			return true;
		}
		window.frame().setLocation(LEFT + moves++ % 2, 30);
		return false;
	}

	/** What a call returns that is made in the thread of Swing. */
	static <R> R swing(Callable<R> call) throws Exception {
		FutureTask<R> task = new FutureTask<>(call);
		SwingUtilities.invokeLater(task);
		return task.get();
	}

	Component component(String name) {
		Component found = find(window.frame().getContentPane(), name);
		if (found == null) {
			throw new AssertionError("the window has no component " + name);
		}
		return found;
	}

	private static Component find(Component in, String name) {
		if (name.equals(in.getName())) {
			return in;
		}
		if (in instanceof Container container) {
			for (Component child : container.getComponents()) {
				Component found = find(child, name);
				if (found != null) {
					return found;
				}
			}
		}
		return null;
	}

	/** The text of a label, a button or a text. */
	String text(String name) throws Exception {
		return swing(() -> {
			Component component = component(name);
			return component instanceof JLabel label ? label.getText()
					: component instanceof JTextComponent text ? text.getText()
					: ((javax.swing.AbstractButton) component).getText();
		});
	}

	void awaitText(String name, String part) throws Exception {
		Poll.until("'" + name + "' says '" + part + "'", () -> text(name).contains(part));
	}

	private Rectangle bounds(String name) throws Exception {
		return swing(() -> {
			Component component = component(name);
			Point place = component.getLocationOnScreen();
			return new Rectangle(place.x, place.y, component.getWidth(), component.getHeight());
		});
	}

	/** Where the field is on the screen. It is square, and 10 pixels from the edges. */
	Rectangle field() throws Exception {
		Rectangle picture = bounds("picture");
		int width = picture.width - 20 - 14 - 18 - 34;
		int height = picture.height - 20;
		int side = Math.min(width, height);
		return new Rectangle(picture.x + 10 + (width - side) / 2,
				picture.y + 10 + (height - side) / 2, side, side);
	}

	void click(String name) throws Exception {
		Rectangle place = bounds(name);
		click(place.x + place.width / 2, place.y + place.height / 2);
	}

	/** Clicks on a place of the field: 0, 0 is the top left corner. */
	void clickField(double x, double y) throws Exception {
		Rectangle field = field();
		click((int) (field.x + x * field.width), (int) (field.y + y * field.height));
	}

	private void click(int x, int y) {
		robot.mouseMove(x, y);
		robot.waitForIdle();
		robot.mousePress(InputEvent.BUTTON1_DOWN_MASK);
		robot.mouseRelease(InputEvent.BUTTON1_DOWN_MASK);
		robot.waitForIdle();
	}

	/** Drags the handle of a slider to a part of its length. */
	void drag(String name, double from, double to) throws Exception {
		Rectangle place = bounds(name);
		int y = place.y + place.height / 2;
		robot.mouseMove((int) (place.x + 8 + from * (place.width - 16)), y);
		robot.mousePress(InputEvent.BUTTON1_DOWN_MASK);
		robot.mouseMove((int) (place.x + 8 + to * (place.width - 16)), y);
		robot.waitForIdle();
		robot.mouseRelease(InputEvent.BUTTON1_DOWN_MASK);
		robot.waitForIdle();
	}

	/** The pixels of the field. */
	BufferedImage shot() throws Exception {
		return robot.createScreenCapture(field());
	}

	/** The pixels of the window. */
	BufferedImage windowShot() throws Exception {
		return robot.createScreenCapture(swing(() -> window.frame().getBounds()));
	}

	/** The pixel at a place of the field. */
	int rgb(double x, double y) throws Exception {
		BufferedImage shot = shot();
		return shot.getRGB((int) (x * (shot.getWidth() - 1)), (int) (y * (shot.getHeight() - 1)))
				& 0xffffff;
	}

	@Override
	public void close() throws Exception {
		swing(window::close).join();
	}
}
