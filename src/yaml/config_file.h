// The configuration file of a program: one YAML document, read strictly.
#ifndef PLIMSOLL_YAML_CONFIG_FILE_H_
#define PLIMSOLL_YAML_CONFIG_FILE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "yaml/reader.h"

namespace plimsoll {

// Calls `read` with the document of `text`, unless there is none. INVALID_ARGUMENT names the place
// of each fault in `file`, a line each in the file's order: `read` has told them to the reader.
absl::Status ReadConfigText(absl::string_view text, absl::string_view file,
                            const std::function<void(YamlReader&, const YAML::Node&)>& read);

// Where the file is: `given` by a flag, else the default place; made absolute.
std::string ConfigPath(const std::optional<std::string>& given, const std::string& default_path);
// The file's text, at most 1 MiB; nothing if none was given and the default place has none. Errors
// of ReadRegularFile.
absl::StatusOr<std::string> LoadConfigText(const std::optional<std::string>& given,
                                           const std::string& default_path);

// The key "logging": {format: text or json, level: debug, info, warning or error}.
void ReadLogging(YamlReader& reader, YamlMapping& mapping, std::string& format, std::string& level);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_CONFIG_FILE_H_
