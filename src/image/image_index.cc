#include "image/image_index.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "image/names/digest.h"
#include "image/names/reference.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMinPrefix = 3;

void AddMissing(const std::vector<std::string>& from, std::vector<std::string>* to) {
  for (const std::string& element : from) {
    if (std::find(to->begin(), to->end(), element) == to->end()) to->push_back(element);
  }
}

bool Erase(std::vector<std::string>* from, absl::string_view element) {
  const auto it = std::find(from->begin(), from->end(), element);
  if (it == from->end()) return false;
  from->erase(it);
  return true;
}

// "docker.io/library/busybox:1" -> "docker.io/library/busybox:": the prefix of all tags of a
// repository.
std::string TagPrefix(absl::string_view tagged) {
  return std::string(tagged.substr(0, tagged.rfind(':') + 1));
}

bool IsHex(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

}  // namespace

std::string RepoDigestFor(const ImageRecord& image, absl::string_view asked) {
  if (image.repo_digests.empty()) return image.id;
  const absl::StatusOr<Reference> reference = ParseReference(asked);
  if (reference.ok()) {
    const std::string prefix = absl::StrCat(reference->Name(), "@");
    for (const std::string& digest : image.repo_digests) {
      if (absl::StartsWith(digest, prefix)) return digest;
    }
  }
  return image.repo_digests.front();
}

absl::StatusOr<ImageIndex::Match> ImageIndex::Find(absl::string_view reference) const {
  std::string looked_for;
  if (!IsImageId(reference)) {
    const absl::StatusOr<Reference> parsed = ParseReference(reference);
    looked_for = parsed.ok() ? parsed->Canonical() : "";
    if (std::optional<Match> match = FindName(looked_for); match.has_value()) {
      return *std::move(match);
    }
    const absl::string_view hex = absl::StripPrefix(reference, "sha256:");
    if (hex.size() < kMinPrefix || !IsHex(hex)) {
      PLIMSOLL_RETURN_IF_ERROR(parsed.status());
      return absl::NotFoundError(absl::StrCat("image \"", looked_for, "\" is not in the store"));
    }
  }
  const std::string prefix = absl::StartsWith(reference, "sha256:")
                                 ? std::string(reference)
                                 : absl::StrCat("sha256:", reference);
  std::vector<std::string> found;
  for (auto it = images_.lower_bound(prefix);
       it != images_.end() && absl::StartsWith(it->first, prefix); ++it) {
    found.push_back(it->first);
  }
  if (found.size() == 1) return Match{found.front(), ""};
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("image \"", looked_for.empty() ? absl::CEscape(reference) : looked_for,
                     "\" is not in the store"));
  }
  if (found.size() > 10) found.resize(10);
  return absl::InvalidArgumentError(absl::StrCat(
      "image id \"", reference, "\" fits several images: ", absl::StrJoin(found, ", ")));
}

std::optional<ImageIndex::Match> ImageIndex::FindName(const std::string& name) const {
  const auto it = names_.find(name);
  if (it == names_.end()) return std::nullopt;
  return Match{it->second, it->first};
}

std::optional<Image> ImageIndex::FindId(const std::string& id) const {
  const auto it = images_.find(id);
  return it == images_.end() ? std::nullopt : std::optional<Image>(it->second);
}

std::optional<Image> ImageIndex::FindManifest(absl::string_view manifest_digest) const {
  for (const auto& [id, image] : images_) {
    if (!manifest_digest.empty() && image.record.manifest_digest == manifest_digest) return image;
  }
  return std::nullopt;
}

std::vector<Image> ImageIndex::All() const {
  std::vector<Image> all;
  all.reserve(images_.size());
  for (const auto& [id, image] : images_) all.push_back(image);
  return all;
}

absl::flat_hash_set<std::string> ImageIndex::Blobs() const {
  absl::flat_hash_set<std::string> blobs;
  for (const auto& [id, image] : images_) {
    blobs.insert(image.record.blobs.begin(), image.record.blobs.end());
  }
  return blobs;
}

