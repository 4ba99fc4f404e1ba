#include "lookup/open_below.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lookup/child_for_test.h"
#include "lookup/system_call_filter_for_test.h"

namespace plimsoll {
namespace {

using ::testing::Contains;

constexpr uid_t kNobody = 65534;
constexpr mode_t kMode = 0640;

using OpenFn = int (*)(int, const char*, int, uint64_t, mode_t);

int KernelsOpen(int directory, const char* path, int flags, uint64_t resolve, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0;
  how.resolve = resolve;
  long fd = -1;
  do {
    fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
  } while (fd < 0 && errno == EAGAIN);
  return static_cast<int>(fd);
}

// The opened file, by its path below `top`, or the error.
std::string Outcome(OpenFn open_below, const std::string& top, const std::string& path, int flags,
                    uint64_t resolve) {
  const int root = open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int fd = open_below(root, path.c_str(), flags, resolve, kMode);
  const int error = errno;
  close(root);
  if (fd < 0) return std::string("error ") + strerrorname_np(error);
  char name[4096];
  const ssize_t size =
      readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof(name));
  const bool path_only = (fcntl(fd, F_GETFL) & O_PATH) != 0;
  const bool kept = (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
  close(fd);
  if (size < 0) return "no name";
  std::string found(name, static_cast<size_t>(size));
  found = found.starts_with(top) ? "opened " + found.substr(top.size()) : "OUTSIDE " + found;
  if ((flags & O_TMPFILE) == O_TMPFILE) found = found.substr(0, found.find('#'));
  return found + (path_only ? " by path" : "") + (kept ? " KEPT" : "");
}

std::string Case(const std::string& path, int flags, uint64_t resolve) {
  char text[64];
  snprintf(text, sizeof(text), "\" flags %#o resolve %#llx: ", static_cast<unsigned>(flags),
           static_cast<unsigned long long>(resolve));
  return "\"" + path.substr(0, 200) + text;
}

const std::vector<int>& FlagsTable() {
  static const std::vector<int> flags = {
      O_RDONLY,
      O_RDONLY | O_NOFOLLOW,
      O_RDONLY | O_DIRECTORY,
      O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
      O_RDONLY | O_NOATIME,
      O_PATH,
      O_PATH | O_NOFOLLOW,
      O_PATH | O_DIRECTORY,
      O_PATH | O_DIRECTORY | O_NOFOLLOW,
      O_WRONLY,
      O_WRONLY | O_TRUNC,
      O_RDWR | O_NOFOLLOW,
      O_RDWR | O_CREAT,
      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
      O_WRONLY | O_CREAT | O_EXCL,
      O_WRONLY | O_CREAT | O_DIRECTORY,
      O_RDWR | O_TMPFILE,
      O_PATH | O_RDWR,
  };
  return flags;
}

const std::vector<uint64_t>& ResolveTable() {
  static const std::vector<uint64_t> resolve = {
      RESOLVE_IN_ROOT,
      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
      RESOLVE_IN_ROOT | RESOLVE_NO_XDEV,
      RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
      RESOLVE_BENEATH,
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
      RESOLVE_BENEATH | RESOLVE_NO_XDEV,
      RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  return resolve;
}

// Two trees alike: the kernel opens in the one, the walk in the other, so that a file made or
// cut off by an opening is there for both.
class TwinTrees {
 public:
  TwinTrees(const std::string& top, const std::function<void(const std::string&)>& fill)
      : kernels_(top + "/kernels"), walks_(top + "/walks") {
    for (const std::string& tree : {kernels_, walks_}) {
      mkdir(tree.c_str(), 0755);
      fill(tree);
    }
  }

  // "" if both ways have the same outcome, else both.
  std::string Compare(const std::string& path, int flags, uint64_t resolve) {
    const std::string right = Outcome(KernelsOpen, kernels_, path, flags, resolve);
    const std::string walked = Outcome(WalkBelow, walks_, path, flags, resolve);
    ++seen_[right.substr(0, right.find(' ', 6))];
    if (right == walked) return "";
    return Case(path, flags, resolve) + right + ", the walk: " + walked + "\n";
  }
  // How often each error came, and "opened".
  const std::map<std::string, int>& seen() const { return seen_; }

 private:
  const std::string kernels_;
  const std::string walks_;
  std::map<std::string, int> seen_;
};

void MakeFile(const std::string& path, const std::string& text = "text", mode_t mode = 0644) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0 || write(fd, text.data(), text.size()) < 0) perror(path.c_str());
  fchmod(fd, mode);
  close(fd);
}

void MakeLink(const std::string& target, const std::string& path) {
  if (symlink(target.c_str(), path.c_str()) != 0) perror(path.c_str());
}

void Bind(const std::string& from, const std::string& to) {
  if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) perror(to.c_str());
}

