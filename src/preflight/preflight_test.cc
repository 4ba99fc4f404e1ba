#include "preflight/preflight.h"

#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::preflight {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Matches a problem by its check, its level and a part of its text.
auto ErrorOf(const std::string& check, const std::string& what) {
  return AllOf(Field(&Problem::check, check), Field(&Problem::is_error, true),
               Field(&Problem::what, HasSubstr(what)), Field(&Problem::remedy, Not(IsEmpty())));
}
auto WarningOf(const std::string& check, const std::string& what) {
  return AllOf(Field(&Problem::check, check), Field(&Problem::is_error, false),
               Field(&Problem::what, HasSubstr(what)), Field(&Problem::remedy, Not(IsEmpty())));
}

// A machine that is in order; each test spoils one thing.
class PreflightTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    Write("proc/sys/net/ipv4/ip_forward", "1\n");
    Write("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n");
    Write("proc/1/comm", "systemd\n");
    ASSERT_TRUE(dir_.root().MakeDirs("run/systemd/system", 0755).ok());  // sd_booted(3)
    Write("etc/os-release", "NAME=\"Debian GNU/Linux\"\nID=debian\n");
    Write("proc/1/net/tcp", kTcpHead);
    Write("etc/cni/net.d/10-cluster.conflist", kNetwork);
    for (const char* plugin : {"bridge", "host-local"}) {
      Write(absl::StrCat("opt/cni/bin/", plugin), "", 0755);
    }
  }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    const size_t slash = path.rfind('/');
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, slash), 0755).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text, mode).ok());
  }
  std::vector<Problem> Check() {
    Input input{.host = dir_.root(), .machine = {}};
    input.machine = {.host_name = host_name_,
                     .kernel_release = "6.1",
                     .clock_is_synchronised = clock_,
                     .resolve = [this](const std::string&) { return resolves_; },
                     .find_program = [this](absl::string_view name) -> absl::StatusOr<std::string> {
                       if (missing_.contains(std::string(name)))
                         return absl::NotFoundError("not there");
                       return absl::StrCat("/usr/bin/", name);
                     },
                     .room = [this](const std::string& directory) -> absl::StatusOr<DiskRoom> {
                       const auto room = rooms_.find(directory);
                       if (room != rooms_.end()) return room->second;
                       return absl::NotFoundError("not there");
                     },
                     .has_overlayfs = [this] { return overlayfs_; },
                     .unit = [this](const std::string& name) { return Unit(name); }};
    input.state_directory = "/var/lib/plimsoll";
    input.run_directory = "/run/plimsoll";
    input.socket = "/run/plimsoll/plimsoll.sock";
    input.network_directory = "/etc/cni/net.d";
    input.plugins = {"/opt/cni/bin"};
    input.kubelet_root = "/var/lib/kubelet";
    input.systemd_driver = systemd_driver_;
    input.layout = layout_;
    input.controllers = controllers_;
    input.package = package_;
    input.hwloc_program = hwloc_program_;
    input.oci_runtime = oci_runtime_;
    return CheckNode(input);
  }

  // Makes a machine with another init.
  void RunWithoutSystemd() {
    Write("proc/1/comm", "tini\n");
    ASSERT_TRUE(dir_.root().RemoveTree("run/systemd").ok());
  }

  absl::StatusOr<std::map<std::string, std::string>> Unit(const std::string& name) {
    if (name == "plimsolld.service") return unit_;
    if (name == "kubelet.service") return kubelet_unit_;
    const auto found = time_units_.find(name);
    if (found != time_units_.end()) return found->second;
    return std::map<std::string, std::string>{{"LoadState", "not-found"}};
  }

  static constexpr char kTcpHead[] =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n";
  static constexpr char kNetwork[] =
      R"({"cniVersion": "1.0.0", "name": "cluster", "plugins": [
           {"type": "bridge", "ipam": {"type": "host-local"}}]})";
  static constexpr DiskRoom kRoomy = {
      .bytes = 100ull << 30, .free_bytes = 50ull << 30, .inodes = 1000, .free_inodes = 900};

  TestDir dir_;
  std::string host_name_ = "node-1.example.com";
  std::optional<bool> clock_ = true;
  absl::Status resolves_;
  std::set<std::string> missing_;
  std::map<std::string, DiskRoom> rooms_ = {{"/", kRoomy}, {"/run", kRoomy}};
  bool overlayfs_ = true;
  bool systemd_driver_ = true;
  linux::CgroupLayout layout_ = linux::CgroupLayout::kV2;
  std::vector<std::string> controllers_ = {"cpu", "cpuset", "memory", "pids"};
  absl::Status package_;
  absl::Status hwloc_program_;
  absl::Status oci_runtime_;
  std::map<std::string, std::map<std::string, std::string>> time_units_;  // others: not installed
  absl::StatusOr<std::map<std::string, std::string>> kubelet_unit_ =
      std::map<std::string, std::string>{{"LoadState", "loaded"}, {"UnitFileState", "enabled"}};
  absl::StatusOr<std::map<std::string, std::string>> unit_ = std::map<std::string, std::string>{
      {"LoadState", "loaded"}, {"UnitFileState", "enabled"}, {"NeedDaemonReload", "no"},
      {"KillMode", "process"}, {"Delegate", "yes"},          {"RuntimeDirectory", ""}};
};

