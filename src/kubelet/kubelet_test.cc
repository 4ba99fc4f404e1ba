#include "kubelet/kubelet.h"

#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/fake_kubelet.h"
#include "kubelet/pods_for_test.h"

namespace plimsoll::kubelet {
namespace {

using plimsoll::testing::FakeKubelet;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr auto kPods = FakeKubelet::kPods;
constexpr auto kPodResources = FakeKubelet::kPodResources;

// Patience that no test exhausts unless it means to.
constexpr absl::Duration kLong = absl::Seconds(30);
// The shortest bound for a test that waits for its end.
constexpr absl::Duration kShort = absl::Milliseconds(100);

// Links and files of /proc/self/<directory> that say `what`, each by its <file> below if it has
// one.
int CountIn(const std::string& directory, const std::string& file, const std::string& what) {
  const FsRoot process = *FsRoot::Open("/proc/self/" + directory);
  const std::vector<std::string> entries = *process.List(".");
  int count = 0;
  for (const std::string& entry : entries) {
    const auto text = file.empty() ? process.ReadLink(entry) : process.Read(entry + "/" + file);
    if (text.ok() && absl::StartsWith(*text, what)) ++count;
  }
  return count;
}

// Counts sockets of servers too.
int Sockets() {
  return CountIn("fd", "", "socket:");
}

int AnswerThreads() {
  return CountIn("task", "comm", "kubelet-answers");
}

class KubeletTest : public ::testing::Test {
 protected:
  KubeletTest() : fake_(dir_.path()) {
    fake_.SetPod(WebPod());
    fake_.SetGrants(WebGrants());
  }

  std::unique_ptr<Kubelet> Client(absl::Duration patience = kLong, int most = 32) {
    return Kubelet::Make({.root = dir_.path(), .patience = patience, .most_questions = most});
  }
  absl::StatusOr<runtime::PodFacts> Ask(absl::Duration patience = kLong) {
    return Client(patience)->Ask(kWeb);
  }

  // Asks with short patience until PodResources has answered within it: a busy machine may take
  // longer.
  runtime::PodFacts AskUntilGrantsAlone() {
    runtime::PodFacts alone;
    EXPECT_TRUE(WaitUntil([&] {
      const auto facts = Ask(kShort);
      if (!facts.ok()) return false;
      alone = *facts;
      EXPECT_FALSE(alone.has_spec);
      return alone.has_grants;
    }));
    return alone;
  }

  TestDir dir_;
  FakeKubelet fake_;
};

TEST_F(KubeletTest, TellsWhatBothServicesTell) {
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec);
  EXPECT_EQ(facts->resources.containers.size(), 3u);
  EXPECT_TRUE(facts->has_grants);
  EXPECT_EQ(facts->grants.at("web").exclusive_cpus, "2-3,5");
  EXPECT_EQ(fake_.calls(kPods), 1);
  EXPECT_EQ(fake_.calls(kPodResources), 1);
}

TEST_F(KubeletTest, AskLaterAnswersOnce) {
  const auto client = Client();
  absl::Notification told;
  absl::StatusOr<runtime::PodFacts> facts = runtime::PodFacts();
  client->AskLater(kWeb, [&](absl::StatusOr<runtime::PodFacts> answer) {
    facts = std::move(answer);
    told.Notify();
  });
  told.WaitForNotification();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec && facts->has_grants);
}

TEST_F(KubeletTest, AStockKubeletHasNoPodsService) {
  fake_.Stop(kPods);
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_FALSE(facts->has_spec);
  EXPECT_TRUE(facts->has_grants);
  EXPECT_THAT(facts->missing, Contains(HasSubstr("there is no " + fake_.SocketOf(kPods))));
}

