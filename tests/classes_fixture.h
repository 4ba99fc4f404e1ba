// For tests: a node with QoS classes of every type that a machine without resctrl can have.
#ifndef PLIMSOLL_TESTS_CLASSES_FIXTURE_H_
#define PLIMSOLL_TESTS_CLASSES_FIXTURE_H_

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/block_devices.h"

namespace plimsoll::testing {

// A type of pods' classes that every machine can have.
inline constexpr char kLaneOfPods[] =
    "  - {name: lane, level: pod, default: slow, classes: {fast: {}, slow: {}}}\n";

// Writes the class file before the daemon starts and reads it.
class ClassFile {
 protected:
  ClassFile() { WriteClasses(""); }

  // `more`: further classes.
  void WriteClasses(const std::string& more) {
    const std::string disk = absl::StrCat("Devices: [", Disk(), "]");
    const std::string text =
        absl::StrCat("Classes:\n  slow: [{", disk, ", ThrottleReadBps: 1Mi}]\n  medium: [{", disk,
                     ", ThrottleReadBps: 4Mi}]\n  free: []\n", more);
    const absl::Status written = files_.root().ReplaceFile("blockio.yaml", text);
    EXPECT_TRUE(written.ok()) << written;
    const absl::Status rdt = files_.root().ReplaceFile(
        "rdt.yaml", "partitions:\n  all:\n    l3Allocation: 100%\n    classes: {gold: {}}\n");
    EXPECT_TRUE(rdt.ok()) << rdt;
  }
  std::string Config() const {
    return absl::StrCat("classes:\n  rdt: {config_file: ", files_.path(),
                        "/rdt.yaml}\n  pod-qos: {}\n  blockio:\n    config_file: ", files_.path(),
                        "/blockio.yaml\n    pods: true\n    capacity: {medium: 1}\n",
                        "    annotations: [sandbox]\n  oom: {classes: {first: 800, soon: 300}}\n  "
                        "cgroup:\n  - name: tier\n",
                        "    classes: {low: {cpu.weight: 10, memory.high: 64Mi}, normal: {}}\n");
  }
  // The disk for reading: the virtual machine's second, else the one with the test's files.
  static std::string Disk() {
    if (IsEmulated()) return "/dev/vdb";
    struct stat place = {};
    stat("/tmp", &place);
    const auto devices = linux::BlockDevices::Scan(Host());
    if (!devices.ok()) return "/dev/none";
    const linux::Disk* disk = devices->DiskOf({major(place.st_dev), minor(place.st_dev)});
    return disk == nullptr ? "/dev/none" : absl::StrCat("/dev/", disk->name);
  }

  TestDir files_;
};

class ClassesTest : private ClassFile, public NodeTest {
 protected:
  ClassesTest() : ClassesTest("") {}
  // `more_types`: further entries of the list of cgroup types, which is the configuration's end.
  explicit ClassesTest(const std::string& more_types) : NodeTest(Config() + more_types) {}

  void SetUp() override {
    struct stat disk = {};
    if (stat(Disk().c_str(), &disk) != 0) GTEST_SKIP() << "no disk to throttle: " << Disk();
    NodeTest::SetUp();
  }

  cri::ContainerConfig InClass(const std::string& name) {
    cri::ContainerConfig config = Shell("sleep 1000");
    (*config.mutable_class_resources()->mutable_classes())["blockio"] = name;
    return config;
  }
  grpc::Status Assign(const std::string& container, const std::string& name) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(container);
    (*request.mutable_class_resources()->mutable_classes())["blockio"] = name;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }
  std::string ClassOf(const std::string& container) {
    const auto classes = Status(container).class_resources().classes();
    const auto at = classes.find("blockio");
    return at == classes.end() ? "" : at->second;
  }
  std::string ThrottleOf(const std::string& group) {
    return *Cgroups().ReadFile(group, IsV2() ? "io" : "blkio",
                               IsV2() ? "io.max" : "blkio.throttle.read_bps_device");
  }
  grpc::Status Reload() {
    plimsoll::v1::ReloadClassesResponse response;
    grpc::ClientContext context;
    return node_.node().ReloadClasses(&context, plimsoll::v1::ReloadClassesRequest(), &response);
  }

  using ClassFile::Disk;
  using ClassFile::files_;
  using ClassFile::WriteClasses;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_CLASSES_FIXTURE_H_
