#include "runtime/oci/spec_builder.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Not the time of day: the machine may be busy.
double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

class SpecBuilderTest : public SpecBuilderFixture {};

TEST_F(SpecBuilderTest, ArgumentsByKubernetesRules) {
  image_.entrypoint = {"entry"};
  image_.command = {"default"};
  spec_.command.clear();
  EXPECT_THAT(*ProcessArguments(spec_, image_), ElementsAre("entry", "default"));
  spec_.args = {"x"};
  EXPECT_THAT(*ProcessArguments(spec_, image_), ElementsAre("entry", "x"));
  spec_.command = {"cmd"};
  EXPECT_THAT(*ProcessArguments(spec_, image_), ElementsAre("cmd", "x"));
  spec_.args.clear();
  EXPECT_THAT(*ProcessArguments(spec_, image_), ElementsAre("cmd"));
}

TEST_F(SpecBuilderTest, EnvironmentInOrderOfPrecedence) {
  request_.sandbox.hostname = "pod";
  image_.environment = {"PATH=/image", "X=image"};
  spec_.environment = {{"X", "pod=1"}, {"HOME", "/elsewhere"}};
  EXPECT_THAT(Build()["process"]["env"].get<std::vector<std::string>>(),
              ElementsAre("PATH=/image", "HOME=/elsewhere", "HOSTNAME=pod", "X=pod=1"));
}

