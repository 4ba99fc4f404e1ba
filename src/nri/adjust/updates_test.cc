#include "nri/adjust/updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::HasSubstr;

absl::Status Take(Updates* updates, const std::string& plugin, const std::string& text) {
  const auto answer = FromText<api::UpdateContainerResponse>(text);
  return updates->Take(plugin, answer.update(), answer.evict());
}

TEST(UpdatesTest, DifferentFieldsOfOneContainerBecomeOneUpdate) {
  Updates updates("");
  ASSERT_EQ(Take(&updates, "10-a",
                 R"(update { container_id: "c1" ignore_failure: true
                             linux { resources { cpu { cpus: "1" shares { value: 10 } } } } })"),
            absl::OkStatus());
  ASSERT_EQ(Take(&updates, "20-b",
                 R"(update { container_id: "c2" linux { resources { pids { limit: 7 } } } }
                    update { container_id: "c1" linux { resources {
                               cpu { mems: "0" } unified { key: "memory.high" value: "1" }
                               rdt_class { value: "gold" } } } })"),
            absl::OkStatus());
  ASSERT_EQ(updates.updates().size(), 2u);
  EXPECT_EQ(updates.updates()[0].plugin, "10-a");
  EXPECT_EQ(updates.updates()[0].update.DebugString(), FromText<api::ContainerUpdate>(
                                                           R"(container_id: "c1" linux { resources {
                     cpu { shares { value: 10 } cpus: "1" mems: "0" }
                     rdt_class { value: "gold" }
                     unified { key: "memory.high" value: "1" } } })")
                                                           .DebugString());
  using Changes = std::vector<runtime::PluginChange>;
  EXPECT_EQ(updates.updates()[0].changed_by,
            (Changes{{"linux.resources.cpu.cpus", "", "10-a"},
                     {"linux.resources.cpu.mems", "", "20-b"},
                     {"linux.resources.cpu.shares", "", "10-a"},
                     {"linux.resources.rdt_class", "", "20-b"},
                     {"linux.resources.unified", "memory.high", "20-b"}}));
  EXPECT_EQ(updates.updates()[1].plugin, "20-b");
  EXPECT_EQ(updates.own().ByteSizeLong(), 0u);
}

TEST(UpdatesTest, EveryPluginMustIgnoreAFailure) {
  const std::string ignoring = R"(container_id: "c1" ignore_failure: true )";
  Updates updates("");
  ASSERT_EQ(Take(&updates, "10-a",
                 "update { " + ignoring + R"(linux { resources { cpu { cpus: "1" } } } })"),
            absl::OkStatus());
  ASSERT_EQ(Take(&updates, "20-b",
                 "update { " + ignoring + R"(linux { resources { cpu { mems: "1" } } } })"),
            absl::OkStatus());
  EXPECT_TRUE(updates.updates()[0].update.ignore_failure());
}

TEST(UpdatesTest, AFieldHasOneOwnerAContainer) {
  Updates updates("");
  const std::string first = R"(update { container_id: "c1"
                                        linux { resources { pids { limit: 1 } } } })";
  ASSERT_EQ(Take(&updates, "10-a", first), absl::OkStatus());
  EXPECT_EQ(Take(&updates, "20-b", R"(update { container_id: "c2"
                                               linux { resources { pids { limit: 2 } } } }
                                      update { container_id: "c1"
                                               linux { resources { pids { limit: 2 } } } })"),
            absl::AlreadyExistsError("update of container c1: plugins 10-a and 20-b both set "
                                     "linux.resources.pids: only one of them may"));
  ASSERT_EQ(updates.updates().size(), 1u) << "the first of two updates stays";
  EXPECT_EQ(updates.updates()[0].update.linux().resources().pids().limit(), 1);
  EXPECT_EQ(updates.owners().count("c2"), 0u);
}

