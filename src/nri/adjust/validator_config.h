// Settings of Plimsoll's own validator.
#ifndef PLIMSOLL_NRI_ADJUST_VALIDATOR_CONFIG_H_
#define PLIMSOLL_NRI_ADJUST_VALIDATOR_CONFIG_H_

#include <string>
#include <vector>

namespace plimsoll::nri {

// Plimsoll's own validator of what plugins change. Switches, names and annotations are as in other
// runtimes' default validator.
struct ValidatorConfig {
  bool reject_oci_hooks = false;
  bool reject_runtime_default_seccomp = false;  // a change of the profile RuntimeDefault
  bool reject_unconfined_seccomp = false;
  bool reject_custom_seccomp = false;
  bool reject_namespaces = false;
  bool reject_sysctls = false;
  // Containers are refused unless these plugins have seen them; each is named "10-name" or "name".
  // The pod's annotation required-plugins.noderesource.dev adds others.
  std::vector<std::string> required_plugins;
  // Annotation of a pod that lifts the requirement if its value is "true"; empty: none.
  std::string tolerate_missing_annotation;
  bool operator==(const ValidatorConfig&) const = default;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_VALIDATOR_CONFIG_H_
