// Limit of a command's open file descriptors.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_DESCRIPTOR_LIMIT_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_DESCRIPTOR_LIMIT_H_

#include <cstdint>

namespace plimsoll::runtime {

// RLIMIT_NOFILE.
struct DescriptorLimit {
  uint64_t soft = 0;
  uint64_t hard = 0;
  bool operator==(const DescriptorLimit&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_DESCRIPTOR_LIMIT_H_
