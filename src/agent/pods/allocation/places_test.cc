#include "agent/pods/allocation/places.h"

#include <gtest/gtest.h>

#include "agent/pods/allocation/managers_for_test.h"
#include "agent/pods/allocation/place_book.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;

CpuSet SetOf(const std::string& text) {
  return *CpuSet::Parse(text);
}

// An init container, a sidecar, another init container, and two containers.
pod::Manifest FiveContainers() {
  const auto pods = pod::ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {initContainers: [{name: first, "
      "image: i}, {name: side, image: i, restartPolicy: Always}, {name: second, image: i}], "
      "containers: [{name: a, image: i}, {name: b, image: i}]}}",
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

TEST(PlacesTest, ContainersHaveTheirOwnCpusOrTheSharedOnes) {
  PodGrant grant;
  grant.containers["a"].cpus = SetOf("2-3");
  grant.containers["a"].memory = {{"memory", NodeMask::Of(1), 1, {}},
                                  {"hugepages-2Mi", NodeMask::Of(0), 1, {}}};
  auto places = PlacesOf(FiveContainers(), grant, SetOf("0-1"));
  EXPECT_EQ(places["a"].cpus, "2-3");
  EXPECT_EQ(places["a"].memory_nodes, "0,1");
  EXPECT_TRUE(places["a"].exclusive);
  EXPECT_EQ(places["b"].cpus, "0-1");
  EXPECT_EQ(places["b"].memory_nodes, "");
  EXPECT_FALSE(places["b"].exclusive);
  EXPECT_TRUE(HasExclusiveCpus(grant, "a"));
  EXPECT_FALSE(HasExclusiveCpus(grant, "b"));
  pod::Manifest pod = FiveContainers();
  EXPECT_TRUE(HasExclusiveCpus(grant, pod));
  pod.resources = resources::Requirements();
  EXPECT_FALSE(HasExclusiveCpus(grant, pod)) << "others share the pod's out";
  EXPECT_EQ(PlacesOf(FiveContainers(), {}, std::nullopt)["b"].cpus, "") << "the runtime's choice";
}

TEST(PlacesTest, ContainersOfAPodWithCpusRunOnThoseThatSiblingsLeave) {
  PodGrant grant;
  grant.pod.cpus = SetOf("2-7");
  grant.pod.memory = {{"memory", NodeMask::Of(1), 1, {}}};
  grant.containers["side"].cpus = SetOf("2");
  grant.containers["a"].cpus = SetOf("3-4");
  auto places = PlacesOf(FiveContainers(), grant, SetOf("0-1"));
  EXPECT_EQ(places["first"].cpus, "2-7") << "it ends before the sidecar starts";
  EXPECT_EQ(places["side"].cpus, "2");
  EXPECT_EQ(places["second"].cpus, "3-7") << "it runs beside the sidecar alone";
  EXPECT_EQ(places["a"].cpus, "3-4");
  EXPECT_EQ(places["b"].cpus, "5-7");
  EXPECT_EQ(places["b"].memory_nodes, "1");

  // CPUs after losses.
  grant.pod.cpus = SetOf("2-4");
  EXPECT_EQ(PlacesOf(FiveContainers(), grant, SetOf("0-1"))["b"].cpus, "2-4");
}

TEST(PlaceBookTest, NobodyHasAPlaceBeforeTheManagersAreKnown) {
  PlaceBook book;
  EXPECT_EQ(book.managers(), nullptr);
  EXPECT_FALSE(book.Confines());
  EXPECT_TRUE(absl::IsUnavailable(book.Places(FiveContainers(), {}).status()));
  EXPECT_TRUE(book.Set(NoManagers(), std::nullopt));
  EXPECT_FALSE(book.Confines()) << "policies none";
  EXPECT_EQ(book.Places(FiveContainers(), {})->at("a").cpus, "");
  EXPECT_TRUE(book.Set(StaticCpus("0-3"), SetOf("0-2")));
  EXPECT_TRUE(book.Confines());
  EXPECT_EQ(book.Places(FiveContainers(), {})->at("a").cpus, "0-2");
  EXPECT_FALSE(book.Set(StaticCpus("0-3"), SetOf("0-2")));
  EXPECT_TRUE(book.Set(StaticCpus("0-3"), SetOf("0-1")));
}

}  // namespace
}  // namespace plimsoll::agent
