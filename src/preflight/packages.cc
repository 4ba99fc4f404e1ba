#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "preflight/report.h"

namespace plimsoll::preflight {
namespace {

enum Family { kDebian, kFedora, kSuse, kUnknown };

constexpr const char* kInstall[] = {"apt-get install", "dnf install", "zypper install"};

// Packages of programs, by family, where one has another name than its program.
struct Package {
  const char* program;
  const char* names[kUnknown];
};
constexpr Package kPackages[] = {
    {"mount", {"mount", "util-linux", "util-linux"}},
    {"losetup", {"mount", "util-linux", "util-linux"}},
    {"nsenter", {"util-linux", "util-linux", "util-linux"}},
    {"iptables", {"iptables", "iptables-nft", "iptables"}},
    {"ip", {"iproute2", "iproute", "iproute2"}},
    {"chronyd", {"systemd-timesyncd (or chrony)", "chrony", "chrony"}},
    {"apparmor_parser", {"apparmor", "apparmor-parser", "apparmor-parser"}},
    {"containernetworking-plugins",
     {"containernetworking-plugins", "containernetworking-plugins", "cni-plugins"}},
    {"conntrack", {"conntrack", "conntrack-tools", "conntrack-tools"}},
};

// The value of a line of os-release(5), such as ID="opensuse-leap".
std::string ValueOf(absl::string_view os_release, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(os_release, '\n')) {
    if (!absl::ConsumePrefix(&line, absl::StrCat(key, "="))) continue;
    for (const char* quote : {"\"", "'"}) {
      if (absl::ConsumePrefix(&line, quote)) absl::ConsumeSuffix(&line, quote);
    }
    return std::string(line);
  }
  return "";
}

Family FamilyOf(const FsRoot& host) {
  std::string text = Content(host, "etc/os-release");
  if (text.empty()) text = Content(host, "usr/lib/os-release");
  const std::string ids = absl::StrCat(ValueOf(text, "ID"), " ", ValueOf(text, "ID_LIKE"));
  for (const absl::string_view id : absl::StrSplit(ids, ' ')) {
    if (id == "debian" || id == "ubuntu") return kDebian;
    if (id == "fedora" || id == "rhel" || id == "centos") return kFedora;
    if (id == "suse" || id == "sles" || absl::StartsWith(id, "opensuse")) return kSuse;
  }
  return kUnknown;
}

}  // namespace

std::string HowToInstall(const FsRoot& host, absl::string_view program) {
  const Family family = FamilyOf(host);
  if (family == kUnknown) {
    return absl::StrCat("install the package of your distribution that has ", program);
  }
  for (const Package& package : kPackages) {
    if (package.program == program) {
      return absl::StrCat(kInstall[family], " ", package.names[family]);
    }
  }
  return absl::StrCat(kInstall[family], " ", program);
}

std::string HowToInstallAgain(const FsRoot& host) {
  return FamilyOf(host) == kDebian ? "apt-get install --reinstall plimsoll, or install all of it"
                                   : "install all of it again: install.sh of the release's tarball";
}

}  // namespace plimsoll::preflight