void FillTree(const std::string& top) {
  for (const char* directory : {"/a", "/a/b", "/a/b/c", "/mount", "/locked", "/sticky", "/shut"}) {
    mkdir((top + directory).c_str(), 0755);
  }
  for (const char* file : {"/file", "/a/file", "/a/b/file", "/mounted_file", "/shut/file"}) {
    MakeFile(top + file);
  }
  MakeFile(top + "/own", "own", 0600);
  chmod((top + "/locked").c_str(), 0600);
  chmod((top + "/shut").c_str(), 0700);
  chmod((top + "/sticky").c_str(), 01777);
  mknod((top + "/fifo").c_str(), S_IFIFO | 0666, 0);
  mknod((top + "/socket").c_str(), S_IFSOCK | 0666, 0);
  const std::pair<const char*, const char*> links[] = {
      {"a", "/to_a"},
      {"file", "/to_file"},
      {"a/", "/to_a_slash"},
      {"file/", "/to_file_slash"},
      {"none", "/dangling"},
      {"none/none", "/dangling_deep"},
      {"none/", "/dangling_slash"},
      {"/a/file", "/absolute"},
      {"//a//b", "/absolute_directory"},
      {"/", "/root"},
      {"/etc", "/etc"},
      {".", "/dot"},
      {"..", "/up"},
      {"../../../../..", "/up_far"},
      {"loop", "/loop"},
      {"loop_b", "/loop_a"},
      {"loop_a", "/loop_b"},
      {"../a/b/../file", "/a/back"},
      {"../../to_a/b/c/../../file", "/a/b/winding"},
      {"/to_a/back", "/a/b/absolute_winding"},
      {"../file", "/sticky/foreign"},
      {"to_a", "/to_to_a"},
  };
  for (const auto& [target, path] : links) MakeLink(target, top + path);
  lchown((top + "/sticky/foreign").c_str(), 12345, 12345);
  MakeLink("file", top + "/chain0");
  for (int i = 1; i <= 41; ++i) {
    MakeLink("chain" + std::to_string(i - 1), top + "/chain" + std::to_string(i));
  }
  Bind(top + "/a", top + "/mount");
  Bind(top + "/file", top + "/mounted_file");
}

std::vector<std::string> PathTable() {
  std::vector<std::string> paths = {
      "",
      ".",
      "..",
      "/",
      "//",
      "/..",
      "./.",
      "../..",
      "/../file",
      "a/..",
      "a/../..",
      "a/../../file",
      "a/./b",
      "a//b///c",
      "a/b/../file",
      "a/b/../..",
      "file/..",
      "file/.",
      "none/..",
      "none/x",
      "a/none/x",
      "file/x",
      "a/new",
      "new",
      "new/",
      "none/new",
      "a/b/../new2",
      "a/.",
      "a/b/..",
      "locked/x",
      "locked/..",
      "locked/.",
      "locked/new/",
      "shut/file",
      "shut/..",
      "shut/../file",
      "fifo/x",
      "fifo/",
      "up/file",
      "up_far/a",
      "up/up/up",
      "root/a/file",
      "etc/passwd",
      "mount/file",
      "mount/b/c",
      "mount/..",
      "mount/../file",
      "a/b/winding",
      "own/",
      "to_a/..",
      "to_a/../file",
      "to_a_slash/b",
      "to_a/back",
      "to_to_a/b/../file",
      "dot/dot/file",
      "a/b/absolute_winding",
      "loop/x",
      "chain39/x",
      "mount/new",
      "mount/back",
      "sticky/foreign",
      "sticky/foreign/",
      "sticky/foreign/x",
      "to_a/b/winding",
  };
  const char* names[] = {"a",
                         "file",
                         "mount",
                         "mounted_file",
                         "locked",
                         "shut",
                         "own",
                         "socket",
                         "to_a",
                         "to_file",
                         "dangling",
                         "absolute",
                         "to_a_slash",
                         "to_file_slash",
                         "root",
                         "etc",
                         "dot",
                         "up",
                         "up_far",
                         "loop",
                         "loop_a",
                         "to_to_a",
                         "dangling_slash",
                         "dangling_deep",
                         "chain39",
                         "chain40",
                         "chain41",
                         "chain38",
                         "none",
                         "sticky",
                         "absolute_directory"};
  for (const std::string name : names) {
    for (const char* form : {"", "/", "/."}) {
      paths.push_back(name + form);
      paths.push_back("/" + name + form);
    }
  }
  paths.push_back(std::string(255, 'n'));
  paths.push_back(std::string(256, 'n'));
  paths.push_back(std::string(4096, 'n'));
  paths.push_back(std::string(4095, '/'));
  paths.push_back(std::string(4096, '/'));
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "a/../";
  paths.push_back(deep + "file");
  return paths;
}

