#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "copy/helper.h"
#include "copy/helper_protocol.h"
#include "copy/helper_report.h"
#include "copy/place.h"
#include "copy/tree_reader.h"
#include "copy/tree_writer.h"
#include "image/layers/archive_reader.h"

namespace plimsoll::copy {
namespace {

// Becomes the container's root: files have the container's owners, even through mounts with mapped
// ids, and it may do no more than that root. It enters nothing else of the container.
absl::Status EnterUserNamespace(int fd) {
  if (setns(fd, CLONE_NEWUSER) != 0) return ErrnoStatus(errno, "enter the user namespace");
  if ((setgroups(0, nullptr) != 0 && errno != EPERM) || setresgid(0, 0, 0) != 0 ||
      setresuid(0, 0, 0) != 0) {
    return ErrnoStatus(errno, "become root of the user namespace");
  }
  close(fd);
  return absl::OkStatus();
}

// Reduces its capabilities to those for files and their owners.
absl::Status KeepFileCapabilities() {
  constexpr uint32_t kKept = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH |
                             1U << CAP_FOWNER | 1U << CAP_FSETID | 1U << CAP_SETFCAP;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return ErrnoStatus(errno, "capget");
  const uint32_t kept = data[0].permitted & kKept;
  data[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  data[1] = {};
  if (syscall(SYS_capset, &header, data) != 0) return ErrnoStatus(errno, "capset");
  return absl::OkStatus();
}

absl::Status Protect() {
  PLIMSOLL_RETURN_IF_ERROR(KeepFileCapabilities());
  // No process of the container's may inspect this one, whatever ids it has.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl");
  return absl::OkStatus();
}

class Work {
 public:
  Work(const std::vector<std::string>& words, ReportWriter* report)
      : flags_(words[0]),
        path_(words[2]),
        name_(words[3]),
        report_(report),
        place_(Place::Container(UniqueFd(kRootFd), words[1])) {}

  absl::Status Do() {
    if (Has(kUserNamespace)) PLIMSOLL_RETURN_IF_ERROR(EnterUserNamespace(kUserFd));
    PLIMSOLL_RETURN_IF_ERROR(Protect());
    umask(022);
    return Has(kGives) ? Give() : Take();
  }

 private:
  bool Has(char flag) const { return absl::StrContains(flags_, flag); }

  absl::Status Give() {
    return ReadTree(place_, path_,
                    {.name = name_,
                     .follow = Has(kFollow),
                     .attributes = Has(kArchive),
                     .step = nullptr,
                     .left_out = [this](const std::string& what) { report_->Note(what); }},
                    kStreamFd);
  }

  absl::Status Take() {
    constexpr uint64_t kNoLimit = std::numeric_limits<int64_t>::max();
    PLIMSOLL_ASSIGN_OR_RETURN(
        const auto reader,
        image::ArchiveReader::Open(UniqueFd(kStreamFd), "the tar stream", kNoLimit));
    return WriteTree(*reader, place_, path_,
                     {.source_name = name_,
                      .content = Has(kContent),
                      .bare = Has(kBare),
                      .archive = Has(kArchive),
                      .left_out = [this](const std::string& what) { report_->Note(what); }});
  }

  const std::string flags_;
  const std::string path_;
  const std::string name_;
  ReportWriter* const report_;
  const Place place_;
};

}  // namespace

int HelperMain(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);
  ReportWriter report(kReportFd);
  if (words.size() != 4) return 1;
  const absl::Status status = Work(words, &report).Do();
  report.Finish();
  if (status.ok()) return 0;
  if (ErrnoOf(status) == EPIPE) return kNobodyReads;
  report.Error(status);
  return 1;
}

}  // namespace plimsoll::copy