TEST(UpdatesTest, AConflictOfAnIgnoringUpdateIsIgnored) {
  Updates updates("");
  ASSERT_EQ(Take(&updates, "10-a", R"(update { container_id: "c1" linux { resources {
                                                 unified { key: "a.b" value: "1" } } } })"),
            absl::OkStatus());
  ASSERT_EQ(Take(&updates, "20-b",
                 R"(update { container_id: "c1" ignore_failure: true linux { resources {
                               cpu { cpus: "1" } unified { key: "a.b" value: "2" } } } }
                    update { container_id: "c2" linux { resources { pids { limit: 2 } } } })"),
            absl::OkStatus());
  ASSERT_EQ(updates.updates().size(), 2u);
  EXPECT_FALSE(updates.updates()[0].update.linux().resources().has_cpu()) << "all or nothing";
  ASSERT_EQ(updates.ignored().size(), 1u);
  EXPECT_EQ(updates.ignored()[0].plugin, "20-b");
  EXPECT_EQ(updates.ignored()[0].update.container_id(), "c1");
  EXPECT_EQ(updates.ignored()[0].why.code(), absl::StatusCode::kAlreadyExists);
  // So another plugin may still set it.
  EXPECT_EQ(Take(&updates, "30-c", R"(update { container_id: "c1"
                                               linux { resources { cpu { cpus: "2" } } } })"),
            absl::OkStatus());
}

TEST(UpdatesTest, TheUpdatedContainersOwnChangesAreApart) {
  Updates updates("c1");
  ASSERT_EQ(Take(&updates, "10-a",
                 R"(update { container_id: "c1" linux { resources { cpu { cpus: "1" } } } }
                    update { container_id: "c2" linux { resources { cpu { cpus: "2" } } } })"),
            absl::OkStatus());
  EXPECT_EQ(updates.own().DebugString(),
            FromText<api::LinuxResources>(R"(cpu { cpus: "1" })").DebugString());
  ASSERT_EQ(updates.updates().size(), 1u);
  EXPECT_EQ(updates.updates()[0].update.container_id(), "c2");
  EXPECT_EQ(Take(&updates, "20-b", R"(update { container_id: "c1"
                                               linux { resources { cpu { cpus: "3" } } } })")
                .code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(UpdatesTest, WrongValuesNamePluginAndContainer) {
  const std::pair<std::string, absl::Status> kCases[] = {
      {R"(update { linux { resources { pids { limit: 1 } } } })",
       absl::InvalidArgumentError("plugin 10-a: an update names no container in container_id")},
      {R"(evict { reason: "x" })",
       absl::InvalidArgumentError("plugin 10-a: an eviction names no container in container_id")},
      {R"(update { container_id: "c\n1" linux { resources { cpu { cpus: "x" } } } })",
       absl::InvalidArgumentError("plugin 10-a: update of container c\\n1: "
                                  "linux.resources.cpu.cpus is \"x\": must be a list such as "
                                  "\"0-3,8\"")},
      {R"(update { container_id: "c1" linux { resources { memory { swappiness { value: 1 } } } } })",
       absl::UnimplementedError("plugin 10-a: update of container c1: "
                                "linux.resources.memory.swappiness can be set when a container is "
                                "made, but not changed later")},
      {R"(update { container_id: "c1" linux { resources { cpu { mems: "\000" } } } })",
       absl::InvalidArgumentError("plugin 10-a: update of container c1: "
                                  "linux.resources.cpu.mems has a NUL byte in it")},
  };
  for (const auto& [text, status] : kCases) {
    Updates updates("");
    EXPECT_EQ(Take(&updates, "10-a", text), status);
    EXPECT_TRUE(updates.updates().empty());
    EXPECT_TRUE(updates.owners().empty());
  }
}

TEST(UpdatesTest, RulesOfDevicesCantBeUpdated) {
  Updates updates("");
  EXPECT_THAT(Take(&updates, "10-a", R"(update { container_id: "c1"
                                                 linux { resources { devices {} } } })")
                  .ToString(),
              HasSubstr("plugin 10-a: update of container c1: linux.resources.devices can't"));
}