TEST_F(PreflightTest, AMachineInOrderHasNoProblem) {
  const std::vector<Problem> problems = Check();
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_TRUE(IsReady(problems));
  const nlohmann::json json = nlohmann::json::parse(ToJson(problems));
  EXPECT_EQ(json["ready"], true);
  EXPECT_EQ(json["passed"].size(), CheckNames().size());
}

TEST_F(PreflightTest, ProblemsAreForProgramsToo) {
  missing_ = {"conntrack", "skopeo"};
  const nlohmann::json json = nlohmann::json::parse(ToJson(Check()));
  EXPECT_EQ(json["ready"], false);
  EXPECT_EQ(json["problems"].size(), 2u);
  EXPECT_EQ(json["problems"][0]["check"], "Tools");
  EXPECT_EQ(json["problems"][0]["level"], "error");
  EXPECT_EQ(json["problems"][0]["remedy"], "apt-get install skopeo");
  EXPECT_EQ(json["problems"][1]["level"], "warning");
  EXPECT_EQ(json["passed"].size(), CheckNames().size() - 1);
}

TEST_F(PreflightTest, SwapIsAnErrorUnlessKubeletTakesIt) {
  Write("proc/swaps", "Filename\tType\n/dev/sda2 partition\t1 0 -2\n/swapfile file\t1 0 -3\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Swap", "(/dev/sda2, /swapfile)")));
  Write("var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\nfailSwapOn: false\ncgroupDriver: systemd\n");
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(PreflightTest, ModulesAndSysctls) {
  overlayfs_ = false;
  Write("proc/sys/net/ipv4/ip_forward", "0\n");
  ASSERT_TRUE(dir_.root().RemoveTree("proc/sys/net/bridge").ok());
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Modules", "no overlay file system"),
                                   WarningOf("Modules", "br_netfilter isn't loaded"),
                                   ErrorOf("Sysctls", "net.ipv4.ip_forward is 0")));
  overlayfs_ = true;
  Write("proc/sys/net/ipv4/ip_forward", "1\n");
  Write("proc/sys/net/bridge/bridge-nf-call-iptables", "0\n");
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Modules", "bridge-nf-call-iptables is 0")));
}

TEST_F(PreflightTest, ProtectedKernelDefaultsMustHold) {
  Write("proc/sys/vm/overcommit_memory", "0\n");
  Write("proc/sys/kernel/panic", "10\n");
  EXPECT_THAT(Check(), IsEmpty()) << "kubelet sets it";
  Write("var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\nprotectKernelDefaults: true\ncgroupDriver: systemd\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Sysctls", "vm.overcommit_memory is 0")));
}

