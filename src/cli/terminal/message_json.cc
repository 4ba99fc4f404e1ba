#include "cli/terminal/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Names of fields with nanoseconds since the epoch, in the CRI and in our own messages.
bool IsTime(const FieldDescriptor& field) {
  const std::string& name = field.name();
  return field.type() == FieldDescriptor::TYPE_INT64 && !field.is_repeated() &&
         (name == "created_at" || name == "started_at" || name == "finished_at" ||
          name == "timestamp");
}

// Members of `info` whose keys are the client's or the kernel's, and stay as they are.
bool HasForeignKeys(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"labels",  "annotations",    "update_annotations",
                                                 "sysctls", "requests",       "limits",
                                                 "unified", "hugetlb_limits", "classes",
                                                 "files",   "grants",         "devices"};
  return absl::c_linear_search(kNames, name);
}

Json InCamelCase(const Json& json, bool foreign_keys) {
  if (json.is_array()) {
    Json items = Json::array();
    for (const Json& item : json) items.push_back(InCamelCase(item, /*foreign_keys=*/false));
    return items;
  }
  if (!json.is_object()) return json;
  Json members = Json::object();
  for (const auto& [key, value] : json.items()) {
    members[foreign_keys ? key : CamelCase(key)] =
        InCamelCase(value, !foreign_keys && HasForeignKeys(key));
  }
  return members;
}

// Converts one value of `info`.
Json FromInfo(absl::string_view name, const Json& value) {
  if (!value.is_string()) return value;
  const Json parsed = Json::parse(value.get_ref<const std::string&>(), nullptr,
                                  /*allow_exceptions=*/false);
  if (!parsed.is_object() && !parsed.is_array()) return value;
  return InCamelCase(parsed, HasForeignKeys(name));
}

void Restyle(const Descriptor& type, Json& message);

void RestyleMap(const FieldDescriptor& field, Json& value) {
  std::map<std::string, Json> sorted;
  for (const auto& [key, entry] : value.items()) sorted[key] = entry;
  value = Json::object();
  const FieldDescriptor& of_values = *field.message_type()->map_value();
  for (auto& [key, entry] : sorted) {
    Json& placed = value[key] = field.name() == "info" ? FromInfo(key, entry) : std::move(entry);
    if (of_values.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Restyle(*of_values.message_type(), placed);
    }
  }
}

void RestyleField(const FieldDescriptor& field, Json& value) {
  if (IsTime(field) && value.is_string()) {
    int64_t unix_nanos = 0;
    if (absl::SimpleAtoi(value.get_ref<const std::string&>(), &unix_nanos)) {
      value = TimeJson(unix_nanos);
    }
    return;
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return;
  if (field.is_map()) {
    RestyleMap(field, value);
  } else if (value.is_array()) {
    for (Json& item : value) Restyle(*field.message_type(), item);
  } else {
    Restyle(*field.message_type(), value);
  }
}

bool IsUpper(char c) {
  return absl::ascii_isupper(static_cast<unsigned char>(c));
}

// Turns "CDIDevices", protobuf's name of CDI_devices, into "cdiDevices".
std::string WithLowerStart(const std::string& key) {
  const auto end = static_cast<size_t>(absl::c_find_if_not(key, IsUpper) - key.begin());
  const size_t word = end > 1 && end < key.size() ? end - 1 : end;
  return absl::StrCat(absl::AsciiStrToLower(key.substr(0, word)), key.substr(word));
}

// Sorts maps: protobuf prints their entries in a new order each time.
void Restyle(const Descriptor& type, Json& message) {
  if (!message.is_object()) return;  // google.protobuf.UInt64Value, for example
  bool has_upper = false;
  for (int i = 0; i < type.field_count(); ++i) {
    const auto found = message.find(type.field(i)->json_name());
    if (found == message.end()) continue;
    RestyleField(*type.field(i), *found);
    has_upper |= IsUpper(found.key()[0]);
  }
  if (!has_upper) return;
  Json renamed = Json::object();
  for (auto& [key, value] : message.items()) renamed[WithLowerStart(key)] = std::move(value);
  message = std::move(renamed);
}

}  // namespace

absl::StatusOr<Json> MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return absl::InternalError(absl::StrCat("JSON: ", status.ToString()));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Restyle(*message.GetDescriptor(), json);
  return json;
}

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
}

Json TimeJson(int64_t unix_nanos) {
  return unix_nanos == 0 ? Json() : Json(Rfc3339(absl::FromUnixNanos(unix_nanos)));
}

std::string CamelCase(absl::string_view key) {
  const bool is_snake = !key.empty() && absl::ascii_islower(static_cast<unsigned char>(key[0])) &&
                        absl::c_all_of(key, [](char c) {
                          return c == '_' || absl::ascii_islower(static_cast<unsigned char>(c)) ||
                                 absl::ascii_isdigit(static_cast<unsigned char>(c));
                        });
  if (!is_snake) return std::string(key);
  std::string camel;
  bool upper = false;
  for (const char c : key) {
    if (c == '_') {
      upper = true;
      continue;
    }
    camel += upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    upper = false;
  }
  return camel;
}

}  // namespace plimsoll::cli
