/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.c - fuzzes the parser of signatures
 *
 * Input: the text. What is accepted has a canonical text, which is parsed as the same signature and
 * is its own canonical text. What a caller asks of a text is what the parser found in it.
 */
#include <string.h>

#include "base/error.h"
#include "call/signature.h"
#include "fuzz/fuzz.h"

static struct ww_signature signature;
static struct ww_signature again;

static void must_be_same(const struct ww_parameter *list, const struct ww_parameter *other,
	uint32_t count)
{
	FUZZ_MUST(!memcmp(list, other, count * sizeof(list[0])));
}

static void parse_again(void)
{
	FUZZ_MUST(ww_signature_parse(signature.text, &again) == WW_OK);
	FUZZ_MUST(!strcmp(signature.text, again.text) && signature.hash == again.hash);
	FUZZ_MUST(signature.parameter_count == again.parameter_count);
	FUZZ_MUST(signature.result_count == again.result_count);
	must_be_same(signature.parameters, again.parameters, signature.parameter_count);
	must_be_same(signature.results, again.results, signature.result_count);
}

static void ask(const char *text)
{
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);
	struct ww_parameter_info parameter = WW_INIT(struct ww_parameter_info);
	uint32_t count = signature.parameter_count;

	FUZZ_MUST(ww_signature_info_get(text, &info) == WW_OK);
	FUZZ_MUST(!strcmp(info.text, signature.text) && info.parameter_count == count);
	FUZZ_MUST(ww_signature_parameter_get(text, count, &parameter) == WW_END);
	if (count == 0)
		return;
	FUZZ_MUST(ww_signature_parameter_get(text, count - 1, &parameter) == WW_OK);
	FUZZ_MUST(!strcmp(parameter.name, signature.parameters[count - 1].name));
	FUZZ_MUST(strstr(signature.text, parameter.type));
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	static const char *const texts[] = {
		"f32 a, f32[n] x read, f32[n] y readwrite",
		"float64 alpha = 1.5e-3, bool b = true, i8 c = -128, u64 d=18446744073709551615",
		"bytes key, bytes[16] nonce = none, timeline t = none",
		"any[...] x read strided = none, c64[n, 4, *] y readwrite, float8_e4m3fn[] z write",
		"i64 n -> f32[n] x, bytes[9] b, i32 k, bf16[k, k] y strided",
		"f16 a = nan, bf16 b = -inf, f32 c = 1e+22 ->",
		"  \t",
		"-> f64 sum",
	};

	if (number >= sizeof(texts) / sizeof(texts[0]))
		return 0;
	memcpy(out, texts[number], strlen(texts[number]));
	return strlen(texts[number]);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	ww_status status;
	char *text;

	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	text = malloc(bytes + 1); /* of exactly its size */
	FUZZ_MUST(text);
	memcpy(text, input, bytes);
	text[bytes] = '\0';
	status = ww_signature_parse(text, &signature);
	if (status == WW_OK) {
		parse_again();
		ask(text);
	} else {
		FUZZ_MUST(status == WW_ERR_INVALID || status == WW_ERR_LIMIT);
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	}
	free(text);
	return 0;
}
