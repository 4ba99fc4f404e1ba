#include "kube/driver/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/dir_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/driver/node_for_test.h"
#include "kube/link/fake_link_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClaimsTest : public testing::Test {
 protected:
  ClaimsTest() { board_.Set(PoolDevicesOf(ReportForTest())); }

  void PutClaim(const std::vector<std::pair<std::string, std::string>>& devices,
                const std::vector<std::string>& pods = {"pod-1"}, const std::string& uid = "u1") {
    api_.Put(PathOf(ClaimForTest(uid)), ClaimObject(ClaimForTest(uid), devices, pods));
  }
  absl::StatusOr<std::vector<PluginDevice>> Prepare(const std::string& uid = "u1") {
    return claims_.Prepare(ClaimForTest(uid));
  }
  // The error's text; "OK" without one.
  std::string Failure(const std::string& uid = "u1") {
    const auto prepared = Prepare(uid);
    return prepared.ok() ? "OK" : std::string(prepared.status().message());
  }

  TestDir dir_;
  FakeApiClient api_;
  FakeLink link_;
  DeviceBoard board_;
  std::unique_ptr<ClaimStore> store_ = *ClaimStore::Open(dir_.root());
  Claims claims_{api_, link_, board_, *store_, {.node = kNodeForTest, .patience = {}}};
};

const PluginDevice kGold{"a", "rdt-gold", "", {"classes.plimsoll.dev/rdt=gold"}};

TEST_F(ClaimsTest, AContainersClassIsItsCdiDevice) {
  PutClaim({{"a", "rdt-gold"}});
  const auto prepared = Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT(*prepared, ElementsAre(kGold));
  EXPECT_THAT(link_.calls(), IsEmpty());
  EXPECT_THAT(api_.TakeLines(),
              ElementsAre("GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
                          "claim-u1"));
}

TEST_F(ClaimsTest, APodsClassIsToldToPlimsolldBeforeTheAnswer) {
  PutClaim({{"a", "rdt-gold"}, {"p", "pod-lane-fast"}});
  const auto prepared = Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT(*prepared, ElementsAre(kGold, PluginDevice{"p", "pod-lane-fast", "", {}}));
  EXPECT_THAT(link_.calls(), ElementsAre("SetPodClasses pod-1 u1 lane=fast"));
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
  EXPECT_THAT(link_.told(), IsEmpty());
  EXPECT_EQ(store_->Count().value(), 0);
}

TEST_F(ClaimsTest, BothCallsAreIdempotent) {
  PutClaim({{"p", "pod-lane-fast"}});
  const auto first = Prepare();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Prepare().value(), *first);
  EXPECT_EQ(link_.told().size(), 1u);
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
}

TEST_F(ClaimsTest, AnUnknownClaimIsUnpreparedWhateverPlimsolldSays) {
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
  link_.Answer(absl::UnavailableError("away"));
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest("u2")).ok());
  EXPECT_THAT(link_.calls(), ElementsAre("DropPodClasses u1", "DropPodClasses u2"));
}

TEST_F(ClaimsTest, AnOutageOfTheApiServerStopsNoPreparedClaim) {
  PutClaim({{"a", "rdt-gold"}, {"p", "pod-lane-fast"}});
  const auto first = Prepare();
  ASSERT_TRUE(first.ok()) << first.status();
  for (const absl::Status& away :
       {absl::UnavailableError("no route"), absl::DeadlineExceededError("slow"),
        absl::UnauthenticatedError("token"), absl::PermissionDeniedError("rbac"),
        absl::ResourceExhaustedError("429")}) {
    api_.Fail("GET", "resourceclaims", away);
    EXPECT_EQ(Prepare().value(), *first) << away;
  }
  api_.Fail("GET", "resourceclaims", absl::UnavailableError("no route"), FakeApiClient::kAlways);
  PutClaim({{"a", "rdt-gold"}}, {"pod-1"}, "u2");
  EXPECT_THAT(Failure("u2"), HasSubstr("claim default/claim-u2 (uid u2): can't be read from the "
                                       "API server: "));
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
}

