// Names of CDI devices, and the container annotations that carry them (CDI specification "Kind",
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

// INVALID_ARGUMENT names the wrong part and its valid form.
absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view text);
absl::Status CheckKind(absl::string_view kind);
absl::Status CheckName(absl::string_view name);

// The devices that a container requests in annotations "cdi.k8s.io/<any name>": names separated by
// commas, in the order of the keys. INVALID_ARGUMENT names key and value.
absl::StatusOr<std::vector<std::string>> DevicesInAnnotations(
    const std::map<std::string, std::string>& annotations);

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_NAMES_H_
