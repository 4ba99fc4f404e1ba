// Containers with CDI devices (Container Device Interface).
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class CdiTest : public NodeTest {
 protected:
  CdiTest() : CdiTest(std::make_unique<TestDir>()) {}

  const std::string& directory() const { return directory_->path(); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(directory_->root().ReplaceFile(name, text, 0644).ok());
  }
  cri::ContainerConfig WithDevice(const std::string& name, const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.add_cdi_devices()->set_name(name);
    return config;
  }
  grpc::Status Refusal(const std::string& device) {
    std::string id;
    return TryCreate(pod_, WithDevice(device, "true"), &id);
  }
  std::string Limitations() {
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    return response.info().at("limitations");
  }
  std::string pod_;

 private:
  explicit CdiTest(std::unique_ptr<TestDir> directory)
      : NodeTest(absl::StrCat("cdi_spec_dirs: [", directory->path(), "]\n")),
        directory_(std::move(directory)) {}
  std::unique_ptr<TestDir> directory_;
};

TEST_F(CdiTest, AContainerGetsAllThatItsDeviceHas) {
  pod_ = RunPod();
  Write("given", "a file of the host\n");
  Write("card.json", absl::StrCat(R"({"cdiVersion": "0.7.0", "kind": "plimsoll-test.com/card",
    "devices": [{"name": "0", "containerEdits": {
      "env": ["CARD=0"],
      "deviceNodes": [{"path": "/dev/card", "hostPath": "/dev/zero", "permissions": "r"}],
      "mounts": [{"hostPath": ")",
                                  directory(), R"(/given", "containerPath": "/opt/given",
                  "options": ["ro", "nosuid", "nodev", "bind"]}]}}],
    "containerEdits": {
      "additionalGids": [4711],
      "hooks": [{"hookName": "createRuntime", "path": "/bin/sh",
        "args": ["sh", "-c", "cat >> )",
                                  directory(), R"(/hooked", "sh"], "timeout": 60}]}})"));
  const std::string container = Start(pod_, WithDevice("plimsoll-test.com/card=0", R"(
    echo card $CARD
    head -c 3 /dev/card | wc -c
    cat /opt/given
    touch /opt/given 2> /dev/null || echo read-only
    id -G
    sleep 1000)"));
  // A container keeps the devices of its creation, whatever becomes of the file.
  Write("card.json", "{");
  const std::string out = ExecOutput(container, "echo $CARD; head -c 2 /dev/card | wc -c");
  EXPECT_EQ(out, "0\n2\n");
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(container), "4711"); }));
  EXPECT_THAT(Output(container), HasSubstr("card 0\n3\na file of the host\nread-only\n"));
  // OCI runtime specification, "State": a hook's input.
  const auto hooked = Host().Read(directory().substr(1) + "/hooked");
  ASSERT_TRUE(hooked.ok()) << hooked.status();
  EXPECT_THAT(*hooked, HasSubstr(container));
}

TEST_F(CdiTest, TheDeviceCgroupLetsItBeUsedAsItsFileSays) {
  pod_ = RunPod();
  // Only the cgroup may decide whether the kernel's log can be written to; nothing is written.
  constexpr char kNode[] =
      R"({"path": "/dev/log0", "type": "c", "major": 1, "minor": 11, "permissions": )";
  Write("log.json",
        absl::StrCat(R"({"cdiVersion": "0.5.0", "kind": "plimsoll-test.com/log", "devices": [
    {"name": "reader", "containerEdits": {"deviceNodes": [)",
                     kNode, R"("r"}]}},
    {"name": "writer", "containerEdits": {"deviceNodes": [)",
                     kNode, R"("w"}]}}]})"));
  const std::string script = "(: > /dev/log0) 2> /dev/null && echo yes || echo no";
  for (const auto& [name, answer] : {std::pair("reader", "no\n"), std::pair("writer", "yes\n")}) {
    const std::string container =
        Start(pod_, WithDevice(absl::StrCat("plimsoll-test.com/log=", name), script));
    EXPECT_EQ(AwaitExit(container).exit_code(), 0);
    EXPECT_EQ(Output(container), answer) << name;
  }
}

TEST_F(CdiTest, AnnotationsAskToo) {
  pod_ = RunPod();
  Write("net.yaml",
        "cdiVersion: 0.5.0\nkind: plimsoll-test.com/net\n"
        "devices: [{name: a, containerEdits: {env: [A=1]}}, {name: b, containerEdits: {env: "
        "[B=2]}}]\n");
  cri::ContainerConfig config = WithDevice("plimsoll-test.com/net=a", "echo $A $B");
  (*config.mutable_annotations())["cdi.k8s.io/test"] =
      "plimsoll-test.com/net=b,plimsoll-test.com/net=a";
  const std::string container = Start(pod_, config);
  EXPECT_EQ(AwaitExit(container).exit_code(), 0);
  EXPECT_EQ(Output(container), "1 2\n");
}

TEST_F(CdiTest, WhatIsNotThereIsRefusedAndFaultsAreShown) {
  pod_ = RunPod();
  EXPECT_EQ(Limitations().find(directory()), std::string::npos);
  Write("bad.json", R"({"cdiVersion": "0.5.0", "kind": "plimsoll-test.com/bad", "devices": 3})");
  Write("good.json", R"({"cdiVersion": "0.5.0", "kind": "plimsoll-test.com/good",
                         "devices": [{"name": "0", "containerEdits": {"env": ["A=1"]}},
                                     {"name": "1", "containerEdits": {"deviceNodes": [
                                        {"path": "/dev/plimsoll-test-none"}]}}]})");
  const std::string fault = directory() + "/bad.json: devices: expected a list, found 3";
  grpc::Status refused = Refusal("plimsoll-test.com/bad=0");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr(fault));
  EXPECT_THAT(Limitations(), HasSubstr(fault));
  refused = Refusal("plimsoll-test.com/good=2");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(refused.error_message(), HasSubstr("there are plimsoll-test.com/good=0"));
  refused = Refusal("card0");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  refused = Refusal("plimsoll-test.com/good=1");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("CDI device node /dev/plimsoll-test-none"));
  const std::string container = Start(pod_, WithDevice("plimsoll-test.com/good=0", "echo $A"));
  EXPECT_EQ(AwaitExit(container).exit_code(), 0);
}

TEST_F(CdiTest, AHookThatFailsLeavesNothing) {
  pod_ = RunPod();
  Write("card.json", R"({"cdiVersion": "0.5.0", "kind": "plimsoll-test.com/card",
    "devices": [{"name": "0", "containerEdits": {"hooks": [
      {"hookName": "createRuntime", "path": "/bin/false", "args": ["false"]}]}}]})");
  EXPECT_FALSE(Refusal("plimsoll-test.com/card=0").ok());
  cri::ListContainersResponse left;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &left).ok());
  EXPECT_EQ(left.containers_size(), 0);
}

}  // namespace
}  // namespace plimsoll::testing
