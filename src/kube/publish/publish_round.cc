#include "kube/publish/publish_round.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "kube/publish/node_publications.h"
#include "kube/publish/topology_publication.h"

namespace plimsoll::kube {
namespace {

RoundOptions WithLog(RoundOptions options) {
  if (!options.note) options.note = [](const std::string&) {};
  if (!options.warn) options.warn = [](const std::string&) {};
  return options;
}

// Up to a fifth less, so that the programs of many nodes don't read in step.
absl::Duration SomewhatLess(absl::Duration wait, const std::function<double()>& jitter) {
  absl::BitGen random;
  const double part = jitter ? jitter() : absl::Uniform(random, 0.0, 1.0);
  return wait * (0.8 + 0.2 * part);
}

}  // namespace

PublishRound::PublishRound(ApiClient& client, const std::string& node_name, RoundOptions options)
    : options_(WithLog(std::move(options))), node_(client, node_name), node_pace_(options_.pace) {
  const PublishOptions& publish = options_.publish;
  auto events = std::make_unique<EventPublication>(client, publish.events);
  events_ = events.get();
  AddLane(std::make_unique<MetadataPublication>(publish, options_.warn));
  AddLane(std::make_unique<ConditionPublication>(publish.conditions));
  AddLane(std::make_unique<TopologyPublication>(client, publish, options_.warn));
  AddLane(std::move(events));
}

void PublishRound::AddLane(std::unique_ptr<Publication> publication) {
  lanes_.push_back({.publication = std::move(publication), .pace = Pace(options_.pace)});
}

void PublishRound::Take(std::shared_ptr<const NodeReport> report, SteadyTime now) {
  desired_.Take(std::move(report), now);
}

absl::StatusOr<SteadyTime> PublishRound::Run(const Moment& at) {
  if (!desired_.IsKnown(at.now)) return NextMoment(at);
  PLIMSOLL_ASSIGN_OR_RETURN(bool is_known, KnowNode(at));
  events_->Notice(desired_, node_, at);
  for (Lane& lane : lanes_) {
    // A lane may find that the Node was removed: then the next waits for a new reading.
    if (!node_.is_known() || !is_known) break;
    if (lane.pace.IsDue(at.now)) PLIMSOLL_RETURN_IF_ERROR(RunLane(lane, at));
  }
  return NextMoment(at);
}

absl::StatusOr<bool> PublishRound::KnowNode(const Moment& at) {
  const bool is_old = at.now >= look_at_;
  if (node_.is_known() && !is_old) return true;
  if (!node_pace_.IsDue(at.now)) return false;
  const absl::Status status = node_.Read();
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) {
    Tell(status, "the Node is not read", node_pace_.Failed(status, at.now), node_told_);
    return false;
  }
  node_pace_.Looked();
  Tell(status, "the Node is read again", absl::ZeroDuration(), node_told_);
  look_at_ =
      at.now + absl::ToChronoNanoseconds(SomewhatLess(options_.look_again, options_.pace.jitter));
  if (is_old) {
    for (Lane& lane : lanes_) lane.publication->Forget();
  }
  return true;
}

absl::Status PublishRound::RunLane(Lane& lane, const Moment& at) {
  const absl::StatusOr<bool> wrote = lane.publication->Publish(desired_, node_, at);
  if (absl::IsCancelled(wrote.status())) return wrote.status();
  absl::Duration wait;
  if (!wrote.ok()) {
    wait = lane.pace.Failed(wrote.status(), at.now);
  } else if (*wrote) {
    lane.pace.Wrote(at.now);
  } else {
    lane.pace.Looked();
  }
  const absl::string_view name = lane.publication->name();
  Tell(wrote.status(),
       wrote.ok() ? absl::StrCat(name, ": published again") : absl::StrCat(name, ": not published"),
       wait, lane.told);
  return absl::OkStatus();
}

void PublishRound::Tell(const absl::Status& status, absl::string_view what, absl::Duration wait,
                        absl::StatusCode& told) {
  if (status.code() == std::exchange(told, status.code())) return;
  if (status.ok()) {
    options_.note(std::string(what));
    return;
  }
  options_.warn(absl::StrCat(what, ": ", Printable(status.message()), "; tried again in ",
                             absl::FormatDuration(absl::Trunc(wait, absl::Milliseconds(100)))));
}

SteadyTime PublishRound::NextMoment(const Moment& at) const {
  SteadyTime next = kNever;
  const auto not_before = [&](SteadyTime moment) {
    if (moment > at.now) next = std::min(next, moment);
  };
  not_before(desired_.silent_from());
  if (!desired_.IsKnown(at.now)) return next;
  not_before(node_pace_.next());
  if (!node_.is_known()) return next == kNever ? at.now : next;
  not_before(look_at_);
  not_before(std::max(events_->NextMoment(), lanes_.back().pace.next()));
  for (const Lane& lane : lanes_) not_before(lane.pace.next());
  return next;
}

}  // namespace plimsoll::kube
