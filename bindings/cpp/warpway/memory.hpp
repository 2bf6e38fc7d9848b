/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/memory.hpp - memory that processes share, see warpway/memory.h and warpway/broker.h
 *
 *   memory m = memory::create(on, 1 << 20);
 *   m.put(broker, "lab/weights");
 *
 *   mapping w = memory::get(on, broker, "lab/weights");
 *   for (float x : w.span<const float>())
 *           ...
 */
#ifndef WARPWAY_MEMORY_HPP
#define WARPWAY_MEMORY_HPP

#include <warpway/broker.h>
#include <warpway/memory.h>

#include <warpway/broker.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_memory_info */
class memory_info : public detail::description<ww_memory_info>
{
public:
	memory_kind kind() const noexcept { return memory_kind{raw().kind}; }
	warpway::access access() const noexcept { return warpway::access{raw().access}; }
	warpway::route route() const noexcept { return warpway::route{raw().route}; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	void *pointer() const noexcept { return raw().pointer; }
	void *host_pointer() const noexcept { return raw().host_pointer; }
	id home_uuid() const noexcept { return detail::to_id(raw().home_uuid); }
	id object_id() const noexcept { return detail::to_id(raw().object_id); }
	std::uint64_t offset() const noexcept { return raw().offset; }
	std::uint64_t total_bytes() const noexcept { return raw().total_bytes; }
	bool is_slice() const noexcept { return (raw().flags & WW_MEMORY_IS_SLICE) != 0; }
	bool is_wrapped() const noexcept { return (raw().flags & WW_MEMORY_IS_WRAPPED) != 0; }

	/* To be asked for while the memory lives. */
	warpway::device device() const noexcept { return warpway::device::share(raw().device); }
};

/* A memory's descriptor, and what must travel beside it. */
struct exported_fd {
	descriptor fd;
	ww_memory_description description;
};

/*
 * A CUipcMemHandle, the same as a cudaIpcMemHandle_t, and the offset of the memory in its
 * allocation.
 */
struct legacy_handle {
	ww_memory_handle handle;
	std::uint64_t offset;
};

/* struct ww_import_params */
struct import_options {
	warpway::access access = warpway::access::read;
	bool no_slow_route = false; /* refuse memory that the device reaches only by a slow route */
	/* at an address of its own, also where this process has the memory */
	bool own_mapping = false;
};

/* struct ww_put_params */
struct put_options {
	std::uint32_t mode = 0600;
	warpway::life life = {};   /* {}: held; for a slice and for memory that was wrapped: owner */
	object_state state = {};   /* {}: sealed; for a slice: shared */
	std::uint32_t gid = WW_GID_OWN;
	bool replace = false;
	std::optional<std::chrono::nanoseconds> ttl = {}; /* for life::kept; nothing: no end */
	std::optional<warpway::array> array = {};
};

/* struct ww_get_params */
struct get_options {
	warpway::access access = warpway::access::read;
	std::optional<std::uint32_t> owner = {}; /* only an object of this user */
	bool no_slow_route = false;              /* as in import_options */
	bool own_mapping = false;                /* as in import_options */
};

/* struct ww_export_params */
struct export_options {
	warpway::access access = warpway::access::read;
	std::uint64_t offset = 0;
	std::uint64_t bytes = 0;                             /* 0: to the end */
	std::optional<std::chrono::nanoseconds> escrow = {}; /* nothing: 60 seconds; zero: none */
	std::uint32_t uses = 0;
	std::optional<warpway::array> array = {}; /* in the span */
	bool delivery = false;                    /* WW_EXPORT_DELIVERY; uses is not 0 then */
};

namespace detail
{

inline std::uint64_t to_ns(std::chrono::nanoseconds time) noexcept
{
	return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

inline std::uint64_t to_escrow(std::optional<std::chrono::nanoseconds> escrow) noexcept
{
	if (!escrow)
		return WW_ESCROW_DEFAULT;
	return escrow->count() > 0 ? to_ns(*escrow) : WW_ESCROW_NONE;
}

/* The array is not copied. */
inline ww_export_params to_params(const export_options &options) noexcept
{
	ww_export_params converted = detail::params<ww_export_params>();

	converted.access = static_cast<std::uint32_t>(options.access);
	converted.offset = options.offset;
	converted.bytes = options.bytes;
	converted.escrow_ns = to_escrow(options.escrow);
	converted.uses = options.uses;
	converted.flags = options.delivery ? WW_EXPORT_DELIVERY : 0;
	converted.array = options.array ? &options.array->raw() : nullptr;
	return converted;
}

/* WW_IMPORT_... of the options that imports and gets share. */
template <class Options>
std::uint64_t to_import_flags(const Options &options) noexcept
{
	return (options.no_slow_route ? WW_IMPORT_NO_SLOW_ROUTE : 0) |
		(options.own_mapping ? WW_IMPORT_OWN_MAPPING : 0);
}

inline ww_import_params to_params(const import_options &options) noexcept
{
	ww_import_params filled = params<ww_import_params>();

	filled.access = static_cast<std::uint32_t>(options.access);
	filled.flags = to_import_flags(options);
	return filled;
}

/* The legacy handle of a memory, of any of the types that CUDA's headers have for it. */
template <class Handle>
ww_memory_handle to_memory_handle(const Handle &handle) noexcept
{
	static_assert(sizeof(Handle) == WW_MEMORY_HANDLE_BYTES && std::is_trivially_copyable_v<Handle>,
		"a legacy handle has 64 bytes");
	ww_memory_handle copy{};

	std::memcpy(copy.bytes, &handle, sizeof(copy.bytes));
	return copy;
}

/* The CPU's view of a memory as elements. */
template <class T>
result<span<T>> view(const memory_info &of) noexcept
{
	static_assert(std::is_trivially_copyable_v<T>, "memory holds plain bytes");
	char *start = static_cast<char *>(of.host_pointer());

	if (!start)
		return failure::of(WW_ERR_UNSUPPORTED,
			"the CPU cannot reach this memory; copy it with a stream");
	if (!std::is_const_v<T> && of.access() != access::write)
		return failure::of(WW_ERR_ACCESS,
			"this memory is mapped for reading; ask for a span of const elements");
	if (reinterpret_cast<std::uintptr_t>(start) % alignof(T) != 0)
		return failure::of(WW_ERR_INVALID, "the bytes are not aligned for such elements");
	return span<T>(reinterpret_cast<T *>(start), static_cast<std::size_t>(of.bytes() / sizeof(T)));
}

} //namespace detail

struct mapping;
struct found_memory;

/*
 * A span of memory that is mapped in this process and can be shared with others.
 */
class memory : public detail::counted<memory, ww_memory, ww_memory_ref, ww_memory_unref>
{
public:
	/* Empty. */
	memory() noexcept {}

