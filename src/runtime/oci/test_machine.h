// For this room's tests: a busybox image in a temporary directory and a runtime on the real kernel.
#ifndef PLIMSOLL_RUNTIME_OCI_TEST_MACHINE_H_
#define PLIMSOLL_RUNTIME_OCI_TEST_MACHINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/test_dir.h"
#include "base/wait_until_for_test.h"
#include "linux/cgroup/cgroup.h"
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
  TestDir dir_;
  FsRoot host_;
  std::string parent_;
  std::string crun_;
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::unique_ptr<ContainerRuntime> runtime_;
  ContainerSpec spec_;
  image::ImageConfig image_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_TEST_MACHINE_H_
