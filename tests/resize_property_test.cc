// Random updates of pods and containers, valid and not, from many clients at once: the kernel holds
// the sum of the acknowledged ones, and no container ever gets more than its pod. PLIMSOLL_SEED
// repeats a run.
#include <atomic>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kPeriod = 100'000;
// A pod's minimum, and the maximum of a container in it.
constexpr int64_t kPodQuota = 4 * kPeriod;
constexpr int64_t kPodMemory = 512 * kMiB;

using Resources = cri::LinuxContainerResources;

struct Target {
  std::string id;
  std::string group;
  absl::Mutex mutex;  // held over a call, so the last caller is known
  Resources model;
};

class ResizePropertyTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    const char* given = std::getenv("PLIMSOLL_SEED");
    seed_ = given == nullptr ? std::random_device()() : std::strtoul(given, nullptr, 10);
    for (int i = 0; i < containers_; ++i) {
      if (i % 4 == 0) MakePod();
      Target& target = targets_.emplace_back();
      target.model.set_cpu_shares(512);
      target.model.set_cpu_period(kPeriod);
      target.model.set_cpu_quota(50'000);
      target.model.set_memory_limit_in_bytes(64 * kMiB);
      cri::ContainerConfig config = Shell("sleep 1000");
      config.mutable_metadata()->set_name("c" + std::to_string(i));
      *config.mutable_linux()->mutable_resources() = target.model;
      const std::string& pod = pods_.back().id;
      target.id = Start(pod, config);
      target.group = CgroupOf(pod, target.id);
      pods_.back().group = target.group.substr(0, target.group.rfind('/'));
    }
  }

  void MakePod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_name("p" + std::to_string(targets_.size()));
    Target& pod = pods_.emplace_back();
    pod.id = RunPod(config);
    pod.model.set_cpu_period(kPeriod);
    pod.model.set_cpu_quota(kPodQuota);
    pod.model.set_memory_limit_in_bytes(2 * kPodMemory);
    ASSERT_TRUE(TryPodUpdate(pod.id, pod.model).ok());
  }
  grpc::Status TryPodUpdate(const std::string& pod, const Resources& resources) {
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod);
    *request.mutable_resources() = resources;
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }

  // One update of one pod or container, by a client of its own.
  void Step(std::minstd_rand& random) {
    if (std::uniform_int_distribution<int>(0, 4)(random) == 0) return PodStep(random);
    ContainerStep(random);
  }

  void PodStep(std::minstd_rand& random) {
    const auto any = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    Target& target = pods_[static_cast<size_t>(any(0, static_cast<int64_t>(pods_.size()) - 1))];
    Resources update;
    update.set_cpu_quota(any(kPodQuota, 2 * kPodQuota));
    if (any(0, 1) == 0) update.set_memory_limit_in_bytes(any(1, 4) * kPodMemory);
    const bool valid = any(0, 2) != 0;
    if (!valid) update.set_cpu_quota(5);  // below the kernel's least
    absl::MutexLock lock(&target.mutex);
    const grpc::Status status = TryPodUpdate(target.id, update);
    EXPECT_EQ(status.ok(), valid) << update.ShortDebugString() << ": " << status.error_message();
    if (!valid) return;
    target.model.set_cpu_quota(update.cpu_quota());
    if (update.memory_limit_in_bytes() != 0) {
      target.model.set_memory_limit_in_bytes(update.memory_limit_in_bytes());
    }
  }

  void ContainerStep(std::minstd_rand& random) {
    const auto any = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    Target& target = targets_[static_cast<size_t>(any(0, containers_ - 1))];
    Resources update;
    if (any(0, 1) == 0) update.set_cpu_shares(any(2, 262'144));
    if (any(0, 1) == 0) update.set_cpu_quota(any(0, 4) == 0 ? -1 : any(1'000, kPodQuota));
    if (any(0, 1) == 0) {
      update.set_memory_limit_in_bytes(any(0, 4) == 0 ? -1 : any(32, kPodMemory / kMiB) * kMiB);
    }
    const bool valid = any(0, 2) != 0;
    if (!valid) {
      switch (any(0, 3)) {
        case 0:
          update.set_cpu_quota(5);  // below the kernel's least
          break;
        case 1:
          update.set_memory_limit_in_bytes(4096);  // below its usage
          break;
        case 2:
          update.set_cpuset_cpus("4000");  // of another machine
          break;
        default:
          update.set_memory_limit_in_bytes(64 * kMiB);
          update.set_memory_swap_limit_in_bytes(32 * kMiB);  // both together are less than one
      }
    }
    absl::MutexLock lock(&target.mutex);
    const grpc::Status status = TryUpdate(target.id, update);
    EXPECT_EQ(status.ok(), valid) << update.ShortDebugString() << ": " << status.error_message();
    if (!valid) return;
    if (update.cpu_shares() != 0) target.model.set_cpu_shares(update.cpu_shares());
    if (update.cpu_quota() != 0) target.model.set_cpu_quota(update.cpu_quota());
    if (update.memory_limit_in_bytes() != 0) {
      target.model.set_memory_limit_in_bytes(update.memory_limit_in_bytes());
    }
  }

  void ExpectTheModel() {
    for (Target& target : targets_) {
      const Resources held = Status(target.id).resources().linux();
      EXPECT_EQ(held.cpu_shares(), target.model.cpu_shares());
      EXPECT_EQ(held.cpu_period(), target.model.cpu_period());
      EXPECT_EQ(held.cpu_quota(), target.model.cpu_quota());
      EXPECT_EQ(held.memory_limit_in_bytes(), target.model.memory_limit_in_bytes());
    }
    for (Target& pod : pods_) {
      const auto held = Cgroups().Read(pod.group);
      ASSERT_TRUE(held.ok()) << held.status();
      EXPECT_EQ(held->cpu_quota_us, pod.model.cpu_quota());
      EXPECT_EQ(held->memory_limit_bytes, pod.model.memory_limit_in_bytes());
    }
  }

  // Watches the kernel until `done`. A container without its own limit has its pod's.
  void WatchThatNoneHasMoreThanItsPod(const std::atomic<bool>& done) {
    int64_t looks = 0;
    for (; !done; ++looks) {
      for (const Target& pod : pods_) {
        const auto held = Cgroups().Read(pod.group);
        ASSERT_TRUE(held.ok()) << held.status();
        ASSERT_GE(held->cpu_quota_us.value_or(-1), kPodQuota);
        ASSERT_GE(held->memory_limit_bytes.value_or(-1), kPodMemory);
      }
      for (const Target& target : targets_) {
        const auto held = Cgroups().Read(target.group);
        ASSERT_TRUE(held.ok()) << held.status();
        ASSERT_LE(held->cpu_quota_us.value_or(-1), kPodQuota);
        ASSERT_LE(held->memory_limit_bytes.value_or(-1), kPodMemory);
      }
    }
    EXPECT_GT(looks, 0);
  }

  const int containers_ = IsEmulated() ? 4 : 20;
  const int steps_ = IsEmulated() ? 5 : 50;  // per client
  unsigned long seed_ = 0;
  std::deque<Target> pods_;
  std::deque<Target> targets_;
};

TEST_F(ResizePropertyTest, TheKernelHoldsWhatWasAcknowledged) {
  SCOPED_TRACE(::testing::Message() << "PLIMSOLL_SEED=" << seed_);
  std::atomic<bool> done = false;
  std::thread watch([&] { WatchThatNoneHasMoreThanItsPod(done); });
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 8; ++client) {
    clients.emplace_back([this, client] {
      std::minstd_rand random(seed_ * 8 + client);
      for (int step = 0; step < steps_; ++step) Step(random);
    });
  }
  for (std::thread& client : clients) client.join();
  done = true;
  watch.join();
  ExpectTheModel();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ExpectTheModel();
}

}  // namespace
}  // namespace plimsoll::testing
