// The part of check.h about memory, huge pages and swap.
#ifndef PLIMSOLL_KUBELET_CONFIG_CHECK_MEMORY_H_
#define PLIMSOLL_KUBELET_CONFIG_CHECK_MEMORY_H_

#include <vector>

#include "kubelet/config/check.h"

namespace plimsoll::kubelet {

// Adds its findings.
void CheckMemory(const Configuration& configuration, const KubeletShare& share,
                 std::vector<KubeletFinding>* findings);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_CHECK_MEMORY_H_
