// Lasting troubles for the log.
#ifndef PLIMSOLL_KUBE_DRIVER_TROUBLES_H_
#define PLIMSOLL_KUBE_DRIVER_TROUBLES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::kube {

// Reports each trouble once, until it changes or has passed. Thread-safe.
class Troubles {
 public:
  using Write = std::function<void(const std::string&)>;
  Troubles(Write warn, Write note) : warn_(std::move(warn)), note_(std::move(note)) {}

  // The state of `what` ("ResourceSlices") after an attempt.
  void Tell(const std::string& what, const absl::Status& status) {
    {
      const absl::MutexLock lock(&mutex_);
      std::string& known = told_[what];
      if (known == status.message()) return;
      known = std::string(status.message());
    }
    if (status.ok()) {
      note_(absl::StrCat(what, ": in order again"));
    } else {
      warn_(absl::StrCat(what, ": ", status.message()));
    }
  }

 private:
  const Write warn_;
  const Write note_;
  absl::Mutex mutex_;
  std::map<std::string, std::string> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_TROUBLES_H_