// In a mount namespace and, unless root, as a user without rights. The trees are made as root.
std::string CompareAs(uid_t user, const std::string& top,
                      const std::function<void(const std::string&)>& fill,
                      const std::function<std::string(TwinTrees&)>& compare) {
  return InChild([&]() -> std::string {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return "no mount namespace";
    }
    umask(0);
    chmod(top.c_str(), 0755);
    TwinTrees trees(top, fill);
    if (user != 0 && (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0 ||
                      prctl(PR_SET_DUMPABLE, 1) != 0)) {
      return "no other user";
    }
    const int before = dup(0);
    close(before);
    const std::string differences = compare(trees);
    const int after = dup(0);
    return differences + (before == after ? "" : "descriptors are left open\n");
  });
}

std::string CompareTable(TwinTrees& trees) {
  std::string differences;
  for (const std::string& path : PathTable()) {
    for (const int flags : FlagsTable()) {
      for (const uint64_t resolve : ResolveTable()) {
        differences += trees.Compare(path, flags | O_NONBLOCK * !(flags & O_PATH), resolve);
      }
    }
  }
  for (const char* kind : {"opened", "error ENOENT", "error ENOTDIR", "error ELOOP", "error EXDEV",
                           "error EISDIR", "error EEXIST", "error EINVAL", "error ENAMETOOLONG"}) {
    if (trees.seen().count(kind) == 0) differences += std::string("never seen: ") + kind + "\n";
  }
  return differences;
}

TEST(OpenBelow, TheWalkAnswersAsTheKernelDoes) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  TestDir dir;
  EXPECT_EQ(CompareAs(0, dir.path(), FillTree, CompareTable), "");
}

TEST(OpenBelow, TheWalkAnswersAUserWithoutRightsAsTheKernelDoes) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  TestDir dir;
  EXPECT_EQ(CompareAs(kNobody, dir.path(), FillTree,
                      [](TwinTrees& trees) {
                        std::string differences = CompareTable(trees);
                        for (const char* kind : {"error EACCES", "error EPERM"}) {
                          if (trees.seen().count(kind) == 0) differences += kind;
                        }
                        return differences;
                      }),
            "");
}

