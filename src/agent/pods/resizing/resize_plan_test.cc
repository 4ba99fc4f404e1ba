#include "agent/pods/resizing/resize_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using Kind = ResizeStep::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMebibyte = 1 << 20;

// Containers "a" and "b"; `policy` is a's resizePolicy.
pod::Manifest PodOf(const std::string& a, const std::string& b, const std::string& policy = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat(
          "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {initContainers: "
          "[{name: init, image: i}], containers: [{name: a, image: i, resources: {limits: ",
          a, "}, resizePolicy: [", policy, "]}, {name: b, image: i, resources: {limits: ", b,
          "}}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}
std::string Limits(int cpu, int mebibytes) {
  return absl::StrCat("{cpu: ", cpu, ", memory: ", mebibytes, "Mi}");
}

// Each run as the runtime reports it after its creation with these limits.
class ResizePlanTest : public testing::Test {
 protected:
  ResizePlanTest() { observed_.sandboxes = {{.id = "s", .attempt = 0, .ready = true, .ips = {}}}; }
  ObservedContainer& Run(const std::string& name, int64_t cpu, int64_t mebibytes) {
    ObservedContainer run;
    run.id = absl::StrCat(name, "-id");
    run.name = name;
    run.sandbox_id = "s";
    run.state = ObservedState::kRunning;
    run.resources = ReportedResources{.cpu_shares = 1024 * cpu,
                                      .cpu_quota_us = 100'000 * cpu,
                                      .cpu_period_us = 100'000,
                                      .memory_limit_bytes = mebibytes * kMebibyte,
                                      .written = std::nullopt};
    observed_.containers.push_back(run);
    return observed_.containers.back();
  }
  ResizeView View(const pod::Manifest& before, const pod::Manifest& after) const {
    return {before, after, observed_, 2, true, grant_, keeps_shares_, page_bytes_};
  }
  // "announce raise update:b settle"
  std::string Plan(const pod::Manifest& before, const pod::Manifest& after) const {
    std::string words;
    for (const ResizeStep& step : PlanResize(View(before, after))) {
      const bool of_container = step.kind == Kind::kUpdate || step.kind == Kind::kRestart;
      const char* const word = step.kind == Kind::kAnnounce   ? "announce"
                               : step.kind == Kind::kRaisePod ? "raise"
                               : step.kind == Kind::kUpdate   ? "update"
                               : step.kind == Kind::kRestart  ? "restart"
                                                              : "settle";
      absl::StrAppend(&words, words.empty() ? "" : " ", word,
                      of_container ? ":" + after.containers[step.index].name : "");
    }
    return words;
  }

  ObservedPod observed_;
  PodGrant grant_;
  bool keeps_shares_ = false;
  int64_t page_bytes_ = resources::PageBytes();
};

// arm64 may have pages of 64 KiB: the kernel holds a limit of 200,000,000 as 3,051 of them.
TEST_F(ResizePlanTest, ALimitInWholePagesIsInForce) {
  page_bytes_ = 64 << 10;
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64));
  const pod::Manifest after = PodOf("{cpu: 1, memory: 200M}", Limits(1, 64));
  Run("b", 1, 64);
  Run("a", 1, 64).resources->memory_limit_bytes = 3051 * page_bytes_;
  EXPECT_THAT(NotInForce(View(before, after)), IsEmpty());
  EXPECT_EQ(Plan(before, after), "announce raise settle");
  observed_.containers.back().resources->memory_limit_bytes = 3050 * page_bytes_;
  EXPECT_THAT(NotInForce(View(before, after)), ElementsAre("a"));
}

// KEP-2837: "a" has no limit, and so is held to the pod's.
TEST_F(ResizePlanTest, AContainerWithoutALimitFollowsItsPods) {
  const auto pod = [](int mebibytes) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {limits: ",
                     Limits(1, mebibytes), "}, containers: [{name: a, image: i}]}}"),
        "p.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods->front();
  };
  Run("a", 1, 64);
  EXPECT_EQ(Plan(pod(64), pod(64)), "announce raise settle");
  EXPECT_THAT(NotInForce(View(pod(64), pod(64))), IsEmpty());
  EXPECT_EQ(Plan(pod(64), pod(128)), "announce raise update:a settle");
  EXPECT_THAT(NotInForce(View(pod(64), pod(128))), ElementsAre("a"));
}

TEST_F(ResizePlanTest, ThePodIsRaisedFirstAndSettledLast) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64));
  Run("a", 1, 64);
  Run("b", 1, 64);
  EXPECT_EQ(Plan(before, PodOf(Limits(2, 64), Limits(1, 64))), "announce raise update:a settle");
  EXPECT_EQ(Plan(before, PodOf(Limits(1, 32), Limits(1, 64))), "announce raise update:a settle");
}

TEST_F(ResizePlanTest, ContainersThatLowerGoFirst) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(2, 64));
  Run("a", 1, 64);
  Run("b", 2, 64);
  EXPECT_EQ(Plan(before, PodOf(Limits(2, 64), Limits(1, 64))),
            "announce raise update:b update:a settle");
  EXPECT_EQ(Plan(before, PodOf(Limits(2, 32), Limits(1, 64))),
            "announce raise update:b update:a settle")
      << "a raises one and lowers the other";
}

TEST_F(ResizePlanTest, AContainerThatHasItIsLeftAlone) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64));
  const pod::Manifest after = PodOf(Limits(2, 64), Limits(2, 64));
  Run("a", 2, 64);  // an earlier try got so far
  Run("b", 1, 64);
  EXPECT_EQ(Plan(before, after), "announce raise update:b settle");
  EXPECT_THAT(NotInForce(View(before, after)), ElementsAre("b"));
  observed_.containers.pop_back();
  Run("b", 2, 64);
  EXPECT_EQ(Plan(before, after), "announce raise settle");
  EXPECT_THAT(NotInForce(View(before, after)), IsEmpty());
}

