#include "resctrlfs/counters.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::resctrlfs {

void Counters::Set(GroupId group, int cache, const std::string& event, Reading reading) {
  readings_[{group, cache, event}] = reading;
}

void Counters::Forget(GroupId group) {
  std::erase_if(readings_, [&](const auto& entry) { return std::get<0>(entry.first) == group; });
}

std::string Counters::Show(const std::vector<GroupId>& groups, int cache,
                           const std::string& event) const {
  uint64_t sum = 0;
  bool any = false;
  Reading::Kind refusal = Reading::Kind::kValue;
  for (GroupId group : groups) {
    const auto found = readings_.find({group, cache, event});
    const Reading reading = found == readings_.end() ? Reading() : found->second;
    if (reading.kind == Reading::Kind::kValue) {
      any = true;
      sum += reading.value;
    } else {
      refusal = reading.kind;
    }
  }
  if (any) return absl::StrCat(sum, "\n");
  return refusal == Reading::Kind::kError ? "Error\n" : "Unavailable\n";
}

}  // namespace plimsoll::resctrlfs
