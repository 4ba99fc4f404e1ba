// Makes swap of a file or disk, and turns it on and off.
#ifndef PLIMSOLL_TESTS_VM_SWAP_SPACE_H_
#define PLIMSOLL_TESTS_VM_SWAP_SPACE_H_

#include <fcntl.h>
#include <sys/swap.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

// The first page says what the rest is.
inline constexpr int64_t kSwapPageBytes = 4096;

class SwapSpace {
 public:
  // A disk, or a file without holes.
  explicit SwapSpace(std::string path) : path_(std::move(path)) {}
  SwapSpace(const SwapSpace&) = delete;
  SwapSpace& operator=(const SwapSpace&) = delete;
  ~SwapSpace() { swapoff(path_.c_str()); }

  // Formats like mkswap.
  absl::Status Format() {
    const UniqueFd file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    const off_t bytes = lseek(file.get(), 0, SEEK_END);
    if (bytes < 0) return ErrnoStatus(errno, absl::StrCat("find the size of ", path_));
    std::string page(kSwapPageBytes, '\0');
    const auto last_page = static_cast<uint32_t>(bytes / kSwapPageBytes - 1);
    const uint32_t version_and_last_page[] = {1, last_page};
    std::memcpy(page.data() + 1024, version_and_last_page, sizeof(version_and_last_page));
    std::memcpy(page.data() + kSwapPageBytes - 10, "SWAPSPACE2", 10);
    if (pwrite(file.get(), page.data(), page.size(), 0) != kSwapPageBytes ||
        fsync(file.get()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("write to ", path_));
    }
    return absl::OkStatus();
  }
  absl::Status On() { return Done(swapon(path_.c_str(), 0), "swapon"); }
  absl::Status Off() { return Done(swapoff(path_.c_str()), "swapoff"); }

 private:
  absl::Status Done(int result, const char* call) const {
    return result == 0 ? absl::OkStatus() : ErrnoStatus(errno, absl::StrCat(call, " ", path_));
  }
  const std::string path_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_VM_SWAP_SPACE_H_
