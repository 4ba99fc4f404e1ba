#include "copy/tree_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "image/layers/archive_reader.h"
#include "image/tar_for_test.h"

namespace plimsoll::copy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

class TreeReaderTest : public ::testing::Test {
 protected:
  // By name: the file's kind, and its content or target.
  using Told = std::map<std::string, std::string>;

  absl::Status Read(const std::string& path, bool follow = false) {
    notes_.clear();
    told_.clear();
    const UniqueFd file = image::MemoryFile("");
    const absl::Status status =
        ReadTree(Place::Host(), path,
                 {.name = "top",
                  .follow = follow,
                  .attributes = true,
                  .step = nullptr,
                  .left_out = [this](const std::string& note) { notes_.push_back(note); }},
                 file.get());
    struct stat info = {};
    stream_bytes_ = fstat(file.get(), &info) == 0 ? info.st_size : -1;
    lseek(file.get(), 0, SEEK_SET);
    if (!status.ok()) return status;
    const auto reader = image::ArchiveReader::Open(UniqueFd(fcntl(file.get(), F_DUPFD_CLOEXEC, 3)),
                                                   "stream", uint64_t{1} << 50);
    EXPECT_TRUE(reader.ok()) << reader.status();
    image::ArchiveEntry entry;
    while (reader.ok() && *(*reader)->Next(&entry)) Tell(**reader, entry);
    return status;
  }
  void Tell(image::ArchiveReader& reader, const image::ArchiveEntry& entry) {
    std::string& told = told_[entry.path];
    if (!entry.hardlink.empty()) {
      told = "same as " + entry.hardlink;
    } else if (entry.type == S_IFLNK) {
      told = "to " + entry.symlink;
    } else if (entry.type == S_IFDIR) {
      told = "directory";
    } else {
      size_t bytes = 0;
      std::string text;
      EXPECT_TRUE(reader
                      .ReadData([&](uint64_t, absl::string_view data) {
                        bytes += data.size();
                        if (text.size() < 100) text.append(data.data(), data.size());
                        return absl::OkStatus();
                      })
                      .ok());
      told = bytes > 100 ? absl::StrCat(bytes, " of ", entry.size) : text;
    }
    for (const auto& [name, value] : entry.xattrs) absl::StrAppend(&told, " ", name, "=", value);
  }
  std::string PathOf(const std::string& name) { return absl::StrCat(dir_.path(), "/", name); }

  TestDir dir_;
  Told told_;
  std::vector<std::string> notes_;
  off_t stream_bytes_ = 0;
};

TEST_F(TreeReaderTest, TellsATreeWithItsLinks) {
  ASSERT_TRUE(dir_.root().MakeDirs("tree/sub", 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("tree/a", "text").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("tree/sub/empty", "").ok());
  ASSERT_EQ(link(PathOf("tree/a").c_str(), PathOf("tree/sub/b").c_str()), 0);
  ASSERT_EQ(symlink("/etc/shadow", PathOf("tree/link").c_str()), 0);
  ASSERT_TRUE(Read(PathOf("tree")).ok());
  EXPECT_EQ(told_, (Told{{"top/", "directory"},
                         {"top/a", "text"},
                         {"top/link", "to /etc/shadow"},
                         {"top/sub/", "directory"},
                         {"top/sub/b", "same as top/a"},
                         {"top/sub/empty", ""}}));
}

TEST_F(TreeReaderTest, OpensNothingThatIsNoFile) {
  ASSERT_TRUE(dir_.root().MakeDirs("tree", 0755).ok());
  ASSERT_EQ(mkfifo(PathOf("tree/fifo").c_str(), 0644), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  PathOf("tree/socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_TRUE(Read(PathOf("tree")).ok());
  EXPECT_THAT(told_, ElementsAre(Key("top/")));
  EXPECT_THAT(notes_, UnorderedElementsAre(PathOf("tree/fifo") + " is a FIFO",
                                           PathOf("tree/socket") + " is a socket"));
  const absl::Status fifo = Read(PathOf("tree/fifo"));
  EXPECT_TRUE(absl::IsInvalidArgument(fifo)) << fifo;
  EXPECT_THAT(fifo.message(), HasSubstr("is a FIFO; valid are files"));
  EXPECT_TRUE(absl::IsInvalidArgument(Read("/dev/null")));
}

TEST_F(TreeReaderTest, FollowsItsOwnLinkOnlyIfAsked) {
  ASSERT_TRUE(dir_.root().MakeDirs("tree", 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("tree/a", "text").ok());
  ASSERT_EQ(symlink("tree", PathOf("link").c_str()), 0);
  ASSERT_TRUE(Read(PathOf("link")).ok());
  EXPECT_EQ(told_, (Told{{"top", "to tree"}}));
  const Told tree = {{"top/", "directory"}, {"top/a", "text"}};
  ASSERT_TRUE(Read(PathOf("link"), /*follow=*/true).ok());
  EXPECT_EQ(told_, tree);
  ASSERT_TRUE(Read(PathOf("link/.")).ok());
  EXPECT_EQ(told_, tree);
  ASSERT_TRUE(Read(PathOf("link/")).ok());
  EXPECT_EQ(told_, tree);
  EXPECT_THAT(Read(PathOf("tree/a/.")).message(), HasSubstr("Not a directory"));
}

TEST_F(TreeReaderTest, HolesStayHoles) {
  const UniqueFd file(open(PathOf("sparse").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  ASSERT_EQ(ftruncate(file.get(), 1 << 30), 0);
  ASSERT_TRUE(Read(PathOf("sparse")).ok());
  EXPECT_LT(stream_bytes_, 1 << 20);
  EXPECT_EQ(told_["top"], "");
  ASSERT_EQ(pwrite(file.get(), std::string(200'000, 'x').data(), 200'000, 1 << 29), 200'000);
  ASSERT_TRUE(Read(PathOf("sparse")).ok());
  EXPECT_LT(stream_bytes_, 1 << 20);
  EXPECT_THAT(told_["top"], HasSubstr(" of 1073741824"));
}

TEST_F(TreeReaderTest, FilesOfTheKernelHaveWhatIsReadOfThem) {
  ASSERT_TRUE(Read("/proc/self/comm").ok());
  EXPECT_EQ(told_["top"], "copy_test\n");
}

TEST_F(TreeReaderTest, TellsAttributesThatAreNotTheOverlays) {
  ASSERT_TRUE(dir_.root().ReplaceFile("a", "text").ok());
  if (setxattr(PathOf("a").c_str(), "user.color", "red", 3, 0) != 0) {
    GTEST_SKIP() << "no user attributes in " << dir_.path();
  }
  ASSERT_EQ(setxattr(PathOf("a").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  ASSERT_TRUE(Read(PathOf("a")).ok());
  EXPECT_EQ(told_["top"], "text user.color=red");
}

TEST_F(TreeReaderTest, MissingAndTooDeepAreErrors) {
  EXPECT_TRUE(absl::IsNotFound(Read(PathOf("none"))));
  UniqueFd at(open(dir_.path().c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 270; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0755), 0);
    at.Reset(openat(at.get(), "d", O_PATH | O_CLOEXEC));
  }
  const absl::Status deep = Read(PathOf("d"));
  EXPECT_THAT(deep.message(), HasSubstr("more than 256 directories deep"));
}

}  // namespace
}  // namespace plimsoll::copy
