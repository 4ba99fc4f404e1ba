#include "daemon/held_news.h"

#include <utility>

namespace plimsoll::daemon {

void HeldNews::Tell() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    kept_ = listener_ == nullptr;
    listener = listener_;
  }
  if (listener != nullptr) listener();
}

void HeldNews::Listen(std::function<void()> listener) {
  bool kept = false;
  {
    absl::MutexLock lock(&mutex_);
    listener_ = listener;
    kept = std::exchange(kept_, false);
  }
  if (kept) listener();
}

}  // namespace plimsoll::daemon
