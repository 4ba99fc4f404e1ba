// kubelet's local sockets (KEP-4112 for a client that passes nothing down): which resources a pod
// asks for, and which devices, CPUs and memory it was given.
//
//   kubelet::Options options{.root = "/var/lib/kubelet"};
//   const std::unique_ptr<kubelet::Kubelet> kubelet = kubelet::Kubelet::Make(options);
//   PLIMSOLL_ASSIGN_OR_RETURN(runtime::PodFacts facts, kubelet->Ask(pod));
#ifndef PLIMSOLL_KUBELET_KUBELET_H_
#define PLIMSOLL_KUBELET_KUBELET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

struct Options {
  std::string root = "/var/lib/kubelet";
  absl::Duration patience = absl::Milliseconds(100);  // for both sockets together
  // Questions under way at once; a further one is answered at once, as if kubelet were silent.
  int most_questions = 32;
};

// All that kubelet has given out on the node.
struct Grants {
  struct Devices {
    std::string resource;
    std::vector<uint32_t> numa_nodes;
    uint64_t count = 0;
  };
  std::string exclusive_cpus;  // kernel's list format
  std::vector<runtime::PinnedMemory> memory;
  std::vector<Devices> devices;
  // All devices of device plugins, given out or not. Empty: there are none, or kubelet doesn't
  // tell.
  std::vector<Devices> device_totals;
};

// Thread-safe. Holds no thread while nothing is asked, and three connections at most. The end waits
// for the questions under way.
class Kubelet {
 public:
  static std::unique_ptr<Kubelet> Make(Options options);
  virtual ~Kubelet() = default;

  // Blocks for `patience` at most. UNAVAILABLE: neither socket told anything; the message says why
  // of each. DEADLINE_EXCEEDED: the same, and one had no answer in time. RESOURCE_EXHAUSTED: there
  // are `most_questions`. Whatever a kubelet does, this returns in time with bounded memory.
  virtual absl::StatusOr<runtime::PodFacts> Ask(const runtime::PodIdentity& pod) = 0;
  // The same without waiting: `done` is called once, from a thread that awaits all answers or,
  // where nothing can be asked, from the caller's. It must be quick.
  using Done = std::function<void(absl::StatusOr<runtime::PodFacts>)>;
  virtual void AskLater(const runtime::PodIdentity& pod, Done done) = 0;
  // Sum over all pods. Blocks as Ask does. UNAVAILABLE: no kubelet reports it.
  virtual absl::StatusOr<Grants> AskGrants() = 0;
};

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_KUBELET_H_
