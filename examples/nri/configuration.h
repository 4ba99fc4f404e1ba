// The text that the runtime gives a plugin in Configure, as YAML.
#ifndef PLIMSOLL_EXAMPLES_NRI_CONFIGURATION_H_
#define PLIMSOLL_EXAMPLES_NRI_CONFIGURATION_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "yaml/reader.h"

namespace plimsoll::examples {

// Has `read` ask for each key of the text's mapping. Empty text is an empty mapping.
// INVALID_ARGUMENT names line and mistake.
absl::Status ReadConfiguration(
    const std::string& text,
    absl::FunctionRef<void(YamlReader& reader, YamlMapping& configuration)> read);

}  // namespace plimsoll::examples

#endif  // PLIMSOLL_EXAMPLES_NRI_CONFIGURATION_H_
