// toml++ without its assertions. Version 3.3 asserts that a table's name begins as names do before
// it checks that ("[$]" ends the process); with NDEBUG, clang takes it for granted. The check gives
// the expected error with its line.
#ifndef PLIMSOLL_IMAGE_TOML_H_
#define PLIMSOLL_IMAGE_TOML_H_

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#endif  // PLIMSOLL_IMAGE_TOML_H_
