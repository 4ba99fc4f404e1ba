#include "bench/process.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

absl::StatusOr<int64_t> ReadNumber(const FsRoot& host, const std::string& file,
                                   absl::string_view name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read(file));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    int64_t value = 0;
    absl::ConsumeSuffix(&line, " kB");
    if (absl::SimpleAtoi(line, &value)) return value;
  }
  return absl::NotFoundError(absl::StrCat("no ", name, " in ", file));
}

absl::StatusOr<pid_t> ServerOf(const std::string& path) {
  const UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (!client.valid() ||
      connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, absl::StrCat("connect to ", path));
  }
  return peer.pid;
}

absl::StatusOr<ProcessFigures> ReadProcess(const FsRoot& host, pid_t pid) {
  const std::string memory = absl::StrCat("proc/", pid, "/smaps_rollup");
  ProcessFigures figures;
  PLIMSOLL_ASSIGN_OR_RETURN(figures.resident_kib, ReadNumber(host, memory, "Rss:"));
  PLIMSOLL_ASSIGN_OR_RETURN(figures.pss_kib, ReadNumber(host, memory, "Pss:"));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t clean, ReadNumber(host, memory, "Private_Clean:"));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t dirty, ReadNumber(host, memory, "Private_Dirty:"));
  figures.private_kib = clean + dirty;
  PLIMSOLL_ASSIGN_OR_RETURN(figures.threads,
                            ReadNumber(host, absl::StrCat("proc/", pid, "/status"), "Threads:"));
  return figures;
}

absl::StatusOr<double> BusyMilliseconds(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read("proc/stat"));
  const std::vector<std::string> words =
      absl::StrSplit(text.substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  // "cpu user nice system idle iowait irq softirq ..." in ticks of 10 ms.
  double ticks = 0;
  for (const size_t word : {1u, 2u, 3u, 6u, 7u}) {
    int64_t value = 0;
    if (words.size() <= word || !absl::SimpleAtoi(words[word], &value)) {
      return absl::InternalError("proc/stat has no cpu line");
    }
    ticks += static_cast<double>(value);
  }
  return ticks * 10;
}

}  // namespace plimsoll::bench
