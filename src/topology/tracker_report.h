// A tracker's answers: the partition in force, and the troubles that keep another from being so.
#ifndef PLIMSOLL_TOPOLOGY_TRACKER_REPORT_H_
#define PLIMSOLL_TOPOLOGY_TRACKER_REPORT_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "topology/partition.h"

namespace plimsoll::topology {

// The part of the configuration that is in force.
enum class InForce {
  kNothing,  // nothing could be read, or nothing fits: nothing is published, nobody is confined
  kPart,     // it never was all in force: the usable rest of the partition is enforced
  kAll,      // as configured, now or when it last fitted
};

// Thread-safe; its lock is held for moments and is the last of all.
class TrackerReport {
 public:
  void SetInForce(const Partition& partition, InForce in_force);
  Partition partition() const;
  InForce in_force() const;

  // Sentences of the machine: values that it doesn't tell.
  void SetMissing(std::vector<std::string> missing);
  // The statuses, each of which replaces the one before; OK: no trouble.
  void SetBlind(const absl::Status& status) { Set(&TrackerReport::blind_, status); }
  void SetMisfit(const absl::Status& status) { Set(&TrackerReport::misfit_, status); }
  void SetDeaf(const absl::Status& status) { Set(&TrackerReport::deaf_, status); }
  // Why clients can make no node of what they are told.
  void SetUnfit(const absl::Status& status);
  void SetSource(const absl::Status& status, std::string trouble);

  // A sentence for each trouble by which another partition is in force than the configured one, or
  // the topology is old. `is_told`: clients have a topology.
  std::vector<std::string> Misfits(bool is_told) const;
  // The misfits, or what clients will say of the topology in force; empty: all is well.
  std::string Outcome(bool is_told) const;
  // The misfits, and troubles that change nothing now.
  std::vector<std::string> Troubles(bool is_told) const;

 private:
  void Set(std::string TrackerReport::*trouble, const absl::Status& status);
  std::vector<std::string> MisfitsLocked(bool is_told) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string InForceSentence(bool is_told) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Partition partition_ ABSL_GUARDED_BY(mutex_);
  InForce in_force_ ABSL_GUARDED_BY(mutex_) = InForce::kNothing;
  std::vector<std::string> missing_ ABSL_GUARDED_BY(mutex_);
  std::string blind_ ABSL_GUARDED_BY(mutex_);   // why the last look saw nothing
  std::string misfit_ ABSL_GUARDED_BY(mutex_);  // why the topology it saw could not be taken
  std::string source_error_ ABSL_GUARDED_BY(mutex_);
  std::string source_trouble_ ABSL_GUARDED_BY(mutex_);
  std::string unfit_ ABSL_GUARDED_BY(mutex_);
  std::string deaf_ ABSL_GUARDED_BY(mutex_);  // why changes are seen late, or never
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_REPORT_H_
