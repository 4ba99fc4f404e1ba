// The groups that an agent has made, as a file that its next process reads.
#ifndef PLIMSOLL_AGENT_GROUPS_GROUP_RECORDS_H_
#define PLIMSOLL_AGENT_GROUPS_GROUP_RECORDS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

struct GroupRecord {
  std::string group;  // path of linux::CgroupManager
  resources::QosClass qos = resources::QosClass::kBestEffort;
  int64_t cpu_request_milli = 0;  // see PodAmounts
  bool operator==(const GroupRecord&) const = default;
};

struct GroupRecords {
  std::set<std::string> parents;            // of kubepods and the QoS classes
  std::map<std::string, GroupRecord> pods;  // by uid
  bool operator==(const GroupRecords&) const = default;
};

// Empty if there is no file, or one of another boot: groups end with the machine. INTERNAL for a
// file that Save didn't write, with its path.
absl::StatusOr<GroupRecords> LoadGroupRecords(const FsRoot& state, const std::string& boot_id);
// Replaces the file at once. It need not survive a power cut, and isn't synced.
absl::Status SaveGroupRecords(const FsRoot& state, const std::string& boot_id,
                              const GroupRecords& records);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_GROUP_RECORDS_H_
