#include "cli/terminal/output.h"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/terminal/message_json.h"
#include "cli/terminal/reader_watch.h"
#include "yaml/reader.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::atomic<int> print_errno = 0;  // the first failed write to standard output

// Writes everything. The errno of a failure, or 0.
int WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

void Emit(YAML::Emitter& out, const Json& json) {
  if (json.is_object()) {
    if (json.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(out, value);
    }
    out << YAML::EndMap;
  } else if (json.is_array()) {
    if (json.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& item : json) Emit(out, item);
    out << YAML::EndSeq;
  } else if (json.is_null()) {
    out << YAML::Null;
  } else if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (IsPlainNonString(text)) {
      out << YAML::DoubleQuoted << text;
    } else {
      out << text;
    }
  } else {
    out << json.dump();
  }
}

}  // namespace

void Print(absl::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error != 0) OnFailedPrint(error);
  int none = 0;
  if (error != 0 && error != EPIPE) print_errno.compare_exchange_strong(none, error);
}
absl::Status PrintStatus() {
  const int error = print_errno;
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "write to standard output");
}
bool UseColour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

void PrintNote(absl::string_view text) {
  WriteAll(STDERR_FILENO, text);
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, MessageJson(message));
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::string> JsonToYaml(absl::string_view json) {
  const Json parsed = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  YAML::Emitter out;
  Emit(out, parsed);
  if (!out.good()) return absl::InternalError(absl::StrCat("YAML: ", out.GetLastError()));
  return absl::StrCat(out.c_str(), "\n");
}

absl::Status PrintJson(std::string json, OutputFormat format) {
  if (format == OutputFormat::kYaml) {
    PLIMSOLL_ASSIGN_OR_RETURN(json, JsonToYaml(json));
  }
  if (!json.empty() && json.back() != '\n') json += '\n';
  Print(json);
  return absl::OkStatus();
}

absl::Status PrintMessage(const google::protobuf::Message& message, OutputFormat format) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string json, ToJson(message));
  return PrintJson(std::move(json), format);
}

}  // namespace plimsoll::cli
