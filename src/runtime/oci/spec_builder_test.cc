#include "runtime/oci/spec_builder.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/mounts.h"
#include "runtime/oci/mount_source.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A directory that is a shared mount of its own.
class SharedMount {
 public:
  explicit SharedMount(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkdir(path_.c_str(), 0755), 0);
    EXPECT_TRUE(linux::BindMount(path_, path_).ok());
    EXPECT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  }
  ~SharedMount() { EXPECT_TRUE(linux::Unmount(path_).ok()); }
  SharedMount(const SharedMount&) = delete;
  SharedMount& operator=(const SharedMount&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class SpecBuilderTest : public ::testing::Test {
 protected:
  SpecBuilderTest() : host_(*FsRoot::Open("/")) {
    machine_.layout = linux::CgroupLayout::kV1;
    machine_.controllers = {"cpu", "cpuset", "memory", "pids"};
    machine_.capabilities = ~CapabilityMask{0};
    spec_.command = {"/bin/true"};
    request_.id = "a";
    request_.spec = &spec_;
    request_.image = &image_;
    request_.cgroup_path = "/pods/a";
    input_.request = &request_;
    input_.machine = &machine_;
    input_.host = &host_;
    input_.root_path = "/rootfs";
    input_.user.home = "/root";
  }

  absl::StatusOr<BuiltSpec> TryBuild() { return BuildSpec(input_); }
  Json Build() {
    const auto built = TryBuild();
    EXPECT_TRUE(built.ok()) << built.status();
    if (!built.ok()) return Json::object();
    warnings_ = built->warnings;
    return Json::parse(built->json);
  }
  static Json MountAt(const Json& config, const std::string& destination) {
    for (const Json& mount : config["mounts"]) {
      if (mount["destination"] == destination) return mount;
    }
    return nullptr;
  }
  static std::vector<std::string> NamespaceTypes(const Json& config) {
    std::vector<std::string> types;
    for (const Json& ns : config["linux"]["namespaces"]) types.push_back(ns["type"]);
    return types;
  }

  FsRoot host_;
  Machine machine_;
  ContainerSpec spec_;
  image::ImageConfig image_;
  CreateRequest request_;
  SpecInput input_;
  std::vector<std::string> warnings_;
};

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

TEST_F(SpecBuilderTest, InAUserNamespacePrivilegeBringsNoDevices) {
  spec_.security.privileged = true;
  EXPECT_FALSE(Build()["linux"]["devices"].empty());
  request_.sandbox.user_namespace = "/run/user";
  const Json part = Build()["linux"];
  EXPECT_TRUE(part["devices"].empty());
  EXPECT_EQ(part["resources"]["devices"][0]["allow"], false);
}

TEST_F(SpecBuilderTest, AnAppArmorProfileIsNamed) {
  EXPECT_FALSE(Build()["process"].contains("apparmorProfile"));
  input_.apparmor_profile = "mine";
  EXPECT_EQ(Build()["process"]["apparmorProfile"], "mine");
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
  EXPECT_THAT(warnings_, IsEmpty());  // nothing was promised: the limit is none at all

  spec_.resources.hugetlb_limits = {{"2MB", 4 << 20}};
  machine_.swap_accounting = false;
  resources = Build()["linux"]["resources"];
  EXPECT_FALSE(resources["memory"].contains("swap"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("huge pages")));

  machine_.controllers.push_back("hugetlb");
  resources = Build()["linux"]["resources"];
  EXPECT_EQ(resources["hugepageLimits"][0]["pageSize"], "2MB");
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
  input_.seccomp_filter = "QUJD";
  EXPECT_EQ(Build()["annotations"]["run.oci.seccomp_bpf_data"], "QUJD");
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

TEST_F(SpecBuilderTest, MountsOfTheContainerReplaceAndFollow) {
  TestDir dir;
  const SharedMount shared(dir.path() + "/shared");
  request_.sandbox.etc_hosts = dir.path() + "/hosts";
  request_.sandbox.etc_resolv_conf = dir.path() + "/resolv.conf";
  request_.sandbox.ipc_namespace = "/run/ipc";
  request_.sandbox.shm_directory = dir.path();
  spec_.mounts = {{.container_path = "/a/b/c/", .host_path = dir.path()},
                  {.container_path = "/a",
                   .host_path = dir.path() + "/shared",
                   .readonly = true,
                   .propagation = MountPropagation::kHostToContainer},
                  {.container_path = "/etc/hosts", .host_path = dir.path()}};
  Json config = Build();
  EXPECT_EQ(MountAt(config, "/etc/hosts")["source"], dir.path());
  EXPECT_EQ(MountAt(config, "/etc/resolv.conf")["source"], dir.path() + "/resolv.conf");
  EXPECT_EQ(MountAt(config, "/dev/shm")["source"], dir.path());
  EXPECT_THAT(MountAt(config, "/a")["options"], ElementsAre("rbind", "rslave", "ro"));
  EXPECT_EQ(config["mounts"].back()["destination"], "/a/b/c");
  EXPECT_EQ(config["linux"]["rootfsPropagation"], "rslave");
  spec_.mounts[1].propagation = MountPropagation::kBidirectional;
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("for privileged containers only"));
  spec_.security.privileged = true;
  EXPECT_EQ(Build()["linux"]["rootfsPropagation"], "rshared");
  spec_.mounts[1].recursive_read_only = true;
  EXPECT_TRUE(absl::IsInvalidArgument(TryBuild().status()));
  spec_.mounts = {{.container_path = "relative", .host_path = dir.path()}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("mounts[0].container_path"));
}

TEST_F(SpecBuilderTest, PropagationNeedsAMountThatItCanComeFrom) {
  TestDir dir;
  const SharedMount shared(dir.path() + "/shared");
  ASSERT_EQ(mount(nullptr, shared.path().c_str(), nullptr, MS_PRIVATE, nullptr), 0);
  spec_.security.privileged = true;
  for (const MountPropagation propagation :
       {MountPropagation::kHostToContainer, MountPropagation::kBidirectional}) {
    spec_.mounts = {
        {.container_path = "/a", .host_path = shared.path() + "/deep", .propagation = propagation}};
    const absl::Status refused = TryBuild().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("mounts[0].propagation"), HasSubstr(shared.path() + "/deep"),
                      HasSubstr("is private"), HasSubstr("--make-rshared " + shared.path())));
  }
  ASSERT_EQ(mount(nullptr, shared.path().c_str(), nullptr, MS_SHARED, nullptr), 0);
  EXPECT_THAT(MountAt(Build(), "/a")["options"], Contains("rshared"));
}

