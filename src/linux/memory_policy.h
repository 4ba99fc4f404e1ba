// NUMA memory policies: set_mempolicy(2).
#ifndef PLIMSOLL_LINUX_MEMORY_POLICY_H_
#define PLIMSOLL_LINUX_MEMORY_POLICY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// The arguments of set_mempolicy(2) as plimsoll-launch takes them: "MODE", or "MODE:WORD,WORD" with
// the mask of nodes in hexadecimal words of 64 bits, lowest first.
//
// `mode`: "MPOL_BIND"; `nodes`: the kernel's list format ("0-1,3"); `flags`: "MPOL_F_STATIC_NODES".
// Unless a flag says what nodes are relative to, they are the ones named, whatever cpuset the
// process enters later: the kernel renumbers nodes otherwise. INVALID_ARGUMENT names the mistake,
// FAILED_PRECONDITION nodes that the machine (host's sys/) doesn't have or that have no memory.
absl::StatusOr<std::string> EncodeMemoryPolicy(const FsRoot& host, absl::string_view mode,
                                               absl::string_view nodes,
                                               const std::vector<std::string>& flags);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_MEMORY_POLICY_H_