// A tree of few names, so that random paths meet what there is.
void FillAtRandom(unsigned seed, const std::string& top) {
  std::mt19937 random(seed);
  const auto any = [&](unsigned count) { return random() % count; };
  std::vector<std::string> directories = {top};
  for (int i = 0; i < 40; ++i) {
    const std::string at = directories[any(static_cast<unsigned>(directories.size()))] + "/" +
                           static_cast<char>('a' + any(6));
    switch (any(5)) {
      case 0:
      case 1:
        if (mkdir(at.c_str(), any(8) == 0 ? 0700 : 0777) == 0) directories.push_back(at);
        break;
      case 2:
        if (faccessat(AT_FDCWD, at.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
          MakeFile(at, "x", any(4) == 0 ? 0600 : 0666);
        }
        break;
      default: {
        std::string target = any(4) == 0 ? "/" : "";
        const unsigned parts = 1 + any(3);
        for (unsigned part = 0; part < parts; ++part) {
          target += part == 0 ? "" : "/";
          target += any(3) == 0 ? ".." : std::string(1, static_cast<char>('a' + any(6)));
        }
        if (any(6) == 0) target += "/";
        symlink(target.c_str(), at.c_str());
      }
    }
  }
  const std::string& from = directories[any(static_cast<unsigned>(directories.size()))];
  const std::string& to = directories[any(static_cast<unsigned>(directories.size()))];
  if (to != top) Bind(from, to);
}

TEST(OpenBelow, TheWalkAnswersAsTheKernelDoesInAnyTree) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const unsigned first = std::random_device()();
  for (unsigned tree = 0; tree < 16; ++tree) {
    const unsigned seed = first + tree;
    TestDir dir;
    const std::string differences = CompareAs(
        tree % 2 == 0 ? 0 : kNobody, dir.path(),
        [&](const std::string& top) { FillAtRandom(seed, top); },
        [&](TwinTrees& trees) {
          std::mt19937 random(seed);
          std::string found;
          for (int i = 0; i < 1500 && found.size() < 2000; ++i) {
            std::string path = random() % 5 == 0 ? "/" : "";
            const unsigned parts = 1 + random() % 5;
            for (unsigned part = 0; part < parts; ++part) {
              path += part == 0 ? "" : "/";
              const unsigned kind = random() % 8;
              path += kind == 0   ? ".."
                      : kind == 1 ? "."
                                  : std::string(1, static_cast<char>('a' + random() % 6));
            }
            if (random() % 6 == 0) path += "/";
            found += trees.Compare(path, FlagsTable()[random() % FlagsTable().size()],
                                   ResolveTable()[random() % ResolveTable().size()]);
          }
          return found;
        });
    ASSERT_EQ(differences, "") << "seed " << seed;
  }
}

TEST(OpenBelow, TheWalkRefusesLinksThatNameObjects) {
  const std::string self = std::to_string(getpid());
  for (const std::string path :
       {"self", "self/cwd", "self/root", "self/root/etc", "self/exe", "self/fd/0", "self/ns/mnt",
        "mounts", "thread-self/status", "thread-self/cwd", "net/dev", "self/mountinfo", "1/root",
        "self/root/..", "self/cwd/", "self/fd/0/x", "self/none"}) {
    for (const uint64_t resolve : ResolveTable()) {
      for (const int flags : {O_PATH, O_RDONLY | O_NONBLOCK, O_PATH | O_NOFOLLOW}) {
        EXPECT_EQ(Outcome(WalkBelow, "/proc", path, flags, resolve),
                  Outcome(KernelsOpen, "/proc", path, flags, resolve))
            << Case(path, flags, resolve);
      }
    }
  }
  EXPECT_EQ(
      Outcome(WalkBelow, "/proc", "self/root/etc", O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS),
      "error ELOOP");
  EXPECT_EQ(Outcome(WalkBelow, "/proc", "self/root/etc", O_PATH, RESOLVE_IN_ROOT), "error EXDEV");
}

TEST(OpenBelow, ArgumentsAreCheckedAlike) {
  TestDir dir;
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (const OpenFn open_below : {&OpenBelow, &WalkBelow}) {
    const auto error = [&](int directory, const char* path, int flags, uint64_t resolve) {
      return open_below(directory, path, flags, resolve, kMode) < 0 ? errno : 0;
    };
    EXPECT_EQ(error(dir.root().fd(), ".", O_PATH, 0), EINVAL) << "a path bound to nothing";
    EXPECT_EQ(error(dir.root().fd(), ".", O_PATH, RESOLVE_NO_SYMLINKS), EINVAL);
    EXPECT_EQ(error(dir.root().fd(), ".", O_PATH, RESOLVE_IN_ROOT | RESOLVE_BENEATH), EINVAL);
    EXPECT_EQ(error(dir.root().fd(), ".", O_PATH, RESOLVE_IN_ROOT | 0x1000), EINVAL);
    EXPECT_EQ(error(-1, "x", O_PATH, RESOLVE_IN_ROOT), EBADF);
    EXPECT_EQ(error(file, "x", O_PATH, RESOLVE_IN_ROOT), ENOTDIR);
    EXPECT_EQ(error(-1, "/x", O_PATH, RESOLVE_BENEATH), EXDEV);
  }
  close(file);
}

