/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/base.hpp - statuses, failures, and limits on time, for all of the C++ interface
 *
 * The C++ interface calls the C one. It is header-only and inline, with a file for each of the C
 * headers. The comments there are the contract, so the ones here are short. It adds ownership (a
 * handle is one pointer with a reference), types, and two ways to report an error:
 *
 *   memory m = memory::create(on, bytes);                 throws warpway::error
 *   result<memory> m = memory::try_create(on, bytes);     returns value or failure, never throws
 *
 * Every call that can fail has two forms: try_x(), which does not throw, and x(), which is
 * try_x().value(). Outcomes are not failures: in both forms a call with a limit on time returns an
 * outcome, or a std::optional that is empty when the time is over. The same call without the limit
 * returns the value.
 *
 * A call that may wait takes a cancel (cancel.hpp) as its last argument. Where it has a limit on
 * time, it then ends with outcome::cancelled, or with an empty std::optional. Where it has none
 * (exports, imports by token, and the like), it fails with status::cancelled. To wait for ever with
 * a cancel, give forever as the limit.
 *
 * Exceptions: WARPWAY_EXCEPTIONS is 1 where the compiler has them; a program may define it as 0.
 * Without them value() of a failure prints it to standard error and aborts. Parts of one program
 * that differ in this may be linked, because WARPWAY_ABI makes their names differ.
 *
 * Threads, CUDA, fork: as the C headers say. A handle is like a std::shared_ptr: several threads
 * may use the object, but only one thread at a time may change the handle. In a child made
 * by fork() the destructors of its parent's objects do nothing.
 */
#ifndef WARPWAY_BASE_HPP
#define WARPWAY_BASE_HPP

#if __cplusplus < 201703L
#error "the C++ interface of Warpway needs C++17"
#endif

#include <warpway/base.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#ifndef WARPWAY_EXCEPTIONS
#ifdef __cpp_exceptions
#define WARPWAY_EXCEPTIONS 1
#else
#define WARPWAY_EXCEPTIONS 0
#endif
#endif

#if WARPWAY_EXCEPTIONS
#define WARPWAY_ABI v1
#else
#define WARPWAY_ABI v1_aborts
#endif

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* As WW_OK, WW_ERR_... of base.h; cancelled is WW_CANCELLED, given_up is WW_ERR_GIVEN_UP. */
enum class status : std::int32_t {
	ok = WW_OK,
	not_ready = WW_NOT_READY,
	timed_out = WW_TIMED_OUT,
	end = WW_END,
	cancelled = WW_CANCELLED,
	invalid = WW_ERR_INVALID,
	overflow = WW_ERR_OVERFLOW,
	no_memory = WW_ERR_NO_MEMORY,
	device_memory = WW_ERR_DEVICE_MEMORY,
	limit = WW_ERR_LIMIT,
	unsupported = WW_ERR_UNSUPPORTED,
	no_device = WW_ERR_NO_DEVICE,
	device = WW_ERR_DEVICE,
	access = WW_ERR_ACCESS,
	descriptor = WW_ERR_DESCRIPTOR,
	mismatch = WW_ERR_MISMATCH,
	protocol = WW_ERR_PROTOCOL,
	truncated = WW_ERR_TRUNCATED,
	version = WW_ERR_VERSION,
	peer_lost = WW_ERR_PEER_LOST,
	forked = WW_ERR_FORKED,
	system = WW_ERR_SYSTEM,
	not_found = WW_ERR_NOT_FOUND,
	exists = WW_ERR_EXISTS,
	quota = WW_ERR_QUOTA,
	state = WW_ERR_STATE,
	no_broker = WW_ERR_NO_BROKER,
	given_up = WW_ERR_GIVEN_UP,
	evicted = WW_ERR_EVICTED,
	unavailable = WW_ERR_UNAVAILABLE,
	dependency_failed = WW_ERR_DEPENDENCY_FAILED
};

/* What a wait or a look ends with when nothing failed. */
enum class outcome : std::int32_t {
	done = WW_OK,
	not_ready = WW_NOT_READY,
	timed_out = WW_TIMED_OUT,
	end = WW_END,
	cancelled = WW_CANCELLED
};

/* Where the native code of a failure comes from. */
enum class domain : std::int32_t {
	warpway = WW_DOMAIN_WARPWAY,
	system = WW_DOMAIN_ERRNO,
	cuda = WW_DOMAIN_CUDA
};

/* "WW_ERR_ACCESS" */
inline const char *name_of(status which) noexcept
{
	return ww_status_name(static_cast<ww_status>(which));
}

/* What a status means, in a few words. */
inline const char *text_of(status which) noexcept
{
	return ww_status_text(static_cast<ww_status>(which));
}

/* Of the library in use; WW_VERSION is that of the headers. */
inline const char *version() noexcept
{
	return ww_version();
}

/*
 * Why a call failed: a copy of the error record (struct ww_error), made when the call returned.
 */
class failure
{
public:
	/* The record of this thread's last failure, for the status that it came with. */
	static failure last(ww_status code) noexcept
	{
		const ww_error &record = *ww_error_last();

		return record.status == code ? failure(record) : of(code, ww_status_text(code));
	}

