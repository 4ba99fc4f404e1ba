#include "harness/busybox_image.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::testing {
namespace {

// Only the commands that tests use: an import of all four hundred would be most of a test's time.
constexpr const char* kCommands[] = {
    "cat",   "chmod",  "cp",       "cut",    "date",    "dd",   "echo",     "env",  "false",
    "grep",  "head",   "hostname", "id",     "ip",      "kill", "ln",       "ls",   "mkdir",
    "mount", "mv",     "od",       "printf", "ps",      "pwd",  "readlink", "rm",   "sed",
    "seq",   "setsid", "sh",       "sleep",  "stat",    "sync", "tail",     "test", "touch",
    "tr",    "true",   "tty",      "umount", "unshare", "wc"};

}  // namespace

absl::Status MakeBusyboxRootfs(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string busybox, FindProgram("busybox"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, host.Read(busybox));
  for (const char* name : {"bin", "etc", "proc", "sys", "dev", "var", "root"}) {
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(name, 0755));
  }
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("tmp", 0777));
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile("bin/busybox", program, 0755));
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile(
      "etc/passwd", "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n",
      0644));
  PLIMSOLL_RETURN_IF_ERROR(
      directory.ReplaceFile("etc/group", "root:x:0:\napp:x:1000:\nextra:x:2000:app\n", 0644));
  for (const char* command : kCommands) {
    const std::string link = directory.PathOf(absl::StrCat("bin/", command));
    if (symlink("busybox", link.c_str()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("symlink ", link));
    }
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::testing
