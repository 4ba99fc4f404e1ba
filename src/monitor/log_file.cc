#include "monitor/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "lookup/open_below.h"

namespace plimsoll::monitor {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
// "2026-11-21T03:10:53" "." nine digits "Z stdout F " and the newline.
constexpr size_t kMaxOverhead = 48;

int OpenNoLink(int root, const char* name, int flags) {
  return OpenBelow(root, name, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, 0640);
}

// Opens the directory that the first `length` bytes of a path name, without following a symlink
// anywhere. A descriptor, or -1 with errno.
int OpenDirectory(const char* path, size_t length) {
  char name[4096];
  if (length >= sizeof(name)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int top = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return -1;
  for (; length > 0 && *path == '/'; --length) ++path;
  if (length == 0) return top;
  memcpy(name, path, length);
  name[length] = '\0';
  const int directory = OpenNoLink(top, name, O_PATH | O_DIRECTORY);
  const int error = errno;
  close(top);
  errno = error;
  return directory;
}

// Length of the directory's part of a path.
size_t DirectoryLength(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? 0 : static_cast<size_t>(slash - path);
}

// Opens a regular file for appending; opening anything else may block or have an effect.
int OpenRegular(int file) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return -1;
  if (!S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : ENOTSUP;
    return -1;
  }
  char path[32];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  return open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

// A descriptor, or -1 with errno.
int OpenLog(int root, const char* name) {
  // Another process may remove or make it meanwhile, but not for ever.
  for (int tries = 0; tries < 100; ++tries) {
    const int file = OpenNoLink(root, name, O_PATH);
    if (file >= 0) {
      const int fd = OpenRegular(file);
      const int error = errno;
      close(file);
      errno = error;
      return fd;
    }
    if (errno != ENOENT) return -1;
    const int made = OpenNoLink(root, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

}  // namespace

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

int LogFile::Open(const char* path, const char* below) {
  const size_t length = below != nullptr ? strlen(below) : DirectoryLength(path);
  if (below != nullptr && strncmp(path, below, length) != 0) return EXDEV;
  const int root = OpenDirectory(path, length);
  if (root < 0) return errno;
  const char* name = path + length;
  while (*name == '/') ++name;
  const int fd = OpenLog(root, name);
  const int error = errno;
  close(root);
  if (fd < 0) return error;
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  return 0;
}

void LogFile::LimitSize(const char* path, int64_t max_bytes) {
  path_ = path;
  max_bytes_ = max_bytes;
}

void LogFile::RotateIfFull() {
  struct stat info = {};
  if (max_bytes_ <= 0 || fstat(fd_, &info) != 0 || info.st_size < max_bytes_) return;
  const size_t length = DirectoryLength(path_);
  const char* const name = path_[length] == '/' ? path_ + length + 1 : path_;
  char old[256];
  if (snprintf(old, sizeof(old), "%s.1", name) >= static_cast<int>(sizeof(old))) return;
  const int directory = OpenDirectory(path_, length);
  if (directory < 0) return;
  const bool renamed = renameat(directory, name, directory, old) == 0;
  close(directory);
  if (renamed) Open(path_);
}

void LogFile::Add(const char* stream, bool full, const char* text, size_t size,
                  int64_t unix_nanos) {
  if (size + kMaxOverhead > sizeof(buffer_) - size_) Flush();
  size_ += Format(buffer_ + size_, stream, full, text, size, unix_nanos);
  last_nanos_ = unix_nanos;
}

size_t LogFile::Format(char* to, const char* stream, bool full, const char* text, size_t size,
                       int64_t unix_nanos) {
  const int64_t second = unix_nanos / kNanosPerSecond;
  if (second != formatted_second_) {
    const time_t seconds = static_cast<time_t>(second);
    struct tm utc = {};
    gmtime_r(&seconds, &utc);
    strftime(formatted_, sizeof(formatted_), "%Y-%m-%dT%H:%M:%S", &utc);
    formatted_second_ = second;
  }
  char* at = to;
  memcpy(at, formatted_, 19);
  at += 19;
  int64_t nanos = unix_nanos % kNanosPerSecond;
  for (int digit = 9; digit >= 1; --digit, nanos /= 10) {
    at[digit] = static_cast<char>('0' + nanos % 10);
  }
  at[0] = '.';
  memcpy(at + 10, "Z ", 2);
  memcpy(at + 12, stream, 6);
  memcpy(at + 18, full ? " F " : " P ", 3);
  memcpy(at + 21, text, size);
  at += 21 + size;
  *at++ = '\n';
  return static_cast<size_t>(at - to);
}

// Writes all of it or nothing: an entry cut in the middle would swallow the next.
bool LogFile::Append(const char* bytes, size_t size) {
  struct stat before = {};
  if (fstat(fd_, &before) != 0) return false;
  while (size > 0) {
    const ssize_t n = write(fd_, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      lost_errno_ = errno;
      if (ftruncate(fd_, before.st_size) != 0) lost_errno_ = errno;
      return false;
    }
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool LogFile::AppendLossNote() {
  char text[160];
  char note[sizeof(text) + kMaxOverhead];
  const int length = snprintf(text, sizeof(text), "[plimsoll: %llu bytes of log lost: %s]",
                              static_cast<unsigned long long>(lost_bytes_), strerror(lost_errno_));
  const size_t size = Format(note, "stderr", true, text, static_cast<size_t>(length), last_nanos_);
  return Append(note, size);
}

void LogFile::Flush() {
  const size_t size = size_;
  size_ = 0;
  if (size == 0 || fd_ < 0) return;
  if (lost_bytes_ > 0 && AppendLossNote()) lost_bytes_ = 0;
  if (lost_bytes_ > 0 || !Append(buffer_, size)) lost_bytes_ += size;
  RotateIfFull();
}

}  // namespace plimsoll::monitor
