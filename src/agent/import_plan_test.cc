#include "agent/import_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

::runtime::v1::PodSandbox SandboxOf(const std::string& uid, const std::string& name) {
  ::runtime::v1::PodSandbox sandbox;
  (*sandbox.mutable_labels())[pod::kPodUidLabel] = uid;
  (*sandbox.mutable_labels())[pod::kPodNamespaceLabel] = "default";
  (*sandbox.mutable_labels())[pod::kPodNameLabel] = name;
  return sandbox;
}

PodGrant GrantOf(const std::string& container, const std::string& cpus) {
  PodGrant grant;
  grant.containers[container].cpus = *resources::CpuSet::Parse(cpus);
  return grant;
}

TEST(ImportPlanTest, PodsAreNamedByTheRuntimesLabels) {
  KubeletNames names;
  names.Add({SandboxOf("u1", "web"), SandboxOf("u2", "no\nname"), SandboxOf("", "x")});
  EXPECT_THAT(names.pods, SizeIs(1));
  KubeletState state;
  state.pods["u1"] = GrantOf("main", "2-3");
  state.pods["u1"].pod.memory = {{"memory", NodeMask::FromBits(3), 0, {}}};
  state.pods["u2"] = GrantOf("main", "4");
  state.pods["u3"];  // it has nothing
  const ImportPlan plan = PlanImport(state, names, {});
  ASSERT_THAT(plan.grants, SizeIs(1));
  EXPECT_EQ(plan.grants[0].uid, "u1");
  EXPECT_EQ(plan.grants[0].key, (PodKey{"default", "web"}));
  EXPECT_EQ(plan.grants[0].grant, state.pods["u1"]);
  EXPECT_FALSE(plan.IsComplete());
  EXPECT_EQ(ImportTable(plan),
            "default/web  imported  pod memory of NUMA 0,1; main CPUs 2-3\n"
            "uid u2       NOT imported  main CPUs 4: its name is not known; give it by --pod "
            "u2=NAMESPACE/NAME\n");
}

TEST(ImportPlanTest, ANameThatWasGivenCountsBeforeTheRuntimes) {
  KubeletNames names;
  names.pods["u1"] = {"prod", "mine"};
  names.Add({SandboxOf("u1", "web")});
  KubeletState state;
  state.pods["u1"] = GrantOf("main", "2");
  const ImportPlan plan = PlanImport(state, names, {});
  ASSERT_THAT(plan.grants, SizeIs(1));
  EXPECT_EQ(plan.grants[0].key.name, "mine");
  EXPECT_TRUE(plan.IsComplete());
}

TEST(ImportPlanTest, PodsOfTheAgentStayAsTheyAre) {
  KubeletNames names;
  names.pods["u1"] = {"default", "web"};
  KubeletState state;
  state.pods["u1"] = GrantOf("main", "2");
  const ImportPlan plan = PlanImport(state, names, {{"default", "web"}});
  EXPECT_THAT(plan.grants, IsEmpty());
  EXPECT_THAT(ImportTable(plan), HasSubstr("the agent has the pod already"));
}

TEST(ImportPlanTest, OfTwoPodsWithOneNameTheFirstIsImported) {
  KubeletNames names;
  names.pods["u1"] = {"default", "web"};
  names.pods["u2"] = {"default", "web"};
  KubeletState state;
  state.pods["u1"] = GrantOf("main", "2");
  state.pods["u2"] = GrantOf("main", "3");
  const ImportPlan plan = PlanImport(state, names, {});
  ASSERT_THAT(plan.grants, SizeIs(1));
  EXPECT_EQ(plan.grants[0].uid, "u1");
  EXPECT_FALSE(plan.IsComplete());
  EXPECT_THAT(ImportTable(plan), HasSubstr("main CPUs 3: uid u2 has the name of uid u1"));
}

TEST(ImportPlanTest, ContainersOfTheFirstFormAreFoundByTheirIds) {
  ::runtime::v1::Container container;
  container.set_id("id1");
  (*container.mutable_labels())[pod::kPodUidLabel] = "u1";
  (*container.mutable_labels())[pod::kContainerNameLabel] = "main";
  KubeletNames names;
  names.Add(std::vector<::runtime::v1::Container>{container});
  names.pods["u1"] = {"default", "web"};
  KubeletState state;
  state.cpus_by_id = {{"id1", *resources::CpuSet::Parse("2-3")},
                      {"id2", *resources::CpuSet::Parse("4")}};
  const ImportPlan plan = PlanImport(state, names, {});
  ASSERT_THAT(plan.grants, SizeIs(1));
  EXPECT_EQ(plan.grants[0].grant.containers.at("main").cpu_count, 2);
  EXPECT_THAT(ImportTable(plan),
              HasSubstr("container id2  NOT imported  CPUs 4: the runtime doesn't know"));
}

TEST(ImportPlanTest, NothingToImportIsSaid) {
  const ImportPlan plan = PlanImport({}, {}, {});
  EXPECT_TRUE(plan.IsComplete());
  EXPECT_EQ(ImportTable(plan), "no pod has CPUs or memory of its own\n");
}

TEST(ImportPlanTest, NamesOnTheCommandLineAreChecked) {
  const auto name = ParsePodName("a-uid=default/web.a");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->first, "a-uid");
  EXPECT_EQ(name->second, (PodKey{"default", "web.a"}));
  for (const char* wrong :
       {"", "a", "a=b", "=a/b", "a=/b", "a=b/", "a=b/c/d", "a=b/C", "a=b\n/c"}) {
    const absl::Status status = ParsePodName(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("UID=NAMESPACE/NAME"));
  }
}

}  // namespace
}  // namespace plimsoll::agent
