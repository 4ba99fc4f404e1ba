// Layer archives, really unpacked into a directory in memory. Beside it lies a file that no archive
// may touch.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "check.h"
#include "image/layers/archive_reader.h"
#include "image/layers/layer_unpacker.h"

namespace plimsoll::fuzz {
namespace {

// Small, so that an input costs no more than a millisecond or two.
constexpr image::UnpackLimits kLimits = {
    .max_entries = 200, .max_bytes = 1 << 20, .max_xattr_bytes = 4096};

// Goes with the process, even if libFuzzer's abort() ends it: then as /dev/shm does.
class Place {
 public:
  Place() : path_(Make()), root_(*FsRoot::Open(path_)) {
    FUZZ_CHECK(root_.ReplaceFile("outside", "untouched").ok(), path_);
    FUZZ_CHECK(root_.MakeDirs("lower/etc", 0755).ok(), path_);
    FUZZ_CHECK(symlink("../outside", (path_ + "/lower/link").c_str()) == 0, path_);
  }
  ~Place() {
    const size_t slash = path_.rfind('/');
    FsRoot::Open(path_.substr(0, slash))->RemoveTree(path_.substr(slash + 1)).IgnoreError();
  }

  const FsRoot& root() const { return root_; }
  void CheckUntouched() const {
    const auto names = root_.List(".");
    FUZZ_CHECK(names.ok() && names->size() == 3, "something was made beside the layer");
    FUZZ_CHECK(root_.Read("outside").value_or("") == "untouched", "a file outside was written");
    struct stat info = {};
    FUZZ_CHECK(lstat((path_ + "/outside").c_str(), &info) == 0 && info.st_nlink == 1,
               "a file outside was linked");
    FUZZ_CHECK(root_.List("lower")->size() == 2, "the lower layer was changed");
  }

 private:
  static std::string Make() {
    std::string name = "/dev/shm/plimsoll-fuzz-XXXXXX";
    FUZZ_CHECK(mkdtemp(name.data()) != nullptr, name);
    return name;
  }

  const std::string path_;
  const FsRoot root_;
};

UniqueFd MemoryFile(absl::string_view content) {
  UniqueFd fd(memfd_create("plimsoll-fuzz", MFD_CLOEXEC));
  FUZZ_CHECK(
      pwrite(fd.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()),
      "write the input");
  return fd;
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace image = plimsoll::image;
  static const Place place;
  FUZZ_CHECK(place.root().MakeDirs("diff", 0755).ok(), "make the layer's directory");
  {
    const auto diff = place.root().Sub("diff");
    const auto lower = place.root().Sub("lower");
    auto reader =
        image::ArchiveReader::Open(MemoryFile(Text(data, size)), "input", kLimits.max_bytes);
    if (reader.ok() && diff.ok() && lower.ok()) {
      const auto result = image::UnpackLayer(**reader, *diff, {*lower}, kLimits);
      FUZZ_CHECK(result.ok() || !result.status().message().empty(), "an error without a reason");
      if (result.ok()) FUZZ_CHECK(result->bytes <= kLimits.max_bytes, "too many bytes");
    }
  }
  place.CheckUntouched();
  const absl::Status removed = place.root().RemoveTree("diff");
  FUZZ_CHECK(removed.ok(), removed.ToString());
  return 0;
}
