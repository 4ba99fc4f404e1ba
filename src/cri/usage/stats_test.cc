// Statistics of containers and sandboxes, through a real server.
#include <string>
#include <vector>

#include "cri/messages/cpu_rates.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerRecord;
using runtime::ContainerState;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;
using ::testing::SizeIs;

constexpr uint64_t kMiB = 1 << 20;

ContainerRecord CountedContainer(const std::string& id, const std::string& pod,
                                 ContainerState state) {
  ContainerRecord record;
  record.id = id;
  record.sandbox_id = pod;
  record.state = state;
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name("name of " + id);
  (*config.mutable_labels())["app"] = pod;
  record.client_config = config.SerializeAsString();
  return record;
}

runtime::SandboxRecord CountedPod(const std::string& id, runtime::SandboxState state) {
  runtime::SandboxRecord record;
  record.id = id;
  record.state = state;
  record.spec.name = "pod";
  record.spec.pod_namespace = "default";
  return record;
}

linux::CgroupStats Counted() {
  linux::CgroupStats stats;
  stats.cpu_usage_ns = 5'000'000'000;
  stats.cpu_periods = 100;
  stats.cpu_throttled_periods = 40;
  stats.cpu_throttled_ns = 7;
  stats.memory_usage_bytes = 30 * kMiB;
  stats.memory_working_set_bytes = 20 * kMiB;
  stats.memory_rss_bytes = 10 * kMiB;
  stats.page_faults = 3;
  stats.major_page_faults = 2;
  stats.swap_usage_bytes = 4096;
  stats.process_count = 6;
  stats.cpu_pressure = linux::Pressure{.some = {1.5, 2.5, 3.5, 4}, .full = {0, 0, 0, 1}};
  return stats;
}

class StatsTest : public ServerFixture {
 protected:
  void SetUp() override {
    ContainerRecord limited = CountedContainer("a1", "pod1", ContainerState::kRunning);
    limited.spec.resources.memory_limit_bytes = 64 * kMiB;
    containers_ = {limited, CountedContainer("a2", "pod1", ContainerState::kCreated),
                   CountedContainer("b1", "pod2", ContainerState::kRunning),
                   CountedContainer("ended", "pod1", ContainerState::kExited)};
    ON_CALL(engine_, ListContainers).WillByDefault(Return(containers_));
    ON_CALL(engine_, GetContainer(_)).WillByDefault(Return(limited));
    ON_CALL(engine_, ListSandboxes)
        .WillByDefault(Return(std::vector{CountedPod("pod1", runtime::SandboxState::kReady),
                                          CountedPod("pod2", runtime::SandboxState::kReady),
                                          CountedPod("pod3", runtime::SandboxState::kNotReady)}));
    ON_CALL(engine_, GetSandbox(_))
        .WillByDefault(Return(CountedPod("pod1", runtime::SandboxState::kReady)));
    ON_CALL(engine_.mock_readings, Stats(_)).WillByDefault(Return(Counted()));
    ON_CALL(engine_.mock_readings, SandboxStats(_)).WillByDefault(Return(Counted()));
    runtime::EffectiveResources now;
    now.cgroup.memory_limit_bytes = 32 * kMiB;
    ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(now));
    Start();
  }

  std::vector<std::string> Listed(const v1::ContainerStatsFilter& filter) {
    v1::ListContainerStatsRequest request;
    *request.mutable_filter() = filter;
    v1::ListContainerStatsResponse response;
    const grpc::Status status =
        Call(runtime_, &RuntimeStub::ListContainerStats, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> ids;
    for (const auto& stats : response.stats()) ids.push_back(stats.attributes().id());
    return ids;
  }

  std::vector<ContainerRecord> containers_;
};

TEST_F(StatsTest, AContainersAreWhatTheKernelCounted) {
  v1::ContainerStatsRequest request;
  request.set_container_id("a1");
  v1::ContainerStatsResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ContainerStats, request, &response).ok());
  const v1::ContainerStats& stats = response.stats();
  EXPECT_EQ(stats.attributes().metadata().name(), "name of a1");
  EXPECT_EQ(stats.attributes().labels().at("app"), "pod1");
  EXPECT_EQ(stats.cpu().usage_core_nano_seconds().value(), 5'000'000'000u);
  EXPECT_FALSE(stats.cpu().has_usage_nano_cores()) << "asked for the first time";
  EXPECT_GT(stats.cpu().timestamp(), 0);
  EXPECT_EQ(stats.cpu().psi().some().avg60(), 2.5);
  EXPECT_EQ(stats.cpu().psi().some().total(), 4000u) << "nanoseconds";
  EXPECT_EQ(stats.cpu().psi().full().total(), 1000u);
  EXPECT_EQ(stats.memory().usage_bytes().value(), 30 * kMiB);
  EXPECT_EQ(stats.memory().working_set_bytes().value(), 20 * kMiB);
  EXPECT_EQ(stats.memory().rss_bytes().value(), 10 * kMiB);
  EXPECT_EQ(stats.memory().page_faults().value(), 3u);
  EXPECT_EQ(stats.memory().major_page_faults().value(), 2u);
  EXPECT_EQ(stats.memory().available_bytes().value(), 12 * kMiB) << "of what the kernel enforces";
  EXPECT_FALSE(stats.memory().has_psi()) << "the kernel has none";
  EXPECT_EQ(stats.swap().swap_usage_bytes().value(), 4096u);
  EXPECT_FALSE(stats.has_io());
}