TEST_F(ClaimsTest, ADeletedClaimIsNoOutage) {
  PutClaim({{"a", "rdt-gold"}});
  ASSERT_TRUE(Prepare().ok());
  api_.Remove(PathOf(ClaimForTest()));
  EXPECT_EQ(Prepare().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ClaimsTest, AClaimOfTheSameNameIsAnotherOne) {
  auto object = ClaimObject(ClaimForTest(), {{"a", "rdt-gold"}});
  object["metadata"]["uid"] = "u9";
  api_.Put(PathOf(ClaimForTest()), object);
  EXPECT_THAT(Failure(), HasSubstr("has uid \"u9\" now"));
}

TEST_F(ClaimsTest, ANewAllocationReplacesTheOldOne) {
  PutClaim({{"p", "pod-lane-fast"}});
  ASSERT_TRUE(Prepare().ok());
  PutClaim({{"p", "pod-lane-slow"}}, {"pod-2"});
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(link_.told().at("u1"), (PodClasses{"pod-2", "u1", {{"lane", "slow"}}}));
  PutClaim({{"a", "rdt-gold"}});
  EXPECT_THAT(Prepare().value(), ElementsAre(kGold));
  EXPECT_THAT(link_.told(), IsEmpty());
  EXPECT_EQ(store_->Find("u1").value()->pod_uid, "");
}

TEST_F(ClaimsTest, AClaimIsForOnePod) {
  for (const char* device : {"pod-lane-fast", "rdt-gold"}) {
    PutClaim({{"p", device}}, {"pod-1", "pod-2"});
    EXPECT_THAT(Failure(),
                HasSubstr("is reserved for pod-1 and pod-2; such a claim counts once and "
                          "is for one pod: give each pod a claim of its own by a "
                          "ResourceClaimTemplate, or ask for the extended resource"));
    PutClaim({{"p", device}}, {});
    EXPECT_THAT(Failure(), HasSubstr("is reserved for no pod;"));
    PutClaim({{"p", device}}, std::vector<std::string>(100, "pod"));
    EXPECT_THAT(Failure(), HasSubstr("for pod and pod and pod and pod and 96 more;"));
  }
  EXPECT_THAT(link_.calls(), IsEmpty());
  EXPECT_EQ(store_->Count().value(), 0);
}

TEST_F(ClaimsTest, APreparedClaimIsNotHandedToASecondPod) {
  PutClaim({{"a", "rdt-gold"}});
  ASSERT_TRUE(Prepare().ok());
  PutClaim({{"a", "rdt-gold"}}, {"pod-1", "pod-2"});
  EXPECT_THAT(Failure(), HasSubstr("is reserved for pod-1 and pod-2"));
  EXPECT_EQ(store_->Count().value(), 1) << "the first pod's";
}

TEST_F(ClaimsTest, TwoClassesOfAPodLevelTypeContradict) {
  PutClaim({{"p", "pod-lane-fast"}, {"q", "pod-lane-slow"}});
  EXPECT_THAT(Failure(), HasSubstr("classes \"fast\" and \"slow\" of pod-level type \"lane\""));
  EXPECT_EQ(store_->Count().value(), 0);
}

TEST_F(ClaimsTest, AClassThatVanishedIsNamed) {
  PutClaim({{"a", "rdt-gold"}});
  ASSERT_TRUE(Prepare().ok());
  NodeReport report = ReportForTest();
  report.types[0].classes.erase(report.types[0].classes.begin());
  board_.Set(PoolDevicesOf(report));
  EXPECT_THAT(Failure(), HasSubstr("claim default/claim-u1 (uid u1): device \"rdt-gold\" is no "
                                   "class of this node now; it has pod-lane-fast, "));
  api_.Fail("GET", "resourceclaims", absl::UnavailableError("away"));
  EXPECT_THAT(Failure(), HasSubstr("\"rdt-gold\" is no class")) << "also by the disk's row";
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
}

TEST_F(ClaimsTest, AnErrorOfPlimsolldIsThePods) {
  PutClaim({{"p", "pod-lane-fast"}});
  link_.Answer(absl::FailedPreconditionError("pod has class slow by claim u0"));
  EXPECT_THAT(Failure(), HasSubstr("pod has class slow by claim u0"));
  // The row came first, so the end of the pod drops what plimsolld may have noted.
  EXPECT_EQ(store_->Count().value(), 1);
  EXPECT_FALSE(claims_.Unprepare(ClaimForTest()).ok()) << "kubelet tries again";
  link_.Answer(absl::OkStatus());
  EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
  EXPECT_EQ(store_->Count().value(), 0);
}

TEST_F(ClaimsTest, ADamagedRowIsMadeAnewAndNotBelieved) {
  PutClaim({{"a", "rdt-gold"}});
  ASSERT_TRUE(store_->Put({ClaimForTest(), {}, "pod-1"}).ok());
  api_.Fail("GET", "resourceclaims", absl::UnavailableError("away"));
  EXPECT_THAT(Failure(), HasSubstr("away"));
  EXPECT_THAT(Prepare().value(), ElementsAre(kGold));
  EXPECT_THAT(link_.calls(), ElementsAre("DropPodClasses u1"));
}

TEST_F(ClaimsTest, NothingIsKnownBeforePlimsolldHasTold) {
  DeviceBoard empty;
  Claims claims(api_, link_, empty, *store_, {.node = kNodeForTest, .patience = {}});
  PutClaim({{"a", "rdt-gold"}});
  const auto prepared = claims.Prepare(ClaimForTest());
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("does it run"));
}