TEST_F(PreflightTest, ControlGroupsAndTheirDriver) {
  layout_ = linux::CgroupLayout::kHybrid;
  controllers_ = {"cpu", "cpuset"};
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Cgroups", "cgroup v1"),
                                   ErrorOf("Cgroups", "controllers memory, pids")));
  layout_ = linux::CgroupLayout::kV2;
  controllers_ = {"cpu", "cpuset", "io", "memory", "pids"};
  Write("var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\nfailCgroupV1: false\n");
  EXPECT_THAT(Check(), ElementsAre(WarningOf("CgroupDriver", "cgroupDriver: cgroupfs")));
  systemd_driver_ = false;
  layout_ = linux::CgroupLayout::kV1;
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(PreflightTest, KubeletMeansThisRuntime) {
  missing_ = {"kubelet"};
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Kubelet", "isn't installed")));
  Write("var/lib/kubelet/kubeadm-flags.env",
        "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
        " --pod-infra-container-image=p\"\n");
  EXPECT_THAT(Check(),
              ElementsAre(ErrorOf("Kubelet", "uses the runtime at unix:///run/containerd/")));
  Write("var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\ncgroupDriver: systemd\ncontainerRuntimeEndpoint: "
        "unix:///run/plimsoll/plimsoll.sock\n");
  EXPECT_THAT(Check(), IsEmpty());
  Write("var/lib/kubelet/config.yaml", "kind: [\n");
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Kubelet", "can't be read")));
}

TEST_F(PreflightTest, OtherRuntimesAreNamed) {
  Write("run/containerd/containerd.sock", "");
  EXPECT_THAT(Check(),
              ElementsAre(WarningOf("OtherRuntimes", "(/run/containerd/containerd.sock)")));
}

TEST_F(PreflightTest, TheNetworkNeedsAConfigurationAndItsPlugins) {
  ASSERT_TRUE(dir_.root().RemoveFile("opt/cni/bin/host-local").ok());
  Write("opt/cni/bin/bridge", "", 0644);
  EXPECT_THAT(Check(),
              ElementsAre(ErrorOf("Network", "plugin bridge: /opt/cni/bin/bridge can't be"),
                          ErrorOf("Network", "plugin host-local: no such program")));
  ASSERT_TRUE(dir_.root().RemoveFile("etc/cni/net.d/10-cluster.conflist").ok());
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Network", "no file that ends in .conf")));
  Write("etc/cni/net.d/10-cluster.conflist", "{");
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Network", "no valid CNI configuration")));
}

TEST_F(PreflightTest, TheDefaultNetworkIsNoClusters) {
  ASSERT_TRUE(dir_.root().RemoveFile("etc/cni/net.d/10-cluster.conflist").ok());
  Write("etc/cni/net.d/99-plimsoll.conflist", kNetwork);
  EXPECT_THAT(Check(), IsEmpty());
  Write("var/lib/kubelet/kubeadm-flags.env", "");
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Network", "pods of other nodes are not reached")));
}

TEST_F(PreflightTest, HostNames) {
  host_name_ = "my_node";
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("HostName", "\"my_node\" can't be a node's")));
  host_name_ = "Node-1.Example.com";
  EXPECT_THAT(Check(), IsEmpty()) << "kubelet takes the small letters";
  host_name_ = "localhost";
  EXPECT_THAT(Check(), ElementsAre(WarningOf("HostName", "is localhost")));
  host_name_ = "node-1";
  resolves_ = absl::NotFoundError("Name or service not known");
  EXPECT_THAT(Check(), ElementsAre(WarningOf("HostName", "node-1 has no address")));
}

