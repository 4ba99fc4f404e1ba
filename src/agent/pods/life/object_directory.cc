#include "agent/pods/life/object_directory.h"

#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/text/problems.h"

namespace plimsoll::agent {

ObjectDirectory::Snapshot ObjectDirectory::Latest() const {
  const absl::MutexLock lock(&mutex_);
  return latest_;
}

void ObjectDirectory::Tell(const std::string& path, const absl::Status& fault) {
  const auto it = told_.find(path);
  if (fault.ok()) {
    if (it == told_.end()) return;
    told_.erase(it);
  } else {
    if (it != told_.end() && it->second == fault.message()) return;
    told_[path] = std::string(fault.message());
  }
  fault_(path, fault);
}

void ObjectDirectory::ReadFile(const std::string& path, Texts& texts) {
  absl::StatusOr<std::string> text =
      ReadRegularFile(root_, path, pod::ConfigObjects::kMostFileBytes);
  const auto before = texts_.find(path);
  absl::Status fault = text.status();
  if (text.ok() && (before == texts_.end() || before->second != *text)) {
    pod::ConfigObjects alone;
    fault = alone.Add(*text, path);
  }
  Tell(path, fault);
  if (fault.ok()) {
    texts[path] = *std::move(text);
  } else if (before != texts_.end()) {
    texts[path] = before->second;
  } else {
    latest_.unread = AlsoTell(latest_.unread, fault);
  }
}

void ObjectDirectory::Use(Texts texts) {
  if (latest_.version > 0 && texts == texts_) return;
  auto objects = std::make_shared<pod::ConfigObjects>();
  absl::Status twice;
  for (const auto& [path, text] : texts) twice = AlsoTell(twice, objects->Add(text, path));
  Tell(absl::StrCat(path_, " as a whole"), twice);
  latest_.objects = std::move(objects);
  ++latest_.version;
  texts_ = std::move(texts);
}

ObjectDirectory::Snapshot ObjectDirectory::Read() {
  const absl::MutexLock lock(&mutex_);
  latest_.unread = absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> names = root_.List(path_);
  Tell(path_, names.status());
  if (!names.ok()) {
    if (latest_.version == 0) latest_.unread = names.status();
    return latest_;
  }
  Texts texts;
  std::set<std::string> paths;
  for (const std::string& name : *names) {
    if (!pod::ConfigObjects::HoldsObjects(name)) continue;
    const std::string path = absl::StrCat(path_, "/", name);
    paths.insert(path);
    ReadFile(path, texts);
  }
  // A removed file is at fault no more.
  std::erase_if(told_, [&](const auto& told) {
    return absl::StartsWith(told.first, path_ + "/") && !paths.contains(told.first);
  });
  Use(std::move(texts));
  return latest_;
}

}  // namespace plimsoll::agent
