#include "topology/machine/machine_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::topology {
namespace {

// hwloc holds four descriptors open at once.
constexpr int kHeadroom = 16;

}  // namespace

bool IsPassing(const absl::Status& status) {
  switch (ErrnoOf(status)) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<MachineFile> ReadMachineFile(const FsRoot& root, const std::string& file,
                                            size_t max_bytes) {
  auto text = root.Read(file, max_bytes);
  if (text.ok()) return MachineFile{.text = *std::move(text), .why_not = ""};
  if (IsPassing(text.status())) return text.status();
  if (absl::IsNotFound(text.status())) return MachineFile();
  return MachineFile{.text = "", .why_not = std::string(text.status().message())};
}

absl::StatusOr<std::vector<std::string>> ListMachineFiles(const FsRoot& root,
                                                          const std::string& directory) {
  auto names = root.List(directory);
  if (names.ok() || IsPassing(names.status())) return names;
  return std::vector<std::string>();
}

absl::Status CheckHeadroom(const FsRoot& root) {
  UniqueFd held[kHeadroom];
  for (UniqueFd& fd : held) {
    fd = UniqueFd(fcntl(root.fd(), F_DUPFD_CLOEXEC, 0));
    if (fd.valid()) continue;
    return ErrnoStatus(errno == EINVAL ? EMFILE : errno,  // when the limit is 0 (fcntl(2))
                       absl::StrCat("read the machine's topology: fewer than ", kHeadroom,
                                    " file descriptors are left"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
