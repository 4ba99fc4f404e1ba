// A race beside a lock, which the preset `tsan` must find: the reports about locks must not hide
// it. Exits with 0 if nothing was found.
#include <thread>

#include "absl/synchronization/mutex.h"

int main() {
  absl::Mutex mutex;
  int guarded = 0;
  int unguarded = 0;
  std::thread other([&] {
    ++unguarded;
    const absl::MutexLock lock(&mutex);
    ++guarded;
  });
  ++unguarded;
  {
    const absl::MutexLock lock(&mutex);
    ++guarded;
  }
  other.join();
  return guarded + unguarded == 4 ? 0 : 1;
}
