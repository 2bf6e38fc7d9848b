/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup.h - owners that clean up after themselves
 *
 * A local that owns something carries the attribute of its type, so that every way out of the
 * function gives it back. Handing it on is written down: `*out = ww_steal(x)`, `ww_fd_steal(&fd)`.
 */
#ifndef WW_BASE_CLEANUP_H
#define WW_BASE_CLEANUP_H

#define WW_CLEANUP(function) __attribute__((cleanup(function)))

/* Takes the pointer out of a variable and leaves NULL behind. */
#define ww_steal(pointer)                                \
	({                                               \
		__typeof__(pointer) stolen_ = (pointer); \
		(pointer) = NULL;                        \
		stolen_;                                 \
	})

/* Defines name_p(), which the cleanup attribute calls with the address of a `type *` variable. */
#define WW_DEFINE_CLEANUP(type, function)               \
	static inline void function##_p(type **pointer) \
	{                                               \
		if (*pointer)                           \
			(void)function(*pointer);       \
	}

#endif
