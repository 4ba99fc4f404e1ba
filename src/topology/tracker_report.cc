#include "topology/tracker_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::topology {

void TrackerReport::SetInForce(const Partition& partition, InForce in_force) {
  absl::MutexLock lock(&mutex_);
  partition_ = partition;
  in_force_ = in_force;
}

Partition TrackerReport::partition() const {
  absl::MutexLock lock(&mutex_);
  return partition_;
}

InForce TrackerReport::in_force() const {
  absl::MutexLock lock(&mutex_);
  return in_force_;
}

void TrackerReport::SetMissing(std::vector<std::string> missing) {
  absl::MutexLock lock(&mutex_);
  missing_ = std::move(missing);
}

void TrackerReport::SetSource(const absl::Status& status, std::string trouble) {
  absl::MutexLock lock(&mutex_);
  source_error_ = std::string(status.message());
  source_trouble_ = std::move(trouble);
}

void TrackerReport::Set(std::string TrackerReport::*trouble, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  this->*trouble = std::string(status.message());
}

std::vector<std::string> TrackerReport::Misfits(bool is_told) const {
  absl::MutexLock lock(&mutex_);
  return MisfitsLocked(is_told);
}

std::vector<std::string> TrackerReport::MisfitsLocked(bool is_told) const {
  std::vector<std::string> misfits;
  for (const std::string* trouble : {&blind_, &source_error_, &misfit_}) {
    if (trouble->empty()) continue;
    misfits.push_back(absl::StrCat(*trouble, "; ", InForceSentence(is_told)));
  }
  return misfits;
}

std::string TrackerReport::Outcome(bool is_told) const {
  absl::MutexLock lock(&mutex_);
  const std::vector<std::string> misfits = MisfitsLocked(is_told);
  return misfits.empty() ? unfit_ : absl::StrJoin(misfits, "; ");
}

void TrackerReport::SetUnfit(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  unfit_ = status.ok() ? ""
                       : absl::StrCat(
                             "clients are told a topology of which kubelet and its like "
                             "make no node: ",
                             status.message());
}

std::string TrackerReport::InForceSentence(bool is_told) const {
  switch (in_force_) {
    case InForce::kAll:
      return "the previous configuration stays in force";
    case InForce::kPart:
      return absl::StrCat(is_told ? "" : "nothing is reported to clients yet; ",
                          "pods have the remaining CPUs ", partition_.cpus.ToString());
    case InForce::kNothing:
      break;
  }
  return "nothing is reported to clients yet, and no pod is confined to its part of the node";
}

std::vector<std::string> TrackerReport::Troubles(bool is_told) const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> misfits = MisfitsLocked(is_told);
  std::vector<std::string> troubles = missing_;
  std::move(misfits.begin(), misfits.end(), std::back_inserter(troubles));
  for (const std::string* each : {&source_trouble_, &unfit_, &deaf_}) {
    if (!each->empty()) troubles.push_back(*each);
  }
  return troubles;
}

}  // namespace plimsoll::topology
