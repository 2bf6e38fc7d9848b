/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - what the kernels of src/mpi/reduce.c do, in C
 *
 * The fake driver calls these where a GPU would run the PTX (FAKECUDA_KERNELS).
 */
#include <stdint.h>

#include <warpway/module.h>

/* out[i] = one[i] op other[i]; arithmetic wraps, as that of a GPU does */
#define KERNEL(type, name, wide, op, expression)                                                  \
	__attribute__((visibility(                                                                \
		"default"))) void ww_reduce_##name##_##op(const struct ww_host_launch *launch,    \
		void *const *arguments);                                                          \
	void ww_reduce_##name##_##op(const struct ww_host_launch *launch, void *const *arguments) \
	{                                                                                         \
		type *out = *(type **)arguments[0];                                               \
		const type *one = *(const type **)arguments[1];                                   \
		const type *other = *(const type **)arguments[2];                                 \
		uint64_t count = *(const uint64_t *)arguments[3];                                 \
                                                                                                  \
		(void)launch;                                                                     \
		for (uint64_t i = 0; i < count; i++) {                                            \
			type u = one[i];                                                          \
			type v = other[i];                                                        \
                                                                                                  \
			out[i] = (type)(expression);                                              \
		}                                                                                 \
	}

#define ARITHMETIC(type, name, wide)                     \
	KERNEL(type, name, wide, sum, (wide)u + (wide)v) \
	KERNEL(type, name, wide, prod, (wide)u *(wide)v) \
	KERNEL(type, name, wide, max, u > v ? u : v)     \
	KERNEL(type, name, wide, min, u < v ? u : v)

#define INTEGER(type, name)                       \
	ARITHMETIC(type, name, uint64_t)          \
	KERNEL(type, name, uint64_t, band, u &v)  \
	KERNEL(type, name, uint64_t, bor, u | v)  \
	KERNEL(type, name, uint64_t, bxor, u ^ v) \
	KERNEL(type, name, uint64_t, land, u &&v) \
	KERNEL(type, name, uint64_t, lor, u || v) \
	KERNEL(type, name, uint64_t, lxor, !u != !v)

INTEGER(int8_t, s8)
INTEGER(uint8_t, u8)
INTEGER(int16_t, s16)
INTEGER(uint16_t, u16)
INTEGER(int32_t, s32)
INTEGER(uint32_t, u32)
INTEGER(int64_t, s64)
INTEGER(uint64_t, u64)
ARITHMETIC(float, f32, float)
ARITHMETIC(double, f64, double)