	/* ww_memory_create() */
	static result<memory> try_create(const device &on, std::uint64_t bytes,
		memory_kind kind = memory_kind::vmm) noexcept
	{
		const ww_memory_params params = to_params(bytes, kind);
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_create(on.get(), &params, &made);

		return detail::adopted<memory>(code, made);
	}
	static memory create(const device &on, std::uint64_t bytes,
		memory_kind kind = memory_kind::vmm)
	{
		return try_create(on, bytes, kind).value();
	}

	/*
	 * ww_memory_wrap(): bytes 0: to the end of the allocation, which the caller must not free
	 * before the last unref.
	 */
	static result<memory> try_wrap(const device &on, void *pointer,
		std::uint64_t bytes) noexcept
	{
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_wrap(on.get(), pointer, bytes, nullptr, &made);

		return detail::adopted<memory>(code, made);
	}
	static memory wrap(const device &on, void *pointer, std::uint64_t bytes)
	{
		return try_wrap(on, pointer, bytes).value();
	}

	/*
	 * The same, with a function object that is called, without arguments, as
	 * ww_wrap_params.release is, and then destroyed. It must not throw.
	 */
	template <class Release>
	static result<memory> try_wrap(const device &on, void *pointer, std::uint64_t bytes,
		Release &&release)
	{
		using owned = std::decay_t<Release>;
		static_assert(std::is_invocable_v<owned>, "a release is called without arguments");
		ww_wrap_params params = detail::params<ww_wrap_params>();
		ww_memory *made = nullptr;
		owned *kept = new (std::nothrow) owned(std::forward<Release>(release));

		if (!kept)
			return failure::of(WW_ERR_NO_MEMORY,
				"no memory to keep the release of a memory");
		params.release = &detail::call_once<owned>;
		params.context = kept;
		const ww_status code = ww_memory_wrap(on.get(), pointer, bytes, &params, &made);

		if (code != WW_OK)
			delete kept;
		return detail::adopted<memory>(code, made);
	}
	template <class Release>
	static memory wrap(const device &on, void *pointer, std::uint64_t bytes, Release &&release)
	{
		return try_wrap(on, pointer, bytes, std::forward<Release>(release)).value();
	}

