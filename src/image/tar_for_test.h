// For tests: tar archives written byte by byte, as hostile as needed.
#ifndef PLIMSOLL_IMAGE_TAR_FOR_TEST_H_
#define PLIMSOLL_IMAGE_TAR_FOR_TEST_H_

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

// POSIX.1-2017 pax, "ustar Interchange Format". Each call appends one member.
class TarBuilder {
 public:
  struct Attributes {
    uint32_t mode = 0644;
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint64_t mtime = 1'000'000'000;
    std::vector<std::pair<std::string, std::string>> pax;  // extended header records
  };

  TarBuilder& File(absl::string_view path, absl::string_view content) {
    return File(path, content, Attributes());
  }
  TarBuilder& File(absl::string_view path, absl::string_view content, const Attributes& with) {
    Header(path, '0', content.size(), "", with, 0, 0);
    bytes_.append(content.data(), content.size());
    bytes_.append((512 - content.size() % 512) % 512, '\0');
    return *this;
  }
  TarBuilder& Dir(absl::string_view path) { return Dir(path, Attributes{.mode = 0755}); }
  TarBuilder& Dir(absl::string_view path, const Attributes& with) {
    return Header(path, '5', 0, "", with, 0, 0);
  }
  TarBuilder& Symlink(absl::string_view path, absl::string_view target) {
    return Header(path, '2', 0, target, Attributes{.mode = 0777}, 0, 0);
  }
  TarBuilder& HardLink(absl::string_view path, absl::string_view target) {
    return Header(path, '1', 0, target, Attributes(), 0, 0);
  }
  TarBuilder& Node(absl::string_view path, char type, unsigned major, unsigned minor) {
    return Header(path, type, 0, "", Attributes{.mode = 0620}, major, minor);
  }
  TarBuilder& Raw(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  // The archive, with the two zero blocks that end it.
  std::string Build() const { return absl::StrCat(bytes_, std::string(1024, '\0')); }

 private:
  TarBuilder& Header(absl::string_view path, char type, uint64_t size, absl::string_view target,
                     const Attributes& with, unsigned major, unsigned minor) {
    auto pax = with.pax;
    if (path.size() > 100) pax.emplace_back("path", std::string(path));
    if (target.size() > 100) pax.emplace_back("linkpath", std::string(target));
    if (!pax.empty() && type != 'x') {
      std::string records;
      for (const auto& [key, value] : pax) records += Record(key, value);
      Header("pax", 'x', records.size(), "", Attributes(), 0, 0);
      bytes_ += records;
      bytes_.append((512 - records.size() % 512) % 512, '\0');
    }
    char block[512] = {};
    path.substr(0, 100).copy(block, 100);
    absl::SNPrintF(block + 100, 8, "%07o", with.mode);
    absl::SNPrintF(block + 108, 8, "%07o", with.uid);
    absl::SNPrintF(block + 116, 8, "%07o", with.gid);
    absl::SNPrintF(block + 124, 12, "%011o", size);
    absl::SNPrintF(block + 136, 12, "%011o", with.mtime);
    block[156] = type;
    target.substr(0, 100).copy(block + 157, 100);
    std::memcpy(block + 257, "ustar\00000", 8);
    absl::SNPrintF(block + 329, 8, "%07o", major);
    absl::SNPrintF(block + 337, 8, "%07o", minor);
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (unsigned char c : block) sum += c;
    absl::SNPrintF(block + 148, 8, "%06o", sum);
    bytes_.append(block, sizeof(block));
    return *this;
  }

  // "<length> <key>=<value>\n", the length including itself.
  static std::string Record(absl::string_view key, absl::string_view value) {
    size_t length = key.size() + value.size() + 3;
    size_t with_digits = length + absl::StrCat(length).size();
    if (absl::StrCat(with_digits).size() != absl::StrCat(length).size()) ++with_digits;
    return absl::StrCat(with_digits, " ", key, "=", value, "\n");
  }

  std::string bytes_;
};

// `filter`: "gzip" or "zstd".
inline std::string Compress(absl::string_view content, const char* filter) {
  std::vector<char> out(content.size() * 2 + 65536);
  size_t used = 0;
  struct archive* archive = archive_write_new();
  archive_write_set_format_raw(archive);
  archive_write_add_filter_by_name(archive, filter);
  archive_write_set_bytes_in_last_block(archive, 1);
  // No time stamp, so that the same content always has the same digest.
  if (absl::string_view(filter) == "gzip") {
    archive_write_set_filter_option(archive, filter, "timestamp", nullptr);
  }
  archive_write_open_memory(archive, out.data(), out.size(), &used);
  struct archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(archive, entry);
  archive_write_data(archive, content.data(), content.size());
  archive_entry_free(entry);
  archive_write_close(archive);
  archive_write_free(archive);
  return std::string(out.data(), used);
}

// An open, unnamed file with that content, at its beginning.
inline UniqueFd MemoryFile(absl::string_view content) {
  UniqueFd fd(memfd_create("plimsoll-test", MFD_CLOEXEC));
  while (!content.empty()) {
    const ssize_t n = write(fd.get(), content.data(), content.size());
    if (n <= 0) break;
    content.remove_prefix(static_cast<size_t>(n));
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_TAR_FOR_TEST_H_