TEST_F(KubeletTest, WithoutKubeletNothingIsWaitedFor) {
  fake_.Stop(kPods);
  fake_.Stop(kPodResources);
  const auto client = Client(absl::InfiniteDuration());
  const auto facts = client->Ask(kWeb);
  EXPECT_TRUE(absl::IsUnavailable(facts.status())) << facts.status();
  EXPECT_THAT(facts.status().message(), HasSubstr(fake_.SocketOf(kPods)));
  EXPECT_THAT(facts.status().message(), HasSubstr(fake_.SocketOf(kPodResources)));
  EXPECT_TRUE(absl::IsUnavailable(client->AskGrants().status()));
}

TEST_F(KubeletTest, TheFirstQuestionAfterARestartIsAnswered) {
  const auto client = Client();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client->Ask(kWeb).ok());
    fake_.Stop(kPods);
    fake_.Stop(kPodResources);
    EXPECT_TRUE(absl::IsUnavailable(client->Ask(kWeb).status()));
    fake_.Start(kPods);
    fake_.Start(kPodResources);
    const auto facts = client->Ask(kWeb);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_TRUE(facts->has_spec && facts->has_grants);
  }
}

TEST_F(KubeletTest, APodThatKubeletDoesNotKnow) {
  fake_.RemovePod(kWeb.uid);
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_FALSE(facts->has_spec);
  EXPECT_THAT(facts->missing, Contains(HasSubstr("pod not found")));
  const auto nobody = Client()->Ask({"uid-9", "nobody", "shop"});
  EXPECT_TRUE(absl::IsUnavailable(nobody.status())) << nobody.status();
}

TEST_F(KubeletTest, ASilentServiceTakesNothingFromTheOther) {
  fake_.Behave(kPods, {.delay = absl::InfiniteDuration()});
  const auto grants_alone = AskUntilGrantsAlone();
  EXPECT_THAT(grants_alone.missing, Contains(HasSubstr("no answer in time")));

  fake_.Behave(kPods, {});
  fake_.Behave(kPodResources, {.delay = absl::InfiniteDuration()});
  EXPECT_TRUE(WaitUntil([&] {
    const auto facts = Ask(kShort);
    return facts.ok() && facts->has_spec && !facts->has_grants;
  }));
}

TEST_F(KubeletTest, BothSilent) {
  fake_.Behave(kPods, {.delay = absl::InfiniteDuration()});
  fake_.Behave(kPodResources, {.delay = absl::InfiniteDuration()});
  const auto client = Client(kShort);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client->Ask(kWeb).status()));
  EXPECT_TRUE(absl::IsUnavailable(client->AskGrants().status()));
}

TEST_F(KubeletTest, ASlowServiceIsWaitedFor) {
  fake_.Behave(kPods, {.delay = absl::Milliseconds(50)});
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec);
}

TEST_F(KubeletTest, ErrorsAreTold) {
  fake_.Behave(kPods, {.status = {grpc::StatusCode::INTERNAL, "out of \x1b[31mluck"}});
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->missing, Contains(HasSubstr("out of \\x1b[31mluck")));
}

// kubelet refuses the calls beyond its limit at once; its tokens come back in 10 ms.
TEST_F(KubeletTest, ABurstBeyondKubeletsLimitIsAnswered) {
  fake_.Behave(kPods, {.calls_a_second = 100});
  fake_.Behave(kPodResources, {.calls_a_second = 100});
  const auto client = Client();
  constexpr int kQuestions = 30;
  absl::BlockingCounter told(kQuestions);
  std::atomic<int> whole = 0;
  for (int i = 0; i < kQuestions; ++i) {
    client->AskLater(kWeb, [&](const absl::StatusOr<runtime::PodFacts>& facts) {
      if (facts.ok() && facts->has_spec && facts->has_grants) ++whole;
      told.DecrementCount();
    });
  }
  told.Wait();
  EXPECT_EQ(whole, kQuestions);
  EXPECT_GT(fake_.calls(kPods), kQuestions);
}

