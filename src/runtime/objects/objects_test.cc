#include "runtime/objects/objects.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ObjectsTest : public ::testing::Test {
 protected:
  void AddSandbox(const std::string& id, int64_t created = 0) {
    SandboxRecord record;
    record.id = id;
    record.created_unix_nanos = created;
    objects_.AddSandbox(std::make_shared<Sandbox>(record));
  }
  void AddContainer(const std::string& id, const std::string& sandbox, int64_t created = 0,
                    uint32_t attempt = 0) {
    ContainerRecord record;
    record.id = id;
    record.sandbox_id = sandbox;
    record.created_unix_nanos = created;
    record.spec.attempt = attempt;
    objects_.AddContainer(std::make_shared<Container>(record));
  }
  static std::vector<std::string> Ids(const std::vector<ContainerRecord>& records) {
    std::vector<std::string> ids;
    for (const ContainerRecord& record : records) ids.push_back(record.id);
    return ids;
  }

  Objects objects_;
};

TEST_F(ObjectsTest, FindsByPrefixUntilRemoved) {
  AddSandbox("pod1");
  AddContainer("c1", "pod1");
  EXPECT_EQ((*objects_.FindSandbox("pod"))->id, "pod1");
  EXPECT_EQ((*objects_.FindContainer("c"))->id, "c1");
  EXPECT_TRUE(absl::IsNotFound(objects_.FindContainer("pod1").status()));
  objects_.RemoveSandbox("pod1", [] {});
  objects_.RemoveContainer("c1", [] {});
  EXPECT_TRUE(absl::IsNotFound(objects_.FindSandbox("pod1").status()));
  EXPECT_TRUE(absl::IsNotFound(objects_.FindContainer("c1").status()));
}

TEST_F(ObjectsTest, ListsTheNewestFirstByCreationAndAttempt) {
  AddContainer("a", "pod", /*created=*/1);
  AddContainer("b", "pod", /*created=*/2, /*attempt=*/0);
  AddContainer("c", "pod", /*created=*/2, /*attempt=*/1);
  AddContainer("d", "other", /*created=*/3);
  EXPECT_THAT(Ids(objects_.ListContainers()), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(Ids(objects_.ListContainersOf("pod")), ElementsAre("c", "b", "a"));
  EXPECT_EQ(objects_.ContainersOf("pod").size(), 3u);
  std::vector<std::string> visited;
  objects_.VisitContainers([&](const ContainerRecord& record) { visited.push_back(record.id); });
  EXPECT_THAT(visited, ElementsAre("d", "c", "b", "a"));
}

TEST_F(ObjectsTest, ListsSandboxesTheNewestFirst) {
  AddSandbox("old", /*created=*/1);
  AddSandbox("young", /*created=*/2);
  std::vector<std::string> listed, visited;
  for (const SandboxRecord& record : objects_.ListSandboxes()) listed.push_back(record.id);
  objects_.VisitSandboxes([&](const SandboxRecord& record) { visited.push_back(record.id); });
  EXPECT_THAT(listed, ElementsAre("young", "old"));
  EXPECT_THAT(visited, ElementsAre("young", "old"));
}

TEST_F(ObjectsTest, TellsOfAChangeOnce) {
  SandboxRecord record;
  record.id = "pod";
  int told = 0;
  objects_.AddSandbox(std::make_shared<Sandbox>(record), [&] { ++told; });
  EXPECT_EQ(told, 1);
  objects_.RemoveSandbox("pod", [&] { ++told; });
  EXPECT_EQ(told, 2);
}

TEST_F(ObjectsTest, ANameIsTakenOnceAndNamesItsHolder) {
  EXPECT_TRUE(objects_.ReserveName("pod/default/web", "id1", "pod default/web").ok());
  const absl::Status taken = objects_.ReserveName("pod/default/web", "id2", "pod default/web");
  EXPECT_TRUE(absl::IsAlreadyExists(taken));
  EXPECT_THAT(taken.message(), HasSubstr("pod default/web is there already, with id id1"));
  objects_.ReleaseName("id1");
  EXPECT_TRUE(objects_.ReserveName("pod/default/web", "id2", "pod default/web").ok());
}

TEST_F(ObjectsTest, WhatHasANameAndNoObjectIsInTheMaking) {
  ASSERT_TRUE(objects_.ReserveName("key", "pod", "pod").ok());
  EXPECT_THAT(objects_.IdsInTheMaking(), ElementsAre("pod"));
  AddSandbox("pod");
  EXPECT_THAT(objects_.IdsInTheMaking(), IsEmpty());
}

TEST(NameKeyTest, AnotherAttemptIsAnotherName) {
  SandboxSpec pod;
  pod.name = "web";
  ContainerSpec container;
  container.name = "web";
  const std::string first_pod = NameKey(pod);
  const std::string first_container = NameKey("pod", container);
  pod.attempt = 1;
  container.attempt = 1;
  EXPECT_NE(NameKey(pod), first_pod);
  EXPECT_NE(NameKey("pod", container), first_container);
  EXPECT_NE(NameKey("other", container), NameKey("pod", container));
}

}  // namespace
}  // namespace plimsoll::runtime
