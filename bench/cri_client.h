// A CRI client that times its calls.
#ifndef PLIMSOLL_BENCH_CRI_CLIENT_H_
#define PLIMSOLL_BENCH_CRI_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::bench {

namespace cri = ::runtime::v1;

// gRPC's codes are Abseil's.
absl::Status ToStatus(const grpc::Status& status, absl::string_view what);

struct Sandbox {
  std::string id;
  cri::PodSandboxConfig config;
};

// Makes pods, of the host's network unless another is asked for. Thread-safe.
class CriClient {
 public:
  // `log_directory` holds a directory for each pod.
  CriClient(const std::shared_ptr<grpc::Channel>& channel, std::string image,
            std::string log_directory, std::string cgroup_parent)
      : stub_(cri::RuntimeService::NewStub(channel)),
        image_(std::move(image)),
        log_directory_(std::move(log_directory)),
        cgroup_parent_(std::move(cgroup_parent)) {}

  // Gives pods a network namespace of their own from now on, instead of the host's. Not while other
  // calls run.
  void GivePodsANetwork() { network_ = cri::POD; }

  // Each call adds its duration, until the answer is there, to `*took`.
  absl::StatusOr<Sandbox> RunSandbox(const std::string& name, absl::Duration* took);
  absl::StatusOr<std::string> Create(const Sandbox& sandbox, const std::string& name,
                                     const std::vector<std::string>& command,
                                     cri::SecurityProfile::ProfileType seccomp,
                                     absl::Duration* took);
  absl::Status Start(const std::string& container, absl::Duration* took);
  absl::Status Exec(const std::string& container, const std::vector<std::string>& command,
                    absl::Duration* took);
  absl::Status Update(const std::string& container, const cri::LinuxContainerResources& resources,
                      absl::Duration* took);
  absl::Status StopContainer(const std::string& container, absl::Duration* took);
  absl::Status RemoveContainer(const std::string& container, absl::Duration* took);
  // StopPodSandbox and RemovePodSandbox.
  absl::Status RemoveSandbox(const std::string& sandbox, absl::Duration* took);
  // Lists of everything; each returns the number of entries.
  absl::StatusOr<int> List(absl::Duration* took);  // containers
  absl::StatusOr<int> ListSandboxes(absl::Duration* took);
  absl::StatusOr<int> ListContainerStats(absl::Duration* took);
  absl::StatusOr<int> ListSandboxStats(absl::Duration* took);
  absl::StatusOr<cri::ContainerStatus> Status(const std::string& container);
  const std::string& log_directory() const { return log_directory_; }
  cri::RuntimeService::Stub& stub() { return *stub_; }

 private:
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (cri::RuntimeService::Stub::*call)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                    absl::string_view name, const Request& request, Response* response,
                    absl::Duration* took);

  const std::unique_ptr<cri::RuntimeService::Stub> stub_;
  const std::string image_;
  const std::string log_directory_;
  const std::string cgroup_parent_;
  cri::NamespaceMode network_ = cri::NODE;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_CRI_CLIENT_H_
