// SPDX-License-Identifier: Apache-2.0
package heat.window;

import heat.client.FieldFrame;
import heat.client.FieldReader;
import heat.client.FrameHeader;
import heat.client.RateMeter;
import heat.client.Steering;
import java.awt.AWTError;
import java.awt.BorderLayout;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.GraphicsEnvironment;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.lang.reflect.InvocationTargetException;
import java.util.Locale;
import javax.swing.BorderFactory;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JTextArea;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

/**
 * A window on heatd: the live field, its temperatures over the last minute, and controls.
 *
 * <p>Frames are received, checked and made into images in the thread of a {@link FieldReader}.
 * Calls are made in that of a {@link Steering}. The thread of Swing waits for neither.
 */
public final class HeatWindow implements FieldReader.Listener {
	private static final int PLOT_MS = 100;

	private final JFrame window;
	private final Picture picture;
	private final Plot plot;
	private final Controls controls;
	private final History history = new History();
	private final JLabel facts = new JLabel(" ");
	private final JTextArea message = new JTextArea(2, 40);
	private final RateMeter drawn = new RateMeter();
	private final Timer timer = new Timer(PLOT_MS, event -> refresh());
	private final Steering steering;
	private FieldReader reader;
	private FrameHeader header;
	private long ageNs;
	private long damaged;
	private String waiting;

	private HeatWindow(String prefix) {
		steering = new Steering(prefix);
		controls = new Controls(steering, this::said);
		picture = new Picture(controls::source);
		plot = new Plot(history);
		window = new JFrame("Heat: " + prefix);
		build();
	}

	/**
	 * Opens a window. Call this in the thread of Swing.
	 *
	 * @param prefix of the names of heatd, such as "heat"
	 * @return the window
	 */
	public static HeatWindow open(String prefix) {
		HeatWindow opened = new HeatWindow(prefix);
		opened.window.setVisible(true);
		opened.timer.start();
		opened.reader = new FieldReader(prefix, opened);
		return opened;
	}

	/**
	 * Gives the frame of the window.
	 *
	 * @return as Swing has it
	 */
	public JFrame frame() {
		return window;
	}

	/**
	 * Closes the window, in the thread of Swing. What the window had open is closed by the thread
	 * that this returns, since Swing must not wait for it.
	 *
	 * @return a thread that ends when everything is closed
	 */
	public Thread close() {
		timer.stop();
		window.dispose();
		Thread closer = new Thread(() -> {
			steering.close();
			reader.close();
		}, "heat-closer");
		closer.start();
		return closer;
	}

	private void build() {
		message.setName("message");
		message.setEditable(false);
		message.setFocusable(false);
		message.setLineWrap(true);
		message.setWrapStyleWord(true);
		message.setOpaque(false);
		message.setBackground(new Color(0, true));
		message.setBorder(BorderFactory.createEmptyBorder(2, 0, 0, 0));
		message.setForeground(Style.FAINT);
		facts.setName("facts");
		JPanel status = new JPanel(new BorderLayout());
		status.setOpaque(false);
		status.setBorder(BorderFactory.createEmptyBorder(0, 12, 8, 12));
		status.add(facts, BorderLayout.NORTH);
		status.add(message, BorderLayout.CENTER);

		JPanel side = new JPanel(new BorderLayout(0, 12));
		side.setOpaque(false);
		side.setBorder(BorderFactory.createEmptyBorder(10, 4, 10, 12));
		side.add(plot, BorderLayout.CENTER);
		side.add(controls, BorderLayout.SOUTH);

		JPanel all = new JPanel(new BorderLayout());
		all.setBackground(Style.BACKGROUND);
		all.add(picture, BorderLayout.CENTER);
		all.add(side, BorderLayout.EAST);
		all.add(status, BorderLayout.SOUTH);
		window.setContentPane(all);
		window.setDefaultCloseOperation(JFrame.DO_NOTHING_ON_CLOSE);
		window.addWindowListener(new WindowAdapter() {
			@Override
			public void windowClosing(WindowEvent event) {
				close();
			}
		});
		window.pack();
		window.setMinimumSize(new Dimension(760, 520));
	}

	/* --- in the thread of the reader --- */

	@Override
	public void frame(FieldFrame frame) throws InterruptedException {
		picture.prepare(frame);
		try {
			SwingUtilities.invokeAndWait(() -> show(frame));
		} catch (InvocationTargetException exception) {
			throw new IllegalStateException(exception.getCause());
		}
	}