TEST_F(ResizePlanTest, OtherSharesOfOneWeightAreNoDifference) {
  const pod::Manifest pod = PodOf(Limits(1, 64), Limits(1, 64));
  // Weight 39 or 100 as shares again: 999 or 2598 by one formula, 1012 by the other.
  Run("a", 1, 64);
  Run("b", 1, 64).resources->memory_limit_bytes += 100;
  for (const int64_t shares : {999, 2598, 1012}) {
    observed_.containers.front().resources->cpu_shares = shares;
    EXPECT_THAT(NotInForce(View(pod, pod)), IsEmpty()) << shares;
    EXPECT_EQ(Plan(pod, pod), "announce raise settle") << shares;
  }
  observed_.containers.front().resources->cpu_shares = 512;
  EXPECT_THAT(NotInForce(View(pod, pod)), ElementsAre("a"));
}

// cgroup v1 holds the shares themselves, and one formula of v2 makes other weights of shares that
// are one weight by the other. The least shares may stand for either amount: the new one is sent,
// and then counts as done.
TEST_F(ResizePlanTest, OtherSharesOfOneWeightByTheLinearFormulaAreADifference) {
  const auto pod = [](const std::string& cpu) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: "
                     "a, image: i, resources: {requests: {cpu: ",
                     cpu, "}}}]}}"),
        "p.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods->front();
  };
  ReportedResources& reported = *Run("a", 1, 64).resources;
  reported.cpu_quota_us = 0;
  reported.memory_limit_bytes = 0;
  for (const auto& [before, shares, after] :
       {std::tuple("2m", 2, "26m"), {"10m", 10, "20m"}, {"20m", 20, "10m"}}) {
    reported.cpu_shares = shares;
    keeps_shares_ = true;
    EXPECT_EQ(Plan(pod(before), pod(after)), "announce raise update:a settle") << after;
    EXPECT_THAT(NotInForce(View(pod(before), pod(after))), ElementsAre("a"));
    EXPECT_EQ(Plan(pod(before), pod(before)), "announce raise settle");
    keeps_shares_ = false;
    EXPECT_EQ(Plan(pod(before), pod(after)), "announce raise update:a settle") << after;
    const bool is_least = shares == 2;
    EXPECT_EQ(NotInForce(View(pod(before), pod(after))).empty(), is_least) << after;
    EXPECT_EQ(Plan(pod(before), pod(before)), "announce raise settle");
  }
}

TEST_F(ResizePlanTest, AWrittenRequestCountsWhereTheRuntimeIsToldThem) {
  const pod::Manifest pod = PodOf(Limits(1, 64), Limits(1, 64));
  Run("a", 1, 64).resources->written = resources::WithDefaults(pod.containers[1].resources);
  EXPECT_THAT(NotInForce(View(pod, pod)), IsEmpty());
  observed_.containers.front().resources->written->requests["memory"] =
      resources::Quantity::FromInt(1);
  EXPECT_THAT(NotInForce(View(pod, pod)), ElementsAre("a"));
  ResizeView deaf = View(pod, pod);
  deaf.writes = false;
  EXPECT_THAT(NotInForce(deaf), IsEmpty());
}

constexpr char kMemoryRestarts[] =
    "{resourceName: memory, restartPolicy: RestartContainer}, {resourceName: cpu, restartPolicy: "
    "NotRequired}";

TEST_F(ResizePlanTest, ThePolicyOfTheResourceDecides) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64), kMemoryRestarts);
  Run("a", 1, 64);
  Run("b", 1, 64);
  EXPECT_EQ(Plan(before, PodOf(Limits(2, 64), Limits(1, 64), kMemoryRestarts)),
            "announce raise update:a settle");
  EXPECT_EQ(Plan(before, PodOf(Limits(1, 128), Limits(1, 32), kMemoryRestarts)),
            "announce raise update:b restart:a settle");
}

TEST_F(ResizePlanTest, ARunThatBeganWithTheResizeIsNotRestarted) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64), kMemoryRestarts);
  Run("a", 1, 64).generation = 2;
  EXPECT_EQ(Plan(before, PodOf(Limits(1, 128), Limits(1, 64), kMemoryRestarts)),
            "announce raise update:a settle");
}

TEST_F(ResizePlanTest, WithoutAReportEachOldRunIsUpdated) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64), kMemoryRestarts);
  const pod::Manifest after = PodOf(Limits(1, 128), Limits(1, 64), kMemoryRestarts);
  Run("a", 1, 64).resources.reset();
  Run("b", 1, 64).resources.reset();
  EXPECT_EQ(Plan(before, after), "announce raise restart:a update:b settle");
  EXPECT_THAT(NotInForce(View(before, after)), IsEmpty());
  EXPECT_THAT(Unverified(after, observed_, 2), ElementsAre("a", "b"));
  observed_.containers.front().generation = 2;
  EXPECT_EQ(Plan(before, after), "announce raise update:b settle");
  EXPECT_THAT(Unverified(after, observed_, 2), ElementsAre("b"));
}

TEST_F(ResizePlanTest, EndedRunsAndPodsWithoutASandboxTakeTheirNextRun) {
  const pod::Manifest before = PodOf(Limits(1, 64), Limits(1, 64));
  const pod::Manifest after = PodOf(Limits(2, 64), Limits(1, 64));
  Run("a", 1, 64).state = ObservedState::kExited;
  EXPECT_EQ(Plan(before, after), "announce raise settle");
  observed_.sandboxes.front().ready = false;
  EXPECT_EQ(Plan(before, after), "");
}

}  // namespace
}  // namespace plimsoll::agent