	/* A failure that this interface found, not the library. */
	static failure of(ww_status code, std::string_view message) noexcept
	{
		ww_error record{};

		record.status = code;
		message.copy(record.message, sizeof(record.message) - 1);
		return failure(record);
	}

	warpway::status status() const noexcept { return warpway::status{record_.status}; }
	warpway::domain domain() const noexcept { return warpway::domain{record_.domain}; }
	std::int64_t native() const noexcept { return record_.native; }
	const char *message() const noexcept { return record_.message; }
	const ww_error &raw() const noexcept { return record_; }

private:
	explicit failure(const ww_error &record) noexcept : record_(record) {}

	ww_error record_;
};

/*
 * The exception: a failure, with its message as what().
 */
class error : public std::runtime_error
{
public:
	explicit error(const failure &why)
		: std::runtime_error(why.message()), status_(why.status()), domain_(why.domain()),
		  native_(why.native())
	{
	}

	warpway::status status() const noexcept { return status_; }
	warpway::domain domain() const noexcept { return domain_; }
	std::int64_t native() const noexcept { return native_; }

private:
	warpway::status status_;
	warpway::domain domain_;
	std::int64_t native_;
};

/*
 * Sets the function object that receives the library's log: receiver(std::string_view line). The
 * caller owns it; it must outlive the calls that were running when clear_log() returned. It must
 * neither throw nor call the library.
 */
template <class Receiver>
void set_log(Receiver &receiver) noexcept
{
	ww_log_set(
		[](void *context, const char *line) noexcept {
			(*static_cast<Receiver *>(context))(std::string_view(line));
		},
		&receiver);
}

inline void clear_log() noexcept
{
	ww_log_set(nullptr, nullptr);
}

struct forever_t {
	explicit constexpr forever_t(int) noexcept {}
};

/* No limit on time. */
inline constexpr forever_t forever{0};

/*
 * A limit on time: any std::chrono duration, or forever. Below zero is zero; more than 250 years is
 * for ever.
 */
class timeout
{
public:
	constexpr timeout(forever_t) noexcept : ns_(WW_FOREVER) {}

	template <class Rep, class Period>
	constexpr timeout(std::chrono::duration<Rep, Period> limit) noexcept : ns_(count(limit))
	{
	}

	constexpr std::uint64_t ns() const noexcept { return ns_; }

private:
	template <class Rep, class Period>
	static constexpr std::uint64_t count(std::chrono::duration<Rep, Period> limit) noexcept
	{
		using seconds = std::chrono::duration<long double>;
		using std::chrono::nanoseconds;
		constexpr long double most = 250.0L * 366 * 24 * 3600;
		const long double rough = seconds(limit).count();

		if (!(rough > 0))
			return 0;
		if (rough > most)
			return WW_FOREVER;
		return static_cast<std::uint64_t>(
			std::chrono::duration_cast<nanoseconds>(limit).count());
	}

	std::uint64_t ns_;
};

/* Random bits that name an object, a device or a broker. */
using id = std::array<std::uint8_t, 16>;

namespace detail
{

inline id to_id(const std::uint8_t (&bytes)[16]) noexcept
{
	id copy{};

	std::memcpy(copy.data(), bytes, sizeof(bytes));
	return copy;
}

template <std::size_t Bytes>
std::string_view to_text(const char (&text)[Bytes]) noexcept
{
	return {text, ::strnlen(text, Bytes)};
}

inline std::chrono::nanoseconds to_duration(std::uint64_t ns) noexcept
{
	constexpr std::uint64_t most = INT64_MAX;

	return std::chrono::nanoseconds(static_cast<std::int64_t>(ns < most ? ns : most));
}

/*
 * A text with a zero behind it, for C. It has more room than any text that C accepts, so C refuses
 * a text that is cut off here. A zero inside becomes a control character, which no name may have,
 * so that C refuses the text instead of reading its beginning only.
 */
template <std::size_t Bytes>
class c_text
{
public:
	explicit c_text(std::string_view text) noexcept
	{
		const std::size_t count = text.copy(text_, Bytes - 1);

		for (std::size_t i = 0; i < count; i++) {
			if (text_[i] == '\0')
				text_[i] = '\1';
		}
		text_[count] = '\0';
	}

	const char *get() const noexcept { return text_; }

private:
	char text_[Bytes];
};

using c_name = c_text<256>;

/*
 * An info struct of C, with its struct_size set. Its texts are views, valid as long as this object.
 */
template <class C>
class description
{
public:
	using c_type = C;

	description() noexcept { raw_.struct_size = static_cast<std::uint32_t>(sizeof(C)); }
	explicit description(const C &raw) noexcept : raw_(raw) {}

	/* The C struct itself: to be read, and to be filled by a call of the C interface. */
	const C &raw() const noexcept { return raw_; }
	C *out() noexcept { return &raw_; }

private:
	C raw_{};
};

template <class C>
C params() noexcept
{
	C made{};

	made.struct_size = static_cast<std::uint32_t>(sizeof(C));
	return made;
}

} //namespace detail

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
