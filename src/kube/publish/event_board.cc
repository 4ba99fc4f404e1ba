#include "kube/publish/event_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "kube/publish/short_text.h"

namespace plimsoll::kube {
namespace {

// The API server's limits (ValidateEvent).
constexpr size_t kLongestNote = 1024;
constexpr size_t kLongestInstance = 128;
// The rest of a name of 253 characters holds a "." and digits as client-go's.
constexpr size_t kIdDigits = 16;
constexpr size_t kLongestName = 253 - 1 - kIdDigits;

// Reasons beyond the most are told under this one.
constexpr char kOtherReason[] = "NodeChanged";

std::string MicroTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

}  // namespace

void EventBoard::Fill(Place& place, SteadyTime now) {
  const absl::Duration passed = absl::FromChrono(now - place.filled);
  place.tokens = std::min<double>(
      kBurst, place.tokens + absl::FDivDuration(std::max(passed, absl::ZeroDuration()), kRefill));
  place.filled = now;
}

void EventBoard::Add(NodeEvent event, SteadyTime now, absl::Time time) {
  if (places_.size() >= kMostReasons - 1 && !places_.contains(event.reason)) {
    event.reason = kOtherReason;
  }
  const auto [at, is_new] = places_.try_emplace(event.reason);
  Place& place = at->second;
  if (is_new) place.filled = now;
  if (place.waiting) {
    place.waiting->event = std::move(event);
    ++place.waiting->count;
    place.waiting->last = time;
    return;
  }
  place.waiting = WaitingEvent{.event = std::move(event),
                               .id = RandomId().substr(0, kIdDigits),
                               .count = 1,
                               .first = time,
                               .last = time};
}

std::optional<WaitingEvent> EventBoard::Next(SteadyTime now) {
  const Place* oldest = nullptr;
  for (auto& [reason, place] : places_) {
    Fill(place, now);
    if (!place.waiting || place.tokens < 1) continue;
    if (oldest == nullptr || place.waiting->first < oldest->waiting->first) oldest = &place;
  }
  return oldest == nullptr ? std::nullopt : oldest->waiting;
}

void EventBoard::Written(const std::string& reason, SteadyTime now) {
  const auto at = places_.find(reason);
  if (at == places_.end()) return;
  Fill(at->second, now);
  at->second.waiting.reset();
  at->second.tokens = std::max(0.0, at->second.tokens - 1);
}

SteadyTime EventBoard::NextMoment() const {
  SteadyTime moment = kNever;
  for (const auto& [reason, place] : places_) {
    if (!place.waiting) continue;
    const absl::Duration wait = std::max(0.0, 1 - place.tokens) * kRefill;
    // A moment more: rounding must not leave the bucket short of a token.
    moment =
        std::min(moment, place.filled + absl::ToChronoNanoseconds(wait + absl::Milliseconds(1)));
  }
  return moment;
}

nlohmann::json EventObject(const WaitingEvent& event, const NodeIdentity& node) {
  std::string note = event.event.note;
  std::string more;
  if (event.count > 1) {
    more = absl::StrCat(" (the last of ", event.count, " such events since ",
                        absl::FormatTime("%H:%M:%S", event.first, absl::UTCTimeZone()), " UTC)");
  }
  note = absl::StrCat(ShortText(note, kLongestNote - more.size()), more);
  nlohmann::json object = {{"apiVersion", "events.k8s.io/v1"},
                           {"kind", "Event"},
                           {"eventTime", MicroTime(event.last)},
                           {"type", event.event.is_warning ? "Warning" : "Normal"},
                           {"reason", event.event.reason},
                           {"action", "Observed"},
                           {"note", note},
                           {"reportingController", "plimsoll.dev/plimsoll-kube"},
                           {"reportingInstance", node.name.substr(0, kLongestInstance)}};
  object["metadata"] = {{"namespace", "default"},
                        {"name", absl::StrCat(node.name.substr(0, kLongestName), ".", event.id)}};
  object["regarding"] = {
      {"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}};
  return object;
}

}  // namespace plimsoll::kube
