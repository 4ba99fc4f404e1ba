// Ids for pods with a user namespace of their own (`hostUsers: false`): each has a range of the
// host's that no other pod has. What kubelet does for its pods.
#ifndef PLIMSOLL_POD_USER_IDS_H_
#define PLIMSOLL_POD_USER_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pod/client.h"

namespace plimsoll::pod {

inline constexpr uint32_t kIdsOfAPod = 65536;
// From here on: above what useradd (login.defs(5)) and systemd give away, up to 2^31.
inline constexpr uint32_t kFirstPodId = 0x70000000;
inline constexpr uint32_t kPodIdRanges = (0x80000000u - kFirstPodId) / kIdsOfAPod;

struct IdRange {
  uint64_t first = 0;  // the host's
  uint64_t count = 0;
};

// The first id of a range that touches none of `taken`; looked for from number `from` on, less than
// kPodIdRanges, and around. RESOURCE_EXHAUSTED: there is none.
absl::StatusOr<uint32_t> FreeIds(const std::vector<IdRange>& taken, uint32_t from);

// Of all pods that the daemon has, users' and groups'.
absl::StatusOr<std::vector<IdRange>> TakenIds(Client& client);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_USER_IDS_H_
