// For tests of this room and of runtime/oci/exec: a busybox image in a temporary directory and a
// runtime on the real kernel.
#ifndef PLIMSOLL_RUNTIME_OCI_MACHINE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_OCI_MACHINE_FOR_TEST_H_

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"
#include "linux/namespaces/mounts.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::runtime {

// Everything that a test's containers need, and its removal: cgroups below /plimsoll-test-<pid>,
// files and a private mount point in a temporary directory.
class TestMachine {
 public:
  TestMachine();
  ~TestMachine();  // ends and removes every container made here

  // The reason why containers can't run here, or nullopt. For GTEST_SKIP.
  static std::optional<std::string> Lacks();

  OciOptions Options() const;
  // Uses another program than the machine's crun. Call it before runtime().
  void UseCrun(std::string program) { crun_ = std::move(program); }
  // Knows another program, which requests may name. Call it before runtime().
  void AddProgram(const std::string& program) { programs_.insert(program); }
  // Made at the first use.
  ContainerRuntime& runtime();
  linux::CgroupManager& cgroups() { return *cgroups_; }
  const TestDir& dir() const { return dir_; }
  const FsRoot& host() const { return host_; }

  // A request for `/bin/sh -c script`, with host network, IPC and UTS namespaces. The spec is
  // spec(), the log log_path().
  CreateRequest Request(const std::string& id, const std::string& script);
  ContainerSpec& spec() { return spec_; }
  image::ImageConfig& image() { return image_; }
  std::string log_path(const std::string& id) const { return dir_.path() + "/" + id + ".log"; }
  std::string group(const std::string& id) const { return parent_ + "/" + id; }
  FsRoot layer() const { return *FsRoot::Open(dir_.path() + "/layer"); }

  // Waits for the exit record, at most half a minute.
  std::optional<ExitRecord> WaitForExit(const std::string& id);
  std::string Log(const std::string& id) const;  // empty when there is none
  // Remains of a container anywhere, as paths. Should be empty.
  std::vector<std::string> Leftovers(const std::string& id) const;

 private:
  static constexpr char kBusybox[] = "/bin/busybox";

  static void Install(const FsRoot& layer);
  static std::string NextParent();

  TestDir dir_;
  FsRoot host_;
  std::string parent_;
  std::string crun_;
  std::set<std::string> programs_;
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::unique_ptr<ContainerRuntime> runtime_;
  ContainerSpec spec_;
  image::ImageConfig image_;
};

// --- only implementation below this line

