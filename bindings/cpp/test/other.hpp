/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other.hpp - a second process: this program, started anew
 */
#ifndef OTHER_HPP
#define OTHER_HPP

#include <initializer_list>
#include <string>

namespace other
{

inline constexpr char mark[] = "--other";

/* What the other process does, by its name. Its exit status. */
int run(const char *role, int count, char **arguments);

/* Starts it, waits for its end, and returns its exit status. */
int start(const char *role, std::initializer_list<std::string> arguments);

} //namespace other

#endif