TEST_F(SpecBuilderTest, ReadOnlyWithAllBelowNeedsTheKernel) {
  TestDir dir;
  spec_.mounts = {{.container_path = "/a",
                   .host_path = dir.path(),
                   .readonly = true,
                   .recursive_read_only = true}};
  EXPECT_THAT(MountAt(Build(), "/a")["options"], ElementsAre("rbind", "rprivate", "rro", "ro"));
  machine_.recursive_read_only = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("needs Linux 5.12 and crun 1.4"));
}

TEST_F(SpecBuilderTest, HostPathsAreFollowedOrMade) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("real/data").ok());
  ASSERT_EQ(symlink("real", (dir.path() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (dir.path() + "/dangling").c_str()), 0);
  spec_.mounts = {{.container_path = "/a", .host_path = dir.path() + "/link/data"},
                  {.container_path = "/b", .host_path = dir.path() + "/missing/deep"}};
  const Json config = Build();
  EXPECT_EQ(MountAt(config, "/a")["source"], dir.path() + "/real/data");
  EXPECT_EQ(MountAt(config, "/b")["source"], dir.path() + "/missing/deep");
  EXPECT_TRUE(S_ISDIR(dir.root().Stat("missing/deep")->st_mode));
  spec_.mounts = {{.container_path = "/c", .host_path = dir.path() + "/dangling"}};
  EXPECT_TRUE(absl::IsInvalidArgument(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("mounts[0].host_path"));
}

TEST_F(SpecBuilderTest, MountOptionsAreThoseAskedFor) {
  TestDir dir;
  spec_.mounts = {
      {.container_path = "/a", .host_path = dir.path(), .mount_options = {"noexec", "nosuid"}}};
  EXPECT_THAT(MountAt(Build(), "/a")["options"],
              ElementsAre("rbind", "rprivate", "noexec", "nosuid", "rw"));
}

TEST_F(SpecBuilderTest, ImagesAndMappedIdsComeFromTheStage) {
  TestDir dir;
  input_.stage_path = "/bundle/stage";
  spec_.mounts = {{.container_path = "/plain", .host_path = dir.path()},
                  {.container_path = "/ids",
                   .host_path = dir.path(),
                   .uid_mappings = {{100000, 0, 65536}},
                   .gid_mappings = {{100000, 0, 65536}}},
                  {.container_path = "/image", .image = "busybox", .image_sub_path = "bin"}};
  const Json config = Build();
  EXPECT_EQ(MountAt(config, "/plain")["source"], dir.path());
  EXPECT_EQ(MountAt(config, "/ids")["source"], "/bundle/stage/volumes/1");
  EXPECT_EQ(MountAt(config, "/image")["source"], "/bundle/stage/volumes/2");
  EXPECT_THAT(MountAt(config, "/image")["options"],
              ElementsAre("rbind", "rprivate", "ro", "noexec", "nosuid", "nodev"));

  request_.image_layers = {{2, {"/layers/top", "/layers/base"}}};
  LaunchPlan plan;
  AddStageToPlan(request_, input_.stage_path, &plan);
  std::string text = plan.text();
  absl::c_replace(text, '\0', '|');
  EXPECT_EQ(text, absl::StrCat("stage=/bundle/stage|volume=1|source=", dir.path(),
                               "|map=0 100000 65536\n;0 100000 65536\n|volume=2|"
                               "layer=/layers/top|layer=/layers/base|part=bin|"));

  // In a pod with these ids the namespace is there already, and everything is shown with them.
  request_.sandbox.user_namespace = "/run/user";
  spec_.security.namespaces.uid_mappings = spec_.mounts[1].uid_mappings;
  spec_.security.namespaces.gid_mappings = spec_.mounts[1].gid_mappings;
  LaunchPlan mapped;
  AddStageToPlan(request_, input_.stage_path, &mapped);
  text = mapped.text();
  absl::c_replace(text, '\0', '|');
  EXPECT_EQ(text, absl::StrCat("stage=/bundle/stage|userns=/run/user|volume=1|source=", dir.path(),
                               "|map=/run/user|volume=2|layer=/layers/top|layer=/layers/base|"
                               "part=bin|map=/run/user|"));

  spec_.mounts.clear();
  request_.sandbox.user_namespace.clear();
  LaunchPlan none;
  AddStageToPlan(request_, input_.stage_path, &none);
  EXPECT_EQ(none.text(), "");
}

TEST_F(SpecBuilderTest, ADirectoryOfDevicesIsAllOfThem) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("devices/below").ok());
  ASSERT_EQ(mknod((dir.path() + "/devices/a").c_str(), S_IFCHR | 0640, makedev(1, 3)), 0);
  ASSERT_EQ(mknod((dir.path() + "/devices/below/b").c_str(), S_IFCHR | 0600, makedev(1, 5)), 0);
  ASSERT_TRUE(dir.root().ReplaceFile("devices/file", "no device").ok());
  ASSERT_EQ(symlink("devices/a", (dir.path() + "/link").c_str()), 0);
  spec_.devices = {
      {.container_path = "/dev/mine", .host_path = dir.path() + "/devices", .permissions = "rm"}};
  const Json devices = Build()["linux"]["devices"];
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[0]["path"], "/dev/mine/a");
  EXPECT_EQ(devices[0]["minor"], 3);
  EXPECT_EQ(devices[0]["fileMode"], 0640);
  EXPECT_EQ(devices[1]["path"], "/dev/mine/below/b");
  EXPECT_EQ(Build()["linux"]["resources"]["devices"][1]["access"], "rm");
  spec_.devices = {{.container_path = "/dev/one", .host_path = dir.path() + "/link"}};
  EXPECT_EQ(Build()["linux"]["devices"][0]["path"], "/dev/one");
  spec_.devices = {{.container_path = "/dev/one", .host_path = dir.path() + "/devices/file"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("is neither a device nor a directory"));
}

