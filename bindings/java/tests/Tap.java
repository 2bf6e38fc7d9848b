// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.platform.engine.discovery.ClassNameFilter.includeClassNamePatterns;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the tests, and prints TAP, which meson and scripts/check-totals read: one line for each.
 * Arguments: none for all tests; a class such as PoolTest; PoolTest#method; or, with its package, a
 * class of another folder.
 */
public final class Tap implements TestExecutionListener {
	private static final Class<?>[] ALL = {
			BarrierTest.class, BrokerTest.class, CallTest.class, ChannelTest.class,
			DeviceTest.class, EventTest.class, HandleTest.class, LayoutTest.class, LoaderTest.class,
			MemoryTest.class, MisuseTest.class, NamesTest.class, PeerTest.class, PoolTest.class,
			PublisherTest.class, TimelineTest.class, WaitTest.class, WatchTest.class,
			WorkQueueTest.class,
	};
	private static final String LIMIT = "junit.jupiter.execution.timeout.default";

	private int count;
	private boolean failed;

	private Tap() {
	}

	/**
	 * Runs the tests.
	 *
	 * @param arguments what to run
	 */
	public static void main(String[] arguments) {
		List<DiscoverySelector> selectors = new ArrayList<>();
		for (String argument : arguments) {
			String name = argument.contains(".") ? argument
					: Tap.class.getPackageName() + "." + argument;
			selectors.add(name.contains("#") ? selectMethod(name) : selectClass(name));
		}
		for (Class<?> tests : arguments.length == 0 ? ALL : new Class<?>[0]) {
			selectors.add(selectClass(tests));
		}
		Tap tap = new Tap();
		LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
				.selectors(selectors).filters(includeClassNamePatterns(".*"))
				.configurationParameter(LIMIT, "600 s").build(), tap);
		System.exit(tap.failed ? 1 : 0);
	}

	@Override
	public void testPlanExecutionStarted(TestPlan plan) {
		System.out.println("1.." + plan.countTestIdentifiers(TestIdentifier::isTest));
	}

	@Override
	public void executionSkipped(TestIdentifier test, String reason) {
		line("ok", test, " # SKIP " + reason);
	}

	@Override
	public void executionFinished(TestIdentifier test, TestExecutionResult result) {
		Throwable problem = result.getThrowable().orElse(null);
		if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
			line("ok", test, " # SKIP " + problem.getMessage());
		} else if (result.getStatus() == TestExecutionResult.Status.FAILED) {
			failed = true;
			explain(problem);
			line("not ok", test, "");
		} else {
			line("ok", test, "");
		}
	}

	private void line(String word, TestIdentifier test, String rest) {
		if (test.isTest()) {
			String name = test.getDisplayName().replace("()", "");
			MethodSource source = (MethodSource) test.getSource().orElseThrow();
			String from = source.getClassName().replaceAll(".*\\.", "");
			System.out.println(word + " " + ++count + " - " + from + "." + name + rest);
		} else if (word.equals("not ok")) {
			System.out.println("Bail out! " + test.getDisplayName());
		}
		System.out.flush();
	}

	private static void explain(Throwable problem) {
		StringWriter text = new StringWriter();
		problem.printStackTrace(new PrintWriter(text, true));
		text.toString().lines().filter(line -> !line.contains("org.junit."))
				.forEach(line -> System.out.println("# " + line));
		System.out.println("# " + problem.toString().replaceAll("\\s+", " ")); // the reason
	}
}
