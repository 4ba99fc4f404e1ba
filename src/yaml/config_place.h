// Places of configuration keys in their file, for faults found after it was read.
#ifndef PLIMSOLL_YAML_CONFIG_PLACE_H_
#define PLIMSOLL_YAML_CONFIG_PLACE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// `fault` with "FILE:LINE:COLUMN: " before each line of its message that begins with keys found in
// `text`, the file's content: "crun: no program at /x", "nodeResources: cpus.list: ...". In
// "streaming.certificate and streaming.key: ..." the first word counts.
absl::Status WithPlaces(const absl::Status& fault, absl::string_view text, absl::string_view file);

// The same for the file at `path`; returns `fault` unchanged if the path is empty or unreadable.
absl::Status WithPlaces(const absl::Status& fault, const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_CONFIG_PLACE_H_
