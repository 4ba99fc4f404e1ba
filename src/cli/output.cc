#include "cli/output.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "yaml/reader.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::atomic<int> print_errno = 0;  // of the first failed write to standard output

// The errno of what failed, or 0.
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

void SortMaps(const google::protobuf::Descriptor& type, Json& message);

void SortMapsIn(const google::protobuf::FieldDescriptor& field, Json& value) {
  if (field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) return;
  if (field.is_map()) {
    std::map<std::string, Json> sorted;
    for (const auto& [key, entry] : value.items()) sorted[key] = entry;
    value = Json::object();
    const google::protobuf::FieldDescriptor& of_values = *field.message_type()->map_value();
    for (const auto& [key, entry] : sorted) {
      Json& placed = value[key] = entry;
      SortMapsIn(of_values, placed);
    }
  } else if (value.is_array()) {
    for (Json& item : value) SortMaps(*field.message_type(), item);
  } else {
    SortMaps(*field.message_type(), value);
  }
}

// protobuf prints the entries of a map in an order that differs from one time to the next.
void SortMaps(const google::protobuf::Descriptor& type, Json& message) {
  if (!message.is_object()) return;  // as google.protobuf.UInt64Value is
  for (int i = 0; i < type.field_count(); ++i) {
    const auto found = message.find(type.field(i)->name());
    if (found != message.end()) SortMapsIn(*type.field(i), *found);
  }
}

}  // namespace

void Print(absl::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  int none = 0;
  if (error != 0 && error != EPIPE) print_errno.compare_exchange_strong(none, error);
}
absl::Status PrintStatus() {
  const int error = print_errno;
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "write to standard output");
}
void PrintNote(absl::string_view text) {
  WriteAll(STDERR_FILENO, text);
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return absl::InternalError(absl::StrCat("JSON: ", status.ToString()));
  Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  SortMaps(*message.GetDescriptor(), parsed);
  return parsed.dump(1, ' ', false, Json::error_handler_t::replace);
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
