/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - runs a target many times over mutated seeds, the same way each time, and over the
 * inputs that are kept
 *
 *   TARGET [ROUNDS [FOLDER]]   runs so many mutated seeds, then each file in the folder
 *   TARGET FILE...             runs inputs that libFuzzer found
 *   TARGET --seeds FOLDER      writes the seeds there, for libFuzzer
 *
 * The random sequence is splitmix64 from a fixed start. A failure prints the input as hexadecimal
 * digits before it ends the process.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "support/splitmix.h"

#define ROUNDS 100000

static uint64_t state = 1;
static uint8_t input[FUZZ_INPUT_BYTES];
static size_t input_bytes;

static uint64_t random_next(void)
{
	return splitmix_next(&state);
}

static size_t random_below(size_t limit)
{
	return (size_t)(random_next() % limit);
}

/* Writes one of the numbers that programs stumble over. */
static void put_number(void)
{
	static const uint64_t numbers[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	uint64_t number = numbers[random_below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t bytes = (size_t)1 << random_below(4);

	if (input_bytes >= bytes)
		memcpy(input + random_below(input_bytes - bytes + 1), &number, bytes);
}

static void mutate_once(void)
{
	size_t at = random_below(input_bytes);

	switch (random_below(6)) {
	case 0:
		input[at] ^= (uint8_t)(1U << random_below(8));
		break;
	case 1:
		input[at] = (uint8_t)random_next();
		break;
	case 2:
		put_number();
		break;
	case 3:
		input[0] = (uint8_t)random_next(); /* the way it is used */
		break;
	case 4:
		input_bytes = 1 + random_below(input_bytes);
		break;
	default:
		while (input_bytes < sizeof(input) && random_below(8))
			input[input_bytes++] = (uint8_t)random_next();
		break;
	}
}

static void show_input(int number)
{
	(void)number;
	for (size_t i = 0; i < input_bytes; i++)
		fprintf(stderr, "%02x", input[i]);
	fputc('\n', stderr);
	_exit(1);
}

static void run_rounds(unsigned long rounds)
{
	unsigned int seeds = 0;

	while (fuzz_seed(seeds, input))
		seeds++;
	FUZZ_MUST(seeds > 0);
	for (unsigned long round = 0; round < rounds; round++) {
		input_bytes = fuzz_seed((unsigned int)random_below(seeds), input);
		for (size_t count = random_below(4); count > 0; count--)
			mutate_once();
		LLVMFuzzerTestOneInput(input, input_bytes);
	}
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "re");

	FUZZ_MUST(file);
	input_bytes = fread(input, 1, sizeof(input), file);
	fclose(file);
	LLVMFuzzerTestOneInput(input, input_bytes);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In the order of their names, so that every run does the same. */
static void run_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort);
	char path[4096];

	FUZZ_MUST(count > 0); /* a folder that is missing or empty would test nothing */
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		run_file(path);
		free(entries[i]);
	}
	free(entries);
	printf("ok 2 - %d inputs that are kept\n", count);
}

static void write_seeds(const char *folder)
{
	char path[4096];

	for (unsigned int number = 0; (input_bytes = fuzz_seed(number, input)); number++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/seed-%u", folder, number);
		file = fopen(path, "we");
		FUZZ_MUST(file && fwrite(input, 1, input_bytes, file) == input_bytes);
		FUZZ_MUST(fclose(file) == 0);
	}
}

static bool is_number(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS;

	signal(SIGABRT, show_input);
	signal(SIGSEGV, show_input);
	if (argc == 3 && !strcmp(argv[1], "--seeds")) {
		write_seeds(argv[2]);
		return EXIT_SUCCESS;
	}
	if (argc > 1 && !is_number(argv[1])) {
		for (int i = 1; i < argc; i++)
			run_file(argv[i]);
		return EXIT_SUCCESS;
	}
	printf("1..%d\n", argc > 2 ? 2 : 1);
	fflush(stdout); /* a child made by fork() may write what it finds in the buffer, too */
	run_rounds(rounds);
	printf("ok 1 - %lu rounds\n", rounds);
	if (argc > 2)
		run_folder(argv[2]);
	return EXIT_SUCCESS;
}
