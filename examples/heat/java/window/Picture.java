// SPDX-License-Identifier: Apache-2.0
package heat.window;

import heat.client.FieldFrame;
import heat.client.FrameHeader;
import java.awt.Color;
import java.awt.Cursor;
import java.awt.Dimension;
import java.awt.FontMetrics;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.RenderingHints;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.awt.image.BufferedImage;
import java.awt.image.DataBufferInt;
import java.nio.FloatBuffer;
import javax.swing.JComponent;

/**
 * The field as an image, with a scale of colours, and the place of the last source. While no frames
 * come it is darker, and a sentence says why.
 *
 * <p>Two images take turns: the thread that receives frames paints into one while the thread of
 * Swing shows the other one.
 */
final class Picture extends JComponent {
	private static final long serialVersionUID = 1;
	private static final int SCALE_WIDTH = 18, SCALE_GAP = 14, LABEL_WIDTH = 34, MARGIN = 10;

	/** What a click does. */
	interface Click {
		/** The place: from 0, 0 at the top left to 1, 1 at the bottom right. */
		void at(double x, double y);
	}

	private transient BufferedImage shown;
	private transient BufferedImage other;
	private transient FrameHeader header;
	private String sentence = "Waiting for the first frame.";
	private double aspect = 1;

	Picture(Click click) {
		setName("picture");
		setPreferredSize(new Dimension(620, 560));
		setMinimumSize(new Dimension(300, 260));
		setFont(Style.NORMAL);
		setCursor(Cursor.getPredefinedCursor(Cursor.CROSSHAIR_CURSOR));
		setToolTipText("Click to set a source");
		addMouseListener(new MouseAdapter() {
			@Override
			public void mousePressed(MouseEvent event) {
				Rectangle place = place();
				if (place.contains(event.getPoint())) {
					click.at((event.getX() - place.x + 0.5) / place.width,
							(event.getY() - place.y + 0.5) / place.height);
				}
			}
		});
	}

	/** Paints a frame into the image that is not shown, in the thread that receives frames. */
	void prepare(FieldFrame frame) {
		int rows = frame.header().rows();
		int columns = frame.header().columns();
		if (other == null || other.getWidth() != columns || other.getHeight() != rows) {
			other = new BufferedImage(columns, rows, BufferedImage.TYPE_INT_RGB);
		}
		int[] pixels = ((DataBufferInt) other.getRaster().getDataBuffer()).getData();
		FloatBuffer values = frame.values();
		for (int i = 0; i < pixels.length; i++) {
			pixels[i] = Palette.rgb(values.get(i));
		}
	}

	/** Shows the image that was prepared, at once. */
	void show(FrameHeader of) {
		BufferedImage image = shown;
		shown = other;
		other = image;
		header = of;
		aspect = (double) of.columns() / of.rows();
		sentence = null;
		paintImmediately(0, 0, getWidth(), getHeight());
	}

	/** Says why no frames come. */
	void say(String why) {
		sentence = why;
		repaint();
	}

	/** Where the image is in this component. */
	Rectangle place() {
		int width = Math.max(1, getWidth() - 2 * MARGIN - SCALE_GAP - SCALE_WIDTH - LABEL_WIDTH);
		int height = Math.max(1, getHeight() - 2 * MARGIN);
		int used = (int) Math.min(width, height * aspect);
		int high = (int) Math.min(height, width / aspect);
		return new Rectangle(MARGIN + (width - used) / 2, MARGIN + (height - high) / 2,
				Math.max(1, used), Math.max(1, high));
	}

	@Override
	protected void paintComponent(Graphics graphics) {
		Graphics2D to = (Graphics2D) graphics.create();
		to.setColor(Style.BACKGROUND);
		to.fillRect(0, 0, getWidth(), getHeight());
		Rectangle place = place();
		if (shown == null) {
			to.setColor(Style.SURFACE);
			to.fill(place);
		} else {
			to.setRenderingHint(RenderingHints.KEY_INTERPOLATION,
					RenderingHints.VALUE_INTERPOLATION_BILINEAR);
			to.drawImage(shown, place.x, place.y, place.width, place.height, null);
			paintSource(to, place);
		}
		Style.smooth(to);
		paintScale(to, place);
		if (sentence != null) {
			paintSentence(to, place);
		}
		to.dispose();
	}

	private void paintSource(Graphics2D to, Rectangle place) {
		if (header == null || header.sourceX() <= 0 && header.sourceY() <= 0) {
			return;
		}
		int x = place.x + (int) (header.sourceX() * place.width);
		int y = place.y + (int) (header.sourceY() * place.height);
		to.setColor(new Color(255, 255, 255, 200));
		to.drawLine(x - 14, y, x - 7, y);
		to.drawLine(x + 7, y, x + 14, y);
		to.drawLine(x, y - 14, x, y - 7);
		to.drawLine(x, y + 7, x, y + 14);
	}

	private void paintScale(Graphics2D to, Rectangle place) {
		int x = place.x + place.width + SCALE_GAP;
		for (int y = 0; y < place.height; y++) {
			to.setColor(Palette.colour(Palette.HOTTEST * (place.height - 1 - y)
					/ Math.max(1, place.height - 1)));
			to.fillRect(x, place.y + y, SCALE_WIDTH, 1);
		}
		to.setColor(Style.LINE);
		to.drawRect(x, place.y, SCALE_WIDTH - 1, place.height - 1);
		to.setFont(Style.SMALL);
		FontMetrics metrics = to.getFontMetrics();
		for (int degrees = 0; degrees <= Palette.HOTTEST; degrees += 20) {
			int y = place.y + (int) ((place.height - 1) * (1 - degrees / Palette.HOTTEST));
			to.setColor(Style.FAINT);
			to.drawLine(x + SCALE_WIDTH, y, x + SCALE_WIDTH + 3, y);
			int base = Math.max(place.y + metrics.getAscent() - 2, Math.min(
					y + metrics.getAscent() / 2 - 1, place.y + place.height));
			to.drawString(degrees + "\u00b0", x + SCALE_WIDTH + 6, base);
		}
	}

	private void paintSentence(Graphics2D to, Rectangle place) {
		if (shown != null) {
			to.setColor(new Color(20, 18, 26, 150));
			to.fill(place);
		}
		to.setFont(Style.LARGE);
		FontMetrics metrics = to.getFontMetrics();
		var lines = Wrap.lines(sentence, metrics, place.width - 60);
		int high = lines.size() * (metrics.getHeight() + 4);
		int y = place.y + (place.height - high) / 2;
		to.setColor(Style.SURFACE);
		to.fillRoundRect(place.x + 14, y - 14, place.width - 28, high + 24, 12, 12);
		to.setColor(Style.TEXT);
		y += metrics.getAscent();
		for (String line : lines) {
			to.drawString(line, place.x + (place.width - metrics.stringWidth(line)) / 2, y);
			y += metrics.getHeight() + 4;
		}
	}
}
