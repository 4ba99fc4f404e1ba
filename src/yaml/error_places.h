// Errors of reading that begin with their place, "FILE:LINE:COLUMN: ..." (YamlReader).
#ifndef PLIMSOLL_YAML_ERROR_PLACES_H_
#define PLIMSOLL_YAML_ERROR_PLACES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll {

// Sorted by line, the order of mending them; those without a place come first, and kFurtherProblems
// stays the last.
std::vector<std::string> InOrderOfLines(std::vector<std::string> errors, absl::string_view file);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_ERROR_PLACES_H_
