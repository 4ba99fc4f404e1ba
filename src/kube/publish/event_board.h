// Events of a node that wait to be written, at a bounded rate.
//
//   board.Add({.reason = "TopologyChanged", .note = "CPUs 4-7 came"}, now, absl::Now());
//   while (const auto event = board.Next(now)) {
//     if (!Write(*event).ok()) break;
//     board.Written(event->reason, now);
//   }
#ifndef PLIMSOLL_KUBE_PUBLISH_EVENT_BOARD_H_
#define PLIMSOLL_KUBE_PUBLISH_EVENT_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/steady_time.h"
#include "kube/publish/topology_object.h"

namespace plimsoll::kube {

struct NodeEvent {
  std::string reason;  // in CamelCase
  bool is_warning = false;
  std::string note;
};

// The newest event of a reason, for all of this reason that wait.
struct WaitingEvent {
  NodeEvent event;
  std::string id;  // the same at each attempt to write it, so that it is written once
  uint64_t count = 1;
  absl::Time first;
  absl::Time last;
};

// Each reason has a bucket of tokens; an event without a token waits and counts up. Not
// thread-safe.
class EventBoard {
 public:
  static constexpr int kBurst = 3;
  static constexpr absl::Duration kRefill = absl::Minutes(5);  // for a further token
  // Further reasons share the last place.
  static constexpr size_t kMostReasons = 32;

  void Add(NodeEvent event, SteadyTime now, absl::Time time);
  // One that may be written now, the same until it is written.
  std::optional<WaitingEvent> Next(SteadyTime now);
  void Written(const std::string& reason, SteadyTime now);
  // The moment at which an event that waits has a token; kNever: none waits.
  SteadyTime NextMoment() const;

 private:
  struct Place {
    double tokens = kBurst;
    SteadyTime filled;  // when the tokens were counted
    std::optional<WaitingEvent> waiting;
  };
  static void Fill(Place& place, SteadyTime now);

  std::map<std::string, Place> places_;
};

// An Event of events.k8s.io/v1 in namespace "default", where those of Nodes are.
inline constexpr char kEventsPath[] = "/apis/events.k8s.io/v1/namespaces/default/events";
nlohmann::json EventObject(const WaitingEvent& event, const NodeIdentity& node);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_EVENT_BOARD_H_