TEST_F(KubeletTest, ALimitThatStaysIsToldInTime) {
  const grpc::Status refused(grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit");
  fake_.Behave(kPods, {.status = refused});
  EXPECT_THAT(AskUntilGrantsAlone().missing,
              Contains(AnyOf(HasSubstr("rejected by rate limit"), HasSubstr("no answer in time"))));
}

TEST_F(KubeletTest, HugeAnswersAreRefusedAtOnce) {
  fake_.SetPodBytes(kWeb.uid, std::string(16 << 20, 'x'));
  ::v1::GetPodResourcesResponse huge;
  *huge.mutable_pod_resources() = WebGrants();
  huge.mutable_pod_resources()->mutable_containers(0)->set_name(std::string(16 << 20, 'x'));
  fake_.SetGrantsAnswer(kWeb.pod_namespace, kWeb.name, huge);
  const auto facts = Ask();
  EXPECT_TRUE(absl::IsUnavailable(facts.status())) << facts.status();
  EXPECT_THAT(facts.status().message(), HasSubstr("more than 2097152 bytes"));
  EXPECT_THAT(facts.status().message(), HasSubstr("more than 1048576 bytes"));
  EXPECT_EQ(fake_.calls(kPods), 1) << "a refusal by size is no limit of calls";
  EXPECT_THAT(Client()->AskGrants().status().message(), HasSubstr("more than 4194304 bytes"));
}

TEST_F(KubeletTest, APodOfTheLargestSizeIsRead) {
  core::Pod pod = WebPod();
  // Annotations and environments aren't read: field 12.
  pod.mutable_metadata()
      ->GetReflection()
      ->MutableUnknownFields(pod.mutable_metadata())
      ->AddLengthDelimited(12, std::string(3 << 19, 'a'));
  fake_.SetPod(pod);
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec);
}

TEST_F(KubeletTest, LiesAreRefused) {
  core::Pod other = WebPod();
  other.mutable_metadata()->set_uid("uid-2");
  fake_.SetPodBytes(kWeb.uid, other.SerializeAsString());
  ::v1::GetPodResourcesResponse empty;
  fake_.SetGrantsAnswer(kWeb.pod_namespace, kWeb.name, empty);
  const auto facts = Ask();
  EXPECT_TRUE(absl::IsUnavailable(facts.status())) << facts.status();
  EXPECT_THAT(facts.status().message(), HasSubstr("its uid is \"uid-2\""));
  EXPECT_THAT(facts.status().message(), HasSubstr("PodResources: its answer is refused"));
}

TEST_F(KubeletTest, BytesThatAreNoPodAreRefused) {
  fake_.SetPodBytes(kWeb.uid, "no pod");
  const auto facts = Ask();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->missing, Contains(HasSubstr("it is no k8s.io.api.core.v1.Pod")));
}

// Whatever is at the Pods service's socket, PodResources' answer comes, and nothing is left.
class RudeKubeletTest : public KubeletTest,
                        public ::testing::WithParamInterface<FakeKubelet::Rude> {};

TEST_P(RudeKubeletTest, IsSurvived) {
  fake_.Replace(kPods, GetParam());
  for (int i = 0; i < 3; ++i) AskUntilGrantsAlone();
  fake_.Start(kPods);
  EXPECT_TRUE(Ask()->has_spec);
}

INSTANTIATE_TEST_SUITE_P(All, RudeKubeletTest,
                         ::testing::Values(FakeKubelet::Rude::kCut, FakeKubelet::Rude::kGarbage,
                                           FakeKubelet::Rude::kFlood, FakeKubelet::Rude::kMute,
                                           FakeKubelet::Rude::kDeaf));

TEST_F(KubeletTest, QuestionsAreBounded) {
  fake_.Behave(kPods, {.delay = absl::InfiniteDuration()});
  const auto client = Client(kLong, 2);
  absl::BlockingCounter told(2);
  const auto done = [&](const absl::StatusOr<runtime::PodFacts>&) { told.DecrementCount(); };
  client->AskLater(kWeb, done);
  client->AskLater(kWeb, done);
  const auto third = client->Ask(kWeb);
  EXPECT_TRUE(absl::IsResourceExhausted(third.status())) << third.status();
  EXPECT_THAT(third.status().message(), HasSubstr("2 questions are under way"));
  fake_.Stop(kPods);
  told.Wait();
  fake_.Behave(kPods, {});
  // The second one's memory goes a moment after its answer.
  EXPECT_TRUE(WaitUntil([&] { return client->Ask(kWeb).ok(); }));
}

