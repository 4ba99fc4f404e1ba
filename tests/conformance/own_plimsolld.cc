#include "conformance/own_plimsolld.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "conformance/bound_program.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::conformance {
namespace {

class OwnPlimsolld : public OwnRuntime {
 public:
  explicit OwnPlimsolld(const std::string& config) : node_(config) {
    // Ctrl-C goes to the suite only, which then needs the daemon to clean up.
    node_.OwnSession();
    node_.StartBy(BoundToThisProcess());
    // User namespaces' roots must be able to reach the run directory.
    chmod(node_.directory().c_str(), 0711);
  }
  ~OwnPlimsolld() override {
    if (node_.daemon_runs()) node_.StopDaemon().IgnoreError();
  }
  absl::Status Start() { return node_.StartDaemon(); }
  std::string endpoint() const override { return node_.address(); }
  std::string Log() const override { return node_.Log(); }

 private:
  testing::Node node_;
};

std::string Registries(const std::vector<std::string>& insecure) {
  const std::string quoted =
      absl::StrJoin(insecure, ", ", [](std::string* out, const std::string& registry) {
        absl::StrAppend(out, "\"", registry, "\"");
      });
  return absl::StrCat("registries: {insecure: [", quoted, "]}\n");
}

// A bridge with host ports, by Debian's plugins. Its addresses are from the ranges for benchmarks
// and documentation, and visible to this process's network only.
absl::Status WriteNetwork(const FsRoot& directory) {
  const bool has_ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
  const std::string ranges =
      absl::StrCat(R"([[{"subnet": "198.18.7.0/24"}])",
                   has_ipv6 ? R"(, [{"subnet": "fd2a:5c1d:7b3f::/64"}])" : "", "]");
  const std::string list = absl::StrCat(
      R"({"cniVersion": "1.0.0", "name": "conformance",
          "disableCheck": true, "plugins": [
          {"type": "bridge", "bridge": "conformance0", "isGateway": true, "ipMasq": true,
           "hairpinMode": true,
           "ipam": {"type": "host-local", "dataDir": ")",
      directory.PathOf("leases"), R"(", "ranges": )", ranges,
      R"(, "routes": [{"dst": "0.0.0.0/0"})", has_ipv6 ? R"(, {"dst": "::/0"})" : "",
      R"(]}},
          {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}]})");
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("net.d", 0755));
  return directory.ReplaceFile("net.d/10-conformance.conflist", list, 0644);
}

}  // namespace

absl::Status EnterOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return ErrnoStatus(errno, "unshare(CLONE_NEWNET)");
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_UP;
  if (ioctl(handle.get(), SIOCSIFFLAGS, &request) != 0) return ErrnoStatus(errno, "lo up");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OwnRuntime>> StartPlimsolld(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries) {
  PLIMSOLL_RETURN_IF_ERROR(WriteNetwork(directory));
  // A class type that works on every machine, for the tests of KEP-3008.
  constexpr char kClasses[] = "classes: {oom: {classes: {first: 900, last: 800}}}\n";
  auto runtime = std::make_unique<OwnPlimsolld>(absl::StrCat(Registries(insecure_registries),
                                                             kClasses, "network: {config_dir: \"",
                                                             directory.PathOf("net.d"), "\"}\n"));
  PLIMSOLL_RETURN_IF_ERROR(runtime->Start());
  return runtime;
}

double UsualPatience() {
  return absl::FDivDuration(testing::Patience(absl::Seconds(1)), absl::Seconds(1));
}

}  // namespace plimsoll::conformance
