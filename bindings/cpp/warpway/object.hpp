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
 * A hold that was taken by a token or a name, to be mapped later or passed on. A copy takes one more
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

	/*
	 * ww_object_get(): a memory by its name. The flags of @options that concern a mapping are
	 * refused. The first one waits: nothing if the time is over.
	 */
	static result<std::optional<held_object>> try_get(const broker &from, std::string_view name,
		timeout limit, const get_options &options = {}, const cancel &stop = {}) noexcept
	{
		held_object got;
		const ww_status code = get_as(from, name, options, limit.ns(), stop, got);

		if (detail::ended_early(code))
			return std::optional<held_object>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<held_object>(std::move(got));
	}
	static std::optional<held_object> get(const broker &from, std::string_view name,
		timeout limit, const get_options &options = {}, const cancel &stop = {})
	{
		return try_get(from, name, limit, options, stop).value();
	}
	static result<held_object> try_get(const broker &from, std::string_view name,
		const get_options &options = {}) noexcept
	{
		held_object got;
		const ww_status code = get_as(from, name, options, 0, {}, got);

		if (code != WW_OK)
			return detail::unexpected(code);
		return got;
	}
	static held_object get(const broker &from, std::string_view name,
		const get_options &options = {})
	{
		return try_get(from, name, options).value();
	}
	using counted::get;

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

private:
	static ww_status get_as(const broker &from, std::string_view name,
		const get_options &options, std::uint64_t timeout_ns, const cancel &stop,
		held_object &out) noexcept
	{
		ww_get_params params = detail::params<ww_get_params>();
		ww_object *made = nullptr;

		params.access = static_cast<std::uint32_t>(options.access);
		params.flags = (options.owner ? WW_GET_FROM_OWNER : 0) |
			detail::to_import_flags(options);
		params.owner = options.owner.value_or(0);
		const ww_status code = ww_object_get(from.get(), detail::c_name(name).get(),
			&params, timeout_ns, stop.get(), &made, nullptr);

		out = held_object::adopt(made);
		return code;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
