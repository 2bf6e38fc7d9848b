/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/service.hpp - functions that a process runs for others, see warpway/service.h
 */
#ifndef WARPWAY_SERVICE_HPP
#define WARPWAY_SERVICE_HPP

#include <warpway/service.h>

#include <cstring>
#include <type_traits>

#include <warpway/memory.hpp>
#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

namespace detail
{

/* What a scalar's C++ type is called in a signature. */
template <class T>
constexpr ww_dtype dtype_of() noexcept
{
	static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(std::uint64_t),
		"scalars are numbers of at most 64 bits");
	return ww_dtype{
		static_cast<std::uint8_t>(std::is_same_v<T, bool>    ? WW_DTYPE_BOOL
				: std::is_floating_point_v<T> ? WW_DTYPE_FLOAT
				: std::is_signed_v<T>         ? WW_DTYPE_INT
							      : WW_DTYPE_UINT),
		static_cast<std::uint8_t>(sizeof(T) * 8), 1};
}

} //namespace detail

/*
 * struct ww_value: an argument or a result. What it refers to is borrowed, and must outlive the call
 * that it is passed to.
 */
class value
{
public:
	/* None: left out. */
	value() noexcept = default;
	explicit value(const ww_value &raw) noexcept : raw_(raw) {}

	/* A scalar; its type must be the parameter's. */
	template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
	value(T scalar) noexcept
	{
		raw_.kind = WW_ARGUMENT_SCALAR;
		raw_.dtype = detail::dtype_of<T>();
		std::memcpy(&raw_.scalar, &scalar, sizeof(scalar));
	}
	value(std::string_view bytes) noexcept
	{
		raw_.kind = WW_ARGUMENT_BYTES;
		raw_.data = bytes.data();
		raw_.bytes = bytes.size();
	}
	value(const memory &what) noexcept
	{
		raw_.kind = WW_ARGUMENT_ARRAY;
		raw_.memory = what.get();
	}
	value(const memory &what, const array &how) noexcept : value(what)
	{
		raw_.array = &how.raw();
	}
	/* An array that a token names. */
	value(const token &named) noexcept
	{
		raw_.kind = WW_ARGUMENT_ARRAY;
		raw_.token = &named.raw();
	}
	value(const timeline &what) noexcept
	{
		raw_.kind = WW_ARGUMENT_TIMELINE;
		raw_.timeline = what.get();
	}

	const ww_value &raw() const noexcept { return raw_; }
	bool is_none() const noexcept { return raw_.kind == WW_ARGUMENT_NONE; }

	/* A scalar of this very type; nothing if it is none. */
	template <class T>
	std::optional<T> as() const noexcept
	{
		const ww_dtype wanted = detail::dtype_of<T>();
		T scalar;

		if (raw_.kind != WW_ARGUMENT_SCALAR ||
			std::memcmp(&raw_.dtype, &wanted, sizeof(wanted)) != 0)
			return {};
		std::memcpy(&scalar, &raw_.scalar, sizeof(scalar));
		return scalar;
	}
	std::string_view bytes() const noexcept
	{
		return raw_.kind == WW_ARGUMENT_BYTES
			? std::string_view(static_cast<const char *>(raw_.data), raw_.bytes)
			: std::string_view();
	}
	/* The token of an array that is a result; a copy. */
	token array_token() const noexcept { return raw_.token ? token(*raw_.token) : token(); }
	/* Of an array that a function gets. */
	void *pointer() const noexcept { return raw_.pointer; }
	void *host_pointer() const noexcept { return raw_.host_pointer; }

private:
	ww_value raw_ = {};
};

/* WW_SERVICE_...: the state of a service */
enum class service_state : std::uint32_t {
	starting = WW_SERVICE_STARTING,
	ready = WW_SERVICE_READY,
	draining = WW_SERVICE_DRAINING,
	stopped = WW_SERVICE_STOPPED,
	lost = WW_SERVICE_LOST
};

