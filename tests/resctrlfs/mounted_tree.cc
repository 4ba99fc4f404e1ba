#define FUSE_USE_VERSION 35

#include "resctrlfs/mounted_tree.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::resctrlfs {
namespace {

struct stat Attributes(const Node& node) {
  struct stat attributes = {};
  attributes.st_ino = node.number;
  attributes.st_mode = node.mode | (node.IsDirectory() ? S_IFDIR : S_IFREG);
  attributes.st_nlink = node.IsDirectory() ? 2 : 1;
  attributes.st_uid = node.uid;
  attributes.st_gid = node.gid;
  attributes.st_blksize = 4096;
  attributes.st_atim = attributes.st_mtim = attributes.st_ctim = node.changed;
  return attributes;
}

// An open file or directory with the text of its first read, as the kernel keeps it too, so that a
// reader with a small buffer gets one state.
struct Handle {
  std::shared_ptr<Node> node;
  std::string text;
  bool is_filled = false;
};

void ReplySlice(fuse_req_t request, const std::string& text, size_t size, off_t offset) {
  const size_t begin = std::min(static_cast<size_t>(offset), text.size());
  fuse_reply_buf(request, text.data() + begin, std::min(size, text.size() - begin));
}

}  // namespace

class FuseSession {
 public:
  explicit FuseSession(Tree* tree) : tree_(*tree) { Hold(tree->root()); }
  ~FuseSession() {
    if (session_ == nullptr) return;
    if (is_mounted_) fuse_session_unmount(session_);
    fuse_session_destroy(session_);
    std::free(buffer_.mem);
  }

  absl::Status Mount(const std::string& directory);
  bool Serve();
  int fd() const { return fuse_session_fd(session_); }

  void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
  void Forget(fuse_ino_t number, uint64_t times);
  void SetAttributes(fuse_req_t request, fuse_ino_t number, const struct stat& wanted, int which);
  void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode);
  void ReadDirectory(fuse_req_t request, size_t size, off_t offset, uint64_t handle_number);
  void Read(fuse_req_t request, size_t size, off_t offset, uint64_t handle_number);
  void Release(uint64_t handle_number) { open_.erase(handle_number); }
  void Write(fuse_req_t request, fuse_ino_t number, absl::string_view text);
  void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* info);

  Tree& tree() { return tree_; }
  // The kernel sends only numbers that it holds.
  const std::shared_ptr<Node>& NodeOf(fuse_ino_t number) { return held_.at(number).node; }

 private:
  struct Held {
    std::shared_ptr<Node> node;
    uint64_t lookups = 0;
  };

  void Hold(const std::shared_ptr<Node>& node) {
    Held& held = held_[node->number];
    held.node = node;
    ++held.lookups;
  }
  void ReplyEntry(fuse_req_t request, const std::shared_ptr<Node>& node);

  Tree& tree_;
  std::unordered_map<fuse_ino_t, Held> held_;
  // By the kernel's number. Files open at the unmount are never released.
  std::unordered_map<uint64_t, Handle> open_;
  uint64_t next_handle_ = 1;
  fuse_session* session_ = nullptr;
  fuse_buf buffer_ = {};
  bool is_mounted_ = false;
};

void FuseSession::ReplyEntry(fuse_req_t request, const std::shared_ptr<Node>& node) {
  fuse_entry_param entry = {};
  entry.ino = node->number;
  entry.attr = Attributes(*node);
  Hold(node);
  fuse_reply_entry(request, &entry);
}

void FuseSession::Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const Node& directory = *NodeOf(parent);
  const auto child = directory.children.find(name);
  if (child == directory.children.end()) {
    fuse_reply_err(request, ENOENT);
  } else {
    ReplyEntry(request, child->second);
  }
}

void FuseSession::Forget(fuse_ino_t number, uint64_t times) {
  const auto held = held_.find(number);
  if (held == held_.end() || number == FUSE_ROOT_ID) return;
  held->second.lookups -= std::min(times, held->second.lookups);
  if (held->second.lookups == 0) held_.erase(held);
}

