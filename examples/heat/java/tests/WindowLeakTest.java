// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import static org.junit.jupiter.api.Assertions.*;

import heat.window.HeatWindow;
import org.junit.jupiter.api.Test;

/** Windows that are opened and closed leave nothing behind in the process. */
class WindowLeakTest {
	private static final int ROUNDS = 20;

	@Test
	void windowsThatComeAndGo() throws Exception {
		Screen.swing(() -> {
			HeatWindow.installLook();
			return null;
		});
		try (Daemon daemon = new Daemon()) {
			int before = 0;
			for (int i = 0; i < ROUNDS; i++) {
				try (Screen screen = new Screen(daemon.prefix)) {
					screen.awaitText("facts", "steps/s");
					screen.click("clear");
					screen.awaitText("message", "Done.");
				}
				if (i == 1) {
					LeakTest.assertNothingIsOpen();
					before = LeakTest.descriptors();
				}
			}
			LeakTest.assertNothingIsOpen();
			LeakTest.awaitDescriptors(before);
		}
	}
}
