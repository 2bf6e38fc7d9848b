// SPDX-License-Identifier: Apache-2.0
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import warpway.Access;
import warpway.ArrayValue;
import warpway.Broker;
import warpway.CallOptions;
import warpway.CallResults;
import warpway.Client;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Layout;
import warpway.Memory;
import warpway.MemoryKind;
import warpway.RemoteFunction;
import warpway.Service;
import warpway.ServiceOptions;
import warpway.Token;

/** A client calls a function of a server, on an array that stays where it is. */
public final class ServiceClient {
	private static final Duration LIMIT = Duration.ofSeconds(20);

	private ServiceClient() {
	}

	public static void main(String[] arguments) throws Exception {
		String device = arguments.length > 0 ? arguments[0] : "host";
		if (arguments.length > 1) {
			serve(device);
			return;
		}
		Process server = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
				System.getProperty("java.class.path"), "ServiceClient", device, "server")
				.inheritIO().start();
		ExecutorService callbacks = Executors.newSingleThreadExecutor();
		Layout layout = Layout.of(DType.FLOAT32, 1000);
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Client client = Client.get(broker, "java/math", false, callbacks, LIMIT);
				Memory memory = Memory.create(on, layout.bytes(), MemoryKind.HOST)) {
			RemoteFunction scale = client.find("scale", null, LIMIT);
			System.out.println("scale: " + scale.info().signature());

			memory.floats(layout).put(999, 20);
			try (CallResults results = scale.call(LIMIT, 2, new ArrayValue(memory, layout))) {
				System.out.println("first call: " + results.get(0));
			}
			/* A token that is exported once serves many calls. */
			Token token = memory.export(broker, new ExportOptions().access(Access.WRITE)
					.layout(layout));
			scale.callAsync(new CallOptions(), LIMIT, 1.05, token).thenAccept(results -> {
				System.out.println("second call: " + results.get(0));
				results.close();
			}).get(20, TimeUnit.SECONDS);
			client.find("stop", null, LIMIT).call(LIMIT).close();
		} finally {
			callbacks.shutdown();
			server.waitFor();
		}
	}

	private static void serve(String device) throws Exception {
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Service service = Service.create(on, broker, "java/math", new ServiceOptions())) {
			service.offer("scale", "f32 by, f32[n] x readwrite -> f64 last", false, call -> {
				float by = ((Double) call.argument(0)).floatValue();
				ArrayValue x = (ArrayValue) call.argument(1);
				var floats = x.memory().floats(x.layout());
				for (int i = 0; i < floats.limit(); i++) {
					floats.put(i, floats.get(i) * by);
				}
				call.result(0, floats.get(floats.limit() - 1));
			});
			service.offer("stop", "", false, call -> service.drain());
			service.start();
			service.serve(Duration.ofSeconds(60));
		}
	}
}
