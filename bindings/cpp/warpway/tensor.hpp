/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/tensor.hpp - a memory with an array in it, shared by DLPack, see warpway/dlpack.h and
 * array.h
 */
#ifndef WARPWAY_TENSOR_HPP
#define WARPWAY_TENSOR_HPP

#include <warpway/array.h>
#include <warpway/dlpack.h>

#include <warpway/memory.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/*
 * A memory, and the layout of an array in it.
 */
struct tensor {
	warpway::memory memory;
	warpway::array array;

	/* Where the device finds element [0, 0, ...]. */
	void *pointer() const noexcept
	{
		return static_cast<char *>(memory.pointer()) + array.offset();
	}

	/*
	 * ww_dlpack_export(): a DLManagedTensorVersioned. The caller owns it, and calls its deleter
	 * or passes it on. This tensor may end before.
	 */
	result<DLManagedTensorVersioned *> try_to_dlpack() const noexcept
	{
		DLManagedTensorVersioned *made = nullptr;
		const ww_status code = ww_dlpack_export(memory.get(), &array.raw(), &made);

		return detail::filled(code, made);
	}
	[[nodiscard]] DLManagedTensorVersioned *to_dlpack() const
	{
		return try_to_dlpack().value();
	}

	/* ww_dlpack_export_unversioned(): as it was before DLPack 1.0. */
	result<DLManagedTensor *> try_to_dlpack_unversioned() const noexcept
	{
		DLManagedTensor *made = nullptr;
		const ww_status code = ww_dlpack_export_unversioned(memory.get(), &array.raw(),
			&made);

		return detail::filled(code, made);
	}
	[[nodiscard]] DLManagedTensor *to_dlpack_unversioned() const
	{
		return try_to_dlpack_unversioned().value();
	}

	/*
	 * ww_dlpack_import(), ww_dlpack_import_unversioned(): the tensor is consumed on success,
	 * and only then.
	 */
	static result<tensor> try_from_dlpack(const device &on,
		DLManagedTensorVersioned *from) noexcept
	{
		tensor made;
		ww_memory *wrapped = nullptr;
		const ww_status code = ww_dlpack_import(on.get(), from, &wrapped, made.array.out());

		return made.filled(code, wrapped);
	}
	static tensor from_dlpack(const device &on, DLManagedTensorVersioned *from)
	{
		return try_from_dlpack(on, from).value();
	}
	static result<tensor> try_from_dlpack(const device &on, DLManagedTensor *from) noexcept
	{
		tensor made;
		ww_memory *wrapped = nullptr;
		const ww_status code = ww_dlpack_import_unversioned(on.get(), from, &wrapped,
			made.array.out());

		return made.filled(code, wrapped);
	}
	static tensor from_dlpack(const device &on, DLManagedTensor *from)
	{
		return try_from_dlpack(on, from).value();
	}

	/*
	 * ww_array_handle_open(): of a CUipcMemHandle, a cudaIpcMemHandle_t, or a ww_memory_handle,
	 * of a program without this library, and the array that is in its allocation.
	 */
	template <class Handle>
	static result<tensor> try_open_handle(const device &on, const Handle &handle,
		const warpway::array &in, const import_options &options = {}) noexcept
	{
		const ww_memory_handle copy = detail::to_memory_handle(handle);
		const ww_import_params params = detail::to_params(options);
		ww_memory *opened = nullptr;
		tensor made;
		const ww_status code = ww_array_handle_open(on.get(), &copy, &in.raw(), &params,
			&opened);

		made.array = in;
		return made.filled(code, opened);
	}
	template <class Handle>
	static tensor open_handle(const device &on, const Handle &handle, const warpway::array &in,
		const import_options &options = {})
	{
		return try_open_handle(on, handle, in, options).value();
	}

private:
	result<tensor> filled(ww_status code, ww_memory *object) noexcept
	{
		if (code != WW_OK)
			return detail::unexpected(code);
		memory = warpway::memory::adopt(object);
		return std::move(*this);
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
