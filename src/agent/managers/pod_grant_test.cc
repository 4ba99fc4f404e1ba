#include "agent/managers/pod_grant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

PodGrant FullGrant() {
  PodGrant grant;
  grant.containers["main"] = {
      .cpus = CpusOfText("2-3"),
      .cpu_count = 3,
      .memory = {{"memory",
                  NodeMask::FromBits(3),
                  int64_t{5} << 30,
                  {{0, 1}, {1, (int64_t{5} << 30) - 1}}},
                 {"hugepages-2Mi", NodeMask::Of(1), 1 << 21, {{1, 1 << 21}}}}};
  grant.containers["side"] = {.cpus = CpusOfText("8"), .cpu_count = 1, .memory = {}};
  grant.pod = {.cpus = CpusOfText("2-9"), .cpu_count = 8, .memory = {}};
  grant.devices = {{"main", {{"example.com/gpu", {"gpu-1", "gpu-0"}}}}};
  grant.device_answers["main"] = {.cdi_names = {"vendor.com/gpu=0"},
                                  .nodes = {{"/dev/a", "/dev/b", "rw"}},
                                  .mounts = {{"/lib/a", "/lib/b", true}},
                                  .env = {{"A", "1"}},
                                  .annotations = {{"a/b", "c"}}};
  return grant;
}

// The message of what a text is refused with; empty: it is not refused.
std::string GrantFault(absl::string_view text) {
  const absl::Status status = PodGrantOf(nlohmann::json::parse(text)).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(PodGrantTest, AGrantComesBackWholeFromItsText) {
  const std::string text = ToJson(FullGrant()).dump();
  const auto read = PodGrantOf(nlohmann::json::parse(text));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, FullGrant());
  EXPECT_EQ(ToJson(PodGrant()).dump(), "{}");
  EXPECT_EQ(*PodGrantOf(nlohmann::json::object()), PodGrant());
}

TEST(PodGrantTest, TheTextIsPlain) {
  PodGrant grant;
  grant.containers["a"] = {.cpus = CpusOfText("0,4"),
                           .cpu_count = 2,
                           .memory = {{"memory", NodeMask::Of(0), 4096, {{0, 4096}}}}};
  EXPECT_EQ(ToJson(grant).dump(),
            R"({"containers":{"a":{"cpuCount":2,"cpus":"0,4","memory":[{"bytes":4096,"nodes":[0],)"
            R"("resource":"memory","shares":{"0":4096}}]}}})");
}

TEST(PodGrantTest, ExclusiveCpusAreThoseOfAllContainersAndOfThePod) {
  PodGrant grant = FullGrant();
  EXPECT_EQ(grant.ExclusiveCpus().ToString(), "2-9");
  grant.pod = {};
  EXPECT_EQ(grant.ExclusiveCpus().ToString(), "2-3,8");
  EXPECT_TRUE(PodGrant().ExclusiveCpus().Empty());
}

TEST(PodGrantTest, AGrantOfNothingIsEmpty) {
  PodGrant grant;
  grant.containers["a"];
  EXPECT_TRUE(grant.Empty());
  grant.containers["a"].cpu_count = 1;
  EXPECT_FALSE(grant.Empty()) << "it lost its CPUs, and is to get them back";
  EXPECT_FALSE(FullGrant().Empty());
  grant = {};
  grant.devices["a"];
  EXPECT_FALSE(grant.Empty());
}

TEST(PodGrantTest, TextOfAnotherShapeIsRefused) {
  EXPECT_THAT(GrantFault("[]"), HasSubstr("no object"));
  EXPECT_NE(GrantFault(R"({"containers": {"a": 3}})"), "");
  EXPECT_NE(GrantFault(R"({"containers": [3]})"), "");
  EXPECT_THAT(GrantFault(R"({"containers": {"a": {"cpus": "3-1"}}})"),
              HasSubstr("container \"a\""));
  EXPECT_NE(GrantFault(R"({"containers": {"a": {"cpus": 3}}})"), "");
  EXPECT_THAT(GrantFault(R"({"pod": {"cpuCount": -1}})"), HasSubstr("no number of CPUs"));
  EXPECT_THAT(GrantFault(R"({"pod": {"cpuCount": 70000}})"), HasSubstr("no number of CPUs"));
  EXPECT_NE(GrantFault(R"({"pod": {"memory": [{}]}})"), "");
  EXPECT_NE(GrantFault(R"({"devices": {"a": {"r": [3]}}})"), "");
  EXPECT_NE(GrantFault(R"({"deviceAnswers": {"a": {}}})"), "");
}

TEST(PodGrantTest, MemoryWhoseSharesAreNotItsBytesIsRefused) {
  const std::string start = R"({"pod": {"memory": [{"resource": "memory", "nodes": )";
  EXPECT_EQ(GrantFault(start + R"([1], "bytes": 7, "shares": {"1": 7}}]}})"), "");
  EXPECT_THAT(GrantFault(start + R"([1], "bytes": 7, "shares": {"1": 6}}]}})"),
              HasSubstr("shares"));
  EXPECT_THAT(GrantFault(start + R"([1], "bytes": 7, "shares": {"0": 7}}]}})"),
              HasSubstr("shares"));
  EXPECT_THAT(GrantFault(start + R"([1], "bytes": -7, "shares": {"1": -7}}]}})"),
              HasSubstr("shares"));
  EXPECT_THAT(GrantFault(start + R"([64], "bytes": 0, "shares": {}}]}})"),
              HasSubstr("NUMA node 64"));
  EXPECT_THAT(GrantFault(start + R"([1], "bytes": 0, "shares": {"x": 0}}]}})"),
              HasSubstr("NUMA node"));
  EXPECT_NE(GrantFault(start + R"([1], "bytes": "7", "shares": {"1": 7}}]}})"), "");
}

}  // namespace
}  // namespace plimsoll::agent