void FuseSession::SetAttributes(fuse_req_t request, fuse_ino_t number, const struct stat& wanted,
                                int which) {
  Node& node = *NodeOf(number);
  if ((which & FUSE_SET_ATTR_MODE) != 0) node.mode = wanted.st_mode & 07777;
  if ((which & FUSE_SET_ATTR_UID) != 0) node.uid = wanted.st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) node.gid = wanted.st_gid;
  // A size is accepted and ignored: `echo 1 > tasks` truncates first.
  const struct stat attributes = Attributes(node);
  fuse_reply_attr(request, &attributes, 0);
}

void FuseSession::MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name,
                                mode_t mode) {
  const fuse_ctx* caller = fuse_req_ctx(request);
  const std::shared_ptr<Node> directory = NodeOf(parent);
  const Errno error = tree_.MakeDirectory(directory, name, mode, caller->uid, caller->gid);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    ReplyEntry(request, directory->children.at(name));
  }
}

void FuseSession::ReadDirectory(fuse_req_t request, size_t size, off_t offset,
                                uint64_t handle_number) {
  Handle* const handle = &open_.at(handle_number);
  if (!handle->is_filled || offset == 0) {
    handle->is_filled = true;
    handle->text.clear();
    const auto add = [&](const char* name, const Node& node) {
      const struct stat attributes = Attributes(node);
      const size_t before = handle->text.size();
      handle->text.resize(before + fuse_add_direntry(request, nullptr, 0, name, nullptr, 0));
      fuse_add_direntry(request, handle->text.data() + before, handle->text.size() - before, name,
                        &attributes, static_cast<off_t>(handle->text.size()));
    };
    const Node& node = *handle->node;
    add(".", node);
    add("..", node.parent == nullptr ? node : *node.parent);
    for (const auto& [name, child] : node.children) add(name.c_str(), *child);
  }
  ReplySlice(request, handle->text, size, offset);
}

void FuseSession::Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const std::shared_ptr<Node> node = NodeOf(number);
  if (const Errno error = Tree::CheckOpen(*node, info->flags); error != 0 && !node->IsDirectory()) {
    fuse_reply_err(request, error);
    return;
  }
  info->fh = next_handle_++;
  open_[info->fh].node = node;
  // Otherwise the kernel would not read beyond the size, 0, and would join or split writes.
  info->direct_io = 1;
  if (fuse_reply_open(request, info) != 0) Release(info->fh);
}

void FuseSession::Read(fuse_req_t request, size_t size, off_t offset, uint64_t handle_number) {
  Handle* const handle = &open_.at(handle_number);
  if (!handle->is_filled || offset == 0) {
    if (const Errno error = Tree::Read(*handle->node, &handle->text); error != 0) {
      fuse_reply_err(request, error);
      return;
    }
    handle->is_filled = true;
  }
  ReplySlice(request, handle->text, size, offset);
}

void FuseSession::Write(fuse_req_t request, fuse_ino_t number, absl::string_view text) {
  const fuse_ctx* caller = fuse_req_ctx(request);
  // The kernel passes the thread's id, not the process's.
  const Writer writer = {.thread = caller->pid, .uid = caller->uid};
  const std::shared_ptr<Node> node = NodeOf(number);
  const Errno error = tree_.Write(node.get(), text, writer);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_write(request, text.size());
  }
}