	/* ww_memory_copy_in() */
	static result<memory> try_copy_in(const stream &by, const void *source, std::uint64_t bytes,
		memory_kind kind = memory_kind::vmm) noexcept
	{
		const ww_memory_params params = to_params(bytes, kind);
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_copy_in(by.get(), source, &params, &made);

		return detail::adopted<memory>(code, made);
	}
	static memory copy_in(const stream &by, const void *source, std::uint64_t bytes,
		memory_kind kind = memory_kind::vmm)
	{
		return try_copy_in(by, source, bytes, kind).value();
	}

	/* ww_memory_pointer(), ww_memory_host_pointer() */
	void *pointer() const noexcept { return ww_memory_pointer(get()); }
	void *host_pointer() const noexcept { return ww_memory_host_pointer(get()); }

	/* ww_memory_write(): done, timed_out or cancelled; without a limit waits for ever. */
	result<outcome> try_write(std::uint64_t offset, const void *source, std::uint64_t bytes,
		timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_memory_write(get(), offset, source, bytes, limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome write(std::uint64_t offset, const void *source, std::uint64_t bytes,
		timeout limit, const cancel &stop = {}) const
	{
		return try_write(offset, source, bytes, limit, stop).value();
	}
	result<void> try_write(std::uint64_t offset, const void *source,
		std::uint64_t bytes) const noexcept
	{
		return detail::done(
			ww_memory_write(get(), offset, source, bytes, WW_FOREVER, nullptr));
	}
	void write(std::uint64_t offset, const void *source, std::uint64_t bytes) const
	{
		try_write(offset, source, bytes).value();
	}

	/* ww_memory_read(): as write() */
	result<outcome> try_read(std::uint64_t offset, void *destination, std::uint64_t bytes,
		timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_memory_read(get(), offset, destination, bytes, limit.ns(),
			stop.get()));
	}
	[[nodiscard]] outcome read(std::uint64_t offset, void *destination, std::uint64_t bytes,
		timeout limit, const cancel &stop = {}) const
	{
		return try_read(offset, destination, bytes, limit, stop).value();
	}
	result<void> try_read(std::uint64_t offset, void *destination,
		std::uint64_t bytes) const noexcept
	{
		return detail::done(ww_memory_read(get(), offset, destination, bytes, WW_FOREVER,
			nullptr));
	}
	void read(std::uint64_t offset, void *destination, std::uint64_t bytes) const
	{
		try_read(offset, destination, bytes).value();
	}

	/* ww_memory_find(): empty if no memory of this process contains the address. */
	static result<std::optional<found_memory>> try_find(const void *pointer) noexcept;
	static std::optional<found_memory> find(const void *pointer);

	/* ww_memory_info_get() */
	result<memory_info> try_info() const noexcept
	{
		memory_info filled;
		const ww_status code = ww_memory_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	memory_info info() const { return try_info().value(); }

	/*
	 * The whole as elements, for the CPU: as many as fit. Refused if the CPU cannot reach it
	 * (status::unsupported), if it is mapped for reading and T is not const (access), or if it
	 * is not aligned for T (invalid). Valid as long as the memory.
	 */
	template <class T>
	result<warpway::span<T>> try_span() const noexcept
	{
		return try_info().and_then([](const memory_info &info) noexcept {
			return detail::view<T>(info);
		});
	}
	template <class T>
	warpway::span<T> span() const
	{
		return try_span<T>().value();
	}

	/* ww_memory_handle_get() */
	result<legacy_handle> try_handle() const noexcept
	{
		legacy_handle filled{};
		const ww_status code = ww_memory_handle_get(get(), &filled.handle, &filled.offset);

		return detail::filled(code, filled);
	}
	legacy_handle handle() const { return try_handle().value(); }

	/*
	 * ww_memory_handle_open(): of a CUipcMemHandle, a cudaIpcMemHandle_t, or a
	 * ww_memory_handle.
	 */
	template <class Handle>
	static result<memory> try_open_handle(const device &on, const Handle &handle,
		const import_options &options = {}) noexcept
	{
		const ww_memory_handle copy = detail::to_memory_handle(handle);
		const ww_import_params params = detail::to_params(options);
		ww_memory *opened = nullptr;
		const ww_status code = ww_memory_handle_open(on.get(), &copy, &params, &opened);

		return detail::adopted<memory>(code, opened);
	}
	template <class Handle>
	static memory open_handle(const device &on, const Handle &handle,
		const import_options &options = {})
	{
		return try_open_handle(on, handle, options).value();
	}

	/* ww_memory_export_fd() */
	result<exported_fd> try_export_fd(access most = access::read) const noexcept
	{
		int fd = -1;
		ww_memory_description description{};
		const ww_status code = ww_memory_export_fd(get(), static_cast<std::uint32_t>(most),
			&fd, &description);

		if (code != WW_OK)
			return detail::unexpected(code);
		return exported_fd{descriptor::adopt(fd), description};
	}
	exported_fd export_fd(access most = access::read) const
	{
		return try_export_fd(most).value();
	}

	/* ww_memory_import_fd(): the descriptor stays the caller's. */
	static result<memory> try_import_fd(const device &on, int fd,
		const ww_memory_description &description,
		const import_options &options = {}) noexcept
	{
		const ww_import_params params = detail::to_params(options);
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_import_fd(on.get(), fd, &description, &params,
			&made);

		return detail::adopted<memory>(code, made);
	}
	static memory import_fd(const device &on, int fd, const ww_memory_description &description,
		const import_options &options = {})
	{
		return try_import_fd(on, fd, description, options).value();
	}

	/* ww_memory_send(): done, timed_out or cancelled; without a limit waits for ever. */
	result<outcome> try_send(int socket, access most, timeout limit,
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_memory_send(get(), static_cast<std::uint32_t>(most), socket,
			limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome send(int socket, access most, timeout limit,
		const cancel &stop = {}) const
	{
		return try_send(socket, most, limit, stop).value();
	}
	result<void> try_send(int socket, access most = access::read) const noexcept
	{
		return detail::done(ww_memory_send(get(), static_cast<std::uint32_t>(most), socket,
			WW_FOREVER, nullptr));
	}
	void send(int socket, access most = access::read) const { try_send(socket, most).value(); }

	/*
	 * ww_memory_receive(): nothing when the time is over or it is cancelled; without a limit
	 * waits for ever.
	 */
	static result<std::optional<memory>> try_receive(const device &on, int socket,
		const import_options &options, timeout limit, const cancel &stop = {}) noexcept
	{
		const ww_import_params params = detail::to_params(options);
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_receive(on.get(), socket, &params, limit.ns(),
			stop.get(), &made);

		return detail::adopted_in_time<memory>(code, made);
	}
	static std::optional<memory> receive(const device &on, int socket,
		const import_options &options, timeout limit, const cancel &stop = {})
	{
		return try_receive(on, socket, options, limit, stop).value();
	}
	static result<memory> try_receive(const device &on, int socket,
		const import_options &options = {}) noexcept
	{
		const ww_import_params params = detail::to_params(options);
		ww_memory *made = nullptr;
		const ww_status code = ww_memory_receive(on.get(), socket, &params, WW_FOREVER,
			nullptr, &made);

		return detail::adopted<memory>(code, made);
	}
	static memory receive(const device &on, int socket, const import_options &options = {})
	{
		return try_receive(on, socket, options).value();
	}

	/*
	 * ww_memory_put(): done, timed_out (no room in time) or cancelled; without a limit does not
	 * wait for room.
	 */
	result<outcome> try_put(const broker &into, std::string_view name, timeout limit,
		const put_options &options = {}, const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			put_as(into, detail::c_name(name).get(), options, limit.ns(), stop));
	}
	[[nodiscard]] outcome put(const broker &into, std::string_view name, timeout limit,
		const put_options &options = {}, const cancel &stop = {}) const
	{
		return try_put(into, name, limit, options, stop).value();
	}
	result<void> try_put(const broker &into, std::string_view name,
		const put_options &options = {}) const noexcept
	{
		return detail::done(put_as(into, detail::c_name(name).get(), options, 0, {}));
	}
	void put(const broker &into, std::string_view name, const put_options &options = {}) const
	{
		try_put(into, name, options).value();
	}

	/* Without a name, to be found by tokens only. */
	result<void> try_put_unnamed(const broker &into, const put_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		return detail::done(put_as(into, nullptr, options, 0, stop));
	}
	void put_unnamed(const broker &into, const put_options &options = {},
		const cancel &stop = {}) const
	{
		try_put_unnamed(into, options, stop).value();
	}

	/* ww_memory_broker(): empty if the memory is in no broker, or in several. */
	warpway::broker memory_broker() const noexcept
	{
		return warpway::broker::share(ww_memory_broker(get()));
	}

	/*
	 * ww_memory_publish(): into object_state::sealed, sealed_read_only or shared; an empty
	 * broker is the memory's.
	 */
	result<void> try_publish(const broker &in = {}, object_state state = object_state::sealed,
		const cancel &stop = {}) const noexcept
	{
		return detail::done(ww_memory_publish(get(), in.get(),
			static_cast<std::uint32_t>(state), stop.get()));
	}
	void publish(const broker &in = {}, object_state state = object_state::sealed,
		const cancel &stop = {}) const
	{
		try_publish(in, state, stop).value();
	}

	/*
	 * ww_memory_get(): nothing when the time is over or it is cancelled; without a limit does
	 * not wait for the name.
	 */
	static result<std::optional<mapping>> try_get(const device &on, const broker &from,
		std::string_view name, timeout limit, const get_options &options = {},
		const cancel &stop = {}) noexcept;
	static std::optional<mapping> get(const device &on, const broker &from,
		std::string_view name, timeout limit, const get_options &options = {},
		const cancel &stop = {});
	static result<mapping> try_get(const device &on, const broker &from, std::string_view name,
		const get_options &options = {}) noexcept;
	static mapping get(const device &on, const broker &from, std::string_view name,
		const get_options &options = {});
	using counted::get;

	/* ww_memory_export(): an empty broker is the memory's, else the default one. */
	result<token> try_export_token(const export_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_export_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_memory_export(get(), by.get(), &params, stop.get(),
			made.out());

		return detail::filled(code, made);
	}
	token export_token(const export_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const
	{
		return try_export_token(options, by, stop).value();
	}

	/* ww_memory_retire(): as reset(), when the device has done its work. */
	void retire() noexcept { ww_memory_retire(release()); }
	/* ww_memory_retired(): how many references of this process wait for that. */
	static std::uint32_t retired() noexcept { return ww_memory_retired(); }

	/* ww_memory_revoke(): an empty broker is the memory's, else the default one. */
	result<void> try_revoke(const broker &in = {}, const cancel &stop = {}) const noexcept
	{
		return detail::done(ww_memory_revoke(get(), in.get(), stop.get()));
	}
	void revoke(const broker &in = {}, const cancel &stop = {}) const
	{
		try_revoke(in, stop).value();
	}

	/* ww_memory_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<mapping> try_import_token(const device &on, const token &from,
		const import_options &options = {}, const broker &by = {},
		const cancel &stop = {}) noexcept;
	static mapping import_token(const device &on, const token &from,
		const import_options &options = {}, const broker &by = {}, const cancel &stop = {});

private:
	static ww_memory_params to_params(std::uint64_t bytes, memory_kind kind) noexcept
	{
		ww_memory_params params = detail::params<ww_memory_params>();

		params.kind = static_cast<std::uint32_t>(kind);
		params.bytes = bytes;
		return params;
	}

	ww_status put_as(const broker &into, const char *name, const put_options &options,
		std::uint64_t timeout_ns, const cancel &stop) const noexcept
	{
		ww_put_params params = detail::params<ww_put_params>();

		params.mode = options.mode;
		params.life = static_cast<std::uint32_t>(options.life);
		params.state = static_cast<std::uint32_t>(options.state);
		params.gid = options.gid;
		params.flags = options.replace ? WW_PUT_REPLACE : 0;
		if (options.ttl)
			params.ttl_ns = std::max<std::uint64_t>(detail::to_ns(*options.ttl), 1);
		params.array = options.array ? &options.array->raw() : nullptr;
		return ww_memory_put(get(), into.get(), name, &params, timeout_ns, stop.get());
	}

	static ww_status get_as(const device &on, const broker &from, std::string_view name,
		const get_options &options, std::uint64_t timeout_ns, const cancel &stop,
		mapping &out) noexcept;
};

/* The memory that contains an address, and the offset of the address in it. */
struct found_memory {
	warpway::memory memory;
	std::uint64_t offset;
};

inline result<std::optional<found_memory>> memory::try_find(const void *pointer) noexcept
{
	ww_memory *found = nullptr;
	std::uint64_t offset = 0;
	const ww_status code = ww_memory_find(pointer, &found, &offset);

	if (code == WW_ERR_NOT_FOUND)
		return std::optional<found_memory>();
	if (code != WW_OK)
		return detail::unexpected(code);
	return std::optional<found_memory>(found_memory{memory::adopt(found), offset});
}

inline std::optional<found_memory> memory::find(const void *pointer)
{
	return try_find(pointer).value();
}

/*
 * A memory from a broker, exactly the span that a token or a name stands for, and what the broker
 * says of it.
 */
struct mapping {
	warpway::memory memory;
	object_info info;

	void *pointer() const noexcept { return memory.pointer(); }
	std::uint64_t bytes() const noexcept { return info.span_bytes(); }

	/* As memory::span(). */
	template <class T>
	result<warpway::span<T>> try_span() const noexcept
	{
		return memory.template try_span<T>();
	}
	template <class T>
	warpway::span<T> span() const
	{
		return try_span<T>().value();
	}
};

inline ww_status memory::get_as(const device &on, const broker &from, std::string_view name,
	const get_options &options, std::uint64_t timeout_ns, const cancel &stop,
	mapping &out) noexcept
{
	ww_get_params params = detail::params<ww_get_params>();
	ww_memory *made = nullptr;

	params.access = static_cast<std::uint32_t>(options.access);
	params.flags = (options.owner ? WW_GET_FROM_OWNER : 0) |
		detail::to_import_flags(options);
	params.owner = options.owner.value_or(0);
	const ww_status code = ww_memory_get(on.get(), from.get(), detail::c_name(name).get(),
		&params, timeout_ns, stop.get(), &made, out.info.out());

	out.memory = memory::adopt(made);
	return code;
}

inline result<std::optional<mapping>> memory::try_get(const device &on, const broker &from,
	std::string_view name, timeout limit, const get_options &options,
	const cancel &stop) noexcept
{
	mapping got;
	const ww_status code = get_as(on, from, name, options, limit.ns(), stop, got);

	if (detail::ended_early(code))
		return std::optional<mapping>();
	if (code != WW_OK)
		return detail::unexpected(code);
	return std::optional<mapping>(std::move(got));
}

inline std::optional<mapping> memory::get(const device &on, const broker &from,
	std::string_view name, timeout limit, const get_options &options, const cancel &stop)
{
	return try_get(on, from, name, limit, options, stop).value();
}

inline result<mapping> memory::try_get(const device &on, const broker &from, std::string_view name,
	const get_options &options) noexcept
{
	mapping got;
	const ww_status code = get_as(on, from, name, options, 0, {}, got);

	if (code != WW_OK)
		return detail::unexpected(code);
	return got;
}

inline mapping memory::get(const device &on, const broker &from, std::string_view name,
	const get_options &options)
{
	return try_get(on, from, name, options).value();
}

inline result<mapping> memory::try_import_token(const device &on, const token &from,
	const import_options &options, const broker &by, const cancel &stop) noexcept
{
	const ww_import_params params = detail::to_params(options);
	mapping made;
	ww_memory *mapped = nullptr;
	const ww_status code = ww_memory_import(on.get(), by.get(), &from.raw(), &params,
		stop.get(), &mapped, made.info.out());

	if (code != WW_OK)
		return detail::unexpected(code);
	made.memory = memory::adopt(mapped);
	return made;
}

inline mapping memory::import_token(const device &on, const token &from,
	const import_options &options, const broker &by, const cancel &stop)
{
	return try_import_token(on, from, options, by, stop).value();
}

/* ww_capture_begin(), and ww_capture_end() when it ends. */
class capture {
public:
	capture() { detail::done(ww_capture_begin()).value(); }
	capture(const capture &) = delete;
	capture &operator=(const capture &) = delete;
	~capture() { ww_capture_end(); }
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
