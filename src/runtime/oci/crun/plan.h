// Writer of the plan for plimsoll-monitor and plimsoll-launch: monitor/launch_plan.h and
// monitor/protocol.h define the keys.
#ifndef PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_
#define PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

class PlanWriter {
 public:
  void Add(absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text_, key, "=", value, absl::string_view("\0", 1));
  }
  // Adds a volume: the detached mount `tree`, with the ids of `map` unless that is empty. `path` is
  // for messages.
  void AddVolume(absl::string_view name, UniqueFd tree, absl::string_view path,
                 absl::string_view map) {
    Add("volume", name);
    Add("source", path);
    if (!map.empty()) Add("map", map);
    trees_.push_back(std::move(tree));
  }
  const std::string& text() const { return text_; }
  // The trees of volumes with a `source`, in the order of the text.
  std::vector<UniqueFd> TakeTrees() { return std::exchange(trees_, {}); }

 private:
  std::string text_;
  std::vector<UniqueFd> trees_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_