namespace {

FuseSession& SessionOf(fuse_req_t request) {
  return *static_cast<FuseSession*>(fuse_req_userdata(request));
}

void OnRelease(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  SessionOf(request).Release(info->fh);
  fuse_reply_err(request, 0);
}

void AddNameOperations(fuse_lowlevel_ops* ops) {
  ops->lookup = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    SessionOf(request).Lookup(request, parent, name);
  };
  ops->forget = [](fuse_req_t request, fuse_ino_t number, uint64_t times) {
    SessionOf(request).Forget(number, times);
    fuse_reply_none(request);
  };
  ops->mkdir = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
    SessionOf(request).MakeDirectory(request, parent, name, mode);
  };
  ops->rmdir = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    FuseSession& session = SessionOf(request);
    fuse_reply_err(request, session.tree().RemoveDirectory(session.NodeOf(parent), name));
  };
  ops->rename = [](fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
                   const char* new_name, unsigned flags) {
    FuseSession& session = SessionOf(request);
    fuse_reply_err(request, flags != 0
                                ? EINVAL
                                : session.tree().Rename(session.NodeOf(parent), name,
                                                        session.NodeOf(new_parent), new_name));
  };
  // Operations that the kernel's file system lacks.
  ops->unlink = [](fuse_req_t request, fuse_ino_t, const char*) { fuse_reply_err(request, EPERM); };
  ops->create = [](fuse_req_t request, fuse_ino_t, const char*, mode_t, fuse_file_info*) {
    fuse_reply_err(request, EACCES);
  };
  ops->mknod = [](fuse_req_t request, fuse_ino_t, const char*, mode_t, dev_t) {
    fuse_reply_err(request, EPERM);
  };
  ops->symlink = [](fuse_req_t request, const char*, fuse_ino_t, const char*) {
    fuse_reply_err(request, EPERM);
  };
  ops->link = [](fuse_req_t request, fuse_ino_t, fuse_ino_t, const char*) {
    fuse_reply_err(request, EPERM);
  };
}

void AddFileOperations(fuse_lowlevel_ops* ops) {
  ops->getattr = [](fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
    const struct stat attributes = Attributes(*SessionOf(request).NodeOf(number));
    fuse_reply_attr(request, &attributes, 0);
  };
  ops->setattr = [](fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                    fuse_file_info*) {
    SessionOf(request).SetAttributes(request, number, *wanted, which);
  };
  ops->open = [](fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
    SessionOf(request).Open(request, number, info);
  };
  ops->opendir = ops->open;
  ops->read = [](fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
    SessionOf(request).Read(request, size, offset, info->fh);
  };
  ops->readdir = [](fuse_req_t request, fuse_ino_t, size_t size, off_t offset,
                    fuse_file_info* info) {
    SessionOf(request).ReadDirectory(request, size, offset, info->fh);
  };
  ops->write = [](fuse_req_t request, fuse_ino_t number, const char* text, size_t size, off_t,
                  fuse_file_info*) {
    SessionOf(request).Write(request, number, absl::string_view(text, size));
  };
  ops->release = OnRelease;
  ops->releasedir = OnRelease;
}

}  // namespace

absl::Status FuseSession::Mount(const std::string& directory) {
  fuse_lowlevel_ops ops = {};
  AddNameOperations(&ops);
  AddFileOperations(&ops);
  char program[] = "resctrlfs";
  char flag[] = "-o";
  char options[] = "fsname=resctrl,subtype=resctrl,allow_other,default_permissions";
  char* argv[] = {program, flag, options};
  fuse_args args = FUSE_ARGS_INIT(3, argv);
  session_ = fuse_session_new(&args, &ops, sizeof ops, this);
  fuse_opt_free_args(&args);
  if (session_ == nullptr) return absl::InternalError("libfuse makes no session");
  errno = 0;
  if (fuse_session_mount(session_, directory.c_str()) != 0) {
    return ErrnoStatus(errno == 0 ? EIO : errno, absl::StrCat("mount FUSE on ", directory));
  }
  is_mounted_ = true;
  if (fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "make /dev/fuse non-blocking");
  }
  return absl::OkStatus();
}

bool FuseSession::Serve() {
  const int received = fuse_session_receive_buf(session_, &buffer_);
  if (received > 0) fuse_session_process_buf(session_, &buffer_);
  return fuse_session_exited(session_) == 0;
}

MountedTree::MountedTree(std::unique_ptr<FuseSession> session) : session_(std::move(session)) {}
MountedTree::~MountedTree() = default;

absl::StatusOr<std::unique_ptr<MountedTree>> MountedTree::Mount(Tree* tree,
                                                                const std::string& directory) {
  auto session = std::make_unique<FuseSession>(tree);
  PLIMSOLL_RETURN_IF_ERROR(session->Mount(directory));
  return std::unique_ptr<MountedTree>(new MountedTree(std::move(session)));
}

int MountedTree::fd() const {
  return session_->fd();
}
bool MountedTree::Serve() {
  return session_->Serve();
}

}  // namespace plimsoll::resctrlfs
