// Random updates, valid and not, from many clients at once: what the kernel holds is what those
// that were acknowledged add up to. PLIMSOLL_SEED repeats a run.
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

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kPeriod = 100'000;
constexpr int64_t kPodQuota = 4 * kPeriod;

using Resources = cri::LinuxContainerResources;

struct Target {
  std::string id;
  absl::Mutex mutex;  // held over a call: who came last is known
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
      target.id = Start(pod_, config);
    }
  }

  void MakePod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_name("p" + std::to_string(targets_.size()));
    pod_ = RunPod(config);
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod_);
    request.mutable_resources()->set_cpu_period(kPeriod);
    request.mutable_resources()->set_cpu_quota(kPodQuota);
    request.mutable_resources()->set_memory_limit_in_bytes(1024 * kMiB);
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.runtime().UpdatePodSandboxResources(&context, request, &response).ok());
  }

  // One update of one container, by a client of its own.
  void Step(std::minstd_rand& random) {
    const auto any = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    Target& target = targets_[static_cast<size_t>(any(0, containers_ - 1))];
    Resources update;
    if (any(0, 1) == 0) update.set_cpu_shares(any(2, 262'144));
    if (any(0, 1) == 0) update.set_cpu_quota(any(0, 4) == 0 ? -1 : any(1'000, kPodQuota));
    if (any(0, 1) == 0) {
      update.set_memory_limit_in_bytes(any(0, 4) == 0 ? -1 : any(32, 512) * kMiB);
    }
    const bool valid = any(0, 2) != 0;
    if (!valid) {
      switch (any(0, 3)) {
        case 0:
          update.set_cpu_quota(5);  // below the kernel's least
          break;
        case 1:
          update.set_memory_limit_in_bytes(4096);  // below what it uses
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
  }

  const int containers_ = IsEmulated() ? 4 : 20;
  const int steps_ = IsEmulated() ? 5 : 50;  // of each client
  unsigned long seed_ = 0;
  std::string pod_;
  std::deque<Target> targets_;
};

TEST_F(ResizePropertyTest, TheKernelHoldsWhatWasAcknowledged) {
  SCOPED_TRACE(::testing::Message() << "PLIMSOLL_SEED=" << seed_);
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 8; ++client) {
    clients.emplace_back([this, client] {
      std::minstd_rand random(seed_ * 8 + client);
      for (int step = 0; step < steps_; ++step) Step(random);
    });
  }
  for (std::thread& client : clients) client.join();
  ExpectTheModel();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ExpectTheModel();
}

}  // namespace
}  // namespace plimsoll::testing
