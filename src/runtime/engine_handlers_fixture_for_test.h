// A fixture for tests of runtime handlers: an engine with a handler of kind vm and one with fixed
// resources.
#ifndef PLIMSOLL_RUNTIME_ENGINE_HANDLERS_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_ENGINE_HANDLERS_FIXTURE_FOR_TEST_H_

#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/wait_until_for_test.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {

inline PodResources Announcing(const std::string& cpu, const std::string& memory) {
  AnnouncedContainer web = {.name = "container", .type = AnnouncedContainer::Type::kContainer};
  web.kubernetes_resources.limits = {{"cpu", cpu}, {"memory", memory}};
  AnnouncedContainer job = {.name = "job", .type = AnnouncedContainer::Type::kContainer};
  job.kubernetes_resources.limits = {{"cpu", "500m"}, {"memory", "512Mi"}};
  return {.containers = {web, job}};
}

class EngineHandlersTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    Handler& vm = handlers_["vm"];
    vm.program = "/opt/vm-runtime";
    vm.is_vm = true;
    Handler& fixed = handlers_["fixed"];
    fixed.is_fixed = true;
  }
  SandboxSpec Spec(const std::string& handler) {
    SandboxSpec spec = PodSpec();
    spec.runtime_handler = handler;
    spec.pod_resources = Announcing("1", "1Gi");
    spec.overhead.memory_limit_bytes = 256 << 20;  // of the virtual machine alone
    return spec;
  }
  std::string Pod(const SandboxSpec& spec) {
    const auto pod = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.value_or("");
  }
  static ContainerSpec Web(const std::string& cpu = "1", const std::string& memory = "1Gi") {
    ContainerSpec spec = EngineTest::Spec("container");
    spec.kubernetes_resources.limits = {{"cpu", cpu}, {"memory", memory}};
    return spec;
  }
  std::string Create(const std::string& pod, const ContainerSpec& spec) {
    const auto id = engine_->CreateContainer(pod, spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  static ResourceUpdate To(const std::string& cpu, const std::string& memory) {
    ResourceUpdate update;
    update.kubernetes_resources = KubernetesResources{.limits = {{"cpu", cpu}, {"memory", memory}}};
    return update;
  }
  // The container has the requested resources, a limit of memory among them, unchanged since.
  // Without a request for swap, none is allowed.
  void ExpectAsked(const std::string& id, ContainerSpec asked) {
    const ContainerSpec spec = engine_->GetContainer(id)->spec;
    EXPECT_EQ(spec.said.resources, spec.said.made);
    asked.said = spec.said;
    ASSERT_TRUE(asked.resources.memory_limit_bytes.has_value());
    asked.resources.memory_swap_limit_bytes = asked.resources.memory_limit_bytes;
    EXPECT_EQ(spec, asked);
  }
  std::string Annotation(const std::string& name) { return runtime_.last_annotations[name]; }
  // An update command that notes its input, then exits with the content of `exit`.
  void SetUpdateCommand(const std::string& handler) {
    const std::string script = absl::StrCat("#!/bin/sh\ncat \"$2\" >> ", dir_.path(),
                                            "/told\nexit $(cat ", dir_.path(), "/exit)\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
    ExitWith(0);
    handlers_[handler].update_command = {dir_.path() + "/resize", "--resize"};
  }
  void ExitWith(int code) {
    ASSERT_TRUE(dir_.root().ReplaceFile("exit", absl::StrCat(code, "\n")).ok());
  }
  // An update command that, if `slow` exists, notes its input and then takes longer than any test.
  void SetSlowCommand(const std::string& handler) {
    SetUpdateCommand(handler);
    const std::string script =
        absl::StrCat("#!/bin/sh\nif [ -e ", dir_.path(), "/slow ]; then rm ", dir_.path(),
                     "/slow; cat \"$2\" >> ", dir_.path(),
                     "/told; exec sleep 300; fi\ncat \"$2\" >> ", dir_.path(), "/told\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
    handlers_[handler].update_timeout_seconds = 200;
  }
  // The result of `update`, which runs until `meanwhile` has ended the slow command.
  absl::Status Slowly(absl::FunctionRef<absl::Status()> update,
                      absl::FunctionRef<void()> meanwhile) {
    EXPECT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
    absl::Status status;
    std::thread client([&] { status = update(); });
    EXPECT_TRUE(WaitUntil([&] {
      return !dir_.root().Exists("slow") && !dir_.root().Read("told").value_or("").empty();
    }));
    meanwhile();
    client.join();
    return status;
  }
  // Gives pods a part of the node, and expects the container to follow.
  void FollowsShare(const std::string& id) {
    const std::string group = engine_->GetContainer(id)->cgroup_path;
    engine_->SetNodeShare({*resources::CpuSet::Parse("2-5"), *resources::CpuSet::Parse("0"),
                           /*is_whole=*/false});
    EXPECT_TRUE(WaitUntil([&] { return cgroups_.cpuset(group).first == "2-5"; }));
  }
  static size_t Times(const std::string& text, const std::string& what) {
    size_t times = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++times;
    return times;
  }
  std::string WantedFile(const std::string& pod) {
    return absl::StrCat("sandboxes/", pod, "/wanted-resources.json");
  }
  // The notes since the last call.
  std::string Told() {
    const std::string told = dir_.root().Read("told").value_or("");
    EXPECT_TRUE(dir_.root().RemoveFile("told").ok());
    return told;
  }
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_HANDLERS_FIXTURE_FOR_TEST_H_