// Their cost grows with their number: with its square these took minutes.
TEST_F(SpecBuilderTest, FiftyThousandVariablesCostLittle) {
  for (int i = 0; i < 50'000; ++i) {
    image_.environment.push_back(absl::StrCat("IMAGE_", i, "=", i));
    spec_.environment.emplace_back(absl::StrCat(i % 2 == 0 ? "IMAGE_" : "OWN_", i), "x");
    spec_.extras.unset_environment.push_back(absl::StrCat("IMAGE_", i));
  }
  const double begin = CpuSeconds();
  const std::vector<std::string> environment = EnvironmentOf({"PATH=/bin"}, spec_, image_);
  EXPECT_LT(CpuSeconds() - begin, 5);
  EXPECT_EQ(environment.size(), 50'001u);
  EXPECT_EQ(environment[1], "IMAGE_0=x");
  EXPECT_EQ(environment[2], "OWN_1=x");
}

TEST_F(SpecBuilderTest, VariablesThatTheOciRuntimeTakesLongForAreRefused) {
  for (int i = 0; i < 20'000; ++i) spec_.environment.emplace_back(absl::StrCat("V", i), "");
  const absl::Status refused = TryBuild().status();  // with PATH and HOME
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("20002 environment variables"));
  EXPECT_THAT(refused.message(), HasSubstr("at most 20000 are possible"));
  spec_.environment.resize(19'998);
  EXPECT_TRUE(TryBuild().ok()) << TryBuild().status();
}

TEST_F(SpecBuilderTest, ArgumentsAndVariablesHaveTheKernelsBounds) {
  spec_.environment = {{"A", std::string(131'071 - 2, 'x')}};
  EXPECT_TRUE(TryBuild().ok()) << TryBuild().status();
  spec_.environment = {{"A", std::string(131'071 - 1, 'x')}};
  absl::Status refused = TryBuild().status();
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("131072 bytes (at most 131071)"));
  spec_.environment.clear();
  spec_.args.assign(70, std::string(100'000, 'x'));
  refused = TryBuild().status();
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("bytes together"));
  // A quarter of the container's own limit of its stack.
  spec_.args.assign(4, std::string(100'000, 'x'));
  EXPECT_TRUE(TryBuild().ok()) << TryBuild().status();
  spec_.extras.rlimits = {{"RLIMIT_STACK", 1 << 20, 1 << 20}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("(at most 262144)"));
}

// Edits of CDI devices and plugins; some replace others.
TEST_F(SpecBuilderTest, ThousandsOfEditsCostLittle) {
  constexpr int kCount = 5'000;
  for (int i = 0; i < kCount; ++i) {
    for (cdi::ContainerEdits* edits : {&request_.edits, &spec_.extras.edits}) {
      edits->device_nodes.push_back(
          {.path = absl::StrCat("/dev/x", i), .type = "c", .major = 1, .minor = i});
      edits->mounts.push_back(
          {.host_path = "tmpfs", .container_path = absl::StrCat("/m/", i), .type = "tmpfs"});
    }
  }
  const double begin = CpuSeconds();
  const Json config = Build();
  EXPECT_LT(CpuSeconds() - begin, 5);
  EXPECT_EQ(config["linux"]["devices"].size(), size_t{kCount});
  EXPECT_EQ(config["linux"]["resources"]["devices"].size(), size_t{kCount} + 1);
  EXPECT_EQ(config["mounts"].back()["destination"], absl::StrCat("/m/", kCount - 1));
}

TEST_F(SpecBuilderTest, DescriptorLimit) {
  EXPECT_FALSE(Build()["process"].contains("rlimits"));
  input_.descriptor_limit = {.soft = 1024, .hard = 524288};
  EXPECT_EQ(Build()["process"]["rlimits"],
            Json::parse(R"([{"type": "RLIMIT_NOFILE", "soft": 1024, "hard": 524288}])"));
}

TEST_F(SpecBuilderTest, Namespaces) {
  EXPECT_THAT(NamespaceTypes(Build()), ElementsAre("mount", "pid"));
  request_.sandbox.network_namespace = "/run/net";
  request_.sandbox.ipc_namespace = "/run/ipc";
  request_.sandbox.uts_namespace = "/run/uts";
  spec_.security.namespaces.pid = NamespaceMode::kNode;
  EXPECT_THAT(NamespaceTypes(Build()), ElementsAre("mount", "network", "ipc", "uts"));
  machine_.layout = linux::CgroupLayout::kV2;
  EXPECT_THAT(NamespaceTypes(Build()), Contains("cgroup"));
  spec_.security.namespaces.pid = NamespaceMode::kTarget;
  EXPECT_TRUE(absl::IsInvalidArgument(TryBuild().status()));
  request_.target_pid = 42;
  EXPECT_THAT(Build()["linux"]["namespaces"].dump(), HasSubstr("/proc/42/ns/pid"));
  spec_.security.namespaces.pid = NamespaceMode::kPod;
  request_.sandbox.pid_namespace = "/run/pod/pid";
  EXPECT_THAT(Build()["linux"]["namespaces"].dump(),
              HasSubstr(R"({"path":"/run/pod/pid","type":"pid"})"));
  request_.sandbox.pid_namespace.clear();  // the pod has the host's
  EXPECT_THAT(NamespaceTypes(Build()), Not(Contains("pid")));
}

TEST_F(SpecBuilderTest, AUserNamespaceIsJoinedWithItsMappings) {
  EXPECT_FALSE(Build()["linux"].contains("uidMappings"));
  request_.sandbox.user_namespace = "/run/user";
  spec_.security.namespaces.uid_mappings = {{100000, 0, 65536}};
  spec_.security.namespaces.gid_mappings = {{200000, 0, 10}};
  const Json part = Build()["linux"];
  EXPECT_THAT(part["namespaces"].dump(), HasSubstr(R"({"path":"/run/user","type":"user"})"));
  EXPECT_EQ(part["uidMappings"],
            Json::parse(R"([{"containerID": 0, "hostID": 100000, "size": 65536}])"));
  EXPECT_EQ(part["gidMappings"],
            Json::parse(R"([{"containerID": 0, "hostID": 200000, "size": 10}])"));
}

TEST_F(SpecBuilderTest, AnAppArmorProfileIsNamed) {
  EXPECT_FALSE(Build()["process"].contains("apparmorProfile"));
  input_.apparmor_profile = "mine";
  EXPECT_EQ(Build()["process"]["apparmorProfile"], "mine");
}

TEST_F(SpecBuilderTest, SelinuxLabelsAreNamed) {
  const Json without = Build();
  EXPECT_FALSE(without["process"].contains("selinuxLabel"));
  EXPECT_FALSE(without["linux"].contains("mountLabel"));
  input_.selinux = {"u:r:t:s0:c1,c2", "u:object_r:f:s0:c1,c2"};
  const Json with = Build();
  EXPECT_EQ(with["process"]["selinuxLabel"], "u:r:t:s0:c1,c2");
  EXPECT_EQ(with["linux"]["mountLabel"], "u:object_r:f:s0:c1,c2");
}

TEST_F(SpecBuilderTest, Resources) {
  spec_.resources.cpu_shares = 100;
  spec_.resources.cpu_quota_us = 5000;
  spec_.resources.memory_limit_bytes = 1 << 20;
  spec_.resources.memory_swap_limit_bytes = 2 << 20;
  spec_.resources.hugetlb_limits = {{"2MB", 0}};
  Json resources = Build()["linux"]["resources"];
  EXPECT_EQ(resources["cpu"]["shares"], 100);
  EXPECT_EQ(resources["cpu"]["quota"], 5000);
  EXPECT_EQ(resources["memory"]["limit"], 1 << 20);
  EXPECT_EQ(resources["memory"]["swap"], 2 << 20);
  EXPECT_FALSE(resources.contains("hugepageLimits"));
  EXPECT_THAT(warnings_, IsEmpty());  // no promise is broken: the limit is none at all

  spec_.resources.hugetlb_limits = {{"2MB", 4 << 20}};
  machine_.swap_accounting = false;
  resources = Build()["linux"]["resources"];
  EXPECT_FALSE(resources["memory"].contains("swap"));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("memory and swap is not enforced"), HasSubstr("huge pages")));

  machine_.controllers.push_back("hugetlb");
  resources = Build()["linux"]["resources"];
  EXPECT_EQ(resources["hugepageLimits"][0]["pageSize"], "2MB");
}

// crun 1.8.1 writes a quota of -1 as a number that no kernel accepts.
TEST_F(SpecBuilderTest, NoQuotaIsNotWritten) {
  spec_.resources.cpu_quota_us = -1;
  spec_.resources.cpu_period_us = 100000;
  spec_.resources.cpuset_cpus = "0";
  const Json cpu = Build()["linux"]["resources"]["cpu"];
  EXPECT_FALSE(cpu.contains("quota"));
  EXPECT_EQ(cpu["period"], 100000);
  EXPECT_EQ(cpu["cpus"], "0");
}

TEST_F(SpecBuilderTest, FilesOfVersionTwoAreNotSilentlyLeftOut) {
  spec_.resources.unified = {{"memory.low", "4096"}};
  machine_.layout = linux::CgroupLayout::kV2;
  EXPECT_EQ(Build()["linux"]["resources"]["unified"]["memory.low"], "4096");
  EXPECT_THAT(warnings_, IsEmpty());
  for (const linux::CgroupLayout layout :
       {linux::CgroupLayout::kV1, linux::CgroupLayout::kHybrid}) {
    machine_.layout = layout;
    EXPECT_FALSE(Build()["linux"]["resources"].contains("unified"));
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("unified \"memory.low\" is not written")));
  }
}

TEST_F(SpecBuilderTest, OomScoreAdjIsAlwaysThere) {
  EXPECT_EQ(Build()["process"]["oomScoreAdj"], 0);
  machine_.oom_score_adj = 100;
  machine_.lowers_oom_score_adj = false;
  EXPECT_EQ(Build()["process"]["oomScoreAdj"], 100);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("oom_score_adj is 100 instead of 0")));
  machine_.lowers_oom_score_adj = true;
  spec_.oom_score_adj = -998;
  EXPECT_EQ(Build()["process"]["oomScoreAdj"], -998);
}

TEST_F(SpecBuilderTest, OrdersToCrunAreNotTakenFromUsers) {
  spec_.annotations = {
      {"run.oci.hooks.stdout", "/x"}, {"run.oci.seccomp_bpf_data", "x"}, {"a", "b"}};
  EXPECT_EQ(Build()["annotations"], (Json{{"a", "b"}}));
  input_.seccomp = {.filter = "QUJD", .profile = "{}"};
  EXPECT_EQ(Build()["annotations"]["run.oci.seccomp_bpf_data"], "QUJD");
}

// Such a runtime would pass over the annotation, and run the container without a filter.
TEST_F(SpecBuilderTest, ARuntimeThatIsNotCrunGetsTheProfileItself) {
  machine_.programs = {{"/a/crun", "crun 1.8.1"}, {"/a/runc", "runc 1.1.5"}, {"/a/mute", ""}};
  input_.seccomp = {.filter = "QUJD", .profile = R"({"defaultAction":"SCMP_ACT_ALLOW"})"};
  const auto gets_profile = [&](const std::string& program) {
    request_.program = program;
    const Json config = Build();
    EXPECT_NE(config["linux"].contains("seccomp"),
              config["annotations"].contains("run.oci.seccomp_bpf_data"));
    return config["linux"].contains("seccomp");
  };
  EXPECT_FALSE(gets_profile(""));
  EXPECT_FALSE(gets_profile("/a/crun"));
  for (const char* other : {"/a/runc", "/a/mute", "/a/unknown"}) EXPECT_TRUE(gets_profile(other));
  machine_.default_program = "/a/runc";
  EXPECT_TRUE(gets_profile(""));
}

TEST_F(SpecBuilderTest, PathsAreMaskedUnlessPrivileged) {
  spec_.security.masked_paths = {"/proc/kcore"};
  spec_.security.readonly_paths = {"/proc/sys"};
  Json config = Build();
  EXPECT_EQ(config["linux"]["maskedPaths"], Json::array({"/proc/kcore"}));
  EXPECT_EQ(config["linux"]["readonlyPaths"], Json::array({"/proc/sys"}));
  EXPECT_THAT(MountAt(config, "/sys")["options"], Contains("ro"));
  spec_.security.privileged = true;
  config = Build();
  EXPECT_FALSE(config["linux"].contains("maskedPaths"));
  EXPECT_THAT(MountAt(config, "/sys")["options"], Contains("rw"));
  EXPECT_EQ(config["linux"]["resources"]["devices"][0]["allow"], true);
}

TEST_F(SpecBuilderTest, CdiDevicesComeOverWhatIsThere) {
  TestDir dir;
  spec_.environment = {{"CARD", "none"}, {"OTHER", "1"}};
  spec_.devices = {{.container_path = "/dev/card", .host_path = "/dev/zero", .permissions = "r"}};
  spec_.mounts = {{.container_path = "/lib/card/etc", .host_path = dir.path()},
                  {.container_path = "/lib/card", .host_path = "/"}};
  cdi::ContainerEdits& edits = request_.edits;
  edits.env = {"CARD=0", "NEW=1"};
  edits.device_nodes = {{.path = "/dev//card", .host_path = "/dev/null", .permissions = "rw"},
                        {.path = "/dev/known",
                         .type = "b",
                         .major = 259,
                         .minor = 7,
                         .file_mode = 060640,
                         .uid = 0,
                         .gid = 6},
                        {.path = "/dev/pipe", .type = "p"}};
  edits.mounts = {
      {.host_path = dir.path(), .container_path = "/lib//card/"},
      {.host_path = "proc", .container_path = "/p", .type = "proc", .options = {"ro", "rslave"}}};
  edits.hooks = {{"createRuntime", "/bin/a", {"a", "b"}, {"C=d"}, 4}, {"createRuntime", "/bin/b"}};
  edits.additional_gids = {44, 0, 7, 44};
  edits.intel_rdt = {.clos_id = "gold", .enable_mbm = true};
  const Json config = Build();
  EXPECT_THAT(config["process"]["env"], Contains("CARD=0"));
  EXPECT_THAT(config["process"]["env"], Contains("NEW=1"));
  EXPECT_THAT(config["process"]["env"], Contains("OTHER=1"));
  EXPECT_THAT(config["process"]["env"], Not(Contains("CARD=none")));
  EXPECT_EQ(config["linux"]["devices"], Json::parse(R"([
    {"path": "/dev/card", "type": "c", "major": 1, "minor": 3},
    {"path": "/dev/known", "type": "b", "major": 259, "minor": 7, "fileMode": 416, "uid": 0,
     "gid": 6},
    {"path": "/dev/pipe", "type": "p"}])"));
  const Json rules = config["linux"]["resources"]["devices"];
  ASSERT_EQ(rules.size(), 3);  // all forbidden; the replaced node's rule is gone
  EXPECT_EQ(rules[1], Json::parse(R"({"allow": true, "type": "c", "major": 1, "minor": 3,
                                      "access": "rw"})"));
  EXPECT_EQ(rules[2], Json::parse(R"({"allow": true, "type": "b", "major": 259, "minor": 7,
                                      "access": "rwm"})"));
  EXPECT_EQ(MountAt(config, "/lib/card")["source"], "/stage/volumes/edit2");
  EXPECT_THAT(MountAt(config, "/lib/card")["options"], ElementsAre("rbind"));
  EXPECT_EQ(config["mounts"].back()["destination"], "/lib/card/etc");
  EXPECT_EQ(MountAt(config, "/p")["type"], "proc");
  EXPECT_EQ(config["linux"]["rootfsPropagation"], "rslave");
  EXPECT_EQ(config["hooks"], Json::parse(R"({"createRuntime": [
    {"path": "/bin/a", "args": ["a", "b"], "env": ["C=d"], "timeout": 4}, {"path": "/bin/b"}]})"));
  EXPECT_THAT(config["process"]["user"]["additionalGids"], ElementsAre(7, 44));
  EXPECT_THAT(TryBuild()->user.supplemental_groups, ElementsAre(7, 44));
  EXPECT_EQ(config["linux"]["intelRdt"], Json::parse(R"({"closID": "gold", "enableMBM": true})"));
  EXPECT_THAT(TryBuild()->warnings, Contains(HasSubstr("intelRdt is left to the OCI runtime")));
}

TEST_F(SpecBuilderTest, ACdiNodeLeavesTheRuleOfADeviceThatIsElsewhereToo) {
  spec_.devices = {{.container_path = "/dev/a", .host_path = "/dev/zero", .permissions = "r"},
                   {.container_path = "/dev/b", .host_path = "/dev/zero", .permissions = "r"}};
  request_.edits.device_nodes = {{.path = "/dev/a", .host_path = "/dev/null"}};
  const auto zeros = [](const Json& config) {
    return absl::c_count_if(config["linux"]["resources"]["devices"],
                            [](const Json& rule) { return rule.value("minor", 0) == 5; });
  };
  EXPECT_EQ(zeros(Build()), 2);
  request_.edits.device_nodes.push_back({.path = "/dev/b", .host_path = "/dev/null"});
  EXPECT_EQ(zeros(Build()), 0);
}

TEST_F(SpecBuilderTest, WithACdiMountAContainersOwnHidesWhatItHidesWithout) {
  TestDir dir;
  spec_.mounts = {{.container_path = "/sys", .host_path = dir.path()},
                  {.container_path = "/dev", .host_path = dir.path()}};
  const auto order = [&] {
    const Json config = Build();
    std::vector<std::string> paths;
    for (const Json& mount : config["mounts"]) paths.push_back(mount["destination"]);
    return paths;
  };
  std::vector<std::string> without = order();
  request_.edits.mounts = {{.host_path = dir.path(), .container_path = "/lib/card"}};
  std::vector<std::string> with = order();
  EXPECT_THAT(with, Contains("/sys/fs/cgroup"));
  without.push_back("/lib/card");
  EXPECT_EQ(with, without);
  // A mount in the place of a standard one counts as standard.
  request_.edits.mounts = {{.host_path = dir.path(), .container_path = "/dev/shm"}};
  with = order();
  EXPECT_EQ(with.back(), "/dev/shm");
  EXPECT_EQ(std::count(with.begin(), with.end(), "/dev/shm"), 1);
}

TEST_F(SpecBuilderTest, WhatACdiDeviceNeedsMustBeThere) {
  TestDir dir;
  cdi::ContainerEdits& edits = request_.edits;
  edits.device_nodes = {{.path = "/dev/x", .host_path = "/no/such/device"}};
  EXPECT_TRUE(absl::IsFailedPrecondition(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("CDI device node /no/such/device: "));
  edits.device_nodes = {{.path = dir.path()}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("is no device"));
  edits.device_nodes = {{.path = "/dev/null", .type = "b"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("is of type c and not b"));
  edits.device_nodes.clear();
  edits.mounts = {{.host_path = "/no/such/file", .container_path = "/x"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("mount /no/such/file of a CDI device"));
}

TEST_F(SpecBuilderTest, Users) {
  constexpr char kPasswd[] = "root:x:0:0::/root:/bin/sh\nweb:x:33:34::/srv:/bin/sh\n";
  constexpr char kGroup[] = "web:x:34:\nlog:x:35:web\n";
  image_.user = "web";
  SecurityContext security;
  auto user = ResolveProcessUser(security, image_, kPasswd, kGroup);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(user->uid, 33u);
  EXPECT_EQ(user->gid, 34u);
  EXPECT_THAT(user->additional_gids, ElementsAre(34u, 35u));
  EXPECT_EQ(user->home, "/srv");

  security.supplemental_groups = {7};
  security.supplemental_groups_strict = true;
  security.run_as_group = 99;
  EXPECT_TRUE(
      absl::IsInvalidArgument(ResolveProcessUser(security, image_, kPasswd, kGroup).status()));
  security.run_as_user = 33;
  user = ResolveProcessUser(security, image_, kPasswd, kGroup);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(user->gid, 99u);
  EXPECT_THAT(user->additional_gids, ElementsAre(7u, 99u));

  security.run_as_group = -4;
  EXPECT_FALSE(ResolveProcessUser(security, image_, kPasswd, kGroup).ok());
}

TEST_F(SpecBuilderTest, TheImagesOwnUserKeepsTheImagesGroup) {
  constexpr char kPasswd[] = "app:x:1000:1000::/app:/bin/sh\n";
  constexpr char kGroup[] = "app:x:1000:\nextra:x:2000:app\n";
  const auto group_of = [&](const SecurityContext& security, const std::string& of_image) {
    image_.user = of_image;
    const auto user = ResolveProcessUser(security, image_, kPasswd, kGroup);
    EXPECT_TRUE(user.ok()) << user.status();
    return user.ok() ? user->gid : 0;
  };
  SecurityContext by_number;
  by_number.run_as_user = 1000;
  EXPECT_EQ(group_of(by_number, "1000:2000"), 2000u);
  EXPECT_EQ(group_of(by_number, "1000:extra"), 2000u);
  EXPECT_EQ(group_of(by_number, "1000"), 1000u);
  EXPECT_EQ(group_of(by_number, "1001:2000"), 1000u) << "another user";
  EXPECT_EQ(group_of(by_number, "app:2000"), 1000u) << "kubelet sends no number for a name";
  EXPECT_EQ(group_of(by_number, ":2000"), 1000u);
  SecurityContext by_name;
  by_name.run_as_username = "app";
  EXPECT_EQ(group_of(by_name, "app:2000"), 2000u);
  EXPECT_EQ(group_of(by_name, "other:2000"), 1000u);
  by_number.run_as_group = 7;
  EXPECT_EQ(group_of(by_number, "1000:2000"), 7u);
  SecurityContext root;
  root.run_as_user = 0;
  EXPECT_EQ(group_of(root, ":2000"), 2000u) << "an empty user is root";
  EXPECT_EQ(group_of(root, "0:2000"), 2000u);
}

TEST_F(SpecBuilderTest, WorkingDirectoryMustBeAbsolute) {
  image_.working_directory = "/image";
  EXPECT_EQ(TryBuild()->working_directory, "/image");
  spec_.working_directory = "relative";
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("working_directory \"relative\""));
}

}  // namespace
}  // namespace plimsoll::runtime
