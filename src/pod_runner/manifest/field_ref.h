// References to the pod's own fields and to its containers' resources, in variables and in files.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_FIELD_REF_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_FIELD_REF_H_

#include <string>

#include "resources/quantity.h"

namespace plimsoll::pod {

// A container's request or limit as a whole number (v1 ResourceFieldSelector).
struct ResourceField {
  std::string container;  // empty: the container whose variable this is
  std::string resource;   // "limits.cpu", "requests.hugepages-2Mi"
  resources::Quantity divisor = resources::Quantity::FromInt(1);  // above 0
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_FIELD_REF_H_
