// The mounted directories and files, and the operations on them. Knows nothing of FUSE. Used by one
// thread.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_TREE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"
#include "resctrlfs/script.h"
#include "resctrlfs/state.h"
#include "resctrlfs/tasks.h"

namespace plimsoll::resctrlfs {

enum class Place { kGroup, kMonGroups, kMonData, kInfo, kFile };

// A directory or file. A removed one lives as long as it is open; it has neither children nor
// functions then.
struct Node {
  uint64_t number = 0;  // inode number, never used again; 1 is the root
  std::string name;
  Node* parent = nullptr;
  Place place = Place::kFile;
  mode_t mode = 0;  // permissions, without the type
  uid_t uid = 0;
  gid_t gid = 0;
  timespec changed = {};
  Group* group = nullptr;  // its group; null in info
  std::map<std::string, std::shared_ptr<Node>> children;
  std::function<std::string()> read;
  // null: writes fail, as for a file whose mode forbids them.
  std::function<Errno(absl::string_view text, const Writer& writer)> write;
  bool removed = false;

  bool IsDirectory() const { return place != Place::kFile; }
};

class Tree {
 public:
  // Both must outlive it.
  Tree(State* state, Script* script, MayMove may_move);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::shared_ptr<Node>& root() const { return root_; }
  // The node at a path below the root, which is ""; null if there is none.
  std::shared_ptr<Node> Find(absl::string_view path) const;
  static std::string PathOf(const Node& node);

  // Makes a group, where the kernel allows one: below the root, and in a mon_groups directory.
  // EPERM elsewhere, ENODEV in info, EINVAL for a name with a newline.
  Errno MakeDirectory(const std::shared_ptr<Node>& parent, const std::string& name, mode_t mode,
                      uid_t uid, gid_t gid);
  // Removes a group, whether it has members or not. EPERM for every other directory.
  Errno RemoveDirectory(const std::shared_ptr<Node>& parent, const std::string& name);
  // Moves a monitoring group within its mon_groups directory or into another; EPERM for anything
  // else.
  Errno Rename(const std::shared_ptr<Node>& parent, const std::string& name,
               const std::shared_ptr<Node>& new_parent, const std::string& new_name);

  // Unlike elsewhere the mode binds root too: EACCES where it forbids `flags` (open(2)) to
  // everybody. ENODEV for a removed file.
  static Errno CheckOpen(const Node& node, int flags);
  // Reads the whole text. ENODEV for a removed file.
  static Errno Read(const Node& node, std::string* text);
  // One write(2) is one command. E2BIG above 4096 bytes, ENODEV for a removed file.
  Errno Write(Node* node, absl::string_view text, const Writer& writer);

 private:
  std::shared_ptr<Node> Add(Node* parent, const std::string& name, Place place, mode_t mode);
  std::shared_ptr<Node> AddFile(Node* parent, const std::string& name, mode_t mode,
                                std::function<std::string()> read);
  void FillGroup(Node* directory);
  void AddControlFiles(Node* directory, Group* group);
  void AddMonitoring(Node* directory, Group* group);
  void FillInfo(Node* info);
  void AddCacheInfo(Node* info, size_t schema);
  void AddBandwidthInfo(Node* info, size_t schema);
  void AddMonitoringInfo(Node* info);
  // Files that have no meaning in mode pseudo-locksetup can't be opened in it.
  void RestrictForMode(Node* directory);
  static void Detach(Node* node);
  Errno MakeGroup(Node* parent, const std::string& name, Group** made);

  State& state_;
  Script& script_;
  const MayMove may_move_;
  uint64_t next_number_ = 1;
  std::shared_ptr<Node> root_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_TREE_H_
