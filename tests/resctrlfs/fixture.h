// For tests of code that uses resctrl: a machine that has it, made from nothing.
//
//   Layout layout;                                   // layout.h: caches, CLOSIDs, options, ...
//   layout.monitoring = MonitoringLayout();
//   if (const std::string why = ResctrlFsFixture::WhyNot(); !why.empty()) GTEST_SKIP() << why;
//   auto resctrl = ResctrlFsFixture::Start(layout);
//   ASSERT_TRUE(resctrl.ok()) << resctrl.status();
//   Rdt rdt((*resctrl)->root());                     // what is tested
//   EXPECT_THAT((*resctrl)->Members("gold"), ElementsAre(pid));
//
// root() is a directory in which these are as they would be in "/":
//
//   sys/fs/resctrl                       the file system, mounted (README.md)
//   proc/mounts, proc/self/mounts,
//   proc/self/mountinfo                  one line, of type "resctrl", with the layout's options; as
//                                        seen from root(), that is on /sys/fs/resctrl
//   proc/filesystems                     names resctrl
//
// and nothing else: processes and cgroups are the machine's own and are found from "/". The mount
// is of type "fuse.resctrl" to the machine, in the caller's mount namespace, and statfs(2) says
// FUSE. Several can run side by side; each thread of the machine has its group in each of them.
//
// On a machine with resctrl, the same test takes RealRoot() in place of root(), leaves out steps
// that only the fixture can do, and checks files alone.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_FIXTURE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_FIXTURE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "resctrlfs/layout.h"

namespace plimsoll::resctrlfs {

// Used by one thread. Methods that return a Status talk to the program; once it is gone they are
// UNAVAILABLE.
class ResctrlFsFixture {
 public:
  // The reason why this machine can't run it, for a skip; empty: it can.
  static std::string WhyNot();
  // "/" where resctrl itself is mounted on /sys/fs/resctrl; nullopt elsewhere.
  static std::optional<FsRoot> RealRoot();
  // Mounted and ready when it returns.
  static absl::StatusOr<std::unique_ptr<ResctrlFsFixture>> Start(const Layout& layout);
  // Stops it. A test that dies without the destructor stops it too: its input ends.
  ~ResctrlFsFixture();
  ResctrlFsFixture(const ResctrlFsFixture&) = delete;
  ResctrlFsFixture& operator=(const ResctrlFsFixture&) = delete;

  const FsRoot& root() const { return *root_; }
  // <root>/sys/fs/resctrl, absolute, and opened again: good as long as it runs.
  std::string mount_point() const { return dir_.path() + "/root/sys/fs/resctrl"; }
  absl::StatusOr<FsRoot> OpenFs() const { return FsRoot::Open(mount_point()); }
  // info/last_cmd_status, or the error of reading it.
  std::string LastCommandStatus() const;

  // Undoes everything: threads are where they were before, nothing is mounted. The error is the
  // program's.
  absl::Status Stop();
  // Ends the program without a chance to undo anything. The next Start does that.
  void Kill();
  pid_t pid() const { return program_->pid(); }

  // Groups are named by their path below the mount point; "" is the root group.

  // Sets a monitoring event of one group; control groups also show their monitoring groups'.
  // `event` as in mon_features.
  absl::Status SetCounter(const std::string& group, int cache, const std::string& event,
                          uint64_t value);
  // Makes the event read as `word`: "Unavailable" or "Error".
  absl::Status SetCounter(const std::string& group, int cache, const std::string& event,
                          const std::string& word);
  // hiding.h: the race between forks and moves.
  absl::Status HideNewThreads();
  absl::Status HideThreadsFor(absl::Duration age);
  absl::Status ShowAllThreads();
  // The group's true threads, hidden ones included; ascending.
  absl::StatusOr<std::vector<pid_t>> Members(const std::string& group);
  // While on, RMIDs of removed groups stay busy: mkdir fails with EBUSY once none is left.
  absl::Status LetRmidsLinger(bool on);
  // Lets `skip` commands pass and refuses the next: verb "mkdir", "rmdir", "rename" or "write".
  absl::Status RefuseNext(const std::string& verb, const std::string& path, int error,
                          int skip = 0);
  // Stops the program before the next such command, for which its caller waits: SIGCONT to pid()
  // continues it.
  absl::Status StopBeforeNext(const std::string& verb, const std::string& path) {
    return RefuseNext(verb, path, 0);
  }
  // Every command since the last call: "mkdir gold", "write gold/tasks 17", "rmdir x: EPERM".
  absl::StatusOr<std::vector<std::string>> TakeJournal();

 private:
  ResctrlFsFixture();
  absl::Status Prepare(const Layout& layout);
  absl::Status Launch();
  // The program's standard error.
  std::string Complaint() const;
  // Sends a JSON object and returns the answer's text; an {"error"} becomes a status.
  absl::StatusOr<std::string> Ask(const std::string& command);
  absl::StatusOr<std::string> ReadAnswer();

  TestDir dir_;
  std::unique_ptr<FsRoot> root_;
  std::unique_ptr<Child> program_;
  UniqueFd control_;
  std::string received_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_FIXTURE_H_
