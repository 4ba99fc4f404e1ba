#include "resctrlfs/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resctrlfs/groups.h"

namespace plimsoll::resctrlfs {
namespace {

// Longest text of one write(2): the kernel takes a page.
constexpr size_t kMaxCommand = 4096;

timespec Now() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

std::string Join(const Node& directory, const std::string& name) {
  const std::string path = Tree::PathOf(directory);
  return path.empty() ? name : absl::StrCat(path, "/", name);
}

}  // namespace

Tree::Tree(State* state, Script* script, MayMove may_move)
    : state_(*state), script_(*script), may_move_(std::move(may_move)) {
  root_ = Add(nullptr, "", Place::kGroup, 0755);
  root_->group = &state_.root;
  FillGroup(root_.get());
  FillInfo(Add(root_.get(), "info", Place::kInfo, 0755).get());
}

std::shared_ptr<Node> Tree::Add(Node* parent, const std::string& name, Place place, mode_t mode) {
  auto node = std::make_shared<Node>();
  node->number = next_number_++;
  node->name = name;
  node->parent = parent;
  node->place = place;
  node->mode = mode;
  node->changed = Now();
  if (parent != nullptr) {
    // A group is its maker's.
    node->uid = parent->uid;
    node->gid = parent->gid;
    node->group = parent->group;
    parent->children[name] = node;
  }
  return node;
}

std::shared_ptr<Node> Tree::AddFile(Node* parent, const std::string& name, mode_t mode,
                                    std::function<std::string()> read) {
  std::shared_ptr<Node> file = Add(parent, name, Place::kFile, mode);
  file->read = std::move(read);
  return file;
}

std::shared_ptr<Node> Tree::Find(absl::string_view path) const {
  std::shared_ptr<Node> node = root_;
  for (absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    const auto child = node->children.find(std::string(name));
    if (child == node->children.end()) return nullptr;
    node = child->second;
  }
  return node;
}

std::string Tree::PathOf(const Node& node) {
  if (node.parent == nullptr) return node.name;
  const std::string above = PathOf(*node.parent);
  return above.empty() ? node.name : absl::StrCat(above, "/", node.name);
}

Errno Tree::MakeGroup(Node* parent, const std::string& name, Group** made) {
  if (name.find('\n') != std::string::npos) return EINVAL;
  if (state_.CanControl() && parent == root_.get()) {
    return MakeControlGroup(&state_, name, made);
  }
  if (!state_.CanMonitor()) return EPERM;
  if (parent->group == nullptr) return ENODEV;
  state_.status.Clear();
  if (parent->place != Place::kMonGroups || name == "mon_groups") return EPERM;
  return MakeMonitorGroup(&state_, parent->group, name, made);
}

Errno Tree::MakeDirectory(const std::shared_ptr<Node>& parent, const std::string& name, mode_t mode,
                          uid_t uid, gid_t gid) {
  if (parent->removed) return ENOENT;
  if (parent->children.contains(name)) return EEXIST;
  const std::string path = Join(*parent, name);
  Group* group = nullptr;
  Errno error = script_.Refusal("mkdir", path);
  if (error == 0) error = MakeGroup(parent.get(), name, &group);
  script_.Record("mkdir", path, "", error);
  if (error != 0) return error;
  const std::shared_ptr<Node> directory = Add(parent.get(), name, Place::kGroup, mode & 07777);
  directory->group = group;
  directory->uid = uid;
  directory->gid = gid;
  FillGroup(directory.get());
  return 0;
}

void Tree::Detach(Node* node) {
  node->removed = true;
  node->group = nullptr;
  node->read = nullptr;
  node->write = nullptr;
  for (const auto& [name, child] : node->children) Detach(child.get());
  node->children.clear();
}

Errno Tree::RemoveDirectory(const std::shared_ptr<Node>& parent, const std::string& name) {
  const auto found = parent->children.find(name);
  if (found == parent->children.end()) return ENOENT;
  const std::shared_ptr<Node> node = found->second;
  if (!node->IsDirectory()) return ENOTDIR;
  const std::string path = PathOf(*node);
  Errno error = script_.Refusal("rmdir", path);
  if (error == 0) {
    error = node->place == Place::kGroup ? RemoveGroup(&state_, node->group) : EPERM;
  }
  script_.Record("rmdir", path, "", error);
  if (error != 0) return error;
  parent->children.erase(found);
  Detach(node.get());
  return 0;
}

Errno Tree::Rename(const std::shared_ptr<Node>& parent, const std::string& name,
                   const std::shared_ptr<Node>& new_parent, const std::string& new_name) {
  const auto found = parent->children.find(name);
  if (found == parent->children.end() || new_parent->removed) return ENOENT;
  const std::shared_ptr<Node> node = found->second;
  if (node->group == nullptr || new_parent->group == nullptr) return ENOENT;
  const std::string path = PathOf(*node);
  const std::string new_path = Join(*new_parent, new_name);
  Errno error = script_.Refusal("rename", path);
  if (error == 0) {
    state_.status.Clear();
    if (node->place != Place::kGroup || !node->group->IsMonitor()) {
      error = state_.status.Refuse(EPERM, "Only a monitoring group can be moved");
    } else if (new_parent->place != Place::kMonGroups || new_name == "mon_groups") {
      error = state_.status.Refuse(EPERM, "A monitoring group belongs into a mon_groups directory");
    } else if (new_parent->children.contains(new_name)) {
      error = EEXIST;
    } else {
      error = MoveMonitorGroup(&state_, node->group, new_parent->group, new_name);
    }
  }
  script_.Record("rename", path, new_path, error);
  if (error != 0) return error;
  parent->children.erase(name);
  node->name = new_name;
  node->parent = new_parent.get();
  new_parent->children[new_name] = node;
  return 0;
}

Errno Tree::CheckOpen(const Node& node, int flags) {
  if (node.removed) return ENODEV;
  const int access = flags & O_ACCMODE;
  if (access != O_WRONLY && (node.mode & (S_IRUSR | S_IRGRP | S_IROTH)) == 0) return EACCES;
  if (access != O_RDONLY &&
      ((node.mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || node.write == nullptr)) {
    return EACCES;
  }
  return 0;
}

Errno Tree::Read(const Node& node, std::string* text) {
  if (node.removed) return ENODEV;
  *text = node.read();
  return 0;
}

Errno Tree::Write(Node* node, absl::string_view text, const Writer& writer) {
  if (text.size() > kMaxCommand) return E2BIG;
  if (node->removed) return ENODEV;
  const std::string path = PathOf(*node);
  Errno error = script_.Refusal("write", path);
  if (error != 0) {
    state_.status.Clear();
    state_.status.Refuse(error, "Refused because the test wants it so");
  } else {
    error = node->write(text, writer);
  }
  script_.Record("write", path, text, error);
  if (error == 0 && node->name == "mode") RestrictForMode(node->parent);
  return error;
}

}  // namespace plimsoll::resctrlfs
