// For tests: the tree over a membership that is only a table, so that no kernel is needed.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_FAKE_TREE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_FAKE_TREE_H_

#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resctrlfs/layout.h"
#include "resctrlfs/membership.h"
#include "resctrlfs/script.h"
#include "resctrlfs/state.h"
#include "resctrlfs/tree.h"

namespace plimsoll::resctrlfs {

class FakeMembership : public Membership {
 public:
  std::map<pid_t, GroupId> threads;
  std::set<GroupId> groups = {kRootGroup};

  Errno Add(GroupId group) override {
    groups.insert(group);
    return 0;
  }
  Errno Remove(GroupId group, GroupId heir) override {
    groups.erase(group);
    return MoveAll(group, heir);
  }
  Errno Move(pid_t thread, GroupId group) override {
    if (!threads.contains(thread)) return ESRCH;
    threads[thread] = group;
    return 0;
  }
  Errno MoveAll(GroupId from, GroupId to) override {
    for (auto& [thread, group] : threads) {
      if (group == from) group = to;
    }
    return 0;
  }
  std::optional<GroupId> GroupOf(pid_t thread) override {
    const auto found = threads.find(thread);
    return found == threads.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<pid_t> Members(GroupId group) override {
    std::vector<pid_t> members;
    for (const auto& [thread, of] : threads) {
      if (of == group) members.push_back(thread);
    }
    return members;
  }
};

// Threads 100 to 104 are in the root group at first; thread 100 writes, as root.
class FakeTree {
 public:
  explicit FakeTree(Layout layout)
      : state_(std::move(layout), &membership_),
        tree_(&state_, &script_, [this](uid_t uid, pid_t thread) {
          return uid == 0 || foreign_threads.count(thread) == 0;
        }) {
    for (pid_t thread = 100; thread < 105; ++thread) membership_.threads[thread] = kRootGroup;
  }

  std::string Read(const std::string& path) {
    std::string text;
    const std::shared_ptr<Node> node = tree_.Find(path);
    if (node == nullptr) return "(no such file)";
    return Tree::Read(*node, &text) == 0 ? text : "(error)";
  }
  // Adds the newline that echo(1) would.
  Errno Write(const std::string& path, const std::string& text) {
    return WriteRaw(path, text + "\n");
  }
  Errno WriteRaw(const std::string& path, const std::string& text) {
    const std::shared_ptr<Node> node = tree_.Find(path);
    return node == nullptr ? ENOENT : tree_.Write(node.get(), text, writer);
  }
  Errno Mkdir(const std::string& path) {
    const auto [parent, name] = Split(path);
    return tree_.MakeDirectory(parent, name, 0755, 0, 0);
  }
  Errno Rmdir(const std::string& path) {
    const auto [parent, name] = Split(path);
    return tree_.RemoveDirectory(parent, name);
  }
  Errno Rename(const std::string& path, const std::string& new_path) {
    const auto [parent, name] = Split(path);
    const auto [new_parent, new_name] = Split(new_path);
    return tree_.Rename(parent, name, new_parent, new_name);
  }
  std::string Status() { return Read("info/last_cmd_status"); }
  std::vector<std::string> List(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& [name, node] : tree_.Find(path)->children) names.push_back(name);
    return names;
  }

  Tree& tree() { return tree_; }
  State& state() { return state_; }
  Script& script() { return script_; }
  FakeMembership& membership() { return membership_; }

  Writer writer = {.thread = 100, .uid = 0};
  std::set<pid_t> foreign_threads;  // threads that only root may move

 private:
  std::pair<std::shared_ptr<Node>, std::string> Split(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {tree_.root(), path};
    return {tree_.Find(path.substr(0, slash)), path.substr(slash + 1)};
  }

  FakeMembership membership_;
  State state_;
  Script script_;
  Tree tree_;
};

// Two L3 caches with a hole between their ids, bandwidth and monitoring.
inline Layout TwoSockets() {
  Layout layout;
  layout.caches[0].ids = {0, 2};
  layout.bandwidth = BandwidthLayout{.ids = {0, 2}};
  layout.monitoring = MonitoringLayout{.ids = {0, 2}, .rmids = 16};
  return layout;
}

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_FAKE_TREE_H_
