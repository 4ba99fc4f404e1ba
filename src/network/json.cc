#include "network/json.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::network {
namespace {

constexpr size_t kMaxShown = 1000;

// Counts brackets outside of strings; the parser checks that they match.
size_t DepthOf(absl::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// Null if it is absent.
const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

absl::Status WrongType(const char* key, const char* expected, const Json& found) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": expected ", expected, ", found ", found.type_name()));
}

absl::StatusOr<const Json*> FindList(const Json& object, const char* key, size_t max) {
  const Json* list = Find(object, key);
  if (list == nullptr) return list;
  if (!list->is_array()) return WrongType(key, "a list", *list);
  if (list->size() > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": ", list->size(), " elements, more than ", max));
  }
  return list;
}

}  // namespace

absl::StatusOr<Json> ParseObject(absl::string_view text, size_t max_depth) {
  if (DepthOf(text) > max_depth) {
    return absl::InvalidArgumentError(absl::StrCat("nested deeper than ", max_depth));
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("expected an object, found ", json.type_name()));
  }
  return json;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status ReadText(const Json& object, const char* key, std::string* out) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_string()) return WrongType(key, "a string", *value);
  *out = value->get<std::string>();
  return absl::OkStatus();
}

absl::Status ReadBool(const Json& object, const char* key, bool* out) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_boolean()) return WrongType(key, "true or false", *value);
  *out = value->get<bool>();
  return absl::OkStatus();
}

absl::Status ReadInteger(const Json& object, const char* key, std::optional<int64_t>* out) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!fits) return WrongType(key, "an integer of 64 bits", *value);
  *out = value->get<int64_t>();
  return absl::OkStatus();
}

absl::Status ReadTexts(const Json& object, const char* key, size_t max,
                       std::vector<std::string>* out) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json* list, FindList(object, key, max));
  if (list == nullptr) return absl::OkStatus();
  std::vector<std::string> texts;
  for (const Json& element : *list) {
    if (!element.is_string()) return WrongType(key, "strings", element);
    texts.push_back(element.get<std::string>());
  }
  *out = std::move(texts);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<const Json*>> ReadObjects(const Json& object, const char* key,
                                                     size_t max) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json* list, FindList(object, key, max));
  std::vector<const Json*> objects;
  if (list == nullptr) return objects;
  for (const Json& element : *list) {
    if (!element.is_object()) return WrongType(key, "objects", element);
    objects.push_back(&element);
  }
  return objects;
}

std::string OneLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const bool cut = text.size() > kMaxShown;
  const std::string line =
      absl::StrReplaceAll(text.substr(0, kMaxShown), {{"\n", " | "}, {"\t", " "}});
  return absl::StrCat(Printable(line), cut ? "..." : "");
}

}  // namespace plimsoll::network
