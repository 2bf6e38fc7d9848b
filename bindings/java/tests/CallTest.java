// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.ArrayValue;
import warpway.Broker;
import warpway.CallException;
import warpway.CallOptions;
import warpway.CallResults;
import warpway.Client;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.FunctionInfo;
import warpway.Layout;
import warpway.Memory;
import warpway.PendingCall;
import warpway.RemoteFunction;
import warpway.Service;
import warpway.ServiceCall;
import warpway.ServiceInfo;
import warpway.ServiceOptions;
import warpway.Status;
import warpway.Timeline;
import warpway.Token;
import warpway.WarpwayException;

/** Calls of functions, of this process and of others. */
class CallTest {
	private final CountDownLatch gate = new CountDownLatch(1);
	private final ExecutorService executor = Executors.newSingleThreadExecutor(
			task -> new Thread(task, "callbacks"));
	private Device device;
	private Broker broker;
	private Service service;
	private Client client;
	private Runner server;

	@BeforeEach
	void open() throws Exception {
		String name = name("service");
		device = device();
		broker = Broker.open();
		service = Service.create(device, broker, name, new ServiceOptions().version("2.1")
				.builtinData());
		offer(service, gate);
		offerBatch(service);
		service.start();
		server = new Runner(() -> service.serve(warpway.Warpway.FOREVER));
		client = Client.get(broker, name, false, executor, LONG);
	}

	@AfterEach
	void close() throws Exception {
		gate.countDown();
		client.close();
		service.drain();
		assertNull(server.join());
		service.close();
		broker.close();
		device.close();
		executor.shutdown();
	}

	private static void offer(Service service, CountDownLatch gate) {
		service.offer("add", "f64 a, f64 b = 2 -> f64 sum", true, call ->
				call.result(0, (Double) call.argument(0) + (Double) call.argument(1)));
		service.offer("echo", "bool a, i8 b, u64 c, f32 d, f16 e, bf16 f, bytes g = none -> bool "
				+ "a2, i8 b2, u64 c2, f32 d2, f16 e2, bf16 f2, bytes g2", false, call -> {
			for (int i = 0; i < 7; i++) {
				Object value = call.argument(i);
				call.result(i, value == null ? new byte[0] : value);
			}
		});
		service.offer("double", "f32[n] x readwrite -> i64 length", false, call -> {
			ArrayValue x = (ArrayValue) call.argument(0);
			var floats = x.memory().floats(x.layout());
			for (int i = 0; i < floats.limit(); i++) {
				floats.put(i, floats.get(i) * 2);
			}
			call.result(0, floats.limit());
		});
		service.offer("fail", "i32 status", false, call -> {
			long status = (Long) call.argument(0);
			if (status == 0) {
				throw new IllegalArgumentException("no such thing");
			}
			throw new WarpwayException(Status.QUOTA, "there is too much of it");
		});
		service.offer("wait", "", false, call -> {
			while (!call.isCancelled() && !gate.await(1, TimeUnit.MILLISECONDS)) {
				assertEquals("wait", call.info().function());
			}
		});
		service.offer("make", "i64 n -> u8[n] array", false, call -> {
			/* The library keeps the memory for the client. */
			try (Device device = device();
					Memory memory = Memory.create(device, 4096, viewable())) {
				memory.view().put(0, (byte) 9);
				call.result(0, new ArrayValue(memory, Layout.of(DType.UINT8,
						(Long) call.argument(0))));
			}
		});
	}

	private static void offerBatch(Service service) {
		service.offerBatch("square", "i64 x -> i64 square, i64 together", false,
				Duration.ofSeconds(60), 3, calls -> {
			for (ServiceCall call : calls) {
				long x = (Long) call.argument(0);
				if (x == -1) {
					call.fail(Status.QUOTA, "one is wrong");
				} else if (x == -2) {
					throw new IllegalArgumentException("all are wrong");
				} else {
					call.result(0, x * x);
					call.result(1, calls.size());
				}
			}
		});
	}

	private List<PendingCall> submit(long... numbers) throws Exception {
		RemoteFunction square = find("square");
		List<PendingCall> calls = new ArrayList<>();
		for (int i = 0; i < numbers.length; i++) {
			calls.add(square.callAsync(new CallOptions().lane(i), LONG, numbers[i]));
		}
		return calls;
	}