TEST_F(StatsTest, ListsHaveWhatLivesAndMatches) {
  EXPECT_THAT(Listed({}), ElementsAre("a1", "a2", "b1"));
  v1::ContainerStatsFilter filter;
  filter.set_id("a");
  EXPECT_THAT(Listed(filter), ElementsAre("a1", "a2"));
  filter.Clear();
  filter.set_pod_sandbox_id("pod2");
  EXPECT_THAT(Listed(filter), ElementsAre("b1"));
  filter.Clear();
  (*filter.mutable_label_selector())["app"] = "pod1";
  EXPECT_THAT(Listed(filter), ElementsAre("a1", "a2"));
}

TEST_F(StatsTest, WhatEndsMeanwhileIsLeftOutUnsaid) {
  ON_CALL(engine_.mock_readings, Stats(absl::string_view("a1")))
      .WillByDefault(Return(absl::NotFoundError("gone")));
  ON_CALL(engine_.mock_readings, Stats(absl::string_view("a2")))
      .WillByDefault(Return(absl::FailedPreconditionError("has ended")));
  EXPECT_THAT(Listed({}), ElementsAre("b1"));
  EXPECT_THAT(events_.Since(0), IsEmpty());
}

// kubelet's eviction relies on these lists.
TEST_F(StatsTest, WhatCanNotBeReadIsLeftOutOfListsAndTold) {
  ON_CALL(engine_.mock_readings, Stats(absl::string_view("a2")))
      .WillByDefault(Return(absl::InternalError("cpu.stat: no number")));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Listed({}), ElementsAre("a1", "b1"));
  std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_THAT(events, SizeIs(1)) << "not again with each list";
  EXPECT_EQ(events[0].type, runtime::EventType::kWarning);
  EXPECT_EQ(events[0].container_id, "a2");
  EXPECT_THAT(events[0].message, HasSubstr("cpu.stat: no number"));

  ::plimsoll::v1::ListUsageResponse usage;
  ASSERT_TRUE(Call(node_, &NodeStub::ListUsage, ::plimsoll::v1::ListUsageRequest(), &usage).ok());
  EXPECT_EQ(usage.containers_size(), 2);
  const auto list_pods = [&] {
    v1::ListPodSandboxStatsResponse pods;
    EXPECT_TRUE(
        Call(runtime_, &RuntimeStub::ListPodSandboxStats, v1::ListPodSandboxStatsRequest(), &pods)
            .ok());
    return pods;
  };
  v1::ListPodSandboxStatsResponse pods = list_pods();
  ASSERT_EQ(pods.stats_size(), 2);
  EXPECT_EQ(pods.stats(0).linux().containers_size(), 1);
  ON_CALL(engine_.mock_readings, SandboxStats(absl::string_view("pod2")))
      .WillByDefault(Return(absl::InternalError("memory.stat: no number")));
  pods = list_pods();
  ASSERT_EQ(pods.stats_size(), 1);
  EXPECT_EQ(pods.stats(0).attributes().id(), "pod1");
  // A client that asks for one pod gets the error.
  v1::PodSandboxStatsRequest one;
  one.set_pod_sandbox_id("pod1");
  v1::PodSandboxStatsResponse response;
  EXPECT_EQ(Call(runtime_, &RuntimeStub::PodSandboxStats, one, &response).error_code(),
            grpc::StatusCode::INTERNAL);
  events = events_.Since(0);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].sandbox_id, "pod2");

  ON_CALL(engine_.mock_readings, Stats(absl::string_view("a2"))).WillByDefault(Return(Counted()));
  EXPECT_THAT(Listed({}), ElementsAre("a1", "a2", "b1"));
  ON_CALL(engine_.mock_readings, Stats(absl::string_view("a2")))
      .WillByDefault(Return(absl::InternalError("cpu.stat: no number")));
  EXPECT_THAT(Listed({}), ElementsAre("a1", "b1"));
  EXPECT_THAT(events_.Since(0), SizeIs(3));
}

