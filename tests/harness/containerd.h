// A containerd of the test's own: a second CRI runtime, for clients that must not need plimsolld.
//
//   Containerd runtime(directory);
//   ASSERT_TRUE(runtime.Start().ok());
//   ASSERT_TRUE(runtime.ImportBusybox().ok());
#ifndef PLIMSOLL_TESTS_HARNESS_CONTAINERD_H_
#define PLIMSOLL_TESTS_HARNESS_CONTAINERD_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::testing {

// Debian's containerd 1.6 with crun, cgroupfs and no pod network. Not thread-safe.
//
// It runs with its shims and containers in a mount and a PID namespace of their own. These end with
// the object, and with the test's process however that ends, and take every process and mount
// along. The machine's /run and cgroup mounts stay as they are. Left over are control groups: those
// of a pod without a parent are below /k8s.io, so each pod of a test has to name its parent.
class Containerd {
 public:
  // Works in `directory`/containerd, which exists until the object's end.
  explicit Containerd(const std::string& directory);
  ~Containerd();
  Containerd(const Containerd&) = delete;
  Containerd& operator=(const Containerd&) = delete;

  // NOT_FOUND names a program that this machine lacks.
  static absl::Status CheckPrograms();

  // Starts the daemon, and waits until it serves.
  absl::Status Start();
  // SIGKILL for the daemon alone: shims and containers run on.
  void Kill();
  bool runs() const { return daemon_.has_value(); }
  // Ends daemon, shims and containers, and waits for the end of the last.
  absl::Status End();

  // Brings in the image "busybox", and what a sandbox is made of.
  absl::Status ImportBusybox();

  std::string address() const { return "unix://" + directory_ + "/containerd.sock"; }
  std::string Log() const;
  ::runtime::v1::RuntimeService::Stub& runtime() { return *runtime_; }

 private:
  absl::Status WriteConfig() const;
  absl::Status MakeNamespaces();
  absl::Status AwaitReady();

  const std::string directory_;
  // The namespaces' maker, which ends with their first process. That one ends with `gate_`.
  std::optional<Child> namespaces_;
  UniqueFd gate_;
  std::optional<Child> daemon_;
  std::unique_ptr<::runtime::v1::RuntimeService::Stub> runtime_;
  std::unique_ptr<::runtime::v1::ImageService::Stub> images_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_CONTAINERD_H_
