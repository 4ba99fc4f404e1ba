#include "agent/managers/kubelet_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KubeletState StateOf(absl::string_view cpus, absl::string_view memory) {
  auto state = ReadKubeletState(cpus, memory);
  EXPECT_TRUE(state.ok()) << state.status();
  return state.ok() ? *std::move(state) : KubeletState();
}
std::string CpuFault(absl::string_view text) {
  const absl::Status status = ReadKubeletState(text, "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}
std::string MemoryFault(absl::string_view blocks) {
  const absl::Status status =
      ReadKubeletState("",
                       absl::StrCat(R"({"policyName": "Static", "machineState": {"0": {}}, )",
                                    R"("entries": {"u": {"c": )", blocks, R"(}}, "checksum": 1})"))
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(KubeletStateTest, CpusOfPodsAreRead) {
  const KubeletState state = StateOf(
      R"({"policyName":"static","defaultCpuSet":"0,4-7","entries":{"uid-1":{"a":"1-2","b":"3"}},)"
      R"("checksum":1353318690})",
      "");
  ASSERT_THAT(state.pods, SizeIs(1));
  const PodGrant& grant = state.pods.at("uid-1");
  EXPECT_EQ(CpusIn(grant, "a"), "1-2");
  EXPECT_EQ(grant.containers.at("a").cpu_count, 2);
  EXPECT_EQ(CpusIn(grant, "b"), "3");
  EXPECT_THAT(state.cpus_by_id, IsEmpty());
}

TEST(KubeletStateTest, PodsOfTheirOwnAreRead) {
  const KubeletState state = StateOf(
      R"({"policyName":"static","defaultCpuSet":"0","entries":{"u":{"a":"1","b":"2-3"}},)"
      R"("podEntries":{"u":{"cpuSet":"1-3"}},"checksum":1})",
      R"({"policyName":"Static","machineState":{"0":{},"1":{}},"entries":{"u":{"a":[)"
      R"({"numaAffinity":[0,1],"type":"memory","size":7}]}},)"
      R"("podEntries":{"u":{"memoryBlocks":[{"numaAffinity":[1],"type":"memory","size":9}]}},)"
      R"("checksum":1})");
  const PodGrant& grant = state.pods.at("u");
  EXPECT_EQ(grant.pod.cpus.ToString(), "1-3");
  EXPECT_EQ(CpusIn(grant, "b"), "2-3");
  EXPECT_EQ(MemoryIn(grant.pod), "memory=9@1");
  EXPECT_EQ(MemoryIn(grant.containers.at("a")), "memory=7@01");
}

TEST(KubeletStateTest, TheFirstFormHasContainerIds) {
  const KubeletState state = StateOf(
      R"({"policyName":"static","defaultCpuSet":"0","entries":{"an-id":"1-2"},"checksum":1})", "");
  EXPECT_THAT(state.pods, IsEmpty());
  EXPECT_EQ(state.cpus_by_id.at("an-id").ToString(), "1-2");
}

TEST(KubeletStateTest, OtherPoliciesGaveNothing) {
  EXPECT_THAT(StateOf("", "").pods, IsEmpty());
  EXPECT_THAT(StateOf(R"({"policyName":"none","defaultCpuSet":"","checksum":1})",
                      R"({"policyName":"None","machineState":null,"checksum":1})")
                  .pods,
              IsEmpty());
}

TEST(KubeletStateTest, FaultsAreNamedWithTheirPlace) {
  EXPECT_EQ(CpuFault("{"), "cpu_manager_state: is no JSON");
  EXPECT_EQ(CpuFault("[]"), "cpu_manager_state: must be an object");
  EXPECT_THAT(CpuFault(std::string(33, '[')), HasSubstr("too many brackets"));
  EXPECT_THAT(CpuFault(std::string(kMostKubeletState + 1, ' ')), HasSubstr("bytes, more than"));
  EXPECT_THAT(CpuFault(R"({"policyName":"static","x\n":1})"), HasSubstr(R"(member "x\n")"));
  EXPECT_THAT(CpuFault(R"({"policyName":"static","defaultCpuSet":"0"})"), HasSubstr("checksum"));
  EXPECT_THAT(CpuFault(R"({"policyName":"static","defaultCpuSet":0,"checksum":1})"),
              HasSubstr("defaultCpuSet must be a text"));
  EXPECT_THAT(CpuFault(R"({"policyName":"best","defaultCpuSet":"0","checksum":1})"),
              HasSubstr(R"(policyName "best" is neither static nor none)"));
  const std::string start = R"({"policyName":"static","defaultCpuSet":"0","checksum":1,)";
  EXPECT_THAT(CpuFault(start + R"("entries":[]})"), HasSubstr("entries: must be an object"));
  EXPECT_THAT(CpuFault(start + R"("entries":{"u":{"c":"3-1"}}})"),
              HasSubstr(R"(entries.u.c: "3-1" is no list of CPUs)"));
  EXPECT_THAT(CpuFault(start + R"("entries":{"u":{"c":3}}})"), HasSubstr("in quotes"));
  EXPECT_THAT(CpuFault(start + R"("entries":{"u":{"c d":"3"}}})"), HasSubstr("is no name"));
  EXPECT_THAT(CpuFault(start + R"("entries":{"u":3}})"), HasSubstr("must be an object"));
  EXPECT_THAT(CpuFault(start + R"("entries":{"u":{"c":"1"},"id":"2"}})"),
              HasSubstr("entries of two forms"));
  EXPECT_THAT(CpuFault(start + R"("podEntries":{"u":{"cpus":"1"}}})"), HasSubstr("cpuSet"));
  EXPECT_THAT(CpuFault(start + R"("podEntries":{"u":"1"}})"), HasSubstr("must be an object"));
}

TEST(KubeletStateTest, FaultsOfMemoryAreNamedWithTheirPlace) {
  EXPECT_THAT(MemoryFault("3"), HasSubstr("entries.u.c: must be a list"));
  EXPECT_THAT(MemoryFault("[3]"), HasSubstr("must be an object"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":1}])"), HasSubstr("numaAffinity"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":1,"numaAffinity":[]}])"),
              HasSubstr("numaAffinity"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":1,"numaAffinity":[64]}])"),
              HasSubstr("0 to 63"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":1,"numaAffinity":[1]}])"),
              HasSubstr("machineState has no NUMA node 1"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":-1,"numaAffinity":[0]}])"),
              HasSubstr("size must be a number of bytes"));
  EXPECT_THAT(MemoryFault(R"([{"type":"memory","size":18446744073709551615,"numaAffinity":[0]}])"),
              HasSubstr("size must be a number of bytes"));
  EXPECT_THAT(MemoryFault(R"([{"type":"","size":1,"numaAffinity":[0]}])"), HasSubstr("is no name"));
  EXPECT_THAT(
      std::string(
          ReadKubeletState("", R"({"policyName":"Static","checksum":1})").status().message()),
      HasSubstr("machineState: must be an object"));
}

}  // namespace
}  // namespace plimsoll::agent
