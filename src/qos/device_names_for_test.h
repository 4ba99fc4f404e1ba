// Names that a cluster takes, written again for the tests and the fuzzer of class_devices.h.
#ifndef PLIMSOLL_QOS_DEVICE_NAMES_FOR_TEST_H_
#define PLIMSOLL_QOS_DEVICE_NAMES_FOR_TEST_H_

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "qos/class_devices.h"

namespace plimsoll::qos {

inline bool MatchesWord(absl::string_view text, size_t longest, absl::string_view signs) {
  const auto alnum = [](unsigned char c) { return absl::ascii_isalnum(c); };
  return !text.empty() && text.size() <= longest && alnum(text.front()) && alnum(text.back()) &&
         absl::c_all_of(text, [&](char c) { return alnum(c) || absl::StrContains(signs, c); });
}

inline bool HasCapitals(absl::string_view text) {
  return absl::c_any_of(text, [](unsigned char c) { return absl::ascii_isupper(c); });
}

inline bool IsDeviceName(absl::string_view name) {
  return MatchesWord(name, 63, "-") && !HasCapitals(name);
}

inline bool IsDeviceClassName(absl::string_view name) {
  const std::vector<absl::string_view> labels = absl::StrSplit(name, '.');
  return name.size() <= 63 && absl::c_all_of(labels, IsDeviceName);
}

inline bool IsExtendedResourceName(absl::string_view name) {
  return absl::ConsumePrefix(&name, "class.plimsoll.dev/") && MatchesWord(name, 63, "-_.");
}

inline bool IsClassCdiName(absl::string_view name) {
  const size_t equals = name.find('=');
  if (!absl::StartsWith(name, "classes.plimsoll.dev/") || equals == name.npos) return false;
  const absl::string_view type = name.substr(21, equals - 21);
  return MatchesWord(type, 63, "-_.") && absl::ascii_isalpha(static_cast<unsigned char>(type[0])) &&
         MatchesWord(name.substr(equals + 1), 253, "-_.:");
}

struct NameKind {
  const char* what;
  std::string (*name_of)(const ClassId& id);
  bool (*is_valid)(absl::string_view name);
};

inline constexpr NameKind kNameKinds[] = {
    {"device", DeviceName, IsDeviceName},
    {"DeviceClass", DeviceClassName, IsDeviceClassName},
    {"extended resource", ExtendedResourceName, IsExtendedResourceName},
    {"CDI device", CdiName, IsClassCdiName},
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_DEVICE_NAMES_FOR_TEST_H_
