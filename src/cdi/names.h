// Names of CDI devices, and where containers' annotations carry them (CDI specification "Kind",
// "CDI Devices"; "vendor.com/class=name").
#ifndef PLIMSOLL_CDI_NAMES_H_
#define PLIMSOLL_CDI_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cdi {

struct DeviceName {
  std::string kind;  // "vendor.com/class"
  std::string name;
};

// INVALID_ARGUMENT says which part is wrong and what it must be made of.
absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view text);
absl::Status CheckKind(absl::string_view kind);
absl::Status CheckName(absl::string_view name);

// For messages, which text from outside must not fill: 80 bytes at most and "..." for the rest, cut
// between the characters of UTF-8.
std::string Shorten(absl::string_view text);

// The devices that a container's annotations "cdi.k8s.io/<any name>" ask for: names separated by
// commas, in the order of the keys. INVALID_ARGUMENT names key and value.
absl::StatusOr<std::vector<std::string>> DevicesInAnnotations(
    const std::map<std::string, std::string>& annotations);

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_NAMES_H_
