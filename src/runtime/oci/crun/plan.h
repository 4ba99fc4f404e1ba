// Writer of the plan for plimsoll-monitor and plimsoll-launch: monitor/launch_plan.h and
// monitor/protocol.h define the keys.
#ifndef PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_
#define PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

class LaunchPlan {
 public:
  void Add(absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text_, key, "=", value, absl::string_view("\0", 1));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CRUN_PLAN_H_
