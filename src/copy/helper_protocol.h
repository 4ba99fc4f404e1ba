// The protocol between a helper of copy/helper.h and its starter. The words of its command line
// are: flags, label, path, name.
#ifndef PLIMSOLL_COPY_HELPER_PROTOCOL_H_
#define PLIMSOLL_COPY_HELPER_PROTOCOL_H_

namespace plimsoll::copy {

inline constexpr char kGives = 'g';
inline constexpr char kArchive = 'a';
inline constexpr char kFollow = 'L';
inline constexpr char kContent = 'c';
inline constexpr char kBare = 'b';
inline constexpr char kUserNamespace = 'u';  // it has kUserFd

// The helper's descriptors, besides /dev/null at 0 to 2.
inline constexpr int kStreamFd = 3;
inline constexpr int kRootFd = 4;
inline constexpr int kReportFd = 5;
inline constexpr int kUserFd = 6;

// Exit code: its stream was closed before the end, which is not an error.
inline constexpr int kNobodyReads = 3;

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_HELPER_PROTOCOL_H_
