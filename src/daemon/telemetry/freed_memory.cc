#include "daemon/telemetry/freed_memory.h"

#include <malloc.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll::daemon {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(300);
constexpr absl::Duration kLongest = absl::Seconds(10);  // the longest wait for a pause

}  // namespace

FreedMemory::FreedMemory() : thread_([this] { Loop(); }) {}

FreedMemory::~FreedMemory() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void FreedMemory::Note() {
  const absl::MutexLock lock(&mutex_);
  noted_ = true;
}

// False: the thread is to end.
bool FreedMemory::AwaitNote() {
  const absl::MutexLock lock(&mutex_);
  const auto awaited = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return noted_ || stopping_; };
  mutex_.Await(absl::Condition(&awaited));
  return !stopping_;
}

void FreedMemory::AwaitPause() {
  const absl::Time end = absl::Now() + kLongest;
  const absl::MutexLock lock(&mutex_);
  const auto awaited = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return noted_ || stopping_; };
  do {
    noted_ = false;
  } while (mutex_.AwaitWithTimeout(absl::Condition(&awaited), kPause) && !stopping_ &&
           absl::Now() < end);
}

void FreedMemory::Loop() {
  while (AwaitNote()) {
    AwaitPause();
    malloc_trim(0);
  }
}

}  // namespace plimsoll::daemon