TEST_F(PreflightTest, PortsOfOthersAreNamed) {
  const auto listener = [](const char* port, int inode) {
    return absl::StrCat("   0: 00000000:", port,
                        " 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 ",
                        inode, " 1 0000000000000000 100 0 0 10 0\n");
  };
  Write("proc/1/net/tcp", absl::StrCat(kTcpHead, listener("280A", 11)));   // 10250
  Write("proc/1/net/tcp6", absl::StrCat(kTcpHead, listener("192B", 12)));  // 6443
  EXPECT_THAT(Check(), IsEmpty()) << "whose they are can't be told";
  const auto process = [this](const char* pid, const char* name, int inode) {
    Write(absl::StrCat("proc/", pid, "/comm"), absl::StrCat(name, "\n"));
    ASSERT_TRUE(dir_.root().MakeDirs(absl::StrCat("proc/", pid, "/fd")).ok());
    ASSERT_EQ(symlink(absl::StrCat("socket:[", inode, "]").c_str(),
                      absl::StrCat(dir_.path(), "/proc/", pid, "/fd/3").c_str()),
              0);
  };
  process("40", "nginx", 11);
  process("41", "haproxy", 12);
  EXPECT_THAT(Check(),
              ElementsAre(ErrorOf("Ports", "port 10250, which kubelet needs, is used by nginx"),
                          WarningOf("Ports", "port 6443")));
  Write("proc/40/comm", "kubelet\n");
  Write("proc/41/comm", "kube-apiserver\n");
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(PreflightTest, ClockInitAndPackage) {
  clock_ = false;
  RunWithoutSystemd();
  package_ = absl::NotFoundError("plimsoll-exec is missing");
  oci_runtime_ = absl::NotFoundError("there is no program crun");
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Package", "plimsoll-exec is missing"),
                                   ErrorOf("Package", "there is no program crun"),
                                   WarningOf("Init", "process 1 is tini"),
                                   WarningOf("Clock", "isn't synchronised")));
}

TEST_F(PreflightTest, TheClocksRemedyGoesByItsService) {
  clock_ = false;
  const auto remedy = [this] {
    const std::vector<Problem> problems = Check();
    return problems.size() == 1 ? problems[0].remedy : "not one problem";
  };
  EXPECT_EQ(remedy(), "apt-get install systemd-timesyncd (or chrony)");
  time_units_["chrony.service"] = {{"LoadState", "loaded"}, {"ActiveState", "inactive"}};
  EXPECT_EQ(remedy(), "systemctl enable --now chrony");
  time_units_["systemd-timesyncd.service"] = {{"LoadState", "masked"}, {"ActiveState", "inactive"}};
  EXPECT_EQ(remedy(), "systemctl enable --now chrony");
  time_units_["chrony.service"]["ActiveState"] = "active";
  EXPECT_THAT(remedy(), HasSubstr("chrony runs: wait, or see why"));
  RunWithoutSystemd();
  EXPECT_THAT(Check(), Contains(Field(&Problem::remedy, HasSubstr("install systemd-timesyncd"))));
}

TEST_F(PreflightTest, RemediesNameOnlyWhatTheMachineHas) {
  Write("proc/sys/net/ipv4/ip_forward", "0\n");
  Write("var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\ncgroupDriver: systemd\ncontainerRuntimeEndpoint: "
        "unix:///run/containerd/containerd.sock\n");
  const auto remedy_of = [this](const std::string& check) {
    for (const Problem& problem : Check()) {
      if (problem.check == check) return problem.remedy;
    }
    return std::string("no problem");
  };
  EXPECT_THAT(remedy_of("Kubelet"), HasSubstr(", then systemctl restart kubelet"));
  EXPECT_THAT(remedy_of("Sysctls"), HasSubstr("/etc/sysctl.d/kubernetes.conf && sysctl --system"));
  missing_ = {"sysctl"};
  EXPECT_THAT(remedy_of("Sysctls"), HasSubstr("&& systemctl restart systemd-sysctl"));
  RunWithoutSystemd();
  EXPECT_EQ(remedy_of("Sysctls"),
            "echo 1 >/proc/sys/net/ipv4/ip_forward, and the same at each boot");
  for (const Problem& problem : Check()) {
    EXPECT_THAT(problem.remedy, Not(HasSubstr("systemctl"))) << problem.what;
  }
  host_name_ = "my_node";
  EXPECT_THAT(remedy_of("HostName"), HasSubstr(">/proc/sys/kernel/hostname"));
}

