/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_kernels.cu - the kernel of the heat daemon for a GPU: one thread computes one cell
 *
 * It computes the same as heat_kernels.c, which is for the host device: change both together.
 * heat_kernels.ptx is made from it, by clang, which needs no CUDA for that, or by nvcc -ptx:
 *
 *   clang -x cuda -nocudainc -nocudalib --cuda-device-only --cuda-gpu-arch=sm_50 -O2 -S
 *           heat_kernels.cu -o heat_kernels.ptx
 */
#ifdef __clang__ /* without CUDA's headers */
#define __global__ __attribute__((global))
#define INDEX_X    (__nvvm_read_ptx_sreg_ctaid_x() * 32 + __nvvm_read_ptx_sreg_tid_x())
#define INDEX_Y    (__nvvm_read_ptx_sreg_ctaid_y() * 8 + __nvvm_read_ptx_sreg_tid_y())
#else
#define INDEX_X (blockIdx.x * 32 + threadIdx.x)
#define INDEX_Y (blockIdx.y * 8 + threadIdx.y)
#endif

struct source {
	float x;
	float y;
	float radius;
	float temperature;
	float column; /* the nearest cell */
	float row;
	float reserved[2];
};

extern "C" __global__ void heat_step(const float *from, float *to, const struct source *sources,
	unsigned count, float x, float y, unsigned rows, unsigned columns)
{
	unsigned column = INDEX_X;
	unsigned row = INDEX_Y;
	const float *cell = from + (unsigned long long)row * columns + column;
	float next = 0;

	if (row >= rows || column >= columns)
		return;
	if (row != 0 && column != 0 && row != rows - 1 && column != columns - 1) {
		float place_x = (float)column / (float)(columns - 1);
		float place_y = (float)row / (float)(rows - 1);

		next = *cell + x * (cell[-1] - 2 * *cell + cell[1]) +
			y * (*(cell - columns) - 2 * *cell + cell[columns]);
		for (unsigned i = 0; i < count; i++) {
			const struct source *source = &sources[i];
			float dx = place_x - source->x;
			float dy = place_y - source->y;

			if (dx * dx + dy * dy <= source->radius * source->radius ||
				((float)column == source->column && (float)row == source->row))
				next = source->temperature;
		}
	}
	to[(unsigned long long)row * columns + column] = next;
}
