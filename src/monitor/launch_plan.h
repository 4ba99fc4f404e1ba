// The plan: preparations to be made before an OCI runtime runs. A list of "key=value" strings, each
// ended by a NUL byte:
//   runtime   program to become                 root     the runtime's state directory
//   name      that program's argv[0]; without it, "crun"
//   target    mount point of the root filesystem; without it, none is mounted
//   lower     a lower directory, top first; repeated
//   upper     the writable layer                work     overlayfs's work directory
//   context   SELinux label of the root filesystem and of images' volumes
//   mkdir     directory to make in the root filesystem if it isn't there
//   owner     "uid:gid" of what is made for `mkdir`, `data`, `directory` and `file`
//   data      directory to make in the root filesystem if it isn't there, for VOLUME; a file there
//             is an error; repeated
//     as        name below "volumes" in `stage` where it is mounted, too
//   directory, file   mount point in the root filesystem, and its kind: made if a link leads there;
//             repeated
//   userns    file of a user namespace: `lower` is shown with its ids
//   stage     directory on which a tmpfs is mounted, to put mounts together in
//   volume    name below "volumes" in `stage`; the keys of the next four that follow describe it:
//     source    a path for messages: the volume is a detached mount that the daemon has made of
//               what it found there, and passes as a descriptor (protocol.h); or
//     layer     a directory of an image, top first; repeated
//     part      a directory of the image, relative
//     map       file of a user namespace, or "uid_map;gid_map" as the kernel takes them (without a
//               leading "/"): ids are mapped by them
//   private   mount point to make private, with everything below, in the new mount namespace
//   bind      path to bind over `over` in the new namespace; may come in several pairs
//   oom       oom_score_adj to take on
//   nofile    RLIMIT_NOFILE to take on, "soft:hard"
//   rlimit    another limit, "NUMBER:soft:hard", after nofile; repeated
//   mempolicy set_mempolicy(2)'s mode, decimal, and after ":" its mask of nodes: hexadecimal words
//             of 64 bits separated by ",", lowest first
//   variables          file of variables that are no UTF-8 (byte_variables.h)
//   variables-program  the program that sets them
//   session   "terminal": a new session, whose controlling terminal is standard input
//   enter     file to write the own pid to (a resctrl group's tasks); repeated
//   entered   descriptor that is closed when all of this is done and the OCI runtime runs
#ifndef PLIMSOLL_MONITOR_LAUNCH_PLAN_H_
#define PLIMSOLL_MONITOR_LAUNCH_PLAN_H_

#include <cstddef>

namespace plimsoll::monitor {

// A view of a text that it does not own. Values are valid as long as the text is.
class LaunchPlan {
 public:
  LaunchPlan() = default;
  // `text` ends with a NUL byte, unless it is empty.
  LaunchPlan(const char* text, size_t size) : text_(text), size_(size) {}

  // The next value of `key` after `previous` (null: the first) and before the value `end` (null:
  // the text's end); null if there is none.
  const char* Next(const char* key, const char* previous, const char* end = nullptr) const;
  const char* Get(const char* key) const { return Next(key, nullptr); }
  bool Has(const char* key) const { return Get(key) != nullptr; }

 private:
  const char* text_ = nullptr;
  size_t size_ = 0;
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_LAUNCH_PLAN_H_
