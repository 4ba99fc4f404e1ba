// Feature gates: kubelet's names and syntax for switching a proposal off.
#ifndef PLIMSOLL_SERVICE_FEATURE_GATES_H_
#define PLIMSOLL_SERVICE_FEATURE_GATES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

class FeatureGates {
 public:
  // Every gate with its default.
  FeatureGates();

  // "ClassResources=true,NodeResourceHotPlug=false"; spaces around names and values are allowed,
  // empty text changes nothing. INVALID_ARGUMENT names the fault and the valid values; then no gate
  // is changed.
  absl::Status Set(absl::string_view text);
  // `name` must be a gate's.
  bool enabled(const std::string& name) const { return gates_.at(name); }
  const std::map<std::string, bool>& all() const { return gates_; }

  bool operator==(const FeatureGates&) const = default;

 private:
  std::map<std::string, bool> gates_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_FEATURE_GATES_H_