/* struct ww_service_params; 0: as there */
struct service_options {
	std::uint32_t functions_max = 0;
	std::uint32_t clients_max = 0;
	std::uint32_t clients_per_uid_max = 0;
	std::uint32_t calls_max = 0;
	std::uint32_t arguments_bytes = 0;
	std::uint32_t results_bytes = 0;
	std::uint32_t streams = 0;
	std::uint64_t memory_bytes_max = 0;
	std::string_view version = {}; /* cut at 31 bytes */
	name_options name = {};
	bool builtin_data = false;  /* WW_SERVICE_BUILTIN_DATA */
	bool builtin_alloc = false; /* WW_SERVICE_BUILTIN_ALLOC */
	std::uint64_t alloc_bytes_max = 0;
	timeout keep = std::chrono::nanoseconds(0); /* memories after calls; forever: until the client ends */
	std::uint32_t after_streams = 0; /* that may wait for values of clients */
};

/* struct ww_function_params */
struct function_options {
	bool is_idempotent = false;
	bool enqueues = false;
	span<const std::uint32_t> uids = {};
	span<const std::uint32_t> gids = {};
	/* Of offer_batch() */
	std::uint32_t batch_calls_max = 0;
	timeout batch_wait = std::chrono::nanoseconds(0);
};

/* struct ww_service_info */
class service_info : public detail::description<ww_service_info>
{
public:
	service_state state() const noexcept { return service_state{raw().state}; }
	std::uint32_t functions() const noexcept { return raw().functions; }
	std::uint32_t clients() const noexcept { return raw().clients; }
	std::uint32_t clients_max() const noexcept { return raw().clients_max; }
	std::uint32_t calls_max() const noexcept { return raw().calls_max; }
	std::uint32_t arguments_bytes() const noexcept { return raw().arguments_bytes; }
	std::uint32_t results_bytes() const noexcept { return raw().results_bytes; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint64_t calls() const noexcept { return raw().calls; }
	std::uint64_t age_ns() const noexcept { return raw().age_ns; }
	const char *version() const noexcept { return raw().version; }
	const char *program() const noexcept { return raw().program; }
};

/* struct ww_function_info */
class function_info : public detail::description<ww_function_info>
{
public:
	bool is_idempotent() const noexcept
	{
		return (raw().flags & WW_FUNCTION_IDEMPOTENT) != 0;
	}
	bool enqueues() const noexcept { return (raw().flags & WW_FUNCTION_ENQUEUES) != 0; }
	std::uint64_t hash() const noexcept { return raw().hash; }
	std::uint64_t calls() const noexcept { return raw().calls; }
	std::uint64_t failed() const noexcept { return raw().failed; }
	std::uint64_t not_started() const noexcept { return raw().not_started; }
	std::uint64_t run_ns() const noexcept { return raw().run_ns; }
	span<const std::uint64_t> latency() const noexcept
	{
		return {raw().latency, WW_SERVICE_LATENCIES};
	}
	const char *name() const noexcept { return raw().name; }
	const char *signature() const noexcept { return raw().signature; }
	std::uint64_t batches() const noexcept { return raw().batches; }
	std::uint32_t batch_calls_max() const noexcept { return raw().batch_calls_max; }
};

/* struct ww_call_info */
class call_info : public detail::description<ww_call_info>
{
public:
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t gid() const noexcept { return raw().gid; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t client() const noexcept { return raw().client; }
	std::uint32_t lane() const noexcept { return raw().lane; }
	std::uint64_t number() const noexcept { return raw().number; }
	std::uint64_t deadline_ns() const noexcept { return raw().deadline_ns; }
	const char *function() const noexcept { return raw().function; }
	const char *program() const noexcept { return raw().program; }
};

/*
 * A call, as the function sees it that runs for it. It is good until the function returns.
 */
class call
{
public:
	explicit call(ww_call *raw) noexcept : raw_(raw) {}

	ww_call *get() const noexcept { return raw_; }

	/* ww_call_argument() */
	warpway::result<value> try_argument(std::uint32_t index) const noexcept
	{
		ww_value filled = {};
		const ww_status code = ww_call_argument(raw_, index, &filled);

		return detail::filled(code, value(filled));
	}
	value argument(std::uint32_t index) const { return try_argument(index).value(); }

