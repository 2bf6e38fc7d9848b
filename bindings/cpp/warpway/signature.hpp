/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/signature.hpp - what a function of a service takes and returns, see warpway/signature.h
 *
 *   const signature saxpy = signature::parse("f32 a, f32[n] x read, f32[n] y readwrite");
 *   for (const parameter &p : saxpy.parameters())
 *           use(p.name(), p.type());
 */
#ifndef WARPWAY_SIGNATURE_HPP
#define WARPWAY_SIGNATURE_HPP

#include <warpway/signature.h>

#include <string>
#include <vector>

#include <warpway/array.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_ARGUMENT_... */
enum class argument_kind : std::uint32_t {
	none = WW_ARGUMENT_NONE,
	scalar = WW_ARGUMENT_SCALAR,
	bytes = WW_ARGUMENT_BYTES,
	array = WW_ARGUMENT_ARRAY,
	timeline = WW_ARGUMENT_TIMELINE
};

/*
 * The bits of a scalar from text and as text: "true", "-1", "0.5", "nan".
 */
struct scalar {
	/* ww_scalar_parse() */
	static result<std::uint64_t> try_parse(const dtype &type, std::string_view text) noexcept
	{
		std::uint64_t bits = 0;
		const ww_status code = ww_scalar_parse(&type.raw(),
			detail::c_text<1024>(text).get(), &bits);

		return detail::filled(code, bits);
	}
	static std::uint64_t parse(const dtype &type, std::string_view text)
	{
		return try_parse(type, text).value();
	}

	/* ww_scalar_text() */
	static result<std::string> try_text(const dtype &type, std::uint64_t bits)
	{
		char text[WW_SCALAR_TEXT_BYTES];
		const ww_status code = ww_scalar_text(&type.raw(), bits, text);

		return detail::filled(code, std::string(text));
	}
	static std::string text(const dtype &type, std::uint64_t bits)
	{
		return try_text(type, bits).value();
	}
};

/*
 * A parameter or a result: struct ww_parameter_info.
 */
class parameter : public detail::description<ww_parameter_info>
{
public:
	argument_kind kind() const noexcept { return argument_kind{raw().kind}; }
	std::string_view name() const noexcept { return detail::to_text(raw().name); }
	/* In canonical form: "f32[n, 4]". */
	std::string_view type() const noexcept { return detail::to_text(raw().type); }
	/* Of a scalar or an array's elements; nothing otherwise, and if any type will do. */
	std::optional<warpway::dtype> dtype() const noexcept
	{
		if (raw().dtype.bits == 0)
			return {};
		return warpway::dtype(raw().dtype);
	}
	/* Of an array: what the call needs; nothing otherwise, and for results. */
	std::optional<warpway::access> access() const noexcept
	{
		if (raw().access == 0)
			return {};
		return warpway::access{raw().access};
	}
	bool is_optional() const noexcept { return has(WW_PARAMETER_OPTIONAL); }
	bool is_strided() const noexcept { return has(WW_PARAMETER_STRIDED); }
	bool is_of_any_type() const noexcept { return has(WW_PARAMETER_ANY_TYPE); }
	bool is_of_any_rank() const noexcept { return has(WW_PARAMETER_ANY_RANK); }
	bool is_dimension() const noexcept { return has(WW_PARAMETER_DIMENSION); }
	bool is_write_only() const noexcept { return has(WW_PARAMETER_WRITE_ONLY); }
	/* The bits of a scalar's default. */
	std::optional<std::uint64_t> default_scalar() const noexcept
	{
		if (!has(WW_PARAMETER_DEFAULT))
			return {};
		return raw().scalar;
	}
	/* Of an argument of bytes. */
	std::uint32_t bytes_max() const noexcept { return raw().bytes_max; }
	/* Of an array; -1 where the call decides. */
	span<const std::int64_t> shape() const noexcept { return {raw().shape, raw().ndim}; }

private:
	bool has(std::uint32_t flag) const noexcept { return (raw().flags & flag) != 0; }
};

/*
 * A signature: a value, in its canonical form. Two are equal if and only if their texts are.
 */
class signature : public detail::description<ww_signature_info>
{
public:
	/* ww_signature_info_get() */
	static result<signature> try_parse(std::string_view text)
	{
		signature made;
		const ww_status code =
			ww_signature_info_get(std::string(text).c_str(), made.out());

		return detail::filled(code, made);
	}
	static signature parse(std::string_view text) { return try_parse(text).value(); }

	std::string_view text() const noexcept { return detail::to_text(raw().text); }
	std::uint64_t hash() const noexcept { return raw().hash; }

	/* ww_signature_parameter_get() */
	result<std::vector<parameter>> try_parameters() const
	{
		return list<ww_signature_parameter_get>(raw().parameter_count);
	}
	std::vector<parameter> parameters() const { return try_parameters().value(); }

	/* ww_signature_result_get() */
	result<std::vector<parameter>> try_results() const
	{
		return list<ww_signature_result_get>(raw().result_count);
	}
	std::vector<parameter> results() const { return try_results().value(); }

	friend bool operator==(const signature &a, const signature &b) noexcept
	{
		return a.text() == b.text();
	}
	friend bool operator!=(const signature &a, const signature &b) noexcept
	{
		return !(a == b);
	}

private:
	template <ww_status (*Get)(const char *, std::uint32_t, ww_parameter_info *)>
	result<std::vector<parameter>> list(std::uint32_t count) const
	{
		std::vector<parameter> made(count);

		for (std::uint32_t i = 0; i < count; i++) {
			const ww_status code = Get(raw().text, i, made[i].out());

			if (code != WW_OK)
				return detail::unexpected(code);
		}
		return made;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