TEST_F(SpecBuilderTest, Devices) {
  spec_.devices = {{.container_path = "/dev/other", .host_path = "/dev/null", .permissions = "r"}};
  const Json config = Build();
  const Json device = config["linux"]["devices"][0];
  EXPECT_EQ(device["path"], "/dev/other");
  EXPECT_EQ(device["type"], "c");
  EXPECT_EQ(device["major"], 1);
  EXPECT_EQ(device["minor"], 3);
  const Json rules = config["linux"]["resources"]["devices"];
  EXPECT_EQ(rules[0]["allow"], false);
  EXPECT_EQ(rules[1]["access"], "r");

  spec_.devices[0].permissions = "x";
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("devices[0].permissions"));
  spec_.devices = {{.container_path = "/dev/x", .host_path = "/no/such/device"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("devices[0].host_path"));
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
  ASSERT_EQ(rules.size(), 3);  // all forbidden; that of the node that is replaced has gone
  EXPECT_EQ(rules[1], Json::parse(R"({"allow": true, "type": "c", "major": 1, "minor": 3,
                                      "access": "rw"})"));
  EXPECT_EQ(rules[2], Json::parse(R"({"allow": true, "type": "b", "major": 259, "minor": 7,
                                      "access": "rwm"})"));
  EXPECT_EQ(MountAt(config, "/lib/card")["source"], dir.path());
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
  // In the place of a standard one it is no other.
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

TEST_F(SpecBuilderTest, WorkingDirectoryMustBeAbsolute) {
  image_.working_directory = "/image";
  EXPECT_EQ(TryBuild()->working_directory, "/image");
  spec_.working_directory = "relative";
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("working_directory \"relative\""));
}

}  // namespace
}  // namespace plimsoll::runtime
