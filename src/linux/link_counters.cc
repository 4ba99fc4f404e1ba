#include "linux/link_counters.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {
namespace {

using Links = absl::StatusOr<std::vector<LinkCounters>>;

constexpr int kHeadings = 2;
// Received: "bytes packets errs drop fifo frame compressed multicast"; sent: "bytes packets errs
// drop fifo colls carrier compressed".
constexpr size_t kColumns = 16;

absl::StatusOr<LinkCounters> ParseCounters(absl::string_view line) {
  const auto wrong = [line] {
    return absl::InternalError(absl::StrCat("net/dev: no line of an interface: ", line));
  };
  const size_t colon = line.find(':');  // no name contains one
  if (colon == absl::string_view::npos) return wrong();
  const std::vector<absl::string_view> words =
      absl::StrSplit(line.substr(colon + 1), ' ', absl::SkipWhitespace());
  if (words.size() < kColumns) return wrong();
  std::array<uint64_t, kColumns> counts;
  for (size_t i = 0; i < kColumns; ++i) {
    if (!absl::SimpleAtoi(words[i], &counts[i])) return wrong();
  }
  return LinkCounters{
      // A name may have any bytes but blanks, '/' and ':' (dev_valid_name in net/core/dev.c), and
      // its readers may take nothing but UTF-8.
      .name = absl::CHexEscape(absl::StripAsciiWhitespace(line.substr(0, colon))),
      .rx_bytes = counts[0],
      .rx_packets = counts[1],
      .rx_errors = counts[2],
      .rx_dropped = counts[3],
      .tx_bytes = counts[8],
      .tx_packets = counts[9],
      .tx_errors = counts[10],
      .tx_dropped = counts[11],
  };
}

// Moves this thread into the network namespace for good.
absl::Status Enter(const FsRoot& directory, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, directory.OpenFile(name, O_RDONLY));
  struct statfs info = {};
  if (fstatfs(file.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statfs ", directory.PathOf(name)));
  }
  // Unpinning unmounts the namespace before it removes the file.
  if (info.f_type != NSFS_MAGIC) {
    return absl::NotFoundError(absl::StrCat("no namespace is pinned at ", directory.PathOf(name)));
  }
  if (setns(file.get(), CLONE_NEWNET) != 0) {
    return ErrnoStatus(errno, absl::StrCat("enter the network namespace ", directory.PathOf(name)));
  }
  return absl::OkStatus();
}

Links ReadOne(const FsRoot& host, const FsRoot& directory, const std::string& name) {
  PLIMSOLL_RETURN_IF_ERROR(Enter(directory, name));
  // A thread sees the interfaces of its own namespace.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read("proc/thread-self/net/dev"));
  return ParseLinkCounters(text);
}

}  // namespace

absl::StatusOr<std::vector<LinkCounters>> ParseLinkCounters(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  std::vector<LinkCounters> links;
  for (size_t i = kHeadings; i < lines.size() && links.size() < kMostLinks; ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(LinkCounters link, ParseCounters(lines[i]));
    links.push_back(std::move(link));
  }
  return links;
}

std::vector<absl::StatusOr<std::vector<LinkCounters>>> ReadLinkCounters(
    const FsRoot& host, const FsRoot& directory, const std::vector<std::string>& namespaces) {
  std::vector<Links> links(namespaces.size(), Links(absl::InternalError("not read")));
  if (namespaces.empty()) return links;
  try {
    std::thread([&] {
      for (size_t i = 0; i < namespaces.size(); ++i) {
        links[i] = ReadOne(host, directory, namespaces[i]);
      }
    }).join();
  } catch (const std::system_error& error) {
    std::fill(links.begin(), links.end(),
              absl::ResourceExhaustedError(absl::StrCat(
                  "start the thread that looks into network namespaces: ", error.what())));
  }
  return links;
}

}  // namespace plimsoll::linux
