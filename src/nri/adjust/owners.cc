#include "nri/adjust/owners.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/text/quoted.h"
#include "nri/adjust/fields.h"

namespace plimsoll::nri {

std::string FieldText(absl::string_view path, absl::string_view key) {
  if (key.empty()) return std::string(path);
  return absl::StrCat(path, " ", Quoted(key));
}

absl::Status Owners::Claim(const std::string& plugin, absl::string_view path,
                           absl::string_view key) {
  Owner& owner = owners_[{std::string(path), std::string(key)}];
  if (!owner.plugins.empty()) {
    const std::string& other = owner.plugins.front();
    if (other == plugin && !owner.is_removal) {
      return absl::InvalidArgumentError(
          absl::StrCat("plugin ", plugin, " sets ", FieldText(path, key), " twice"));
    }
    if (other != plugin && owner.is_removal) {
      return absl::AlreadyExistsError(absl::StrCat("plugin ", plugin, " sets ",
                                                   FieldText(path, key), ", which plugin ", other,
                                                   " removes: only one of them may change it"));
    }
    if (other != plugin) {
      return absl::AlreadyExistsError(absl::StrCat("plugins ", other, " and ", plugin, " both set ",
                                                   FieldText(path, key), ": only one of them may"));
    }
  }
  owner = {{plugin}, false};
  return absl::OkStatus();
}

void Owners::Remove(const std::string& plugin, absl::string_view path, absl::string_view key) {
  owners_[{std::string(path), std::string(key)}] = {{plugin}, true};
}

void Owners::Add(const std::string& plugin, absl::string_view path, absl::string_view key) {
  std::vector<std::string>& plugins = owners_[{std::string(path), std::string(key)}].plugins;
  if (!absl::c_linear_search(plugins, plugin)) plugins.push_back(plugin);
}

std::string Owners::PluginOf(absl::string_view path, absl::string_view key) const {
  const auto found = owners_.find({std::string(path), std::string(key)});
  return found == owners_.end() ? "" : absl::StrJoin(found->second.plugins, " and ");
}

std::string Owners::PluginsBelow(absl::string_view path) const {
  std::set<std::string> plugins;
  for (const auto& [place, owner] : owners_) {
    absl::string_view rest = place.first;
    if (!absl::ConsumePrefix(&rest, path) || (!rest.empty() && rest[0] != '.')) continue;
    plugins.insert(owner.plugins.begin(), owner.plugins.end());
  }
  return absl::StrJoin(plugins, " and ");
}

api::FieldOwners Owners::ToMessage() const {
  api::FieldOwners message;
  for (const auto& [place, owner] : owners_) {
    const Field* field = FindField(place.first);
    if (field == nullptr || field->number == api::None) continue;
    const std::string plugins =
        absl::StrCat(owner.is_removal ? "-" : "", absl::StrJoin(owner.plugins, ","));
    switch (field->merge) {
      case Merge::kList:
      case Merge::kRemovableList:
        (*(*message.mutable_compound())[field->number].mutable_owners())[place.second] = plugins;
        break;
      case Merge::kAppend: {
        // One text for all hooks.
        std::string& all = (*message.mutable_simple())[field->number];
        for (const std::string& plugin : owner.plugins) {
          if (absl::StrContains(absl::StrCat(",", all, ","), absl::StrCat(",", plugin, ","))) {
            continue;
          }
          absl::StrAppend(&all, all.empty() ? "" : ",", plugin);
        }
        break;
      }
      default:
        (*message.mutable_simple())[field->number] = plugins;
    }
  }
  return message;
}

std::vector<runtime::PluginChange> Owners::Changes() const {
  std::vector<runtime::PluginChange> changes;
  for (const auto& [place, owner] : owners_) {
    for (const std::string& plugin : owner.plugins) {
      changes.push_back({place.first, place.second, plugin});
    }
  }
  return changes;
}

}  // namespace plimsoll::nri
