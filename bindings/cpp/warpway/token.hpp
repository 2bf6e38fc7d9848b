/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/token.hpp - plain bytes that name an object to any process, see warpway/token.h
 */
#ifndef WARPWAY_TOKEN_HPP
#define WARPWAY_TOKEN_HPP

#include <warpway/token.h>

#include <string>

#include <warpway/array.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_OBJECT_... */
enum class object_kind : std::uint32_t {
	memory = WW_OBJECT_MEMORY,
	timeline = WW_OBJECT_TIMELINE,
	event = WW_OBJECT_EVENT,
	barrier = WW_OBJECT_BARRIER,
	channel = WW_OBJECT_CHANNEL,
	service = WW_OBJECT_SERVICE,
	pool = WW_OBJECT_POOL,
	work_queue = WW_OBJECT_WORK_QUEUE
};

/* struct ww_token_info */
class token_info : public detail::description<ww_token_info>
{
public:
	object_kind kind() const noexcept { return object_kind{raw().kind}; }
	warpway::access access() const noexcept { return warpway::access{raw().access}; }
	std::uint32_t broker_uid() const noexcept { return raw().broker_uid; }
	std::uint64_t offset() const noexcept { return raw().offset; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::uint64_t total_bytes() const noexcept { return raw().total_bytes; }
	std::uint64_t generation() const noexcept { return raw().generation; }
	bool is_slice() const noexcept { return (raw().flags & WW_TOKEN_SLICE) != 0; }
	bool is_foreign() const noexcept { return (raw().flags & WW_TOKEN_FOREIGN) != 0; }
	bool is_counted() const noexcept { return (raw().flags & WW_TOKEN_COUNTED) != 0; }
	bool is_passed() const noexcept { return (raw().flags & WW_TOKEN_PASSED) != 0; }
	id object_id() const noexcept { return detail::to_id(raw().object_id); }
	id home_uuid() const noexcept { return detail::to_id(raw().home_uuid); }
	id broker_id() const noexcept { return detail::to_id(raw().broker_id); }
	std::string_view address() const noexcept { return detail::to_text(raw().address); }
	std::uint64_t slice() const noexcept { return raw().slice; }

	/* Of the span; nothing if the token has none. */
	std::optional<warpway::array> array() const noexcept
	{
		if (!raw().has_array)
			return {};
		return warpway::array(raw().array);
	}
};

/*
 * A token: a value. One that is default-constructed names nothing.
 */
class token
{
public:
	token() noexcept = default;
	explicit token(const ww_token &raw) noexcept : raw_(raw) {}

	/* WW_TOKEN_BYTES bytes from anywhere; they are read when the token is used. */
	static result<token> try_from_bytes(span<const std::uint8_t> bytes) noexcept
	{
		token made;

		if (bytes.size() != sizeof(made.raw_.bytes))
			return failure::of(WW_ERR_PROTOCOL,
				"these are not as many bytes as a token has");
		std::memcpy(made.raw_.bytes, bytes.data(), sizeof(made.raw_.bytes));
		return made;
	}
	static token from_bytes(span<const std::uint8_t> bytes)
	{
		return try_from_bytes(bytes).value();
	}

	span<const std::uint8_t> bytes() const noexcept { return raw_.bytes; }

	/* ww_token_from_text() */
	static result<token> try_from_text(std::string_view text) noexcept
	{
		token made;
		const ww_status code = ww_token_from_text(detail::c_text<1024>(trimmed(text)).get(),
			&made.raw_);

		return detail::filled(code, made);
	}
	static token from_text(std::string_view text) { return try_from_text(text).value(); }

	/* ww_token_to_text() */
	result<std::string> try_to_text() const
	{
		char text[WW_TOKEN_TEXT_BYTES];
		const ww_status code = ww_token_to_text(&raw_, text);

		if (code != WW_OK)
			return detail::unexpected(code);
		return std::string(text);
	}
	std::string to_text() const { return try_to_text().value(); }

	/* ww_token_info_get() */
	result<token_info> try_info() const noexcept
	{
		token_info filled;
		const ww_status code = ww_token_info_get(&raw_, filled.out());

		return detail::filled(code, filled);
	}
	token_info info() const { return try_info().value(); }

	const ww_token &raw() const noexcept { return raw_; }
	ww_token *out() noexcept { return &raw_; }

	/* The same bytes. Two tokens of one object differ. */
	friend bool operator==(const token &a, const token &b) noexcept
	{
		return compare(a, b) == 0;
	}
	friend bool operator!=(const token &a, const token &b) noexcept
	{
		return compare(a, b) != 0;
	}
	friend bool operator<(const token &a, const token &b) noexcept { return compare(a, b) < 0; }

private:
	static int compare(const token &a, const token &b) noexcept
	{
		return std::memcmp(a.raw_.bytes, b.raw_.bytes, sizeof(a.raw_.bytes));
	}

	/* White space around the text, of any length. */
	static std::string_view trimmed(std::string_view text) noexcept
	{
		constexpr std::string_view white = " \t\r\n\v\f";
		const std::size_t first = std::min(text.find_first_not_of(white), text.size());

		return text.substr(first, text.find_last_not_of(white) + 1 - first);
	}

	ww_token raw_{};
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
