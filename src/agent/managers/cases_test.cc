// Allocations stated by hand from Kubernetes' documentation, by kind of machine (tests/allocation).
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/managers/case_file_for_test.h"
#include "agent/managers/case_node_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Text(const ExpectedPod& pod) {
  std::string text;
  for (const auto& [name, has] : pod) {
    absl::StrAppend(&text, " ", name, "{");
    if (!has.cpus.empty()) absl::StrAppend(&text, " cpus ", has.cpus);
    if (!has.mems.empty()) absl::StrAppend(&text, " mems ", has.mems);
    for (const auto& [resource, ids] : has.devices) {
      absl::StrAppend(&text, " ", resource, " ", absl::StrJoin(ids, ","));
    }
    absl::StrAppend(&text, " }");
  }
  return text;
}

void ExpectPod(const CaseNode& node, const std::string& name, const ExpectedPod& expected) {
  const CaseNode::Pod* pod = node.Find(name);
  ASSERT_NE(pod, nullptr) << name;
  EXPECT_EQ(Text(GivenTo(pod->manifest, pod->grant)), Text(expected)) << name;
}

void Admit(CaseNode& node, const CaseEvent& event) {
  const auto rejection = node.Admit(event.pod);
  if (!rejection) {
    EXPECT_THAT(event.reason, Eq("")) << "the pod was admitted";
    if (event.get) ExpectPod(node, event.admit, *event.get);
    return;
  }
  EXPECT_EQ(rejection->reason, event.reason) << rejection->message;
  EXPECT_THAT(rejection->message, HasSubstr(event.message));
}

void Follow(CaseNode& node, const CaseEvent& event) {
  SCOPED_TRACE(event.where);
  if (!event.admit.empty()) Admit(node, event);
  if (!event.remove.empty()) node.Remove(event.remove);
  if (event.restart) {
    EXPECT_EQ(node.Restart(), absl::OkStatus());
    EXPECT_EQ(node.Fit(), absl::OkStatus());
  }
  if (!event.machine.empty()) {
    absl::Status unfit;
    const auto maps = CaseMachine(PLIMSOLL_ALLOCATION_CASES, event.machine);
    ASSERT_TRUE(maps.ok()) << maps.status();
    EXPECT_EQ(node.Change(*maps, &unfit), absl::OkStatus());
    EXPECT_EQ(node.Fit(), absl::OkStatus());
    EXPECT_EQ(unfit.ok(), event.unfit.empty()) << unfit;
    EXPECT_THAT(std::string(unfit.message()), HasSubstr(event.unfit));
  }
  for (const auto& [pod, expected] : event.has) ExpectPod(node, pod, expected);
  if (event.shared) {
    const auto shared = node.Ledger().shared_cpus();
    EXPECT_EQ(shared ? shared->ToString() : "the runtime's", *event.shared);
  }
}

class AllocationCases : public ::testing::TestWithParam<std::string> {};

TEST_P(AllocationCases, AreAsStated) {
  const std::string file = absl::StrCat(PLIMSOLL_ALLOCATION_CASES, "/", GetParam(), ".yaml");
  const auto text = TextOf(file);
  ASSERT_TRUE(text.ok()) << text.status();
  for (const YAML::Node& document : YAML::LoadAll(*text)) {
    const auto found = ReadCase(document, file);
    ASSERT_TRUE(found.ok()) << found.status();
    const auto maps = CaseMachine(PLIMSOLL_ALLOCATION_CASES, found->machine);
    ASSERT_TRUE(maps.ok()) << maps.status();
    auto node = CaseNode::Start(*found, *maps);
    EXPECT_EQ(node.ok(), found->refused.empty()) << file << ": " << node.status();
    if (!node.ok()) {
      EXPECT_THAT(std::string(node.status().message()), HasSubstr(found->refused));
      continue;
    }
    for (const CaseEvent& event : found->events) Follow(*node, event);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AllocationCases,
                         ::testing::ValuesIn(NamesIn(PLIMSOLL_ALLOCATION_CASES)),
                         [](const ::testing::TestParamInfo<std::string>& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A machine that no case uses would only seem to be covered.
TEST(AllocationCasesTest, EachMachineHasACase) {
  std::set<std::string> used;
  for (const std::string& name : NamesIn(PLIMSOLL_ALLOCATION_CASES)) {
    const auto text = TextOf(absl::StrCat(PLIMSOLL_ALLOCATION_CASES, "/", name, ".yaml"));
    for (const YAML::Node& document : YAML::LoadAll(text.value())) {
      used.insert(document["machine"].as<std::string>());
    }
  }
  const auto machines = NamesIn(absl::StrCat(PLIMSOLL_ALLOCATION_CASES, "/machines"));
  EXPECT_GE(machines.size(), 40u);
  for (const std::string& machine : machines) EXPECT_TRUE(used.contains(machine)) << machine;
}

}  // namespace
}  // namespace plimsoll::agent
