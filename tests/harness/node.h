// A plimsolld of the test's own, and the CRI calls that tests make to it.
//
//   TEST_F(PodTest, Runs) {   // class PodTest : public NodeTest {}
//     const std::string pod = RunPod();
//     const std::string container = Start(pod, Shell("exit 3"));
//     EXPECT_EQ(AwaitExit(container).exit_code(), 3);
//   }
#ifndef PLIMSOLL_TESTS_HARNESS_NODE_H_
#define PLIMSOLL_TESTS_HARNESS_NODE_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::testing {

inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr uid_t kNobody = 65534;

namespace cri = ::runtime::v1;

// The directories of a node outside a temporary directory.
struct NodePlaces {
  std::string directory;  // configuration, log
  std::string run_directory;
  std::string state_directory;
  std::string cgroup_parent;
};

// The daemon's process, directories and socket. Not thread-safe.
class Node {
 public:
  // `extra_config`: further lines for its configuration file.
  explicit Node(const std::string& extra_config = "");
  // A node at given places that exist before or after the test: on a machine of its own (tests/vm).
  explicit Node(NodePlaces places);
  // Stops the daemon if it runs, and unmounts everything below its run directory; at given places,
  // everything is left as it is.
  ~Node();

  absl::Status StartDaemon();
  // From the next start on, uses the plimsolld of another build.
  void UseDaemon(std::string program) { program_ = std::move(program); }
  // From the next start on, the daemon has a session of its own: a terminal's Ctrl-C doesn't reach
  // it.
  void OwnSession() { own_session_ = true; }
  // From the next start on, open streams outlive the daemon's stop. Its process is then a child of
  // daemon_pid().
  void KeepStreams() { keeps_streams_ = true; }
  // From the next start on, puts these words before the daemon's command line: a program that
  // becomes the daemon.
  void StartBy(std::vector<std::string> words) { started_by_ = std::move(words); }
  // The two halves of StartDaemon: the process, and the wait until it serves.
  absl::Status SpawnDaemon();
  absl::Status AwaitReady();
  // Connects to a daemon that somebody else has started and ends.
  void Connect();
  // Sends SIGTERM and waits for the end of the process.
  absl::StatusOr<ExitStatus> StopDaemon();
  // SIGKILL.
  void KillDaemon();
  bool daemon_runs() const { return daemon_.has_value(); }
  pid_t daemon_pid() const { return daemon_->pid(); }

  const std::string& directory() const { return places_.directory; }
  std::string config_path() const { return directory() + "/plimsolld.yaml"; }
  const std::string& run_directory() const { return places_.run_directory; }
  const std::string& state_directory() const { return places_.state_directory; }
  std::string address() const { return "unix://" + run_directory() + "/plimsoll.sock"; }
  // The parent group of pods without a cgroup_parent.
  const std::string& cgroup_parent() const { return places_.cgroup_parent; }
  // The daemon's log.
  std::string Log() const;

  cri::RuntimeService::Stub& runtime() { return *runtime_; }
  cri::ImageService::Stub& images() { return *images_; }
  plimsoll::v1::NodeService::Stub& node() { return *node_; }

 private:
  void WriteConfig(const std::string& extra);

  std::optional<TestDir> temporary_;
  NodePlaces places_;
  std::string program_;       // empty: the build under test's
  bool has_network_ = false;  // its configuration names the pods' network
  bool has_plugins_ = false;  // its configuration names a directory of plugins
  std::optional<Child> daemon_;
  UniqueFd ready_;
  bool own_session_ = false;
  bool keeps_streams_ = false;
  std::vector<std::string> started_by_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<cri::RuntimeService::Stub> runtime_;
  std::unique_ptr<cri::ImageService::Stub> images_;
  std::unique_ptr<plimsoll::v1::NodeService::Stub> node_;
};

// "/plimsolld" of the build under test.
std::string ProgramPath(const std::string& name);
// A path of the source tree.
std::string SourcePath(const std::string& path);

// A test with a running node that has the image "busybox". Its end removes all pods and then checks
// that nothing is left: no mount, cgroup, process or directory.
class NodeTest : public ::testing::Test {
 protected:
  explicit NodeTest(const std::string& extra_config = "") : node_(extra_config) {}
  explicit NodeTest(NodePlaces places) : node_(std::move(places)) {}
  void SetUp() override;
  void TearDown() override;

  // Each call fails the test on an error; the Try variants return the status.
  std::string RunPod(const cri::PodSandboxConfig& config);
  std::string RunPod() { return RunPod(PodConfig()); }
  std::string Create(const std::string& pod, const cri::ContainerConfig& config);
  std::string Start(const std::string& pod, const cri::ContainerConfig& config);
  grpc::Status TryRunPod(const cri::PodSandboxConfig& config, std::string* id);
  grpc::Status TryCreate(const std::string& pod, const cri::ContainerConfig& config,
                         std::string* id);
  grpc::Status TryStart(const std::string& container);
  grpc::Status TryUpdate(const std::string& container, const cri::LinuxContainerResources& linux);
  grpc::Status StopContainer(const std::string& container, int64_t timeout_seconds);
  grpc::Status RemoveContainer(const std::string& container);
  grpc::Status StopPod(const std::string& pod);
  grpc::Status RemovePod(const std::string& pod);
  cri::ContainerStatus Status(const std::string& container);
  cri::PodSandboxStatus PodStatus(const std::string& pod);
  // Waits until the container has exited.
  cri::ContainerStatus AwaitExit(const std::string& container);
  grpc::Status Exec(const std::string& container, const std::vector<std::string>& command,
                    cri::ExecSyncResponse* response, int64_t timeout_seconds = 0);
  // Output of a shell command in the container; fails the test unless it exits 0.
  std::string ExecOutput(const std::string& container, const std::string& script);
  grpc::Status Import(const std::string& path, const std::string& reference);
  void ImportBusybox();

  // A pod with a name of its own, in the pod's network namespace.
  cri::PodSandboxConfig PodConfig();
  // A container of image "busybox" that runs `script` in sh.
  cri::ContainerConfig Shell(const std::string& script);
  // The container's output: each line without its CRI prefix.
  std::string Output(const std::string& container);
  // The container's group.
  std::string CgroupOf(const std::string& pod, const std::string& container);
  void RemoveAllPods();

  Node node_;

 private:
  int names_ = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_NODE_H_