TEST_F(StatsTest, ASandboxHasItsOwnAndItsContainers) {
  v1::PodSandboxStatsRequest request;
  request.set_pod_sandbox_id("pod1");
  v1::PodSandboxStatsResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::PodSandboxStats, request, &response).ok());
  const v1::LinuxPodSandboxStats& stats = response.stats().linux();
  EXPECT_EQ(response.stats().attributes().id(), "pod1");
  EXPECT_EQ(stats.cpu().usage_core_nano_seconds().value(), 5'000'000'000u);
  EXPECT_EQ(stats.memory().working_set_bytes().value(), 20 * kMiB);
  EXPECT_EQ(stats.process().process_count().value(), 6u);
  ASSERT_EQ(stats.containers_size(), 2);
  EXPECT_EQ(stats.containers(0).attributes().id(), "a1");

  v1::ListPodSandboxStatsResponse all;
  ASSERT_TRUE(
      Call(runtime_, &RuntimeStub::ListPodSandboxStats, v1::ListPodSandboxStatsRequest(), &all)
          .ok());
  ASSERT_EQ(all.stats_size(), 2) << "pod3 has ended";
  EXPECT_EQ(all.stats(1).linux().containers(0).attributes().id(), "b1");
}

// kubelet expects a default wherever there is a network.
TEST_F(StatsTest, APodsNetworkIsByInterface) {
  const auto stats_of = [this](const std::vector<linux::LinkCounters>& links) {
    ON_CALL(engine_.mock_readings, SandboxLinks(_))
        .WillByDefault([links](const std::vector<std::string>& ids) {
          return std::vector<runtime::Readings::Links>(ids.size(), links);
        });
    v1::PodSandboxStatsRequest request;
    request.set_pod_sandbox_id("pod1");
    v1::PodSandboxStatsResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::PodSandboxStats, request, &response).ok());
    return response.stats().linux();
  };
  const linux::LinkCounters loopback{.name = "lo", .rx_bytes = 99};
  const linux::LinkCounters first{.name = "net1", .rx_bytes = 5};
  const linux::LinkCounters eth0{
      .name = "eth0", .rx_bytes = 1, .rx_errors = 2, .tx_bytes = 3, .tx_errors = 4};
  const v1::NetworkUsage network = stats_of({loopback, first, eth0}).network();
  EXPECT_GT(network.timestamp(), 0);
  EXPECT_EQ(network.default_interface().name(), "eth0");
  EXPECT_EQ(network.default_interface().rx_bytes().value(), 1u);
  EXPECT_EQ(network.default_interface().rx_errors().value(), 2u);
  EXPECT_EQ(network.default_interface().tx_bytes().value(), 3u);
  EXPECT_EQ(network.default_interface().tx_errors().value(), 4u);
  ASSERT_EQ(network.interfaces_size(), 2);
  EXPECT_EQ(network.interfaces(0).name(), "net1");
  EXPECT_EQ(network.interfaces(1).name(), "eth0");
  EXPECT_EQ(stats_of({loopback, first}).network().default_interface().name(), "net1");
  EXPECT_FALSE(stats_of({loopback}).has_network());
  EXPECT_FALSE(stats_of({}).has_network()) << "of the host's network";
}

TEST_F(StatsTest, ANetworkThatCanNotBeReadIsLeftOutOfListsAndTold) {
  ON_CALL(engine_.mock_readings, SandboxLinks(_))
      .WillByDefault([](const std::vector<std::string>& ids) {
        std::vector<runtime::Readings::Links> links(
            ids.size(), std::vector<linux::LinkCounters>{{.name = "eth0", .rx_bytes = 7}});
        links.back() = absl::InternalError("net/dev: no line");
        return links;
      });
  v1::ListPodSandboxStatsResponse pods;
  for (int i = 0; i < 2; ++i) {
    pods.Clear();
    ASSERT_TRUE(
        Call(runtime_, &RuntimeStub::ListPodSandboxStats, v1::ListPodSandboxStatsRequest(), &pods)
            .ok());
  }
  ASSERT_EQ(pods.stats_size(), 2);
  EXPECT_EQ(pods.stats(0).linux().network().default_interface().rx_bytes().value(), 7u);
  EXPECT_FALSE(pods.stats(1).linux().has_network());
  EXPECT_EQ(pods.stats(1).linux().containers_size(), 1) << "the rest is there";
  const std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].sandbox_id, "pod2");
  EXPECT_THAT(events[0].message, HasSubstr("the network is left out of lists"));
  v1::PodSandboxStatsRequest one;
  one.set_pod_sandbox_id("pod2");
  v1::PodSandboxStatsResponse response;
  EXPECT_EQ(Call(runtime_, &RuntimeStub::PodSandboxStats, one, &response).error_code(),
            grpc::StatusCode::INTERNAL);
}

