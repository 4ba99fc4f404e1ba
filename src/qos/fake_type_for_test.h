// For tests: a class type whose kernel is a map.
#ifndef PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_
#define PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

// The kernel's state, which outlives a type of the same name as it does the daemon.
struct FakeKernel {
  std::map<std::string, std::string> members;  // id -> class
  int refuse_after = -1;                       // so many assignments are taken, then none; -1: all
  std::function<void()> on_assign;             // called before it is taken or refused
  std::function<void()> on_release;            // called before it is taken away
  std::string drift;
  int looks = 0;  // calls of Drift
};

class FakeType : public ClassType {
 public:
  struct Options {
    std::string name = "rdt";
    Level level = Level::kContainer;
    std::vector<ClassInfo> classes = {{"gold", 0, ""}, {"silver", 2, ""}, {"bronze", 1, ""}};
    std::string default_class;
    bool immutable = false;
    std::vector<std::string> files;
  };
  FakeType(FakeKernel* kernel, Options options)
      : next_classes(options.classes),
        next_files(options.files),
        kernel_(kernel),
        options_(std::move(options)) {}

  std::string name() const override { return options_.name; }
  Level level() const override { return options_.level; }
  bool immutable() const override { return options_.immutable; }
  std::string default_class() const override { return options_.default_class; }
  std::vector<ClassInfo> classes() const override { return options_.classes; }
  std::vector<std::string> OwnedFiles(absl::string_view) const override { return options_.files; }
  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override {
    if (kernel_->on_assign) kernel_->on_assign();
    if (kernel_->refuse_after == 0) return absl::InternalError("the kernel said no");
    if (kernel_->refuse_after > 0) --kernel_->refuse_after;
    const auto at = kernel_->members.find(target.id);
    const std::string now = at == kernel_->members.end() ? "" : at->second;
    if (now != from && now != to) {  // to: a change that was cut off before it began
      return absl::InternalError(absl::StrCat("it does not hold \"", from, "\""));
    }
    kernel_->members[target.id] = std::string(to);
    return absl::OkStatus();
  }
  absl::Status Adopt(const Target& target, absl::string_view name,
                     const std::vector<std::string>& files) override {
    adopted_files[target.id] = files;
    adopted[target.id] = std::string(name);
    return absl::OkStatus();
  }
  absl::Status Release(const Target& target, absl::string_view name) override {
    if (kernel_->on_release) kernel_->on_release();
    const auto at = kernel_->members.find(target.id);
    if (at == kernel_->members.end()) return absl::OkStatus();
    if (at->second != name) return absl::InternalError(absl::StrCat("it does not hold ", name));
    kernel_->members.erase(at);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Drift(const Target&, absl::string_view) const override {
    ++kernel_->looks;
    return kernel_->drift;
  }
  std::string EntryFile(const Target&, absl::string_view name) const override {
    return absl::StrCat("/", options_.name, "/", name, "/tasks");
  }
  absl::StatusOr<std::unique_ptr<PendingReload>> PrepareReload() override {
    if (!next_status.ok()) return next_status;
    return std::make_unique<Pending>(this);
  }

  absl::Status Refresh(const Holders& holders) override {
    refreshed = holders;
    return refresh_status;
  }

  // The "file" of the next reload.
  std::vector<ClassInfo> next_classes;
  std::vector<std::string> next_files;
  std::vector<std::string> next_warnings;
  std::vector<std::string> put_right;  // reported by every Commit
  absl::Status next_status;
  absl::Status commit_status;
  absl::Status revert_status;
  Holders committed;                           // holders passed to the last Commit
  std::map<std::string, std::string> adopted;  // id -> class
  std::map<std::string, std::vector<std::string>> adopted_files;
  Holders refreshed;  // holders passed to the last Refresh
  absl::Status refresh_status;

 private:
  class Pending : public PendingReload {
   public:
    explicit Pending(FakeType* type) : type_(type), old_(type->options_.classes) {}
    std::vector<std::string> class_names() const override {
      std::vector<std::string> names;
      for (const ClassInfo& info : type_->next_classes) names.push_back(info.name);
      return names;
    }
    std::vector<std::string> changes() const override { return {"changed"}; }
    std::vector<std::string> warnings() const override { return type_->next_warnings; }
    std::vector<std::string> put_right() const override { return type_->put_right; }
    absl::Status Commit(const Holders& holders) override {
      if (!type_->commit_status.ok()) return type_->commit_status;
      PLIMSOLL_RETURN_IF_ERROR(Check(holders));
      type_->committed = holders;
      type_->options_.classes = type_->next_classes;
      type_->options_.files = type_->next_files;
      return absl::OkStatus();
    }
    absl::Status Revert(const Holders& holders) override {
      if (!type_->revert_status.ok()) return type_->revert_status;
      PLIMSOLL_RETURN_IF_ERROR(Check(holders));
      type_->options_.classes = old_;
      return absl::OkStatus();
    }

   private:
    // Fails unless the holders are those that the kernel knows, each with its class.
    absl::Status Check(const Holders& holders) const {
      std::map<std::string, std::string> named;
      for (const auto& [target, name] : holders) named[target.id] = name;
      if (named == type_->kernel_->members) return absl::OkStatus();
      return absl::InternalError("those are not the holders");
    }

    FakeType* type_;
    std::vector<ClassInfo> old_;
  };

  FakeKernel* const kernel_;
  Options options_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_
