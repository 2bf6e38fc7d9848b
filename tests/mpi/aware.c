/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aware.c - says for the MPI that it takes device memory; loaded behind the library
 */
int MPIX_Query_cuda_support(void);

int MPIX_Query_cuda_support(void)
{
	return 1;
}
