// Ranges of the host's user ids for pods with a user namespace of their own (`hostUsers: false`).
// No two pods share a range. kubelet does this for its pods.
#ifndef PLIMSOLL_POD_RUNNER_USER_IDS_H_
#define PLIMSOLL_POD_RUNNER_USER_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

// The ranges go from here to 2^31, above the ids of useradd (login.defs(5)) and systemd.
inline constexpr uint32_t kFirstPodId = 0x70000000;
inline constexpr uint32_t kPodIdRanges = (0x80000000u - kFirstPodId) / kIdsOfAPod;

struct IdRange {
  uint64_t first = 0;  // an id of the host
  uint64_t count = 0;
};

// The first id of a range that overlaps none of `taken`. The search begins at range number `from`,
// below kPodIdRanges, and wraps around. RESOURCE_EXHAUSTED: no range is free.
absl::StatusOr<uint32_t> FreeIds(const std::vector<IdRange>& taken, uint32_t from);

// The ranges of all pods of the daemon, of users and groups.
absl::StatusOr<std::vector<IdRange>> TakenIds(Client& client);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_USER_IDS_H_
