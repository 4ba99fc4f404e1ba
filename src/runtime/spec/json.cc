#include "runtime/spec/json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/utf8.h"
#include "runtime/spec/json_fields.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::ordered_json;  // members stay in the order of the struct, for readers

// --- Writing. Empty members (text, list, map, absent optional) are left out; numbers, booleans and
// enumerations are always there, so that a later change of a default does not change old records.
// Written straight to text: nlohmann's values would cost seven times as much, on the way of each
// container's start.

bool IsPlain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void AppendJson(std::string& out, const std::string& text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    absl::StrAppend(&out, "\"", text, "\"");
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

template <typename T>
bool IsLeftOut(const T&) {
  return false;
}
bool IsLeftOut(const std::string& text) {
  return text.empty();
}
template <typename T>
bool IsLeftOut(const std::optional<T>& value) {
  return !value.has_value();
}
template <typename T>
bool IsLeftOut(const std::vector<T>& values) {
  return values.empty();
}
template <typename T>
bool IsLeftOut(const std::map<std::string, T>& values) {
  return values.empty();
}

// Whether an empty value differs from an absent one.
template <typename T>
bool IsGivenEmpty(const T&) {
  return false;
}
bool IsGivenEmpty(const KubernetesResources& resources) {
  return resources.is_given_empty;
}
// The client asked for nothing, and plugins did.
bool IsGivenEmpty(const std::optional<AskedParts>& asked) {
  return asked.has_value();
}
template <typename T>
void NoteEmpty(T&) {}
void NoteEmpty(KubernetesResources& resources) {
  resources.is_given_empty = resources.empty();
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(const char* key, const T& value) {
    if (IsLeftOut(value)) return;
    const size_t before = out_.size();
    absl::StrAppend(&out_, first_ ? "\"" : ",\"", key, "\":");
    const size_t key_end = out_.size();
    Write(value);
    // A struct without written members is empty too.
    if (absl::string_view(out_).substr(key_end) == "{}" && !IsGivenEmpty(value)) {
      out_.resize(before);
      return;
    }
    first_ = false;
  }

  // Writes bytes that a string before this can't hold.
  void Bytes(const char* key, const std::string& bytes) {
    if (!IsUtf8(bytes)) (*this)(key, absl::Base64Escape(bytes));
  }

  void Write(const std::string& text) { AppendJson(out_, text); }
  template <typename T>
  void Write(const std::optional<T>& value) {
    Write(*value);
  }
  template <typename T>
  void Write(const std::vector<T>& values) {
    char separator = '[';
    if (values.empty()) out_ += separator;
    for (const T& value : values) {
      out_ += std::exchange(separator, ',');
      Write(value);
    }
    out_ += ']';
  }
  template <typename T>
  void Write(const std::map<std::string, T>& values) {
    char separator = '{';
    if (values.empty()) out_ += separator;
    for (const auto& [key, value] : values) {
      out_ += std::exchange(separator, ',');
      AppendJson(out_, key);
      out_ += ':';
      Write(value);
    }
    out_ += '}';
  }
  template <typename T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      absl::StrAppend(&out_, "\"", Names<T>::kNames[static_cast<size_t>(value)], "\"");
    } else if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      absl::StrAppend(&out_, value);
    } else {
      Writer members(out_);
      const T* tag = nullptr;
      out_ += '{';
      Fields(members, value, tag);
      out_ += '}';
    }
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// --- Reading.

enum class UnknownKeys { kIgnored, kRefused };

