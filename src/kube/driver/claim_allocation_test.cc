#include "kube/driver/claim_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

absl::StatusOr<Allocation> Read(const Json& object) {
  return ReadAllocation(object, ClaimForTest(), kNodeForTest);
}

TEST(ClaimAllocationTest, OwnDevicesAreRead) {
  Json object = ClaimObject(ClaimForTest(), {{"a", "rdt-gold"}, {"b/second", "pod-lane-fast"}});
  object["status"]["allocation"]["devices"]["results"][0]["shareID"] = "s1";
  object["status"]["allocation"]["devices"]["results"].push_back(
      {{"request", "gpu"}, {"driver", "gpu.example.com"}, {"pool", "x"}, {"device", "0"}});
  const auto allocation = Read(object);
  ASSERT_TRUE(allocation.ok()) << allocation.status();
  EXPECT_THAT(allocation->devices, ElementsAre(AllocatedDevice{"a", "rdt-gold", "s1"},
                                               // The chosen alternative is the scheduler's affair.
                                               AllocatedDevice{"b", "pod-lane-fast", ""}));
  EXPECT_THAT(allocation->pods, ElementsAre("pod-1"));
  EXPECT_FALSE(allocation->other_consumers);
}

TEST(ClaimAllocationTest, ConsumersThatAreNoPodsCount) {
  Json object = ClaimObject(ClaimForTest(), {{"a", "rdt-gold"}}, {"pod-1", "pod-2"});
  object["status"]["reservedFor"].push_back(
      {{"apiGroup", "scheduling.k8s.io"}, {"resource", "podgroups"}, {"name", "g"}, {"uid", "g1"}});
  const auto allocation = Read(object);
  ASSERT_TRUE(allocation.ok()) << allocation.status();
  EXPECT_THAT(allocation->pods, ElementsAre("pod-1", "pod-2"));
  EXPECT_TRUE(allocation->other_consumers);
}

struct Wrong {
  std::function<void(Json&)> spoil;
  std::string message;
};
class ClaimAllocationMistakeTest : public testing::TestWithParam<Wrong> {};

TEST_P(ClaimAllocationMistakeTest, IsRefusedWithItsReason) {
  Json object = ClaimObject(ClaimForTest(), {{"a", "rdt-gold"}});
  GetParam().spoil(object);
  const absl::Status status = Read(object).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

Json& FirstResult(Json& object) {
  return object["status"]["allocation"]["devices"]["results"][0];
}

INSTANTIATE_TEST_SUITE_P(
    All, ClaimAllocationMistakeTest,
    testing::Values(
        Wrong{[](Json& object) { object["metadata"]["uid"] = "u2"; },
              "has uid \"u2\" now: the one that kubelet means was deleted"},
        Wrong{[](Json& object) { object["status"].erase("allocation"); }, "is not allocated"},
        Wrong{[](Json& object) { object.erase("status"); }, "is not allocated"},
        Wrong{[](Json& object) { object = "x"; }, "has uid \"\""},
        Wrong{[](Json& object) { FirstResult(object)["pool"] = "n2"; },
              "from pool \"n2\"; this node's pool is \"n1\""},
        Wrong{[](Json& object) { FirstResult(object)["adminAccess"] = true; }, "adminAccess"},
        Wrong{[](Json& object) { FirstResult(object)["driver"] = "d"; },
              "without a device of driver classes.plimsoll.dev"},
        Wrong{[](Json& object) { FirstResult(object)["device"] = 7; }, "device is \"\""},
        Wrong{[](Json& object) { FirstResult(object)["request"] = "a b"; }, "request is \"a b\""},
        Wrong{[](Json& object) { FirstResult(object)["shareID"] = std::string(600, 'x'); },
              "shareID"},
        Wrong{[](Json& object) {
                Json& results = object["status"]["allocation"]["devices"]["results"];
                for (int i = 0; i < 200; ++i) results.push_back(results[0]);
              },
              "has 201 entries; at most 128"},
        Wrong{[](Json& object) {
                for (int i = 0; i < 2000; ++i) object["status"]["reservedFor"].push_back("x");
              },
              "at most 1024"}));

TEST(ClaimRefTest, OnlyNamesOfObjectsGetIntoPaths) {
  EXPECT_TRUE(CheckClaimRef({"default", "c-1.x", "0a-1b"}).ok());
  EXPECT_EQ(PathOf({"default", "c1", "u"}),
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c1");
  for (const char* name : {"", "a/b", "..", ".", "a?b", "a%2e", "a b", "a\n", "\xff"}) {
    EXPECT_EQ(CheckClaimRef({"default", name, "u"}).code(), absl::StatusCode::kInvalidArgument)
        << name;
    EXPECT_FALSE(CheckClaimRef({name, "c", "u"}).ok()) << name;
    EXPECT_FALSE(CheckClaimRef({"default", "c", name}).ok()) << name;
  }
  EXPECT_FALSE(CheckClaimRef({"default", std::string(254, 'a'), "u"}).ok());
}

}  // namespace
}  // namespace plimsoll::kube