inline void TestMachine::Install(const FsRoot& layer) {
  for (const char* directory : {"bin", "etc", "proc", "sys", "dev", "tmp"}) {
    ASSERT_TRUE(layer.MakeDirs(directory, 0755).ok());
  }
  const UniqueFd from(open(kBusybox, O_RDONLY | O_CLOEXEC));
  const UniqueFd to(openat(layer.fd(), "bin/busybox", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  ASSERT_GT(sendfile(to.get(), from.get(), nullptr, 64 << 20), 0);
  for (const char* name : {"sh", "true", "sleep", "cat", "echo", "ls", "id", "env", "head", "grep",
                           "setsid", "mkdir", "touch", "stat", "kill", "yes", "unshare", "mount"}) {
    ASSERT_EQ(symlinkat("busybox", layer.fd(), absl::StrCat("bin/", name).c_str()), 0);
  }
  ASSERT_TRUE(layer
                  .ReplaceFile("etc/passwd",
                               "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34:web:/srv:/bin/sh\n",
                               0644)
                  .ok());
  ASSERT_TRUE(layer.ReplaceFile("etc/group", "root:x:0:\nweb:x:34:\nlog:x:35:web\n", 0644).ok());
}

inline std::string TestMachine::NextParent() {
  static int count = 0;
  return absl::StrCat("/plimsoll-test-", getpid(), "-", count++);
}

inline TestMachine::TestMachine()
    : host_(*FsRoot::Open("/")),
      parent_(NextParent()),
      cgroups_(std::move(*linux::CgroupManager::Detect(host_))) {
  EXPECT_TRUE(dir_.root().MakeDirs("state").ok());
  EXPECT_TRUE(dir_.root().MakeDirs("run").ok());
  EXPECT_TRUE(dir_.root().MakeDirs("layer", 0755).ok());
  EXPECT_TRUE(linux::MakePrivateMountPoint(host_, dir_.path() + "/run").ok());
  Install(layer());
  image_.command = {"/bin/sh"};
}

inline TestMachine::~TestMachine() {
  if (runtime_ != nullptr) {
    const auto traces = runtime_->ListTraces();
    EXPECT_TRUE(traces.ok()) << traces.status();
    for (const std::string& id : *traces) {
      const absl::Status deleted = runtime_->Delete(id, group(id));
      EXPECT_TRUE(deleted.ok()) << deleted;
    }
  }
  runtime_.reset();  // it holds the mount below open
  const absl::Status removed = cgroups_->Remove(parent_);
  EXPECT_TRUE(removed.ok()) << removed;
  // A monitor that nobody waits for may not have ended yet.
  absl::Status unmounted = linux::Unmount(dir_.path() + "/run");
  for (int i = 0; i < 2000 && ErrnoOf(unmounted) == EBUSY; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    unmounted = linux::Unmount(dir_.path() + "/run");
  }
  EXPECT_TRUE(unmounted.ok()) << unmounted;
}

inline std::optional<std::string> TestMachine::Lacks() {
  if (geteuid() != 0) return "containers need root";
  if (!FindProgram("crun").ok()) return "no crun";
  if (access(kBusybox, X_OK) != 0) return "no /bin/busybox (package busybox-static)";
  return std::nullopt;
}

inline OciOptions TestMachine::Options() const {
  OciOptions options{.host = host_,
                     .state = *FsRoot::Open(dir_.path() + "/state"),
                     .run = *FsRoot::Open(dir_.path() + "/run"),
                     .crun = crun_,
                     .programs = programs_,
                     .cgroups = cgroups_.get()};
  return options;
}

inline ContainerRuntime& TestMachine::runtime() {
  if (runtime_ == nullptr) {
    auto created = ContainerRuntime::Create(Options());
    EXPECT_TRUE(created.ok()) << created.status();
    runtime_ = std::move(*created);
  }
  return *runtime_;
}

inline CreateRequest TestMachine::Request(const std::string& id, const std::string& script) {
  spec_.name = id;
  if (!script.empty()) spec_.command = {"/bin/sh", "-c", script};
  CreateRequest request;
  request.id = id;
  request.spec = &spec_;
  request.image = &image_;
  request.lower_directories = {dir_.path() + "/layer"};
  request.cgroup_path = group(id);
  request.log_path = log_path(id);
  return request;
}

inline std::optional<ExitRecord> TestMachine::WaitForExit(const std::string& id) {
  std::optional<ExitRecord> record;
  WaitUntil([&] {
    const auto read = runtime().ReadExit(id);
    if (read.ok()) record = *read;
    return record.has_value();
  });
  return record;
}

inline std::string TestMachine::Log(const std::string& id) const {
  return dir_.root().Read(id + ".log").value_or("");
}

inline std::vector<std::string> TestMachine::Leftovers(const std::string& id) const {
  std::vector<std::string> found;
  for (const std::string& path :
       {"run/oci/containers/" + id, "run/oci/crun/" + id, "state/containers/" + id}) {
    if (dir_.root().Exists(path)) found.push_back(path);
  }
  const auto hierarchies = host_.List("sys/fs/cgroup");
  for (const std::string& hierarchy : *hierarchies) {
    const std::string path = "sys/fs/cgroup/" + hierarchy + group(id);
    if (host_.Exists(path)) found.push_back(path);
  }
  if (host_.Exists("sys/fs/cgroup" + group(id))) found.push_back("sys/fs/cgroup" + group(id));
  // A process that names the container: its monitor, crun.
  const auto processes = host_.List("proc");
  for (const std::string& name : *processes) {
    const auto command_line = host_.Read("proc/" + name + "/cmdline");
    if (command_line.ok() && command_line->find(dir_.path()) != std::string::npos &&
        command_line->find(id) != std::string::npos) {
      found.push_back("process " + name + ": " + *command_line);
    }
  }
  return found;
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MACHINE_FOR_TEST_H_
