/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/cancel.hpp - ending a call that waits, from another thread or from a signal handler, see
 * warpway/cancel.h
 *
 *   const cancel stop = cancel::create();
 *
 *   timeline.wait(5, forever, stop);         ends with outcome::cancelled once another thread calls
 *                                            stop.set()
 *
 * Every call that may wait takes one as its last argument. An empty one is no flag: the NULL of the
 * C interface.
 */
#ifndef WARPWAY_CANCEL_HPP
#define WARPWAY_CANCEL_HPP

#include <warpway/cancel.h>

#include <warpway/handle.hpp>
#include <warpway/result.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/*
 * A flag that ends the calls which wait with it. A copy is the same flag.
 */
class cancel : public detail::counted<cancel, ww_cancel, ww_cancel_ref, ww_cancel_unref>
{
public:
	/* Empty: it is never set, and set() and clear() do nothing. */
	cancel() noexcept {}

	/* ww_cancel_create(): not set. */
	static result<cancel> try_create() noexcept
	{
		ww_cancel *made = nullptr;
		const ww_status code = ww_cancel_create(&made);

		return detail::adopted<cancel>(code, made);
	}
	static cancel create() { return try_create().value(); }

	/* ww_cancel_nowait(): always set; the call that it is given to asks no broker. */
	static cancel nowait() noexcept { return share(ww_cancel_nowait()); }

	/* ww_cancel_set(): may be called in a signal handler, as may is_set(). */
	void set() const noexcept { ww_cancel_set(get()); }

	/* ww_cancel_clear() */
	void clear() const noexcept { ww_cancel_clear(get()); }

	/* ww_cancel_is_set() */
	bool is_set() const noexcept { return ww_cancel_is_set(get()) != 0; }
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
