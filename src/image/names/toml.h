// toml++ without its assertions. Version 3.3 asserts that a table's name begins as names do before
// it checks that ("[$]" ends the process); with NDEBUG, clang takes it for granted. The check gives
// the expected error with its line.
#ifndef PLIMSOLL_IMAGE_NAMES_TOML_H_
#define PLIMSOLL_IMAGE_NAMES_TOML_H_

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::image {

// INVALID_ARGUMENT names `file` and the line. Characters that aren't ASCII become '?': toml++ 3.3
// runs into undefined behaviour at some of them outside of strings and comments
// (is_non_ascii_horizontal_whitespace).
absl::StatusOr<toml::table> ParseToml(absl::string_view text, absl::string_view file);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_NAMES_TOML_H_