	@Override
	public void damaged(String sentence) {
		SwingUtilities.invokeLater(() -> {
			damaged++;
			say(sentence, Style.WARNING);
		});
	}

	@Override
	public void waiting(String sentence) {
		SwingUtilities.invokeLater(() -> {
			waiting = sentence;
			picture.say(sentence);
			say(sentence, Style.WARNING);
		});
	}

	/* --- in the thread of Swing --- */

	private void show(FieldFrame frame) {
		long now = System.nanoTime();
		FrameHeader before = header;
		header = frame.header();
		ageNs = frame.ageNs();
		drawn.count(now);
		history.add(frame, now);
		picture.show(header);
		controls.show(header);
		if (frame.kind() != FieldFrame.Kind.NEXT || waiting != null) {
			begin(frame.kind(), before);
		}
	}

	/** Says what begins with the newest frame. */
	private void begin(FieldFrame.Kind kind, FrameHeader before) {
		String run = Long.toHexString(header.run());
		String was = waiting != null && before != null ? " " + waiting.replaceFirst(
				" ?Waiting for the next one\\.", "") : "";
		waiting = null;
		switch (kind) {
			case CONTINUED -> say("The same run goes on at step " + count(header.step())
					+ " with pid " + header.pid() + ". The last frame before was of step "
					+ count(before.step()) + "." + was, Style.WARNING);
			case NEW_RUN -> say("A new run, " + run + ", has begun with pid " + header.pid()
					+ "." + was, Style.WARNING);
			default -> say("Watching run " + run + " of pid " + header.pid() + ".", Style.FAINT);
		}
	}

	private void say(String sentence, Color colour) {
		message.setForeground(colour);
		message.setText(sentence);
	}

	/** Takes how a call has ended; null: well. */
	private void said(String failure) {
		if (failure != null) {
			say(failure, Style.WARNING);
		} else if (waiting == null) {
			say("Done.", Style.FAINT);
		}
	}

	private static String count(long number) {
		return String.format(Locale.ROOT, "%,d", number);
	}

	private void refresh() {
		long now = System.nanoTime();
		plot.show(now);
		if (header != null) {
			String speed = waiting != null ? "no daemon" : header.isPaused() ? "paused"
					: count(Math.round(header.stepsPerSecond())) + " steps/s";
			facts.setText(String.format(Locale.ROOT, "Step %s   t = %.4g s   %d \u00d7 %d cells   "
					+ "%s   %s, pid %d, %d restarts   drawing %d frames/s, %.1f ms old%s",
					count(header.step()), header.time(), header.rows(), header.columns(), speed,
					header.isOnGpu() ? "GPU" : "CPU", header.pid(), header.restarts(),
					drawn.rate(now), ageNs / 1e6,
					damaged == 0 ? "" : "   " + damaged + " damaged frames"));
		}
	}

	/**
	 * Opens a window, and ends when it is closed.
	 *
	 * @param words of the command line: none, or "--name" and the prefix of the names of heatd
	 */
	public static void main(String[] words) {
		boolean isNamed = words.length == 2 && words[0].equals("--name");
		if (words.length > 0 && !isNamed) {
			System.err.println("usage: heat-window [--name PREFIX]");
			System.exit(2);
		}
		String problem = null;
		try {
			if (GraphicsEnvironment.isHeadless()) {
				problem = "there is no display: set DISPLAY, or use heat-client";
			} else {
				SwingUtilities.invokeAndWait(() -> start(isNamed ? words[1] : "heat"));
			}
		} catch (AWTError | LinkageError error) {
			problem = "this machine cannot show windows: " + error.getMessage() + "; if the JRE "
					+ "has no windows, install openjdk-17-jre, else use heat-client";
		} catch (InvocationTargetException exception) {
			problem = "cannot open the window: " + exception.getCause();
		} catch (InterruptedException exception) {
			problem = "interrupted";
		}
		if (problem != null) {
			System.err.println("heat-window: " + problem);
			System.exit(1);
		}
	}

	private static void start(String prefix) {
		installLook();
		open(prefix);
	}

	/** Sets colours and fonts of the windows of this process, before the first one is opened. */
	public static void installLook() {
		Style.install();
	}
}