	private static void failsWith(Status status, String message, PendingCall call) {
		var exception = (CallException) assertThrows(ExecutionException.class, () ->
				call.get(LONG_S, TimeUnit.SECONDS)).getCause();
		assertEquals(status, exception.status());
		assertTrue(exception.getMessage().contains(message), exception.getMessage());
	}

	@Test
	void oneOfSeveralCallsFails() throws Exception {
		List<PendingCall> calls = submit(5, -1, 6);
		failsWith(Status.QUOTA, "one is wrong", calls.get(1));
		try (CallResults first = calls.get(0).get(LONG_S, TimeUnit.SECONDS);
				CallResults last = calls.get(2).get(LONG_S, TimeUnit.SECONDS)) {
			assertEquals(List.of(25L, 36L), List.of(first.get(0), last.get(0)));
			assertEquals(3L, first.get(1));
		}
	}

	@Test
	void aBatchThatThrows() throws Exception {
		List<PendingCall> calls = submit(-1, 7, -2);
		failsWith(Status.QUOTA, "one is wrong", calls.get(0));
		failsWith(Status.STATE, "all are wrong", calls.get(1));
		failsWith(Status.STATE, "all are wrong", calls.get(2));
	}

	@Test
	void whatCannotBe() {
		fails(Status.INVALID, () -> Service.create(device, broker, name("streams"),
				new ServiceOptions().afterStreams(5)));
		fails(Status.INVALID, () -> service.offerBatch("bad", "", false, NOW, 257, calls -> { }));
		fails(Status.INVALID, () -> service.offerBatch("bad", "", false,
				Duration.ofSeconds(61), 1, calls -> { }));
		assertThrows(IllegalArgumentException.class, () -> service.offerBatch("bad", "", false,
				Duration.ofNanos(-1), 1, calls -> { }));
		assertThrows(NullPointerException.class, () -> service.offerBatch("bad", "", false, NOW, 1,
				null));
	}

	private RemoteFunction find(String name) throws InterruptedException {
		return client.find(name, null, LONG);
	}

	@Test
	void numbers() throws Exception {
		try (CallResults results = find("add").call(new CallOptions().repeat(), LONG, 40)) {
			assertEquals(42.0, results.get(0));
			assertEquals(1, results.count());
			assertThrows(IndexOutOfBoundsException.class, () -> results.get(1));
		}
		try (CallResults results = find("echo").call(LONG, true, -5, new BigInteger("2").pow(63),
				0.1f, 1.5, -2.0, "text".getBytes())) {
			assertEquals(true, results.get(0));
			assertEquals(-5L, results.get(1));
			assertEquals(new BigInteger("9223372036854775808"), results.get(2));
			assertEquals((double) 0.1f, results.get(3));
			assertEquals(1.5, results.get(4));
			assertEquals(-2.0, results.get(5));
			assertEquals("text", new String((byte[]) results.get(6)));
		}
	}

	@Test
	void wrongArgumentsAreRefused() throws Exception {
		RemoteFunction echo = find("echo");
		fails(Status.INVALID, () -> echo.call(LONG, true, 200, 1, 1, 1, 1));
		fails(Status.INVALID, () -> echo.call(LONG, true, 1, -1, 1, 1, 1));
		fails(Status.INVALID, () -> echo.call(LONG, true, 1.5, 1, 1, 1, 1));
		fails(Status.MISMATCH, () -> echo.call(LONG, "text", 1, 1, 1, 1, 1));
		fails(Status.MISMATCH, () -> echo.call(LONG, true, 1));
		fails(Status.MISMATCH, () -> echo.call(LONG, 1, 1, 1, 1, 1, 1, null, 1));
		fails(Status.LIMIT, () -> echo.call(LONG, true, 1, 1, 1, 1, 1, new byte[5000]));
		fails(Status.MISMATCH, () -> find("double").call(LONG, new byte[3]));
		fails(Status.NOT_FOUND, () -> client.find("none", null, NOW));
		fails(Status.MISMATCH, () -> client.find("add", "i32 a", NOW));
		fails(Status.INVALID, () -> service.offer("bad", "what is it", false, call -> { }));
	}

