// Requests that nobody sends by mistake alone: the client is to blame, and is told so.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class HostileInputTest : public NodeTest {
 protected:
  void ExpectInvalid(const grpc::Status& status, const std::string& says) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(says));
    EXPECT_LT(status.error_message().size(), 2000u);
  }
};

TEST_F(HostileInputTest, AContainerThatCannotBeIsTheClientsFault) {
  const struct {
    const char* says;
    std::function<void(cri::ContainerConfig*)> set;
  } cases[] = {
      {"cpuset_cpus",
       [](auto* c) {
         std::string list = "0";
         for (int cpu = 2; cpu < 200000; cpu += 2) absl::StrAppend(&list, ",", cpu);
         c->mutable_linux()->mutable_resources()->set_cpuset_cpus(list);
       }},
      {"needs memory_limit_in_bytes",
       [](auto* c) {
         c->mutable_linux()->mutable_resources()->set_memory_swap_limit_in_bytes(64 << 20);
       }},
      {"memory limit of 1 bytes is too low",
       [](auto* c) { c->mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(1); }},
      {"at most 17592186044415",
       [](auto* c) { c->mutable_linux()->mutable_resources()->set_cpu_quota(int64_t{1} << 62); }},
      {"/dev",
       [](auto* c) {
         cri::Mount* mount = c->add_mounts();
         mount->set_container_path("/dev");
         mount->mutable_image()->set_image("busybox");
         mount->set_readonly(true);
       }},
  };
  const std::string pod = RunPod();
  for (const auto& each : cases) {
    cri::ContainerConfig config = Shell("sleep 1000");
    each.set(&config);
    std::string id;
    ExpectInvalid(TryCreate(pod, config, &id), each.says);
  }
}

TEST_F(HostileInputTest, ALogDirectoryThatIsAFile) {
  const std::string file = node_.directory() + "/file";
  ASSERT_TRUE(Host().ReplaceFile(file, "").ok());
  cri::PodSandboxConfig pod = PodConfig();
  pod.set_log_directory(file);
  std::string id;
  const grpc::Status made = TryRunPod(pod, &id);
  ASSERT_TRUE(made.ok()) << made.error_message();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.set_log_path("c.log");
  std::string container;
  const grpc::Status refused = TryCreate(id, config, &container);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("is no directory"));
}

TEST_F(HostileInputTest, ACommandThatTheKernelDoesNotTake) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  cri::ExecSyncResponse response;
  ExpectInvalid(Exec(container, {"echo", std::string(200'000, 'a')}, &response), "131071 bytes");
  const std::vector<std::string> many(100, std::string(100'000, 'a'));
  ExpectInvalid(Exec(container, many, &response), "together");
  EXPECT_TRUE(Exec(container, {"echo", std::string(131'071, 'a')}, &response).ok());
  EXPECT_EQ(response.stdout().size(), 131'072u);
}

}  // namespace
}  // namespace plimsoll::testing