TEST(OpenBelow, TheWalkEndsWhereDescriptorsDo) {
  TestDir dir;
  std::string path;
  for (int i = 0; i < 100; ++i) path += path.empty() ? "d" : "/d";
  ASSERT_TRUE(dir.root().MakeDirs(path).ok());
  EXPECT_EQ(InChild([&]() -> std::string {
              const rlimit few = {64, 64};
              setrlimit(RLIMIT_NOFILE, &few);
              const std::string outcome =
                  Outcome(WalkBelow, dir.path(), path, O_PATH, RESOLVE_IN_ROOT);
              const int next = dup(0);
              return outcome + (next < 32 ? "" : ", descriptors are left");
            }),
            "error EMFILE");
}

// Refuses openat2 in a child, and there does `work`.
std::string WithoutOpenat2(int error, const std::function<std::string()>& work) {
  return InChild([&]() -> std::string {
    if (!RefuseSystemCall(SYS_openat2, error)) return "no filter";
    if (syscall(SYS_openat2, -1, "", nullptr, 0) >= 0 || errno != error) return "no refusal";
    return work();
  });
}

TEST(OpenBelow, AFilterThatRefusesOpenat2IsNoticed) {
  if (!TakesFilters()) GTEST_SKIP() << "needs system call filters, which qemu-user lacks";
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("a").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("a/file", "x").ok());
  ASSERT_EQ(symlink("/a", (dir.path() + "/link").c_str()), 0);
  for (const int error : {ENOSYS, EPERM, EACCES}) {
    EXPECT_EQ(WithoutOpenat2(error,
                             [&] {
                               std::string found;
                               for (int i = 0; i < 2; ++i) {
                                 for (const char* path : {"link/../../a/file", "a/none"}) {
                                   found += Outcome(OpenBelow, dir.path(), path, O_RDONLY,
                                                    RESOLVE_IN_ROOT) +
                                            "; ";
                                 }
                               }
                               return found;
                             }),
              "opened /a/file; error ENOENT; opened /a/file; error ENOENT; ")
        << strerrorname_np(error);
  }
}

// Mounts are distinguished by statx(2), else by /proc, else not at all.
TEST(OpenBelow, TheWalkKnowsMountsWithoutStatx) {
  if (!TakesFilters()) GTEST_SKIP() << "needs system call filters, which qemu-user lacks";
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  TestDir dir;
  const auto look = [&](const char* path) {
    return Outcome(OpenBelow, dir.path() + "/walks", path, O_PATH,
                   RESOLVE_BENEATH | RESOLVE_NO_XDEV) +
           "; ";
  };
  EXPECT_EQ(CompareAs(0, dir.path(), FillTree,
                      [&](TwinTrees&) {
                        if (!RefuseSystemCall(SYS_openat2, ENOSYS)) return std::string("no filter");
                        std::string found = look("a/b") + look("mount") + look("mount/b");
                        RefuseSystemCall(SYS_statx, ENOSYS);
                        found += look("a/b") + look("mount") + look("mount/b");
                        mount("none", "/proc", "tmpfs", 0, nullptr);
                        return found + look("a/b");
                      }),
            "opened /a/b by path; error EXDEV; error EXDEV; "
            "opened /a/b by path; error EXDEV; error EXDEV; error ENOSYS; ");
}

// A process that swaps two names, or moves one there and back, until the end of the test.
class Swapper {
 public:
  Swapper(std::string from, std::string to, unsigned how) : child_(fork()) {
    while (child_ == 0) {
      syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how);
      syscall(SYS_renameat2, AT_FDCWD, to.c_str(), AT_FDCWD, from.c_str(), how);
      if (getppid() == 1) _exit(1);
    }
  }
  ~Swapper() {
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  const pid_t child_;
};

std::string ReadAndClose(int fd) {
  if (fd < 0) return std::string(strerrorname_np(errno));
  char text[16];
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
}

class OpenBelowRaceTest : public ::testing::Test {
 protected:
  OpenBelowRaceTest() {
    for (const char* path : {"in", "in/d", "in/d/e", "out", "out/d"}) {
      mkdir((dir_.path() + "/" + path).c_str(), 0755);
    }
    for (const char* path : {"in/word", "in/d/word", "in/d/e/word"}) {
      MakeFile(dir_.path() + "/" + path, "in");
    }
    for (const char* path : {"out/word", "out/d/word", "word"}) {
      MakeFile(dir_.path() + "/" + path, "OUT");
    }
  }

  std::string in(const std::string& path) const { return dir_.path() + "/in/" + path; }
  std::string out(const std::string& path) const { return dir_.path() + "/out/" + path; }