	@Test
	void arrays() throws Exception {
		Layout layout = Layout.of(DType.FLOAT32, 10);
		try (Memory memory = Memory.create(device, 4096, viewable())) {
			memory.floats(layout).put(9, 21);
			RemoteFunction twice = find("double");
			try (CallResults results = twice.call(LONG, new ArrayValue(memory, layout))) {
				assertEquals(10L, results.get(0));
			}
			Token token = memory.export(broker, new ExportOptions().access(Access.WRITE)
					.layout(layout));
			twice.call(LONG, token).close();
			assertEquals(84, memory.floats(layout).get(9));
			Token reading = memory.export(broker, new ExportOptions().layout(layout));
			assertThrows(WarpwayException.class, () -> twice.call(LONG, reading));
			fails(Status.MISMATCH, () -> twice.call(LONG, memory));
		}
	}

	@Test
	void arraysAsResults() throws Exception {
		try (CallResults results = find("make").call(LONG, 100)) {
			ArrayValue array = (ArrayValue) results.get(0);
			assertEquals(100, array.layout().count());
			try (Memory memory = array.open(device, broker, Access.READ)) {
				assertEquals(9, memory.bytes(array.layout()).get(0));
			}
		}
	}

	@Test
	void failuresHaveASentence() throws Exception {
		CallException refused = (CallException) fails(Status.QUOTA,
				() -> find("fail").call(LONG, 1));
		assertEquals("there is too much of it", refused.getMessage());
		assertTrue(refused.hasStarted());
		String text = fails(Status.STATE, () -> find("fail").call(LONG, 0)).getMessage();
		assertTrue(text.contains("no such thing"), text);
	}

	@Test
	void futuresOnTheExecutor() throws Exception {
		RemoteFunction add = find("add");
		List<PendingCall> calls = new java.util.ArrayList<>();
		for (int i = 0; i < 20; i++) {
			calls.add(add.callAsync(new CallOptions().lane(i % 3), LONG, i));
		}
		for (int i = 0; i < 20; i++) {
			try (CallResults results = calls.get(i).get(LONG_S, TimeUnit.SECONDS)) {
				assertEquals(i + 2.0, results.get(0));
			}
		}
		String thread = add.callAsync(new CallOptions(), LONG, 1).thenApplyAsync(results -> {
			results.close();
			return Thread.currentThread().getName();
		}, executor).get(LONG_S, TimeUnit.SECONDS);
		assertEquals("callbacks", thread);
		Throwable thrown = assertThrows(ExecutionException.class, () ->
				find("fail").callAsync(new CallOptions(), LONG, 1).get(LONG_S, TimeUnit.SECONDS));
		assertEquals(Status.QUOTA, ((CallException) thrown.getCause()).status());
	}

	@Test
	void cancelledCalls() throws Exception {
		RemoteFunction wait = find("wait");
		RemoteFunction add = find("add");
		PendingCall fine = add.callAsync(new CallOptions(), LONG, 1);
		fine.get(LONG_S, TimeUnit.SECONDS).close();
		PendingCall running = wait.callAsync(new CallOptions(), LONG);
		PendingCall queued = add.callAsync(new CallOptions(), LONG, 1);
		PendingCall chained = add.callAsync(new CallOptions().chain(), LONG, 1);
		PendingCall depends = add.callAsync(new CallOptions().lane(1)
				.dependsOn(fine.number(), queued.number()), LONG, 1);
		assertTrue(queued.cancel(true));
		assertThrows(CancellationException.class, queued::get);
		assertTrue(running.cancel(true));
		failsWith(Status.DEPENDENCY_FAILED, "", chained);
		Throwable thrown = assertThrows(ExecutionException.class,
				() -> depends.get(LONG_S, TimeUnit.SECONDS));
		CallException failure = (CallException) thrown.getCause();
		assertEquals(Status.DEPENDENCY_FAILED, failure.status());
		assertEquals(queued.number(), failure.failedCall());
		assertFalse(failure.hasStarted());
		add.call(new CallOptions().dependsOn(), LONG, 1).close();
		fails(Status.INVALID, () -> add.call(
				new CallOptions().dependsOn(1, 2, 3, 4, 5, 6, 7), LONG, 1));
	}

