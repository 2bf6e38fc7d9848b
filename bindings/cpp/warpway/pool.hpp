/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/pool.hpp - many small memories that are cheap to share, see warpway/pool.h
 */
#ifndef WARPWAY_POOL_HPP
#define WARPWAY_POOL_HPP

#include <warpway/pool.h>

#include <warpway/memory.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_pool_params */
struct pool_options {
	memory_kind kind = memory_kind::vmm;
	std::uint64_t bytes_max = 0;   /* 0: no limit but the device's */
	std::uint64_t chunk_bytes = 0; /* 0: 64 MiB, or bytes_max if that is less */
	std::uint32_t slices_max = 0;  /* 0: 65536 */
};

/* struct ww_pool_info */
class pool_info : public detail::description<ww_pool_info>
{
public:
	memory_kind kind() const noexcept { return memory_kind{raw().kind}; }
	std::uint64_t bytes_max() const noexcept { return raw().bytes_max; }
	std::uint64_t chunk_bytes() const noexcept { return raw().chunk_bytes; }
	std::uint64_t bytes_reserved() const noexcept { return raw().bytes_reserved; }
	std::uint64_t bytes_used() const noexcept { return raw().bytes_used; }
	std::uint64_t bytes_waiting() const noexcept { return raw().bytes_waiting; }
	std::uint64_t bytes_free() const noexcept { return raw().bytes_free; }
	std::uint64_t bytes_largest() const noexcept { return raw().bytes_largest; }
	std::uint64_t bytes_peak() const noexcept { return raw().bytes_peak; }
	std::uint64_t allocations() const noexcept { return raw().allocations; }
	std::uint32_t chunk_count() const noexcept { return raw().chunk_count; }
	std::uint32_t slice_count() const noexcept { return raw().slice_count; }
	std::uint32_t waiting_count() const noexcept { return raw().waiting_count; }
	std::uint32_t slices_max() const noexcept { return raw().slices_max; }
	std::uint32_t holder_count() const noexcept { return raw().holder_count; }
	bool is_imported() const noexcept { return raw().is_imported != 0; }
};

/* struct ww_pool_holder_info */
class pool_holder_info : public detail::description<ww_pool_holder_info>
{
public:
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t slice_count() const noexcept { return raw().slice_count; }
	std::uint64_t slice_bytes() const noexcept { return raw().slice_bytes; }
	bool is_lost() const noexcept { return raw().is_lost != 0; }
	std::string_view program() const noexcept { return detail::to_text(raw().program); }
};

/*
 * A pool of memory, from which slices are allocated. A slice is a memory like any other.
 */
class pool : public detail::counted<pool, ww_pool, ww_pool_ref, ww_pool_unref>
{
	struct holder_source;

public:
	/* Empty. */
	pool() noexcept {}

	/* ww_pool_create() */
	static result<pool> try_create(const device &on, const pool_options &options = {}) noexcept
	{
		ww_pool_params params = detail::params<ww_pool_params>();
		ww_pool *made = nullptr;

		params.kind = static_cast<std::uint32_t>(options.kind);
		params.bytes_max = options.bytes_max;
		params.chunk_bytes = options.chunk_bytes;
		params.slices_max = options.slices_max;
		const ww_status code = ww_pool_create(on.get(), &params, &made);

		return detail::adopted<pool>(code, made);
	}
	static pool create(const device &on, const pool_options &options = {})
	{
		return try_create(on, options).value();
	}

	/* ww_pool_alloc(): of what is free by now. */
	result<memory> try_alloc(std::uint64_t bytes, std::uint64_t alignment = 0) const noexcept
	{
		ww_memory *slice = nullptr;
		const ww_status code = ww_pool_alloc(get(), bytes, alignment, 0, nullptr, &slice);

		return detail::adopted<memory>(code, slice);
	}
	memory alloc(std::uint64_t bytes, std::uint64_t alignment = 0) const
	{
		return try_alloc(bytes, alignment).value();
	}

