#include "image/layers/archive_reader.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

// Delivers `text`, and then an error instead of its end. Reading on would be a mistake.
class FailingStream : public ByteStream {
 public:
  explicit FailingStream(std::string text) : text_(std::move(text)) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    EXPECT_FALSE(failed_) << "read again";
    const size_t n = std::min(size, text_.size() - done_);
    if (n == 0) {
      failed_ = true;
      return absl::DataLossError("the end is wrong");
    }
    text_.copy(buffer, n, done_);
    done_ += n;
    return n;
  }

 private:
  const std::string text_;
  size_t done_ = 0;
  bool failed_ = false;
};

TEST(ArchiveReaderTest, AFailureBehindTheLastBlockIsOne) {
  // More than one read, so that Finish reads the last block.
  const std::string tar = TarBuilder().File("a", std::string(size_t{1} << 20, 'a')).Build();
  for (const char* filter : {"none", "gzip", "zstd", "bzip2", "xz"}) {
    SCOPED_TRACE(filter);
    const auto reader = ArchiveReader::Open(std::make_unique<FailingStream>(Compress(tar, filter)),
                                            "it", size_t{1} << 22, nullptr);
    absl::Status end = reader.status();
    ArchiveEntry entry;
    if (end.ok()) end = (*reader)->Next(&entry).status();
    if (end.ok()) end = (*reader)->Finish().status();
    EXPECT_TRUE(absl::IsDataLoss(end)) << end;
    EXPECT_EQ(end.message(), "the end is wrong");
  }
}

}  // namespace
}  // namespace plimsoll::image