TEST(UpdatesTest, UpdatesOfPluginsMustFitTogether) {
  const std::string limit =
      R"(update { container_id: "c1" linux { resources { memory { limit { value: 4096 } } } } })";
  const std::string swap =
      R"(update { container_id: "c1" linux { resources { memory { swap { value: 100 } } } } })";
  for (const char* updated : {"", "c1"}) {
    Updates updates(updated);
    ASSERT_EQ(Take(&updates, "10-a", limit), absl::OkStatus());
    EXPECT_THAT(Take(&updates, "20-b", swap).ToString(),
                HasSubstr("INVALID_ARGUMENT: plugin 20-b: update of container c1, with the "
                          "updates before this one: linux.resources.memory.swap is \"100\""));
  }
}

TEST(UpdatesTest, EachContainerIsEvictedOnce) {
  Updates updates("");
  ASSERT_EQ(Take(&updates, "10-a", R"(evict { container_id: "c1" reason: "first" })"),
            absl::OkStatus());
  ASSERT_EQ(Take(&updates, "20-b", R"(evict { container_id: "c1" reason: "second" }
                                      evict { container_id: "c2" })"),
            absl::OkStatus());
  ASSERT_EQ(updates.evictions().size(), 2u);
  EXPECT_EQ(updates.evictions()[0].plugin, "10-a");
  EXPECT_EQ(updates.evictions()[0].eviction.reason(), "first");
  EXPECT_EQ(updates.evictions()[1].plugin, "20-b");
}

TEST(UpdatesTest, UpdatesOfOneContainerAreBounded) {
  api::UpdateContainerResponse answer;
  for (int i = 0; i < 65; ++i) {
    auto* update = answer.add_update();
    update->set_container_id("c1");
    (*update->mutable_linux()->mutable_resources()->mutable_unified())[absl::StrCat("a.", i)] = "1";
  }
  EXPECT_EQ(Updates("").Take("10-a", answer.update(), {}),
            absl::ResourceExhaustedError("plugin 10-a: update of container c1: it is one of more "
                                         "than 64 updates of this container"));
  answer.mutable_update()->RemoveLast();
  Updates updates("");
  EXPECT_EQ(updates.Take("10-a", answer.update(), {}), absl::OkStatus());
  EXPECT_EQ(updates.updates().size(), 1u);
}

TEST(UpdatesTest, NumbersAreBounded) {
  api::UpdateContainerResponse answer;
  for (int i = 0; i < 4096; ++i) answer.add_update()->set_container_id(absl::StrCat("c", i));
  Updates updates("");
  ASSERT_EQ(updates.Take("10-a", answer.update(), {}), absl::OkStatus());
  EXPECT_EQ(updates.updates().size(), 4096u);
  EXPECT_EQ(Take(&updates, "20-b", R"(update { container_id: "one-more" })"),
            absl::ResourceExhaustedError("plugin 20-b: with its answer, 4097 updates are asked "
                                         "for; at most 4096 are taken"));
  answer.add_update()->set_container_id("one-more");
  EXPECT_EQ(Updates("").Take("10-a", answer.update(), {}).code(),
            absl::StatusCode::kResourceExhausted);
  api::ContainerEviction eviction;
  for (int i = 0; i < 4097; ++i) answer.add_evict()->set_container_id(absl::StrCat("c", i));
  EXPECT_EQ(Updates("").Take("10-a", {}, answer.evict()),
            absl::ResourceExhaustedError("plugin 10-a: with its answer, 4097 evictions are asked "
                                         "for; at most 4096 are taken"));
  answer.Clear();
  answer.add_evict()->set_container_id("c1");
  answer.mutable_evict(0)->set_reason(std::string(4097, 'x'));
  EXPECT_EQ(Updates("").Take("10-a", {}, answer.evict()),
            absl::ResourceExhaustedError("plugin 10-a: eviction of container c1: the reason has "
                                         "4097 bytes; at most 4096 are taken"));
}

TEST(UpdatesTest, TheEngineGetsSettingsAndClasses) {
  const auto update = ToUpdate(FromText<api::LinuxResources>(
      R"(cpu { cpus: "1" } blockio_class { value: "slow" } rdt_class { value: "gold" })"));
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(update->cgroup.cpuset_cpus, "1");
  EXPECT_EQ(update->classes, (qos::ClassNames{{"blockio", "slow"}, {"rdt", "gold"}}));
  EXPECT_FALSE(update->oom_score_adj.has_value());
}

}  // namespace
}  // namespace plimsoll::nri
