// kubelet's Pods and PodResources services on sockets of a directory, well-behaved or not. Answers
// as kubelet 1.36 does: NOT_FOUND for an unknown pod, RESOURCE_EXHAUSTED beyond its limit of calls.
//
//   FakeKubelet kubelet(dir.path());
//   kubelet.SetPod(pod);
//   kubelet.Behave(FakeKubelet::kPods, {.delay = absl::Milliseconds(20)});
#ifndef PLIMSOLL_TESTS_HARNESS_FAKE_KUBELET_H_
#define PLIMSOLL_TESTS_HARNESS_FAKE_KUBELET_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "k8s.io/api/core/v1/generated.pb.h"
#include "kubelet/podresources/v1/api.pb.h"

namespace plimsoll::testing {

// Thread-safe but for Start, Stop and Replace.
class FakeKubelet {
 public:
  enum Service { kPods, kPodResources };

  // How a service answers.
  struct Manner {
    absl::Duration delay;                    // before each answer; infinite: silent
    grpc::Status status = grpc::Status::OK;  // instead of each answer
    int calls_a_second = 0;                  // 0: no limit; kubelet's is 100
    int burst = 10;                          // of the limit
  };

  // Servers that don't speak the protocol to its end.
  enum class Rude {
    kCut,      // ends each connection after its first bytes
    kGarbage,  // sends another protocol's bytes
    kFlood,    // sends frames without end
    kMute,     // accepts and never sends
    kDeaf,     // doesn't accept
  };

  // Both services, at <root>/pods-api/pods-api.sock and <root>/pod-resources/kubelet.sock.
  explicit FakeKubelet(const std::string& root);
  ~FakeKubelet();
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;

  const std::string& root() const { return root_; }
  std::string SocketOf(Service service) const;

  // The pod of its metadata's uid.
  void SetPod(const ::k8s::io::api::core::v1::Pod& pod);
  // Any bytes as the pod of a uid.
  void SetPodBytes(const std::string& uid, const std::string& bytes);
  void RemovePod(const std::string& uid);
  // The grants of its name and namespace.
  void SetGrants(const ::v1::PodResources& grants);
  // An answer for a name and namespace, whatever it says.
  void SetGrantsAnswer(const std::string& pod_namespace, const std::string& name,
                       const ::v1::GetPodResourcesResponse& answer);

  // The devices of GetAllocatableResources; none at first.
  void SetDevices(const ::v1::AllocatableResourcesResponse& devices);

  void Behave(Service service, Manner manner);
  // Calls so far, refused ones included.
  int calls(Service service) const;

  // The service's socket goes and its connections end, as with kubelet, or without the feature
  // gate.
  void Stop(Service service);
  void Start(Service service);
  // Stops it, and a rude server is in its place until Stop.
  void Replace(Service service, Rude rude);

 private:
  struct State;
  class Pods;
  class PodResources;
  class RudeServer;
  struct Place {
    std::unique_ptr<grpc::Service> handler;
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<RudeServer> rude;
  };

  const std::string root_;
  const std::unique_ptr<State> state_;
  Place places_[2];
};

// A kubelet's root and its sockets, constructed before the node that gets the path.
struct KubeletRoot {
  TestDir directory;
  FakeKubelet kubelet{directory.path()};
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_FAKE_KUBELET_H_