TEST_F(StatsTest, AvailableSwapIsWhatTheLimitsLeave) {
  runtime::EffectiveResources now;
  const auto swap_with = [&](std::optional<int64_t> memory, std::optional<int64_t> sum) {
    now.cgroup.memory_limit_bytes = memory;
    now.cgroup.memory_swap_limit_bytes = sum;
    ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(now));
    v1::ContainerStatsRequest request;
    request.set_container_id("a1");
    v1::ContainerStatsResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ContainerStats, request, &response).ok());
    EXPECT_EQ(response.stats().swap().swap_usage_bytes().value(), 4096u);
    return response.stats().swap();
  };
  EXPECT_EQ(swap_with(64 * kMiB, 65 * kMiB).swap_available_bytes().value(), kMiB - 4096);
  EXPECT_TRUE(swap_with(64 * kMiB, 64 * kMiB).has_swap_available_bytes()) << "none is left";
  EXPECT_EQ(swap_with(64 * kMiB, 64 * kMiB).swap_available_bytes().value(), 0u);
  EXPECT_FALSE(swap_with(64 * kMiB, -1).has_swap_available_bytes());
  EXPECT_FALSE(swap_with(-1, -1).has_swap_available_bytes());
  EXPECT_FALSE(swap_with(64 * kMiB, std::nullopt).has_swap_available_bytes());
}

TEST_F(StatsTest, UsageIsFromRequestToUse) {
  containers_[0].spec.kubernetes_resources.requests["cpu"] = "250m";
  ON_CALL(engine_, ListContainers).WillByDefault(Return(containers_));
  ::plimsoll::v1::ListUsageResponse response;
  ASSERT_TRUE(
      Call(node_, &NodeStub::ListUsage, ::plimsoll::v1::ListUsageRequest(), &response).ok());
  ASSERT_EQ(response.containers_size(), 3);
  const ::plimsoll::v1::ContainerUsage& usage = response.containers(0);
  EXPECT_EQ(usage.pod_name(), "pod");
  EXPECT_EQ(usage.pod_namespace(), "default");
  EXPECT_EQ(usage.pod_sandbox_id(), "pod1");
  EXPECT_EQ(usage.stats().attributes().id(), "a1");
  EXPECT_EQ(usage.asked().requests().at("cpu").string(), "250m");
  EXPECT_EQ(usage.allotted().memory_limit_in_bytes(), 32 * kMiB);
  EXPECT_EQ(usage.cpu_periods(), 100u);
  EXPECT_EQ(usage.throttled_periods(), 40u);
  EXPECT_EQ(usage.throttled_nanos(), 7u);
  EXPECT_EQ(usage.process_count(), 6u);
  EXPECT_FALSE(response.containers(1).has_asked());
}

TEST_F(StatsTest, UsageIsFromTheRequestThatKubeletTells) {
  runtime::SandboxRecord pod = CountedPod("pod1", runtime::SandboxState::kReady);
  runtime::PodFacts& facts = pod.spec.facts.emplace();
  facts.has_spec = true;
  facts.resources.containers = {{.name = containers_[0].spec.name}};
  facts.resources.containers[0].kubernetes_resources.requests = {{"cpu", "300m"}};
  ON_CALL(engine_, ListSandboxes).WillByDefault(Return(std::vector{pod}));
  ::plimsoll::v1::ListUsageResponse response;
  ASSERT_TRUE(
      Call(node_, &NodeStub::ListUsage, ::plimsoll::v1::ListUsageRequest(), &response).ok());
  ASSERT_GT(response.containers_size(), 0);
  EXPECT_EQ(response.containers(0).asked().requests().at("cpu").string(), "300m");
}

TEST(CpuRates, AreOfASecondOrLonger) {
  constexpr int64_t kSecond = 1'000'000'000;
  CpuRates rates;
  EXPECT_EQ(rates.Update("a", 10 * kSecond, 1'000'000'000), std::nullopt);
  EXPECT_EQ(rates.Update("a", 10 * kSecond + 1, 1'000'000'001), std::nullopt) << "too soon";
  EXPECT_EQ(rates.Update("a", 12 * kSecond, 1'500'000'000), 250'000'000u);
  EXPECT_EQ(rates.Update("a", 12 * kSecond + 5, 1'900'000'000), 250'000'000u) << "the last one";
  EXPECT_EQ(rates.Update("a", 9 * kSecond, 1'600'000'000), 250'000'000u) << "clock set back";
  EXPECT_EQ(rates.Update("a", 10 * kSecond, 1'700'000'000), 100'000'000u);
  EXPECT_EQ(rates.Update("b", 10 * kSecond, 5), std::nullopt);
  rates.Retain({"b"});
  EXPECT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates.Update("a", 13 * kSecond, 2'000'000'000), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::cri
