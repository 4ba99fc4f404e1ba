// Where in its file a key of the configuration stands, for faults that are found after it was read.
#ifndef PLIMSOLL_DAEMON_CONFIG_PLACE_H_
#define PLIMSOLL_DAEMON_CONFIG_PLACE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::daemon {

// `fault` with "FILE:LINE:COLUMN: " before each line of its message that begins with keys that
// `text`, the file's, has: "crun: no program at /x", "nodeResources: cpus.list: ...". Of
// "streaming.certificate and streaming.key: ..." the first word counts.
absl::Status WithPlaces(const absl::Status& fault, absl::string_view text, absl::string_view file);

// The same of the file at `path`; as it is where the path is empty or the file can't be read.
absl::Status WithPlaces(const absl::Status& fault, const std::string& path);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_PLACE_H_
