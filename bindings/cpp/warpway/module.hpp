/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/module.hpp - kernels from a file, launched on a stream, see warpway/module.h
 */
#ifndef WARPWAY_MODULE_HPP
#define WARPWAY_MODULE_HPP

#include <warpway/module.h>

#include <array>
#include <memory>
#include <optional>

#include <warpway/device.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_kernel_info */
class kernel_info : public detail::description<ww_kernel_info>
{
public:
	/* ... or WW_KERNEL_ARGUMENTS_UNKNOWN. */
	std::uint32_t argument_count() const noexcept { return raw().argument_count; }
	std::uint32_t threads_max() const noexcept { return raw().threads_max; }
	std::uint32_t registers() const noexcept { return raw().registers; }
	std::uint32_t local_bytes() const noexcept { return raw().local_bytes; }
	std::uint32_t shared_bytes() const noexcept { return raw().shared_bytes; }
	std::uint32_t shared_bytes_max() const noexcept { return raw().shared_bytes_max; }
};

/* Blocks of a grid, or threads of a block, in x, y and z. */
struct extents {
	std::uint32_t x = 1;
	std::uint32_t y = 1;
	std::uint32_t z = 1;
};

/* struct ww_launch_params */
struct launch_options {
	extents grid;
	extents block;
	std::uint32_t shared_bytes = 0; /* of each block, beyond what the kernel declares itself */
};

/*
 * One kernel of a module, which it keeps loaded.
 */
class kernel : public detail::counted<kernel, ww_kernel, ww_kernel_ref, ww_kernel_unref>
{
public:
	/* Empty. */
	kernel() noexcept {}

	/* ww_kernel_info_get() */
	result<kernel_info> try_info() const noexcept
	{
		kernel_info filled;
		const ww_status code = ww_kernel_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	kernel_info info() const { return try_info().value(); }

	/* ww_kernel_argument_bytes(): nothing if there is no such argument, or nobody says it. */
	result<std::optional<std::uint64_t>> try_argument_bytes(std::uint32_t index) const noexcept
	{
		std::uint64_t bytes = 0;
		const ww_status code = ww_kernel_argument_bytes(get(), index, &bytes);

		if (code == WW_END)
			return std::optional<std::uint64_t>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<std::uint64_t>(bytes);
	}
	std::optional<std::uint64_t> argument_bytes(std::uint32_t index) const
	{
		return try_argument_bytes(index).value();
	}

	/*
	 * ww_kernel_launch(): each value is an argument of the kernel, of the very type that the
	 * kernel declares; an address is a pointer. The values are copied before this returns.
	 */
	template <class... Values>
	result<void> try_launch(const stream &by, const launch_options &options,
		const Values &...values) const noexcept
	{
		static_assert((std::is_trivially_copyable_v<Values> && ...),
			"a kernel gets the bytes of its arguments");
		static_assert(!(std::is_array_v<Values> || ...),
			"an array is no argument: pass a pointer to device memory");
		ww_launch_params params = detail::params<ww_launch_params>();
		const std::array<ww_kernel_argument, sizeof...(Values)> arguments{
			{ww_kernel_argument{std::addressof(values), sizeof(values)}...}};

		set(params.grid, options.grid);
		set(params.block, options.block);
		params.shared_bytes = options.shared_bytes;
		return detail::done(ww_kernel_launch(get(), by.get(), &params, arguments.data(),
			static_cast<std::uint32_t>(arguments.size())));
	}
	template <class... Values>
	void launch(const stream &by, const launch_options &options, const Values &...values) const
	{
		try_launch(by, options, values...).value();
	}

private:
	static void set(std::uint32_t (&out)[3], const extents &from) noexcept
	{
		out[0] = from.x;
		out[1] = from.y;
		out[2] = from.z;
	}
};

/*
 * Compiled code for a device. Load modules, and find their kernels, before streams wait for other
 * processes. (C++20 keeps the name module for itself.)
 */
class kernel_module
    : public detail::counted<kernel_module, ww_module, ww_module_ref, ww_module_unref>
{
public:
	/* Empty. */
	kernel_module() noexcept {}

	/* ww_module_load() */
	static result<kernel_module> try_load(const device &on, std::string_view path) noexcept
	{
		ww_module *made = nullptr;
		const ww_status code = ww_module_load(on.get(), detail::c_text<4096>(path).get(), nullptr,
			&made);

		return detail::adopted<kernel_module>(code, made);
	}
	static kernel_module load(const device &on, std::string_view path)
	{
		return try_load(on, path).value();
	}

	/* ww_module_load_image() */
	static result<kernel_module> try_load_image(const device &on, const void *image,
		std::uint64_t bytes) noexcept
	{
		ww_module *made = nullptr;
		const ww_status code = ww_module_load_image(on.get(), image, bytes, nullptr, &made);

		return detail::adopted<kernel_module>(code, made);
	}
	static kernel_module load_image(const device &on, const void *image, std::uint64_t bytes)
	{
		return try_load_image(on, image, bytes).value();
	}

	/* ww_module_kernel() */
	result<kernel> try_find(std::string_view name) const noexcept
	{
		ww_kernel *made = nullptr;
		const ww_status code = ww_module_kernel(get(), detail::c_text<4096>(name).get(), &made);

		return detail::adopted<kernel>(code, made);
	}
	kernel find(std::string_view name) const { return try_find(name).value(); }
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
