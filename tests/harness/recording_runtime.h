// A CRI runtime that runs nothing and remembers each request: for tests of what the agent sends,
// and of what it does about answers that no real runtime gives at will.
#ifndef PLIMSOLL_TESTS_HARNESS_RECORDING_RUNTIME_H_
#define PLIMSOLL_TESTS_HARNESS_RECORDING_RUNTIME_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::testing {

namespace cri = ::runtime::v1;

// Thread-safe. It has every image, whose id is kImageIdPrefix and its reference. Containers run
// until they are stopped, or Exit ends them. Its node has 64 CPUs and 256 GiB. It sends no events.
class RecordingRuntime {
 public:
  static constexpr char kImageIdPrefix[] = "id-of-";

  // Serves at a socket in the directory until its end.
  explicit RecordingRuntime(const std::string& directory);
  ~RecordingRuntime();
  RecordingRuntime(const RecordingRuntime&) = delete;
  RecordingRuntime& operator=(const RecordingRuntime&) = delete;

  const std::string& address() const { return address_; }

  // In the order in which they came, failed ones included.
  std::vector<cri::RunPodSandboxRequest> Sandboxes() const;
  std::vector<cri::CreateContainerRequest> Containers() const;

  // Calls of the method ("CreateContainer") fail with this, until it is OK.
  void Fail(const std::string& method, const grpc::Status& status);
  // The newest container of the name has exited. False: none runs.
  bool Exit(const std::string& name, int code);
  // The sandbox of each pod is no longer ready, and its containers have exited.
  void EndSandboxes();

 private:
  struct State;
  class Runtime;
  class Images;

  const std::string address_;
  const std::unique_ptr<State> state_;
  const std::unique_ptr<Runtime> runtime_;
  const std::unique_ptr<Images> images_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_RECORDING_RUNTIME_H_