	/* ww_pool_alloc(): waits for room; nothing when the time is over or it is cancelled. */
	result<std::optional<memory>> try_alloc(std::uint64_t bytes, std::uint64_t alignment,
		timeout limit, const cancel &stop = {}) const noexcept
	{
		ww_memory *slice = nullptr;
		const ww_status code = ww_pool_alloc(get(), bytes, alignment, limit.ns(),
			stop.get(), &slice);

		return detail::adopted_in_time<memory>(code, slice);
	}
	std::optional<memory> alloc(std::uint64_t bytes, std::uint64_t alignment, timeout limit,
		const cancel &stop = {}) const
	{
		return try_alloc(bytes, alignment, limit, stop).value();
	}

	/*
	 * ww_pool_release(): releases a slice of any pool when the work enqueued on a stream has
	 * run. On success the handle is empty, after a failure it is unchanged.
	 */
	static result<void> try_release(memory &&slice, const stream &after) noexcept
	{
		const ww_status code = ww_pool_release(slice.get(), after.get());

		if (code == WW_OK)
			static_cast<void>(slice.release());
		return detail::done(code);
	}
	static void release(memory &&slice, const stream &after)
	{
		try_release(std::move(slice), after).value();
	}
	using handle::release;

	/*
	 * ww_pool_export(): an empty broker is the pool's, else the default one. The options name
	 * no span and no array.
	 */
	result<token> try_export_token(const export_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_export_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_pool_export(get(), by.get(), &params, stop.get(),
			made.out());

		return detail::filled(code, made);
	}
	token export_token(const export_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const
	{
		return try_export_token(options, by, stop).value();
	}

	/*
	 * ww_pool_import(): a pool of another process; its chunks are mapped for a device, unless
	 * that is empty. An empty broker is that of WARPWAY_BROKER, else the token's.
	 */
	static result<pool> try_import_token(const token &from, const device &on = {},
		const broker &by = {}, const cancel &stop = {}) noexcept
	{
		ww_pool *made = nullptr;
		const ww_status code = ww_pool_import(on.get(), by.get(), &from.raw(), stop.get(),
			&made);

		return detail::adopted<pool>(code, made);
	}
	static pool import_token(const token &from, const device &on = {}, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(from, on, by, stop).value();
	}

	/* ww_pool_trim(): how many bytes were given back. */
	result<std::uint64_t> try_trim(std::uint64_t keep_bytes = 0) const noexcept
	{
		std::uint64_t bytes = 0;
		const ww_status code = ww_pool_trim(get(), keep_bytes, &bytes);

		return detail::filled(code, bytes);
	}
	std::uint64_t trim(std::uint64_t keep_bytes = 0) const
	{
		return try_trim(keep_bytes).value();
	}

	/* ww_pool_info_get() */
	result<pool_info> try_info() const noexcept
	{
		pool_info filled;
		const ww_status code = ww_pool_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	pool_info info() const { return try_info().value(); }

	/* ww_pool_holder_get(): nothing behind the last. */
	result<std::optional<pool_holder_info>> try_holder(std::uint32_t index) const noexcept
	{
		pool_holder_info filled;
		const ww_status code = ww_pool_holder_get(get(), index, filled.out());

		if (code == WW_END)
			return std::optional<pool_holder_info>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<pool_holder_info>(filled);
	}
	std::optional<pool_holder_info> holder(std::uint32_t index) const
	{
		return try_holder(index).value();
	}

	/* All of them, to be walked over. */
	detail::listing<holder_source, pool_holder_info> holders() const noexcept;
};

struct pool::holder_source {
	pool of;

	result<std::optional<pool_holder_info>> next(std::size_t index) const noexcept
	{
		return of.try_holder(static_cast<std::uint32_t>(index));
	}
};

inline detail::listing<pool::holder_source, pool_holder_info> pool::holders() const noexcept
{
	return detail::listing<holder_source, pool_holder_info>(holder_source{*this});
}

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
