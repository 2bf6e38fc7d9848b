/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.cpp - signatures of functions, their parameters and values of scalars
 */
#include "test.hpp"

using namespace warpway;

TEST("a signature in its canonical form")
{
	const signature s = signature::parse("float32 a=1,f32[n,4]x read->f64 sum");

	CLAIM(s.text() == "f32 a = 1.0, f32[n, 4] x read -> f64 sum");
	CLAIM(s == signature::parse(s.text()) && s.hash() == signature::parse(s.text()).hash());
	CLAIM(s != signature::parse("") && s.hash() != signature::parse("").hash());
	CLAIM(signature::try_parse("f33 a").status() == status::invalid);
	CLAIM(signature::try_parse("bytes a234567890123456789012345678901234").status() ==
		status::limit);
}

TEST("parameters and results of a signature")
{
	const signature s = signature::parse(
		"f32 a = 0.5, any[n, 4] x write strided = none, i32 n, bytes[9] b, timeline t "
		"-> f32[...] z");
	const std::vector<parameter> p = s.parameters();

	CLAIM(p.size() == 5 && s.results().size() == 1);
	CLAIM(p[0].kind() == argument_kind::scalar && p[0].is_optional());
	CLAIM(p[0].name() == "a" && p[0].type() == "f32" && p[0].dtype() == dtype_of<float>);
	CLAIM(p[0].default_scalar() == 0x3f000000u && !p[0].access());
	CLAIM(p[1].kind() == argument_kind::array && p[1].access() == access::write);
	CLAIM(p[1].is_optional() && p[1].is_strided() && p[1].is_of_any_type());
	CLAIM(p[1].is_write_only() && !p[1].dtype() && !p[1].default_scalar());
	CLAIM(p[1].shape().size() == 2 && p[1].shape()[0] == -1 && p[1].shape()[1] == 4);
	CLAIM(p[2].is_dimension() && p[2].is_optional());
	CLAIM(p[3].kind() == argument_kind::bytes && p[3].bytes_max() == 9);
	CLAIM(p[4].kind() == argument_kind::timeline && !p[4].is_optional());
	CLAIM(s.results()[0].is_of_any_rank() && s.results()[0].name() == "z");
}

TEST("values of scalars as text")
{
	CLAIM(scalar::parse(dtype_of<float>, "0.5") == 0x3f000000u);
	CLAIM(scalar::text(dtype_of<float>, 0x3f000000u) == "0.5");
	CLAIM(scalar::text(dtype_of<bool>, scalar::parse(dtype_of<bool>, "true")) == "true");
	CLAIM(scalar::try_parse(dtype_of<std::int8_t>, "128").status() == status::invalid);
	CLAIM(scalar::try_text(dtype_of<std::complex<float>>, 0).status() == status::invalid);
}
