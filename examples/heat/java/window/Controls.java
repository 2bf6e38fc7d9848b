// SPDX-License-Identifier: Apache-2.0
package heat.window;

import heat.client.FrameHeader;
import heat.client.Steering;
import java.awt.Dimension;
import java.awt.GridBagConstraints;
import java.awt.GridBagLayout;
import java.awt.GridLayout;
import java.awt.Insets;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import javax.swing.JButton;
import javax.swing.JComboBox;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JOptionPane;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;

/**
 * Buttons and sliders that steer heatd. Calls are made in the thread of the steering; how one ended
 * comes back to the thread of Swing. What the controls show is what the frames say, so that it is
 * right also if somebody else steers.
 */
final class Controls extends JPanel {
	private static final long serialVersionUID = 1;
	private static final String NO_LIMIT = "no limit";
	private static final double SPEED_MOST = 10_000;
	private static final Integer[] SIZES = {32, 64, 128, 256, 512, 1024};

	private final transient Steering steering;
	private final transient Consumer<String> said;
	private final JButton pause = new JButton("Pause");
	private final Slider diffusivity;
	private final Slider speed;
	private final Slider temperature;
	private final Slider radius;
	private final JComboBox<Integer> size = new JComboBox<>(SIZES);
	private boolean isPaused;
	/** The controls are being set to what a frame says: that is no wish of the user. */
	private boolean isShowing;
	private int rowsShown;

	/** Makes controls; "said" takes a sentence on how a call has ended, null if it ended well. */
	Controls(Steering steering, Consumer<String> said) {
		super(new GridBagLayout());
		this.steering = steering;
		this.said = said;
		setOpaque(false);
		diffusivity = new Slider("diffusivity", 0.001, 10, 0.1, this::number, this::parameters);
		speed = new Slider("speed", 1, SPEED_MOST, SPEED_MOST, this::speedText, this::parameters);
		temperature = new Slider("temperature", 1, 100, 100, value ->
				Math.round(value) + "\u00b0", () -> { });
		radius = new Slider("radius", 0.01, 0.25, 0.05, this::number, () -> { });
		pause.setName("pause");
		pause.addActionListener(event -> run(steering.pause(!isPaused)));
		size.setName("resolution");
		size.addActionListener(event -> {
			if (!isShowing) {
				int cells = (Integer) size.getSelectedItem();
				run(steering.resolution(cells, cells));
			}
		});
		addRow(0, "Diffusivity", diffusivity, diffusivity.label());
		addRow(1, "Steps/s", speed, speed.label());
		addRow(2, "Cells/side", size, new JLabel());
		addRow(3, "Source", temperature, temperature.label());
		addRow(4, "Radius", radius, radius.label());
		add(buttons(), new GridBagConstraints(0, 5, 3, 1, 1, 0, GridBagConstraints.CENTER,
				GridBagConstraints.HORIZONTAL, new Insets(10, 0, 0, 0), 0, 0));
	}

	private JPanel buttons() {
		JPanel buttons = new JPanel(new GridLayout(2, 2, 6, 6));
		buttons.setOpaque(false);
		buttons.add(pause);
		buttons.add(button("clear", "Clear sources", () -> run(steering.clearSources())));
		buttons.add(button("reset", "Reset to 0\u00b0", () -> run(steering.reset())));
		buttons.add(button("stop", "Stop daemon", this::stop));
		return buttons;
	}

	private static JButton button(String name, String text, Runnable action) {
		JButton button = new JButton(text);
		button.setName(name);
		button.addActionListener(event -> action.run());
		return button;
	}

	private void addRow(int row, String text, JComponent control, JLabel value) {
		JLabel label = new JLabel(text);
		label.setForeground(Style.FAINT);
		value.setPreferredSize(new Dimension(64, 18));
		add(label, new GridBagConstraints(0, row, 1, 1, 0, 0, GridBagConstraints.WEST,
				GridBagConstraints.NONE, new Insets(3, 0, 3, 10), 0, 0));
		add(control, new GridBagConstraints(1, row, 1, 1, 1, 0, GridBagConstraints.CENTER,
				GridBagConstraints.HORIZONTAL, new Insets(3, 0, 3, 8), 0, 0));
		add(value, new GridBagConstraints(2, row, 1, 1, 0, 0, GridBagConstraints.WEST,
				GridBagConstraints.NONE, new Insets(3, 0, 3, 0), 0, 0));
	}

	private String number(double value) {
		return value < 0.1 ? String.format("%.3f", value) : String.format("%.2f", value);
	}

	private String speedText(double value) {
		return value >= SPEED_MOST ? NO_LIMIT : Long.toString(Math.round(value));
	}

	private void parameters() {
		double most = speed.value() >= SPEED_MOST ? 0 : speed.value();
		run(steering.parameters(diffusivity.value(), most));
	}

	/** Sets a source where the user has clicked into the picture. */
	void source(double x, double y) {
		run(steering.source(x, y, radius.value(), temperature.value()));
	}

	private void stop() {
		int answer = JOptionPane.showConfirmDialog(SwingUtilities.getWindowAncestor(this),
				"Stop the daemon, for everybody who watches it?", "Stop daemon",
				JOptionPane.OK_CANCEL_OPTION);
		if (answer == JOptionPane.OK_OPTION) {
			run(steering.stop());
		}
	}

	private void run(CompletableFuture<?> call) {
		call.whenComplete((nothing, failure) -> SwingUtilities.invokeLater(() ->
				said.accept(failure == null ? null : Steering.sentence(failure))));
	}

	/** Shows what a frame says, but where the user is changing it. */
	void show(FrameHeader header) {
		isShowing = true;
		if (isPaused != header.isPaused()) {
			isPaused = header.isPaused();
			pause.setText(isPaused ? "Continue" : "Pause");
		}
		diffusivity.show(header.diffusivity());
		speed.show(header.stepsPerSecondMax() == 0 ? SPEED_MOST : header.stepsPerSecondMax());
		if (rowsShown != header.rows() && !size.isPopupVisible()) {
			rowsShown = header.rows();
			size.setSelectedItem(rowsShown);
		}
		isShowing = false;
	}
}
