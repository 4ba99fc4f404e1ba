// A fixture for tests of QoS classes: an engine over types whose kernel is a map.
#ifndef PLIMSOLL_RUNTIME_ENGINE_CLASSES_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_ENGINE_CLASSES_FIXTURE_FOR_TEST_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {

class EngineClassesTest : public EngineTest {
 protected:
  void SetUp() override {
    MakeTypes();
    EngineTest::SetUp();
  }
  void MakeTypes() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(&rdt_, qos::FakeType::Options{.name = "rdt"}));
    rdt_type_ = static_cast<qos::FakeType*>(types.back().get());
    types.push_back(std::make_unique<qos::FakeType>(
        &oom_, qos::FakeType::Options{.name = "oom", .default_class = "gold"}));
    types.push_back(std::make_unique<qos::FakeType>(
        &net_, qos::FakeType::Options{.name = "net", .level = qos::Level::kPod}));
    net_type_ = static_cast<qos::FakeType*>(types.back().get());
    classes_ = *qos::Registry::Create(std::move(types));
  }
  // Restarts like after a kill -9: the kernel's state stays, the engine's is read from the store.
  void Restart() {
    engine_.reset();
    MakeTypes();
    StartEngine();
  }
  std::string Pod(const qos::ClassNames& classes = {}) {
    SandboxSpec spec = PodSpec();
    spec.classes = classes;
    auto id = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : "";
  }
  absl::StatusOr<std::string> Make(const std::string& pod, const std::string& name,
                                   const qos::ClassNames& classes) {
    ContainerSpec spec = Spec(name);
    spec.classes = classes;
    return engine_->CreateContainer(pod, spec, "");
  }

  // Marks of updates under way: content by name.
  std::map<std::string, std::string> Marks() {
    const std::vector<std::string> names = *run_.List("updates");
    std::map<std::string, std::string> marks;
    for (const std::string& name : names) marks[name] = *run_.Read("updates/" + name);
    return marks;
  }

  // Everything that a daemon finds when it starts after a kill.
  struct Moment {
    std::string name;
    ContainerRecord row;
    std::map<std::string, std::string> marks;
    std::map<std::string, std::string> rdt;
    std::map<std::string, std::string> oom;
    linux::CgroupSettings limits;
  };
  Moment Now(const std::string& name) {
    const ContainerRecord row = store_.LoadContainers()->front();
    return {name, row, Marks(), rdt_.members, oom_.members, *cgroups_.Read(row.cgroup_path)};
  }
  void KillAt(const Moment& moment) {
    engine_.reset();
    ASSERT_TRUE(store_.PutContainer(moment.row).ok());
    for (const auto& [mark, content] : moment.marks) {
      ASSERT_TRUE(run_.ReplaceFile("updates/" + mark, content).ok());
    }
    rdt_.members = moment.rdt;
    oom_.members = moment.oom;
    ASSERT_TRUE(cgroups_.Apply(moment.row.cgroup_path, moment.limits).ok());
  }
  // Expects the old state (pids_limit 1, classes gold) or the new one (17, silver and bronze),
  // nothing between.
  void ExpectWhole(const std::string& id, bool is_new) {
    const ContainerRecord row = store_.LoadContainers()->front();
    EXPECT_EQ(row.spec.resources.pids_limit, is_new ? 17 : 1);
    EXPECT_EQ(cgroups_.Read(row.cgroup_path)->pids_limit, row.spec.resources.pids_limit);
    EXPECT_EQ(rdt_.members[id], is_new ? "silver" : "gold");
    EXPECT_EQ(oom_.members[id], is_new ? "bronze" : "gold");
    for (const char* type : {"rdt", "oom"}) {
      const qos::HeldClass held = row.classes.at(type);
      EXPECT_EQ(held.name, type == std::string("rdt") ? rdt_.members[id] : oom_.members[id]);
      EXPECT_EQ(held.changing_to, "") << type;
      EXPECT_EQ(held.implicit, type == std::string("oom") && !is_new) << type;
      EXPECT_EQ(engine_->ContainerClasses(id, false)->at(type).name, held.name);
    }
    EXPECT_THAT(*run_.List("updates"), ::testing::IsEmpty());
  }

  qos::FakeType* rdt_type_ = nullptr;
  qos::FakeType* net_type_ = nullptr;
  qos::FakeKernel rdt_;
  qos::FakeKernel oom_;
  qos::FakeKernel net_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_CLASSES_FIXTURE_FOR_TEST_H_
