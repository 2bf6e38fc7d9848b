/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/object.hpp - an object of a broker that is held without being opened, and is mapped
 * later, see warpway/broker.h
 */
#ifndef WARPWAY_OBJECT_HPP
#define WARPWAY_OBJECT_HPP

#include <warpway/broker.h>

#include <warpway/memory.hpp>
#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/*
 * A hold that was taken by a token, to be mapped later or passed on. A copy takes one more
 * reference.
 */
class held_object : public detail::counted<held_object, ww_object, ww_object_ref, ww_object_unref>
{
public:
	/* Empty. */
	held_object() noexcept {}

	/* ww_object_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<held_object> try_import_token(const token &from, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		ww_object *made = nullptr;
		const ww_status code = ww_object_import(by.get(), &from.raw(), stop.get(), &made,
			nullptr);

		return detail::adopted<held_object>(code, made);
	}
	static held_object import_token(const token &from, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(from, by, stop).value();
	}

	/* ww_object_map(): the memory that is held. It can outlive this object. */
	result<memory> try_map(const device &on, const import_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_import_params params = detail::to_params(options);
		ww_memory *made = nullptr;
		const ww_status code = ww_object_map(get(), on.get(), &params, stop.get(), &made);

		return detail::adopted<memory>(code, made);
	}
	memory map(const device &on, const import_options &options = {},
		const cancel &stop = {}) const
	{
		return try_map(on, options, stop).value();
	}

	/* ww_object_export() */
	result<token> try_export_token(const token_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_object_export(get(), &params, stop.get(), made.out());

		return detail::filled(code, made);
	}
	token export_token(const token_options &options = {}, const cancel &stop = {}) const
	{
		return try_export_token(options, stop).value();
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