	/* ww_call_result() */
	warpway::result<void> try_result(std::uint32_t index, const value &what) const noexcept
	{
		return detail::done(ww_call_result(raw_, index, &what.raw()));
	}
	void result(std::uint32_t index, const value &what) const
	{
		try_result(index, what).value();
	}

	/* ww_call_stream() */
	warpway::result<stream> try_work_stream() const noexcept
	{
		ww_stream *borrowed = nullptr;
		const ww_status code = ww_call_stream(raw_, &borrowed);

		if (code != WW_OK)
			return detail::unexpected(code);
		return stream::share(borrowed);
	}
	stream work_stream() const { return try_work_stream().value(); }

	/* ww_call_fail(): what the function returns then. */
	warpway::failure fail(status why, const char *message) const noexcept
	{
		const ww_status code = ww_call_fail(raw_, static_cast<ww_status>(why), message);

		return detail::unexpected(code);
	}

	/* ww_call_is_cancelled() */
	bool is_cancelled() const noexcept { return ww_call_is_cancelled(raw_) != 0; }

	/* ww_call_info_get() */
	warpway::result<call_info> try_info() const noexcept
	{
		call_info filled;
		const ww_status code = ww_call_info_get(raw_, filled.out());

		return detail::filled(code, filled);
	}
	call_info info() const { return try_info().value(); }

private:
	ww_call *raw_;
};

/*
 * Calls that a function runs at once, at least one. They are good until it returns.
 */
class call_batch
{
public:
	call_batch(ww_call *const *calls, std::uint32_t count) noexcept
		: calls_(calls), count_(count)
	{
	}

	std::uint32_t size() const noexcept { return count_; }
	call operator[](std::uint32_t index) const noexcept { return call(calls_[index]); }

private:
	ww_call *const *calls_;
	std::uint32_t count_;
};

/*
 * A service, of its server.
 */
class service : public detail::counted<service, ww_service, ww_service_ref, ww_service_unref>
{
public:
	/* Empty. */
	service() noexcept {}

	/* ww_service_create(): an empty name is none; an empty broker is the default one. */
	static warpway::result<service> try_create(const device &on, std::string_view name,
		const service_options &options = {}, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		const ww_service_params params = to_params(options);
		ww_service *made = nullptr;
		const ww_status code = ww_service_create(on.get(), in.get(),
			name.empty() ? nullptr : detail::c_name(name).get(), &params, stop.get(),
			&made);

		return detail::adopted<service>(code, made);
	}
	static service create(const device &on, std::string_view name,
		const service_options &options = {}, const broker &in = {},
		const cancel &stop = {})
	{
		return try_create(on, name, options, in, stop).value();
	}

	/* ww_service_export() */
	result<token> try_export_token(warpway::access most, const token_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_service_export(get(), static_cast<std::uint32_t>(most),
			&params, stop.get(), made.out());

		return detail::filled(code, made);
	}
	token export_token(warpway::access most, const token_options &options = {},
		const cancel &stop = {}) const
	{
		return try_export_token(most, options, stop).value();
	}

	/*
	 * ww_service_offer(): @function is borrowed as long as the service; it is called with a
	 * call, and returns result<void>. It must not throw.
	 */
	template <class Function>
	result<void> try_offer(const char *name, const char *signature, Function &function,
		const function_options &options = {}) const noexcept
	{
		const ww_function_params params = to_params(options);

		return detail::done(ww_service_offer(get(), name, signature, run<Function>,
			&function, &params));
	}
	template <class Function>
	void offer(const char *name, const char *signature, Function &function,
		const function_options &options = {}) const
	{
		try_offer(name, signature, function, options).value();
	}

	/*
	 * ww_service_offer_batch(): the same, called with a call_batch.
	 */
	template <class Function>
	result<void> try_offer_batch(const char *name, const char *signature, Function &function,
		const function_options &options = {}) const noexcept
	{
		const ww_function_params params = to_params(options);

		return detail::done(ww_service_offer_batch(get(), name, signature,
			run_batch<Function>, &function, &params));
	}
	template <class Function>
	void offer_batch(const char *name, const char *signature, Function &function,
		const function_options &options = {}) const
	{
		try_offer_batch(name, signature, function, options).value();
	}