	@Test
	void limitsOnTime() throws Exception {
		fails(Status.TIMED_OUT, () -> find("wait").call(Duration.ofMillis(20)));
		PendingCall first = find("wait").callAsync(new CallOptions(), LONG);
		PendingCall late = find("add").callAsync(
				new CallOptions().deadline(Duration.ofMillis(10)), LONG, 1);
		long end = System.nanoTime() + 10_000_000;
		while (System.nanoTime() < end) {
			Thread.onSpinWait();
		}
		gate.countDown();
		first.get(LONG_S, TimeUnit.SECONDS).close();
		Throwable thrown = assertThrows(ExecutionException.class,
				() -> late.get(LONG_S, TimeUnit.SECONDS));
		assertEquals(Status.TIMED_OUT, ((CallException) thrown.getCause()).status());
	}

	@Test
	void afterATimeline() throws Exception {
		try (Timeline timeline = Timeline.create()) {
			PendingCall call = find("add").callAsync(new CallOptions().lane(5).after(timeline, 1),
					LONG, 1);
			assertFalse(call.isDone());
			timeline.signal(1);
			call.get(LONG_S, TimeUnit.SECONDS).close();
		}
		try (Timeline lane = client.laneTimeline(5, LONG)) {
			assertTrue(lane.info().completed() >= 1);
		}
	}

	@Test
	void closingTheClientEndsItsFutures() throws Exception {
		PendingCall call = find("wait").callAsync(new CallOptions(), LONG);
		client.close();
		assertThrows(ExecutionException.class, () -> call.get(LONG_S, TimeUnit.SECONDS));
		assertThrows(IllegalStateException.class, () -> client.info());
	}

	@Test
	void descriptions() throws Exception {
		assertTrue(client.awaitReady(LONG));
		assertEquals(ServiceInfo.State.READY, client.info().state());
		assertEquals("2.1", client.info().version());
		assertEquals(client.functions(), service.functions());
		FunctionInfo add = find("add").info();
		assertEquals("f64 a, f64 b = 2.0 -> f64 sum", add.signature());
		assertTrue(add.isIdempotent());
		assertTrue(client.functions().stream().anyMatch(f -> f.name().equals("warpway.copy")));
		try (Client observer = Client.get(broker, serviceName(), true,
				executor, LONG)) {
			RemoteFunction seen = observer.find("add", null, LONG);
			fails(Status.ACCESS, () -> seen.call(LONG, 1));
		}
		Token token = service.export(new ExportOptions().access(Access.WRITE));
		try (Client opened = Client.open(broker, token, executor)) {
			opened.find("add", null, LONG).call(LONG, 1).close();
		}
	}

	private String serviceName() {
		return broker.list("java/service").get(0).name();
	}

	@Test
	void aKilledServerEndsCalls() throws Exception {
		String name = name("killed");
		try (Peer peer = Peer.start(CallTest.class, "serves", name);
				Client other = Client.get(broker, name, LONG)) {
			RemoteFunction wait = other.find("wait", null, LONG);
			PendingCall call = wait.callAsync(new CallOptions(), LONG);
			assertEquals("runs", peer.receive());
			peer.kill();
			Throwable thrown = assertThrows(ExecutionException.class,
					() -> call.get(LONG_S, TimeUnit.SECONDS));
			assertEquals(Status.PEER_LOST, ((CallException) thrown.getCause()).status());
			assertTrue(((CallException) thrown.getCause()).hasStarted());
			fails(Status.PEER_LOST, () -> wait.call(LONG));
			assertEquals(ServiceInfo.State.LOST, other.info().state());
		}
	}

	static void serves(Peer.Line line, String[] arguments) throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Service service = Service.create(device, broker, arguments[0],
						new ServiceOptions())) {
			service.offer("wait", "", false, call -> {
				line.send("runs");
				line.receive();
			});
			service.start();
			service.serve(warpway.Warpway.FOREVER);
		}
	}
}
