// For tests: a request's path and selectors, as an API server reads them.
#ifndef PLIMSOLL_KUBE_APISERVER_FAKE_TARGET_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_FAKE_TARGET_FOR_TEST_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll::kube {

inline std::string UnescapedForTest(absl::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    int byte = 0;
    if (text[at] == '%' && absl::SimpleHexAtoi(text.substr(at + 1, 2), &byte)) {
      plain += static_cast<char>(byte);
      at += 2;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c1/status?dryRun=All" in its parts.
struct FakeTarget {
  std::string group;     // "resource.k8s.io"; "" is the core group
  std::string resource;  // "/apis/resource.k8s.io/v1/resourceclaims"
  std::string space;     // the namespace; empty: none, or all
  std::string name;      // empty: the collection
  std::string part;      // the subresource
  std::map<std::string, std::string> query;

  bool has(const std::string& parameter) const { return query.count(parameter) > 0; }
  std::string value(const std::string& parameter) const {
    const auto at = query.find(parameter);
    return at == query.end() ? "" : at->second;
  }
};

inline FakeTarget ReadFakeTarget(absl::string_view text) {
  FakeTarget target;
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('?', 1));
  for (const absl::string_view each : absl::StrSplit(halves.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(each, absl::MaxSplits('=', 1));
    target.query[std::string(pair.first)] = UnescapedForTest(pair.second);
  }
  std::vector<std::string> words = absl::StrSplit(halves.first, '/', absl::SkipEmpty());
  size_t at = !words.empty() && words[0] == "apis" ? 3 : 2;
  if (words.size() <= at) return target;
  if (at == 3) target.group = words[1];
  target.resource =
      absl::StrCat("/", absl::StrJoin(words.begin(), words.begin() + static_cast<long>(at), "/"));
  if (words[at] == "namespaces" && words.size() > at + 2) {
    target.space = words[at + 1];
    at += 2;
  }
  absl::StrAppend(&target.resource, "/", words[at]);
  if (words.size() > at + 1) target.name = words[at + 1];
  if (words.size() > at + 2) target.part = words[at + 2];
  return target;
}

// "spec.nodeName" of an object as text; empty where it has none.
inline std::string FakeFieldOf(const nlohmann::json& object, absl::string_view field) {
  const nlohmann::json* at = &object;
  for (const absl::string_view word : absl::StrSplit(field, '.')) {
    const std::string key(word);
    if (!at->is_object() || !at->contains(key)) return "";
    at = &at->at(key);
  }
  return at->is_string() ? at->get<std::string>() : at->dump();
}

// One requirement, "a=b", "a==b" or "a!=b", of a value.
inline bool FakeRequirementHolds(absl::string_view text, const std::string& actual,
                                 absl::string_view wanted) {
  return (actual == wanted) != absl::StrContains(text, "!=");
}

// Whether the object has what `fieldSelector` and `labelSelector` ask for. Of labels "a", "!a",
// "a=b", "a==b" and "a!=b" are understood, no sets.
inline bool FakeSelects(const FakeTarget& target, const nlohmann::json& object) {
  const auto split = [](const std::string& text) {
    return std::vector<std::string>(absl::StrSplit(text, ',', absl::SkipEmpty()));
  };
  const auto halves = [](const std::string& text) {
    const std::string plain = absl::StrReplaceAll(text, {{"!=", "="}, {"==", "="}});
    return std::pair<std::string, std::string>(absl::StrSplit(plain, absl::MaxSplits('=', 1)));
  };
  for (const std::string& each : split(target.value("fieldSelector"))) {
    const auto [field, wanted] = halves(each);
    if (!FakeRequirementHolds(each, FakeFieldOf(object, field), wanted)) return false;
  }
  const nlohmann::json labels =
      object.value("metadata", nlohmann::json::object()).value("labels", nlohmann::json::object());
  for (const std::string& each : split(target.value("labelSelector"))) {
    if (!absl::StrContains(each, '=')) {
      absl::string_view label = each;
      const bool absent = absl::ConsumePrefix(&label, "!");
      if (labels.contains(std::string(label)) == absent) return false;
      continue;
    }
    const auto [label, wanted] = halves(each);
    if (!FakeRequirementHolds(each, labels.value(label, ""), wanted)) return false;
  }
  return true;
}

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_FAKE_TARGET_FOR_TEST_H_
