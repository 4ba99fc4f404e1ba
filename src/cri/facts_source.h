// The questions to kubelet's sockets as the services see them; the daemon wires in the client
// (kubelet/kubelet.h).
#ifndef PLIMSOLL_CRI_FACTS_SOURCE_H_
#define PLIMSOLL_CRI_FACTS_SOURCE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::cri {

// Both null: nothing is asked. Thread-safe.
struct FactsSource {
  using Answer = absl::StatusOr<runtime::PodFacts>;
  // Blocks for a bounded moment (100 ms by default). Any error: kubelet reports nothing.
  std::function<Answer(const runtime::PodIdentity& pod)> ask;
  // Doesn't block. Calls `done` once within that moment, from any thread, even this one.
  std::function<void(const runtime::PodIdentity& pod, std::function<void(Answer)> done)> ask_later;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_FACTS_SOURCE_H_
