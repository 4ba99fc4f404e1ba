#include "pod_runner/user_ids.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::pod {

absl::StatusOr<uint32_t> FreeIds(const std::vector<IdRange>& taken, uint32_t from) {
  for (uint32_t i = 0; i < kPodIdRanges; ++i) {
    const uint32_t first = kFirstPodId + (from + i) % kPodIdRanges * kIdsOfAPod;
    const bool is_free = absl::c_none_of(taken, [first](const IdRange& range) {
      return range.first < uint64_t{first} + kIdsOfAPod && first < range.first + range.count;
    });
    if (is_free) return first;
  }
  return absl::ResourceExhaustedError(absl::StrCat("hostUsers: all ", kPodIdRanges,
                                                   " ranges of user ids from ", kFirstPodId,
                                                   " on are other pods'; remove ended pods"));
}

absl::StatusOr<std::vector<IdRange>> TakenIds(Client& client) {
  std::vector<IdRange> taken;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<cri::PodSandbox> pods, client.ListPodSandboxes());
  for (const cri::PodSandbox& pod : pods) {
    const absl::StatusOr<cri::PodSandboxStatusResponse> response =
        client.PodSandboxStatus(pod.id());
    if (absl::IsNotFound(response.status())) continue;  // removed meanwhile
    PLIMSOLL_RETURN_IF_ERROR(response.status());
    const cri::UserNamespace& user =
        response->status().linux().namespaces().options().userns_options();
    for (const auto* mappings : {&user.uids(), &user.gids()}) {
      for (const cri::IDMapping& mapping : *mappings) {
        taken.push_back({mapping.host_id(), mapping.length()});
      }
    }
  }
  return taken;
}

}  // namespace plimsoll::pod
