// SPDX-License-Identifier: Apache-2.0
package heat.window;

import java.util.function.DoubleFunction;
import javax.swing.JLabel;
import javax.swing.JSlider;

/** A slider whose steps are of equal ratio, and a label with its value. */
final class Slider extends JSlider {
	private static final long serialVersionUID = 1;
	private static final int STEPS = 400;
	/** So long after the user has set a value, older frames do not set it back. */
	private static final long REST_NS = 1_000_000_000;

	private final double least;
	private final double most;
	private final transient DoubleFunction<String> text;
	private final JLabel label = new JLabel();
	private boolean isShowing;
	private double shown = Double.NaN;
	private long changedNs = System.nanoTime() - REST_NS;

	/** Makes a slider; "changed" is called when the user has let it go at a new value. */
	Slider(String name, double least, double most, double value, DoubleFunction<String> text,
			Runnable changed) {
		super(0, STEPS);
		this.least = least;
		this.most = most;
		this.text = text;
		setName(name);
		setOpaque(false);
		setValue(position(value));
		label.setText(text.apply(value));
		addChangeListener(event -> {
			label.setText(text.apply(isShowing ? shown : value()));
			if (!isShowing) {
				changedNs = System.nanoTime();
				if (!getValueIsAdjusting()) {
					changed.run();
				}
			}
		});
	}

	JLabel label() {
		return label;
	}

	double value() {
		return least * Math.pow(most / least, (double) getValue() / STEPS);
	}

	private int position(double value) {
		return (int) Math.round(STEPS * Math.log(value / least) / Math.log(most / least));
	}

	/** Shows a value that the user did not set. */
	void show(double value) {
		if (getValueIsAdjusting() || value == shown || System.nanoTime() - changedNs < REST_NS) {
			return;
		}
		shown = value;
		isShowing = true;
		setValue(position(value));
		label.setText(text.apply(value));
		isShowing = false;
	}
}
