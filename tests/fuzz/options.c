/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - fuzzes what the tool does with a command line: its options, and the numbers in them
 *
 * Input: words, each ended by a zero. They are read as the options of a verb that has one of each
 * sort; and each word is read as a number, a size, and seconds. What is accepted lies within its
 * limits, and a size says its own name.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "common/number.h"
#include "common/option.h"
#include "common/say.h"

#define WORDS_MAX 32
#define COUNT_MAX 1000

struct given {
	uint64_t count;
	uint64_t seconds_ns;
	uint64_t wait_ns;
	const char *word;
	bool json;
};

static int take_word(void *place, const char *argument)
{
	*(const char **)place = argument;
	return argument[0] ? 0 : EXIT_CANNOT;
}

static const struct option_row options[] = {
	OPTION("count", NUMBER, struct given, count, 'c', 1, COUNT_MAX),
	OPTION("json", FLAG, struct given, json, 'j'),
	OPTION("seconds", SECONDS, struct given, seconds_ns, 's', 1),
	OPTION("wait", PATIENCE, struct given, wait_ns, 'w'),
	OPTION("word", TAKEN, struct given, word, .take = take_word),
	OPTION_END,
};

/* In place of report.c: what is wrong is said, but not to people. */
int report_speak(enum report report, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	FUZZ_MUST(vsnprintf(text, sizeof(text), format, arguments) > 0);
	va_end(arguments);
	return report == REPORT_REFUSE ? EXIT_CANNOT : -1;
}

static void read_options(int argc, char **argv)
{
	struct given given = {.count = 1, .seconds_ns = 1};
	int result;

	optind = 0; /* from the beginning */
	result = option_read(argc, argv, options, "", &given);
	FUZZ_MUST(result == -1 || result == EXIT_DONE || result == EXIT_CANNOT);
	if (result == -1)
		FUZZ_MUST(given.count >= 1 && given.count <= COUNT_MAX && given.seconds_ns >= 1);
	if (result != -1)
		return;
	FUZZ_MUST(optind >= 1 && optind <= argc);
	(void)option_words(argc, 0, 2, "words");
	(void)option_no_more(argc, argv);
}

static void read_number(const char *word)
{
	char text[NUMBER_BYTES];
	uint64_t value = 7;
	uint64_t again;

	if (number_parse(word, 10, 20, &value))
		FUZZ_MUST(value >= 10 && value <= 20);
	else
		FUZZ_MUST(value == 7);
	if (number_parse_seconds(word, &value))
		FUZZ_MUST(value < UINT64_C(1000000001) * 1000000000);
	if (!number_parse_size(word, strlen(word), &value))
		return;
	FUZZ_MUST(value > 0);
	number_size_text(value, text);
	number_size_name(value, text);
	FUZZ_MUST(number_parse_size(text, strlen(text), &again) && again == value);
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	static const char lines[][64] = {
		"--count\0"
		"12\0--json\0name\0",
		"-c\0"
		"1000\0-jw\0forever\0a\0b\0c\0",
		"--seconds=0.000000001\0--wait=30\0",
		"--help\0",
		"--unknown\0--count=\0-x\0--js\0--json=4\0",
		"18446744073709551615\0"
		"4KiB\0"
		"2M\0"
		"1G\0"
		"0\0--\0-c\0",
		"1000000000\0"
		"0.5\0"
		"3.\0.3\0"
		"16777216GiB\0"
		"4097\0",
	};

	if (number >= sizeof(lines) / sizeof(lines[0]))
		return 0;
	memcpy(out, lines[number], sizeof(lines[number]));
	return sizeof(lines[number]);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	static char program[] = "fuzz";
	char *argv[WORDS_MAX + 2] = {program};
	char text[FUZZ_INPUT_BYTES + 1];
	int argc = 1;

	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	memcpy(text, input, bytes);
	text[bytes] = '\0';
	for (size_t at = 0; at < bytes && argc <= WORDS_MAX; at += strlen(text + at) + 1) {
		read_number(text + at);
		argv[argc++] = text + at;
	}
	read_options(argc, argv);
	return 0;
}
