#include "streaming/input_queue.h"

#include <algorithm>
#include <utility>

namespace plimsoll::streaming {

void InputQueue::Add(absl::string_view data) {
  if (ended_ || dropped_ || data.empty()) return;
  bytes_ += data.size();
  pieces_.emplace_back(data);
  changed_.Notify();
}

void InputQueue::End() {
  ended_ = true;
  changed_.Notify();
}

void InputQueue::Drop() {
  dropped_ = true;
  pieces_.clear();
  bytes_ = 0;
  changed_.Notify();
}

asio::awaitable<std::string> InputQueue::Next() {
  while (pieces_.empty() && !ended_ && !dropped_) co_await changed_.Wait();
  if (pieces_.empty()) co_return std::string();
  std::string next = std::move(pieces_.front());
  pieces_.pop_front();
  co_return next;
}

void InputQueue::Passed(size_t bytes) {
  bytes_ -= std::min(bytes_, bytes);  // none are left after Drop
}

}  // namespace plimsoll::streaming