TEST_F(PreflightTest, InitIsAskedAsSdBootedDoes) {
  ASSERT_TRUE(dir_.root().RemoveTree("run/systemd").ok());
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Init", "its /run/systemd/system is missing")));
  Write("proc/1/comm", "tini\n");
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Init", "process 1 is tini, not systemd")));
}

TEST_F(PreflightTest, AUnitOfAnotherVersionIsNamed) {
  (*unit_)["KillMode"] = "control-group";
  (*unit_)["NeedDaemonReload"] = "yes";
  (*unit_)["RuntimeDirectory"] = "plimsoll";
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Unit", "an older version of plimsolld.service"),
                                   ErrorOf("Unit", "KillMode is \"control-group\""),
                                   ErrorOf("Unit", "removes the namespaces of pods")));
  unit_ = std::map<std::string, std::string>{{"LoadState", "not-found"}};
  EXPECT_THAT(Check(), ElementsAre(WarningOf("Unit", "no unit plimsolld.service")));
  kubelet_unit_ = absl::UnavailableError("no bus");
  unit_ = absl::UnavailableError("no bus");
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(PreflightTest, UnitsThatNothingStartsAfterARebootAreNamed) {
  (*unit_)["UnitFileState"] = "disabled";
  (*kubelet_unit_)["UnitFileState"] = "disabled";
  EXPECT_THAT(Check(), UnorderedElementsAre(WarningOf("Unit", "plimsolld.service isn't enabled"),
                                            WarningOf("Kubelet", "kubelet.service isn't enabled")));
  (*unit_)["UnitFileState"] = "static";
  kubelet_unit_ = std::map<std::string, std::string>{{"LoadState", "not-found"}};
  EXPECT_THAT(Check(), IsEmpty()) << "k3s and k0s have units of their own";
}

TEST_F(PreflightTest, ProgramsThatOlderKubeadmsAskForAreNoErrors) {
  missing_ = {"iptables", "ip", "nsenter", "conntrack"};
  const std::vector<Problem> problems = Check();
  EXPECT_THAT(problems, SizeIs(4));
  EXPECT_TRUE(IsReady(problems));
  missing_ = {"losetup", "mount"};
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Tools", "no program mount"),
                                   ErrorOf("Tools", "kubeadm from 1.33 on refuses the node")));
}

TEST_F(PreflightTest, RemediesAreTheDistributions) {
  missing_ = {"skopeo", "ip"};
  oci_runtime_ = absl::NotFoundError("there is no program crun");
  package_ = absl::NotFoundError("plimsoll-exec is missing");
  const auto remedies = [this](const std::string& os_release) {
    Write("etc/os-release", os_release);
    std::vector<std::string> all;
    for (const Problem& problem : Check()) all.push_back(problem.remedy);
    return all;
  };
  EXPECT_THAT(remedies("PRETTY_NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"),
              ElementsAre(HasSubstr("apt-get install --reinstall plimsoll"),
                          HasSubstr("apt-get install crun, or"), "apt-get install skopeo",
                          "apt-get install iproute2"));
  EXPECT_THAT(remedies("ID=\"almalinux\"\nID_LIKE=\"rhel centos fedora\"\n"),
              ElementsAre(HasSubstr("install.sh"), HasSubstr("dnf install crun, or"),
                          "dnf install skopeo", "dnf install iproute"));
  EXPECT_THAT(remedies("ID='opensuse-leap'\nID_LIKE='suse opensuse'\n"),
              ElementsAre(HasSubstr("install.sh"), HasSubstr("zypper install crun, or"),
                          "zypper install skopeo", "zypper install iproute2"));
  EXPECT_THAT(remedies("ID=arch\n"),
              ElementsAre(HasSubstr("install.sh"), HasSubstr("that has crun, or"),
                          "install the package of your distribution that has skopeo",
                          "install the package of your distribution that has ip"));
  ASSERT_TRUE(dir_.root().RemoveFile("etc/os-release").ok());
  Write("usr/lib/os-release", "ID=fedora\n");
  EXPECT_THAT(Check(), Contains(Field(&Problem::remedy, "dnf install iproute")));
}