TEST_F(KubeletTest, TheEndWaitsForQuestions) {
  fake_.Behave(kPods, {.delay = absl::InfiniteDuration()});
  std::atomic<int> told = 0;
  {
    const auto client = Client(kShort);
    for (int i = 0; i < 5; ++i) {
      client->AskLater(kWeb, [&](const absl::StatusOr<runtime::PodFacts>&) { ++told; });
    }
  }
  EXPECT_EQ(told, 5);
}

TEST_F(KubeletTest, ManyThreadsMayAsk) {
  const auto client = Client();
  std::atomic<int> whole = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        const auto facts = client->Ask(kWeb);
        if (facts.ok() && facts->has_spec && facts->has_grants) ++whole;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 80);
}

TEST_F(KubeletTest, NoThreadIsHeldBetweenQuestions) {
  const auto client = Client();
  fake_.Behave(kPods, {.delay = absl::InfiniteDuration()});
  absl::Notification told;
  client->AskLater(kWeb, [&](const absl::StatusOr<runtime::PodFacts>&) { told.Notify(); });
  EXPECT_TRUE(WaitUntil([] { return AnswerThreads() == 1; }));
  fake_.Stop(kPods);
  told.WaitForNotification();
  EXPECT_TRUE(WaitUntil([] { return AnswerThreads() == 0; }));
}

TEST_F(KubeletTest, ConnectionsAreFew) {
  const auto client = Client();
  ASSERT_TRUE(client->Ask(kWeb).ok());
  ASSERT_TRUE(client->AskGrants().ok());
  const int sockets = Sockets();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client->Ask(kWeb).ok());
    ASSERT_TRUE(client->AskGrants().ok());
  }
  EXPECT_LE(Sockets(), sockets);
  // Connections to a kubelet that ended go with the next question.
  fake_.Stop(kPods);
  fake_.Stop(kPodResources);
  EXPECT_FALSE(client->Ask(kWeb).ok());
  EXPECT_FALSE(client->AskGrants().ok());
  EXPECT_TRUE(WaitUntil([&] { return Sockets() == 0; }));
}

// The socket's file stays, and so may the file's number.
TEST_F(KubeletTest, AConnectionThatWasCutIsReplaced) {
  const auto client = Client();
  ASSERT_TRUE(client->Ask(kWeb)->has_spec);
  const std::string aside = fake_.SocketOf(kPods) + ".aside";
  ASSERT_EQ(link(fake_.SocketOf(kPods).c_str(), aside.c_str()), 0);
  fake_.Stop(kPods);
  ASSERT_EQ(rename(aside.c_str(), fake_.SocketOf(kPods).c_str()), 0);
  const auto cut = client->Ask(kWeb);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_THAT(cut->missing, Contains(HasSubstr("no process listens there")));
  fake_.Start(kPods);
  EXPECT_TRUE(client->Ask(kWeb)->has_spec);
}

TEST_F(KubeletTest, GrantsOfAllPods) {
  ::v1::PodResources other = WebGrants();
  other.set_name("db");
  other.mutable_containers(0)->clear_cpu_ids();
  fake_.SetGrants(other);
  ::v1::AllocatableResourcesResponse all;
  *all.mutable_devices() = WebGrants().containers(0).devices();
  fake_.SetDevices(all);
  const auto grants = Client()->AskGrants();
  ASSERT_TRUE(grants.ok()) << grants.status();
  EXPECT_EQ(grants->exclusive_cpus, "2-3,5");
  ASSERT_EQ(grants->memory.size(), 1u);
  EXPECT_EQ(grants->memory[0].bytes, uint64_t{2} << 30);
  EXPECT_EQ(grants->devices.size(), 2u);
  EXPECT_EQ(grants->device_totals.size(), 2u);
}

}  // namespace
}  // namespace plimsoll::kubelet
