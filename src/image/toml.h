// toml++ without its assertions. Version 3.3 asserts before it looks whether a table's name begins
// as names do ("[$]" ends the process), and where NDEBUG is defined has clang take it for granted;
// what comes after is the error with its line that anybody expects.
#ifndef PLIMSOLL_IMAGE_TOML_H_
#define PLIMSOLL_IMAGE_TOML_H_

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#endif  // PLIMSOLL_IMAGE_TOML_H_
