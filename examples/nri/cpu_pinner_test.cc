#include "cpu_pinner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::examples {
namespace {

using ::testing::HasSubstr;

api::Container MakeContainer(const std::string& id, const std::string& cpu) {
  api::Container container;
  container.set_id(id);
  container.set_name("app-" + id);
  if (cpu.empty()) return container;
  auto& requests = *container.mutable_kubernetes_resources()->mutable_requests();
  requests["cpu"].set_string(cpu);
  requests["memory"].set_string("1Gi");
  return container;
}

class CpuPinnerTest : public ::testing::Test {
 protected:
  absl::Status Configure(const std::string& text) {
    api::ConfigureRequest request;
    request.set_config(text);
    return pinner_.Configure(request);
  }
  // The CPUs that a new container gets; "" for no word on them.
  absl::StatusOr<std::string> Create(const std::string& id, const std::string& cpu) {
    api::CreateContainerRequest request;
    request.mutable_pod()->set_name("web");
    request.mutable_pod()->set_namespace_("default");
    *request.mutable_container() = MakeContainer(id, cpu);
    const auto response = pinner_.CreateContainer(request);
    if (!response.ok()) return response.status();
    return response->adjust().linux().resources().cpu().cpus();
  }
  void Stop(const std::string& id) {
    api::StopContainerRequest request;
    request.mutable_container()->set_id(id);
    EXPECT_TRUE(pinner_.StopContainer(request).ok());
  }

  CpuPinner pinner_;
};

TEST(WholeCpusTest, CountsWholeRequestsOnly) {
  EXPECT_EQ(WholeCpus(MakeContainer("a", "")), 0);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "2")), 2);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "3000m")), 3);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "2500m")), 0);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "2.000000001")), 0);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "0")), 0);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "-1")), 0);
  EXPECT_EQ(WholeCpus(MakeContainer("a", "many")), 0);
}

TEST_F(CpuPinnerTest, GivesEachContainerCpusOfItsOwn) {
  ASSERT_TRUE(Configure("cpus: 2-7").ok());
  EXPECT_EQ(*Create("a", "2"), "2-3");
  EXPECT_EQ(*Create("b", "1"), "4");
  EXPECT_EQ(*Create("c", "500m"), "");
  EXPECT_EQ(*Create("d", ""), "");
  Stop("a");
  Stop("unknown");
  EXPECT_EQ(*Create("e", "3"), "2-3,5");
  EXPECT_EQ(pinner_.Free().ToString(), "6-7");
}

TEST_F(CpuPinnerTest, RefusesWhatDoesntFitAndTakesNothing) {
  ASSERT_TRUE(Configure("cpus: 2,3").ok());
  EXPECT_EQ(Create("a", "3").status(),
            absl::ResourceExhaustedError("container default/web/app-a asks for 3 CPUs of its own; "
                                         "of 2-3, free are 2-3"));
  EXPECT_EQ(*Create("b", "2"), "2-3");
  EXPECT_THAT(std::string(Create("c", "1").status().message()), HasSubstr("free are none"));
}

TEST_F(CpuPinnerTest, GivesBackWhatWasNeverMade) {
  ASSERT_TRUE(Configure("cpus: 2").ok());
  EXPECT_EQ(*Create("a", "1"), "2");
  api::RemoveContainerRequest request;
  request.mutable_container()->set_id("a");
  EXPECT_TRUE(pinner_.RemoveContainer(request).ok());
  EXPECT_EQ(*Create("b", "1"), "2");
}

TEST_F(CpuPinnerTest, KeepsOthersOnTheSharedCpus) {
  ASSERT_TRUE(Configure("{cpus: 2-3, shared: 0-1}").ok());
  EXPECT_EQ(*Create("a", "500m"), "0-1");
  EXPECT_EQ(*Create("b", "1"), "2");
}

TEST_F(CpuPinnerTest, LeavesWhatRunsOnItsShare) {
  ASSERT_TRUE(Configure("cpus: 2-7").ok());
  EXPECT_EQ(*Create("gone", "1"), "2");
  std::vector<api::Container> containers;
  const auto add = [&](const char* id, const char* cpu, const char* cpus,
                       api::ContainerState state) {
    containers.push_back(MakeContainer(id, cpu));
    containers.back().set_state(state);
    containers.back().mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(cpus);
  };
  add("pinned", "2", "2,5", api::CONTAINER_RUNNING);
  add("created", "1", "3", api::CONTAINER_CREATED);
  add("stopped", "1", "4", api::CONTAINER_STOPPED);
  add("elsewhere", "1", "0", api::CONTAINER_RUNNING);
  add("wide", "1", "2-7", api::CONTAINER_RUNNING);
  add("partly", "500m", "6", api::CONTAINER_RUNNING);
  ASSERT_TRUE(pinner_.Synchronize({}, containers).ok());
  EXPECT_EQ(pinner_.Free().ToString(), "4,6-7");
}

TEST_F(CpuPinnerTest, SaysWhatIsWrongWithItsConfiguration) {
  const auto message = [&](const std::string& text) {
    const absl::Status status = Configure(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message(""), HasSubstr("cpus is missing"));
  EXPECT_THAT(message("cpus: x"), HasSubstr("configuration: cpus: "));
  EXPECT_THAT(message("{cpus: 2, shared: y}"), HasSubstr("configuration: shared: "));
  EXPECT_THAT(message("{cpus: 0-3, shared: 3-4}"), HasSubstr("CPUs 3 are in cpus and in shared"));
  EXPECT_THAT(message("{cpus: 2, pool: 3}"), HasSubstr("configuration:1:"));
  EXPECT_THAT(message("{cpus"), HasSubstr("configuration: "));
  EXPECT_THAT(message("[1]"), HasSubstr("configuration:1:1"));
}

}  // namespace
}  // namespace plimsoll::examples
