// For tests: a class type whose kernel is a map.
#ifndef PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_
#define PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

// What a type of the same name would find after the daemon's restart.
struct FakeKernel {
  std::map<std::string, std::string> members;  // id -> class
  int refuse_after = -1;                       // so many assignments are taken, then none; -1: all
  std::string drift;
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
      : next_classes(options.classes), kernel_(kernel), options_(std::move(options)) {}

  std::string name() const override { return options_.name; }
  Level level() const override { return options_.level; }
  bool immutable() const override { return options_.immutable; }
  std::string default_class() const override { return options_.default_class; }
  std::vector<ClassInfo> classes() const override { return options_.classes; }
  std::vector<std::string> OwnedFiles(absl::string_view) const override { return options_.files; }
  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override {
    if (kernel_->refuse_after == 0) return absl::InternalError("the kernel said no");
    if (kernel_->refuse_after > 0) --kernel_->refuse_after;
    const auto at = kernel_->members.find(target.id);
    if ((at == kernel_->members.end() ? "" : at->second) != from) {
      return absl::InternalError(absl::StrCat("it does not hold \"", from, "\""));
    }
    kernel_->members[target.id] = std::string(to);
    return absl::OkStatus();
  }
  absl::Status Release(const Target& target, absl::string_view) override {
    kernel_->members.erase(target.id);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Drift(const Target&, absl::string_view) const override {
    return kernel_->drift;
  }
  std::string EntryFile(const Target&, absl::string_view name) const override {
    return absl::StrCat("/", options_.name, "/", name, "/tasks");
  }
  absl::StatusOr<std::unique_ptr<PendingReload>> PrepareReload() override {
    if (!next_status.ok()) return next_status;
    return std::make_unique<Pending>(this);
  }

  // What the "file" holds when it is read again.
  std::vector<ClassInfo> next_classes;
  absl::Status next_status;
  absl::Status commit_status;

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
    absl::Status Commit(const Holders&) override {
      if (!type_->commit_status.ok()) return type_->commit_status;
      type_->options_.classes = type_->next_classes;
      return absl::OkStatus();
    }
    absl::Status Revert(const Holders&) override {
      type_->options_.classes = old_;
      return absl::OkStatus();
    }

   private:
    FakeType* type_;
    std::vector<ClassInfo> old_;
  };

  FakeKernel* const kernel_;
  Options options_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_FAKE_TYPE_FOR_TEST_H_
