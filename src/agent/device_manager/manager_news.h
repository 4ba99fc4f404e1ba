// Reports of a DeviceManager's threads to its user, one after another, from one thread.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_NEWS_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_NEWS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace plimsoll::agent {

// Thread-safe; never waits.
class ManagerNews {
 public:
  struct Event {
    std::string reason;
    std::string message;
  };
  struct News {
    bool changed = false;
    std::vector<Event> events;
    std::vector<std::string> lines;  // for the log
  };

  // Errors of eventfd.
  static absl::StatusOr<std::unique_ptr<ManagerNews>> Make();

  void Change();
  // Dropped beyond kMostEvents that nobody has taken.
  void Tell(std::string reason, std::string message);
  // Like Tell, for the log alone.
  void Note(std::string line);
  // Makes Heard true once more, without news.
  void Wake();

  // Polls readable until Heard is called.
  int fd() const { return event_.get(); }
  bool Heard();
  News Take();

 private:
  static constexpr size_t kMostEvents = 100;

  explicit ManagerNews(UniqueFd event) : event_(std::move(event)) {}

  const UniqueFd event_;  // eventfd
  absl::Mutex mutex_;
  News news_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_NEWS_H_
