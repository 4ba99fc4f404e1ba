#include "cdi/json_reader.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::cdi {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

absl::Status Invalid(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

absl::Status TooDeep() {
  return Invalid(absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
}

// Makes a file's text safe for messages: it may be anything, must not fill them, and must be UTF-8,
// because they go to clients as protobuf strings.
std::string Shown(absl::string_view text) {
  constexpr size_t kLongest = 200;
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return absl::StrCat(shown, text.size() > kLongest ? "..." : "");
}

// nlohmann's parser keeps the last of duplicate members; here they are an error.
absl::StatusOr<Json> ReadJson(absl::string_view text) {
  absl::Status wrong;
  std::vector<std::set<std::string>> members;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth && wrong.ok()) wrong = TooDeep();
    if (event == Json::parse_event_t::object_start) members.emplace_back();
    if (event == Json::parse_event_t::object_end) members.pop_back();
    if (event == Json::parse_event_t::key && !members.back().insert(value).second && wrong.ok()) {
      wrong = Invalid(absl::StrCat("member ", Shown(value.dump()), " is there twice"));
    }
    return true;
  };
  try {
    Json value = Json::parse(text.begin(), text.end(), look);
    if (!wrong.ok()) return wrong;
    return value;
  } catch (const Json::exception& error) {
    return Invalid(absl::StrCat("not valid JSON: ", Shown(error.what())));
  }
}

// A plain scalar that is a number in YAML 1.1 as Kubernetes reads it, where 0660 is octal.
Json PlainNumber(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(text.c_str(), &end, 0);
  if (errno == 0 && *end == '\0') return number;
  double real = 0;
  if (absl::SimpleAtod(text, &real)) return real;
  return text;
}

Json Scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?" || !IsPlainNonString(text)) return text;  // quoted, or plain text
  if (text.empty() || text == "~" || absl::EqualsIgnoreCase(text, "null")) return nullptr;
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  return PlainNumber(text);
}

absl::StatusOr<Json> FromYaml(const YAML::Node& node, int depth) {
  if (depth > kMaxDepth) return TooDeep();
  if (node.IsScalar()) return Scalar(node);
  Json value;
  if (node.IsSequence()) {
    value = Json::array();
    for (const auto& element : node) {
      PLIMSOLL_ASSIGN_OR_RETURN(Json read, FromYaml(element, depth + 1));
      value.push_back(std::move(read));
    }
  } else if (node.IsMap()) {
    value = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return Invalid("a key that is no text");
      const std::string& key = entry.first.Scalar();
      PLIMSOLL_ASSIGN_OR_RETURN(Json read, FromYaml(entry.second, depth + 1));
      if (!value.emplace(key, std::move(read)).second) {
        return Invalid(absl::StrCat("line ", entry.first.Mark().line + 1, ": member ", Quoted(key),
                                    " is there twice"));
      }
    }
  }
  return value;
}

absl::StatusOr<Json> ReadYaml(absl::string_view text) {
  try {
    const std::vector<YAML::Node> documents = LoadYamlDocuments(std::string(text));
    if (documents.size() != 1) {
      return Invalid(absl::StrCat(documents.size(), " documents; one file holds one"));
    }
    return FromYaml(documents[0], 0);
  } catch (const YAML::Exception& error) {
    return Invalid(absl::StrCat("line ", error.mark.line + 1, ": ", YamlFault(error)));
  }
}

std::string Found(const Json& value) {
  if (value.is_number() || value.is_boolean()) return value.dump();
  return absl::StrCat("a value of type ", value.type_name());
}

}  // namespace

absl::StatusOr<Json> ReadDocument(absl::string_view text, SpecFormat format) {
  return format == SpecFormat::kJson ? ReadJson(text) : ReadYaml(text);
}

void JsonReader::Fail(absl::string_view place, absl::string_view message) {
  if (!status_.ok()) return;
  status_ = Invalid(absl::StrCat(file_, ": ", place, place.empty() ? "" : ": ", message));
}

JsonObject::JsonObject(JsonReader& reader, const Json& value, std::string place)
    : reader_(reader), object_(value.is_object() ? &value : nullptr), place_(std::move(place)) {
  if (object_ == nullptr) {
    reader_.Fail(place_, absl::StrCat("expected an object, found ", Found(value)));
  }
}

std::string JsonObject::PlaceOf(absl::string_view key) const {
  return place_.empty() ? std::string(key) : absl::StrCat(place_, ".", key);
}

void JsonObject::Fail(absl::string_view key, absl::string_view message) {
  reader_.Fail(PlaceOf(key), message);
}

const Json* JsonObject::Get(const char* key) {
  known_.emplace_back(key);
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::String(const char* key, std::string& out) {
  const Json* value = Get(key);
  if (value == nullptr) return;
  if (!value->is_string())
    return Fail(key, absl::StrCat("expected a string, found ", Found(*value)));
  const auto& text = value->get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) return Fail(key, "has a NUL in it");
  out = text;
}

void JsonObject::Required(const char* key, std::string& out) {
  String(key, out);
  if (out.empty()) Fail(key, "is missing, and must be there");
}

void JsonObject::Bool(const char* key, bool& out) {
  const Json* value = Get(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    return Fail(key, absl::StrCat("expected true or false, found ", Found(*value)));
  }
  out = value->get<bool>();
}

void JsonObject::Int(const char* key, std::optional<int64_t>& out) {
  const Json* value = Get(key);
  if (value == nullptr) return;
  const bool fits =
      value->is_number_integer() && (!value->is_number_unsigned() ||
                                     value->get<uint64_t>() <= std::numeric_limits<int64_t>::max());
  if (!fits) return Fail(key, absl::StrCat("expected an integer, found ", Found(*value)));
  out = value->get<int64_t>();
}

void JsonObject::UInt32(const char* key, std::optional<uint32_t>& out) {
  std::optional<int64_t> wide;
  Int(key, wide);
  if (!wide.has_value()) return;
  if (*wide < 0 || *wide > std::numeric_limits<uint32_t>::max()) {
    return Fail(key, absl::StrCat(*wide, " is not 0 to 4294967295"));
  }
  out = static_cast<uint32_t>(*wide);
}

void JsonObject::Strings(const char* key, std::vector<std::string>& out) {
  Each(key, [&](const Json& value, const std::string& place) {
    if (!value.is_string()) {
      return reader_.Fail(place, absl::StrCat("expected a string, found ", Found(value)));
    }
    const auto& text = value.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos) return reader_.Fail(place, "has a NUL in it");
    out.push_back(text);
  });
}

void JsonObject::Each(const char* key,
                      const std::function<void(const Json&, const std::string&)>& read) {
  const Json* list = Get(key);
  if (list == nullptr) return;
  if (!list->is_array()) return Fail(key, absl::StrCat("expected a list, found ", Found(*list)));
  const std::string place = PlaceOf(key);
  size_t index = 0;
  for (const Json& element : *list) read(element, absl::StrCat(place, "[", index++, "]"));
}

void JsonObject::Finish() {
  if (object_ == nullptr) return;
  for (const auto& [key, value] : object_->items()) {
    if (absl::c_linear_search(known_, key)) continue;
    reader_.Fail(PlaceOf(Shorten(key)),
                 absl::StrCat("unknown, valid here: ", absl::StrJoin(known_, ", ")));
  }
}

}  // namespace plimsoll::cdi
