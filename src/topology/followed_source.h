// The topology that a source other than the kernel provides, as it was looked at last.
#ifndef PLIMSOLL_TOPOLOGY_FOLLOWED_SOURCE_H_
#define PLIMSOLL_TOPOLOGY_FOLLOWED_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "topology/machine/machine.h"
#include "topology/source.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// For one thread.
class FollowedSource {
 public:
  // Null: the kernel's topology is followed, and this has none.
  explicit FollowedSource(std::shared_ptr<Source> source);

  struct Look {
    absl::Status status;
    std::string trouble;   // of a topology that can be used
    bool changed = false;  // the topology is another than before
  };
  // Asks the source, which holds its topology against the machine.
  Look LookAt(const Machine& machine);

  bool is_configured() const { return source_ != nullptr; }
  // The last topology that could be used; nullopt: none yet.
  const std::optional<Topology>& told() const { return told_; }
  // The status of the last look; OK without a source, UNAVAILABLE before the first.
  const absl::Status& status() const { return status_; }
  // When the source wants the next look at the latest.
  absl::Time again() const { return again_; }
  // Nothing has been told yet, and the source has nothing that can be used.
  bool HasNothing() const { return !told_ && !status_.ok(); }
  // See Source.
  void TellOutcome(const std::string& hindrance) {
    if (source_ != nullptr) source_->TakeOutcome(hindrance);
  }
  bool ForgetKept() { return source_ != nullptr && source_->ForgetKept(); }

 private:
  const std::shared_ptr<Source> source_;
  std::optional<Topology> told_;
  absl::Status status_;
  absl::Time again_ = absl::InfiniteFuture();
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_FOLLOWED_SOURCE_H_
