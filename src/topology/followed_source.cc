#include "topology/followed_source.h"

#include <utility>

namespace plimsoll::topology {

FollowedSource::FollowedSource(std::shared_ptr<Source> source) : source_(std::move(source)) {
  if (source_ != nullptr) status_ = absl::UnavailableError("not read yet");
}

FollowedSource::Look FollowedSource::LookAt(const Machine& machine) {
  if (source_ == nullptr) return {};
  SourceView view = source_->Look(machine);
  again_ = view.again;
  status_ = view.status;
  const bool changed = status_.ok() && view.topology != told_;
  if (changed) told_ = std::move(view.topology);
  return {status_, std::move(view.trouble), changed};
}

}  // namespace plimsoll::topology