// By its digests: an image from elsewhere may have got a tag of the repository.
bool ImageIndex::IsFrom(const ImageRecord& image, absl::string_view repository) {
  return std::any_of(
      image.repo_digests.begin(), image.repo_digests.end(), [repository](absl::string_view digest) {
        return absl::ConsumePrefix(&digest, repository) && absl::StartsWith(digest, "@");
      });
}

absl::flat_hash_set<std::string> ImageIndex::LayersFrom(absl::string_view repository) const {
  absl::flat_hash_set<std::string> layers;
  for (const auto& [id, image] : images_) {
    const ImageRecord& record = image.record;
    if (!IsFrom(record, repository)) continue;
    layers.insert(record.chain_ids.begin(), record.chain_ids.end());
  }
  return layers;
}

ImageIndex::Change ImageIndex::Put(const Image& image) const {
  Change change;
  Step step{image.record.id, FindId(image.record.id), image};
  if (step.before.has_value()) {
    const ImageRecord& old = step.before->record;
    ImageRecord& merged = step.after->record;
    merged.repo_tags = old.repo_tags;
    merged.repo_digests = old.repo_digests;
    merged.blobs = old.blobs;
    AddMissing(image.record.repo_tags, &merged.repo_tags);
    AddMissing(image.record.repo_digests, &merged.repo_digests);
    AddMissing(image.record.blobs, &merged.blobs);
    merged.pinned = old.pinned || merged.pinned;
    merged.created_unix_nanos = old.created_unix_nanos;
    if (merged.manifest_digest.empty()) merged.manifest_digest = old.manifest_digest;
  }
  change.push_back(std::move(step));
  // A tag moves. A digest names this content for ever; but if it is an index's, it may lead to
  // another manifest on another kind of machine, so it moves as well.
  std::map<std::string, std::vector<std::string>> losses;  // id -> names
  for (const auto* names : {&image.record.repo_tags, &image.record.repo_digests}) {
    for (const std::string& name : *names) {
      const auto it = names_.find(name);
      if (it != names_.end() && it->second != image.record.id) losses[it->second].push_back(name);
    }
  }
  for (const auto& [id, names] : losses) {
    Step loser{id, FindId(id), FindId(id)};
    for (const std::string& name : names) {
      if (!Erase(&loser.after->record.repo_tags, name)) {
        Erase(&loser.after->record.repo_digests, name);
      }
    }
    change.push_back(std::move(loser));
  }
  return change;
}

ImageIndex::Change ImageIndex::Remove(const Match& match) const {
  Step step{match.id, FindId(match.id), std::nullopt};
  if (!step.before.has_value()) return {};
  if (match.name.empty()) return {std::move(step)};
  Image image = *step.before;
  ImageRecord& record = image.record;
  if (Erase(&record.repo_tags, match.name)) {
    const std::string prefix = TagPrefix(match.name);
    const bool has_more =
        std::any_of(record.repo_tags.begin(), record.repo_tags.end(),
                    [&prefix](const std::string& tag) { return TagPrefix(tag) == prefix; });
    const std::string digests = absl::StrCat(prefix.substr(0, prefix.size() - 1), "@");
    if (!has_more) {
      auto& all = record.repo_digests;
      all.erase(
          std::remove_if(all.begin(), all.end(),
                         [&digests](const std::string& d) { return absl::StartsWith(d, digests); }),
          all.end());
    }
  } else {
    Erase(&record.repo_digests, match.name);
  }
  if (!record.repo_tags.empty() || !record.repo_digests.empty()) step.after = std::move(image);
  return {std::move(step)};
}

void ImageIndex::Apply(const Change& change) {
  for (const Step& step : change) {
    for (auto it = names_.begin(); it != names_.end();) {
      it = it->second == step.id ? names_.erase(it) : std::next(it);
    }
    images_.erase(step.id);
  }
  for (const Step& step : change) {
    if (!step.after.has_value()) continue;
    for (const std::string& tag : step.after->record.repo_tags) names_[tag] = step.id;
    for (const std::string& digest : step.after->record.repo_digests) names_[digest] = step.id;
    images_[step.id] = *step.after;
  }
}

}  // namespace plimsoll::image
