/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - the table of objects, used by several threads at once
 *
 * Each thread keeps, copies, finds and closes objects of its own; and all close the same number, of
 * which one closes it. At the end nothing is open, and the device has no user left.
 */
#include <pthread.h>
#include <stdio.h>

#include "../src/fortran.h"

#define THREADS 4
#define ROUNDS  2000

static ww_device *device;
static int64_t shared;

static void *use(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t number = ww_fortran_keep(ww_device_ref(device), KIND_DEVICE);
		int64_t copy = ww_fortran_copy(number);
		int32_t good = ww_fortran_find(number, KIND_DEVICE) == device;

		ww_fortran_close(number);
		good = good && !ww_fortran_is_open(number) && ww_fortran_is_open(copy);
		good = good && !ww_fortran_find(copy, KIND_MEMORY);
		ww_fortran_close(number);
		ww_fortran_close(copy);
		if (!good)
			return &shared;
	}
	ww_fortran_close(shared);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int bad = 0;

	if (ww_device_open("host", &device) != WW_OK)
		return 1;
	shared = ww_fortran_keep(ww_device_ref(device), KIND_DEVICE);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, use, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++) {
		void *answer;

		pthread_join(threads[i], &answer);
		bad += answer != NULL;
	}
	ww_device_unref(device);
	printf("1..2\n%sok 1 - threads use objects of their own\n", bad ? "not " : "");
	printf("%sok 2 - nothing is open at the end\n", ww_fortran_count() != 0 ? "not " : "");
	for (int64_t number = -3; number < 200; number++)
		ww_fortran_close(number); /* no number of an object: ignored */
	return bad || ww_fortran_count() != 0;
}