  // The outcomes of `attempt`, until `enough` has been seen or the time is over.
  static std::set<std::string> Try(const std::function<std::string()>& attempt,
                                   const std::set<std::string>& enough, int least) {
    std::set<std::string> seen;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto is_enough = [&] {
      for (const std::string& outcome : enough) {
        if (seen.count(outcome) == 0) return false;
      }
      return true;
    };
    for (int i = 0; i < least || !is_enough(); ++i) {
      if (std::chrono::steady_clock::now() > end) break;
      seen.insert(attempt());
    }
    return seen;
  }
  std::set<std::string> Walk(const std::string& path, uint64_t resolve,
                             const std::set<std::string>& enough) const {
    const int root = open(in("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    std::set<std::string> seen =
        Try([&] { return ReadAndClose(WalkBelow(root, path.c_str(), O_RDONLY, resolve)); }, enough,
            5000);
    close(root);
    return seen;
  }

  TestDir dir_;
};

TEST_F(OpenBelowRaceTest, ADirectorySwappedForALinkLeadsNowhere) {
  int number = 0;
  for (const std::string& target : {out("d"), std::string("../out/d")}) {
    const std::string name = "swapped" + std::to_string(++number);
    mkdir(in(name).c_str(), 0755);
    MakeFile(in(name) + "/word", "in");
    MakeLink(target, in(name) + "_link");
    const Swapper swapper(in(name), in(name) + "_link", RENAME_EXCHANGE);
    const std::string path = name + "/word";
    EXPECT_THAT(
        Try([&] { return ReadAndClose(open(in(path).c_str(), O_RDONLY | O_CLOEXEC)); }, {"OUT"}, 1),
        Contains("OUT"))
        << "nobody swaps";
    EXPECT_EQ(Walk(path, RESOLVE_IN_ROOT, {"in", "ENOENT"}),
              (std::set<std::string>{"in", "ENOENT"}));
    EXPECT_EQ(Walk(path, RESOLVE_BENEATH, {"in", "EXDEV"}), (std::set<std::string>{"in", "EXDEV"}));
    EXPECT_EQ(Walk(path, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, {"in", "ELOOP"}),
              (std::set<std::string>{"in", "ELOOP"}));
  }
}

TEST_F(OpenBelowRaceTest, AFileSwappedForALinkLeadsNowhere) {
  MakeLink("../out/word", in("l"));
  const Swapper swapper(in("word"), in("l"), RENAME_EXCHANGE);
  EXPECT_THAT(
      Try([&] { return ReadAndClose(open(in("word").c_str(), O_RDONLY | O_CLOEXEC)); }, {"OUT"}, 1),
      Contains("OUT"))
      << "nobody swaps";
  EXPECT_EQ(Walk("word", RESOLVE_IN_ROOT, {"in", "ENOENT"}),
            (std::set<std::string>{"in", "ENOENT"}));
  EXPECT_EQ(Walk("word", RESOLVE_BENEATH, {"in", "EXDEV"}), (std::set<std::string>{"in", "EXDEV"}));
}

// The kernel's ".." of a directory that was moved is where it is now.
TEST_F(OpenBelowRaceTest, ADirectoryMovedOutDoesNotTakeItsParentAlong) {
  const Swapper swapper(in("d/e"), out("e"), 0);
  const auto step_by_step = [&]() -> std::string {
    int at = open(in("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char* name : {"d", "e", "..", "word"}) {
      const int next =
          openat(at, name, (*name == 'w' ? O_RDONLY : O_PATH | O_DIRECTORY) | O_CLOEXEC);
      const int error = errno;
      close(at);
      errno = error;
      at = next;
      if (at < 0) break;
    }
    return ReadAndClose(at);
  };
  EXPECT_THAT(Try(step_by_step, {"OUT"}, 1), Contains("OUT")) << "nobody moves it";
  EXPECT_EQ(Walk("d/e/../word", RESOLVE_IN_ROOT, {"in", "ENOENT"}),
            (std::set<std::string>{"in", "ENOENT"}));
  EXPECT_EQ(Walk("d/e/../../word", RESOLVE_BENEATH, {"in", "ENOENT"}),
            (std::set<std::string>{"in", "ENOENT"}));
}

}  // namespace
}  // namespace plimsoll
