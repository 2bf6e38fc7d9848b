/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_grpc.cpp - the program `warpway-bench-grpc`: calls by gRPC, which `warpway bench calls`
 * measures beside its own
 *
 *   warpway-bench-grpc client PATH    is a peer, see calls_peer.h; it starts the server
 *   warpway-bench-grpc server PATH    listens at the Unix socket PATH
 *
 * Messages are bytes as they are: nothing is encoded, and the server copies nothing and answers
 * with nothing. One thread of each side looks for events, which is the fastest way that gRPC has.
 */
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "bench/calls_peer.h"
#include "common/child.h"
#include "common/say.h"
}

namespace
{

constexpr char method[] = "/warpway.bench/call";
constexpr std::uint64_t answer_ns = UINT64_C(60) * 1000000000;

/* Sends and receives messages of any size. */
grpc::ChannelArguments unlimited()
{
	grpc::ChannelArguments arguments;

	arguments.SetMaxReceiveMessageSize(-1);
	arguments.SetMaxSendMessageSize(-1);
	return arguments;
}

/* The slice refers to the bytes, which live as long as the program. */
grpc::ByteBuffer message_of(const std::vector<char> &bytes)
{
	const grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);

	return grpc::ByteBuffer(&slice, 1);
}

/* --- the server --- */

/* A call that is awaited, then read, then answered; the completion queue has its address. */
struct served {
	grpc::GenericServerContext context;
	grpc::GenericServerAsyncReaderWriter stream{&context};
	grpc::ByteBuffer request;
	enum { awaited, read, answered } step = awaited;
};

class server
{
    public:
	bool start(const std::string &path)
	{
		grpc::ServerBuilder builder;

		builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
		builder.SetMaxReceiveMessageSize(-1);
		builder.RegisterAsyncGenericService(&service_);
		queue_ = builder.AddCompletionQueue();
		server_ = builder.BuildAndStart();
		return server_ != nullptr;
	}

	/* Ends with the queue, which is when the process is killed. */
	void serve()
	{
		void *tag;
		bool is_done;

		await();
		while (queue_->Next(&tag, &is_done))
			go_on(static_cast<served *>(tag), is_done);
	}

    private:
	void await()
	{
		served *next = new served;

		service_.RequestCall(&next->context, &next->stream, queue_.get(), queue_.get(),
			next);
	}

	void go_on(served *call, bool is_done)
	{
		if (!is_done || call->step == served::answered) {
			delete call;
		} else if (call->step == served::awaited) {
			await();
			call->step = served::read;
			call->stream.Read(&call->request, call);
		} else {
			call->step = served::answered;
			call->stream.WriteAndFinish(message_of({}), grpc::WriteOptions(),
				grpc::Status::OK, call);
		}
	}

	grpc::AsyncGenericService service_;
	std::unique_ptr<grpc::ServerCompletionQueue> queue_;
	std::unique_ptr<grpc::Server> server_;
};

int run_server(const char *path)
{
	link_message ready = {};
	server server;

	if (!server.start(path))
		return complain("gRPC cannot listen at %s", path);
	ready.kind = LINK_READY;
	if (parent_send(&ready, -1))
		return -1;
	server.serve();
	return 0;
}

/* --- the client --- */

class client
{
    public:
	explicit client(const std::string &path)
		: stub_(grpc::CreateCustomChannel("unix:" + path,
			  grpc::InsecureChannelCredentials(), unlimited()))
	{
	}

	int call(const grpc::ByteBuffer &request)
	{
		grpc::ClientContext context;
		grpc::ByteBuffer reply;
		grpc::Status status;
		void *tag;
		bool is_done;
		const auto call = stub_.PrepareUnaryCall(&context, method, request, &queue_);

		call->StartCall();
		call->Finish(&reply, &status, this);
		if (!queue_.Next(&tag, &is_done) || !status.ok())
			return complain("a call by gRPC failed: %s",
				status.error_message().c_str());
		return 0;
	}

    private:
	grpc::GenericStub stub_;
	grpc::CompletionQueue queue_;
};

/* As calls_peer.h says. */
int measure(client &client, link_message *message)
{
	const std::vector<char> bytes(message->numbers[0]);
	const grpc::ByteBuffer request = message_of(bytes);
	const std::uint64_t count = message->numbers[1];
	std::uint64_t at;

	if (client.call(request))
		return -1;
	at = link_now_ns();
	for (std::uint64_t i = 0; i < count; i++) {
		if (client.call(request))
			return -1;
	}
	message->kind = LINK_SAMPLE;
	message->numbers[0] = link_now_ns() - at;
	return 0;
}

int answer_all(client &client)
{
	link_message message;
	link_result result;

	while ((result = link_receive(LINK_FD, LINK_GO, &message, nullptr, WW_FOREVER)) == LINK_OK) {
		if (measure(client, &message) || parent_send(&message, -1))
			return -1;
	}
	return result == LINK_CLOSED ? 0 : complain("%s", link_result_text(result));
}

int run_client(const char *path)
{
	child child = {};
	child_plan plan = {};
	link_message message;
	int result;

	plan.name = "the server of gRPC";
	plan.arguments[0] = "server";
	plan.arguments[1] = path;
	plan.timeout_ns = answer_ns;
	child.socket = -1;
	result = child_spawn(&child, &plan);
	if (!result)
		result = child_receive(&child, LINK_READY, &message, nullptr);
	if (!result) {
		client client(path);

		result = answer_all(client);
	}
	child_fini(&child);
	return result;
}

} // namespace

int main(int argc, char *argv[])
{
	const std::string_view role = argc == 3 ? argv[1] : "";

	report_set("bench", "child");
	child_begin();
	if (role == "server")
		return run_server(argv[2]) ? EXIT_FAILED : EXIT_DONE;
	if (role == "client")
		return run_client(argv[2]) ? EXIT_FAILED : EXIT_DONE;
	return refuse("warpway-bench-grpc is for `warpway bench calls`, which starts it itself");
}