template <UnknownKeys kUnknown>
class Reader {
 public:
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    if (!status_.ok()) return;
    if (kUnknown == UnknownKeys::kRefused) known_.emplace_back(key);
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    status_ = Read(*found, path_.empty() ? key : absl::StrCat(path_, ".", key), value);
  }

  // Reads bytes in place of a string read before, if there are any.
  void Bytes(const char* key, std::string& bytes) {
    std::string base64;
    (*this)(key, base64);
    if (!status_.ok() || base64.empty() || absl::Base64Unescape(base64, &bytes)) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "member '", path_.empty() ? "" : absl::StrCat(path_, "."), key, "': expected base64"));
  }

  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, T& value) {
    if constexpr (std::is_enum_v<T>) {
      return ReadEnum(json, path, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return WrongType(json, path, "true or false");
      value = json.get<bool>();
      return absl::OkStatus();
    } else if constexpr (std::is_integral_v<T>) {
      return ReadInteger(json, path, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return WrongType(json, path, "a string");
      value = json.get<std::string>();
      return absl::OkStatus();
    } else {
      if (!json.is_object()) return WrongType(json, path, "an object");
      Reader reader(json, path);
      const T* tag = nullptr;
      Fields(reader, value, tag);
      NoteEmpty(value);
      if (reader.status_.ok()) reader.RefuseUnknown();
      return reader.status_;
    }
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, std::optional<T>& value) {
    if (json.is_null()) return absl::OkStatus();
    return Read(json, path, value.emplace());
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) return WrongType(json, path, "a list");
    values.resize(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
      PLIMSOLL_RETURN_IF_ERROR(Read(json[i], absl::StrCat(path, "[", i, "]"), values[i]));
    }
    return absl::OkStatus();
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path,
                           std::map<std::string, T>& values) {
    if (!json.is_object()) return WrongType(json, path, "an object");
    for (const auto& [key, item] : json.items()) {
      PLIMSOLL_RETURN_IF_ERROR(Read(item, absl::StrCat(path, ".", key), values[key]));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status WrongType(const Json& json, const std::string& path, const char* expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.empty() ? "" : absl::StrCat("member '", path, "': "), "expected ",
                     expected, ", found ", json.type_name()));
  }

  template <typename T>
  static absl::Status ReadInteger(const Json& json, const std::string& path, T& value) {
    if (!json.is_number_integer()) return WrongType(json, path, "an integer");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                                : std::in_range<T>(json.get<int64_t>());
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("member '", path, "': ", json.dump(), " is out of range, ",
                       std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
    }
    value = json.get<T>();
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status ReadEnum(const Json& json, const std::string& path, T& value) {
    if (!json.is_string()) return WrongType(json, path, "a string");
    std::string valid;
    int number = 0;
    for (const char* name : Names<T>::kNames) {
      if (json.get_ref<const std::string&>() == name) {
        value = static_cast<T>(number);
        return absl::OkStatus();
      }
      absl::StrAppend(&valid, valid.empty() ? "" : ", ", name);
      ++number;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("member '", path, "': unknown value ", json.dump(), ", valid: ", valid));
  }

  void RefuseUnknown() {
    if (kUnknown == UnknownKeys::kIgnored) return;
    for (const auto& [key, unused] : object_.items()) {
      if (absl::c_linear_search(known_, key)) continue;
      status_ = absl::InvalidArgumentError(
          absl::StrCat("unknown member '", path_, path_.empty() ? "" : ".", key,
                       "', there are: ", absl::StrJoin(known_, ", ")));
      return;
    }
  }

  const Json& object_;
  const std::string path_;
  std::vector<std::string> known_;
  absl::Status status_;
};

template <typename T>
std::string Dump(const T& value) {
  std::string out;
  Writer(out).Write(value);
  return out;
}

template <typename T, UnknownKeys kUnknown = UnknownKeys::kIgnored>
absl::StatusOr<T> Parse(absl::string_view text, absl::string_view what) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": not valid JSON"));
  }
  T value;
  if (absl::Status status = Reader<kUnknown>::Read(json, "", value); !status.ok()) {
    return Annotate(status, what);
  }
  return value;
}

}  // namespace

std::string ToJson(const SandboxSpec& spec) {
  return Dump(spec);
}
std::string ToJson(const ContainerSpec& spec) {
  return Dump(spec);
}
std::string ToJson(const linux::CgroupSettings& settings) {
  return Dump(settings);
}
std::string ToJson(const LastResources& resources) {
  return Dump(resources);
}
std::string ToJson(const PodResources& resources) {
  return Dump(resources);
}
std::string ToJson(const KubernetesResources& resources) {
  return Dump(resources);
}
std::string ToJson(const ProcessUser& user) {
  return Dump(user);
}
std::string ToJson(const qos::HeldClasses& classes) {
  return Dump(classes);
}
std::string ToJson(const std::vector<std::string>& list) {
  return Dump(list);
}

absl::StatusOr<SandboxSpec> SandboxSpecFromJson(absl::string_view text) {
  return Parse<SandboxSpec>(text, "sandbox spec");
}
absl::StatusOr<ContainerSpec> ContainerSpecFromJson(absl::string_view text) {
  return Parse<ContainerSpec>(text, "container spec");
}
absl::StatusOr<linux::CgroupSettings> CgroupSettingsFromJson(absl::string_view text) {
  return Parse<linux::CgroupSettings>(text, "cgroup settings");
}
absl::StatusOr<LastResources> LastResourcesFromJson(absl::string_view text) {
  return Parse<LastResources>(text, "last resources");
}
absl::StatusOr<PodResources> PodResourcesFromJson(absl::string_view text) {
  return Parse<PodResources, UnknownKeys::kRefused>(text, "pod resources");
}
absl::StatusOr<ProcessUser> ProcessUserFromJson(absl::string_view text) {
  return Parse<ProcessUser>(text, "process user");
}
absl::StatusOr<qos::HeldClasses> HeldClassesFromJson(absl::string_view text) {
  return Parse<qos::HeldClasses>(text, "held classes");
}
absl::StatusOr<std::vector<std::string>> StringListFromJson(absl::string_view text) {
  return Parse<std::vector<std::string>>(text, "list");
}

}  // namespace plimsoll::runtime