TEST_F(ClaimsTest, WhatPlimsolldHasLostIsToldAgain) {
  PutClaim({{"p", "pod-lane-fast"}}, {"pod-1"}, "u1");
  PutClaim({{"p", "pod-lane-slow"}}, {"pod-2"}, "u2");
  PutClaim({{"a", "rdt-gold"}}, {"pod-3"}, "u3");
  for (const char* uid : {"u1", "u2", "u3"}) ASSERT_TRUE(Prepare(uid).ok()) << uid;
  ASSERT_TRUE(link_.DropPodClasses("u1").ok());
  ASSERT_TRUE(link_.SetPodClasses({"pod-9", "u9", {{"lane", "fast"}}}).ok());
  link_.ForgetCalls();
  std::vector<std::string> refusals;
  const auto refused = [&](const std::string& text) { refusals.push_back(text); };
  EXPECT_TRUE(claims_.TellAgain(refused).ok());
  EXPECT_THAT(link_.calls(), ElementsAre("ListPodClasses", "SetPodClasses pod-1 u1 lane=fast"));
  EXPECT_TRUE(link_.told().contains("u9")) << "this disk may have lost it";
  EXPECT_THAT(refusals, IsEmpty());
}

TEST_F(ClaimsTest, WhatPlimsolldRefusesToHearAgainIsSaidOnce) {
  std::vector<std::string> refusals;
  const auto refused = [&](const std::string& text) { refusals.push_back(text); };
  EXPECT_TRUE(claims_.TellAgain(refused).ok());
  EXPECT_THAT(link_.calls(), IsEmpty()) << "there is nothing to tell";
  EXPECT_FALSE(claims_.must_tell_again());
  for (const char* uid : {"u1", "u2"}) {
    PutClaim({{"p", "pod-lane-fast"}}, {"pod-1"}, uid);
    ASSERT_TRUE(Prepare(uid).ok());
    ASSERT_TRUE(link_.DropPodClasses(uid).ok());
  }
  claims_.RuntimeIsBack();
  link_.Answer(absl::UnavailableError("away"));
  EXPECT_EQ(claims_.TellAgain(refused).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(claims_.must_tell_again());
  EXPECT_THAT(refusals, IsEmpty());
  link_.Answer(absl::OkStatus());
  link_.AnswerToSets(absl::NotFoundError("no such class"));
  EXPECT_TRUE(claims_.TellAgain(refused).ok()) << "to try again would change nothing";
  EXPECT_TRUE(claims_.TellAgain(refused).ok());
  EXPECT_THAT(refusals,
              ElementsAre("plimsolld has lost the pod-level classes of 2 prepared claims and "
                          "refuses to take them again; the first is claim default/claim-u1 (uid "
                          "u1): no such class"));
}

TEST_F(ClaimsTest, AnOddNameAsksNobody) {
  EXPECT_EQ(claims_.Prepare({"default", "a/../b", "u"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(claims_.Unprepare({"default", "a", ""}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(api_.TakeLines(), IsEmpty());
  EXPECT_THAT(link_.calls(), IsEmpty());
}

TEST_F(ClaimsTest, CallsAboutOneClaimTakeTurns) {
  PutClaim({{"p", "pod-lane-fast"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < 20; ++round) {
        if (i % 2 == 0) {
          EXPECT_TRUE(Prepare().ok());
        } else {
          EXPECT_TRUE(claims_.Unprepare(ClaimForTest()).ok());
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(store_->Count().value(), static_cast<int64_t>(link_.told().size()));
}

}  // namespace
}  // namespace plimsoll::kube
