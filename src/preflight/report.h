// Report of this room's checks.
#ifndef PLIMSOLL_PREFLIGHT_REPORT_H_
#define PLIMSOLL_PREFLIGHT_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "kubelet/config/configuration.h"
#include "preflight/preflight.h"

namespace plimsoll::preflight {

// kubelet's configuration files in its root directory.
struct KubeletFiles {
  bool is_there = false;
  kubelet::Configuration configuration;  // the defaults without a file
  std::string file;                      // of the configuration; empty: none
  std::string fault;                     // why it can't be read; empty: it can
};

// The problems of one check.
class Report {
 public:
  Report(std::string check, std::vector<Problem>* problems)
      : check_(std::move(check)), problems_(*problems) {}
  void Error(absl::string_view what, absl::string_view remedy) { Add(true, what, remedy); }
  void Warning(absl::string_view what, absl::string_view remedy) { Add(false, what, remedy); }

 private:
  void Add(bool is_error, absl::string_view what, absl::string_view remedy) {
    problems_.push_back({check_, is_error, std::string(what), std::string(remedy)});
  }
  const std::string check_;
  std::vector<Problem>& problems_;
};

struct Subject {
  const Input& input;
  const KubeletFiles& kubelet;
};

// A file's content without surrounding white space; empty: it can't be read.
std::string Content(const FsRoot& host, const std::string& path);

// --- Remedies in the words of the machine's distribution (os-release(5)). packages.cc:
// "dnf install iproute" for the program ip.
std::string HowToInstall(const FsRoot& host, absl::string_view program);
// The same for a half-installed Plimsoll.
std::string HowToInstallAgain(const FsRoot& host);

// --- Checks, one each. kernel.cc:
void CheckSwap(const Subject& subject, Report report);
void CheckModules(const Subject& subject, Report report);
void CheckSysctls(const Subject& subject, Report report);
void CheckCgroups(const Subject& subject, Report report);
void CheckClock(const Subject& subject, Report report);
// kubelet.cc:
void CheckCgroupDriver(const Subject& subject, Report report);
void CheckKubelet(const Subject& subject, Report report);
void CheckOtherRuntimes(const Subject& subject, Report report);
KubeletFiles ReadKubeletFiles(const FsRoot& host, const std::string& root);
// network.cc:
void CheckNetwork(const Subject& subject, Report report);
void CheckHostName(const Subject& subject, Report report);
void CheckPorts(const Subject& subject, Report report);
// programs.cc:
void CheckPackage(const Subject& subject, Report report);
void CheckTools(const Subject& subject, Report report);
void CheckInit(const Subject& subject, Report report);
void CheckUnit(const Subject& subject, Report report);
// disks.cc:
void CheckDisks(const Subject& subject, Report report);

}  // namespace plimsoll::preflight

#endif  // PLIMSOLL_PREFLIGHT_REPORT_H_
