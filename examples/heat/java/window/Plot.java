// SPDX-License-Identifier: Apache-2.0
package heat.window;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.FontMetrics;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.Stroke;
import java.awt.geom.Path2D;
import java.util.function.ToDoubleFunction;
import javax.swing.JComponent;

/** Minimum, mean and maximum over the last minute. A line breaks where frames are missing. */
final class Plot extends JComponent {
	private static final long serialVersionUID = 1;
	private static final double SECOND_NS = 1e9;
	private static final int LEFT = 38, RIGHT = 14, TOP = 28, BOTTOM = 24;
	/** A longer time without a frame is shown as a gap: the daemon sends one each second. */
	private static final long GAP_NS = 2_500_000_000L;
	private static final Stroke THICK = new BasicStroke(1.8f, BasicStroke.CAP_ROUND,
			BasicStroke.JOIN_ROUND);
	private static final Stroke THIN = new BasicStroke(1);
	private static final Stroke DASHES = new BasicStroke(1, BasicStroke.CAP_BUTT,
			BasicStroke.JOIN_MITER, 1, new float[] {4, 4}, 0);

	private final transient History history;
	private long nowNs = System.nanoTime();

	Plot(History history) {
		this.history = history;
		setName("plot");
		setPreferredSize(new Dimension(360, 220));
		setMinimumSize(new Dimension(240, 140));
	}

	/** Draws it as it is at a time. */
	void show(long timeNs) {
		nowNs = timeNs;
		repaint();
	}

	private Rectangle place() {
		return new Rectangle(LEFT, TOP, Math.max(1, getWidth() - LEFT - RIGHT),
				Math.max(1, getHeight() - TOP - BOTTOM));
	}

	private double x(Rectangle place, long timeNs) {
		return place.x + place.width * (1 - (double) (nowNs - timeNs) / History.WINDOW_NS);
	}

	private static double y(Rectangle place, double degrees, double most) {
		return place.y + place.height * (1 - degrees / most);
	}

	@Override
	protected void paintComponent(Graphics graphics) {
		Graphics2D to = Style.smooth(graphics.create());
		to.setColor(Style.SURFACE);
		to.fillRoundRect(0, 0, getWidth(), getHeight(), 10, 10);
		to.setFont(Style.SMALL);
		Rectangle place = place();
		double most = Math.max(Palette.HOTTEST, 20 * Math.ceil(history.samples().stream()
				.mapToDouble(History.Sample::maximum).filter(Double::isFinite).max().orElse(0)
				/ 20));
		paintAxes(to, place, most);
		paintLine(to, place, most, Style.MINIMUM, History.Sample::minimum);
		paintLine(to, place, most, Style.MEAN, History.Sample::mean);
		paintLine(to, place, most, Style.MAXIMUM, History.Sample::maximum);
		paintMarks(to, place);
		int x = paintLegend(to, LEFT, "maximum", Style.MAXIMUM);
		x = paintLegend(to, x, "mean", Style.MEAN);
		paintLegend(to, x, "minimum", Style.MINIMUM);
		to.dispose();
	}

	private void paintAxes(Graphics2D to, Rectangle place, double most) {
		FontMetrics metrics = to.getFontMetrics();
		to.setStroke(THIN);
		for (int i = 0; i <= 5; i++) {
			double degrees = most * i / 5;
			int y = (int) y(place, degrees, most);
			to.setColor(Style.LINE);
			to.drawLine(place.x, y, place.x + place.width, y);
			String label = Math.round(degrees) + "\u00b0";
			to.setColor(Style.FAINT);
			to.drawString(label, place.x - 6 - metrics.stringWidth(label),
					y + metrics.getAscent() / 2 - 1);
		}
		for (int seconds = 0; seconds <= 60; seconds += 20) {
			String label = seconds == 0 ? "now" : seconds == 60 ? "60 s ago" : "-" + seconds + " s";
			int x = (int) x(place, nowNs - (long) (seconds * SECOND_NS));
			int width = metrics.stringWidth(label);
			to.drawString(label, Math.max(place.x, Math.min(x - width / 2,
					place.x + place.width - width)), place.y + place.height + 16);
		}
	}

	private void paintLine(Graphics2D to, Rectangle place, double most, Color colour,
			ToDoubleFunction<History.Sample> value) {
		Path2D path = new Path2D.Double();
		History.Sample before = null;
		for (History.Sample sample : history.samples()) {
			double x = Math.max(place.x, x(place, sample.timeNs()));
			double y = y(place, value.applyAsDouble(sample), most);
			boolean isBroken = before == null || sample.mark() != null
					|| sample.timeNs() - before.timeNs() > GAP_NS;
			if (!Double.isFinite(y)) {
				before = null;
				continue;
			}
			if (isBroken) {
				path.moveTo(x, y);
			} else {
				path.lineTo(x, y);
			}
			before = sample;
		}
		to.setStroke(THICK);
		to.setColor(colour);
		to.draw(path);
	}

	private void paintMarks(Graphics2D to, Rectangle place) {
		FontMetrics metrics = to.getFontMetrics();
		for (History.Sample sample : history.samples()) {
			double x = x(place, sample.timeNs());
			if (sample.mark() == null || x < place.x) {
				continue;
			}
			to.setStroke(DASHES);
			to.setColor(Style.WARNING);
			to.drawLine((int) x, place.y, (int) x, place.y + place.height);
			int width = metrics.stringWidth(sample.mark());
			int at = (int) (x + 5 + width > place.x + place.width ? x - 5 - width : x + 5);
			to.drawString(sample.mark(), Math.max(place.x, at), place.y + metrics.getAscent() + 2);
		}
	}

	private static int paintLegend(Graphics2D to, int x, String word, Color colour) {
		to.setStroke(THICK);
		to.setColor(colour);
		to.drawLine(x, 14, x + 16, 14);
		to.setColor(Style.TEXT);
		to.drawString(word, x + 22, 18);
		return x + 22 + to.getFontMetrics().stringWidth(word) + 18;
	}
}
