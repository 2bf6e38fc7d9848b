// SPDX-License-Identifier: Apache-2.0
package heat.window;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import javax.swing.UIManager;
import javax.swing.UnsupportedLookAndFeelException;
import javax.swing.plaf.nimbus.NimbusLookAndFeel;

/** Colours and fonts of the window. */
final class Style {
	static final Color BACKGROUND = new Color(0x1c1a22);
	static final Color SURFACE = new Color(0x26232e);
	static final Color LINE = new Color(0x45414f);
	static final Color TEXT = new Color(0xe8e4ee);
	static final Color FAINT = new Color(0x9d97a8);
	static final Color WARNING = new Color(0xfbba1f);
	static final Color MAXIMUM = new Color(0xf98c0a);
	static final Color MEAN = new Color(0xd0d0e0);
	static final Color MINIMUM = new Color(0x6f9df0);
	static final Font SMALL = new Font(Font.SANS_SERIF, Font.PLAIN, 11);
	static final Font NORMAL = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
	static final Font LARGE = new Font(Font.SANS_SERIF, Font.BOLD, 15);

	private Style() {
	}

	/** Sets the look of all windows of this process, before the first one is made. */
	static void install() {
		UIManager.put("control", BACKGROUND);
		UIManager.put("info", SURFACE);
		UIManager.put("nimbusBase", new Color(0x2a2636));
		UIManager.put("nimbusBlueGrey", new Color(0x3a3645));
		UIManager.put("nimbusLightBackground", SURFACE);
		UIManager.put("nimbusFocus", new Color(0xbc3754));
		UIManager.put("nimbusSelectionBackground", new Color(0xa32c61));
		UIManager.put("nimbusOrange", new Color(0xd04545));
		UIManager.put("nimbusSelectedText", TEXT);
		UIManager.put("nimbusDisabledText", FAINT);
		UIManager.put("text", TEXT);
		UIManager.put("menuText", TEXT);
		UIManager.put("infoText", TEXT);
		UIManager.put("controlText", TEXT);
		try {
			UIManager.setLookAndFeel(new NimbusLookAndFeel());
		} catch (UnsupportedLookAndFeelException exception) {
			throw new IllegalStateException("this JRE has no Nimbus", exception);
		}
		UIManager.getLookAndFeelDefaults().put("defaultFont", NORMAL);
	}

	/** The same graphics, for smooth lines and letters. */
	static Graphics2D smooth(Graphics graphics) {
		Graphics2D smooth = (Graphics2D) graphics;
		smooth.setRenderingHint(RenderingHints.KEY_ANTIALIASING,
				RenderingHints.VALUE_ANTIALIAS_ON);
		smooth.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING,
				RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
		return smooth;
	}
}
