// A topology that providers push, one provider at a time.
#ifndef PLIMSOLL_TOPOLOGY_SOURCE_PROVIDER_H_
#define PLIMSOLL_TOPOLOGY_SOURCE_PROVIDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "topology/kept_topology.h"
#include "topology/source.h"

namespace plimsoll::topology {

// The kernel's topology is used until a provider has pushed one, and again once the provider has
// been gone for `hold`. A keeper extends this over the daemon's end: the last topology is there
// again, and its provider counts as gone from the daemon's end on at the latest. Thread-safe.
class ProviderSource : public Source, public std::enable_shared_from_this<ProviderSource> {
 public:
  // Called with a sentence when a provider comes, goes, is refused, or has been gone for too long.
  // Runs on any thread, one call at a time; it must not call the source.
  using Tell = std::function<void(const std::string& what)>;
  static absl::StatusOr<std::shared_ptr<ProviderSource>> Make(
      absl::Duration hold, std::optional<TopologyKeeper> keeper = std::nullopt, Tell tell = {});
  // Discards the keeper's topology. False: it was not in use.
  bool ForgetKept() override;

  // A provider, from Connect to its end.
  class Session {
   public:
    explicit Session(std::shared_ptr<ProviderSource> source) : source_(std::move(source)) {}
    ~Session() { source_->Disconnect(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Errors as in CheckAgainst; the previous topology stays. OK: the tracker looks at once and
    // uses it if it can.
    absl::Status Push(Topology topology) { return source_->Take(std::move(topology)); }
    // The reason why the last pushed topology isn't applied (the partition, say, doesn't fit);
    // empty if nothing does. Waits for the tracker's look, for kMostWait at most.
    std::string AwaitOutcome() { return source_->AwaitOutcome(); }

   private:
    const std::shared_ptr<ProviderSource> source_;
  };
  static constexpr absl::Duration kMostWait = absl::Seconds(5);
  // FAILED_PRECONDITION while there is another provider. `name` is for people. A previous
  // provider's topology stays no longer than `hold` after that one's end, unless this one pushes
  // its own.
  absl::StatusOr<std::unique_ptr<Session>> Connect(std::string name);

  int fd() const override { return poke_.get(); }
  bool Heard() override;
  SourceView Look(const Machine& machine) override;
  void TakeOutcome(const std::string& hindrance) override;

 private:
  ProviderSource(absl::Duration hold, UniqueFd poke, std::optional<TopologyKeeper> keeper,
                 Tell tell);
  void TellOf(absl::string_view provider, absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Check(const Topology& topology);
  absl::Status Take(Topology topology);
  std::string AwaitOutcome();
  void Disconnect();
  void Keep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poke();

  const absl::Duration hold_;
  const UniqueFd poke_;  // eventfd
  const std::optional<TopologyKeeper> keeper_;
  const Tell tell_;
  absl::Mutex mutex_;
  std::optional<std::string> connected_ ABSL_GUARDED_BY(mutex_);
  std::string author_ ABSL_GUARDED_BY(mutex_);  // the topology's provider
  std::optional<Topology> topology_ ABSL_GUARDED_BY(mutex_);
  // When the topology's provider went.
  std::optional<absl::Time> gone_ ABSL_GUARDED_BY(mutex_);
  struct Kept {
    bool is_in_use = false;  // the topology is an earlier daemon's
    std::string fault;       // why the newest could not be written
  };
  Kept kept_ ABSL_GUARDED_BY(mutex_);
  // Pushes are counted from 1. 0: none yet.
  struct Pushes {
    int64_t taken = 0;
    int64_t looked_at = 0;
    int64_t decided = 0;
    std::string hindrance;  // of the decided one
  };
  Pushes pushes_ ABSL_GUARDED_BY(mutex_);
  // The machine at the last look.
  std::shared_ptr<const Machine> machine_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SOURCE_PROVIDER_H_