	/* ww_service_start() */
	result<void> try_start() const noexcept { return detail::done(ww_service_start(get())); }
	void start() const { try_start().value(); }

	/* ww_service_serve(): end: it was drained. */
	result<outcome> try_serve(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_service_serve(get(), limit.ns(), stop.get()));
	}
	outcome serve(timeout limit, const cancel &stop = {}) const
	{
		return try_serve(limit, stop).value();
	}

	/* ww_service_eventfd() */
	result<descriptor> try_eventfd() const noexcept
	{
		int fd = -1;
		const ww_status code = ww_service_eventfd(get(), &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd() const { return try_eventfd().value(); }

	/* ww_service_drain() */
	result<void> try_drain() const noexcept { return detail::done(ww_service_drain(get())); }
	void drain() const { try_drain().value(); }

	/* ww_service_info_get() */
	result<service_info> try_info() const noexcept
	{
		service_info filled;
		const ww_status code = ww_service_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	service_info info() const { return try_info().value(); }

	/* ww_service_function_info_get(): nothing if there is no such index. */
	result<std::optional<function_info>> try_function(std::uint32_t index) const noexcept
	{
		function_info filled;
		const ww_status code = ww_service_function_info_get(get(), index, filled.out());

		if (code == WW_END)
			return std::optional<function_info>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<function_info>(filled);
	}
	std::optional<function_info> function(std::uint32_t index) const
	{
		return try_function(index).value();
	}

private:
	template <class Function>
	static ww_status run(void *context, ww_call *raw) noexcept
	{
		Function &function = *static_cast<Function *>(context);
		const warpway::result<void> ended = function(call(raw));

		return static_cast<ww_status>(ended.status());
	}

	template <class Function>
	static ww_status run_batch(void *context, ww_call *const *calls,
		std::uint32_t count) noexcept
	{
		Function &function = *static_cast<Function *>(context);
		const warpway::result<void> ended = function(call_batch(calls, count));

		return static_cast<ww_status>(ended.status());
	}

	static ww_function_params to_params(const function_options &options) noexcept
	{
		ww_function_params filled = detail::params<ww_function_params>();

		filled.flags = (options.is_idempotent ? WW_FUNCTION_IDEMPOTENT : 0) |
			(options.enqueues ? WW_FUNCTION_ENQUEUES : 0);
		filled.uids = options.uids.data();
		filled.uid_count = static_cast<std::uint32_t>(options.uids.size());
		filled.gids = options.gids.data();
		filled.gid_count = static_cast<std::uint32_t>(options.gids.size());
		filled.batch_calls_max = options.batch_calls_max;
		filled.batch_wait_ns = options.batch_wait.ns();
		return filled;
	}

	static ww_service_params to_params(const service_options &options) noexcept
	{
		ww_service_params filled = detail::params<ww_service_params>();
		const std::size_t room = sizeof(filled.version) - 1;

		filled.mode = options.name.mode;
		filled.gid = options.name.gid;
		filled.flags = options.name.replace ? WW_PUT_REPLACE : 0;
		filled.functions_max = options.functions_max;
		filled.clients_max = options.clients_max;
		filled.clients_per_uid_max = options.clients_per_uid_max;
		filled.calls_max = options.calls_max;
		filled.arguments_bytes = options.arguments_bytes;
		filled.results_bytes = options.results_bytes;
		filled.streams = options.streams;
		filled.memory_bytes_max = options.memory_bytes_max;
		options.version.substr(0, room).copy(filled.version, room);
		filled.builtin = (options.builtin_data ? WW_SERVICE_BUILTIN_DATA : 0) |
			(options.builtin_alloc ? WW_SERVICE_BUILTIN_ALLOC : 0);
		filled.alloc_bytes_max = options.alloc_bytes_max;
		filled.keep_ns = options.keep.ns();
		filled.after_streams = options.after_streams;
		return filled;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