TEST_F(PreflightTest, HelpersOfCommandsAndProfilesAreNamedWithTheirPackages) {
  hwloc_program_ = absl::NotFoundError("the program plimsoll-hwloc is missing");
  missing_ = {"apparmor_parser"};
  EXPECT_THAT(Check(), ElementsAre(AllOf(WarningOf("Package", "plimsoll-hwloc is missing"),
                                         Field(&Problem::remedy, HasSubstr("reinstall plimsoll")))))
      << "the kernel has no AppArmor";
  hwloc_program_ = absl::OkStatus();
  Write("sys/module/apparmor/parameters/enabled", "Y\n");
  EXPECT_THAT(Check(), ElementsAre(AllOf(WarningOf("Tools", "no program apparmor_parser"),
                                         Field(&Problem::remedy, "apt-get install apparmor"))));
  Write("sys/kernel/security/apparmor/profiles", "plimsoll-default (enforce)\n");
  EXPECT_THAT(Check(), IsEmpty()) << "it is loaded";
}

TEST_F(PreflightTest, ThePackageOfAMissingPluginIsNamed) {
  ASSERT_TRUE(dir_.root().RemoveFile("opt/cni/bin/host-local").ok());
  EXPECT_THAT(Check(), ElementsAre(Field(&Problem::remedy,
                                         "apt-get install containernetworking-plugins, or put the "
                                         "plugin into one of /opt/cni/bin")));
  Write("etc/cni/net.d/10-cluster.conflist",
        R"({"cniVersion": "1.0.0", "name": "cluster", "plugins": [{"type": "their-own"}]})");
  EXPECT_THAT(Check(),
              ElementsAre(Field(&Problem::remedy, "put the plugin into one of /opt/cni/bin")));
}

TEST_F(PreflightTest, DisksNeedRoomAndInodes) {
  rooms_["/var/lib"] = {.bytes = 100ull << 30, .free_bytes = 14ull << 30};
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Disks", "below 15%"))) << "for kubelet's it is enough";
  rooms_["/var/lib"] = {
      .bytes = 100ull << 30, .free_bytes = 90ull << 30, .inodes = 1000, .free_inodes = 49};
  EXPECT_THAT(Check(), SizeIs(2));
  EXPECT_THAT(Check(), Contains(ErrorOf("Disks", "49 of 1000 inodes")));
  rooms_["/var/lib"] = {.is_overlayfs = true};
  EXPECT_THAT(Check(),
              ElementsAre(ErrorOf("Disks", "state directory /var/lib/plimsoll is on overlayfs")));
  rooms_.erase("/var/lib");
  rooms_["/run"] = {.bytes = 1ull << 30, .free_bytes = 1ull << 20};
  EXPECT_THAT(Check(), ElementsAre(ErrorOf("Disks", "run directory /run/plimsoll has 1")));
}

TEST(ThisMachineTest, IsRead) {
  const HostQueries machine = ThisMachine();
  EXPECT_FALSE(machine.host_name.empty());
  EXPECT_FALSE(machine.kernel_release.empty());
  EXPECT_TRUE(machine.find_program("sh").ok());
  EXPECT_GT(machine.room("/")->bytes, 0u);
  EXPECT_TRUE(absl::IsNotFound(machine.room("/nonexistent").status()));
  EXPECT_TRUE(machine.resolve("localhost").ok());
}

}  // namespace
}  // namespace plimsoll::preflight
